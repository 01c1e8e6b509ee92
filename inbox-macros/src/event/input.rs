//! The annotated type, read as far as generated code needs it.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Generics, Ident, Token, Visibility};

/// A struct or an enum. What it holds is serde's business and stays raw tokens.
pub(crate) struct Declaration {
    pub(crate) attributes: Vec<Attribute>,
    visibility: Visibility,
    keyword: Keyword,
    pub(crate) name: Ident,
    pub(crate) generics: Generics,
    rest: TokenStream,
}

enum Keyword {
    Struct(Token![struct]),
    Enum(Token![enum]),
}

impl Declaration {
    /// What it holds, as it is written.
    pub(super) fn fields(&self) -> TokenStream {
        self.rest.clone()
    }
}

impl Parse for Declaration {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        Ok(Self {
            attributes: input.call(Attribute::parse_outer)?,
            visibility: input.parse()?,
            keyword: if input.peek(Token![enum]) {
                Keyword::Enum(input.parse()?)
            } else {
                Keyword::Struct(input.parse()?)
            },
            name: input.parse()?,
            generics: input.parse()?,
            rest: input.parse()?,
        })
    }
}

impl ToTokens for Declaration {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.attributes.iter().for_each(|attribute| attribute.to_tokens(tokens));
        self.visibility.to_tokens(tokens);
        match &self.keyword {
            Keyword::Struct(keyword) => keyword.to_tokens(tokens),
            Keyword::Enum(keyword) => keyword.to_tokens(tokens),
        }
        self.name.to_tokens(tokens);
        self.generics.to_tokens(tokens);
        self.rest.to_tokens(tokens);
    }
}
