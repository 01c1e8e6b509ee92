//! The attributes of the `transactional-inbox` crate, which re-exports them.

mod argument_rules;
mod arguments;
mod diagnostics;
mod duration;
mod event;
mod handler;
mod inbox_path;
mod item;
mod names;

#[cfg(test)]
mod expansion_tests;

use proc_macro::TokenStream;

/// x
#[proc_macro_attribute]
pub fn inbox_handler(arguments: TokenStream, item: TokenStream) -> TokenStream {
    handler::inbox_handler(arguments.into(), item.into()).into()
}

/// x
#[proc_macro_attribute]
pub fn integration_event(arguments: TokenStream, item: TokenStream) -> TokenStream {
    event::integration_event(arguments.into(), item.into()).into()
}
