//! Configuration of a fat tree.

use super::{ConfigError, check_classes, class_names, refuse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most ports of a switch for links: a bit each in a route table.
const PORTS_MAX: u32 = 64;

/// The shape of a fat tree, from the nodes up. A k-ary n-tree has k everywhere; where there are fewer parents
/// than children, the tree is tapered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FatTreeConfig {
    /// Children of a switch of each level: nodes of a leaf, leaves of a switch above, and so on.
    pub down: Vec<u32>,
    /// Parents of a switch of each level but the top.
    pub up: Vec<u32>,
    /// Names of the links of each class, for `[link.*]` and for results: one for each level but the leaves',
    /// from the leaves up. If omitted: `up-1`, `up-2` and so on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub link_classes: Vec<String>,
}

impl FatTreeConfig {
    /// Names of the classes of links: `up-1` between leaves and the level above, and so on, if the machine
    /// has no others.
    pub fn classes(&self) -> Vec<String> {
        let usual: Vec<String> = (1..self.down.len()).map(|level| format!("up-{level}")).collect();
        class_names(&self.link_classes, &usual)
    }

    /// Refuses what cannot be built.
    ///
    /// # Errors
    /// The first invalid value, with its key (`topology.…`) and what was expected.
    pub fn check(&self) -> Result<(), ConfigError> {
        if !(2..=5).contains(&self.down.len()) {
            return refuse("topology.down", format!("expected 2 to 5 levels, found {}", self.down.len()));
        }
        if self.up.len() + 1 != self.down.len() {
            let (up, levels) = (self.up.len(), self.down.len());
            let message =
                format!("expected the parents of {} levels, all but the top, found {up}", levels - 1);
            return refuse("topology.up", message);
        }
        check_classes(&self.link_classes, self.down.len() - 1)?;
        for (key, values) in [("topology.down", &self.down), ("topology.up", &self.up)] {
            if let Some(value) = values.iter().find(|v| !(1..=PORTS_MAX).contains(*v)) {
                return refuse(key, format!("expected 1 to {PORTS_MAX}, found {value}"));
            }
        }
        for level in 1..self.down.len() {
            let ports = self.down[level] + self.up.get(level).unwrap_or(&0);
            if ports > PORTS_MAX {
                let message =
                    format!("expected at most {PORTS_MAX} ports of a switch, found {ports} on level {level}");
                return refuse("topology.down", message);
            }
        }
        let nodes: u64 = self.down.iter().map(|&d| u64::from(d)).product();
        if nodes > 1 << 20 {
            return refuse("topology.down", format!("expected at most {} nodes, found {nodes}", 1 << 20));
        }
        Ok(())
    }
}
