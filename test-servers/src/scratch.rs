//! Where servers keep their files.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::account::Account;
use crate::{Error, Result};

/// What a server's files are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    /// The temporary folder.
    Disk,
    /// Memory where there is plenty, else the disk. A new database is three hundred files: on some disks most of a test.
    Memory,
}

/// A fresh folder for one server, its own. Its guard removes it.
pub(crate) fn new(kind: &str, storage: Storage, account: Option<Account>) -> Result<PathBuf> {
    let memory = Path::new("/dev/shm");
    let base =
        if storage == Storage::Memory && is_roomy(memory) { memory.to_owned() } else { base() };
    let path = base.join(format!("inbox-{kind}-{}-{:08x}", std::process::id(), fastrand::u32(..)));
    create(&path, 0o700)?;
    if let Some(account) = account {
        account.own(&path)?;
    }
    Ok(path)
}

/// At least 4 GiB free, and everyone may make folders. A container's is often 64 MiB.
fn is_roomy(folder: &Path) -> bool {
    let free = rustix::fs::statvfs(folder)
        .is_ok_and(|found| found.f_bavail.saturating_mul(found.f_frsize) >= 4 << 30);
    free && fs::metadata(folder).is_ok_and(|found| found.mode() & 0o007 == 0o007)
}

/// What is worth keeping between runs: prepared data directories, and programs copied to where their user can read them.
/// Others may read it, and nobody but us may have made it.
pub(crate) fn cache() -> Result<PathBuf> {
    let us = rustix::process::geteuid().as_raw();
    let path = base().join(format!("inbox-test-servers-{us}"));
    if !path.exists() {
        create(&path, 0o755).or_else(|error| if path.exists() { Ok(()) } else { Err(error) })?;
    }
    let found = fs::symlink_metadata(&path)
        .map_err(Error::doing(format!("cannot look at {}", path.display())))?;
    if found.is_dir() && found.uid() == us && found.mode() & 0o022 == 0 {
        return Ok(path);
    }
    Err(Error::new(format!(
        "{} is not a folder that only we can write to: look who made it, and remove it",
        path.display()
    )))
}

/// Whether any user may enter the folder and read what is in it.
pub(crate) fn open_to_all(folder: &Path) -> bool {
    folder.canonicalize().is_ok_and(|folder| {
        folder
            .ancestors()
            .all(|step| fs::metadata(step).is_ok_and(|found| found.mode() & 0o005 == 0o005))
    })
}

pub(crate) fn create(path: &Path, mode: u32) -> Result<()> {
    let doing = format!("cannot make the folder {}", path.display());
    DirBuilder::new().mode(mode).create(path).map_err(Error::doing(doing.clone()))?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(Error::doing(doing)) // whatever the umask
}

fn base() -> PathBuf {
    let chosen = std::env::temp_dir();
    if rustix::process::geteuid().is_root() && !open_to_all(&chosen) {
        PathBuf::from("/tmp")
    } else {
        chosen
    }
}
