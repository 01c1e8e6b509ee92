use std::env;
use std::path::PathBuf;

use tokio::sync::OnceCell;

use super::{Started, TestDatabase, admin, database};
use crate::{Error, Result};

/// Where tests make their databases.
#[derive(Clone)]
pub struct Server {
    direct: String,
    through: Option<String>,
    log: Option<PathBuf>,
}

impl Server {
    /// The server of this run; the crate's docs say which one that is.
    pub async fn shared() -> Result<Self> {
        /// Never dropped, as statics are not: the guards end it with the process.
        static OWN: OnceCell<Started> = OnceCell::const_new();
        if let Ok(direct) = env::var("INBOX_TEST_SERVER") {
            let log = env::var_os("INBOX_TEST_SERVER_LOG").map(PathBuf::from);
            return Ok(Self { direct, through: env::var("INBOX_TEST_SERVER_THROUGH").ok(), log });
        }
        if let Ok(direct) = env::var("INBOX_TEST_DATABASE_URL") {
            return Ok(Self { direct, through: None, log: None });
        }
        Ok(OWN.get_or_try_init(Started::by_environment).await?.server().clone())
    }

    pub(super) fn of_cluster(direct: String, log: PathBuf) -> Self {
        Self { direct, through: None, log: Some(log) }
    }

    /// The same server, reached through what listens at that URL.
    pub fn through(&self, url: impl Into<String>) -> Self {
        Self { through: Some(url.into()), ..self.clone() }
    }

    /// The URL of its administrator, straight to the server.
    pub fn direct_url(&self) -> &str {
        &self.direct
    }

    /// The URL tests use: PgBouncer's if they go through one.
    pub fn url(&self) -> &str {
        self.through.as_deref().unwrap_or(&self.direct)
    }

    /// The major version, asked of the server.
    pub async fn major(&self) -> Result<u32> {
        let number = admin::server_version(&self.direct).await;
        Ok(number.map_err(Error::doing("cannot ask the test server its version"))? / 10_000)
    }

    /// What the server has logged. An existing server's log cannot be read: that is an error, not an empty log.
    pub fn log(&self) -> Result<String> {
        let path = self.log.as_ref().ok_or_else(|| {
            Error::new("this test reads the server's log: run it without INBOX_TEST_DATABASE_URL")
        })?;
        let bytes =
            std::fs::read(path).map_err(Error::doing("cannot read the test server's log"))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// An empty database that nobody else uses, dropped with the value.
    pub async fn create_database(&self) -> Result<TestDatabase> {
        database::create(self).await
    }

    /// The variables that make this the shared server of the processes we start.
    pub fn environment(&self) -> Vec<(&'static str, std::ffi::OsString)> {
        let mut variables = vec![("INBOX_TEST_SERVER", self.direct.clone().into())];
        variables.extend(self.through.clone().map(|url| ("INBOX_TEST_SERVER_THROUGH", url.into())));
        variables.extend(self.log.clone().map(|path| ("INBOX_TEST_SERVER_LOG", path.into())));
        variables
    }
}
