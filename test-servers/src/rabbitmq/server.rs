use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::Broker;
use super::broker::Node;
use crate::account::{self, Account};
use crate::process::{Backoff, Process};
use crate::scratch::{self, Storage};
use crate::{Error, Result, port};

/// A RabbitMQ of one node, gone when dropped; what is durable in it survives a restart.
pub struct RabbitMq {
    broker: Broker,
    ports: Ports,
    process: Process,
    _names: Process, // after the broker, which registers there
}

/// For clients, for Erlang's own connections, and for its name service.
#[derive(Clone, Copy)]
struct Ports {
    clients: u16,
    nodes: u16,
    names: u16,
}

impl RabbitMq {
    /// Starts one.
    pub async fn start() -> Result<Self> {
        Self::start_with("").await
    }

    /// Starts one with further lines in its `rabbitmq.conf`.
    pub async fn start_with(settings: &str) -> Result<Self> {
        let account = Account::for_servers()?;
        let ports = Ports { clients: port::free()?, nodes: port::free()?, names: port::free()? };
        let names = start_name_service(ports.names, account)?;
        let folder = scratch::new("rabbitmq", Storage::Memory, account)?;
        let process = Process::in_folder("RabbitMQ", Signal::KILL, folder)?;
        let cookie = write_files(process.folder(), ports, settings, account)?;
        let node = Node { port: ports.nodes, cookie };
        let broker = Broker::of_node(format!("amqp://127.0.0.1:{}", ports.clients), node);
        let mut server = Self { broker, ports, process, _names: names };
        server.restart().await?;
        Ok(server)
    }

    /// How it is reached.
    pub fn broker(&self) -> &Broker {
        &self.broker
    }

    /// Starts it where it does not run, and resolves when it takes connections.
    pub async fn restart(&mut self) -> Result<()> {
        let account = Account::for_servers()?;
        let mut command = command(&program()?, account);
        command.envs(environment(self.process.folder(), self.ports));
        command.arg("-noinput");
        self.process.start(command)?;
        self.until_it_answers().await
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

    /// The version in a program's path. The program itself knows no question but starts a server.
    pub fn version_at(program: &Path) -> Option<&str> {
        let folders = program.iter().filter_map(|part| part.to_str());
        folders.filter_map(|part| part.strip_prefix("rabbitmq_server-")).next_back()
    }

    async fn until_it_answers(&mut self) -> Result<()> {
        let mut backoff = Backoff::new();
        loop {
            if greets(self.ports.clients).await {
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

/// Without one of our own, the server would start one that outlives it.
fn start_name_service(port: u16, account: Option<Account>) -> Result<Process> {
    let folder = scratch::new("epmd", Storage::Disk, account)?;
    let mut process = Process::in_folder("epmd", Signal::TERM, folder)?;
    let mut command = account::command(Path::new("epmd"), account);
    command.args(["-port", &port.to_string(), "-address", "127.0.0.1"]);
    process.start(command)?;
    Ok(process)
}

/// Answers the cookie, which is the password between nodes.
fn write_files(
    folder: &Path,
    ports: Ports,
    settings: &str,
    account: Option<Account>,
) -> Result<String> {
    let cookie = format!("{:032x}", fastrand::u128(..));
    let configuration = format!(
        "listeners.tcp.default = 127.0.0.1:{}\n\
         log.file = false\n\
         log.console = true\n\
         log.console.level = warning\n\
         disk_free_limit.absolute = 50MB\n\
         raft.wal_max_size_bytes = 64000000\n\
         {settings}\n",
        ports.clients
    );
    // How often a channel looks whether its consumer has become too slow.
    let advanced = "[{rabbit, [{channel_tick_interval, 1000}]}].\n";
    for (name, text, mode) in [
        ("rabbitmq.conf", configuration.as_str(), 0o644),
        ("advanced.config", advanced, 0o644),
        ("enabled_plugins", "[].\n", 0o644),
        ("environment", "", 0o644),
        (".erlang.cookie", cookie.as_str(), 0o400),
    ] {
        write(&folder.join(name), text, mode, account)?;
    }
    Ok(cookie)
}

fn write(path: &Path, text: &str, mode: u32, account: Option<Account>) -> Result<()> {
    let doing = || Error::doing("cannot write the settings of RabbitMQ");
    let options = fs::File::options().write(true).create_new(true).mode(mode).open(path);
    options.and_then(|mut file| file.write_all(text.as_bytes())).map_err(doing())?;
    account.map_or(Ok(()), |account| account.own(path))
}

fn command(program: &Path, account: Option<Account>) -> Command {
    let mut command = account::command(program, account);
    for (name, _) in env::vars_os() {
        if name.to_string_lossy().starts_with("RABBITMQ_") {
            command.env_remove(name);
        }
    }
    command
}

fn environment(folder: &Path, ports: Ports) -> Vec<(&'static str, OsString)> {
    let within = |name: &str| folder.join(name).into_os_string();
    vec![
        ("HOME", folder.into()),
        ("ERL_EPMD_PORT", ports.names.to_string().into()),
        ("ERL_EPMD_ADDRESS", "127.0.0.1".into()),
        ("ERL_FLAGS", "-kernel inet_dist_use_interface {127,0,0,1}".into()),
        ("RABBITMQ_NODENAME", format!("inbox{}@localhost", ports.nodes).into()),
        ("RABBITMQ_DIST_PORT", ports.nodes.to_string().into()),
        ("RABBITMQ_CONF_ENV_FILE", within("environment")),
        ("RABBITMQ_CONFIG_FILE", within("rabbitmq.conf")),
        ("RABBITMQ_ADVANCED_CONFIG_FILE", within("advanced.config")),
        ("RABBITMQ_ENABLED_PLUGINS_FILE", within("enabled_plugins")),
        ("RABBITMQ_MNESIA_BASE", within("data")),
        ("RABBITMQ_LOG_BASE", within("log")),
        ("RABBITMQ_LOGS", "-".into()),
        ("RABBITMQ_PID_FILE", within("pid")),
        ("RABBITMQ_ALLOW_INPUT", "1".into()), // the script becomes the server instead of waiting for it
    ]
}

/// Whether a server answers AMQP's first words, which it does when it is ready.
async fn greets(port: u16) -> bool {
    let greeting = async {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.write_all(b"AMQP\x00\x00\x09\x01").await?;
        stream.read_u8().await
    };
    greeting.await.is_ok_and(|frame| frame == 1)
}

/// The server's own: what Debian puts on the PATH changes to another user first.
fn program() -> Result<PathBuf> {
    if let Some(path) = env::var_os("INBOX_TEST_RABBITMQ_SERVER") {
        return Ok(PathBuf::from(path));
    }
    let versions = fs::read_dir("/usr/lib/rabbitmq/lib").into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = versions.map(|version| version.path().join("sbin")).collect();
    found.sort();
    let path = env::var_os("PATH").unwrap_or_default();
    let others = ["/opt/homebrew/sbin", "/usr/local/sbin"].map(PathBuf::from);
    let on_path = env::split_paths(&path).filter(|folder| !folder.starts_with("/usr/sbin"));
    let all = found.into_iter().rev().chain(others).chain(on_path);
    all.map(|folder| folder.join("rabbitmq-server")).find(|program| program.is_file()).ok_or_else(
        || {
            Error::new(
                "found no RabbitMQ: install the package `rabbitmq-server`, or name the program in \
                 INBOX_TEST_RABBITMQ_SERVER",
            )
        },
    )
}
