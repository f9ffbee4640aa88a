//! From a [`Tree`] to typed values: serde's errors, put in their place and in words.

use crate::diagnose::{Origin, Problem, WrongKey, suggest};
use crate::tree::{Entry, Tree, Value};
use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, Unexpected, Visitor,
};
use std::fmt;

/// Reads a typed value from a tree.
///
/// # Errors
/// All unknown keys, wrong types, unknown alternatives and missing keys that one pass can find, in their
/// places.
pub fn decode<T: DeserializeOwned>(tree: &Tree) -> Result<T, Problem> {
    decode_below("", tree)
}

/// The same for a table below others: problems name its keys by their whole path.
///
/// # Errors
/// As [`decode`].
pub fn decode_below<T: DeserializeOwned>(path: &str, tree: &Tree) -> Result<T, Problem> {
    let (mut problems, mut removed) = (vec![], Vec::<Vec<String>>::new());
    let mut rest: Option<Tree> = None;
    // Invalid values are removed, and the rest is read again.
    while problems.len() < PROBLEMS_MAX {
        let mut mistake = match T::deserialize(Node(rest.as_ref().unwrap_or(tree))) {
            Ok(value) if removed.is_empty() => return Ok(value),
            Ok(_) => break,
            Err(mistake) => mistake,
        };
        let at = mistake.removable();
        let is_removed = at.as_ref().is_some_and(|at| remove(rest.get_or_insert_with(|| tree.clone()), at));
        if !mistake.follows_from(&removed) {
            mistake.path.splice(0..0, path.split('.').filter(|key| !key.is_empty()).map(str::to_owned));
            problems.push(mistake.problem());
        }
        match at.filter(|_| is_removed) {
            Some(at) => removed.push(at),
            None => break,
        }
    }
    Err(Problem::of_all(problems).expect("nothing is removed without one"))
}

/// Most problems that are reported at once.
const PROBLEMS_MAX: usize = 20;

/// Removes the entry at a path, or the nearest entry that contains it, and tables that become empty. Returns
/// whether there was one.
fn remove(tree: &mut Tree, path: &[String]) -> bool {
    let [first, rest @ ..] = path else { return false };
    match &mut tree.value {
        Value::List(items) => {
            let item = first.parse().ok().and_then(|index: usize| items.get_mut(index));
            item.is_some_and(|item| remove(item, rest))
        }
        Value::Table(entries) => {
            let Some(at) = entries.iter().position(|entry| entry.key == *first) else { return false };
            let is_inside = remove(&mut entries[at].value, rest);
            if !is_inside || matches!(&entries[at].value.value, Value::Table(left) if left.is_empty()) {
                entries.remove(at);
            }
            true
        }
        _ => false,
    }
}

/// Keys that determine the other keys of a table: `kind` of a workload, `program` of a skeleton.
const TAGS: [&str; 2] = ["kind", "program"];

