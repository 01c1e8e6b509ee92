//! What an attribute was put on.

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
