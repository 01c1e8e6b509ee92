use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::message::{Message, Side};

/// What happens to the connection whose message fired a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It ends, towards both sides. The server still does what it had been sent.
    Cut,
    /// Nothing passes any more, in either direction, and nobody is told: a black hole, until [`Proxy::heal`].
    ///
    /// [`Proxy::heal`]: super::Proxy::heal
    Stall,
    /// Nothing passes for so long.
    Delay(Duration),
}

/// Whether the message itself still passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Before,
    After,
}

/// Which message it is that fires a rule, and whether it still passes.
#[derive(Clone, Debug)]
pub struct Trigger {
    side: Side,
    kind: Option<char>,
    containing: Option<String>,
    nth: usize,
    when: When,
}

impl Trigger {
    /// The next message of the client's, before it is passed on.
    pub fn client() -> Self {
        Self { side: Side::Client, kind: None, containing: None, nth: 1, when: When::Before }
    }

    /// The next message of the server's, before it is passed on.
    pub fn server() -> Self {
        Self { side: Side::Server, ..Self::client() }
    }

    /// Only messages of this kind, as in [`Message::kind`].
    pub fn kind(mut self, kind: char) -> Self {
        self.kind = Some(kind);
        self
    }

    /// Only messages whose [`text`](Message::text) contains this.
    pub fn containing(mut self, text: impl Into<String>) -> Self {
        self.containing = Some(text.into());
        self
    }

    /// The n-th message that fits, counted from 1 over all connections from when the rule was made.
    pub fn nth(mut self, nth: usize) -> Self {
        self.nth = nth;
        self
    }

    /// The message is not passed on first, which is the default.
    pub fn before(mut self) -> Self {
        self.when = When::Before;
        self
    }

    /// The message is passed on first. If it is one that the server answers (a query, a sync), the rule waits until the whole
    /// answer has come, and withholds it: the server has done what it was asked to, and the client does not know.
    pub fn after(mut self) -> Self {
        self.when = When::After;
        self
    }

    fn fits(&self, message: &Message) -> bool {
        self.side == message.side
            && self.kind.is_none_or(|kind| kind == message.kind)
            && self.containing.as_ref().is_none_or(|text| message.text.contains(text.as_str()))
    }
}

/// A rule that was laid on a proxy. It acts once.
pub struct Rule {
    fired: watch::Receiver<bool>,
}

impl Rule {
    /// Waits until it acts.
    pub async fn fired(&self) {
        let _ = self.fired.clone().wait_for(|fired| *fired).await; // an error: the proxy is gone, and so is the wait
    }

    /// Whether it has acted.
    pub fn has_fired(&self) -> bool {
        *self.fired.borrow()
    }
}

/// A rule that has not fired yet.
pub(super) struct Armed {
    trigger: Trigger,
    action: Action,
    fitting: usize,
    fired: Arc<watch::Sender<bool>>,
}

/// What a rule wants done now.
#[derive(Clone)]
pub(super) struct Order {
    pub(super) action: Action,
    when: When,
    fired: Arc<watch::Sender<bool>>,
}

impl Order {
    pub(super) fn is_before(&self) -> bool {
        self.when == When::Before
    }

    pub(super) fn tell_that_it_fired(&self) {
        self.fired.send_replace(true);
    }
}

impl Armed {
    pub(super) fn new(trigger: Trigger, action: Action) -> (Self, Rule) {
        let (sender, fired) = watch::channel(false);
        (Self { trigger, action, fitting: 0, fired: Arc::new(sender) }, Rule { fired })
    }

    /// Counts the message; the order if it is the one.
    pub(super) fn sees(&mut self, message: &Message) -> Option<Order> {
        if !self.trigger.fits(message) {
            return None;
        }
        self.fitting += 1;
        let order = || Order {
            action: self.action,
            when: self.trigger.when,
            fired: Arc::clone(&self.fired),
        };
        (self.fitting >= self.trigger.nth).then(order) // later, if another rule had its way with the one
    }
}
