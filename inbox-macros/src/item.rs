//! What an attribute was put on, and what is written in it.

use proc_macro2::{Ident, TokenStream, TokenTree};

/// The keyword that says what kind of item `tokens` is, and its name in a message.
pub(crate) fn keyword(tokens: &TokenStream) -> Option<(Ident, &'static str)> {
    let idents = tokens.clone().into_iter().filter_map(|token| match token {
        TokenTree::Ident(ident) => Some(ident),
        _ => None,
    });
    let idents: Vec<_> = idents.collect();
    let found = idents.iter().find_map(|ident| {
        let kind = match ident.to_string().as_str() {
            "fn" => "a function",
            "struct" => "a struct",
            "enum" => "an enum",
            "union" => "a union",
            "trait" => "a trait",
            "impl" => "an impl block",
            "mod" => "a module",
            "use" => "an import",
            "type" => "a type alias",
            "static" => "a static",
            "let" => "a statement",
            "macro_rules" => "a macro",
            _ => return None,
        };
        Some((ident.clone(), kind))
    });
    // Last, because a function may be `const` as well.
    found.or_else(|| Some((idents.into_iter().find(|ident| ident == "const")?, "a constant")))
}

/// Whether `word` stands somewhere in `tokens`.
pub(crate) fn mentions(tokens: TokenStream, word: &str) -> bool {
    any_token(tokens, &mut |token, _| matches!(token, TokenTree::Ident(ident) if ident == word))
}

/// Whether `found` holds for a token, told with the token after it.
pub(crate) fn any_token(
    tokens: TokenStream,
    found: &mut impl FnMut(&TokenTree, Option<&TokenTree>) -> bool,
) -> bool {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let inside = match &token {
            TokenTree::Group(group) => any_token(group.stream(), found),
            _ => found(&token, tokens.peek()),
        };
        if inside {
            return true;
        }
    }
    false
}
