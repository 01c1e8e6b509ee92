//! The SQLite store at its seam: claims, ends, escapes, cancellation, schema, settings.

#[cfg(test)]
mod cancel;
#[cfg(test)]
mod claim;
#[cfg(test)]
mod end;
#[cfg(test)]
mod escape;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod schema;
#[cfg(test)]
mod settings;
#[cfg(test)]
mod wait;
