//! Studies on tori: the machine built with what drives its nodes, traffic, programs or Message Units.

use super::course::{Run, beside_the_study};
use super::family::{self, RouterFamily};
use super::{nics, programs};
use crate::diagnose::Problem;
use crate::machine::TorusNetwork;
use crate::measure::torus::{TorusReadout, payload_of_full_packet};
use crate::resolve::ResolvedStudy;
use crate::result::RunResult;
use crate::run::ProgressSink;
use netloom_fabric::config::ConfigError;
use netloom_fabric::router::BuildOptions;
use netloom_fabric::router::queued::CounterMasks;
use netloom_fabric::topology::torus::Torus;
use netloom_nic::fifo::FifoNic;
use netloom_workload::config::Runs;
use netloom_workload::pattern::Pattern;
use netloom_workload::synthetic::{Plan, Synthetic};
use std::sync::Arc;
use std::time::Instant;

/// Simulates a study on a torus.
pub(crate) fn simulate(
    network: &TorusNetwork,
    study: &ResolvedStudy,
    progress: &dyn ProgressSink,
    threads: usize,
) -> Result<RunResult, Problem> {
    match network {
        // A router of this family is built for three dimensions or for five.
        TorusNetwork::Torus(config) if config.topology.dims.len() <= 3 => {
            run(&family::Torus::<6>(config), study, progress, threads)
        }
        TorusNetwork::Torus(config) => run(&family::Torus::<10>(config), study, progress, threads),
        TorusNetwork::Queued(config) => run(&family::Queued(config), study, progress, threads),
    }
}

fn run<F: RouterFamily>(
    family: &F,
    study: &ResolvedStudy,
    progress: &dyn ProgressSink,
    threads: usize,
) -> Result<RunResult, Problem> {
    let begin = Instant::now();
    let (network, nic, s) = (study.torus(), &study.torus_machine().nic, &study.study);
    let torus = Torus::new(&network.topology);
    let payload = payload_of_full_packet(network);
    let workload = beside_the_study(study);
    let problem = |e: ConfigError| study.impossible(e);
    let mut options = BuildOptions {
        seed: s.seed,
        injection_fifos: FifoNic::<Synthetic>::injection_fifos(nic),
        window: study.window(),
        unblocking: s.measure.unblocking,
        counters: s.measure.counters.then(CounterMasks::default),
        ..BuildOptions::default()
    };
    if let Some(pattern) = Pattern::new(&workload, &torus, payload).map_err(problem)? {
        let smallest = s.traffic.packet_chunks.0.iter().map(|m| m.0).min().unwrap_or(1);
        options.smallest_chunks = if nic.window_packets.is_some() { 1 } else { smallest };
        let plan = Arc::new(Plan::new(pattern, &s.traffic, network, nic, s.seed));
        let built =
            family.build(&options, |nodes| FifoNic::new(nic, network, nodes, Synthetic::new(&plan, nodes)));
        let (total, readout) = (plan.packets(), TorusReadout { offered: plan.offered() });
        let built = built.map_err(problem)?;
        return Ok(Run::new(study, readout, built, total, threads, begin.elapsed().as_secs_f64())
            .until_the_end(progress));
    }
    match workload.runs() {
        Runs::MessageUnits(program) => nics::message_unit::run(family, study, program, progress, threads),
        Runs::Ranks(ranks) => programs::on_torus(family, study, ranks, progress, threads),
        _ => unreachable!("tori take no other programs"),
    }
}
