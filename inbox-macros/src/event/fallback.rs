//! What is left of a type that cannot be an event: the type, the mistakes, and an impl that is
//! never run, so that handlers of it do not fail as well.

use proc_macro2::{Span, TokenStream};
use quote::quote;

use super::check::{Candidate, event_type};
use crate::diagnostics::Errors;
use crate::inbox_path::InboxPath;
use crate::item::keyword;

pub(super) fn with_a_stub(candidate: &Candidate, errors: Errors) -> TokenStream {
    let declaration = &candidate.declaration;
    let errors = errors.into_tokens();
    if !declaration.generics.params.is_empty() {
        // A handler of it must name the parameters, and is told about them here.
        return quote!(#declaration #errors);
    }
    let inbox = InboxPath::find(&candidate.arguments).at(Span::call_site());
    let (name, event_type) = (&declaration.name, event_type(candidate));
    quote! {
        #declaration
        #errors
        #[automatically_derived]
        impl #inbox::IntegrationEvent for #name {
            const EVENT_TYPE: &'static ::core::primitive::str = #event_type;
            fn decode(_: &#inbox::Envelope) -> ::core::result::Result<Self, #inbox::DecodeError> {
                ::core::unreachable!()
            }
        }
    }
}

/// The attribute stands on something that is no struct or enum, or that cannot be read.
pub(super) fn not_a_type(item: TokenStream, unreadable: &syn::Error) -> TokenStream {
    let mut errors = Errors::default();
    match keyword(&item) {
        Some((keyword, kind)) if keyword != "struct" && keyword != "enum" => errors.on(
            keyword,
            format!(
                "`#[integration_event]` goes on a struct or an enum with \
                 `#[derive(serde::Deserialize)]`, and this is {kind}"
            ),
        ),
        _ => errors.at(unreadable.span(), format!("this is no event's type: {unreadable}")),
    }
    let errors = errors.into_tokens();
    quote!(#item #errors)
}
