//! [`Logs`]: what was logged while a test held them.

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Level, Metadata, Subscriber};

/// Collects every event and span of the current thread, at every level, until it is dropped.
pub struct Logs {
    lines: Arc<Mutex<Vec<Line>>>,
    _guard: DefaultGuard,
}

/// One event or span, with all its fields as text.
#[derive(Clone, Debug)]
pub struct Line {
    pub level: Level,
    pub target: String,
    pub text: String,
}

impl Logs {
    pub fn start() -> Self {
        let lines = Arc::default();
        let guard = tracing::subscriber::set_default(Collector(Arc::clone(&lines)));
        Self { lines, _guard: guard }
    }

    pub fn lines(&self) -> Vec<Line> {
        self.lines.lock().unwrap().clone()
    }

    /// The texts of the core's own events of this level.
    pub fn of_the_inbox(&self, level: Level) -> Vec<String> {
        let own = |line: &Line| line.level == level && line.target.starts_with("inbox::");
        self.lines().into_iter().filter(own).map(|line| line.text).collect()
    }
}

struct Collector(Arc<Mutex<Vec<Line>>>);

impl Collector {
    fn keep(&self, metadata: &Metadata<'_>, text: String) {
        let (level, target) = (*metadata.level(), metadata.target().to_owned());
        self.0.lock().unwrap().push(Line { level, target, text });
    }
}

impl Subscriber for Collector {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut text = Text(span.metadata().name().to_owned());
        span.record(&mut text);
        self.keep(span.metadata(), text.0);
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        let mut text = Text(String::new());
        values.record(&mut text);
        let (level, target) = (Level::TRACE, "recorded".to_owned());
        self.0.lock().unwrap().push(Line { level, target, text: text.0 });
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        self.keep(event.metadata(), text.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The fields as `name=value`, the message bare.
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let space = if self.0.is_empty() { "" } else { " " };
        let _ = match field.name() {
            "message" => write!(self.0, "{space}{value:?}"),
            name => write!(self.0, "{space}{name}={value:?}"),
        };
    }
}
