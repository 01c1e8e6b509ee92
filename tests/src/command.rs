//! [`Command`]: the event whose payload says how its handlers end.

use std::cell::Cell;

use inbox::{DecodeError, Envelope, IntegrationEvent};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::harness::Harness;

/// The command's event type.
pub const COMMAND: &str = "conformance.command.v1";

/// A header: the decoding of this number, counted in this test, fails.
pub(crate) const UNREADABLE_AT: &str = "unreadable-at";

/// Tells each handler how to end.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Command {
    /// One for each handler, by its number; those without one end well.
    pub ends: Vec<End>,
    /// Something that must never be shown.
    pub secret: String,
}

impl IntegrationEvent for Command {
    const EVENT_TYPE: &'static str = COMMAND;

    fn decode(envelope: &Envelope) -> Result<Self, DecodeError> {
        let command = inbox::__private::decode_json(envelope)?;
        count_decoding();
        match envelope.headers().get(UNREADABLE_AT) {
            Some(at) if at == Self::decoded().to_string() => Err(DecodeError::new("as told")),
            _ => Ok(command),
        }
    }
}

thread_local!(static DECODED: Cell<u32> = const { Cell::new(0) });

fn count_decoding() {
    DECODED.set(DECODED.get() + 1);
}

impl Command {
    /// What every payload carries and nothing may show.
    pub const SECRET: &'static str = "4111-1111-1111-1111";

    pub fn new(ends: impl IntoIterator<Item = End>) -> Self {
        let secret = Self::SECRET.to_owned();
        Self { ends: ends.into_iter().collect(), secret }
    }

    /// How often this test has decoded a command. A test has a thread of its own.
    pub fn decoded() -> u32 {
        DECODED.get()
    }

    pub(crate) fn end(&self, handler: usize) -> End {
        self.ends.get(handler).cloned().unwrap_or(End::Ok)
    }
}

/// A message of a new id that tells its handlers how to end.
pub fn envelope(ends: impl IntoIterator<Item = End>) -> Envelope {
    let payload = serde_json::to_vec(&Command::new(ends)).expect("a command is JSON");
    Envelope::new(Uuid::new_v4(), COMMAND, payload)
}

/// How a handler ends, after it has written its effect.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub enum End {
    Ok,
    /// An error of the handler's own, `Refusal`.
    Error,
    /// The same, marked permanent.
    Permanent,
    /// The same, behind layers that show only their own text.
    PermanentBehindLayers,
    Panic,
    PanicWithoutText,
    /// Is still running when its timeout comes.
    Hang,
    /// Says that it has arrived, waits to be let go, and ends.
    Wait(Box<End>),
    /// A statement fails; the handler looks away, writes once more and returns Ok.
    SwallowFailedStatement,
    /// The same, in a savepoint that is rolled back.
    ConfineFailedStatement,
    /// Fails like an error that the store takes for a serialization failure.
    SerializationFailure,
    /// The same, marked permanent like every error of a handler that marks them all.
    PermanentSerializationFailure,
    LeakSavepoint(Then),
    UniqueViolation,
    DeferredViolation,
    /// Ends the transaction by itself, and then ends.
    Escape(Escape, Then),
    /// Its connection is cut while it runs; an error where there is none to cut.
    LoseConnection,
    /// Gives up a `begin()` and returns Ok.
    GiveUpBegin,
    /// Gives up a `begin()`, writes once more and returns Ok.
    GiveUpBeginAndWrite,
    /// Checks that its connection is the one that holds the dedup row.
    SeeOwnDedupRow,
    /// Tries to take the connection a second time.
    TakeConnectionTwice,
}

/// How a handler ends the transaction that it was lent.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub enum Escape {
    Commit,
    Rollback,
    CommitBegin,
    RollbackBegin,
    CommitAndChain,
    RollbackAndChain,
}

impl Escape {
    pub const ALL: [Escape; 6] = [
        Escape::Commit,
        Escape::Rollback,
        Escape::CommitBegin,
        Escape::RollbackBegin,
        Escape::CommitAndChain,
        Escape::RollbackAndChain,
    ];

    /// Whether the store of `H` speaks this SQL.
    pub fn is_sql_of<H: Harness>(self) -> bool {
        H::FEATURES.chains || !matches!(self, Escape::CommitAndChain | Escape::RollbackAndChain)
    }

    /// Whether it commits, and the store of `H` cannot refuse that.
    pub fn goes_through<H: Harness>(self) -> bool {
        self.commits() && !H::FEATURES.refuses_commit
    }

    pub(crate) fn sql(self) -> &'static str {
        match self {
            Escape::Commit => "COMMIT",
            Escape::Rollback => "ROLLBACK",
            Escape::CommitBegin => "COMMIT; BEGIN",
            Escape::RollbackBegin => "ROLLBACK; BEGIN",
            Escape::CommitAndChain => "COMMIT AND CHAIN",
            Escape::RollbackAndChain => "ROLLBACK AND CHAIN",
        }
    }

    pub(crate) fn commits(self) -> bool {
        matches!(self, Escape::Commit | Escape::CommitBegin | Escape::CommitAndChain)
    }

    pub(crate) fn begins_anew(self) -> bool {
        !matches!(self, Escape::Commit | Escape::Rollback)
    }
}

/// What a handler does after that.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub enum Then {
    Ok,
    Error,
    Panic,
    Hang,
}

impl Then {
    pub const ALL: [Then; 4] = [Then::Ok, Then::Error, Then::Panic, Then::Hang];

    pub(crate) fn end(self) -> End {
        match self {
            Then::Ok => End::Ok,
            Then::Error => End::Error,
            Then::Panic => End::Panic,
            Then::Hang => End::Hang,
        }
    }
}
