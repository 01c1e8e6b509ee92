//! Throwaway RabbitMQ.
//!
//! It takes some seconds to start, so tests that leave it running share one: [`Broker::shared`].

mod broker;
mod server;

pub use broker::Broker;
pub use server::RabbitMq;
