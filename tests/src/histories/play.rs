//! Plays a history on a store and compares it with the model.

use std::pin::pin;
use std::sync::Arc;

use futures_util::future::join_all;
use inbox::{
    DispatchError, DispatchErrorKind as Kind, Envelope, Escape, InboxBuilder, NoStore, Outcome,
};

use super::fate::{Fate, fate};
use super::history::{HANDLERS, History, Step, StoreFault};
use crate::abandon::at_most;
use crate::bench::{Bench, CONSUMER, handler, id_of};
use crate::command::{End, envelope};
use crate::harness::{Harness, StoreOptions};

type Answer = Result<Outcome, DispatchError>;

const NAMES: [&str; HANDLERS] = ["first", "second", "third"];

/// How often a transport tries when connections were cut under it.
const TRIES: usize = 10;

fn three<H: Harness>(builder: InboxBuilder<NoStore>) -> InboxBuilder<NoStore> {
    builder
        .register(handler::<H, 0>(NAMES[0]))
        .register(handler::<H, 1>(NAMES[1]))
        .register(handler::<H, 2>(NAMES[2]))
}

/// One message, and what is known of it.
struct Message {
    envelope: Envelope,
    fate: Fate,
    /// The fate of what was delivered before it was mended.
    first_fate: Fate,
    /// How many handlers' effects are durable, with the dedup row; `None` where nothing is.
    durable: Option<usize>,
    /// A dispatch was given up, or its COMMIT is unknown: it may become durable by itself.
    uncertain: bool,
}

struct Players<H: Harness> {
    bench: Bench<H>,
    messages: Vec<Message>,
}

/// Plays `history`, and looks after every step.
pub(super) async fn play<H: Harness>(database: &Arc<H>, history: &History) {
    let options = StoreOptions { connections: history.connections, ..StoreOptions::default() };
    let bench = Bench::on(Arc::clone(database), options, three::<H>).await;
    let messages = history.messages.iter().map(|ends| {
        let fate = fate::<H>(ends);
        let envelope = envelope(ends.clone());
        Message { envelope, fate, first_fate: fate, durable: None, uncertain: false }
    });
    let messages = messages.collect();
    let mut players = Players { bench, messages };
    for (number, step) in history.steps.iter().enumerate() {
        players.step(*step).await;
        players.next_message_works(*step).await;
        assert_eq!(players.bench.plan.open(), 0, "step {number} left a unit of work open");
    }
    players.finish().await;
}

impl<H: Harness> Players<H> {
    async fn step(&mut self, step: Step) {
        match step {
            Step::Deliver(message) => {
                let answer = self.bench.dispatch(&self.messages[message].envelope).await;
                self.look(message, &[answer], Noise::None).await;
            }
            Step::Race(message, twins) => {
                let envelope = &self.messages[message].envelope;
                let race = (0..twins).map(|_| self.bench.dispatch(envelope));
                let answers = join_all(race).await;
                self.look(message, &answers, Noise::Twins).await;
            }
            Step::Abandon(message, polls) => {
                let envelope = &self.messages[message].envelope;
                let answer = at_most(polls, self.bench.dispatch(envelope)).await;
                self.messages[message].uncertain |= answer.is_none();
                self.look(message, answer.as_slice(), Noise::None).await;
            }
            Step::DeliverWhere(message, fault) => {
                match fault {
                    StoreFault::Claim(fault) => self.bench.plan.claims([fault]),
                    StoreFault::Commit(fault) => self.bench.plan.commits([fault]),
                }
                let answer = self.bench.dispatch(&self.messages[message].envelope).await;
                self.bench.plan.clear();
                self.look(message, &[answer], Noise::Failures).await;
            }
            Step::CutDuring(message, polls) => {
                let answer = self.cut_during(message, polls).await;
                self.look(message, &[answer], Noise::Failures).await;
            }
            Step::Cut => self.cut().await,
            Step::Mend(message) => self.mend(message),
        }
    }

    async fn cut_during(&self, message: usize, polls: u32) -> Answer {
        let mut dispatch = pin!(self.bench.dispatch(&self.messages[message].envelope));
        match at_most(polls, dispatch.as_mut()).await {
            Some(answer) => answer,
            None => {
                self.cut().await;
                dispatch.await
            }
        }
    }

    async fn cut(&self) {
        if let Some(connections) = H::FEATURES.connections {
            self.bench.harness.query(connections.cut_others.to_owned()).await;
        }
    }

    fn mend(&mut self, message: usize) {
        let message = &mut self.messages[message];
        self.bench.probe.mend_message(&id_of(&message.envelope).to_string());
        message.fate = Fate::Processed;
    }

    /// The next message is processed as if nothing had happened; it may need a few tries only where its
    /// own connection was cut.
    async fn next_message_works(&self, step: Step) {
        let next = envelope([End::Ok, End::Ok, End::Ok]);
        let cut = matches!(step, Step::Cut | Step::CutDuring(..));
        self.deliver_until_ok(&next, if cut { TRIES } else { 1 }).await;
        assert_eq!(self.durable(&next).await, Some(HANDLERS), "the next message");
    }

    async fn deliver_until_ok(&self, envelope: &Envelope, tries: usize) {
        let mut errors = Vec::new();
        for _ in 0..tries {
            match self.bench.dispatch(envelope).await {
                Ok(Outcome::Processed | Outcome::SkippedDuplicate) => return,
                Ok(other) => panic!("{other:?}"),
                Err(error) => errors.push(error),
            }
        }
        panic!("never processed: {errors:?}");
    }

