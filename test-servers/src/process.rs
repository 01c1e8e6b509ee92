//! One server's process: started, watched over, signalled, waited for.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::guard::Guard;
use crate::{Error, Result};

/// How long a server may take to start or to stop before the tests give up on it.
const PATIENCE: Duration = Duration::from_secs(60);

/// Pauses between two looks at something that gives no signal: short at first, never long.
pub(crate) struct Backoff {
    pause: Duration,
    give_up: Instant,
}

impl Backoff {
    pub(crate) fn new() -> Self {
        Self { pause: Duration::from_millis(2), give_up: Instant::now() + PATIENCE }
    }

    /// False once it has taken too long.
    pub(crate) async fn again(&mut self) -> bool {
        tokio::time::sleep(self.pause).await;
        self.pause = (self.pause * 2).min(Duration::from_millis(50));
        Instant::now() < self.give_up
    }
}

/// A server's process and its guard, and what survives the process: its folder and its log.
pub(crate) struct Process {
    name: &'static str,
    at_once: Signal,
    folder: PathBuf,
    child: Option<Child>,
    guard: Guard,
}

impl Process {
    /// `at_once` is the signal that ends such a server at once and cleanly.
    pub(crate) fn in_folder(name: &'static str, at_once: Signal, folder: PathBuf) -> Result<Self> {
        let guard = Guard::over(&folder, at_once)?;
        Ok(Self { name, at_once, folder, child: None, guard })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn log_path(&self) -> PathBuf {
        self.folder.join("server.log")
    }

    pub(crate) fn start(&mut self, mut command: Command) -> Result<()> {
        let doing = || Error::doing(format!("cannot start {}", self.name));
        let log =
            File::options().create(true).append(true).open(self.log_path()).map_err(doing())?;
        let errors = log.try_clone().map_err(doing())?;
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.current_dir(&self.folder).stdin(Stdio::null()).stdout(log).stderr(errors);
        let child = self.child.insert(command.spawn().map_err(doing())?);
        self.guard.watch(child)
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    /// What went wrong, with the end of the server's log.
    pub(crate) fn failed(&self, what: &str) -> Error {
        let log = fs::read_to_string(self.log_path()).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let end = lines[lines.len().saturating_sub(15)..].join("\n");
        Error::new(format!("{} {what}; the end of its log:\n{end}", self.name))
    }

    /// Sends a signal to the process; none is running is fine.
    pub(crate) fn signal(&self, signal: Signal) -> Result<()> {
        let Some(child) = &self.child else { return Ok(()) };
        match kill_process(Pid::from_child(child), signal) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
            Err(error) => Err(Error::new(format!("cannot signal {}: {error}", self.name))),
        }
    }

    /// Waits until the process, which was told to end, has.
    pub(crate) async fn ended(&mut self) -> Result<Option<ExitStatus>> {
        let Some(child) = &mut self.child else { return Ok(None) };
        let mut backoff = Backoff::new();
        loop {
            let status =
                child.try_wait().map_err(Error::doing(format!("cannot wait for {}", self.name)))?;
            if status.is_some() {
                self.child = None;
                self.guard.forget()?;
                return Ok(status);
            }
            if !backoff.again().await {
                return Err(self.failed("did not stop"));
            }
        }
    }

    /// Ends the process and its children at once, as a power cut would.
    pub(crate) async fn kill9(&mut self) -> Result<()> {
        self.kill_family()?;
        self.ended().await.map(drop)
    }

    /// The parent is stopped first: it would answer the death of a child with a new one.
    fn kill_family(&self) -> Result<()> {
        let Some(child) = &self.child else { return Ok(()) };
        self.signal(Signal::STOP)?;
        for child in children_of(child.id()) {
            let _ = kill_process(child, Signal::KILL); // it may have ended by itself
        }
        self.signal(Signal::KILL)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.signal(self.at_once);
        for _ in 0..500 {
            if !self.is_running() {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.kill_family();
        if let Some(mut child) = self.child.take() {
            let _ = child.wait();
            let _ = self.guard.forget();
        }
    }
}

fn children_of(parent: u32) -> Vec<Pid> {
    let table = if Path::new("/proc/self/stat").exists() { from_proc() } else { from_ps() };
    table
        .into_iter()
        .filter(|(_, its_parent)| *its_parent == parent)
        .filter_map(|(pid, _)| Pid::from_raw(pid))
        .collect()
}

/// Process and parent ids. In `stat` they surround the command's name, which may itself hold blanks and brackets.
fn from_proc() -> Vec<(i32, u32)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let parse = |stat: String| {
        let pid = stat.split(' ').next()?.parse().ok()?;
        let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
        Some((pid, parent))
    };
    entries
        .filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok().and_then(parse))
        .collect()
}

fn from_ps() -> Vec<(i32, u32)> {
    let output = Command::new("ps").args(["-axo", "pid=,ppid="]).output();
    let text = output
        .map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
        .unwrap_or_default();
    let parse = |line: &str| {
        let mut ids = line.split_whitespace();
        Some((ids.next()?.parse().ok()?, ids.next()?.parse().ok()?))
    };
    text.lines().filter_map(parse).collect()
}
