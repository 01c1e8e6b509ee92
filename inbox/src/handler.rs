//! What a handler is, and what it may take as arguments.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::time::Instant;

use crate::envelope::{Envelope, Headers};
use crate::event::IntegrationEvent;
use crate::message_id::MessageId;

/// What a handler fails with: any error, kept whole. `std` errors, `anyhow::Error`, `thiserror`
/// enums, `String` and `&str` all convert into it.
pub type HandlerError = Box<dyn Error + Send + Sync>;

/// A running handler.
pub type HandlerFuture<'a> = Pin<Box<dyn Future<Output = Result<(), HandlerError>> + Send + 'a>>;

/// A handler without its annotation: what is given to
/// [`InboxBuilder::register`](crate::InboxBuilder::register) where link-time registration cannot
/// reach (plugins, static libraries, wasm).
///
/// ```
/// use inbox::{Delivery, Handler, HandlerFuture, HandlerRegistration, MessageId};
/// # use inbox::integration_event;
/// # #[integration_event(name = "probe.ping.v1")]
/// # #[derive(serde::Deserialize)]
/// # struct Ping {}
///
/// struct Greet;
///
/// impl Handler for Greet {
///     type Event = Ping;
///
///     fn call<'a>(_event: Ping, mut delivery: Delivery<'a>) -> HandlerFuture<'a> {
///         Box::pin(async move {
///             let id: MessageId = delivery.extract()?;
///             println!("hello, {id}");
///             Ok(())
///         })
///     }
/// }
///
/// let registration = HandlerRegistration::new::<Greet>("greeter", "greet");
/// ```
pub trait Handler: 'static {
    /// The event this handler receives.
    type Event: IntegrationEvent;

    /// What it takes beside the event, each as [`FromDelivery::ARGUMENT`]. A handler written by hand
    /// that lists its arguments is checked by `build()` like an annotated one.
    const ARGUMENTS: &'static [Argument] = &[];

    /// Runs the handler once.
    fn call<'a>(event: Self::Event, delivery: Delivery<'a>) -> HandlerFuture<'a>;
}

/// One run of one handler: everything its arguments can be taken from.
pub struct Delivery<'a> {
    pub(crate) connection: Option<&'a mut (dyn Any + Send)>,
    pub(crate) envelope: &'a Envelope,
    pub(crate) message_id: MessageId,
    pub(crate) consumer: &'a str,
    pub(crate) deadline: Instant,
    pub(crate) states: &'a States,
}

impl<'a> Delivery<'a> {
    /// Takes one argument.
    ///
    /// # Errors
    /// What the extractor fails with; it counts as the handler's error.
    pub fn extract<T: FromDelivery<'a>>(&mut self) -> Result<T, HandlerError> {
        T::from_delivery(self)
    }

    /// The delivered message.
    pub fn envelope(&self) -> &'a Envelope {
        self.envelope
    }

    /// The message's id.
    pub fn message_id(&self) -> MessageId {
        self.message_id
    }

    /// The consumer on whose behalf the handler runs.
    pub fn consumer(&self) -> &'a str {
        self.consumer
    }

    /// When the handler's timeout, or the dispatch's deadline, ends it.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Takes the store's connection, inside the transaction that holds the dedup row. For stores,
    /// which wrap it in a transaction context of their own.
    ///
    /// # Errors
    /// When it has been taken before, or the inbox runs on a store with another connection type.
    pub fn take_connection<C: Any + Send>(&mut self) -> Result<&'a mut C, HandlerError> {
        let connection = self.connection.take().ok_or(
            "the transaction context was taken twice: a handler takes exactly one, and passes it on",
        )?;
        connection.downcast_mut().ok_or_else(|| {
            format!("this inbox's store has no connection of type {}", type_name::<C>()).into()
        })
    }
}

/// A type that a handler may take as an argument after its event.
///
/// The library's own: a store's transaction context (exactly one, by value), [`State<T>`],
/// [`MessageId`], [`ConsumerName`], [`DeliveryAttempt`], [`Deadline`], `&Envelope` and `&Headers`.
/// Implement it for arguments of your own:
///
/// ```
/// use inbox::{Delivery, FromDelivery, HandlerError};
///
/// struct Tenant(String);
///
/// impl<'a> FromDelivery<'a> for Tenant {
///     fn from_delivery(delivery: &mut Delivery<'a>) -> Result<Self, HandlerError> {
///         let tenant = delivery.envelope().headers().get("tenant");
///         Ok(Tenant(tenant.ok_or("the message has no `tenant` header")?.to_owned()))
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of an inbox handler",
    label = "not something a handler can take",
    note = "after the event, a handler takes its store's transaction context (`mut tx: SqliteTx<'_>`), `State<T>` where `T: Clone + Send + Sync`, `MessageId`, `ConsumerName<'_>`, `DeliveryAttempt`, `Deadline`, `&Envelope` or `&Headers`",
    note = "for an argument of your own, implement `inbox::FromDelivery` for it; an event is taken first, and only one"
)]
pub trait FromDelivery<'a>: Sized {
    /// Whether this is a store's transaction context, of which a handler takes exactly one.
    const IS_TRANSACTION: bool = false;

    /// Whether it can be made once for a whole batch, because it reads nothing of the message. A batch
    /// handler takes no others. A transaction context of one's own sets it.
    const OF_A_BATCH: bool = false;

    /// Makes the argument, afresh for every run.
    ///
    /// # Errors
    /// Any error; it counts as the handler's.
    fn from_delivery(delivery: &mut Delivery<'a>) -> Result<Self, HandlerError>;

    /// What this argument needs of the inbox, so that `build()` can say what is missing.
    fn requirements(needs: &mut Requirements) {
        let _ = needs;
    }

    /// Both as a value. Leave it as it is.
    const ARGUMENT: Argument = Argument {
        is_transaction: Self::IS_TRANSACTION,
        of_a_batch: Self::OF_A_BATCH,
        requirements: Self::requirements,
    };
}

