//! `group-shift`: every node of a group sends to nodes at random of the group at a fixed distance.

use crate::config::{Workload, refuse};
use crate::shape::Shape;
use netloom_fabric::config::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
}
