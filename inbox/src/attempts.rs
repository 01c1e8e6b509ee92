//! [`Attempts`]: how often a message was begun, kept where a crash does not reach it.

use std::future::Future;

use crate::message_id::MessageId;
use crate::store::StoreError;

/// Counts the tries of messages that were delivered more than once, durably: a message that takes the
/// process along leaves no answer, and the broker's own count also grows for the innocent messages that
/// were fetched beside it.
///
/// A first delivery pays nothing. From the second on, [`begin`](Self::begin) is committed before the
/// handlers are started; so only messages that were really begun are counted.
pub trait Attempts: Send + Sync + 'static {
    /// Commits that one more try of the message begins, and answers how many have begun, this one
    /// among them.
    fn begin(
        &self,
        consumer: &'static str,
        message_id: MessageId,
    ) -> impl Future<Output = Result<u32, StoreError>> + Send;

    /// Takes one begun try back: the message had no chance. The count does not fall below zero.
    fn take_back(
        &self,
        consumer: &'static str,
        message_id: MessageId,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Forgets the message: it was settled for good.
    fn forget(
        &self,
        consumer: &'static str,
        message_id: MessageId,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// How many tries have begun; 0 where none is known.
    fn begun(
        &self,
        consumer: &'static str,
        message_id: MessageId,
    ) -> impl Future<Output = Result<u32, StoreError>> + Send;
}
