use std::env;
use std::ffi::OsString;
use std::process::Stdio;

use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::sync::OnceCell;

use super::RabbitMq;
use crate::process::Backoff;
use crate::{Error, Result};

/// A broker that runs.
#[derive(Clone, Debug)]
pub struct Broker {
    url: String,
    node: Option<Node>,
}

/// How a broker is asked what no client may ask.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) port: u16,
    pub(super) cookie: String,
}

impl Broker {
    /// The broker of this run: the one that `with-servers` started, the one named by
    /// `INBOX_TEST_AMQP_URL`, or one that this process starts when it is first asked for.
    pub async fn shared() -> Result<Self> {
        /// Never dropped, as statics are not: the guards end it with the process.
        static OWN: OnceCell<RabbitMq> = OnceCell::const_new();
        if let Some(broker) = Self::of_environment() {
            return Ok(broker);
        }
        if let Ok(url) = env::var("INBOX_TEST_AMQP_URL") {
            return Ok(Self { url, node: None });
        }
        Ok(OWN.get_or_try_init(RabbitMq::start).await?.broker().clone())
    }

    pub(super) fn of_node(url: String, node: Node) -> Self {
        Self { url, node: Some(node) }
    }

    fn of_environment() -> Option<Self> {
        let port = env::var("INBOX_TEST_RABBITMQ_NODE").ok()?.parse().ok()?;
        let cookie = env::var("INBOX_TEST_RABBITMQ_COOKIE").ok()?;
        let url = env::var("INBOX_TEST_RABBITMQ_URL").ok()?;
        Some(Self { url, node: Some(Node { port, cookie }) })
    }

    /// The variables that make this the shared broker of the processes we start.
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        let Some(Node { port, cookie }) = &self.node else { return Vec::new() };
        vec![
            ("INBOX_TEST_RABBITMQ_URL", self.url.clone().into()),
            ("INBOX_TEST_RABBITMQ_NODE", port.to_string().into()),
            ("INBOX_TEST_RABBITMQ_COOKIE", cookie.clone().into()),
        ]
    }

    /// Its address, for clients.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// How many messages these queues have in all, and how many of them are delivered and unsettled. `None`
    /// where the broker is not one of ours.
    pub async fn count(&self, queues: &[String]) -> Result<Option<(usize, usize)>> {
        let queues: Vec<String> = queues.iter().map(|queue| format!("<<\"{queue}\">>")).collect();
        let question = format!("{COUNT}[{}]).\n", queues.join(","));
        let mut backoff = Backoff::new();
        loop {
            let Some(numbers) = self.ask(&question).await? else { return Ok(None) };
            let pair = numbers.trim_start_matches("{ok, {").trim_end_matches("}}").split_once(", ");
            let parsed = pair.and_then(|(all, out)| Some((all.parse().ok()?, out.parse().ok()?)));
            // After a restart a queue has no leader at first.
            if parsed.is_some() {
                return Ok(parsed);
            }
            if !backoff.again().await {
                return Err(Error::new(format!("RabbitMQ answered {numbers}")));
            }
        }
    }

    /// What Erlang makes of the expression within the broker.
    pub async fn ask(&self, expression: &str) -> Result<Option<String>> {
        let Some(Node { port, cookie }) = &self.node else { return Ok(None) };
        let doing = || Error::doing("cannot ask RabbitMQ with `erl_call`");
        let mut child = Command::new("erl_call")
            .env("PATH", path())
            .args(["-address", &port.to_string(), "-c", cookie, "-e"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(doing())?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(expression.as_bytes()).await.map_err(doing())?;
        }
        let output = child.wait_with_output().await.map_err(doing())?;
        Ok(Some(String::from_utf8_lossy(&output.stdout).into_owned()))
    }
}

/// Asked of the queue's own log: what the broker tells otherwise is some seconds old. No such queue is an
/// empty one.
const COUNT: &str = "
(fun(Names) ->
  OfOne = fun(Name) ->
    case rabbit_amqqueue:lookup(rabbit_misc:r(<<\"/\">>, queue, Name)) of
      {ok, Queue} ->
        case amqqueue:get_type(Queue) of
          rabbit_quorum_queue ->
            Of = fun(What) -> {ok, Found, _} = ra:consistent_query(amqqueue:get_pid(Queue), What), Found end,
            {Of(fun rabbit_fifo:query_messages_total/1), Of(fun rabbit_fifo:query_messages_checked_out/1)};
          _ ->
            [{_, All}, {_, Out}] = rabbit_amqqueue:info(Queue, [messages, messages_unacknowledged]),
            {All, Out}
        end;
      _ -> {0, 0}
    end
  end,
  {All, Out} = lists:unzip([OfOne(Name) || Name <- Names]),
  {lists:sum(All), lists:sum(Out)}
end)(";

/// Debian keeps it away from the PATH.
fn path() -> OsString {
    let mut path = env::var_os("PATH").unwrap_or_default();
    path.push(":/usr/lib/erlang/bin");
    path
}
