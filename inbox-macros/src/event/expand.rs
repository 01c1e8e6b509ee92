//! The code that makes a checked type an integration event.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use super::check::Event;

/// The type as it was written, and its impl.
pub(super) fn expand(event: &Event<'_>) -> TokenStream {
    let Event { declaration, event_type, .. } = event;
    let name = &declaration.name;
    let inbox = event.inbox.at(Span::call_site());
    // An error about a type that serde cannot read belongs on the type's name.
    let inbox_at_name = event.inbox.at(name.span());
    let reader = if event.upcast_from.is_empty() { "decode_json" } else { "decode_versions" };
    let reader = Ident::new(reader, name.span());
    let decode = quote_spanned!(name.span()=> #inbox_at_name::__private::#reader::<#name>);
    let cfgs = declaration.attributes.iter().filter(|a| a.path().is_ident("cfg"));
    let upcasts = upcasts(event);
    // Found by generated code alone, also where `macro_rules!` writes events.
    let envelope = Ident::new("__envelope", Span::mixed_site());
    quote! {
        #declaration
        #(#cfgs)*
        #[automatically_derived]
        impl #inbox::IntegrationEvent for #name {
            const EVENT_TYPE: &'static ::core::primitive::str = #event_type;
            #upcasts
            fn decode(
                #envelope: &#inbox::Envelope,
            ) -> ::core::result::Result<Self, #inbox::DecodeError> {
                #decode(#envelope)
            }
        }
    }
}

/// Tells the registry which older event types are read as this one.
fn upcasts(event: &Event<'_>) -> Option<TokenStream> {
    if event.upcast_from.is_empty() {
        return None;
    }
    let inbox = event.inbox.at(Span::call_site());
    let each = event.upcast_from.iter().map(|older| {
        let inbox = event.inbox.at(older.span());
        quote_spanned!(older.span()=> #inbox::Upcast::new::<#older, Self>())
    });
    Some(quote!(const UPCASTS: &'static [#inbox::Upcast] = &[#(#each),*];))
}
