//! The code that makes a checked function a registered handler.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{ReturnType, Type};

use super::arguments::Consumer;
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
    let types = parameter_types(function);
    let (event, arguments) = match types.split_first() {
        Some((event, arguments)) => (event.clone(), arguments),
        None => (TokenStream::new(), &[][..]),
    };
    let private = handler.inbox.written();
    let no_second_transaction = no_second_transaction(function, arguments);
    let registration = registration(handler, &event, arguments);
    function.with_inside(&quote! {
        const _: () = {
            use #private::__private as __inbox;
            use __inbox::FromDelivery as __From;
            #no_second_transaction
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
    let record = quote_spanned! {name.span()=>
        #inbox::registration::<#event>(
            #consumer,
            #written,
            ::core::env!("CARGO_PKG_NAME"),
            &[#(#listed),*],
            #call,
        )
    };
    quote!(#record #order #timeout)
}

/// Makes the arguments and calls the function.
fn call(handler: &Handler<'_>, event: &TokenStream, arguments: &[TokenStream]) -> TokenStream {
    let function = handler.function;
    let name = &function.signature.ident;
    let (event_value, delivery) = (local("event"), local("this_run"));
    let reference = match function.parameters().next().map(|event| event.ty) {
        Some(Type::Reference(_)) => quote!(&),
        _ => TokenStream::new(),
    };
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
            #reference #inbox_at_name::downcast::<#event>(#event_value)? #(, #made)*
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

/// The types the inbox makes: the event without its `&`, then the others as they are written.
fn parameter_types(function: &Function) -> Vec<TokenStream> {
    let declared = function.lifetimes();
    let types = function.parameters().enumerate().map(|(index, parameter)| {
        let ty = match parameter.ty {
            Type::Reference(reference) if index == 0 => peeled(&reference.elem),
            ty => ty,
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