#[derive(Debug)]
enum Kind {
    UnknownKey { name: String, known: Vec<&'static str> },
    UnknownChoice { name: String, known: Vec<&'static str> },
    Missing(&'static str),
    Wrong { found: String, expected: String, is_type: bool },
    Other(String),
}

/// An error that propagates out of the tree and gathers its path and its place.
#[derive(Debug)]
struct Mistake {
    kind: Box<Kind>,
    path: Vec<String>,
    origin: Option<Origin>,
}

impl Mistake {
    fn new(kind: Kind) -> Self {
        Mistake { kind: Box::new(kind), path: Vec::new(), origin: None }
    }

    /// Gives the mistake its place if it has none yet.
    fn locate(mut self, tree: &Tree) -> Self {
        if self.origin.is_none() {
            // A wrong key may be reported by the table that contains it.
            let key = match &*self.kind {
                Kind::UnknownKey { name, .. } => tree.entry(name).and_then(|e| e.origin.clone()),
                _ => None,
            };
            self.origin = key.or_else(|| tree.origin.clone());
        }
        self
    }

    fn under(mut self, entry: &Entry) -> Self {
        if self.origin.as_ref().is_none_or(|o| o.span.is_empty()) {
            self.origin.clone_from(&entry.origin);
        }
        self.path.insert(0, entry.key.clone());
        self
    }

    /// The path of what must be removed for the rest to be read; `None` if nothing helps.
    fn removable(&self) -> Option<Vec<String>> {
        let mut path = self.path.clone();
        match &*self.kind {
            Kind::UnknownKey { name, .. } => path.push(name.clone()),
            // Without its kind a table has other keys.
            Kind::UnknownChoice { .. } if path.last().is_some_and(|key| TAGS.contains(&key.as_str())) => {
                path.pop();
            }
            Kind::UnknownChoice { .. } | Kind::Wrong { .. } | Kind::Missing(_) => {}
            Kind::Other(_) => return None,
        }
        (!path.is_empty()).then_some(path)
    }

    /// Whether a key is missing only because it or its contents were removed, or because its table has a
    /// wrong key that may stand for it.
    fn follows_from(&self, removed: &[Vec<String>]) -> bool {
        let Kind::Missing(name) = &*self.kind else { return false };
        let key = [&self.path[..], &[(*name).to_owned()]].concat();
        removed
            .iter()
            .any(|at| at.starts_with(&key) || at.split_last().is_some_and(|(_, table)| table == self.path))
    }

    fn problem(self) -> Problem {
        let path = self.path.join(".");
        let join = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        let key = match &*self.kind {
            Kind::UnknownKey { name, .. } => Some(Box::new(WrongKey::Unknown(join(name)))),
            Kind::Missing(name) => Some(Box::new(WrongKey::Missing(join(name)))),
            _ => None,
        };
        let (message, label, help) = match *self.kind {
            Kind::UnknownKey { name, known } => (
                format!("unknown key `{}`", join(&name)),
                "not a key here".to_owned(),
                Some(suggest(&name, &known)),
            ),
            Kind::UnknownChoice { name, known } => (
                format!("`{path}` has an unknown value \"{name}\""),
                "not one of the choices".into(),
                Some(suggest(&name, &known)),
            ),
            Kind::Missing(name) => (
                format!("`{}` is missing", join(name)),
                "in this table".into(),
                Some(format!("add `{name} = …`")),
            ),
            Kind::Wrong { found, expected, is_type } => (
                format!(
                    "`{path}` has {}",
                    if is_type { "the wrong type of value" } else { "an invalid value" }
                ),
                format!("expected {}, found {found}", in_words(&expected, &found)),
                None,
            ),
            Kind::Other(message) => (message, "here".into(), None),
        };
        let mut problem = Problem::new(message).at(&self.origin);
        problem.label = label;
        problem.help = help;
        problem.key = key;
        problem
    }
}

fn in_words(expected: &str, found: &str) -> String {
    // A number that the type does not hold would be said to be expected.
    let most = match expected {
        "u8" => Some(u64::from(u8::MAX)),
        "u16" => Some(u16::MAX.into()),
        "u32" => Some(u32::MAX.into()),
        _ => None,
    };
    if let Some(most) = most.filter(|&most| found.parse().is_ok_and(|found: u64| found > most)) {
        return format!("a whole number up to {most}");
    }
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, 0 or more".into(),
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number".into(),
        "f32" | "f64" => "a number".into(),
        "a boolean" => "true or false".into(),
        "a sequence" => "a list".into(),
        "a string" => "text in quotes".into(),
        text if text.starts_with("struct ") || text == "a map" => "a table".into(),
        text if text.starts_with("tuple of 2") || text.starts_with("a tuple of size 2") => "a pair".into(),
        text if text.starts_with("an array of length ") => {
            format!("{} values", text.trim_start_matches("an array of length "))
        }
        text if text.contains("enum ") => "one of its choices, as text in quotes".into(),
        text => text.into(),
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{:?}", self.kind)
    }
}
impl std::error::Error for Mistake {}

fn wrong(found: Unexpected, expected: &dyn de::Expected, is_type: bool) -> Mistake {
    let found = match found {
        Unexpected::Str(s) => format!("\"{s}\""),
        Unexpected::Bool(b) => b.to_string(),
        Unexpected::Unsigned(u) => u.to_string(),
        Unexpected::Signed(i) => i.to_string(),
        Unexpected::Float(f) => format!("{f:?}"),
        Unexpected::Seq => "a list".into(),
        Unexpected::Map => "a table".into(),
        other => other.to_string(),
    };
    Mistake::new(Kind::Wrong { found, expected: expected.to_string(), is_type })
}

impl de::Error for Mistake {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Mistake::new(Kind::Other(message.to_string()))
    }
    fn invalid_type(found: Unexpected, expected: &dyn de::Expected) -> Self {
        wrong(found, expected, true)
    }
    fn invalid_value(found: Unexpected, expected: &dyn de::Expected) -> Self {
        wrong(found, expected, false)
    }
    fn invalid_length(found: usize, expected: &dyn de::Expected) -> Self {
        let found = if found == 1 { "1".into() } else { format!("{found} of them") };
        Mistake::new(Kind::Wrong { found, expected: expected.to_string(), is_type: false })
    }
    fn unknown_variant(name: &str, known: &'static [&'static str]) -> Self {
        Mistake::new(Kind::UnknownChoice { name: name.into(), known: known.to_vec() })
    }
    fn unknown_field(name: &str, known: &'static [&'static str]) -> Self {
        Mistake::new(Kind::UnknownKey { name: name.into(), known: known.to_vec() })
    }
    fn missing_field(name: &'static str) -> Self {
        Mistake::new(Kind::Missing(name))
    }
}

