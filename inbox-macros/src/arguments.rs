//! What stands between an attribute's parentheses, as data. Nothing is judged here: whatever is
//! written parses, so that one slip does not hide the next.

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use quote::ToTokens;

/// The arguments of an attribute, in the order they are written.
pub(crate) struct Arguments {
    pub(crate) named: Vec<Argument>,
    /// What is no `key`, `key = value` or `key(…)`.
    pub(crate) stray: Vec<TokenStream>,
    /// The keys that no comma stands before.
    pub(crate) without_comma: Vec<Ident>,
}

/// `key`, `key = value` or `key(…)`.
pub(crate) struct Argument {
    pub(crate) key: Ident,
    pub(crate) value: Value,
}

pub(crate) enum Value {
    Missing,
    /// What follows the `=`; empty while it is being typed.
    Assigned(TokenStream),
    List(Group),
}

impl Arguments {
    pub(crate) fn parse(tokens: TokenStream) -> Self {
        let mut arguments =
            Self { named: Vec::new(), stray: Vec::new(), without_comma: Vec::new() };
        for piece in split_at_commas(tokens) {
            let mut piece = piece.as_slice();
            while let Some((before, key, rest)) = split_before_a_key(piece) {
                arguments.take(before);
                arguments.without_comma.push(key);
                piece = rest;
            }
            arguments.take(piece);
        }
        arguments
    }

    fn take(&mut self, piece: &[TokenTree]) {
        match Argument::parse(piece) {
            Some(argument) => self.named.push(argument),
            None => self.stray.push(piece.iter().cloned().collect()),
        }
    }

    /// The first argument called `key`; a second one is a mistake of its own.
    pub(crate) fn get(&self, key: &str) -> Option<&Argument> {
        self.named.iter().find(|argument| argument.key == key)
    }
}

impl Argument {
    fn parse(piece: &[TokenTree]) -> Option<Self> {
        let (TokenTree::Ident(key), rest) = piece.split_first()? else { return None };
        let value = match rest {
            [] => Value::Missing,
            [TokenTree::Punct(equals), value @ ..] if equals.as_char() == '=' => {
                Value::Assigned(value.iter().cloned().collect())
            }
            [TokenTree::Group(list)] if list.delimiter() == Delimiter::Parenthesis => {
                Value::List(list.clone())
            }
            _ => return None,
        };
        Some(Self { key: key.clone(), value })
    }
}

/// The tokens that show the value, or the key where there is none.
impl ToTokens for Argument {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match &self.value {
            Value::Assigned(value) if !value.is_empty() => value.to_tokens(tokens),
            Value::List(list) => list.to_tokens(tokens),
            _ => self.key.to_tokens(tokens),
        }
    }
}

/// Splits `consumer = "orders" timeout = "30s"` where the comma is missing.
fn split_before_a_key(piece: &[TokenTree]) -> Option<(&[TokenTree], Ident, &[TokenTree])> {
    let is_punct = |token: &TokenTree| matches!(token, TokenTree::Punct(_));
    let at = (1..piece.len()).find(|&at| match &piece[at - 1..] {
        [before, TokenTree::Ident(_), TokenTree::Punct(equals), ..] => {
            equals.as_char() == '=' && !is_punct(before)
        }
        _ => false,
    })?;
    let (before, rest) = piece.split_at(at);
    match rest.first() {
        Some(TokenTree::Ident(key)) => Some((before, key.clone(), rest)),
        _ => None,
    }
}

fn split_at_commas(tokens: TokenStream) -> Vec<Vec<TokenTree>> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is_comma =
        |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',');
    let pieces = tokens.split(is_comma).map(<[_]>::to_vec);
    pieces.filter(|piece| !piece.is_empty()).collect()
}
