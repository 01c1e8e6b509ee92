//! The secrets that the senders sign with. A real service reads them from its environment.

/// One for each sender.
#[derive(Clone)]
pub(crate) struct Secrets {
    pub(crate) github: Vec<u8>,
    pub(crate) stripe: Vec<u8>,
    pub(crate) shop: Vec<u8>,
}

impl Secrets {
    /// Made up anew at each start.
    pub(crate) fn for_the_demonstration() -> Self {
        let secret = || (0..32).map(|_| fastrand::u8(..)).collect();
        Self { github: secret(), stripe: secret(), shop: secret() }
    }
}
