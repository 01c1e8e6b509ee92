//! What the attributes generate, as people would write it.

use proc_macro2::TokenStream;
use quote::quote;

use crate::event::integration_event;
use crate::handler::inbox_handler;

fn pretty(tokens: TokenStream) -> String {
    prettyplease::unparse(&syn::parse2(tokens).unwrap())
}

#[test]
fn a_handler_becomes_an_impl_and_a_registration() {
    insta::assert_snapshot!(pretty(inbox_handler(
        quote!(consumer = "orders-service"),
        quote! {
            async fn reserve_stock(event: OrderPlaced, mut tx: SqliteTx<'_>) -> Result<(), StockError> {
                Ok(())
            }
        },
    )));
}

#[test]
fn a_handler_with_everything_stays_below_fifty_lines() {
    let generated = pretty(inbox_handler(
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
    ));
    assert!(generated.lines().count() <= 50, "{generated}");
    insta::assert_snapshot!(generated);
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
    let generated = inbox_handler(quote!(consumer = "orders"), item.clone()).to_string();
    assert!(generated.starts_with(&item.to_string()), "{generated}");
    assert!(generated.contains("HandlerRegistration"), "{generated}");
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
