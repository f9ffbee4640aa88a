//! Configuration of a machine's IO nodes. Their positions are in [`crate::topology::io`].

use super::{ConfigError, refuse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most IO links of an IO node: a header can name three.
pub const EXITS_MAX: usize = 3;

/// The IO nodes of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IoNodes {
    /// Lengths of the boxes of compute nodes that share an IO node.
    pub pset: Vec<u32>,
    /// The exit nodes of a box, one to three, by their places in it: those whose IO links lead to its IO
    /// node.
    pub exits: Vec<Vec<u32>>,
}

impl IoNodes {
    /// Refuses what cannot be built.
    ///
    /// # Errors
    /// The first invalid value, with its key (`topology.io.…`) and what was expected.
    pub fn check(&self, dims: &[u32]) -> Result<(), ConfigError> {
        let (pset, exits) = (&self.pset, &self.exits);
        let divides = |(length, k): (&u32, &u32)| *length > 0 && k.is_multiple_of(*length);
        if pset.len() != dims.len() || !pset.iter().zip(dims).all(divides) {
            let message = format!("expected lengths that divide those of {dims:?}, found {pset:?}");
            return refuse("topology.io.pset", message);
        }
        if !(1..=EXITS_MAX).contains(&exits.len()) {
            return refuse(
                "topology.io.exits",
                format!("expected one to three nodes, found {}", exits.len()),
            );
        }
        for (i, exit) in exits.iter().enumerate() {
            if exit.len() != pset.len() || exit.iter().zip(pset).any(|(x, length)| x >= length) {
                let message = format!("expected places inside the pset's {pset:?}, found {exit:?}");
                return refuse("topology.io.exits", message);
            }
            if exits[..i].contains(exit) {
                return refuse(
                    "topology.io.exits",
                    format!("expected different nodes, found {exit:?} twice"),
                );
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_values_are_reported() {
        let check = |pset: &[u32], exits: &[&[u32]]| {
            let exits = exits.iter().map(|e| e.to_vec()).collect();
            let error = IoNodes { pset: pset.to_vec(), exits }.check(&[4, 4]).expect_err("impossible");
            (error.key, error.message)
        };
        assert_eq!(check(&[3, 4], &[&[0, 0]]).0, "topology.io.pset");
        assert_eq!(check(&[2], &[&[0, 0]]).0, "topology.io.pset");
        assert!(check(&[2, 4], &[]).1.contains("one to three"));
        assert!(check(&[2, 4], &[&[2, 0]]).1.contains("inside the pset's [2, 4]"));
        assert!(check(&[2, 4], &[&[1, 0], &[1, 0]]).1.contains("twice"));
    }
}
