//! What the cases share: a store's transaction context without a store.

use std::ops::{Deref, DerefMut};

use inbox::{Delivery, FromDelivery, HandlerError, Requirements};

/// A connection that remembers what it was told.
#[derive(Debug, Default)]
pub struct FakeConnection {
    /// The statements, in order.
    pub statements: Vec<String>,
}

impl FakeConnection {
    /// Runs a statement.
    ///
    /// # Errors
    /// None, but a real one has them.
    pub async fn execute(&mut self, statement: &str) -> Result<(), std::io::Error> {
        self.statements.push(statement.to_owned());
        Ok(())
    }
}

/// A transaction context as each store has one.
#[derive(Debug)]
pub struct FakeTx<'a>(&'a mut FakeConnection);

impl<'a> FakeTx<'a> {
    /// For a handler's unit test.
    pub fn new(connection: &'a mut FakeConnection) -> Self {
        Self(connection)
    }
}

impl Deref for FakeTx<'_> {
    type Target = FakeConnection;
    fn deref(&self) -> &FakeConnection {
        self.0
    }
}

impl DerefMut for FakeTx<'_> {
    fn deref_mut(&mut self) -> &mut FakeConnection {
        self.0
    }
}

impl<'a> FromDelivery<'a> for FakeTx<'a> {
    const IS_TRANSACTION: bool = true;
    const OF_A_BATCH: bool = true;

    fn from_delivery(delivery: &mut Delivery<'a>) -> Result<Self, HandlerError> {
        delivery.take_connection().map(FakeTx)
    }

    fn requirements(needs: &mut Requirements) {
        needs.connection::<FakeConnection>("Fake");
    }
}

/// An event.
#[inbox::integration_event(name = "orders.order-placed.v1")]
#[derive(Debug, Clone, serde::Deserialize)]
pub struct OrderPlaced {
    /// What was ordered.
    pub sku: String,
}
