//! Tables in which one key determines the other keys, such as the `kind` of a workload or topology.
//!
//! serde can derive such a reader, but it puts the whole table aside until it has found that key, and forgets
//! where each value was written. Here the key comes first, which the reader of studies sees to, and a mistake
//! keeps its place.

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// A type that is read from such a table.
pub trait Tagged<'de>: Sized {
    /// The key that decides.
    const TAG: &'static str;
    /// Its values.
    type Kind: Deserialize<'de>;

    /// Reads the other keys.
    ///
    /// # Errors
    /// Those of the reader.
    fn of<D: Deserializer<'de>>(kind: Self::Kind, rest: D) -> Result<Self, D::Error>;
}

/// Reads a table that begins with its tag.
///
/// # Errors
/// A table without it, and all that the reader finds wrong.
pub fn tagged<'de, T: Tagged<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_map(Table(PhantomData))
}

/// How an enumeration of tables is read, of which a tag says which: `tagged_table!(Topology, "kind",
/// TopologyKind, Dragonfly(DragonflyConfig), Torus(TorusConfig))`. The third is the type of the tag's values,
/// which are the variants' names in kebab case, or what their attributes say.
#[macro_export]
macro_rules! tagged_table {
    ($name:ident, $tag:literal, $kind:ident, $($(#[$attribute:meta])* $variant:ident($config:ty)),+ $(,)?) => {
        /// The values of the tag.
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "kebab-case")]
        #[doc(hidden)]
        pub enum $kind {
            $($(#[$attribute])* $variant,)+
        }

        impl<'de> $crate::config::tagged::Tagged<'de> for $name {
            const TAG: &'static str = $tag;
            type Kind = $kind;

            fn of<D: serde::Deserializer<'de>>(kind: $kind, rest: D) -> Result<Self, D::Error> {
                match kind {
                    $($kind::$variant => <$config as serde::Deserialize>::deserialize(rest).map(Self::$variant),)+
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::config::tagged::tagged(deserializer)
            }
        }
    };
}

struct Table<T>(PhantomData<T>);

impl<'de, T: Tagged<'de>> Visitor<'de> for Table<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "a table with `{} = …`", T::TAG)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        match map.next_key::<String>()? {
            Some(key) if key == T::TAG => {}
            _ => return Err(A::Error::missing_field(T::TAG)),
        }
        let kind = map.next_value()?;
        T::of(kind, MapAccessDeserializer::new(map))
    }
}
