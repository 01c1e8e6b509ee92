//! All that generated code may name. Not part of the API: it changes without notice.

pub use crate::decode::decode_json;
pub use crate::names::{consumer_problem, event_type_problem};
pub use inventory;
