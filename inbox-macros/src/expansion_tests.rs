//! What the attributes generate, as people would write it.

use proc_macro2::{Group, TokenStream, TokenTree};
use quote::quote;

use crate::event::integration_event;
use crate::handler::inbox_handler;

fn pretty(tokens: TokenStream) -> String {
    prettyplease::unparse(&syn::parse2(tokens).unwrap())
}

/// What `cargo expand` prints: the macros in it are unfolded as well, and `inventory::submit!` as
/// inventory 0.3 does it on Linux.
fn unfolded(tokens: TokenStream) -> TokenStream {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let text = |at: usize| tokens.get(at).map(ToString::to_string).unwrap_or_default();
    let mut unfolded = TokenStream::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let called = |length: usize| match tokens.get(at + length) {
            Some(TokenTree::Group(given)) if text(at) == "__inbox" => given.stream(),
            _ => TokenStream::new(),
        };
        at += if text(at + 6) == "submit" && text(at) == "__inbox" {
            unfolded.extend(submitted(&self::unfolded(called(8))));
            9
        } else if text(at + 4) == "!" && text(at) == "__inbox" {
            unfolded.extend(called(5));
            6
        } else if let TokenTree::Group(group) = token {
            let inside = self::unfolded(group.stream());
            unfolded.extend([TokenTree::from(Group::new(group.delimiter(), inside))]);
            1
        } else {
            unfolded.extend([token.clone()]);
            1
        };
    }
    unfolded
}

fn submitted(record: &TokenStream) -> TokenStream {
    quote! {
        #[allow(non_upper_case_globals)]
        const _: () = {
            static __INVENTORY: ::inventory::Node = ::inventory::Node {
                value: &{ #record },
                next: ::inventory::__private::UnsafeCell::new(::inventory::__private::Option::None),
            };
            #[link_section = ".text.startup"]
            unsafe extern "C" fn __ctor() {
                unsafe { ::inventory::ErasedNode::submit(__INVENTORY.value, &__INVENTORY) }
            }
            #[used]
            #[link_section = ".init_array"]
            static __CTOR: unsafe extern "C" fn() = __ctor;
        };
    }
}

fn usual_handler() -> TokenStream {
    inbox_handler(
        quote!(consumer = "orders-service"),
        quote! {
            async fn reserve_stock(event: OrderPlaced, mut tx: SqliteTx<'_>) -> Result<(), StockError> {
                Ok(())
            }
        },
    )
}

#[test]
fn a_handler_stays_below_fifty_lines_with_all_that_is_unfolded() {
    let generated = pretty(unfolded(usual_handler()));
    assert!(generated.contains("__CTOR"), "{generated}");
    assert!(generated.lines().count() <= 50, "{generated}");
    insta::assert_snapshot!(generated);
}

#[test]
fn a_handler_with_everything_lists_its_arguments_and_calls_with_them() {
    insta::assert_snapshot!(pretty(unfolded(inbox_handler(
        quote!(consumer = config::CONSUMER, timeout = "500ms", order = -1, crate = crate::inbox),
        quote! {
            /// Reserves.
            #[cfg(feature = "stock")]
            #[tracing::instrument]
            pub(crate) async fn r#move<'a>(
                OrderPlaced { sku, .. }: &OrderPlaced,
                State(mailer): State<Mailer>,
                mut tx: SqliteTx<'a>,
                headers: &'a Headers,
            ) -> anyhow::Result<()> {
                Ok(())
            }
        },
    ))));
}

#[test]
fn a_batch_handler_takes_its_events_in_one_vec() {
    insta::assert_snapshot!(pretty(inbox_handler(
        quote!(consumer = "orders-service", batch = "any-order"),
        quote! {
            async fn project(
                events: Vec<Delivered<'_, OrderPlaced>>,
                mut tx: PgTx<'_>,
            ) -> Result<(), StockError> {
                Ok(())
            }
        },
    )));
}

#[test]
fn an_event_becomes_an_impl() {
    insta::assert_snapshot!(pretty(integration_event(
        TokenStream::new(),
        quote! {
            #[derive(Deserialize)]
            pub struct OrderPlaced {
                pub sku: String,
            }
        },
    )));
}

#[test]
fn an_event_with_older_versions_lists_them() {
    insta::assert_snapshot!(pretty(integration_event(
        quote!(name = "orders.order-placed.v3", upcast_from(v1::OrderPlaced, v2::OrderPlaced)),
        quote! {
            enum OrderPlaced {
                Online { sku: String },
                InStore,
            }
        },
    )));
}

#[test]
fn a_half_typed_body_still_expands() {
    let item = quote! {
        async fn reserve_stock(event: OrderPlaced, mut tx: SqliteTx<'_>) -> Result<(), StockError> {
            event.
        }
    };
    let generated = inbox_handler(quote!(consumer = "orders"), item).to_string();
    assert!(generated.ends_with("{ event . } }"), "{generated}");
    assert!(generated.contains("__inbox :: registration"), "{generated}");
    assert!(!generated.contains("compile_error"), "{generated}");
}

#[test]
fn half_typed_arguments_leave_the_function_as_it_is() {
    let item = quote! {
        async fn reserve_stock(event: OrderPlaced, mut tx: SqliteTx<'_>) -> Result<(), StockError> {
            let x = ;
        }
    };
    for typed in [quote!(), quote!(c), quote!(consumer), quote!(consumer =), quote!(consumer = a::)]
    {
        let generated = inbox_handler(typed, item.clone()).to_string();
        assert!(generated.starts_with(&item.to_string()), "{generated}");
        assert_eq!(generated.matches("compile_error").count(), 1, "{generated}");
    }
}

#[test]
fn a_half_typed_signature_is_given_back_with_one_error() {
    for item in [
        quote!(async fn reserve_stock(event: ) -> Result<(), E> {}),
        quote!(async fn reserve_stock),
        quote!(async),
        quote!(),
    ] {
        let generated = inbox_handler(quote!(consumer = "orders"), item.clone()).to_string();
        assert!(generated.starts_with(&item.to_string()), "{generated}");
        assert_eq!(generated.matches("compile_error").count(), 1, "{generated}");
    }
}

#[test]
fn a_half_typed_event_still_expands() {
    let item = quote!(
        struct OrderPlaced {
            sku:
        }
    );
    let generated = integration_event(quote!(name = "a"), item.clone()).to_string();
    assert!(generated.starts_with(&item.to_string()), "{generated}");
    assert!(generated.contains("IntegrationEvent"), "{generated}");
    assert!(!generated.contains("compile_error"), "{generated}");
}
