//! Throwaway PostgreSQL.
//!
//! ```no_run
//! # async fn test() -> test_servers::Result<()> {
//! use test_servers::postgres::{Cluster, Options, Server, Shutdown};
//!
//! // What most tests need: a database of their own on a server that others use too.
//! let database = Server::shared().await?.create_database().await?;
//! println!("{}", database.url());
//!
//! // A server of one's own, to be killed.
//! let mut cluster = Cluster::start(Options::default().durable()).await?;
//! cluster.kill9().await?;
//! cluster.restart().await?;
//! cluster.stop(Shutdown::Fast).await?;
//! # Ok(())
//! # }
//! ```

mod admin;
mod cluster;
mod database;
mod installation;
mod options;
mod server;
mod standby;
mod started;
mod template;

pub use cluster::{Cluster, Shutdown};
pub use database::TestDatabase;
pub use installation::Installation;
pub use options::Options;
pub use server::Server;
pub use started::Started;
