//! The attributes of the `transactional-inbox` crate, which re-exports them.

mod argument_rules;
mod arguments;
mod diagnostics;
mod duration;
mod event;
#[cfg(test)]
mod expansion_tests;
mod handler;
mod inbox_path;
mod item;
mod names;

use proc_macro::{Span, TokenStream, TokenTree};

#[doc = include_str!("../docs/inbox_handler.md")]
#[proc_macro_attribute]
pub fn inbox_handler(arguments: TokenStream, item: TokenStream) -> TokenStream {
    handler::inbox_handler(arguments.into(), item.into()).into()
}

#[doc = include_str!("../docs/integration_event.md")]
#[proc_macro_attribute]
pub fn integration_event(arguments: TokenStream, item: TokenStream) -> TokenStream {
    event::integration_event(arguments.into(), item.into()).into()
}

/// Gives the name of a handler back, as a word of this macro. Where there is no free function of
/// that name, rustc says so, and that the error originates in the macro called as it is.
#[doc(hidden)]
#[proc_macro]
pub fn an_inbox_handler_is_a_free_function_outside_of_impl_and_trait_blocks(
    name: TokenStream,
) -> TokenStream {
    let of_this_macro = |mut token: TokenTree| {
        token.set_span(Span::call_site());
        token
    };
    name.into_iter().map(of_this_macro).collect()
}
