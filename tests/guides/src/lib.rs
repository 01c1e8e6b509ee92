//! The Rust code in `docs/`, compiled: each block is a module of its own, made by the build script.
//! What a block leaves out is in [`prelude`]; what it declares itself goes before that.

#![allow(missing_docs, unused, unreachable_pub)]
#![allow(clippy::print_stdout, reason = "guides show what they get")]

pub mod prelude;

include!(concat!(env!("OUT_DIR"), "/blocks.rs"));
