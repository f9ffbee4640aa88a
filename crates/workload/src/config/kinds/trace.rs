//! `trace`: what a recorded program did.

use crate::config::{Machines, RankPrograms, Ranks, Runs, Workload};
use crate::goal::{self, replay::Replay};
use netloom_fabric::config::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A recorded program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// The trace.
    pub file: String,
}

impl Workload for Trace {
    fn machines() -> Machines {
        Machines::All
    }

    fn file(&mut self) -> Option<&mut String> {
        Some(&mut self.file)
    }

    fn runs(&self) -> Runs<'_> {
        Runs::Ranks(self)
    }
}

impl Ranks for Trace {
    fn rank_programs(&self) -> Result<RankPrograms, ConfigError> {
        let loaded = goal::load(&self.file)
            .map_err(|e| ConfigError { key: "workload.file".into(), message: e.to_string() })?;
        let messages = loaded.messages().collect();
        let programs = Replay::programs(&Arc::new(loaded)).into_iter().map(|p| Box::new(p) as Box<_>);
        Ok(RankPrograms { programs: programs.collect(), messages })
    }
}
