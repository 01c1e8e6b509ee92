//! [`Address`]: where the broker is, and how it is connected to.

use std::fmt;
use std::time::Duration;

use inbox::BrokerError;
use lapin::uri::AMQPUri;
use lapin::{Connection, ConnectionProperties};
use tokio::time::timeout;

use crate::error::StartError;

/// How long a connection may take to be opened.
const PATIENCE: Duration = Duration::from_secs(20);

/// Seconds between two heartbeats, unless the address says otherwise: a broker that is silent for twice
/// as long is taken for dead.
const HEARTBEAT: u16 = 15;

/// A broker's address. What is printed of it holds no password.
#[derive(Clone)]
pub(crate) struct Address(AMQPUri);

impl Address {
    pub(crate) fn parse(text: &str) -> Result<Self, StartError> {
        let mut uri: AMQPUri = text.parse().map_err(|_| StartError::Address)?;
        uri.query.heartbeat.get_or_insert(HEARTBEAT);
        Ok(Self(uri))
    }

    /// `name` is what the broker shows its operators.
    pub(crate) async fn connect(&self, name: &str) -> Result<Connection, BrokerError> {
        let properties = ConnectionProperties::default().with_connection_name(name.into());
        let connecting = Connection::connect_uri(self.0.clone(), properties);
        match timeout(PATIENCE, connecting).await {
            Ok(connection) => Ok(connection?),
            Err(_) => Err("the broker does not answer".into()),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let authority = &self.0.authority;
        write!(f, "{}:{}/{}", authority.host, authority.port, self.0.vhost)
    }
}
