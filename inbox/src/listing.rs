//! [`Handlers`]: the handlers of an inbox, to be read and printed.

use std::fmt;
use std::ops::Deref;

use crate::registration::HandlerRegistration;

/// The handlers of an inbox, sorted. Printed, they are a table for a log or a terminal:
///
/// ```text
/// consumer        event type               order  handler        timeout  place
/// orders-service  orders.order-placed.v1       0  reserve_stock  30s      src/stock.rs:14 (crate orders)
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Handlers<'a>(pub(crate) &'a [HandlerRegistration]);

impl<'a> Handlers<'a> {
    /// One after the other, in their order.
    pub fn iter(self) -> std::slice::Iter<'a, HandlerRegistration> {
        self.0.iter()
    }
}

impl Deref for Handlers<'_> {
    type Target = [HandlerRegistration];

    fn deref(&self) -> &[HandlerRegistration] {
        self.0
    }
}

impl<'a> IntoIterator for Handlers<'a> {
    type Item = &'a HandlerRegistration;
    type IntoIter = std::slice::Iter<'a, HandlerRegistration>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Handlers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const HEAD: [&str; 6] = ["consumer", "event type", "order", "handler", "timeout", "place"];
        const ORDER: usize = 2; // the only number, so the only column that is set to the right
        let mut rows = vec![HEAD.map(str::to_owned)];
        rows.extend(self.iter().map(|handler| {
            let (order, timeout) = (handler.order.to_string(), format!("{:?}", handler.timeout));
            let names = [handler.consumer, handler.event_type, handler.name].map(str::to_owned);
            let [consumer, event_type, name] = names;
            [consumer, event_type, order, name, timeout, handler.birthplace().to_string()]
        }));
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
        let widths = [0, 1, 2, 3, 4].map(|column| width(column).unwrap_or(0));
        for row in &rows {
            for (column, width) in widths.into_iter().enumerate() {
                let cell = &row[column];
                match column {
                    ORDER => write!(f, "{cell:>width$}  ")?,
                    _ => write!(f, "{cell:<width$}  ")?,
                }
            }
            writeln!(f, "{}", row[widths.len()])?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::DecodeError;
    use crate::envelope::Envelope;
    use crate::event::IntegrationEvent;
    use crate::handler::Delivery;
    use crate::handler::{Handler, HandlerFuture};

    struct Ping;
    impl IntegrationEvent for Ping {
        const EVENT_TYPE: &'static str = "probe.ping.v1";
        fn decode(_: &Envelope) -> Result<Self, DecodeError> {
            Ok(Ping)
        }
    }
    impl Handler for Ping {
        type Event = Ping;
        fn call<'a>(_: Ping, _: Delivery<'a>) -> HandlerFuture<'a> {
            Box::pin(std::future::ready(Ok(())))
        }
    }

    #[test]
    fn handlers_print_as_a_table_with_their_birthplaces() {
        let handlers = [
            HandlerRegistration::new::<Ping>("a", "first").with_order(-1),
            HandlerRegistration::new::<Ping>("a-longer-one", "second").in_crate("probe"),
        ];
        let table = Handlers(&handlers).to_string();
        let lines: Vec<_> = table.lines().collect();
        assert_eq!(lines[0], "consumer      event type     order  handler  timeout  place");
        assert!(
            lines[1].starts_with("a             probe.ping.v1     -1  first    30s      inbox/src")
        );
        assert!(
            lines[2].starts_with("a-longer-one  probe.ping.v1      0  second   30s      inbox/src")
        );
        assert!(lines[2].ends_with(" (crate probe)"));
    }
}
