use std::sync::atomic::{AtomicU32, Ordering};

use url::Url;

use super::{Server, admin};
use crate::{Error, Result};

/// A database of one test, dropped with this value whoever is still connected to it.
pub struct TestDatabase {
    name: String,
    url: Url,
    direct: Url,
    server: Server,
}

pub(super) async fn create(server: &Server) -> Result<TestDatabase> {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let counter = COUNTER.fetch_add(1, Ordering::Relaxed);
    let name = format!("inbox_test_{}_{counter}_{:08x}", std::process::id(), fastrand::u32(..));
    // template0, because nobody is ever connected to it: an open connection to a template is an error here.
    admin::execute(server.direct_url(), &format!("CREATE DATABASE {name} TEMPLATE template0"))
        .await
        .map_err(Error::doing("cannot create a test database"))?;
    let url = in_database(server.url(), &name)?;
    let direct = in_database(server.direct_url(), &name)?;
    Ok(TestDatabase { name, url, direct, server: server.clone() })
}

fn in_database(url: &str, name: &str) -> Result<Url> {
    let mut url = Url::parse(url).map_err(Error::doing("the test server's URL is not one"))?;
    url.set_path(name);
    Ok(url)
}

impl TestDatabase {
    /// The database's name; it needs no quotes.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The URL a test uses, through PgBouncer if the run goes through it.
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// The URL straight to the server.
    pub fn direct_url(&self) -> &str {
        self.direct.as_str()
    }

    /// [`url`](Self::url) as another user, without a password: a throwaway server trusts everyone.
    pub fn url_as(&self, user: &str) -> Result<String> {
        let mut url = self.url.clone();
        let changed = url.set_username(user).and_then(|()| url.set_password(None));
        changed.map_err(|()| Error::new("the test server's URL cannot carry a user"))?;
        Ok(url.into())
    }

    /// The server it is on.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// What the server has logged about this database, each entry with its continuation lines. After the time and the
    /// process, an entry has the database, the SQLSTATE and then `ERROR:`, `WARNING:` and so on.
    pub fn log(&self) -> Result<String> {
        let all = self.server.log()?;
        let ours = format!("] {} ", self.name);
        let mut keep = false;
        let mut lines = String::new();
        for line in all.lines() {
            keep = if line.starts_with('\t') { keep } else { line.contains(&ours) };
            if keep {
                lines.push_str(line);
                lines.push('\n');
            }
        }
        Ok(lines)
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let sql = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        admin::execute_at_the_end(self.server.direct_url().to_owned(), sql);
    }
}
