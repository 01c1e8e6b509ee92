use std::env;

use super::{Cluster, Options, Server};
use crate::pgbouncer::PgBouncer;
use crate::{Error, Result};

/// A cluster, with PgBouncer before it if asked for: what [`Server::shared`] starts where nothing else is named.
pub struct Started {
    server: Server,
    _bouncer: Option<PgBouncer>, // before the cluster it leads to, so that it goes first
    _cluster: Cluster,
}

impl Started {
    /// As `INBOX_TEST_POSTGRES` and `INBOX_TEST_THROUGH` say.
    pub async fn by_environment() -> Result<Self> {
        let through = match env::var("INBOX_TEST_THROUGH").as_deref() {
            Err(_) | Ok("") => false,
            Ok("pgbouncer") => true,
            Ok(other) => {
                return Err(Error::new(format!(
                    "INBOX_TEST_THROUGH is `{other}`: write `pgbouncer` or leave it out"
                )));
            }
        };
        let cluster = Cluster::start(Options::default()).await?;
        let bouncer = if through { Some(PgBouncer::in_front_of(&cluster).await?) } else { None };
        let server = match &bouncer {
            Some(bouncer) => cluster.server().through(bouncer.url()),
            None => cluster.server().clone(),
        };
        Ok(Self { server, _bouncer: bouncer, _cluster: cluster })
    }

    /// Where tests connect.
    pub fn server(&self) -> &Server {
        &self.server
    }
}
