//! `trace`: what a recorded program did.

use crate::config::{RankPrograms, Ranks, Runs, Workload, of_workload};
use crate::goal;
use crate::goal::replay::{Replay, TraceCollectives};
use netloom_fabric::config::ConfigError;
use netloom_messaging::transit::Hops;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A recorded program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// The trace: a file, or the name of a built-in trace, `lulesh-64`.
    pub file: String,
    /// How its collective operations are done.
    #[serde(default)]
    pub collectives: TraceCollectives,
}

impl Workload for Trace {
    fn may_be_job() -> bool {
        true
    }

    fn each_file(&mut self, change: &dyn Fn(&mut String)) {
        change(&mut self.file);
    }

    fn runs(&self) -> Runs<'_> {
        Runs::Ranks(self)
    }
}

impl Ranks for Trace {
    fn rank_programs(&self, _: u32) -> Result<RankPrograms, ConfigError> {
        let loaded = goal::load(&self.file)
            .map_err(|e| ConfigError { key: "workload.file".into(), message: e.to_string() })?;
        let messages = loaded.messages().collect();
        self.collectives.check(&loaded).map_err(of_workload)?;
        let (trace, collectives) = (Arc::new(loaded), self.collectives.clone());
        let ranks = trace.ranks().len() as u32;
        let programs = move |_: &Hops| {
            let programs = Replay::programs(&trace, &collectives).into_iter();
            programs.map(|p| Box::new(p) as Box<_>).collect()
        };
        Ok(RankPrograms { ranks, messages, programs: Box::new(programs), measured: None })
    }
}
