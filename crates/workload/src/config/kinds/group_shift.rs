//! `group-shift`: every node of a group sends to nodes at random of the group at a fixed distance.

use crate::config::{Machines, Workload, refuse};
use netloom_fabric::config::ConfigError;
use netloom_fabric::topology::wiring::Wiring;
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
    fn machines() -> Machines {
        Machines::Switches
    }

    fn check_switched(&self, wiring: &Wiring) -> Result<(), ConfigError> {
        if groups_without_nodes(wiring) {
            return refuse(
                "workload.kind",
                "expected another workload, such as \"shift\", on a machine with groups or levels without nodes, found \"group-shift\"",
            );
        }
        let groups = i32::try_from(wiring.groups()).unwrap_or(i32::MAX);
        match self.by.rem_euclid(groups) {
            0 => refuse(
                "workload.by",
                format!("expected a shift to another of {groups} groups, found {}", self.by),
            ),
            _ => Ok(()),
        }
    }
}

/// Whether some groups have no nodes, as the upper levels of a fat tree.
fn groups_without_nodes(wiring: &Wiring) -> bool {
    (0..wiring.groups()).any(|g| wiring.routers_of(g).all(|router| wiring.nodes_at(router).is_empty()))
}
