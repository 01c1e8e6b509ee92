//! The code that makes a checked function a registered handler.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{ReturnType, Type};

use super::arguments::Consumer;
use super::batch::{self, Batch};
use super::check::Handler;
use super::input::{Function, peeled};

/// The macro of this name gives the handler's name back. Only in its name can rustc be made to say
/// what is wrong where there is no such function.
const IS_A_FREE_FUNCTION: &str =
    "an_inbox_handler_is_a_free_function_outside_of_impl_and_trait_blocks";

/// A local variable of generated code. Its name is found by generated code alone, wherever the
/// tokens around it come from: handlers are also written by `macro_rules!`.
fn local(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// How generated code calls `inbox::__private`, at the place where an error about it belongs.
fn inbox(place: Span) -> Ident {
    Ident::new("__inbox", place)
}

/// How it calls `FromDelivery`.
fn from(place: Span) -> Ident {
    Ident::new("__From", place)
}

/// The function as it was written, and inside it its registration.
///
/// Inside and not beside it: a `const _` cannot stand in an `impl` block or a trait, where rustc
/// would say so beside the one thing that matters, that there is no free function of this name.
pub(super) fn expand(handler: &Handler<'_>) -> TokenStream {
    let function = handler.function;
    let types = parameter_types(handler);
    let (event, arguments) = match types.split_first() {
        Some((event, arguments)) => (event.clone(), arguments),
        None => (TokenStream::new(), &[][..]),
    };
    let of_a_batch = handler.batch.map(|_| all_are_of_a_batch(arguments));
    let private = handler.inbox.written();
    let no_second_transaction = no_second_transaction(function, arguments);
    let registration = registration(handler, &event, arguments);
    function.with_inside(&quote! {
        const _: () = {
            use #private::__private as __inbox;
            use __inbox::FromDelivery as __From;
            #no_second_transaction
            #of_a_batch
            __inbox::inventory::submit! { #registration }
        };
    })
}

/// Has rustc check that no argument after the first transaction context is another. What is called
/// as the library's own arguments are is none, or `build()` finds it.
fn no_second_transaction(function: &Function, arguments: &[TokenStream]) -> TokenStream {
    let others = function.parameters().skip(1).zip(arguments);
    let others = others.filter(|(parameter, _)| !parameter.is_called_as_ours());
    let others: Vec<_> = others.map(|(_, ty)| ty).collect();
    let checks = (1..others.len()).map(|last| {
        let place = others[last].span();
        let (inbox, seen) = (inbox(place), &others[..=last]);
        quote_spanned! {place=>
            #inbox::check_no_second_transaction(&[#(<#seen as __From<'_>>::IS_TRANSACTION),*]);
        }
    });
    checks.collect()
}

/// Has rustc check that each argument of a batch handler can be made for many messages.
fn all_are_of_a_batch(arguments: &[TokenStream]) -> TokenStream {
    let checks = arguments.iter().map(|ty| {
        let (inbox, from) = (inbox(ty.span()), from(ty.span()));
        quote_spanned!(ty.span()=> #inbox::check_of_a_batch(<#ty as #from<'_>>::OF_A_BATCH);)
    });
    checks.collect()
}

/// The record in the registry of whatever binary links the handler. While it is made, rustc checks a
/// consumer that is no literal, and that there is a transaction context.
fn registration(
    handler: &Handler<'_>,
    event: &TokenStream,
    arguments: &[TokenStream],
) -> TokenStream {
    let name = &handler.function.signature.ident;
    let written = name.unraw().to_string();
    let consumer = match &handler.consumer {
        Consumer::Literal(text) => text.to_token_stream(),
        Consumer::Const(path) => {
            let inbox = inbox(path.span());
            quote_spanned!(path.span()=> #inbox::consumer(#path))
        }
    };
    let listed = arguments.iter().map(|ty| {
        let from = from(ty.span());
        quote_spanned!(ty.span()=> <#ty as #from<'_>>::ARGUMENT)
    });
    let call = call(handler, event, arguments);
    let order = handler.order.map(|order| quote!(.with_order(#order)));
    let timeout = handler
        .timeout_ms
        .map(|ms| quote!(.with_timeout(::core::time::Duration::from_millis(#ms))));
    // The record's birthplace is where this call stands: at the function's name.
    let inbox = inbox(name.span());
    let made = match handler.batch {
        None => quote_spanned!(name.span()=> registration),
        Some(_) => quote_spanned!(name.span()=> batch_registration),
    };
    let any_order = (handler.batch == Some(Batch::InAnyOrder)).then(|| quote!(.in_any_order()));
    let record = quote_spanned! {name.span()=>
        #inbox::#made::<#event>(
            #consumer,
            #written,
            ::core::env!("CARGO_PKG_NAME"),
            &[#(#listed),*],
            #call,
        )
    };
    quote!(#record #any_order #order #timeout)
}

/// Makes the arguments and calls the function.
fn call(handler: &Handler<'_>, event: &TokenStream, arguments: &[TokenStream]) -> TokenStream {
    let function = handler.function;
    let name = &function.signature.ident;
    let (event_value, delivery) = (local("event"), local("this_run"));
    let first = event_argument(handler, event, &event_value);
    let made = arguments.iter().map(|ty| {
        let from = from(ty.span());
        quote_spanned!(ty.span()=> <#ty as #from<'_>>::from_delivery(&mut #delivery)?)
    });
    // An error about what is returned belongs on the return type, one about the future (it is not
    // `Send`, say) on the function's name.
    let output = match &function.signature.output {
        ReturnType::Type(_, ty) => ty.span(),
        ReturnType::Default => name.span(),
    };
    let (inbox_at_name, inbox_at_output) = (inbox(name.span()), inbox(output));
    let is_a_free_function = Ident::new(IS_A_FREE_FUNCTION, name.span());
    let called = quote_spanned! {name.span()=>
        #inbox_at_name::#is_a_free_function!(#name)(
            #first #(, #made)*
        ).await
    };
    let returned = Ident::new("__returned", output);
    let result = quote_spanned!(output=> #inbox_at_output::HandlerOutput::into_result(#returned));
    quote_spanned! {name.span()=>
        |#event_value, mut #delivery| #inbox_at_name::boxed(async move {
            let #returned = #called;
            #result
        })
    }
}

/// The event, or the events of a batch, as the function takes them.
fn event_argument(handler: &Handler<'_>, event: &TokenStream, value: &Ident) -> TokenStream {
    let inbox_at_name = inbox(handler.function.span());
    let first = handler.function.parameters().next().map(|first| first.ty);
    match (handler.batch, first) {
        (Some(_), Some(ty)) => {
            let element = batch::element(ty).unwrap_or(ty).to_token_stream();
            let element = with_elided_lifetimes(element, &handler.function.lifetimes());
            let inbox = inbox(element.span());
            quote_spanned!(element.span()=> #inbox::batch::<#event, #element>(#value)?)
        }
        (None, Some(Type::Reference(_))) => quote!(&#inbox_at_name::downcast::<#event>(#value)?),
        _ => quote!(#inbox_at_name::downcast::<#event>(#value)?),
    }
}

/// The types the inbox makes: the event without its `&` or its `Vec`, then the others as they are written.
fn parameter_types(handler: &Handler<'_>) -> Vec<TokenStream> {
    let declared = handler.function.lifetimes();
    let types = handler.function.parameters().enumerate().map(|(index, parameter)| {
        let ty = match (parameter.ty, handler.batch) {
            (ty, Some(_)) if index == 0 => {
                peeled(batch::event_of(batch::element(ty).unwrap_or(ty)))
            }
            (Type::Reference(reference), None) if index == 0 => peeled(&reference.elem),
            (ty, _) => ty,
        };
        with_elided_lifetimes(ty.to_token_stream(), &declared)
    });
    types.collect()
}

/// `'a` becomes `'_` where the function declares it: the generated bodies do not.
fn with_elided_lifetimes(tokens: TokenStream, declared: &[String]) -> TokenStream {
    let mut after_quote = false;
    let elided = tokens.into_iter().map(|token| match token {
        TokenTree::Ident(name) if after_quote && declared.contains(&name.to_string()) => {
            after_quote = false;
            TokenTree::Ident(Ident::new("_", name.span()))
        }
        TokenTree::Group(group) => {
            let inside = with_elided_lifetimes(group.stream(), declared);
            let mut elided = proc_macro2::Group::new(group.delimiter(), inside);
            elided.set_span(group.span());
            TokenTree::Group(elided)
        }
        token => {
            after_quote = matches!(&token, TokenTree::Punct(quote) if quote.as_char() == '\'');
            token
        }
    });
    elided.collect()
}
