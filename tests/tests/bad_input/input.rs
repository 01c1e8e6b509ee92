//! Made-up texts, JSON, and JSON that was damaged.

use inbox::Envelope;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::silence::{NUMBER, SECRET};

/// Text of any characters, with the secret somewhere in it.
pub(crate) fn text() -> impl Strategy<Value = String> {
    (any::<String>(), any::<Index>()).prop_map(|(mut text, at)| {
        let places: Vec<usize> = text.char_indices().map(|(i, _)| i).chain([text.len()]).collect();
        text.insert_str(places[at.index(places.len())], SECRET);
        text
    })
}

/// Text that JSON spells with care, or not at all.
fn odd_string() -> impl Strategy<Value = String> {
    select(vec![
        r"\ud800",
        r"\udfff\ud800",
        r"\ud83d\ude00",
        r"\u0000",
        r"\uFFFF",
        r"\x41",
        r"\",
        "\u{1}",
        "\u{feff}",
        "\u{202e}",
    ])
    .prop_map(|odd| format!("\"{SECRET}{odd}\""))
}

fn number() -> impl Strategy<Value = String> {
    let odd = ["", "e999999", ".5e-999999", "0000000000000000000000000000", "e", ".", "-", "_000"];
    (any::<bool>(), select(odd.to_vec()))
        .prop_map(|(minus, odd)| format!("{}{NUMBER}{odd}", if minus { "-" } else { "" }))
}

/// The text of one JSON value; a few are none.
pub(crate) fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        4 => text().prop_map(|text| serde_json::to_string(&text).unwrap()),
        2 => number(),
        1 => odd_string(),
        1 => select(vec!["null", "true", "false", "NaN", "Infinity", "", "''"]).prop_map(str::to_owned),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            vec((member_name(), inner), 0..4).prop_map(|members| object(&members)),
        ]
    })
}

/// Names that the types below have, and others.
fn member_name() -> impl Strategy<Value = String> {
    let known = ["name", "quantity", "price", "kind", "lines", "notes", "Order", "Refund", "a_b"];
    prop_oneof![
        3 => select(known.to_vec()).prop_map(|name| format!("\"{name}\"")),
        2 => text().prop_map(|text| serde_json::to_string(&text).unwrap()),
        1 => odd_string(),
    ]
}

pub(crate) fn object(members: &[(String, String)]) -> String {
    let members: Vec<_> = members.iter().map(|(name, value)| format!("{name}:{value}")).collect();
    format!("{{{}}}", members.join(","))
}

/// An object with each of these members, or most of them.
pub(crate) fn object_of(
    members: Vec<(&'static str, BoxedStrategy<String>)>,
) -> impl Strategy<Value = String> {
    let members: Vec<_> = members
        .into_iter()
        .map(|(name, value)| {
            (proptest::bool::weighted(0.95), value)
                .prop_map(move |(there, value)| there.then(|| (format!("\"{name}\""), value)))
        })
        .collect();
    let others = btree_map(member_name(), json(), 0..3);
    (members, others).prop_map(|(members, others)| {
        let all: Vec<_> = members.into_iter().flatten().chain(others).collect();
        object(&all)
    })
}

/// What happens to bytes on their way.
#[derive(Clone, Debug)]
enum Damage {
    Cut(Index),
    Drop(Index),
    Put(Index, u8),
    Insert(Index, Vec<u8>),
    Repeat(Index, Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    let odd = [b"\xff".to_vec(), b"\xed\xa0\x80".to_vec(), b"\0".to_vec(), b"\"".to_vec()];
    prop_oneof![
        any::<Index>().prop_map(Damage::Cut),
        any::<Index>().prop_map(Damage::Drop),
        any::<(Index, u8)>().prop_map(|(at, byte)| Damage::Put(at, byte)),
        (any::<Index>(), select(odd.to_vec())).prop_map(|(at, odd)| Damage::Insert(at, odd)),
        any::<(Index, Index)>().prop_map(|(from, to)| Damage::Repeat(from, to)),
    ]
}

/// The bytes of a text, whole or damaged.
pub(crate) fn damaged(text: impl Strategy<Value = String>) -> impl Strategy<Value = Vec<u8>> {
    let damages = prop_oneof![2 => Just(Vec::new()), 1 => vec(damage(), 1..4)];
    (text, damages).prop_map(|(text, damages)| {
        let mut bytes = text.into_bytes();
        for damage in damages {
            if bytes.is_empty() {
                break;
            }
            apply(damage, &mut bytes);
        }
        bytes
    })
}

fn apply(damage: Damage, bytes: &mut Vec<u8>) {
    let at = |index: Index| index.index(bytes.len());
    match damage {
        Damage::Cut(index) => bytes.truncate(at(index)),
        Damage::Drop(index) => {
            bytes.remove(at(index));
        }
        Damage::Put(index, byte) => {
            let at = at(index);
            bytes[at] = byte;
        }
        Damage::Insert(index, odd) => {
            let at = at(index);
            bytes.splice(at..at, odd);
        }
        Damage::Repeat(from, to) => {
            let (from, to) = (at(from).min(at(to)), at(from).max(at(to)));
            let piece = bytes[from..to].to_vec();
            bytes.splice(to..to, piece);
        }
    }
}

/// Sets those that are there: source, content type, ordering key, correlation and causation id.
pub(crate) fn with_texts(envelope: Envelope, texts: [Option<String>; 5]) -> Envelope {
    let setters: [fn(Envelope, String) -> Envelope; 5] = [
        |envelope, source| envelope.with_source(source),
        |envelope, content| envelope.with_content_type(content),
        |envelope, key| envelope.with_ordering_key(key),
        |envelope, id| envelope.with_correlation_id(id),
        |envelope, id| envelope.with_causation_id(id),
    ];
    setters.into_iter().zip(texts).fold(envelope, |envelope, (set, text)| match text {
        Some(text) => set(envelope, text),
        None => envelope,
    })
}
