//! The dedup rows of a unit of work: one, or those of a batch.

use inbox::MessageId;
use sqlx::PgConnection;

use crate::batch::Many;
use crate::sql::{self, Frame, Statements};

/// The dedup rows of a unit of work.
#[derive(Debug)]
pub(crate) enum Rows {
    One(Row),
    Many(Many),
}

/// One dedup row, to look for where a handler ended the transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) consumer: &'static str,
    pub(crate) message_id: MessageId,
}

impl Rows {
    pub(crate) fn frame<'s>(&self, statements: &'s Statements) -> &'s Frame {
        match self {
            Rows::One(_) => &statements.single,
            Rows::Many(many) if many.has_the_session() => &statements.batch,
            Rows::Many(_) => &statements.single,
        }
    }

    /// Whether they were committed: together, or none was.
    pub(crate) async fn are_durable(
        &self,
        statements: &Statements,
        connection: &mut PgConnection,
    ) -> Result<bool, sqlx::Error> {
        let query = match self {
            Rows::One(Row { consumer, message_id }) => {
                let query = sqlx::query(sql::safe(&statements.find));
                query.bind(*consumer).bind(message_id.as_uuid())
            }
            Rows::Many(many) => {
                let query = sqlx::query(sql::safe(&statements.find_any));
                query.bind(many.consumer).bind(&many.ids).bind(many.opened_at)
            }
        };
        Ok(query.persistent(false).fetch_optional(connection).await?.is_some())
    }
}
