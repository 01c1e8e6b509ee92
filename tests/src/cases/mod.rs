//! The cases from the field, and the promises beside the table.

pub mod extractors;
pub mod identity;
pub mod privacy;
pub mod schema;
pub mod several_handlers;
pub mod stop;
