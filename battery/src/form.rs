/// How much of everything there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// What every run of the tests can afford.
    Default,
    /// `INBOX_BATTERY=full`.
    Full,
}

impl Form {
    /// As the environment says.
    pub fn chosen() -> Self {
        match std::env::var("INBOX_BATTERY").as_deref() {
            Ok("full") => Self::Full,
            _ => Self::Default,
        }
    }

    /// One count or the other.
    pub fn times(self, default: usize, full: usize) -> usize {
        match self {
            Self::Default => default,
            Self::Full => full,
        }
    }
}

/// Whether this run goes through PgBouncer. What goes straight to the server is not run once more then.
pub fn through_a_pooler() -> bool {
    std::env::var("INBOX_TEST_THROUGH").is_ok_and(|through| !through.is_empty())
}
