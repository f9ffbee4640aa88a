//! Studies on tori: the machine built with what drives its nodes, traffic, programs or Message Units.

use super::course::{Run, beside_the_study};
use super::family::{self, RouterFamily};
use super::jobs;
use super::processes::Processes;
use super::programs;
use crate::diagnose::Problem;
use crate::machine::TorusNetwork;
use crate::measure::torus::{TorusReadout, payload_of_full_packet};
use crate::resolve::ResolvedStudy;
use crate::result::{Ended, MeasuredTable, RunResult};
use crate::run::ProgressSink;
use netloom_fabric::config::ConfigError;
use netloom_fabric::router::queued::CounterMasks;
use netloom_fabric::router::{BuildOptions, RouterBlock};
use netloom_fabric::topology::torus::Torus;
use netloom_nic::fifo::FifoNic;
use netloom_nic::message_unit::{self, NETWORK_FIFOS};
use netloom_workload::config::WorkloadConfig;
use netloom_workload::shape::Shape;
use netloom_workload::spi::{Measured, SpiConfig};
use netloom_workload::traffic::{Pattern, TorusPlan, TorusTraffic};
use std::sync::Arc;
use std::time::Instant;

/// Simulates a study on a torus.
pub(super) fn simulate(
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
    let (network, nic, s) = (study.torus(), &study.torus_machine().nic, &study.study);
    let shape = Shape::of_torus(&Torus::new(&network.topology));
    let payload = payload_of_full_packet(network);
    let workload = beside_the_study(study);
    let problem = |e: ConfigError| study.impossible(e);
    let Some(pattern) = Pattern::new(&workload, &shape, payload, s.seed).map_err(problem)? else {
        return match &workload {
            WorkloadConfig::Spi(program) => on_message_units(family, study, program, progress, threads),
            _ => programs::on_torus(family, study, progress, threads),
        };
    };
    let plan = |only: Option<usize>| {
        let plan = TorusPlan::new(pattern.clone(), (&workload, &s.traffic), network, nic, s.seed);
        Arc::new(only.into_iter().fold(plan, TorusPlan::alone))
    };
    jobs::each_alone(study, |study, only| match workload.runs_programs() {
        true => programs::jobs_on_torus(family, study, (&plan(only), only), progress, threads),
        false => traffic(family, study, &plan(only), progress, threads),
    })
}

/// Runs synthetic traffic.
fn traffic<F: RouterFamily>(
    family: &F,
    study: &ResolvedStudy,
    plan: &Arc<TorusPlan>,
    progress: &dyn ProgressSink,
    threads: usize,
) -> Result<RunResult, Problem> {
    let begin = Instant::now();
    let (network, nic, s) = (study.torus(), &study.torus_machine().nic, &study.study);
    let smallest = s.traffic.packet_chunks.0.iter().map(|m| m.0).min().unwrap_or(1);
    let options = BuildOptions {
        seed: s.seed,
        injection_fifos: FifoNic::<TorusTraffic>::injection_fifos(nic),
        window: study.window(),
        unblocking: s.measure.unblocking,
        counters: s.measure.counters.then(CounterMasks::default),
        smallest_chunks: if nic.window_packets.is_some() { 1 } else { smallest },
        ..BuildOptions::default()
    };
    let built =
        family.build(&options, |nodes| FifoNic::new(nic, network, nodes, TorusTraffic::new(plan, nodes)));
    let readout = TorusReadout { offered: plan.plan().offered(), plan: Some(Arc::clone(plan)) };
    let built = built.map_err(|e| study.impossible(e))?;
    let build_s = begin.elapsed().as_secs_f64();
    Ok(Run::new(study, readout, built, plan.plan().packets(), threads, build_s).until_the_end(progress))
}

/// Runs programs on Message Units.
fn on_message_units<F: RouterFamily>(
    family: &F,
    study: &ResolvedStudy,
    program: &SpiConfig,
    progress: &dyn ProgressSink,
    threads: usize,
) -> Result<RunResult, Problem> {
    let begin = Instant::now();
    let s = &study.study;
    let (Some(unit), Some(family)) = (&study.torus_machine().message_unit, family.with_message_units())
    else {
        let message = "this machine has no Message Units: give it a table [message_unit], or take bgq".into();
        return Err(study.impossible(ConfigError { key: "workload.kind".into(), message }));
    };
    let dims = &study.torus().topology.dims;
    let options = BuildOptions {
        seed: s.seed,
        injection_fifos: NETWORK_FIFOS,
        window: study.window(),
        counters: s.measure.counters.then(CounterMasks::default),
        ..BuildOptions::default()
    };
    let built = family.build(&options, |nodes| {
        netloom_messaging::spi::units(unit, study.torus(), nodes, 1, s.seed, |spi| program.program(spi, dims))
    });
    let built = built.map_err(|e| study.impossible(e))?;
    let mut run =
        Run::new(study, TorusReadout::default(), built, None, threads, begin.elapsed().as_secs_f64());
    let mut result = run.until_the_end(progress);
    let of_run = Processes::of(&mut run.network);
    let Measured { title, columns, rows } =
        program.measured(&study.torus().topology, &of_run.measurements, study.micros(1) * 1e3);
    result.measured.push(MeasuredTable { title, columns, rows, published: vec![] });
    let refused: Vec<_> =
        run.network.blocks().flat_map(|b| message_unit::refused(b.host()).collect::<Vec<_>>()).collect();
    if let Some((node, why, _)) = refused.iter().min()
        && result.partial.is_none()
    {
        let times: u64 = refused.iter().map(|r| r.2).sum();
        let why = format!(
            "Message Units refused {times} packets or descriptors, the first that of node {node}: {why}"
        );
        result.ended_early(Ended::Failed, why);
    }
    of_run.judge(&mut result, study.torus().nodes() as u32);
    Ok(result)
}
