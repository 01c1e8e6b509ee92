//! What one writes instead: begin, insert, handle, commit; no proof of anything.

use sqlx::{Connection as _, PgConnection};
use uuid::Uuid;

use crate::message::{CONSUMER, EVENT_TYPE, handle};

const REMEMBER: &str = "INSERT INTO hand (consumer, message_id, event_type) VALUES ($1, $2, $3) \
                        ON CONFLICT DO NOTHING";

/// Applies a message, unless it was applied before.
pub(crate) async fn apply(connection: &mut PgConnection, id: Uuid) -> Result<(), sqlx::Error> {
    let mut tx = connection.begin().await?;
    let remembered =
        sqlx::query(REMEMBER).bind(CONSUMER).bind(id).bind(EVENT_TYPE).execute(&mut *tx).await?;
    if remembered.rows_affected() == 0 {
        return tx.rollback().await;
    }
    handle(&mut tx).await?;
    tx.commit().await
}
