//! The senders: what GitHub, Stripe and a sender of Standard Webhooks put on the wire.

use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::secrets::Secrets;
use crate::signature::{sign, to_hex};

pub(crate) struct Sender {
    pub(crate) address: SocketAddr,
    pub(crate) secrets: Secrets,
}

/// What the receiver answered.
pub(crate) struct Answer {
    pub(crate) status: String,
    pub(crate) body: String,
}

/// One delivery, ready to be sent as often as one likes.
struct Request {
    path: &'static str,
    headers: Vec<(&'static str, String)>,
    body: String,
}

impl Sender {
    /// All deliveries in turn, with what was answered to each.
    pub(crate) async fn send_all(&self) -> anyhow::Result<Vec<(String, Answer)>> {
        let mut told = Vec::new();
        let github = self.github("0b2f1c1e-9a7d-4a58-8f0e-5d7c8e1b2a34");
        let stripe = self.stripe("evt_1PqX");
        let shop = self.shop("msg_2Lx9", 1_200, 1);
        let mut forged = self.shop("msg_2Lx9", 1_200, 1);
        forged.body = forged.body.replace("1200", "9900");
        for (what, request) in [
            ("GitHub", &github),
            ("GitHub, redelivered", &github),
            ("Stripe", &stripe),
            ("Stripe, redelivered", &stripe),
            ("shop", &shop),
            ("shop, redelivered", &shop),
            ("shop, forged", &forged),
            ("shop, fails at first", &self.shop("msg_2Lxa", 500, 1)),
            ("shop, tried again", &self.shop("msg_2Lxa", 500, 2)),
        ] {
            told.push((what.to_owned(), self.send(request).await?));
        }
        let hung_up = self.shop("msg_2Lxb", 700, 1);
        drop(self.begin(&hung_up).await?);
        told.push(("shop, sent again after hanging up".to_owned(), self.send(&hung_up).await?));
        Ok(told)
    }

    fn github(&self, id: &str) -> Request {
        let body = r#"{"amount":1}"#.to_owned();
        let signature = to_hex(&sign(&self.secrets.github, &[body.as_bytes()]));
        let headers = vec![
            ("X-GitHub-Delivery", id.to_owned()),
            ("X-GitHub-Event", "payment.succeeded".to_owned()),
            ("X-Hub-Signature-256", format!("sha256={signature}")),
        ];
        Request { path: "/github", headers, body }
    }

    fn stripe(&self, id: &str) -> Request {
        let body = format!(r#"{{"id":"{id}","type":"payment.succeeded","data":{{"amount":2}}}}"#);
        let time = now();
        let signature = sign(&self.secrets.stripe, &[time.as_bytes(), b".", body.as_bytes()]);
        let header = format!("t={time},v1={}", to_hex(&signature));
        Request { path: "/stripe", headers: vec![("Stripe-Signature", header)], body }
    }

    fn shop(&self, id: &str, amount: u32, attempt: u32) -> Request {
        let body = format!(r#"{{"amount":{amount}}}"#);
        let time = now();
        let signed = [id.as_bytes(), b".", time.as_bytes(), b".", body.as_bytes()];
        let signature = BASE64.encode(sign(&self.secrets.shop, &signed));
        let headers = vec![
            ("webhook-id", id.to_owned()),
            ("webhook-timestamp", time),
            ("webhook-signature", format!("v1,{signature}")),
            ("x-event-type", "payment.succeeded".to_owned()),
            ("x-attempt", attempt.to_string()),
        ];
        Request { path: "/shop", headers, body }
    }

    /// Sends, and does not wait for the answer.
    async fn begin(&self, request: &Request) -> anyhow::Result<TcpStream> {
        let mut text = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n",
            request.path,
            self.address,
            request.body.len(),
        );
        for (name, value) in &request.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str("\r\n");
        text.push_str(&request.body);
        let mut stream = TcpStream::connect(self.address).await?;
        stream.write_all(text.as_bytes()).await?;
        Ok(stream)
    }

    async fn send(&self, request: &Request) -> anyhow::Result<Answer> {
        let mut answer = String::new();
        self.begin(request).await?.read_to_string(&mut answer).await?;
        let (head, body) = answer.split_once("\r\n\r\n").context("an answer without a head")?;
        let status = head.split(' ').nth(1).context("an answer without a status")?;
        Ok(Answer { status: status.to_owned(), body: body.to_owned() })
    }
}

fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs().to_string()
}
