//! How the user's crate calls ours.

use proc_macro_crate::{Error, FoundCrate, crate_name};
use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::Parse;
use syn::{Ident, LitStr, Path};

use crate::argument_rules::{parsed, wrong_value};
use crate::arguments::Arguments;
use crate::diagnostics::Errors;

/// The path to the `inbox` crate, for generated code.
pub(crate) struct InboxPath(TokenStream);

impl InboxPath {
    /// `crate = path` where it is given, else what Cargo.toml says.
    pub(crate) fn find(arguments: &Arguments) -> Self {
        let given = arguments.get("crate").and_then(|given| parsed(given, Path::parse_mod_style));
        Self(match given {
            Some(path) => path.into_token_stream(),
            None => Self::from_manifest().unwrap_or_else(|| quote!(::inbox)),
        })
    }

    /// `None` where Cargo.toml names no such dependency, or cannot be read.
    fn from_manifest() -> Option<TokenStream> {
        match crate_name("transactional-inbox").ok()? {
            // Under its package's name the dependency is linked by its library's, `inbox`; and
            // the crate calls itself so too.
            FoundCrate::Itself => Some(quote!(::inbox)),
            FoundCrate::Name(name) if name == "transactional_inbox" => Some(quote!(::inbox)),
            FoundCrate::Name(name) => {
                let name = Ident::new(&name, Span::call_site());
                Some(quote!(::#name))
            }
        }
    }

    /// The path as it is written, where the user has written it.
    pub(crate) fn written(&self) -> &TokenStream {
        &self.0
    }

    /// The path with every token at `span`. rustc places an error about an expression at the
    /// expression's first token, which is this path's.
    pub(crate) fn at(&self, span: Span) -> TokenStream {
        let respanned = self.0.clone().into_iter().map(|mut token: TokenTree| {
            token.set_span(span);
            token
        });
        respanned.collect()
    }
}

/// `crate` takes a path, and without it the inbox must be a dependency of the user's crate.
pub(crate) fn the_inbox_can_be_named(arguments: &Arguments, errors: &mut Errors) {
    let Some(given) = arguments.get("crate") else {
        if let Err(Error::CrateNotFound { .. }) = crate_name("transactional-inbox") {
            errors.at(
                Span::call_site(),
                "this crate does not depend on `transactional-inbox`: add it to Cargo.toml, or say \
                 where it is re-exported: `crate = that_crate::inbox`",
            );
        }
        return;
    };
    if parsed(given, Path::parse_mod_style).is_none() {
        let quoted = parsed(given, <LitStr as Parse>::parse);
        let quoted = quoted.filter(|text| text.parse_with(Path::parse_mod_style).is_ok());
        let path = quoted.map_or_else(|| "that_crate::inbox".to_owned(), |text| text.value());
        errors.on(given, wrong_value(given, "a path without quotes", &format!("crate = {path}")));
    }
}