    /// Mended and delivered again, every message ends as one that was processed, and stays so.
    async fn finish(mut self) {
        for number in 0..self.messages.len() {
            self.mend(number);
            self.deliver_until_ok(&self.messages[number].envelope, TRIES).await;
            let before = self.messages[number].durable;
            let durable = self.durable(&self.messages[number].envelope).await;
            let message = &self.messages[number];
            assert!(durable.is_some() && (before.is_none() || before == durable), "{before:?}");
            message.assert_legal(durable);
            let again = self.bench.dispatch(&message.envelope).await.expect("a duplicate");
            assert_eq!(again, Outcome::SkippedDuplicate);
            assert_eq!(self.durable(&message.envelope).await, durable);
        }
    }

    /// What is durable of a message, in one snapshot.
    async fn durable(&self, envelope: &Envelope) -> Option<usize> {
        let id = id_of(envelope);
        let simple = id.as_uuid().simple();
        let rows = H::dedup_rows_sql(CONSUMER);
        let sql = format!(
            "WITH pairs(id) AS ({rows}) \
             SELECT 'row' FROM pairs WHERE lower(replace(id, '-', '')) = '{simple}' \
             UNION ALL SELECT handler FROM effects WHERE message = '{id}' AND handler <> 'after' \
             ORDER BY 1"
        );
        let mut found = self.bench.harness.query(sql).await;
        let row = found.pop_if(|last| last == "row");
        let whole = found.iter().enumerate().all(|(n, who)| *who == n.to_string());
        assert!(whole && row.is_some() != found.is_empty(), "a row: {row:?}, effects: {found:?}");
        row.map(|_| found.len())
    }

    /// Compares what was answered and what is durable with what was durable before.
    async fn look(&mut self, message: usize, answers: &[Answer], noise: Noise) {
        let durable = self.durable(&self.messages[message].envelope).await;
        let message = &mut self.messages[message];
        let before = std::mem::replace(&mut message.durable, durable);
        message.assert_legal(durable);
        assert!(before.is_none() || before == durable, "{before:?} became {durable:?}");
        let processed = answers.iter().filter(|answer| matches!(answer, Ok(Outcome::Processed)));
        assert!(processed.count() <= 1, "processed twice: {answers:?}");
        for answer in answers {
            message.assert_right(answer, before, noise);
        }
        let unknown = |answer: &Answer| {
            answer.as_ref().is_err_and(|error| error.kind() == Kind::CommitUnknown)
        };
        message.uncertain |= answers.iter().any(unknown);
        message.uncertain &= durable.is_none();
    }
}

/// What else may have an influence on an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Noise {
    None,
    /// Other deliveries of the message.
    Twins,
    /// Failures of the store.
    Failures,
}

impl Message {
    /// All or nothing; or what a handler has committed by itself.
    fn assert_legal(&self, durable: Option<usize>) {
        let Some(handlers) = durable else { return };
        let committed_itself = self.first_fate == Fate::Escaped(handlers - 1);
        let whole = handlers == HANDLERS && self.fate == Fate::Processed;
        assert!(whole || committed_itself, "{handlers} handlers' effects are durable");
    }

    fn assert_right(&self, answer: &Answer, before: Option<usize>, noise: Noise) {
        let quiet = noise == Noise::None && !self.uncertain;
        match answer {
            Ok(Outcome::Processed) => {
                assert_eq!((before, self.durable), (None, Some(HANDLERS)), "Ok, and not committed");
                assert_eq!(self.fate, Fate::Processed);
            }
            Ok(Outcome::SkippedDuplicate) => {
                assert!(self.durable.is_some(), "skipped, and not processed");
                assert!(before.is_some() || noise == Noise::Twins || self.uncertain);
            }
            Ok(other) => panic!("{other:?}"),
            Err(error) => self.assert_rightly_failed(error, before, noise, quiet),
        }
    }

    fn assert_rightly_failed(
        &self,
        error: &DispatchError,
        before: Option<usize>,
        noise: Noise,
        quiet: bool,
    ) {
        assert!(before.is_none() || noise == Noise::Failures, "a duplicate failed: {error:?}");
        let named = |handler: usize| Some(NAMES[handler]);
        if error.is_permanent() {
            let guilty = self.fate.guilty();
            assert!(guilty.is_some(), "an innocent message is refused for good: {error:?}");
            assert_eq!(error.handler(), guilty.and_then(named), "{error:?}");
        }
        if let (Some(Escape::Committed), true) = (error.escape(), quiet) {
            assert!(self.durable.is_some(), "{error:?}");
        }
        // Others may have made it durable; but what has only failed is not.
        let by_others = noise == Noise::Twins || self.uncertain || before.is_some();
        let told_so =
            error.escape() == Some(Escape::Committed) || error.kind() == Kind::CommitUnknown;
        assert!(self.durable.is_none() || by_others || told_so, "failed, and committed: {error:?}");
        let expected = match self.fate {
            Fate::Processed => panic_if(quiet, error),
            Fate::Transient(handler) => (false, handler.and_then(named)),
            Fate::Permanent(handler) | Fate::Escaped(handler) => (true, named(handler)),
        };
        if quiet {
            assert_eq!((error.is_permanent(), error.handler()), expected, "{error:?}");
        } else if noise == Noise::Twins && !self.uncertain && self.fate == Fate::Processed {
            assert!(!error.counts_attempt(), "only its twin may keep it waiting: {error:?}");
        }
    }
}

fn panic_if(quiet: bool, error: &DispatchError) -> (bool, Option<&'static str>) {
    assert!(!quiet, "nothing was wrong with it: {error:?}");
    (false, None)
}
