//! [`InboxBuilder`]: the application's choices, and everything that is wrong with them at once.

use std::any::{TypeId, type_name};
use std::fmt;
use std::time::Duration;

use crate::envelope::EnvelopeRules;
use crate::handler::States;
use crate::inbox::{Core, DEFAULT_SLACK, Inbox, OnIdReuse, Settings};
use crate::registration::HandlerRegistration;
use crate::registry::Registry;
use crate::stop::StopHandle;
use crate::store::InboxStore;
use crate::telemetry;
use crate::validation::{self, Expectations};

/// The payload limit unless set: 1 MiB.
pub const DEFAULT_PAYLOAD_LIMIT: usize = 1 << 20;

/// How long a dispatch waits for a twin in flight unless set.
pub const DEFAULT_CLAIM_WAIT: Duration = Duration::from_secs(5);

/// Builds an [`Inbox`].
pub struct InboxBuilder<S> {
    store: S,
    handlers: Vec<HandlerRegistration>,
    expectations: Expectations,
    states: States,
    states_given_twice: Vec<&'static str>,
    settings: Settings,
}

/// The store of a builder that has none yet.
#[derive(Clone, Copy, Debug)]
pub struct NoStore(());

impl InboxBuilder<NoStore> {
    pub(crate) fn new(handlers: Vec<HandlerRegistration>) -> Self {
        Self {
            store: NoStore(()),
            handlers,
            expectations: Expectations::default(),
            states: States::default(),
            states_given_twice: Vec::new(),
            settings: Settings {
                rules: EnvelopeRules {
                    payload_limit: DEFAULT_PAYLOAD_LIMIT,
                    ids_unique_per_source: false,
                },
                ignore_unhandled: false,
                on_id_reuse: OnIdReuse::default(),
                claim_wait: DEFAULT_CLAIM_WAIT,
                parallel_batches: false,
                deadline: None,
            },
        }
    }

    /// The database that keeps the dedup rows, in which the handlers write.
    pub fn store<S: InboxStore>(self, store: S) -> InboxBuilder<S> {
        let Self { handlers, expectations, states, states_given_twice, settings, .. } = self;
        InboxBuilder { store, handlers, expectations, states, states_given_twice, settings }
    }
}

impl<S> InboxBuilder<S> {
    /// A value that handlers take as [`State<T>`](crate::State): one for each type.
    pub fn state<T: Clone + Send + Sync + 'static>(mut self, state: T) -> Self {
        if !self.states.insert(state) {
            self.states_given_twice.push(type_name::<T>());
        }
        self
    }

    /// Runs these consumers only; handlers of others may be linked and need nothing. Unless called,
    /// the inbox runs every consumer it finds.
    pub fn consumers<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        let chosen = self.expectations.consumers.get_or_insert_default();
        chosen.extend(names.into_iter().map(Into::into));
        self
    }

    /// Makes `build` fail where one of these consumers has no handler: the guard against a handler
    /// crate that fell out of the binary, for an inbox that runs whatever is linked.
    pub fn expect_consumers<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.expectations.expected_consumers.extend(names.into_iter().map(Into::into));
        self
    }

    /// Makes `build` fail where one of these handlers (by function name) is absent.
    pub fn expect_handlers<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.expectations.expected_handlers.extend(names.into_iter().map(Into::into));
        self
    }

    /// Adds a handler by hand, where link-time registration cannot reach: plugins, static libraries,
    /// wasm.
    pub fn register(mut self, handler: HandlerRegistration) -> Self {
        self.handlers.push(handler);
        self
    }

    /// Answers [`Outcome::Ignored`](crate::Outcome::Ignored) for event types without a handler,
    /// instead of [`Unhandled`](crate::DispatchErrorKind::Unhandled): for a subscription that
    /// carries more than this consumer wants. Nothing is recorded for them.
    pub fn ignore_unhandled(mut self) -> Self {
        self.settings.ignore_unhandled = true;
        self
    }

    /// The largest payload, in bytes; 1 MiB unless set.
    pub fn payload_limit(mut self, bytes: usize) -> Self {
        self.settings.rules.payload_limit = bytes;
        self
    }

    /// How long one dispatch may take in all, by the client's clock, COMMIT and retries included:
    /// the bound that holds when the database stops answering. Unless set, the sum of the timeouts
    /// of the event's handlers plus 30 seconds.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.settings.deadline = Some(deadline);
        self
    }

    /// How long a dispatch waits for another delivery of the same message that is being processed,
    /// before it answers [`InFlight`](crate::DispatchErrorKind::InFlight); 5 seconds unless set.
    /// Waiting holds no connection.
    pub fn claim_wait(mut self, claim_wait: Duration) -> Self {
        self.settings.claim_wait = claim_wait;
        self
    }

    /// Lets batches of one consumer run beside each other. For handlers that never write a row which
    /// another batch may write too, or that always write them in one order: others deadlock. PostgreSQL
    /// then rolls one of the two back after its `deadlock_timeout` (1 second), and its messages are run
    /// again in halves. Nothing is lost by it but time, and that may be all of it: measured with 8
    /// workers on 100 rows, batches that deadlock were hundreds of times as slow as single messages.
    pub fn parallel_batches_may_deadlock(mut self) -> Self {
        self.settings.parallel_batches = true;
        self
    }

    /// What to do when a processed id comes again as another message; refuse unless set.
    pub fn on_id_reuse(mut self, policy: OnIdReuse) -> Self {
        self.settings.on_id_reuse = policy;
        self
    }

    /// Message ids that are UUIDs are unique only within their source: for producers that use one
    /// entity's UUID as their message ids. Part of the data: turning it on makes every known UUID
    /// look new.
    pub fn ids_unique_per_source(mut self) -> Self {
        self.settings.rules.ids_unique_per_source = true;
        self
    }
}

