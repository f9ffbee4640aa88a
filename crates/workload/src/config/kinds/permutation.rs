//! `permutation`: every node sends to the one that a file names.

use crate::config::Workload;
use crate::traffic::pattern::{Among, Destinations, to_one};
use crate::traffic::permutation::read_permutation;
use netloom_fabric::config::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

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

    fn destinations(&self, among: &Among) -> Result<Option<Arc<dyn Destinations>>, ConfigError> {
        let to = read_permutation(&self.file, among.shape.nodes())?;
        Ok(Some(to_one(move |node| to[node as usize])))
    }
}
