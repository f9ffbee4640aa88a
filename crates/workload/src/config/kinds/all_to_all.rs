//! `all-to-all`: every node sends to every other.

use crate::config::{Load, TrafficConfig, Workload, is_limited, letter, refuse};
use crate::shape::Shape;
use netloom_fabric::config::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Among which nodes an all-to-all runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Over {
    /// All of them.
    #[default]
    Machine,
    /// Those of each plane of two dimensions.
    Planes,
    /// Those of each line along one dimension.
    Lines,
}

/// An all-to-all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AllToAll {
    /// Among all nodes, those of each plane, or those of each line.
    pub over: Over,
    /// The dimensions that a plane or line spans, as letters: `"xy"`, `"z"`. Empty for the whole machine.
    pub dims: String,
    /// Data for each pair of nodes, bytes. None: what one full packet carries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

impl Workload for AllToAll {
    fn may_be_job() -> bool {
        true
    }

    fn ends(&self, traffic: &TrafficConfig) -> bool {
        traffic.load == Load::Burst || is_limited(traffic)
    }

    fn check_on(&self, shape: &Shape) -> Result<(), ConfigError> {
        if self.bytes == Some(0) {
            return refuse("workload.bytes", "expected at least 1 byte");
        }
        let spans = match (self.over, shape.torus()) {
            (Over::Machine, _) => 0,
            (Over::Planes, Some(_)) => 2,
            (Over::Lines, Some(_)) => 1,
            (Over::Planes | Over::Lines, None) => {
                return refuse("workload.over", "expected \"machine\": the nodes have no dimensions");
            }
        };
        let n = shape.dimensions();
        let mut seen: Vec<char> = self.dims.chars().collect();
        seen.sort_unstable();
        seen.dedup();
        let known = seen.iter().all(|&c| (0..n).any(|d| letter(d) == c));
        if seen.len() == spans && self.dims.len() == spans && known {
            return Ok(());
        }
        let example: String = (0..spans.min(n)).map(letter).collect();
        refuse(
            "workload.dims",
            match spans {
                0 => "expected no dimensions: this all-to-all runs over the whole machine; give over = \"planes\" or \"lines\" to restrict it".into(),
                _ => format!("expected {spans} of the machine's dimension letters, such as \"{example}\", found \"{}\"", self.dims),
            },
        )
    }
}
