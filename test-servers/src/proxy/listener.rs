use std::net::{Ipv4Addr, SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::oneshot;
use url::Url;

use super::connection;
use super::journal::Journal;
use super::message::Trace;
use super::rule::{Action, Armed, Rule, Trigger};
use crate::{Error, Result};

/// A proxy in front of a PostgreSQL server, gone when dropped together with its connections.
pub struct Proxy {
    port: u16,
    journal: Arc<Journal>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Starts one in front of the server that the URL names by host and port.
    pub fn in_front_of(url: &str) -> Result<Self> {
        let server = address(&parse(url)?)?;
        let doing = || Error::doing("cannot start the proxy");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(doing())?;
        listener.set_nonblocking(true).map_err(doing())?;
        let port = listener.local_addr().map_err(doing())?.port();
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(doing())?;
        let journal = Arc::new(Journal::new());
        let (stop, stopped) = oneshot::channel();
        let its_journal = Arc::clone(&journal);
        let thread = std::thread::Builder::new().name("proxy".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = stopped => {}
                    () = accept(listener, its_journal, server) => {}
                }
            });
        });
        Ok(Self { port, journal, stop: Some(stop), thread: Some(thread.map_err(doing())?) })
    }

    /// The same URL through the proxy.
    pub fn url_for(&self, url: &str) -> Result<String> {
        let mut url = parse(url)?;
        let moved =
            url.set_host(Some("127.0.0.1")).is_ok() && url.set_port(Some(self.port)).is_ok();
        if moved {
            Ok(url.into())
        } else {
            Err(Error::new("the proxy needs a URL with a host and a port"))
        }
    }

    /// Round trips begun since the last [`reset`](Self::reset), over all connections. What the client sends before it waits
    /// for an answer is one, however many statements that are.
    pub fn round_trips(&self) -> usize {
        self.journal.round_trips()
    }

    /// What was passed on since the last reset, the newest 65,536 messages.
    pub fn trace(&self) -> Trace {
        self.journal.trace()
    }

    /// Forgets counts, trace and rules that have not fired. Latency stays.
    pub fn reset(&self) {
        self.journal.reset();
    }

    /// From now on whatever arrives is passed on this much later, in each direction.
    pub fn delay_each_way(&self, time: Duration) {
        self.journal.latency.send_replace(time);
    }

    /// Lays a rule: once, at the message the trigger names, the action is taken on that message's connection.
    pub fn on(&self, trigger: Trigger, action: Action) -> Rule {
        let (armed, rule) = Armed::new(trigger, action);
        self.journal.add(armed);
        rule
    }

    /// Ends every stall: what was held passes.
    pub fn heal(&self) {
        self.journal.healed.send_modify(|times| *times += 1);
    }

    /// Cuts every connection there is.
    pub fn cut_all(&self) {
        self.journal.cut.send_modify(|times| *times += 1);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn accept(listener: TcpListener, journal: Arc<Journal>, server: SocketAddr) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    loop {
        if let Ok((client, _)) = listener.accept().await {
            tokio::spawn(connection::serve(Arc::clone(&journal), client, server));
        }
    }
}

fn parse(url: &str) -> Result<Url> {
    Url::parse(url).map_err(Error::doing("this is no database URL"))
}

fn address(url: &Url) -> Result<SocketAddr> {
    let host = url.host_str().ok_or_else(|| Error::new("the proxy needs a URL with a host"))?;
    let mut found = (host, url.port().unwrap_or(5432))
        .to_socket_addrs()
        .map_err(Error::doing("cannot find the address of the database's host"))?;
    found.next().ok_or_else(|| Error::new("the database's host has no address"))
}
