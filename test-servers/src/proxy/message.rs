use std::collections::HashMap;
use std::fmt;

use super::frame::Frame;

/// Who sent a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The client, the code under test.
    Client,
    /// The server.
    Server,
}

/// One protocol message that was passed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Which of the proxy's connections, counted from 1.
    pub connection: usize,
    /// Who sent it.
    pub side: Side,
    /// The protocol's letter: `Q` query, `P` parse, `B` bind, `E` execute, `S` sync …; from the server `C` command complete,
    /// `D` row, `E` error, `Z` ready for query …
    pub kind: char,
    /// What it is about. From the client: the text of the statement, also where the message itself has only its name. From
    /// the server: the command tag (`INSERT 0 1`), an error's SQLSTATE, the transaction status after `Z` (`I`, `T` or `E`).
    pub text: String,
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = if self.side == Side::Client { '>' } else { '<' };
        write!(f, "{} {side} {} {}", self.connection, self.kind, self.text)
    }
}

/// What passed, in the order it did; printed one message a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace(pub Vec<Message>);

impl Trace {
    /// The statements as the client sent them: simple queries, and executions of prepared ones.
    pub fn statements(&self) -> Vec<&str> {
        let sent =
            |message: &&Message| message.side == Side::Client && matches!(message.kind, 'Q' | 'E');
        self.0.iter().filter(sent).map(|message| message.text.as_str()).collect()
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|message| writeln!(f, "{message}"))
    }
}

/// What one connection's names stand for.
#[derive(Debug, Default)]
pub(super) struct Names {
    statements: HashMap<String, String>,
    portals: HashMap<String, String>,
}

impl Names {
    /// The text of a message, remembering what it names.
    pub(super) fn text(&mut self, side: Side, frame: &Frame) -> String {
        match side {
            Side::Client => self.client_text(frame),
            Side::Server => server_text(frame),
        }
    }

    fn client_text(&mut self, frame: &Frame) -> String {
        let mut body = Body(frame.body());
        match frame.kind() {
            b'Q' => body.string(),
            b'P' => {
                let (name, sql) = (body.string(), body.string());
                self.statements.insert(name, sql.clone());
                sql
            }
            b'B' => {
                let (portal, statement) = (body.string(), body.string());
                let sql = self.statements.get(&statement).cloned().unwrap_or_default();
                self.portals.insert(portal, sql.clone());
                sql
            }
            b'D' | b'C' => {
                let names =
                    if body.byte() == Some(b'S') { &self.statements } else { &self.portals };
                names.get(&body.string()).cloned().unwrap_or_default()
            }
            b'E' => self.portals.get(&body.string()).cloned().unwrap_or_default(),
            _ => String::new(),
        }
    }
}

fn server_text(frame: &Frame) -> String {
    let mut body = Body(frame.body());
    match frame.kind() {
        b'C' => body.string(),
        b'Z' => body.byte().map(char::from).map(String::from).unwrap_or_default(),
        b'E' | b'N' => loop {
            match (body.byte(), body.string()) {
                (Some(b'C'), sqlstate) => break sqlstate,
                (None | Some(0), _) => break String::new(),
                _ => {}
            }
        },
        _ => String::new(),
    }
}

struct Body<'a>(&'a [u8]);

impl Body<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// Up to its zero byte.
    fn string(&mut self) -> String {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        let text = String::from_utf8_lossy(&self.0[..end]).into_owned();
        self.0 = self.0.get(end + 1..).unwrap_or_default();
        text
    }
}
