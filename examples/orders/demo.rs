//! `orders`: traffic with redeliveries, applied exactly once, and the proof.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use inbox::{DispatchError, Envelope, Inbox, InboxStore, Outcome};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

use crate::progress::Progress;
use crate::report;
use crate::tally::Tally;
use crate::traffic::{Delivery, EVENTS, How, OUTAGES, REDELIVERIES, REPEATS, TWINS};

/// How many answers there will be.
const ALL: u64 = (EVENTS + REDELIVERIES) as u64;
/// How many answers are shown one by one; later, only the first of each kind.
const ROWS: u64 = 12;
/// How often a message is delivered that fails again and again.
const ATTEMPTS: u32 = 5;

/// The answer to one delivery.
struct Answer {
    at: Duration,
    event_type: &'static str,
    about: String,
    delivery: &'static str,
    outcome: Result<Outcome, DispatchError>,
}

const FIRST: &str = "first delivery";
const TWIN: &str = "redelivered while the first was in flight";
const AGAIN: &str = "redelivered later";
const RETRY: &str = "redelivered after it failed";

/// Delivers all traffic, the lanes at the same time. True where every event was processed once.
pub(crate) async fn run<S: InboxStore>(
    inbox: &Inbox<S>,
    lanes: Vec<Vec<Delivery>>,
) -> anyhow::Result<bool> {
    report::line(&format!(
        "{EVENTS} order events and {REDELIVERIES} redeliveries: {TWINS} while the first delivery is \
         in flight, {REPEATS} later, {OUTAGES} after a failure\n"
    ))?;
    let start = Instant::now();
    let (sender, answers) = unbounded_channel();
    let mut running = JoinSet::new();
    for lane in lanes {
        let answers = Answers { start, sender: sender.clone() };
        running.spawn(deliver(inbox.clone(), lane, answers));
    }
    drop(sender);
    let (tally, recovered) = watch(answers).await?;
    while let Some(lane) = running.join_next().await {
        lane?;
    }
    report::counts(&[
        ("delivered", tally.delivered),
        ("distinct", EVENTS as u64),
        ("processed", tally.processed),
        ("skipped (duplicates)", tally.skipped),
        ("failed then recovered", recovered),
    ])?;
    Ok(tally.processed == EVENTS as u64 && tally.delivered == ALL)
}

/// Shows the first answers as rows and the others as progress, and counts them all and those that
/// recovered.
async fn watch(mut answers: UnboundedReceiver<Answer>) -> anyhow::Result<(Tally, u64)> {
    let (mut tally, mut recovered) = (Tally::default(), 0);
    let (mut progress, mut kinds) = (None, BTreeSet::new());
    report::row("time", "event", "about", "outcome")?;
    while let Some(answer) = answers.recv().await {
        tally.count(&answer.outcome);
        recovered += u64::from(answer.delivery == RETRY && answer.outcome.is_ok());
        let outcome = describe(&answer);
        let is_new = kinds.insert(outcome.clone());
        let show =
            || report::row(&report::clock(answer.at), answer.event_type, &answer.about, &outcome);
        if tally.delivered <= ROWS {
            show()?;
            continue;
        }
        let progress = progress.get_or_insert_with(|| Progress::new("deliveries", Some(ALL)));
        if is_new {
            progress.aside(show)?;
        }
        progress.advance(tally.delivered, tally.delivered);
    }
    if let Some(progress) = progress {
        progress.finish();
    }
    report::line("")?;
    Ok((tally, recovered))
}

fn describe(answer: &Answer) -> String {
    match &answer.outcome {
        Ok(outcome) if answer.delivery == FIRST => outcome.to_string(),
        Ok(outcome) => format!("{outcome}, {}", answer.delivery),
        Err(error) => format!("failed: {error:#}"),
    }
}

/// Delivers one lane as a broker does: in order, and what failed is delivered again before what is
/// behind it.
async fn deliver<S: InboxStore>(inbox: Inbox<S>, lane: Vec<Delivery>, answers: Answers) {
    for delivery in lane {
        let mut settled = match delivery.how {
            How::First => answers.tell(&delivery, FIRST, inbox.dispatch(&delivery.envelope).await),
            How::Again => answers.tell(&delivery, AGAIN, inbox.dispatch(&delivery.envelope).await),
            How::Twins => {
                let envelope = &delivery.envelope;
                let twins = tokio::join!(inbox.dispatch(envelope), inbox.dispatch(envelope));
                // Either may have come first; the other waited for it.
                let (first, twin) = match twins {
                    (a @ Ok(Outcome::SkippedDuplicate), b) => (b, a),
                    (a, b) => (a, b),
                };
                answers.tell(&delivery, FIRST, first) | answers.tell(&delivery, TWIN, twin)
            }
        };
        for attempt in 2..=ATTEMPTS {
            if settled {
                break;
            }
            let envelope: Envelope = delivery.envelope.clone().with_delivery_attempt(attempt);
            settled = answers.tell(&delivery, RETRY, inbox.dispatch(&envelope).await);
        }
    }
}

/// Where a lane tells its answers.
struct Answers {
    start: Instant,
    sender: UnboundedSender<Answer>,
}

impl Answers {
    /// Tells an answer; true where the message may be acknowledged.
    fn tell(
        &self,
        delivery: &Delivery,
        how: &'static str,
        outcome: Result<Outcome, DispatchError>,
    ) -> bool {
        let settled = outcome.is_ok();
        let fact = &delivery.fact;
        let (event_type, about) = (fact.event_type(), fact.subject());
        // Nobody listens any more only where the program is ending.
        let at = self.start.elapsed();
        let _ = self.sender.send(Answer { at, event_type, about, delivery: how, outcome });
        settled
    }
}
