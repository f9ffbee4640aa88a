//! `all-to-all`: every node sends to every other.

use crate::config::{Load, TrafficConfig, Workload, is_limited, letter, refuse};
use crate::shape::Shape;
use crate::traffic::order::Order;
use crate::traffic::pattern::{Among, Destinations, Fast, Share, all_to_all_step, next_of_all};
use netloom_engine::Stream;
use netloom_fabric::config::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

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
    /// Dimensions of the first of two phases, as letters: `"x"`. A packet goes first along these to the node
    /// that has its destination's coordinates there, whose software forwards it in the other dimensions.
    /// Empty: it goes directly. Tori only.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub first_phase: String,
    /// Data for each pair of nodes, bytes. If omitted: what one full packet carries.
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
        self.check_phases(shape)?;
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

    fn destinations(&self, among: &Among) -> Result<Option<Arc<dyn Destinations>>, ConfigError> {
        let (shape, lengths) = (among.shape, among.shape.lengths());
        let rounds = self.bytes.map_or(1, |bytes| bytes.div_ceil(among.payload_B.max(1).into()));
        let dims: Vec<usize> = (0..lengths.len()).filter(|&d| self.dims.contains(letter(d))).collect();
        if self.over == Over::Machine || dims.len() == lengths.len() {
            return Ok(Some(Arc::new(ToAll { nodes: shape.nodes(), rounds })));
        }
        let members = dims.iter().map(|&d| u64::from(lengths[d])).product();
        Ok(Some(Arc::new(Along { shape: shape.clone(), dims, members, rounds })))
    }
}

impl AllToAll {
    fn check_phases(&self, shape: &Shape) -> Result<(), ConfigError> {
        if self.first_phase.is_empty() {
            return Ok(());
        }
        let refuse = |message: String| refuse("workload.first_phase", message);
        if shape.torus().is_none() {
            return refuse("expected none: the nodes have no dimensions".into());
        }
        if self.over != Over::Machine {
            return refuse("expected none: only an all-to-all over the whole machine has two phases".into());
        }
        let n = shape.dimensions();
        let is_dimension = |c: char| (0..n).any(|d| letter(d) == c);
        let is_twice = |(at, c): (usize, char)| self.first_phase[..at].contains(c);
        let letters = self.first_phase.chars();
        if letters.clone().all(is_dimension)
            && !self.first_phase.char_indices().any(is_twice)
            && letters.count() < n
        {
            return Ok(());
        }
        let all: String = (0..n).map(letter).collect();
        refuse(format!(
            "expected some of the machine's dimensions {all}, each once and not all of them, such as \"x\"; \
             found \"{}\"",
            self.first_phase
        ))
    }
}

/// To all of `nodes` nodes; `rounds` packets per pair.
#[derive(Debug)]
struct ToAll {
    nodes: u32,
    rounds: u64,
}

impl Destinations for ToAll {
    fn destination(&self, node: u32, index: u64, order: Option<&Order>, _: &mut Stream) -> Option<u32> {
        Some(next_of_all(node, index, self.nodes, order))
    }

    fn shares(&self, _: u32, among: Share) {
        among(&mut (0..self.nodes), 1.0);
    }

    fn period(&self, _: u32) -> Option<u64> {
        Some(u64::from(self.nodes - 1) * self.rounds)
    }

    fn is_ordered(&self) -> bool {
        true
    }

    fn order(&self, seed: u64, node: u32) -> Order {
        Order::new((self.nodes - 1).into(), seed, node.into())
    }

    fn fast(&self) -> Option<Fast> {
        Some(Fast::AllToAll)
    }
}

/// The same among the nodes that differ in these dimensions only.
#[derive(Debug)]
struct Along {
    shape: Shape,
    dims: Vec<usize>,
    members: u64,
    rounds: u64,
}

impl Destinations for Along {
    fn destination(&self, node: u32, index: u64, order: Option<&Order>, _: &mut Stream) -> Option<u32> {
        let Along { shape, dims, members, .. } = self;
        if *members == 1 {
            return None;
        }
        let step = all_to_all_step(index, *members, order);
        // The node's place among the members, and the member `step` places on.
        let mut at = shape.coordinates(node);
        let length = |d: usize| u64::from(shape.lengths()[d]);
        let own = dims.iter().rev().fold(0, |n, &d| n * length(d) + u64::from(at[d]));
        let mut to = (own + step) % members;
        for &d in dims {
            at[d] = (to % length(d)) as u32;
            to /= length(d);
        }
        Some(shape.node_at(at))
    }

    /// What is known of its peak is in closed form elsewhere.
    fn shares(&self, _: u32, _: Share) {}

    fn period(&self, _: u32) -> Option<u64> {
        Some((self.members - 1) * self.rounds)
    }

    fn is_ordered(&self) -> bool {
        true
    }

    fn order(&self, seed: u64, node: u32) -> Order {
        Order::new(self.members - 1, seed, node.into())
    }
}
