//! What a round trip is: the client sends, and goes on only when it has been answered. Requests that leave together are one
//! trip, however many answers they get.

#[derive(Debug, Default)]
pub(super) struct Trips {
    under_way: bool,
    answers_due: usize,
    flushed: bool,
}

impl Trips {
    /// How many requests the server has not said "ready" after.
    pub(super) fn answers_due(&self) -> usize {
        self.answers_due
    }

    /// True if a trip begins with this message.
    pub(super) fn client(&mut self, kind: u8) -> bool {
        if kind == b'X' {
            return false; // goodbye, which nobody answers
        }
        match kind {
            b'Q' | b'S' | b'F' => self.answers_due += 1,
            b'H' => self.flushed = true,
            _ => {}
        }
        !std::mem::replace(&mut self.under_way, true)
    }

    pub(super) fn server(&mut self, kind: u8) {
        if kind == b'Z' {
            self.answers_due = self.answers_due.saturating_sub(1);
        }
        let asks_for_rows = matches!(kind, b'G' | b'W'); // COPY: it is the client's turn in the middle of an answer
        if asks_for_rows || self.answers_due == 0 && (kind == b'Z' || self.flushed) {
            self.under_way = false;
            self.flushed = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `>` is written before the client's messages and `<` before the server's.
    fn trips(conversation: &str) -> usize {
        let mut trips = Trips::default();
        let mut count = 0;
        let mut client = true;
        for byte in conversation.bytes() {
            match byte {
                b'>' => client = true,
                b'<' => client = false,
                kind if client => count += usize::from(trips.client(kind)),
                kind => trips.server(kind),
            }
        }
        count
    }

    #[test]
    fn a_trip_is_what_is_sent_before_an_answer_is_awaited() {
        assert_eq!(trips(">Q<CZ"), 1);
        assert_eq!(trips(">Q<CZ>Q<CZ"), 2);
        assert_eq!(trips(">PDS<1tTZ>BES<2DCZ"), 2, "a statement's first use");
        assert_eq!(trips(">QPDS<CZ1tTZ"), 1, "sent together, answered twice");
        assert_eq!(trips(">PDH<1tT>BES<2DCZ"), 2, "flush, then sync");
        assert_eq!(trips(">Q<G>ddc<CZ"), 2, "COPY from the client");
        assert_eq!(trips(">Q<CZ>X"), 1, "goodbye");
        assert_eq!(trips(">Q<EZ>Q<CZ"), 2, "an error is an answer");
    }
}
