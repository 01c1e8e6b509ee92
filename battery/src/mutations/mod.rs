//! The safeguards, and how to take each out: `scripts/mutations` does, in a copy of the tree, and shows
//! which test notices. A safeguard whose absence nobody notices is one that may be gone already.

mod batches;
mod batches_of_stores;
mod core;
mod postgres;
mod sqlite;
mod subscriptions;

use crate::Result;

/// One safeguard, and what stands in its place when it is taken out.
#[derive(Clone, Copy, Debug)]
pub struct Mutation {
    /// What is taken out, in words.
    pub safeguard: &'static str,
    /// The file, from the root of the tree.
    pub file: &'static str,
    /// A text that stands in it exactly once.
    pub takes_out: &'static str,
    /// What stands there then.
    pub puts_in: &'static str,
    /// The test that must fail.
    pub noticed_by: Test,
}

/// A test, as narrow as it can be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Test {
    /// The package.
    pub package: &'static str,
    /// The integration test, or `None` for the library's own tests.
    pub target: Option<&'static str>,
    /// The test's name, without its modules: a test of the suite runs in several.
    pub name: &'static str,
}

/// Everything that is tried.
pub fn mutations() -> Vec<Mutation> {
    let all = [
        core::MUTATIONS,
        postgres::MUTATIONS,
        sqlite::MUTATIONS,
        batches::MUTATIONS,
        batches_of_stores::MUTATIONS,
        subscriptions::MUTATIONS,
    ];
    all.concat()
}

impl Mutation {
    /// The file's text without the safeguard.
    ///
    /// # Errors
    /// Where what is to be taken out stands there no more, or more than once: the code has moved on, and
    /// the mutation must follow.
    pub fn apply(&self, text: &str) -> Result<String> {
        match text.matches(self.takes_out).count() {
            1 => Ok(text.replacen(self.takes_out, self.puts_in, 1)),
            count => {
                let Self { safeguard, file, takes_out, .. } = self;
                let told =
                    format!("`{safeguard}`: {count} times in {file}, not once:\n{takes_out}");
                Err(told.into())
            }
        }
    }
}

/// A test of the core's own.
const fn of_the_core(name: &'static str) -> Test {
    Test { package: "transactional-inbox", target: None, name }
}

/// A test of the conformance suite, on SQLite where it needs no server.
const fn of_the_suite(name: &'static str) -> Test {
    Test { package: "conformance", target: Some("sqlite"), name }
}

const fn of_the_suite_on_postgres(name: &'static str) -> Test {
    Test { package: "conformance", target: Some("postgres"), name }
}

/// A test of the part that all transports share, on a queue in its own process.
const fn of_the_transports(name: &'static str) -> Test {
    Test { package: "conformance", target: Some("channel"), name }
}

const fn of_postgres(name: &'static str) -> Test {
    Test { package: "transactional-inbox-postgres", target: Some("postgres"), name }
}

const fn of_sqlite(name: &'static str) -> Test {
    Test { package: "transactional-inbox-sqlite", target: Some("spi"), name }
}
