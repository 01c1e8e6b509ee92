use std::fmt;

/// Why a test server is not there, in words for the developer who runs the tests. `Debug` reads like `Display`, for
/// `unwrap` and for tests that return errors.
pub struct Error(String);

/// What this crate's functions answer.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// What is wrong.
    pub fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }

    /// For `map_err`: what was being done, then the cause.
    pub fn doing<E: fmt::Display>(what: impl Into<String>) -> impl FnOnce(E) -> Self {
        let what = what.into();
        move |cause| Self(format!("{what}: {cause}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
