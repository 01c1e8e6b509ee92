//! The rows of the outcome table in their batch form, one file for each group of rows.

mod answers;
pub mod claims;
pub mod commit;
pub mod copies;
pub mod dropped;
pub mod handlers;
pub mod lane;
pub mod mixed;
pub mod poison;
pub mod silence;
pub mod together;
