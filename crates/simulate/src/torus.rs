//! Studies on tori: the machine built with what drives its nodes, traffic, programs or Message Units.

use super::RunOptions;
use super::course::{Run, beside_the_study};
use super::family::{self, RouterFamily};
use super::{jobs, nics, programs};
use crate::measure::torus::{TorusReadout, payload_of_full_packet};
use netloom_fabric::config::ConfigError;
use netloom_fabric::router::BuildOptions;
use netloom_fabric::router::queued::CounterMasks;
use netloom_fabric::topology::torus::Torus;
use netloom_nic::fifo::FifoNic;
use netloom_study::diagnose::Problem;
use netloom_study::machine::TorusNetwork;
use netloom_study::resolve::ResolvedStudy;
use netloom_study::result::RunResult;
use netloom_workload::config::{Runs, WorkloadConfig};
use netloom_workload::shape::Shape;
use netloom_workload::traffic::{Pattern, Phases, TorusPlan, TorusTraffic};
use std::sync::Arc;
use std::time::Instant;

/// Simulates a study on a torus.
pub(crate) fn simulate(
    network: &TorusNetwork,
    study: &ResolvedStudy,
    how: RunOptions,
) -> Result<RunResult, Problem> {
    match network {
        // A router of this family is built for three dimensions or for five.
        TorusNetwork::Torus(config) if config.topology.dims.len() <= 3 => {
            run(&family::Torus::<6>(config), study, how)
        }
        TorusNetwork::Torus(config) => run(&family::Torus::<10>(config), study, how),
        TorusNetwork::Queued(config) => run(&family::Queued(config), study, how),
    }
}

fn run<F: RouterFamily>(family: &F, study: &ResolvedStudy, how: RunOptions) -> Result<RunResult, Problem> {
    let (network, nic, s) = (study.torus(), &study.torus_machine().nic, &study.study);
    let shape = Shape::of_torus(&Torus::new(&network.topology));
    let payload = payload_of_full_packet(network);
    let workload = beside_the_study(study);
    let problem = |e: ConfigError| study.impossible(e);
    if let WorkloadConfig::AllToAll(all) = &workload
        && !all.first_phase.is_empty()
    {
        Phases::check(&s.traffic, network, nic).map_err(problem)?;
    }
    let Some(pattern) = Pattern::new(&workload, &shape, payload, s.seed).map_err(problem)? else {
        return match workload.runs() {
            Runs::OnInterface(program) => nics::on_torus(family, study, program, how),
            Runs::Ranks(_) => programs::on_torus(family, study, None, how),
            _ => unreachable!("tori take no other programs"),
        };
    };
    let plan = |only: Option<usize>| {
        let plan = TorusPlan::new(pattern.clone(), (&workload, &s.traffic), network, nic, s.seed);
        Arc::new(only.into_iter().fold(plan, TorusPlan::alone))
    };
    jobs::each_alone(study, |study, only| match workload.runs_programs() {
        true => programs::on_torus(family, study, Some((&plan(only), only)), how),
        false => traffic(family, study, &plan(only), how.of_job(only)),
    })
}

/// Runs synthetic traffic.
fn traffic<F: RouterFamily>(
    family: &F,
    study: &ResolvedStudy,
    plan: &Arc<TorusPlan>,
    how: RunOptions,
) -> Result<RunResult, Problem> {
    let begin = Instant::now();
    let (network, nic, s) = (study.torus(), &study.torus_machine().nic, &study.study);
    let smallest = s.traffic.packet_chunks.0.iter().map(|m| m.0).min().unwrap_or(1);
    let options = how.build(BuildOptions {
        seed: s.seed,
        injection_fifos: FifoNic::<TorusTraffic>::injection_fifos(nic),
        window: study.window(),
        unblocking: s.measure.unblocking,
        counters: s.measure.counters.then(CounterMasks::default),
        smallest_chunks: if nic.window_packets.is_some() { 1 } else { smallest },
        ..BuildOptions::default()
    });
    let built = family.build(study, &options, &mut |nodes| {
        FifoNic::new(nic, network, nodes, TorusTraffic::new(plan, nodes)).into()
    });
    let readout = TorusReadout { offered: plan.plan().offered(), plan: Some(Arc::clone(plan)) };
    let built = built.map_err(|e| study.impossible(e))?;
    let build_s = begin.elapsed().as_secs_f64();
    Run::new(study, readout, built, plan.plan().packets(), how, build_s).until_the_end()
}