impl<S: InboxStore> InboxBuilder<S> {
    /// Validates everything, checks the store's schema and settings, and opens the inbox.
    ///
    /// # Errors
    /// All that is wrong, at once: see [`BuildError`].
    pub async fn build(self) -> Result<Inbox<S>, BuildError> {
        let selected = validation::select(&self.handlers, &self.expectations);
        let registry = Registry::new(selected);
        let mut problems = self.problems(&registry);
        match self.store.check().await {
            Ok(found) => problems.extend(found),
            Err(error) => {
                problems.push(format!("the {} store cannot be checked: {error}", S::NAME))
            }
        }
        if !problems.is_empty() {
            return Err(BuildError { problems });
        }
        for (a, b) in registry.undeclared_orders() {
            telemetry::order_undeclared(a, b);
        }
        for (a, b) in registry.lookalikes() {
            telemetry::lookalikes(a, b);
        }
        telemetry::started(&registry, S::NAME);
        let Self { store, states, settings, .. } = self;
        Ok(Inbox::new(Core { store, registry, states, settings, stop: StopHandle::default() }))
    }

    fn problems(&self, registry: &Registry) -> Vec<String> {
        let handlers = registry.handlers();
        let mut problems = validation::absences(&self.handlers, handlers, &self.expectations);
        problems.extend(validation::faults(registry));
        let store = (S::NAME, TypeId::of::<S::Connection>());
        problems.extend(validation::unmet_needs(handlers, store, &self.states));
        for name in &self.states_given_twice {
            problems.push(format!(
                "`.state(…)` was called twice with a `{name}`: wrap one in a type of its own"
            ));
        }
        problems.extend(self.deadline_problem(registry));
        problems
    }

    fn deadline_problem(&self, registry: &Registry) -> Option<String> {
        let longest = registry.longest_run();
        let deadline = self.settings.deadline.unwrap_or(longest.saturating_add(DEFAULT_SLACK));
        if deadline <= longest {
            return Some(format!(
                "the deadline of {deadline:?} is not longer than the timeouts of the handlers of one \
                 event, {longest:?} in all: raise `.deadline(…)` or lower `timeout = …`"
            ));
        }
        let claim_wait = self.settings.claim_wait;
        (claim_wait >= deadline).then(|| {
            format!(
                "the claim wait of {claim_wait:?} is not shorter than the deadline of {deadline:?}: \
                 lower `.claim_wait(…)`"
            )
        })
    }
}

/// Why an inbox was not built: everything that is wrong, each with its place and what to write.
#[derive(Clone)]
pub struct BuildError {
    problems: Vec<String>,
}

impl BuildError {
    /// One text for each problem.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problems.as_slice() {
            [only] => write!(f, "the inbox cannot be built: {only}"),
            problems => {
                write!(f, "the inbox cannot be built; {} problems:", problems.len())?;
                for (i, problem) in problems.iter().enumerate() {
                    write!(f, "\n  {}. {problem}", i + 1)?;
                }
                Ok(())
            }
        }
    }
}

/// As `Display`: it is what `main() -> Result<(), Box<dyn Error>>` and `unwrap` show.
impl fmt::Debug for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for BuildError {}

impl<S> fmt::Debug for InboxBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InboxBuilder").field("handlers", &self.handlers).finish_non_exhaustive()
    }
}
