//! Programs on Aries NICs (`kind = "gni"`).

use super::{NodeMemory, on_switches};
use crate::diagnose::Problem;
use crate::resolve::ResolvedStudy;
use crate::result::RunResult;
use crate::run::ProgressSink;
use netloom_fabric::config::ConfigError;
use netloom_fabric::router::tiled::TiledNetwork;
use netloom_nic::aries::address::Job;
use netloom_workload::gni::{self, GniConfig};
use std::sync::Arc;
use std::time::Instant;

/// Memory of a node.
pub(super) const MEMORY: NodeMemory = NodeMemory { nic: 20_000.0, workload: 14_000.0 };

/// Runs programs on Aries NICs.
pub(crate) fn run(
    study: &ResolvedStudy,
    config: &GniConfig,
    progress: &dyn ProgressSink,
    threads: usize,
) -> Result<RunResult, Problem> {
    let begin = Instant::now();
    let (outline, s) = (study.switched(), &study.study);
    let Some(nic) = study.machine.switched().and_then(|m| m.aries.as_ref()) else {
        let message = "this machine has no Aries NICs: give it a table [aries], or take xc".into();
        return Err(study.impossible(ConfigError { key: "workload.kind".into(), message }));
    };
    let (network, nodes) = (&outline.config, outline.wiring.nodes());
    let jobs: Arc<[Job]> = [gni::job(nodes)].into();
    let built = TiledNetwork::new(network, &on_switches::options(study), |numbers| {
        let program = |gni| gni::program(config, gni, network.ticks_per_second);
        netloom_messaging::gni::nics(nic, network, &jobs, numbers, config.processes(), s.seed, program)
    });
    let measured = |measurements: &_| config.measured(measurements, study.machine.ticks_per_second());
    on_switches::run(study, built, config.processes(), measured, (progress, threads), begin)
}
