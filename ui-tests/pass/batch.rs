use inbox::{ConsumerName, Deadline, Delivered, State, inbox_handler};
use ui_tests::{FakeTx, OrderPlaced};

#[inbox_handler(consumer = "batches", batch, timeout = "5s", order = 2)]
async fn plain(events: Vec<OrderPlaced>, mut tx: FakeTx<'_>) -> Result<(), std::io::Error> {
    for event in events {
        tx.execute(&event.sku).await?;
    }
    Ok(())
}

#[inbox_handler(consumer = "batches", batch = "any-order", order = 1)]
async fn with_messages(
    delivered: std::vec::Vec<inbox::Delivered<'_, OrderPlaced>>,
    mut tx: FakeTx<'_>,
    State(name): State<String>,
    _: ConsumerName<'_>,
    _: Deadline,
) -> Result<(), inbox::HandlerError> {
    for Delivered { event, message_id, envelope, .. } in &delivered {
        let line = format!("{name} {} {message_id} {}", event.sku, envelope.event_type());
        tx.execute(&line).await?;
    }
    Ok(())
}

#[inbox_handler(consumer = "batches", batch)]
async fn with_a_lifetime<'a>(
    events: Vec<Delivered<'a, OrderPlaced>>,
    _tx: FakeTx<'a>,
) -> Result<(), std::io::Error> {
    assert!(events.iter().all(|event| !event.sku.is_empty()));
    Ok(())
}

macro_rules! batch_of {
    ($name:ident, $event:ty) => {
        #[inbox_handler(consumer = "batches", batch)]
        async fn $name(events: Vec<$event>, mut tx: FakeTx<'_>) -> Result<(), std::io::Error> {
            tx.execute(&events.len().to_string()).await
        }
    };
}

batch_of!(by_a_macro, OrderPlaced);
