//! The mapping of ranks to nodes, as configured in a study.

use crate::config::LETTERS;
use netloom_fabric::config::ConfigError;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// The mapping of ranks to nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum MappingConfig {
    /// Rank r on node r: x varies fastest.
    #[default]
    InOrder,
    /// Along the dimensions in the order of these letters, the first fastest: `"xyz"` is the default order,
    /// `"zyx"` fills lines along z first.
    Dimensions(String),
    /// Random, by the study's seed.
    Random,
    /// From a file: for each rank in order a line with a node's number, or with its coordinates, x first. `#`
    /// starts a comment.
    File(String),
}

/// The dimensions that letters name, if they name each of the first `n` once.
pub(super) fn order(letters: &str, n: usize) -> Option<Vec<usize>> {
    let order: Vec<usize> = letters.chars().map(|letter| LETTERS[..n].find(letter)).collect::<Option<_>>()?;
    (order.len() == n && (0..n).all(|d| order.contains(&d))).then_some(order)
}

impl MappingConfig {
    /// Checks that letters name each of the machine's dimensions once.
    ///
    /// # Errors
    /// With the key `mapping` and what was expected.
    pub fn check(&self, dims: &[u32]) -> Result<(), ConfigError> {
        match self {
            Self::Dimensions(letters) if order(letters, dims.len()).is_none() => {
                let example: String = LETTERS[..dims.len()].chars().rev().collect();
                let message = format!(
                    "expected each of the machine's dimension letters once, such as \"{example}\", found \"{letters}\""
                );
                Err(ConfigError { key: "mapping".into(), message })
            }
            _ => Ok(()),
        }
    }
}

impl Serialize for MappingConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            MappingConfig::InOrder => serializer.serialize_str("in-order"),
            MappingConfig::Random => serializer.serialize_str("random"),
            MappingConfig::Dimensions(letters) => serializer.serialize_str(letters),
            MappingConfig::File(file) => BTreeMap::from([("file", file)]).serialize(serializer),
        }
    }
}

impl JsonSchema for MappingConfig {
    fn schema_name() -> Cow<'static, str> {
        "MappingConfig".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["string", "object"],
            "properties": {
                "file": { "type": "string", "description": "For each rank a line with a node's number or its coordinates." },
            },
        })
    }
}

impl<'de> Deserialize<'de> for MappingConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = MappingConfig;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str(r#""in-order", "random", dimension letters such as "zyx", or { file = "…" }"#)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<MappingConfig, E> {
                match text {
                    "in-order" => Ok(MappingConfig::InOrder),
                    "random" => Ok(MappingConfig::Random),
                    _ if !text.is_empty() && text.chars().all(|c| LETTERS.contains(c)) => {
                        Ok(MappingConfig::Dimensions(text.into()))
                    }
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<MappingConfig, A::Error> {
                let mut file = None;
                while let Some(key) = map.next_key::<String>()? {
                    if key != "file" {
                        return Err(de::Error::unknown_field(&key, &["file"]));
                    }
                    file = Some(map.next_value()?);
                }
                file.map(MappingConfig::File).ok_or_else(|| de::Error::missing_field("file"))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_study_names_its_mapping() {
        for (json, config) in [
            (r#""in-order""#, MappingConfig::InOrder),
            (r#""random""#, MappingConfig::Random),
            (r#""zyx""#, MappingConfig::Dimensions("zyx".into())),
            (r#"{"file":"ranks.txt"}"#, MappingConfig::File("ranks.txt".into())),
        ] {
            assert_eq!(serde_json::from_str::<MappingConfig>(json).unwrap(), config);
            assert_eq!(serde_json::to_string(&config).unwrap(), json);
        }
        for wrong in [r#""abc""#, r#""""#, r#"{"flie": "ranks.txt"}"#, "{}", "3"] {
            assert!(serde_json::from_str::<MappingConfig>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn letters_are_those_of_the_machine() {
        let check = |letters: &str| MappingConfig::Dimensions(letters.into()).check(&[4, 4]);
        assert_eq!(check("yx"), Ok(()));
        for wrong in ["x", "xx", "xz", "xyz"] {
            assert!(check(wrong).unwrap_err().message.contains("such as \"yx\""), "{wrong}");
        }
    }
}
