use std::io;

use inbox::{
    ConsumerName, Deadline, Delivery, DeliveryAttempt, Envelope, FromDelivery, HandlerError,
    Headers, MessageId, State, inbox_handler,
};
use ui_tests::FakeTx;

use super::Happened;

#[derive(Clone)]
struct Mailer {
    from: &'static str,
}

/// An extractor of one's own, which borrows.
struct Tenant<'a>(&'a str);

impl<'a> FromDelivery<'a> for Tenant<'a> {
    fn from_delivery(delivery: &mut Delivery<'a>) -> Result<Self, HandlerError> {
        Ok(Tenant(delivery.envelope().event_type()))
    }
}

/// An extractor of one's own that holds the transaction context.
struct Repository<'a>(FakeTx<'a>);

impl<'a> FromDelivery<'a> for Repository<'a> {
    const IS_TRANSACTION: bool = true;

    fn from_delivery(delivery: &mut Delivery<'a>) -> Result<Self, HandlerError> {
        FakeTx::from_delivery(delivery).map(Repository)
    }
}

#[allow(clippy::too_many_arguments)]
#[inbox_handler(consumer = "arguments")]
async fn all_of_them(
    Happened { id }: Happened,
    mut tx: FakeTx<'_>,
    State(mailer): State<Mailer>,
    message_id: MessageId,
    ConsumerName(consumer): ConsumerName<'_>,
    DeliveryAttempt(attempt): DeliveryAttempt,
    deadline: Deadline,
    envelope: &Envelope,
    headers: &Headers,
    Tenant(tenant): Tenant<'_>,
) -> Result<(), io::Error> {
    let headers = headers.get("traceparent");
    let (from, size) = (mailer.from, envelope.payload().len());
    tx.execute(&format!(
        "{id} {from} {message_id} {consumer} {attempt:?} {deadline:?} {size} {headers:?} {tenant}"
    ))
    .await
}

#[inbox_handler(consumer = "arguments")]
async fn by_reference(event: &Happened, mut repository: Repository<'_>) -> Result<(), io::Error> {
    repository.0.execute(&event.id.to_string()).await
}

#[inbox_handler(consumer = "arguments")]
async fn in_another_order(
    _: Happened,
    _: State<Mailer>,
    _: &Envelope,
    _: FakeTx<'_>,
) -> Result<(), io::Error> {
    Ok(())
}

#[inbox_handler(consumer = "arguments")]
async fn named_lifetimes<'tx, 'e: 'e>(
    _: &'e Happened,
    _: Tenant<'tx>,
    _: &'e Envelope,
    mut tx: FakeTx<'tx>,
    _: State<for<'a> fn(&'a str) -> &'a str>,
    _: State<&'static str>,
) -> Result<(), io::Error> {
    tx.execute("").await
}

#[inbox_handler(consumer = "arguments")]
pub(crate) async fn writes(event: &Happened, mut tx: FakeTx<'_>) -> Result<(), io::Error> {
    tx.execute(&format!("insert {}", event.id)).await
}
