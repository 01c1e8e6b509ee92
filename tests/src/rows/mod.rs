//! The rows of the outcome table, in its order.

pub mod commit;
pub mod deadline;
pub mod decode;
pub mod dropped;
pub mod envelope;
pub mod escape;
pub mod failed_statement;
pub mod handler;
pub mod id_reuse;
pub mod in_flight;
pub mod processed;
pub mod savepoint;
pub mod serialization;
pub mod unhandled;
