//! Whom a server runs as: PostgreSQL and PgBouncer refuse to run as root.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::{Error, Result};

/// The user that servers run as when the tests run as root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    uid: u32,
    gid: u32,
}

impl Account {
    /// `None` unless we are root: then servers run as we do.
    pub(crate) fn for_servers() -> Result<Option<Self>> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        Ok(Some(Self { uid: id_of_nobody("-u")?, gid: id_of_nobody("-g")? }))
    }

    pub(crate) fn own(self, path: &Path) -> Result<()> {
        std::os::unix::fs::chown(path, Some(self.uid), Some(self.gid))
            .map_err(Error::doing(format!("cannot give {} to the user nobody", path.display())))
    }
}

fn id_of_nobody(which: &str) -> Result<u32> {
    let output = Command::new("id")
        .args([which, "nobody"])
        .output()
        .map_err(Error::doing("cannot run `id`"))?;
    String::from_utf8_lossy(&output.stdout).trim().parse().map_err(|_| {
        Error::new("as root, test servers run as the user `nobody`, and this machine has none: run the tests as another user")
    })
}

/// A command for a server's program: as the right user, and deaf to the developer's own `PG…` variables and language.
pub(crate) fn command(program: &Path, account: Option<Account>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PG") {
            command.env_remove(name);
        }
    }
    command.env("LC_ALL", "C").env("TZ", "UTC");
    if let Some(Account { uid, gid }) = account {
        command.uid(uid).gid(gid);
    }
    command
}
