//! The wire is cut, falls silent or is slow before and after every protocol message of a dispatch.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod case;
mod rig;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use battery::{Form, Message, Stage, message, through_a_pooler};
use inbox::{DispatchError, DispatchErrorKind, Outcome};
use test_servers::proxy::{Rule, Trace};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::case::{Case, Fault, Scenario, cases_of};
use crate::rig::{PATIENCE, Rig, until};

/// Cases that run at the same time: most of them wait for a silence to end.
const AT_ONCE: usize = 24;

/// The messages of a clean run.
async fn trace_of(stage: &Arc<Stage>, scenario: Scenario) -> Trace {
    let mut rig = Rig::new(stage, Fault::Cut).await;
    rig.prepare(scenario).await.unwrap();
    rig.proxy.reset();
    assert_eq!(rig.deliver(scenario, Message::new()).await.unwrap(), Outcome::Processed);
    if scenario != Scenario::Held {
        rig.rest().await;
    }
    rig.proxy.trace()
}

/// How a case was answered.
type Answer = Result<Outcome, DispatchErrorKind>;

/// `None` where the machine was too slow for the limits, and the message to be hit never came.
async fn run(stage: &Arc<Stage>, case: &Case) -> Option<Answer> {
    let mut rig = Rig::new(stage, case.fault).await;
    rig.prepare(case.scenario).await.ok()?;
    rig.proxy.reset();
    let rule = rig.proxy.on(case.trigger(), case.action());
    let one = Message::new();
    let answer = rig.deliver(case.scenario, one).await;
    let durable = rig.durable(one).await;
    if !has_fired(&rule, &answer).await {
        assert_eq!(case.fault, Fault::Stall, "{case}: the message never came");
        return None;
    }
    judge(case, &answer, durable);
    rig.proxy.heal();
    until("no session in a transaction", async || settled(&mut rig).await).await;
    let known = matches!(&answer, Err(error) if error.kind() != DispatchErrorKind::CommitUnknown);
    if known {
        assert_eq!(rig.durable(one).await, [0; 3], "{case}: became durable after {answer:?}");
    }
    redeliver(&mut rig, case, one).await;
    Some(answer.map_err(|error| error.kind()))
}

/// What comes after the answer, when the connection goes back to its pool, may come a little later.
async fn has_fired(rule: &Rule, answer: &Result<Outcome, DispatchError>) -> bool {
    match answer {
        Ok(_) => tokio::time::timeout(Duration::from_secs(10), rule.fired()).await.is_ok(),
        Err(_) => rule.has_fired(),
    }
}

/// A worker's held connection rests in an empty transaction, and is given back first.
async fn settled(rig: &mut Rig) -> bool {
    rig.worker = rig.consumer.worker();
    rig.busy().await == 0
}

/// Whether the contract allows the answer, given what is durable at that moment.
fn judge(case: &Case, answer: &Result<Outcome, DispatchError>, durable: [i64; 3]) {
    use DispatchErrorKind as Kind;
    match answer {
        Ok(outcome) => {
            assert_eq!((*outcome, durable), (Outcome::Processed, [1; 3]), "{case}");
        }
        Err(error) => {
            assert_ne!(case.fault, Fault::Delay, "{case}: {error:?}");
            assert!(error.is_transient(), "{case}: {error:?}");
            match error.kind() {
                Kind::CommitUnknown => assert!(matches!(durable, [0, 0, 0] | [1, 1, 1]), "{case}"),
                Kind::Store | Kind::Handler | Kind::HandlerTimedOut => {
                    assert_eq!(durable, [0; 3], "{case}: {error:?}");
                }
                kind => panic!("{case}: {kind:?} is no answer to that: {error:?}"),
            }
        }
    }
}

async fn redeliver(rig: &mut Rig, case: &Case, one: Message) {
    let until_ok = tokio::time::timeout(PATIENCE, async {
        loop {
            match rig.deliver(case.scenario, one).await {
                Ok(outcome) => return outcome,
                Err(error) => assert!(error.is_transient(), "{case}, redelivered: {error:?}"),
            }
        }
    });
    let outcome = until_ok.await.unwrap_or_else(|_| panic!("{case}: no redelivery succeeds"));
    assert_ne!(outcome, Outcome::Ignored, "{case}");
    let again = rig.consumer.dispatch(&message(one)).await;
    assert_eq!(again.unwrap(), Outcome::SkippedDuplicate, "{case}");
    assert_eq!(rig.durable(one).await, [1; 3], "{case}");
    until("no session in a transaction", async || settled(rig).await).await;
}

#[tokio::test]
async fn every_message_of_a_dispatch_may_be_cut_stalled_or_delayed() {
    if through_a_pooler() {
        return; // the wire is the one to the server, which another run has hit
    }
    let stage = Arc::new(Stage::new().await.unwrap());
    let scenarios = match Form::chosen() {
        Form::Default => vec![Scenario::Pooled, Scenario::Held],
        Form::Full => vec![Scenario::First, Scenario::Pooled, Scenario::Held],
    };
    let mut cases = Vec::new();
    for scenario in scenarios {
        let trace = trace_of(&stage, scenario).await;
        println!("{scenario:?}: {} messages", trace.0.len());
        cases.extend(cases_of(scenario, &trace));
    }
    let times = Form::chosen().times(1, 3); // so that other timings have their chance
    let cases: Vec<Case> = std::iter::repeat_n(cases, times).flatten().collect();
    let count = cases.len();
    let answers = tokio::task::LocalSet::new().run_until(run_all(&stage, cases)).await;
    println!("{count} cases: {answers:?}");
    assert_eq!(answers.values().sum::<usize>(), count);
    assert!(answers.len() >= 4, "cuts and silences are answered in several ways: {answers:?}");
}

async fn run_all(stage: &Arc<Stage>, cases: Vec<Case>) -> BTreeMap<String, usize> {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let mut running = JoinSet::new();
    for case in cases {
        let (stage, places) = (Arc::clone(stage), Arc::clone(&places));
        running.spawn_local(async move {
            let _place = places.acquire().await.unwrap();
            for _ in 0..5 {
                if let Some(answer) = run(&stage, &case).await {
                    return format!("{:?}: {answer:?}", case.fault);
                }
            }
            panic!("{case}: five times the message never came");
        });
    }
    let mut answers = BTreeMap::new();
    while let Some(answer) = running.join_next().await {
        *answers.entry(answer.unwrap()).or_insert(0) += 1;
    }
    answers
}
