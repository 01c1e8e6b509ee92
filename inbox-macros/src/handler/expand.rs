//! The code that makes a checked function a registered handler.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Attribute, ReturnType, Type};

use super::arguments::Consumer;
use super::check::Handler;
use super::input::{Function, peeled};

/// A local variable of generated code. Its name is found by generated code alone, wherever the
/// tokens around it come from: handlers are also written by `macro_rules!`.
fn local(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// The function as it was written, and beside it the impl that calls it and its registration.
pub(super) fn expand(handler: &Handler<'_>) -> TokenStream {
    let function = handler.function;
    let types = parameter_types(function);
    let (event, arguments) = match types.split_first() {
        Some((event, arguments)) => (event.clone(), arguments),
        None => (TokenStream::new(), &[][..]),
    };
    let inbox = handler.inbox.at(Span::call_site());
    let cfgs = cfgs(&function.attributes);
    let listed = listed(handler, arguments);
    let call = call(handler, arguments);
    let consumer = consumer(handler);
    let transaction = transaction(handler, arguments);
    let registration = registration(handler);
    let (event_value, delivery) = (local("__event"), local("__delivery"));
    let deprecated = function.attributes.iter().any(|a| a.path().is_ident("deprecated"));
    let allow = deprecated.then(|| quote!(#[allow(deprecated)]));
    quote! {
        #function
        #(#cfgs)*
        const _: () = {
            use #inbox::FromDelivery as __From;
            enum __Handler {}
            #[automatically_derived]
            impl #inbox::Handler for __Handler {
                type Event = #event;
                #listed
                #allow
                fn call<'__run>(
                    #event_value: Self::Event,
                    mut #delivery: #inbox::Delivery<'__run>,
                ) -> #inbox::HandlerFuture<'__run> {
                    #call
                }
            }
            #consumer
            #transaction
            #registration
        };
    }
}

/// Lists the arguments, for `build()` and for the checks that rustc runs.
fn listed(handler: &Handler<'_>, arguments: &[TokenStream]) -> Option<TokenStream> {
    if arguments.is_empty() {
        return None;
    }
    let inbox = handler.inbox.at(Span::call_site());
    let each = arguments.iter().map(|ty| quote_spanned!(ty.span()=> <#ty as __From<'_>>::ARGUMENT));
    Some(quote!(const ARGUMENTS: &'static [#inbox::Argument] = &[#(#each),*];))
}

/// Makes the arguments and calls the function.
fn call(handler: &Handler<'_>, arguments: &[TokenStream]) -> TokenStream {
    let function = handler.function;
    let name = &function.signature.ident;
    let (event, delivery) = (local("__event"), local("__delivery"));
    let event = match function.parameters().next().map(|event| event.ty) {
        Some(Type::Reference(_)) => quote!(&#event),
        _ => quote!(#event),
    };
    let made = arguments
        .iter()
        .map(|ty| quote_spanned!(ty.span()=> <#ty as __From<'_>>::from_delivery(&mut #delivery)?));
    // An error about what is returned belongs on the return type, one about the future (it is not
    // `Send`, say) on the function's name.
    let output = match &function.signature.output {
        ReturnType::Type(_, ty) => ty.span(),
        ReturnType::Default => name.span(),
    };
    let (inbox_at_name, inbox_at_output) =
        (handler.inbox.at(name.span()), handler.inbox.at(output));
    let called = quote_spanned!(name.span()=> #name(#event #(, #made)*).await);
    let returned = Ident::new("__returned", output);
    let result = quote_spanned!(output=> #inbox_at_output::HandlerOutput::into_result(#returned));
    quote_spanned! {name.span()=>
        #inbox_at_name::__private::boxed(async move {
            let #returned = #called;
            #result
        })
    }
}

/// Has rustc check a consumer that is not a literal.
fn consumer(handler: &Handler<'_>) -> Option<TokenStream> {
    let Consumer::Const(path) = &handler.consumer else { return None };
    let inbox = handler.inbox.at(path.span());
    let check = quote_spanned!(path.span()=> #inbox::__private::check_consumer(__CONSUMER););
    Some(quote! {
        const __CONSUMER: &::core::primitive::str = #path;
        #check
    })
}

/// Has rustc check that exactly one argument is a transaction context.
fn transaction(handler: &Handler<'_>, arguments: &[TokenStream]) -> TokenStream {
    let name = handler.function.span();
    let inbox = handler.inbox.at(name);
    let is_the_only = arguments.iter().enumerate().skip(1).map(|(index, ty)| {
        let inbox = handler.inbox.at(ty.span());
        quote_spanned! {ty.span()=>
            #inbox::__private::check_no_second_transaction::<__Handler>(#index);
        }
    });
    let is_there = quote_spanned!(name=> #inbox::__private::check_transaction::<__Handler>(););
    quote! {
        #is_there
        #(#is_the_only)*
    }
}

/// Puts the handler into the registry of whatever binary links it.
fn registration(handler: &Handler<'_>) -> TokenStream {
    let name = &handler.function.signature.ident;
    // The record's birthplace is where this call stands: at the function's name.
    let inbox = handler.inbox.at(name.span());
    let written = name.unraw().to_string();
    let consumer = match &handler.consumer {
        Consumer::Literal(text) => text.to_token_stream(),
        Consumer::Const(_) => quote!(__CONSUMER),
    };
    let order = handler.order.map(|order| quote!(.with_order(#order)));
    let timeout = handler
        .timeout_ms
        .map(|ms| quote!(.with_timeout(::core::time::Duration::from_millis(#ms))));
    let new = quote_spanned! {name.span()=>
        #inbox::HandlerRegistration::new::<__Handler>(#consumer, #written)
    };
    quote! {
        #inbox::__private::inventory::submit! {
            #new.in_crate(::core::env!("CARGO_PKG_NAME")) #order #timeout
        }
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

/// A handler that is configured away takes its registration along.
fn cfgs(attributes: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("cfg"))
}
