//! `.permanent()`: how a handler says that retrying cannot help.

use std::error::Error;
use std::fmt;

use crate::handler::HandlerError;

/// An error marked permanent. Found anywhere in the source chain of what a handler returns, also
/// behind `anyhow` or `thiserror` layers, it makes the dispatch error permanent.
#[derive(Debug)]
pub struct Permanent(Marked);

/// The marker as a link of the source chain. A wrapper that hides the concrete type of its outermost
/// error (as `anyhow` does) still shows what is one link below.
#[derive(Debug)]
struct Marked(HandlerError);

impl fmt::Display for Permanent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.0.fmt(f)
    }
}

impl Error for Permanent {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

impl fmt::Display for Marked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("marked permanent by the handler")
    }
}

impl Error for Marked {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.0.as_ref())
    }
}

/// Marks an error permanent.
///
/// ```
/// use inbox::{HandlerError, PermanentError};
///
/// fn check(quantity: i32) -> Result<(), HandlerError> {
///     if quantity < 0 {
///         return Err("a negative quantity".permanent().into());
///     }
///     Ok(())
/// }
/// # assert!(check(-1).is_err());
/// ```
pub trait PermanentError {
    /// This error, marked: the message is dead-lettered at once instead of being retried.
    fn permanent(self) -> Permanent;
}

impl<E: Into<HandlerError>> PermanentError for E {
    fn permanent(self) -> Permanent {
        Permanent(Marked(self.into()))
    }
}

/// Marks the error of a `Result` permanent.
///
/// ```
/// use inbox::{HandlerError, PermanentResult};
///
/// fn parse(text: &str) -> Result<i32, HandlerError> {
///     Ok(text.parse::<i32>().permanent()?)
/// }
/// # assert!(parse("x").is_err());
/// ```
pub trait PermanentResult<T> {
    /// The same result with its error marked.
    ///
    /// # Errors
    /// The same error, marked.
    fn permanent(self) -> Result<T, Permanent>;
}

impl<T, E: Into<HandlerError>> PermanentResult<T> for Result<T, E> {
    fn permanent(self) -> Result<T, Permanent> {
        self.map_err(PermanentError::permanent)
    }
}

/// The links of an error's source chain, itself first.
pub(crate) fn chain<'e>(
    error: &'e (dyn Error + 'static),
) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

pub(crate) fn is_marked_permanent(error: &(dyn Error + 'static)) -> bool {
    chain(error).any(|link| link.is::<Marked>() || link.is::<Permanent>())
}

/// Writes `: cause: its cause: …`. A link that repeats the text before it (wrappers that show their
/// source as themselves) is left out, and so is the marker.
pub(crate) fn write_chain(
    f: &mut fmt::Formatter<'_>,
    error: &(dyn Error + 'static),
) -> fmt::Result {
    let mut last = String::new();
    for link in chain(error).filter(|link| !link.is::<Marked>()) {
        let text = link.to_string();
        if text != last {
            write!(f, ": {text}")?;
        }
        last = text;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Wrapper(Box<dyn Error + Send + Sync>);
    impl fmt::Display for Wrapper {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("wrapped")
        }
    }
    impl Error for Wrapper {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(self.0.as_ref())
        }
    }

    #[test]
    fn the_mark_is_found_anywhere_and_the_original_stays_downcastable() {
        let original = std::io::Error::other("no such sku");
        let error = Wrapper(Box::new(Wrapper(Box::new(original.permanent()))));
        assert!(is_marked_permanent(&error));
        assert!(chain(&error).any(|link| link.is::<std::io::Error>()));
        assert!(!is_marked_permanent(&Wrapper("plain".into())));
    }
}
