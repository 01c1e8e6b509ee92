//! [`Probe`]: the state by which a test watches and steers its handlers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::Semaphore;

/// Shared by a test and its handlers.
#[derive(Clone, Debug, Default)]
pub struct Probe(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    starts: Mutex<BTreeMap<(String, usize), u32>>,
    order: Mutex<Vec<(usize, String)>>,
    calls: Mutex<Vec<usize>>,
    extracted: AtomicU32,
    mended: AtomicBool,
    mended_messages: Mutex<BTreeSet<String>>,
    arrived: Semaphore,
    gate: Semaphore,
}

impl Default for Inner {
    fn default() -> Self {
        Self {
            starts: Mutex::default(),
            order: Mutex::default(),
            calls: Mutex::default(),
            extracted: AtomicU32::new(0),
            mended: AtomicBool::new(false),
            mended_messages: Mutex::default(),
            arrived: Semaphore::new(0),
            gate: Semaphore::new(0),
        }
    }
}

/// For the test.
impl Probe {
    /// How often handlers were started, in all.
    pub fn starts(&self) -> u32 {
        self.0.starts.lock().unwrap().values().sum()
    }

    /// How often handler `handler` was started for `message`.
    pub fn starts_of(&self, handler: usize, message: &str) -> u32 {
        let starts = self.0.starts.lock().unwrap();
        starts.get(&(message.to_owned(), handler)).copied().unwrap_or(0)
    }

    /// The numbers of the handlers started, in that order.
    pub fn order(&self) -> Vec<usize> {
        self.0.order.lock().unwrap().iter().map(|(handler, _)| *handler).collect()
    }

    /// The messages whose handlers were started, in that order.
    pub fn messages(&self) -> Vec<String> {
        self.0.order.lock().unwrap().iter().map(|(_, message)| message.clone()).collect()
    }

    /// With how many messages batch handlers were called, in that order.
    pub fn calls(&self) -> Vec<usize> {
        self.0.calls.lock().unwrap().clone()
    }

    /// How often the arguments were made.
    pub fn extracted(&self) -> u32 {
        self.0.extracted.load(Ordering::SeqCst)
    }

    /// From now on every handler ends well, whatever its message says: the cause has gone.
    pub fn mend(&self) {
        self.0.mended.store(true, Ordering::SeqCst);
    }

    /// The same, of one message.
    pub fn mend_message(&self, message: &str) {
        self.0.mended_messages.lock().unwrap().insert(message.to_owned());
    }

    /// Waits until a handler has come to its gate.
    pub async fn arrived(&self) {
        self.0.arrived.acquire().await.unwrap().forget();
    }

    /// Lets one handler through its gate.
    pub fn open(&self) {
        self.0.gate.add_permits(1);
    }
}

/// For the handlers.
impl Probe {
    pub(crate) fn started(&self, handler: usize, message: &str) {
        *self.0.starts.lock().unwrap().entry((message.to_owned(), handler)).or_default() += 1;
        self.0.order.lock().unwrap().push((handler, message.to_owned()));
    }

    pub(crate) fn called(&self, messages: usize) {
        self.0.calls.lock().unwrap().push(messages);
    }

    pub(crate) fn count_extraction(&self) {
        self.0.extracted.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn is_mended(&self, message: &str) -> bool {
        self.0.mended.load(Ordering::SeqCst)
            || self.0.mended_messages.lock().unwrap().contains(message)
    }

    pub(crate) async fn wait_at_the_gate(&self) {
        self.0.arrived.add_permits(1);
        self.0.gate.acquire().await.unwrap().forget();
    }
}
