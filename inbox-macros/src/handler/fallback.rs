//! What is left of a function that cannot be a handler: the function, so that its callers and its
//! body are still checked, and the mistakes.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};

use super::input::Function;
use crate::diagnostics::Errors;
use crate::item::keyword;

pub(super) fn without_registration(mut function: Function, errors: Errors) -> TokenStream {
    // It has been told to become `async`; what it may not do while it is `const` is no mistake
    // of its own.
    function.signature.constness = None;
    beside(&function, errors)
}

fn beside(item: &impl ToTokens, errors: Errors) -> TokenStream {
    let errors = errors.into_tokens();
    quote!(#item #errors)
}

/// The attribute stands on something that is no function, or on a signature that cannot be read.
pub(super) fn not_a_function(item: TokenStream, unreadable: &syn::Error) -> TokenStream {
    let mut errors = Errors::default();
    match keyword(&item) {
        Some((keyword, kind)) if keyword != "fn" => {
            let remedy = match kind {
                "an impl block" | "a trait" => ": move the function out of it",
                _ => "",
            };
            errors.on(
                keyword,
                format!("`#[inbox_handler]` goes on a free `async fn`, and this is {kind}{remedy}"),
            );
        }
        _ => errors.at(unreadable.span(), format!("this is no handler's signature: {unreadable}")),
    }
    beside(&item, errors)
}
