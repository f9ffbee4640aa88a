//! Programs on TH Express NICs (`kind = "glex"`).

use super::{NodeMemory, on_switches};
use crate::diagnose::Problem;
use crate::resolve::ResolvedStudy;
use crate::result::RunResult;
use crate::run::ProgressSink;
use netloom_fabric::config::ConfigError;
use netloom_fabric::router::tiled::TiledNetwork;
use netloom_workload::glex::{self, GlexConfig};
use std::time::Instant;

/// Memory of a node.
pub(super) const MEMORY: NodeMemory = NodeMemory { nic: 30_000.0, workload: 15_000.0 };

/// Runs programs on TH Express NICs.
pub(crate) fn run(
    study: &ResolvedStudy,
    config: &GlexConfig,
    progress: &dyn ProgressSink,
    threads: usize,
) -> Result<RunResult, Problem> {
    let begin = Instant::now();
    let (network, s) = (&study.switched().config, &study.study);
    let Some(nic) = study.machine.switched().and_then(|m| m.th.as_ref()) else {
        let message = "this machine has no TH Express NICs: give it a table [th], or take th".into();
        return Err(study.impossible(ConfigError { key: "workload.kind".into(), message }));
    };
    let built = TiledNetwork::new(network, &on_switches::options(study), |numbers| {
        let program = |glex| glex::program(config, glex, network.ticks_per_second);
        netloom_messaging::glex::nics(nic, network, numbers, 1, s.seed, program)
    });
    let measured = |measurements: &_| config.measured(measurements, study.machine.ticks_per_second());
    on_switches::run(study, built, 1, measured, (progress, threads), begin)
}
