//! [`StartError`]: why a subscription was not started.

use std::error::Error;
use std::fmt;

/// Why a subscription was not started.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// The server did not answer, or refused.
    Broker {
        /// What was asked of it.
        doing: &'static str,
        /// The client's error.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The stream or its consumer would lose messages or starve: everything that is wrong, each with its
    /// remedy.
    Refused(Vec<String>),
    /// The inbox is stopping.
    Stopping,
}

impl StartError {
    pub(crate) fn broker(
        doing: &'static str,
    ) -> impl FnOnce(Box<dyn Error + Send + Sync>) -> StartError {
        move |source| Self::Broker { doing, source }
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
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
            Self::Refused(_) | Self::Stopping => None,
        }
    }
}
