//! A second reading of a payload that was refused, to find where.

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _, MapAccess, SeqAccess,
    Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};

use super::refused::{Refused, Step};

/// What reading a payload once more shows.
pub(super) enum Second {
    Refused(Refused),
    /// A repeated field is what this reading does not see.
    NothingRefused,
    NotJson,
}

/// Reads `payload` as a `T` once more, slower and with an eye on the place.
pub(super) fn read_again<T: DeserializeOwned>(payload: &[u8]) -> Second {
    match serde_json::from_slice(payload) {
        Ok(tree) => match T::deserialize(Node(&tree)) {
            Ok(_) => Second::NothingRefused,
            Err(refused) => Second::Refused(refused),
        },
        Err(_) => Second::NotJson,
    }
}

/// A value on its way into a type.
#[derive(Clone, Copy)]
struct Node<'a>(&'a Value);

impl<'de> Node<'de> {
    fn object<V: Visitor<'de>>(
        object: &'de Map<String, Value>,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        visitor.visit_map(Entries { rest: object.iter(), fields, value: None })
    }
}

impl<'de> Deserializer<'de> for Node<'de> {
    type Error = Refused;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(value), ..) => visitor.visit_u64(value),
                (_, Some(value), _) => visitor.visit_i64(value),
                (.., value) => visitor.visit_f64(value.unwrap_or(f64::INFINITY)),
            },
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(elements) => {
                let mut sequence = Elements { rest: elements.iter(), index: 0 };
                let value = visitor.visit_seq(&mut sequence)?;
                match sequence.rest.len() {
                    0 => Ok(value),
                    _ => Err(Refused::invalid_length(elements.len(), &"fewer elements")),
                }
            }
            Value::Object(object) => Self::object(object, &[], visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        match self.0 {
            Value::Object(object) => Self::object(object, fields, visitor),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        match self.0 {
            Value::String(text) => visitor.visit_enum(StrDeserializer::new(text)),
            Value::Object(object) => match (object.iter().next(), object.len()) {
                (Some((name, content)), 1) => visitor
                    .visit_enum(Variant { name, content })
                    .map_err(|error| error.inside(step(name, variants))),
                _ => Err(Refused::invalid_value(Unexpected::Map, &"an object with a single key")),
            },
            _ => Err(Refused::new("expected a string or an object for an enum")),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

/// The step to `name`: itself where the type knows it.
fn step(name: &str, known: &'static [&'static str]) -> Step {
    known.iter().find(|known| **known == name).map_or(Step::Foreign, |known| Step::Name(known))
}

struct Elements<'de> {
    rest: std::slice::Iter<'de, Value>,
    index: usize,
}

impl<'de> SeqAccess<'de> for &mut Elements<'de> {
    type Error = Refused;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Refused> {
        let Some(element) = self.rest.next() else { return Ok(None) };
        let index = self.index;
        self.index += 1;
        let read = seed.deserialize(Node(element));
        read.map(Some).map_err(|error| error.inside(Step::Index(index)))
    }
}

struct Entries<'de> {
    rest: serde_json::map::Iter<'de>,
    fields: &'static [&'static str],
    value: Option<(&'de str, &'de Value)>,
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Refused;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Refused> {
        let Some((key, value)) = self.rest.next() else { return Ok(None) };
        self.value = Some((key, value));
        let read = seed.deserialize(Key(key));
        read.map(Some).map_err(|error| error.inside(step(key, self.fields)))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Refused> {
        let asked_out_of_turn = || Refused::new("a value was asked for before its key");
        let (key, value) = self.value.take().ok_or_else(asked_out_of_turn)?;
        let read = seed.deserialize(Node(value));
        read.map_err(|error| error.inside(step(key, self.fields)))
    }
}

struct Variant<'de> {
    name: &'de str,
    content: &'de Value,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = Refused;
    type Variant = Node<'de>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Node<'de>), Refused> {
        Ok((seed.deserialize(Key(self.name))?, Node(self.content)))
    }
}

impl<'de> VariantAccess<'de> for Node<'de> {
    type Error = Refused;

    fn unit_variant(self) -> Result<(), Refused> {
        serde::Deserialize::deserialize(self)
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Refused> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Refused> {
        self.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        self.deserialize_struct("", fields, visitor)
    }
}

/// An object's key, which stands in quotes also where the type wants a number.
struct Key<'de>(&'de str);

/// As serde_json reads keys of `HashMap<u64, _>` and the like.
macro_rules! numeric_keys {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
            if let Ok(number) = self.0.parse() {
                visitor.visit_u64(number)
            } else if let Ok(number) = self.0.parse() {
                visitor.visit_i64(number)
            } else if let Ok(number) = self.0.parse() {
                visitor.visit_f64(number)
            } else {
                Err(Refused::invalid_type(Unexpected::Str(self.0), &visitor))
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = Refused;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_borrowed_str(self.0)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        match self.0.parse() {
            Ok(value) => visitor.visit_bool(value),
            Err(_) => Err(Refused::invalid_type(Unexpected::Str(self.0), &visitor)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        visitor.visit_enum(StrDeserializer::new(self.0))
    }

    numeric_keys! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier
        ignored_any
    }
}
