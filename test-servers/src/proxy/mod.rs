//! A TCP proxy that understands PostgreSQL's protocol, for what a network does to a client.
//!
//! ```no_run
//! # async fn test(url: &str) -> Result<(), Box<dyn std::error::Error>> {
//! use std::time::Duration;
//! use test_servers::proxy::{Action, Proxy, Trigger};
//!
//! let proxy = Proxy::in_front_of(url)?;
//! let url = proxy.url_for(url)?; // connect to this one
//! proxy.delay_each_way(Duration::from_micros(500));
//!
//! proxy.reset();
//! // … what is to be counted …
//! assert_eq!(proxy.round_trips(), 4, "{}", proxy.trace());
//!
//! // The server commits, and nobody ever hears of it.
//! let cut = proxy.on(Trigger::client().containing("COMMIT").after(), Action::Cut);
//! // … what is to survive that …
//! cut.fired().await;
//! # Ok(())
//! # }
//! ```
//!
//! It runs on a thread of its own, so that a test may stop its runtime, and ends when dropped. A request for TLS is
//! answered with no: what is encrypted cannot be understood. Connecting, up to the server's first "ready for query", is
//! passed on as it is: neither counted nor kept nor matched by a trigger.

mod connection;
mod forward;
mod frame;
mod journal;
mod listener;
mod message;
mod rule;
mod trips;

pub use listener::Proxy;
pub use message::{Message, Side, Trace};
pub use rule::{Action, Rule, Trigger};
