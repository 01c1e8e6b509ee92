//! Throwaway NATS servers with JetStream: one, or a cluster.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use crate::account::{self, Account};
use crate::process::{Backoff, Process};
use crate::scratch::{self, Storage};
use crate::{Error, Result, port};

/// A NATS server with JetStream, gone when dropped; its streams survive a restart.
pub struct NatsServer {
    process: Process,
    port: u16,
}

/// Several servers that keep replicas of each other's streams.
pub struct NatsCluster {
    nodes: Vec<NatsServer>,
}

impl NatsServer {
    /// Starts one.
    pub async fn start() -> Result<Self> {
        let mut server = Self::new("n0", None)?;
        server.restart().await?;
        Ok(server)
    }

    fn new(name: &str, cluster: Option<(u16, &[u16])>) -> Result<Self> {
        let account = Account::for_servers()?;
        let folder = scratch::new("nats", Storage::Disk, account)?;
        let process = Process::in_folder("nats-server", Signal::TERM, folder)?;
        let port = port::free()?;
        let settings = configuration(name, port, process.folder(), cluster);
        fs::write(process.folder().join("nats.conf"), settings)
            .map_err(Error::doing("cannot write the settings of nats-server"))?;
        Ok(Self { process, port })
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Starts it where it does not run, and resolves when it takes connections.
    pub async fn restart(&mut self) -> Result<()> {
        self.launch()?;
        self.until_it_answers().await
    }

    fn launch(&mut self) -> Result<()> {
        let mut command = account::command(&program()?, Account::for_servers()?);
        command.arg("-c").arg(self.process.folder().join("nats.conf"));
        self.process.start(command)
    }

    /// Ends it at once, as a power cut would.
    pub async fn kill9(&mut self) -> Result<()> {
        self.process.kill9().await
    }

    /// Ends it in good order.
    pub async fn stop(&mut self) -> Result<()> {
        self.process.signal(Signal::TERM)?;
        self.process.ended().await.map(drop)
    }

    /// The program that would be used.
    pub fn program() -> Result<PathBuf> {
        program()
    }

    async fn until_it_answers(&mut self) -> Result<()> {
        let mut backoff = Backoff::new();
        loop {
            if greets(self.port).await {
                return Ok(());
            }
            if !self.process.is_running() {
                return Err(self.process.failed("ended"));
            }
            if !backoff.again().await {
                return Err(self.process.failed("does not answer"));
            }
        }
    }
}

impl NatsCluster {
    /// Starts so many.
    pub async fn start(nodes: usize) -> Result<Self> {
        let routes = (0..nodes).map(|_| port::free()).collect::<Result<Vec<u16>>>()?;
        let mut cluster = Self { nodes: Vec::with_capacity(nodes) };
        for (i, &route) in routes.iter().enumerate() {
            let mut node = NatsServer::new(&format!("n{i}"), Some((route, &routes)))?;
            node.launch()?;
            cluster.nodes.push(node);
        }
        for node in &mut cluster.nodes {
            node.until_it_answers().await?;
        }
        Ok(cluster)
    }

    /// The addresses of all, for a client.
    pub fn urls(&self) -> Vec<String> {
        self.nodes.iter().map(NatsServer::url).collect()
    }

    /// The node that calls itself so, `n0` and on.
    pub fn node(&mut self, name: &str) -> Option<&mut NatsServer> {
        let place: usize = name.strip_prefix('n')?.parse().ok()?;
        self.nodes.get_mut(place)
    }
}

/// Whether a server greets a new connection, which it does when it is ready.
async fn greets(port: u16) -> bool {
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)).await else { return false };
    let mut greeting = [0; 4];
    stream.read_exact(&mut greeting).await.is_ok() && &greeting == b"INFO"
}

fn configuration(name: &str, port: u16, folder: &Path, cluster: Option<(u16, &[u16])>) -> String {
    let store = folder.join("store");
    let mut text = format!(
        "server_name: {name}\n\
         listen: \"127.0.0.1:{port}\"\n\
         jetstream {{ store_dir: \"{}\", max_file_store: 4GB, max_memory_store: 256MB }}\n",
        store.display(),
    );
    if let Some((route, all)) = cluster {
        let routes: Vec<String> =
            all.iter().map(|port| format!("\"nats-route://127.0.0.1:{port}\"")).collect();
        text.push_str(&format!(
            "cluster {{ name: tests, listen: \"127.0.0.1:{route}\", routes: [{}] }}\n",
            routes.join(", "),
        ));
    }
    text
}

/// Debian installs it where an ordinary user's PATH does not look.
fn program() -> Result<PathBuf> {
    if let Some(path) = env::var_os("INBOX_TEST_NATS_SERVER") {
        return Ok(PathBuf::from(path));
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin"].map(PathBuf::from);
    env::split_paths(&path)
        .chain(usual)
        .map(|folder| folder.join("nats-server"))
        .find(|program| {
            Command::new(program)
                .arg("--version")
                .output()
                .is_ok_and(|output| output.status.success())
        })
        .ok_or_else(|| {
            Error::new(
                "found no nats-server: install the package `nats-server`, or name the program in \
                 INBOX_TEST_NATS_SERVER",
            )
        })
}
