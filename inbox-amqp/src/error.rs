//! [`StartError`]: why a subscription was not started.

use std::error::Error;
use std::fmt;

/// Why a subscription was not started.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// The address cannot be read. It is not shown: it may hold a password.
    Address,
    /// The server did not answer, or refused.
    Broker {
        /// What was asked of it.
        doing: &'static str,
        /// The client's error.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The queue would lose messages or starve: everything that is wrong, each with its remedy.
    Refused(Vec<String>),
    /// The inbox is stopping.
    Stopping,
}

impl StartError {
    pub(crate) fn broker<E: Into<Box<dyn Error + Send + Sync>>>(
        doing: &'static str,
    ) -> impl FnOnce(E) -> Self {
        move |source| Self::Broker { doing, source: source.into() }
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address => f.write_str(
                "the broker's address cannot be read: write `amqp://USER:PASSWORD@HOST:5672/VHOST`, \
                 with `%2f` for a slash in the virtual host's name",
            ),
            Self::Broker { doing, source } => write!(f, "{doing}: {source}"),
            Self::Refused(problems) => {
                write!(f, "the subscription cannot be started: {}", problems.join("; "))
            }
            Self::Stopping => f.write_str("the inbox is stopping and starts no subscription"),
        }
    }
}

impl Error for StartError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Broker { source, .. } => Some(source.as_ref()),
            Self::Address | Self::Refused(_) | Self::Stopping => None,
        }
    }
}
