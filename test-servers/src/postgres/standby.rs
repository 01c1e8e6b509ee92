//! A second server that follows a first.

use std::fs::File;
use std::path::Path;

use rustix::process::Signal;

use super::cluster::configure;
use super::{Cluster, Server, Shutdown, admin, template};
use crate::process::Process;
use crate::scratch::Storage;
use crate::{Error, Result, account, port, scratch};

impl Cluster {
    /// A hot standby that follows this server asynchronously. Stops it for a moment, to copy its files while they rest.
    pub async fn standby(&mut self) -> Result<Self> {
        self.stop(Shutdown::Fast).await?;
        let folder = scratch::new("postgres", Storage::Disk, self.account)?;
        let process = Process::in_folder("PostgreSQL", Signal::QUIT, folder.clone())?;
        let data = folder.join("data");
        let mut copy = account::command(Path::new("cp"), self.account);
        copy.arg("-Rp").arg(self.data_folder()).arg(&data).current_dir("/");
        template::finish(copy).await?;
        let follow = format!(
            "primary_conninfo = 'host=127.0.0.1 port={} user=postgres'\nunix_socket_directories = '{}'\n",
            self.port(),
            folder.display()
        );
        configure(&data, &follow)?;
        File::create(data.join("standby.signal"))
            .map_err(Error::doing("cannot write standby.signal"))?;
        self.restart().await?;
        let port = port::free()?;
        let url = format!("postgres://postgres@127.0.0.1:{port}/postgres");
        let server = Server::of_cluster(url, process.log_path());
        let (installation, account) = (self.installation.clone(), self.account);
        let mut standby = Self { server, installation, account, port, process };
        standby.restart().await?;
        Ok(standby)
    }

    /// Makes a standby a server that can be written to, and returns when it is.
    pub async fn promote(&self) -> Result<()> {
        admin::execute(self.server.direct_url(), "SELECT pg_promote()")
            .await
            .map_err(Error::doing("cannot promote the standby"))
    }
}
