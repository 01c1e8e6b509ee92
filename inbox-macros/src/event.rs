//! `#[integration_event]`: arguments and input are read, checked, and expanded, or fall back.

mod arguments;
mod check;
mod expand;
mod fallback;
mod input;

use proc_macro2::TokenStream;

use self::check::Candidate;
use crate::arguments::Arguments;

pub(crate) fn integration_event(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let declaration = match syn::parse2(item.clone()) {
        Ok(declaration) => declaration,
        Err(unreadable) => return fallback::not_a_type(item, &unreadable),
    };
    let candidate = Candidate { arguments: Arguments::parse(arguments), declaration };
    match check::check(&candidate) {
        Ok(event) => expand::expand(&event),
        Err(errors) => fallback::with_a_stub(&candidate, errors),
    }
}