/// An argument of a handler, as [`Handler::ARGUMENTS`] lists it.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    pub(crate) is_transaction: bool,
    pub(crate) of_a_batch: bool,
    pub(crate) requirements: fn(&mut Requirements),
}

/// A value the application gave to the inbox with
/// [`InboxBuilder::state`](crate::InboxBuilder::state), cloned for each run.
#[derive(Clone, Copy, Debug)]
pub struct State<T>(pub T);

/// What can be the value of a [`State`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the value of a `State`",
    label = "not `Clone + Send + Sync`",
    note = "a state is cloned for each run and shared between threads, so it is `Clone + Send + Sync + 'static`: where only `Clone` is missing, write `#[derive(Clone)]` on `{Self}` or hold it in an `Arc`; an `Arc` does not make an `Rc`, a `Cell` or a `RefCell` fit for threads: write `Arc` for `Rc`, and `Arc<Mutex<…>>` or an atomic for the others"
)]
pub trait StateValue: Clone + Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Clone + Send + Sync + 'static> StateValue for T {}

/// Derefs to the value.
impl<T> Deref for State<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<'a, T: StateValue> FromDelivery<'a> for State<T> {
    const OF_A_BATCH: bool = true;

    fn from_delivery(delivery: &mut Delivery<'a>) -> Result<Self, HandlerError> {
        let state = delivery.states.get::<T>().ok_or_else(|| {
            format!("no `State<{0}>`: call `.state(…)` with a `{0}`", type_name::<T>())
        })?;
        Ok(State(state.clone()))
    }

    fn requirements(needs: &mut Requirements) {
        needs.state::<T>();
    }
}

/// The consumer on whose behalf the handler runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConsumerName<'a>(pub &'a str);

/// Which delivery of the message this is, as the broker counts (1 is the first), where it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveryAttempt(pub Option<u32>);

/// When the handler's timeout ends it: what is left may be given on to calls it makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline(pub Instant);

impl<'a> FromDelivery<'a> for MessageId {
    fn from_delivery(delivery: &mut Delivery<'a>) -> Result<Self, HandlerError> {
        Ok(delivery.message_id)
    }
}

impl<'a> FromDelivery<'a> for ConsumerName<'a> {
    const OF_A_BATCH: bool = true;

    fn from_delivery(delivery: &mut Delivery<'a>) -> Result<Self, HandlerError> {
        Ok(ConsumerName(delivery.consumer))
    }
}

impl<'a> FromDelivery<'a> for DeliveryAttempt {
    fn from_delivery(delivery: &mut Delivery<'a>) -> Result<Self, HandlerError> {
        Ok(DeliveryAttempt(delivery.envelope.delivery_attempt()))
    }
}

impl<'a> FromDelivery<'a> for Deadline {
    const OF_A_BATCH: bool = true;

    fn from_delivery(delivery: &mut Delivery<'a>) -> Result<Self, HandlerError> {
        Ok(Deadline(delivery.deadline))
    }
}

impl<'a> FromDelivery<'a> for &'a Envelope {
    fn from_delivery(delivery: &mut Delivery<'a>) -> Result<Self, HandlerError> {
        Ok(delivery.envelope)
    }
}

impl<'a> FromDelivery<'a> for &'a Headers {
    fn from_delivery(delivery: &mut Delivery<'a>) -> Result<Self, HandlerError> {
        Ok(delivery.envelope.headers())
    }
}

/// What the arguments of a handler need of its inbox, filled by [`FromDelivery::requirements`].
#[derive(Debug, Default)]
pub struct Requirements(pub(crate) Vec<Requirement>);

#[derive(Debug, Clone, Copy)]
pub(crate) enum Requirement {
    Connection { id: TypeId, store: &'static str },
    State { id: TypeId, name: &'static str },
}

impl Requirements {
    /// The handler writes through a connection of type `C`, which the store called `store` has.
    pub fn connection<C: Any>(&mut self, store: &'static str) {
        self.0.push(Requirement::Connection { id: TypeId::of::<C>(), store });
    }

    /// The handler reads a state of type `T`.
    pub fn state<T: Any>(&mut self) {
        self.0.push(Requirement::State { id: TypeId::of::<T>(), name: type_name::<T>() });
    }
}

/// The application's values, one for each type.
#[derive(Default)]
pub(crate) struct States(HashMap<TypeId, Box<dyn Any + Send + Sync>>);

impl States {
    /// Keeps `value`; answers false where the type was there before.
    pub(crate) fn insert<T: Send + Sync + 'static>(&mut self, value: T) -> bool {
        self.0.insert(TypeId::of::<T>(), Box::new(value)).is_none()
    }

    pub(crate) fn get<T: 'static>(&self) -> Option<&T> {
        self.0.get(&TypeId::of::<T>())?.downcast_ref()
    }

    pub(crate) fn has(&self, id: TypeId) -> bool {
        self.0.contains_key(&id)
    }
}

impl fmt::Debug for States {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} states", self.0.len())
    }
}
