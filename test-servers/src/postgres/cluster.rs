use std::fs::File;
use std::io::Write;
use std::path::Path;

use rustix::process::Signal;

use super::{Installation, Options, Server, admin, template};
use crate::account::{self, Account};
use crate::process::{Backoff, Process};
use crate::{Error, Result, port, scratch};

/// How a server is told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// Aborts what runs, writes a checkpoint, ends.
    Fast,
    /// Ends at once and recovers at the next start, as after a crash.
    Immediate,
}

/// A PostgreSQL server of one's own, gone when dropped.
pub struct Cluster {
    pub(super) server: Server,
    pub(super) installation: Installation,
    pub(super) account: Option<Account>,
    pub(super) port: u16,
    pub(super) process: Process,
}

impl Cluster {
    /// Makes a cluster and starts it; it answers queries when this returns.
    pub async fn start(options: Options) -> Result<Self> {
        let account = Account::for_servers()?;
        let installation =
            template::readable(Installation::find(options.version)?, account).await?;
        let folder = scratch::new("postgres", options.storage(), account)?;
        let process = Process::in_folder("PostgreSQL", Signal::QUIT, folder.clone())?;
        let data = folder.join("data");
        template::copy_to(&data, &installation, account).await?;
        configure(&data, &options.configuration(&folder.to_string_lossy()))?;
        let port = port::free()?;
        let server = Server::of_cluster(
            format!("postgres://postgres@127.0.0.1:{port}/postgres"),
            process.log_path(),
        );
        let mut cluster = Self { server, installation, account, port, process };
        cluster.restart().await?;
        Ok(cluster)
    }

    /// Where tests connect.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Which PostgreSQL it is.
    pub fn installation(&self) -> &Installation {
        &self.installation
    }

    /// The TCP port on 127.0.0.1. It stays the same over a restart.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The folder of the Unix socket.
    pub fn socket_folder(&self) -> &Path {
        self.process.folder()
    }

    /// The data directory.
    pub fn data_folder(&self) -> std::path::PathBuf {
        self.process.folder().join("data")
    }

    /// Tells the server to stop and waits until it has.
    pub async fn stop(&mut self, how: Shutdown) -> Result<()> {
        self.process.signal(match how {
            Shutdown::Fast => Signal::INT,
            Shutdown::Immediate => Signal::QUIT,
        })?;
        self.process.ended().await.map(drop)
    }

    /// `kill -9` of the server and all its backends at once.
    pub async fn kill9(&mut self) -> Result<()> {
        self.process.kill9().await
    }

    /// Starts the server again, after stopping it fast if it runs, on the same port and data.
    pub async fn restart(&mut self) -> Result<()> {
        if self.process.is_running() {
            self.stop(Shutdown::Fast).await?;
        }
        // A killed server's shared memory goes a moment after its last backend; another process may just have our port.
        let mut backoff = Backoff::new();
        for _ in 0..5 {
            if self.starts().await? {
                return Ok(());
            }
            backoff.again().await;
        }
        Err(self.process.failed("does not start"))
    }

    /// False if the server ended instead.
    async fn starts(&mut self) -> Result<bool> {
        let mut command = account::command(&self.installation.program("postgres"), self.account);
        command.arg("-D").arg(self.data_folder()).args(["-p", &self.port.to_string()]);
        self.process.start(command)?;
        let mut backoff = Backoff::new();
        while !admin::answers(self.server.direct_url()).await {
            if !self.process.is_running() {
                self.process.ended().await?;
                return Ok(false);
            }
            if !backoff.again().await {
                return Err(self.process.failed("does not answer"));
            }
        }
        Ok(true)
    }
}

/// Appends to `postgresql.conf`.
pub(super) fn configure(data: &Path, lines: &str) -> Result<()> {
    let doing = || Error::doing("cannot write postgresql.conf");
    let mut file =
        File::options().append(true).open(data.join("postgresql.conf")).map_err(doing())?;
    file.write_all(lines.as_bytes()).map_err(doing())
}
