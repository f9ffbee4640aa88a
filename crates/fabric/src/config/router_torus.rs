//! Configuration of a torus whose routers are shared by several nodes. Tori with one router per node (the
//! BlueGene families) are in `torus.rs` and `queued.rs`.

use super::{ConfigError, LENGTH_MAX, LETTERS, at_most, check_classes, class_names, refuse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most ports of a router for links: a bit each in a route table.
const PORTS_MAX: u32 = 64;

/// The shape of a torus of routers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RouterTorusConfig {
    /// Routers along each dimension, x first.
    pub dims: Vec<u32>,
    /// Nodes at each router.
    pub nodes_per_router: u32,
    /// Links between two neighbours, a value for each dimension. Empty: one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links_per_neighbour: Vec<u32>,
    /// Names of the links of each class, for `[link.*]` and for results: one for each dimension. If omitted:
    /// `x`, `y` and so on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub link_classes: Vec<String>,
}

impl RouterTorusConfig {
    /// Most dimensions: each is a class of links.
    pub const DIMENSIONS_MAX: usize = 4;

    /// Links between two neighbours in dimension `d`.
    pub fn links_in(&self, d: usize) -> u32 {
        self.links_per_neighbour.get(d).copied().unwrap_or(1)
    }

    /// Routers.
    pub fn routers(&self) -> u32 {
        self.dims.iter().product()
    }

    /// Nodes.
    pub fn nodes(&self) -> u32 {
        self.routers() * self.nodes_per_router
    }

    /// Names of the classes of links, one for each dimension.
    pub fn classes(&self) -> Vec<String> {
        let usual: Vec<&str> = (0..self.dims.len()).map(|d| &LETTERS[d..=d]).collect();
        class_names(&self.link_classes, &usual)
    }

    /// Refuses what cannot be built.
    ///
    /// # Errors
    /// The first invalid value, with its key (`topology.…`) and what was expected.
    pub fn check(&self) -> Result<(), ConfigError> {
        let (most, found) = (Self::DIMENSIONS_MAX, self.dims.len());
        if !(1..=most).contains(&found) {
            return refuse("topology.dims", format!("expected 1 to {most} dimensions, found {found}"));
        }
        if let Some(length) = self.dims.iter().find(|length| !(2..=LENGTH_MAX).contains(*length)) {
            return refuse("topology.dims", format!("expected 2 to {LENGTH_MAX} routers, found {length}"));
        }
        check_classes(&self.link_classes, found)?;
        let given = self.links_per_neighbour.len();
        if given != 0 && given != found {
            let message = format!("expected a value for each of the {found} dimensions, found {given}");
            return refuse("topology.links_per_neighbour", message);
        }
        if let Some(links) = self.links_per_neighbour.iter().find(|links| !(1..=PORTS_MAX).contains(*links)) {
            return refuse(
                "topology.links_per_neighbour",
                format!("expected 1 to {PORTS_MAX}, found {links}"),
            );
        }
        let ports: u32 = (0..found).map(|d| 2 * self.links_in(d)).sum();
        if ports > PORTS_MAX {
            let message = format!("expected at most {PORTS_MAX} ports of a router, these are {ports}");
            return refuse("topology.links_per_neighbour", message);
        }
        if self.nodes_per_router == 0 {
            return refuse("topology.nodes_per_router", "expected at least 1, found 0");
        }
        at_most(&[("topology.nodes_per_router", self.nodes_per_router, PORTS_MAX)])?;
        let nodes: u64 = self.dims.iter().chain([&self.nodes_per_router]).map(|&k| u64::from(k)).product();
        if nodes > 1 << 20 {
            return refuse("topology.dims", format!("expected at most {} nodes, these are {nodes}", 1 << 20));
        }
        Ok(())
    }
}