#[derive(Clone, Copy)]
struct Node<'de>(&'de Tree);

impl<'de> IntoDeserializer<'de, Mistake> for Node<'de> {
    type Deserializer = Self;
    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Node<'de> {
    type Error = Mistake;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        match &self.0.value {
            Value::Bool(b) => visitor.visit_bool(*b),
            Value::Integer(i) => visitor.visit_i64(*i),
            Value::Float(f) => visitor.visit_f64(*f),
            Value::Text(text) => visitor.visit_borrowed_str(text),
            Value::List(items) => {
                let mut rest = Items(items.iter().enumerate());
                visitor.visit_seq(&mut rest).and_then(|value| match items.len() - rest.0.len() {
                    read if read == items.len() => Ok(value),
                    read => {
                        Err(de::Error::invalid_length(items.len(), &&*format!("an array of length {read}")))
                    }
                })
            }
            Value::Table(entries) => {
                // The key that determines the others is read first, wherever it stands.
                let (first, rest): (Vec<_>, Vec<_>) =
                    entries.iter().partition(|e| TAGS.contains(&e.key.as_str()));
                let entries: Vec<_> = first.into_iter().chain(rest).collect();
                visitor.visit_map(Entries { rest: entries.into_iter(), current: None })
            }
        }
        .map_err(|e| e.locate(self.0))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        visitor.visit_newtype_struct(self).map_err(|e| e.locate(self.0))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        match &self.0.value {
            Value::Text(text) => visitor.visit_enum(text.as_str().into_deserializer()),
            Value::Table(entries) if entries.len() == 1 => {
                visitor.visit_enum(Variant(&entries[0])).map_err(|e: Mistake| match *e.kind {
                    Kind::UnknownChoice { name, known } => Mistake::new(Kind::UnknownKey { name, known }),
                    kind => Mistake { kind: Box::new(kind), ..e },
                })
            }
            _ => {
                let names = known.iter().map(|k| format!("\"{k}\"")).collect::<Vec<_>>().join(", ");
                self.deserialize_any(Refuse(format!("one of {names}"))).map(|never: Never| match never {})
            }
        }
        .map_err(|e| e.locate(self.0))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct identifier ignored_any
    }
}

enum Never {}
struct Refuse(String);
impl Visitor<'_> for Refuse {
    type Value = Never;
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

struct Items<'de>(std::iter::Enumerate<std::slice::Iter<'de, Tree>>);

impl<'de> de::SeqAccess<'de> for Items<'de> {
    type Error = Mistake;
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Mistake> {
        let Some((index, item)) = self.0.next() else { return Ok(None) };
        seed.deserialize(Node(item)).map(Some).map_err(|e| {
            let mut e = e.locate(item);
            e.path.insert(0, index.to_string());
            e
        })
    }
    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

struct Entries<'de> {
    rest: std::vec::IntoIter<&'de Entry>,
    current: Option<&'de Entry>,
}

impl<'de> de::MapAccess<'de> for Entries<'de> {
    type Error = Mistake;
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Mistake> {
        self.current = self.rest.next();
        let Some(entry) = self.current else { return Ok(None) };
        let key: StrDeserializer<Mistake> = entry.key.as_str().into_deserializer();
        seed.deserialize(key).map(Some).map_err(|mut e| {
            e.origin.clone_from(&entry.origin);
            e
        })
    }
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Mistake> {
        let entry = self.current.take().expect("a value follows its key");
        seed.deserialize(Node(&entry.value)).map_err(|e| e.locate(&entry.value).under(entry))
    }
}

struct Variant<'de>(&'de Entry);

impl<'de> de::EnumAccess<'de> for Variant<'de> {
    type Error = Mistake;
    type Variant = Self;
    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Mistake> {
        let name: StrDeserializer<Mistake> = self.0.key.as_str().into_deserializer();
        seed.deserialize(name).map(|v| (v, self))
    }
}

impl<'de> de::VariantAccess<'de> for Variant<'de> {
    type Error = Mistake;
    fn unit_variant(self) -> Result<(), Mistake> {
        Err(Mistake::new(Kind::Other(format!("`{}` takes no value: write it as text in quotes", self.0.key))))
    }
    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Mistake> {
        let entry = self.0;
        seed.deserialize(Node(&entry.value)).map_err(|e| e.locate(&entry.value).under(entry))
    }
    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Mistake> {
        Node(&self.0.value).deserialize_any(visitor)
    }
    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        Node(&self.0.value).deserialize_any(visitor)
    }
}
