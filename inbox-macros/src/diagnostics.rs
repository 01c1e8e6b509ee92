//! Telling mistakes: all of them together, each once, each on the tokens that show it.

use std::fmt::Display;

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

/// The mistakes found in one use of an attribute.
#[derive(Default)]
pub(crate) struct Errors(Vec<syn::Error>);

impl Errors {
    /// A mistake that `tokens` show.
    pub(crate) fn on(&mut self, tokens: impl ToTokens, message: impl Display) {
        self.0.push(syn::Error::new_spanned(tokens, message));
    }

    /// A mistake where nothing stands that could show it.
    pub(crate) fn at(&mut self, span: Span, message: impl Display) {
        self.0.push(syn::Error::new(span, message));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One `compile_error!` for each mistake.
    pub(crate) fn into_tokens(self) -> TokenStream {
        self.0.iter().map(syn::Error::to_compile_error).collect()
    }
}

/// The word of `known` that `word` was probably meant to be.
pub(crate) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let lower = word.to_lowercase();
    if let Some(begun) = known.iter().find(|known| known.starts_with(&lower)) {
        return Some(begun);
    }
    let (distance, best) = known.iter().map(|known| (edits(&lower, known), *known)).min()?;
    let limit = (best.len().max(lower.len()) / 3).max(1);
    (distance <= limit).then_some(best)
}

/// How many letters must be changed, added, removed or swapped with their neighbour.
fn edits(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut rows = vec![(0..=to.len()).collect::<Vec<_>>()];
    for i in 1..=from.len() {
        let mut row = vec![i];
        for j in 1..=to.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(from[i - 1] != to[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_word_and_a_foreign_word_none() {
        let keys = ["consumer", "timeout", "order", "crate"];
        for (slip, meant) in [
            ("consumr", Some("consumer")),
            ("Consumer", Some("consumer")),
            ("consumer_name", None),
            ("timout", Some("timeout")),
            ("cons", Some("consumer")),
            ("oredr", Some("order")),
            ("create", Some("crate")),
            ("retries", None),
        ] {
            assert_eq!(nearest(slip, &keys), meant, "{slip}");
        }
    }
}
