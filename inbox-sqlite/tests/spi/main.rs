//! The SQLite store at its seam: claims, ends, escapes, cancellation, schema, settings.

mod cancel;
mod claim;
mod end;
mod escape;
mod fixture;
mod schema;
mod settings;
mod wait;
