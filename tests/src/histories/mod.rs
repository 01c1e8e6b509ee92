//! Histories: whatever is delivered, redelivered, raced, abandoned and cut off in whatever order, the
//! promise holds after every step.
//!
//! A history is made up by proptest, played on a real store, and compared with a model that knows of each
//! message only what is durable of it. A plain list of steps serves: no step needs the state of the ones
//! before it to make sense, so nothing of a state machine library would be used but the name.

mod fate;
mod history;
mod known;
mod play;

use std::cell::RefCell;
use std::sync::Arc;

use proptest::test_runner::{Config, FileFailurePersistence, TestError, TestRunner};
use tokio::runtime::{Builder, Runtime};

use crate::effort::cases;
use crate::harness::Harness;
use history::{History, history};
use play::play;

/// The seeds of histories that failed once; they are tried first.
const FAILED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/proptest-regressions/histories.txt");

/// So many histories share a database, which is read after every step.
const PER_DATABASE: u32 = 25;

/// Plays made-up histories on the store of `H`.
///
/// # Panics
/// Where one of them breaks the promise, with the shortest such history found.
pub fn any<H: Harness>() {
    let config = Config {
        cases: cases(60, 500),
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(FAILED))),
        max_shrink_time: 30_000, // milliseconds
        ..Config::default()
    };
    let stage = Stage::<H>::new();
    let played = TestRunner::new(config).run(&history::<H>(), |history| {
        stage.play(&history);
        Ok(())
    });
    match played {
        Ok(()) => {}
        Err(TestError::Fail(why, history)) => panic!("{why}\n{history:#?}"),
        Err(aborted) => panic!("{aborted}"),
    }
}

/// Plays the histories that failed once, each by its steps.
pub fn known<H: Harness>() {
    let stage = Stage::<H>::new();
    for history in known::all() {
        stage.play(&history);
    }
}

/// A runtime, and a database for the next few histories.
struct Stage<H> {
    runtime: Runtime,
    database: RefCell<Option<(Arc<H>, u32)>>,
}

impl<H: Harness> Stage<H> {
    fn new() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        Self { runtime, database: RefCell::new(None) }
    }

    fn play(&self, history: &History) {
        self.runtime.block_on(async {
            let (database, played) = match self.database.take() {
                Some((database, played)) if played < PER_DATABASE => (database, played),
                _ => (Arc::new(H::start().await), 0),
            };
            // Not put back where the history fails: what it left behind is not the next one's.
            play(&database, history).await;
            self.database.replace(Some((database, played + 1)));
        });
    }
}
