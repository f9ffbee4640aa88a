//! `permutation`: every node sends to the one that a file names.

use crate::config::Workload;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A permutation from a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Permutation {
    /// Text file with the destination's node number for each node, one a line.
    pub file: String,
}

impl Workload for Permutation {
    fn may_be_job() -> bool {
        true
    }

    fn each_file(&mut self, change: &dyn Fn(&mut String)) {
        change(&mut self.file);
    }
}
