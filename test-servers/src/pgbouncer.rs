//! Throwaway PgBouncer in transaction mode.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::Signal;
use sqlx::Connection;
use sqlx::postgres::PgConnection;

use crate::account::{self, Account};
use crate::postgres::Cluster;
use crate::process::{Backoff, Process};
use crate::scratch::{self, Storage};
use crate::{Error, Result, port};

/// A PgBouncer in front of a cluster, gone when dropped.
pub struct PgBouncer {
    url: String,
    process: Process,
}

impl PgBouncer {
    /// Starts one that lets every role of the cluster into every database, as the cluster itself does.
    pub async fn in_front_of(cluster: &Cluster) -> Result<Self> {
        let program = program()?;
        let account = Account::for_servers()?;
        let folder = scratch::new("pgbouncer", Storage::Disk, account)?;
        let mut process = Process::in_folder("PgBouncer", Signal::TERM, folder)?;
        let port = port::free()?;
        let users = process.folder().join("users.txt");
        let settings = process.folder().join("pgbouncer.ini");
        let doing = || Error::doing("cannot write PgBouncer's settings");
        fs::write(&users, "\"postgres\" \"\"\n").map_err(doing())?;
        fs::write(&settings, configuration(cluster.port(), port, &users.to_string_lossy()))
            .map_err(doing())?;
        let mut command = account::command(&program, account);
        command.arg(&settings);
        process.start(command)?;
        let mut bouncer =
            Self { url: format!("postgres://postgres@127.0.0.1:{port}/postgres"), process };
        bouncer.until_it_answers().await?;
        Ok(bouncer)
    }

    /// The administrator's URL through this PgBouncer, for [`Server::through`](crate::postgres::Server::through).
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The program that would be used.
    pub fn program() -> Result<PathBuf> {
        program()
    }

    async fn until_it_answers(&mut self) -> Result<()> {
        let mut backoff = Backoff::new();
        loop {
            if let Ok(connection) = PgConnection::connect(&self.url).await {
                let _ = connection.close().await;
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

/// Roles that are not in the file are looked up in the cluster, so that a role a test has just made may enter.
fn configuration(server: u16, port: u16, users: &str) -> String {
    format!(
        "[databases]\n\
         * = host=127.0.0.1 port={server} auth_user=postgres\n\
         [pgbouncer]\n\
         listen_addr = 127.0.0.1\n\
         listen_port = {port}\n\
         unix_socket_dir =\n\
         auth_type = trust\n\
         auth_file = {users}\n\
         pool_mode = transaction\n\
         max_client_conn = 1000\n\
         default_pool_size = 20\n\
         server_idle_timeout = 5\n\
         ignore_startup_parameters = extra_float_digits\n\
         admin_users = postgres\n"
    )
}

/// Debian installs it where an ordinary user's PATH does not look.
fn program() -> Result<PathBuf> {
    if let Some(path) = env::var_os("INBOX_TEST_PGBOUNCER") {
        return Ok(PathBuf::from(path));
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let usual =
        ["/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin", "/usr/local/bin"].map(PathBuf::from);
    env::split_paths(&path)
        .chain(usual)
        .map(|folder| folder.join("pgbouncer"))
        .find(|program| Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success()))
        .ok_or_else(|| {
            Error::new("found no PgBouncer: install the package `pgbouncer`, or name the program in INBOX_TEST_PGBOUNCER")
        })
}
