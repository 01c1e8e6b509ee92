use std::fmt;

/// For each handler: distinct messages, its consumer's rows (all, and those of published messages), its
/// effects (all, and published messages that have one).
#[derive(Clone, Debug)]
pub struct Proof(pub(crate) Vec<(&'static str, &'static str, [i64; 5])>);

impl Proof {
    /// Whether every message took effect exactly once, and nothing else did.
    pub fn is_exact(&self) -> bool {
        let exact = |counts: &[i64; 5]| counts.iter().all(|count| *count == counts[0]);
        !self.0.is_empty() && self.0.iter().all(|(_, _, counts)| exact(counts))
    }

    /// The distinct messages.
    pub fn messages(&self) -> i64 {
        self.0.first().map_or(0, |(_, _, counts)| counts[0])
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (consumer, handler, [messages, rows, published_rows, effects, published_effects]) in
            &self.0
        {
            writeln!(
                f,
                "{consumer}/{handler}: {messages} messages, {rows} rows ({published_rows} of them), \
                 {effects} effects ({published_effects} of them)"
            )?;
        }
        Ok(())
    }
}
