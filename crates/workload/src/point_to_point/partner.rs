//! The rank that rank 0 exchanges messages with.

use crate::ConfigError;
use crate::config::refuse;
use netloom_messaging::transit::Hops;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::fmt;

/// The partner of rank 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Partner {
    /// The first rank at the fewest hops.
    #[default]
    Nearest,
    /// The first rank at the most hops.
    Farthest,
    /// This rank.
    Rank(u32),
}

impl Partner {
    /// The partner among this number of ranks.
    pub fn among(self, ranks: u32, hops: &Hops) -> u32 {
        let others = 1..ranks;
        let found = match self {
            Partner::Nearest => others.min_by_key(|&rank| hops(0, rank)),
            Partner::Farthest => others.min_by_key(|&rank| Reverse(hops(0, rank))),
            Partner::Rank(rank) => Some(rank),
        };
        found.expect("there are two ranks")
    }

    /// Checks that the partner exists.
    pub(super) fn check(self, ranks: u32) -> Result<(), ConfigError> {
        match self {
            Partner::Rank(rank) if rank == 0 || rank >= ranks => {
                refuse("partner", format!("expected a rank other than 0 of {ranks}, found {rank}"))
            }
            _ => Ok(()),
        }
    }
}

/// Two ranks and their distance, for titles.
pub(super) fn words(partner: u32, hops: &Hops) -> String {
    let count = hops(0, partner);
    format!("ranks 0 and {partner}, {count} hop{}", if count == 1 { "" } else { "s" })
}

impl Serialize for Partner {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Partner::Nearest => serializer.serialize_str("nearest"),
            Partner::Farthest => serializer.serialize_str("farthest"),
            Partner::Rank(rank) => serializer.serialize_u32(*rank),
        }
    }
}

impl JsonSchema for Partner {
    fn schema_name() -> Cow<'static, str> {
        "Partner".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["integer", "string"] })
    }
}

impl<'de> Deserialize<'de> for Partner {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = Partner;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("\"nearest\", \"farthest\" or the number of a rank")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Partner, E> {
                match text {
                    "nearest" => Ok(Partner::Nearest),
                    "farthest" => Ok(Partner::Farthest),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
            fn visit_u64<E: de::Error>(self, rank: u64) -> Result<Partner, E> {
                let found = de::Unexpected::Unsigned(rank);
                u32::try_from(rank).map(Partner::Rank).map_err(|_| E::invalid_value(found, &self))
            }
            fn visit_i64<E: de::Error>(self, rank: i64) -> Result<Partner, E> {
                let found = de::Unexpected::Signed(rank);
                u32::try_from(rank).map(Partner::Rank).map_err(|_| E::invalid_value(found, &self))
            }
        }
        deserializer.deserialize_any(Either)
    }
}
