use crate::scratch::Storage;

/// How a [`Cluster`](super::Cluster) is to be.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub(super) version: Option<u32>,
    pub(super) durable: bool,
    pub(super) settings: Vec<(String, String)>,
}

impl Options {
    /// The major version, for example 15. Without it: `INBOX_TEST_POSTGRES`, else the newest one found.
    pub fn version(mut self, major: u32) -> Self {
        self.version = Some(major);
        self
    }

    /// On a disk and with `fsync`: for tests about speed, and for those about what a machine's crash leaves. Without, which
    /// is the default, nothing is lost either when only the server is killed.
    pub fn durable(mut self) -> Self {
        self.durable = true;
        self
    }

    /// A line of `postgresql.conf`, for example `("lc_messages", "de_DE.UTF-8")`. The last one of a name wins, also over
    /// this crate's own.
    pub fn setting(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.push((name.into(), value.into()));
        self
    }

    pub(super) fn storage(&self) -> Storage {
        if self.durable { Storage::Disk } else { Storage::Memory }
    }

    /// What is appended to the `postgresql.conf` that `initdb` wrote.
    pub(super) fn configuration(&self, socket_folder: &str) -> String {
        let fsync = if self.durable { "on" } else { "off" };
        let ours = [
            ("listen_addresses", "127.0.0.1"),
            ("unix_socket_directories", socket_folder),
            ("fsync", fsync),
            ("max_connections", "200"),
            ("dynamic_shared_memory_type", "mmap"), // in the data directory, so that a killed server leaves none
            ("lc_messages", "C"),
            ("logging_collector", "off"),
            // Tests look for their own database's lines (TestDatabase::log), and decide by SQLSTATE.
            ("log_line_prefix", "%m [%p] %d %e "),
        ];
        let theirs = self.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let line =
            |(name, value): (&str, &str)| format!("{name} = '{}'\n", value.replace('\'', "''"));
        ours.into_iter().chain(theirs).map(line).collect()
    }
}
