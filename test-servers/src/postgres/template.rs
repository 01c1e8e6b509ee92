//! `initdb` takes a second; a copy of what it made takes a tenth.

use std::fs::{self, File, TryLockError};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Installation;
use crate::account::{self, Account};
use crate::process::Backoff;
use crate::{Error, Result, scratch};

/// The installation, moved to where the servers' user may read it if need be.
pub(super) async fn readable(
    installation: Installation,
    account: Option<Account>,
) -> Result<Installation> {
    if account.is_none() || scratch::open_to_all(installation.programs()) {
        return Ok(installation);
    }
    let name = format!("postgresql-{}", key(&installation));
    let copy = cached(&name, async |fresh| {
        let mut copy = Command::new("cp");
        copy.arg("-R").arg(installation.whole()).arg(fresh);
        finish(copy).await?;
        let mut open = Command::new("chmod");
        open.args(["-R", "a+rX"]).arg(fresh);
        finish(open).await
    });
    Ok(installation.copied_to(&copy.await?))
}

/// Makes `data`, a data directory that trusts everyone on 127.0.0.1 and the socket.
pub(super) async fn copy_to(
    data: &Path,
    installation: &Installation,
    account: Option<Account>,
) -> Result<()> {
    let name = format!("template-{}", key(installation));
    let template = cached(&name, async |fresh| initdb(fresh, installation, account).await);
    let mut copy = account::command(Path::new("cp"), account);
    copy.arg("-Rp").arg(template.await?).arg(data).current_dir("/");
    finish(copy).await
}

async fn initdb(data: &Path, installation: &Installation, account: Option<Account>) -> Result<()> {
    scratch::create(data, 0o700)?;
    if let Some(account) = account {
        account.own(data)?;
    }
    let mut initdb = account::command(&installation.program("initdb"), account);
    initdb.args([
        "--username=postgres",
        "--auth=trust",
        "--encoding=UTF8",
        "--locale=C",
        "--no-sync",
        "-D",
    ]);
    initdb.arg(data).current_dir("/");
    finish(initdb).await
}

/// The entry of that name, made first by `make` if it is not there: at a path that becomes the entry once it is whole.
async fn cached(name: &str, make: impl AsyncFnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let cache = scratch::cache()?;
    let entry = cache.join(name);
    let _lock = exclusive(&cache.join(format!("{name}.lock"))).await?;
    if !entry.exists() {
        let fresh = cache.join(format!("{name}.new"));
        let _ = fs::remove_dir_all(&fresh); // what a killed process left
        if let Err(error) = make(&fresh).await {
            let _ = fs::remove_dir_all(&fresh);
            return Err(error);
        }
        fs::rename(&fresh, &entry)
            .map_err(Error::doing(format!("cannot rename {}", fresh.display())))?;
    }
    Ok(entry)
}

/// Held until the file is dropped; a killed process holds nothing.
async fn exclusive(path: &Path) -> Result<File> {
    let doing = format!("cannot lock {}", path.display());
    let file = File::create(path).map_err(Error::doing(doing.clone()))?;
    let mut backoff = Backoff::new();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(Error::doing(doing)(error)),
            Err(TryLockError::WouldBlock) if backoff.again().await => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::new(doing + ": another process holds it too long"));
            }
        }
    }
}

fn key(installation: &Installation) -> String {
    let mut hasher = DefaultHasher::new();
    installation.programs().hash(&mut hasher);
    format!("{}-{:08x}", installation.version(), hasher.finish() as u32)
}

pub(super) async fn finish(mut command: Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = tokio::task::spawn_blocking(move || command.output())
        .await
        .map_err(Error::doing(format!("cannot run {name}")))?
        .map_err(Error::doing(format!("cannot run {name}")))?;
    if output.status.success() {
        return Ok(());
    }
    Err(Error::new(format!(
        "{name} failed ({}): {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    )))
}
