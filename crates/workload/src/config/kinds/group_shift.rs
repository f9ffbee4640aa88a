//! `group-shift`: every node of a group sends to nodes at random of the group at a fixed distance.

use crate::config::{Workload, refuse};
use crate::shape::Shape;
use crate::traffic::order::Order;
use crate::traffic::pattern::{Among, Destinations, Share, forward};
use netloom_engine::Stream;
use netloom_fabric::config::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A shift from group to group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupShift {
    /// How many groups further on the destinations are, negative for back.
    pub by: i32,
}

impl Workload for GroupShift {
    fn check_on(&self, shape: &Shape) -> Result<(), ConfigError> {
        let by = self.by;
        let groups = shape.groups();
        if (0..groups).any(|group| shape.nodes_of_group(group).is_empty()) {
            return refuse(
                "workload.kind",
                "expected another workload, such as \"shift\", on a machine with groups or levels without nodes, found \"group-shift\"",
            );
        }
        if groups < 2 {
            let message = format!("expected a machine of several groups, found the {}", shape.words());
            return refuse("workload.kind", format!("{message}, and \"group-shift\""));
        }
        match i64::from(by).rem_euclid(groups.into()) {
            0 => refuse("workload.by", format!("expected a shift to another of {groups} groups, found {by}")),
            _ => Ok(()),
        }
    }

    fn destinations(&self, among: &Among) -> Result<Option<Arc<dyn Destinations>>, ConfigError> {
        let shape = among.shape;
        Ok(Some(Arc::new(IntoGroup { by: forward(self.by, shape.groups()), shape: shape.clone() })))
    }
}

/// To any node of the group that many further on.
#[derive(Debug)]
struct IntoGroup {
    shape: Shape,
    by: u32,
}

impl IntoGroup {
    fn nodes(&self, node: u32) -> std::ops::Range<u32> {
        let group = (self.shape.group(node) + self.by) % self.shape.groups();
        self.shape.nodes_of_group(group)
    }
}

impl Destinations for IntoGroup {
    fn destination(&self, node: u32, _: u64, _: Option<&Order>, stream: &mut Stream) -> Option<u32> {
        let among = self.nodes(node);
        Some(among.start + stream.below(u64::from(among.end - among.start)) as u32)
    }

    fn shares(&self, node: u32, among: Share) {
        among(&mut self.nodes(node), 1.0);
    }

    fn cycle(&self, _: u32) -> Option<u64> {
        None
    }
}
