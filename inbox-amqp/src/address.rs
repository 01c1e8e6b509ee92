//! Where the broker is, and how it is connected to.

use std::time::Duration;

use inbox::{BrokerError, StartError};
use lapin::uri::AMQPUri;
use lapin::{Connection, ConnectionProperties};
use tokio::time::timeout;

/// How long a connection may take to be opened.
const PATIENCE: Duration = Duration::from_secs(20);

/// Seconds between two heartbeats, unless the address says otherwise: a broker that is silent for twice
/// as long is taken for dead.
const HEARTBEAT: u16 = 15;

/// The address is not shown in the error: it may hold a password.
pub(crate) fn parse(address: &str) -> Result<AMQPUri, StartError> {
    let problem = "the broker's address cannot be read: write `amqp://USER:PASSWORD@HOST:5672/VHOST`, \
                   with `%2f` for a slash in the virtual host's name";
    let uri = address.parse::<AMQPUri>();
    let mut uri = uri.map_err(|_| StartError::Refused(vec![problem.to_owned()]))?;
    uri.query.heartbeat.get_or_insert(HEARTBEAT);
    Ok(uri)
}

/// `name` is what the broker shows its operators.
pub(crate) async fn connect(address: &AMQPUri, name: &str) -> Result<Connection, BrokerError> {
    let properties = ConnectionProperties::default().with_connection_name(name.into());
    let connecting = Connection::connect_uri(address.clone(), properties);
    let connection = timeout(PATIENCE, connecting).await;
    Ok(connection.map_err(|_| "the broker does not answer")??)
}
