//! What one writes instead: begin, insert, handle, commit; no proof of anything.

use std::collections::HashSet;

use sqlx::{Connection as _, PgConnection};
use uuid::Uuid;

use crate::message::{CONSUMER, EVENT_TYPE, Handling, Order, handle, handle_all};

const REMEMBER: &str = "INSERT INTO hand (consumer, message_id, event_type) VALUES ($1, $2, $3) \
                        ON CONFLICT DO NOTHING";

const REMEMBER_ALL: &str = "INSERT INTO hand (consumer, message_id, event_type) \
                            SELECT $1, id, event_type FROM unnest($2::uuid[], $3::text[]) AS given \
                            (id, event_type) ORDER BY id ON CONFLICT DO NOTHING RETURNING message_id";

/// Applies a message, unless it was applied before.
pub(crate) async fn apply(connection: &mut PgConnection, order: Order) -> Result<(), sqlx::Error> {
    let mut tx = connection.begin().await?;
    let query = sqlx::query(REMEMBER).bind(CONSUMER).bind(order.id).bind(EVENT_TYPE);
    if query.execute(&mut *tx).await?.rows_affected() == 0 {
        return tx.rollback().await;
    }
    match handle(&mut tx, order.sku).await {
        Ok(()) => tx.commit().await,
        Err(error) => {
            tx.rollback().await?;
            Err(error)
        }
    }
}

/// How many messages are applied in one transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Together {
    pub(crate) handling: Handling,
    /// Whether no other does so meanwhile, since both would write the same rows.
    pub(crate) alone: bool,
}

/// Applies messages in one transaction; without the one that fails, or in halves where it is not known
/// which did.
pub(crate) async fn apply_all(
    connection: &mut PgConnection,
    orders: Vec<Order>,
    how: Together,
) -> Result<(), sqlx::Error> {
    let mut groups = vec![orders];
    while let Some(mut group) = groups.pop() {
        let Err(failed) = attempt(connection, &group, how).await? else { continue };
        match failed {
            Some(place) => {
                group.remove(place);
                groups.push(group);
            }
            None if group.len() > 1 => {
                groups.push(group.split_off(group.len() / 2));
                groups.push(group);
            }
            None => {} // the poison itself
        }
    }
    Ok(())
}

/// An inner error is that a handler failed, and for which message where that is known.
async fn attempt(
    connection: &mut PgConnection,
    orders: &[Order],
    how: Together,
) -> Result<Result<(), Option<usize>>, sqlx::Error> {
    let mut tx = connection.begin().await?;
    if how.alone {
        sqlx::query("SELECT pg_advisory_xact_lock(17)").execute(&mut *tx).await?;
    }
    let ids: Vec<Uuid> = orders.iter().map(|order| order.id).collect();
    let types = vec![EVENT_TYPE; ids.len()];
    let query = sqlx::query_scalar(REMEMBER_ALL).bind(CONSUMER).bind(ids).bind(types);
    let fresh: HashSet<Uuid> = query.fetch_all(&mut *tx).await?.into_iter().collect();
    let fresh = || orders.iter().enumerate().filter(|(_, order)| fresh.contains(&order.id));
    if fresh().next().is_none() {
        tx.rollback().await?;
        return Ok(Ok(()));
    }
    let failed = match how.handling {
        Handling::AtOnce => {
            let skus = fresh().map(|(_, order)| order.sku).collect();
            handle_all(&mut tx, skus).await.is_err().then_some(None)
        }
        Handling::Each => {
            let mut failed = None;
            for (place, order) in fresh() {
                if handle(&mut tx, order.sku).await.is_err() {
                    failed = Some(Some(place));
                    break;
                }
            }
            failed
        }
    };
    match failed {
        None => tx.commit().await.map(Ok),
        Some(place) => tx.rollback().await.map(|()| Err(place)),
    }
}
