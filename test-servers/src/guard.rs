//! Servers end with the process that started them, also when it is killed.
//!
//! Nothing in a killed process gets a last word, and Linux's parent-death signal fires when the spawning *thread* ends,
//! which for a test is long before its process does. So a small shell beside each server reads from a pipe that only our
//! process holds open for writing: when the pipe ends, so did we. It works the same on macOS.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use rustix::process::Signal;

use crate::{Error, Result};

/// Each line is the id of the process to end, an empty one that there is none now. A PostgreSQL that was killed leaves a
/// System V shared memory segment behind, named in its `postmaster.pid`; there are only so many on a machine.
/// The folder goes only when nobody puts anything into it any more, such as a copy that was under way.
const SCRIPT: &str = r#"
folder=$1 signal=$2 server=
trap '' HUP INT TERM
while read -r line; do server=$line; done
if [ -n "$server" ]; then
  kill -CONT "$server"
  kill "-$signal" "$server"
  tries=0
  while kill -0 "$server" && [ "$tries" -lt 50 ]; do sleep 0.1; tries=$((tries + 1)); done
  kill -KILL "$server"
fi
segment=$(sed -n '7s/.* //p' "$folder/data/postmaster.pid")
if [ -n "$segment" ]; then ipcrm -m "$segment"; fi
tries=0
until rm -rf -- "$folder" || [ "$tries" -ge 60 ]; do sleep 0.5; tries=$((tries + 1)); done
"#;

/// Ends a server and removes its folder when this value or this process goes.
pub(crate) struct Guard {
    shell: Child,
    names: Option<ChildStdin>,
}

impl Guard {
    /// Made before the folder has anything in it. The signal is the one that ends such a server at once and cleanly.
    pub(crate) fn over(folder: &Path, signal: Signal) -> Result<Self> {
        let mut shell = Command::new("/bin/sh")
            .args(["-c", SCRIPT, "test-server-guard"])
            .arg(folder)
            .arg(signal.as_raw().to_string())
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0) // so that Ctrl-C and a test runner's kill of our group leave it its last word
            .spawn()
            .map_err(Error::doing("cannot start /bin/sh to guard a test server"))?;
        let names = shell.stdin.take();
        Ok(Self { shell, names })
    }

    /// From now on it is this process that must not outlive us.
    pub(crate) fn watch(&mut self, server: &Child) -> Result<()> {
        self.tell(&server.id().to_string())
    }

    /// The server has ended, and its process id may belong to somebody else soon.
    pub(crate) fn forget(&mut self) -> Result<()> {
        self.tell("")
    }

    fn tell(&mut self, line: &str) -> Result<()> {
        let names =
            self.names.as_mut().ok_or_else(|| Error::new("the guard of a test server is gone"))?;
        writeln!(names, "{line}").map_err(Error::doing("the guard of a test server is gone"))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.names.take());
        let _ = self.shell.wait(); // a test process must not go on while its server's files go
    }
}
