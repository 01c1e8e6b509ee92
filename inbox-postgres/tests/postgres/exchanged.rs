//! A handler puts a connection of its own in the place of the one it was lent.

use inbox::{
    Delivery, DispatchErrorKind, Escape, Handler, HandlerFuture, HandlerRegistration, Inbox,
};
use inbox_postgres::PgTx;
use sqlx::{Connection as _, Executor as _, PgConnection};

use crate::bed::{Bed, CONSUMER, Script, message};

struct Exchange;

impl Handler for Exchange {
    type Event = Script;

    fn call<'a>(event: Script, mut delivery: Delivery<'a>) -> HandlerFuture<'a> {
        Box::pin(async move {
            let mut tx: PgTx<'_> = delivery.extract()?;
            let mut own = PgConnection::connect(event.text()).await?;
            std::mem::forget(own.begin().await?); // open, and counted as ours is
            *tx = own;
            tx.execute("INSERT INTO effects VALUES ('a')").await?;
            Ok(())
        })
    }
}

/// In its session the mark of the inbox's transaction was never set, not even to nothing.
#[tokio::test]
async fn a_handler_that_exchanges_the_connection_is_told() {
    let bed = Bed::new().await;
    let exchange = HandlerRegistration::new::<Exchange>(CONSUMER, "exchange");
    let inbox = Inbox::builder().store(bed.store()).register(exchange).build().await.unwrap();
    let error = inbox.dispatch(&message(bed.database.direct_url())).await.unwrap_err();
    assert_eq!(error.kind(), DispatchErrorKind::TransactionEscaped, "{error:?}");
    assert_eq!(error.escape(), Some(Escape::RolledBack));
    assert_eq!((bed.effects().await, bed.rows().await), (0, 0));
}
