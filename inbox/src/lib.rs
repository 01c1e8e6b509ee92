#![doc = include_str!("../README.md")]

#[doc(hidden)]
pub mod __private;
mod attempts;
mod backoff;
mod batch;
mod batch_claim;
mod batch_handler;
mod builder;
mod cloud_event_headers;
mod cloud_event_mode;
mod cloud_events;
mod dead_letter;
mod decode;
mod dispatch;
mod duplicate;
mod envelope;
mod error;
mod event;
mod failure;
mod handler;
mod inbox;
mod link;
mod listing;
mod message_id;
mod names;
mod outcome;
mod output;
mod permanent;
mod registration;
mod registry;
mod replay;
mod run;
mod settlement;
mod stop;
mod store;
mod store_error;
mod subscription;
mod telemetry;
mod validation;
mod worker;

pub use self::inbox::{Consumer, Inbox, OnIdReuse, UnknownConsumer};
pub use attempts::Attempts;
pub use batch_claim::{BatchClaim, ClaimedBatch, PairAnswer};
pub use batch_handler::{BatchHandler, Delivered, FromDelivered};
pub use builder::{BuildError, DEFAULT_CLAIM_WAIT, DEFAULT_PAYLOAD_LIMIT, InboxBuilder, NoStore};
pub use cloud_event_mode::CloudEventMode;
pub use dead_letter::{DeadLetter, DeadLetters, StoredDeadLetter};
pub use decode::DecodeError;
pub use envelope::{Envelope, EnvelopeId, Headers};
pub use error::{DispatchError, DispatchErrorKind, InvalidEnvelope};
pub use event::{IntegrationEvent, Upcast, UpcastFrom};
pub use handler::{
    Argument, ConsumerName, Deadline, Delivery, DeliveryAttempt, FromDelivery, Handler,
    HandlerError, HandlerFuture, Requirements, State, StateValue,
};
pub use inbox_macros::{inbox_handler, integration_event};
pub use listing::Handlers;
pub use message_id::MessageId;
pub use outcome::Outcome;
pub use output::{HandlerOutput, IntoHandlerError};
pub use permanent::{Permanent, PermanentError, PermanentResult};
pub use registration::{DEFAULT_HANDLER_TIMEOUT, HandlerRegistration, linked_handlers};
pub use replay::{ReplayError, SkipError};
pub use settlement::{DEFAULT_ATTEMPTS, DeadLetterReason, RetryPolicy, Settlement, Try};
pub use stop::StopHandle;
pub use store::{
    Claim, Claimed, CommitError, Escape, Fault, Fingerprint, InboxStore, Recorded, Slot, Standing,
    StoreError, UnitOfWork,
};
pub use subscription::{
    BrokerError, DeadLettersTo, DeliveryOrder, Health, Incoming, Intake, RunningSubscription,
    Settle, StartError, SubscriptionHealth, SubscriptionOptions,
};
pub use worker::Worker;
