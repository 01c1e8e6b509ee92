//! Errors and logs never show the payload.

use crate::bench::Bench;
use crate::command::{COMMAND, Command, End, Escape, Then, envelope};
use crate::harness::Harness;
use crate::logs::Logs;
use crate::plan::CommitFault;
use inbox::{Envelope, Fault};
use uuid::Uuid;

/// Every way to end; what the errors say is asserted wherever the suite looks at one.
fn every_end() -> Vec<End> {
    let mut ends = vec![
        End::Ok,
        End::Error,
        End::Permanent,
        End::PermanentBehindLayers,
        End::Panic,
        End::Hang,
        End::SwallowFailedStatement,
        End::ConfineFailedStatement,
        End::SerializationFailure,
        End::UniqueViolation,
        End::DeferredViolation,
        End::LeakSavepoint(Then::Ok),
    ];
    ends.extend(Then::ALL.map(|then| End::Escape(Escape::CommitBegin, then)));
    ends
}

pub async fn no_log_line_and_no_error_shows_the_payload<H: Harness>() {
    let logs = Logs::start();
    let bench = Bench::<H>::start().await;
    let mut errors = Vec::new();
    for end in every_end() {
        let message = envelope([end]);
        errors.extend(bench.dispatch(&message).await.err());
        let reused = Envelope::new(crate::bench::id_of(&message), "other.v1", message.payload());
        errors.extend(bench.dispatch(&reused).await.err());
    }
    bench.plan.commits([CommitFault::Refused(Fault::Other), CommitFault::UnknownCommitted]);
    errors.extend(bench.run(End::Ok).await.1.err());
    errors.extend(bench.run(End::Ok).await.1.err());
    let secret = Command::SECRET;
    for payload in [secret.to_owned(), format!("[\"{secret}\"]"), format!("{{\"{secret}\":")] {
        errors.extend(bench.dispatch(&Envelope::new(Uuid::new_v4(), COMMAND, payload)).await.err());
    }
    assert!(errors.len() > 20, "{errors:?}");
    for error in &errors {
        let shown = format!("{error} {error:#} {error:?} {error:#?}");
        assert!(!shown.contains(secret), "{shown}");
    }
    let lines = logs.lines();
    assert!(lines.iter().any(|line| line.target.starts_with("inbox::")), "nothing was captured");
    for line in lines {
        assert!(!line.text.contains(secret), "{line:?}");
    }
}
