//! stub
use proc_macro::TokenStream;
/// x
#[proc_macro_attribute]
pub fn inbox_handler(_a: TokenStream, i: TokenStream) -> TokenStream {
    i
}
/// x
#[proc_macro_attribute]
pub fn integration_event(_a: TokenStream, i: TokenStream) -> TokenStream {
    i
}
