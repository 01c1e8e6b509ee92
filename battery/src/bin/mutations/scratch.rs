//! A copy of the tree, with a target folder of its own. Files that have not changed are left as they
//! are, so that a second run builds only what has.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use battery::Result;
use battery::mutations::Mutation;

pub(crate) struct Scratch {
    place: PathBuf,
    /// Held as long as it is used.
    _lock: File,
}

impl Scratch {
    pub(crate) fn copy_of(root: &Path) -> Result<Self> {
        let place = root.join("target/mutations");
        let tree = place.join("tree");
        fs::create_dir_all(&tree)?;
        let lock = File::create(place.join("lock"))?;
        lock.try_lock().map_err(|error| format!("{} is in use: {error}", place.display()))?;
        let files = files_of(root)?;
        for file in &files {
            write_if_other(&tree.join(file), &fs::read(root.join(file))?)?;
        }
        remove_others(&tree, &tree, &files)?;
        Ok(Self { place, _lock: lock })
    }

    pub(crate) fn tree(&self) -> PathBuf {
        self.place.join("tree")
    }

    pub(crate) fn target(&self) -> PathBuf {
        self.place.join("target")
    }

    pub(crate) fn place(&self) -> std::path::Display<'_> {
        self.place.display()
    }

    /// What `work` answers while the safeguard is out.
    pub(crate) fn without<T>(
        &self,
        mutation: &Mutation,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let path = self.tree().join(mutation.file);
        let text = fs::read_to_string(&path)?;
        fs::write(&path, mutation.apply(&text)?)?;
        let answer = work();
        fs::write(&path, text)?;
        answer
    }
}

/// What git would keep, as it stands in the working tree.
fn files_of(root: &Path) -> Result<BTreeSet<PathBuf>> {
    let mut command = Command::new("git");
    command.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let listed = command.current_dir(root).output()?;
    if !listed.status.success() {
        return Err(String::from_utf8_lossy(&listed.stderr).into_owned().into());
    }
    let names = String::from_utf8(listed.stdout)?;
    let names = names.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from);
    Ok(names.filter(|name| root.join(name).is_file()).collect())
}

fn write_if_other(path: &Path, content: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|found| found == content) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    Ok(fs::write(path, content)?)
}

/// What an earlier copy had and this one has not.
fn remove_others(folder: &Path, tree: &Path, files: &BTreeSet<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            remove_others(&path, tree, files)?;
        } else if !files.contains(path.strip_prefix(tree)?) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}
