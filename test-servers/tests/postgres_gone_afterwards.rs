//! A server and its files are gone when the process that started it is, however that ended.

use std::io::{self, BufRead, BufReader};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// `with-servers` with a command that tells where its server is and goes on until its input ends.
struct Run {
    process: Child,
    folder: PathBuf,
    address: String,
}

impl Run {
    fn start() -> io::Result<Self> {
        let script =
            r#"echo "$INBOX_TEST_SERVER_LOG"; echo "$INBOX_TEST_SERVER"; read -r rest; exit 7"#;
        let mut process = Command::new(env!("CARGO_BIN_EXE_with-servers"))
            .args(["sh", "-c", script])
            .env_remove("INBOX_TEST_DATABASE_URL")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut output = BufReader::new(process.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?);
        let (mut log, mut url) = (String::new(), String::new());
        output.read_line(&mut log)?;
        output.read_line(&mut url)?;
        let folder = Path::new(log.trim()).with_file_name("");
        let address = url.split(['@', '/']).nth(3).ok_or(io::ErrorKind::InvalidData)?.to_owned();
        Ok(Self { process, folder, address })
    }

    fn is_there(&self) -> bool {
        self.folder.exists() || TcpStream::connect(&self.address).is_ok()
    }

    fn signal(&self, signal: Signal) -> io::Result<()> {
        Ok(kill_process(Pid::from_child(&self.process), signal)?)
    }

    /// Nothing tells when a process that is not ours has ended, so this looks now and then.
    fn goes(&self) {
        let give_up = Instant::now() + Duration::from_secs(30);
        while self.is_there() {
            assert!(Instant::now() < give_up, "{} is still there", self.folder.display());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn after_a_command_that_ended_with_its_exit_code() -> io::Result<()> {
    let mut run = Run::start()?;
    assert!(run.is_there());
    drop(run.process.stdin.take());
    assert_eq!(run.process.wait()?.code(), Some(7));
    assert!(!run.is_there(), "gone when with-servers ends, not a little later");
    Ok(())
}

#[test]
fn after_sigterm() -> io::Result<()> {
    let mut run = Run::start()?;
    assert!(run.is_there());
    run.signal(Signal::TERM)?;
    assert!(!run.process.wait()?.success());
    assert!(!run.is_there(), "gone when with-servers ends, not a little later");
    Ok(())
}

#[test]
fn after_kill_9() -> io::Result<()> {
    let mut run = Run::start()?;
    assert!(run.is_there());
    run.signal(Signal::KILL)?;
    run.process.wait()?;
    run.goes();
    Ok(())
}
