//! `#[inbox_handler]`: arguments and input are read, checked, and expanded, or fall back.

mod arguments;
mod batch;
mod check;
mod expand;
mod fallback;
mod input;
mod parameter_rules;

use proc_macro2::TokenStream;

use self::check::Candidate;
use crate::arguments::Arguments;

pub(crate) fn inbox_handler(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let function = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(unreadable) => return fallback::not_a_function(item, &unreadable),
    };
    let candidate = Candidate { arguments: Arguments::parse(arguments), function };
    match check::check(&candidate) {
        Ok(handler) => expand::expand(&handler),
        Err(errors) => fallback::without_registration(candidate.function, errors),
    }
}
