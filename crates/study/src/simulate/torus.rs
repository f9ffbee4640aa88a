//! Studies on tori: the machine built with what drives its nodes, traffic, programs or Message Units.

use super::course::{Run, beside_the_study};
use super::family::{self, RouterFamily};
use super::reach;
use crate::beside::Beside;
use crate::diagnose::Problem;
use crate::machine::TorusNetwork;
use crate::measure::torus::{TorusReadout, payload_of_full_packet};
use crate::resolve::ResolvedStudy;
use crate::result::{Ended, MeasuredTable, ProgramFigures, RunResult};
use crate::run::ProgressSink;
use netloom_fabric::config::ConfigError;
use netloom_fabric::packet::Header;
use netloom_fabric::router::queued::CounterMasks;
use netloom_fabric::router::{BuildOptions, Network, NodeBlock, RouterBlock};
use netloom_fabric::topology::torus::Torus;
use netloom_nic::fifo::FifoNic;
use netloom_nic::message_unit::{MessageUnits, NETWORK_FIFOS};
use netloom_workload::config::{Priority, Routing, WorkloadConfig};
use netloom_workload::goal::{self, replay::Replay};
use netloom_workload::mapping::{HopStatistics, Mapping, MappingConfig, MappingError, Shape};
use netloom_workload::messages::{Layout, Programs};
use netloom_workload::pattern::Pattern;
use netloom_workload::program::Program;
use netloom_workload::spi::{Measured, SpiConfig};
use netloom_workload::synthetic::{Plan, Synthetic};
use std::sync::{Arc, Mutex};
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
    let begin = Instant::now();
    let (network, nic, s) = (study.torus(), &study.torus_machine().nic, &study.study);
    let torus = Torus::new(&network.topology);
    let payload = payload_of_full_packet(network);
    let workload = beside_the_study(study);
    let problem = |e: ConfigError| study.impossible(e);
    let at = |key: &str, message: String| study.impossible(ConfigError { key: key.into(), message });
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
    if let WorkloadConfig::Spi(program) = &workload {
        return on_message_units(family, study, program, progress, threads);
    }
    let (programs, messages) = programs(&workload, &study.directory).map_err(problem)?;
    let ranks = programs.len() as u32;
    let shape = Shape::new(&network.topology.dims, &wraps(study)).map_err(|e| Problem::new(e.to_string()))?;
    let mut mapping = s.mapping.clone();
    if let MappingConfig::File(file) = &mut mapping {
        *file = study.directory.join(&*file).to_string_lossy().into_owned();
    }
    let mapping = Mapping::new(&mapping, &shape, ranks, s.seed).map_err(|e| match e {
        MappingError::TooManyRanks { .. } => at("workload", e.to_string()),
        _ => at("mapping", e.to_string()),
    })?;
    let hops = mapping.hop_statistics(&shape, messages.iter().copied());
    options.smallest_chunks = 1;
    let high = s.traffic.priority == Priority::High;
    let normal = nic.injection_normal as usize;
    let lanes: Vec<usize> = match (nic.injection_fifo_B.is_some(), high) {
        (true, _) => vec![usize::from(high)],
        (false, false) => (0..normal).collect(),
        (false, true) => (normal..normal + nic.injection_high as usize).collect(),
    };
    if lanes.is_empty() {
        return Err(at("traffic.priority", "high priority needs nic.injection_high of at least 1".into()));
    }
    let flags = if high { Header::HIGH } else { 0 }
        | if s.traffic.routing == Routing::Static { Header::STATIC } else { 0 };
    reach::check(study, mapping.nodes(), &messages).map_err(problem)?;
    let layout = Arc::new(Layout::new(network, mapping.nodes(), &lanes, flags));
    let programs: Vec<Mutex<Option<Box<dyn Program>>>> =
        programs.into_iter().map(|p| Mutex::new(Some(p))).collect();
    let built = family.build(&options, |nodes| {
        let take = |rank: u32| {
            let program = programs[rank as usize].lock().expect("no panic before").take();
            program.expect("each rank runs on one node")
        };
        FifoNic::new(nic, network, nodes, Programs::new(&layout, nodes, take))
    });
    let mut run = Run::new(
        study,
        TorusReadout::default(),
        built.map_err(problem)?,
        None,
        threads,
        begin.elapsed().as_secs_f64(),
    );
    let mut result = run.until_the_end(progress);
    finish_programs(&mut result, &mut run.network, study, ranks, &hops);
    Ok(result)
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
    let Some(unit) = &study.torus_machine().message_unit else {
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
        MessageUnits::new(unit, study.torus(), nodes, s.seed, |spi| program.program(spi, dims))
    });
    let built = built.map_err(|e| study.impossible(e))?;
    let mut run =
        Run::new(study, TorusReadout::default(), built, None, threads, begin.elapsed().as_secs_f64());
    let mut result = run.until_the_end(progress);
    let mut notes: Vec<_> = run.network.blocks().flat_map(|b| b.host().notes().collect::<Vec<_>>()).collect();
    notes.sort_by_key(|(node, _)| *node);
    let Measured { title, columns, rows } =
        program.measured(&study.torus().topology, &notes, study.micros(1) * 1e3);
    let published = s.published.as_ref().map(Beside::curves).unwrap_or_default();
    result.measured.push(MeasuredTable { title, columns, rows, published });
    let refused: Vec<_> = run.network.blocks().flat_map(|b| b.host().refused().collect::<Vec<_>>()).collect();
    if let Some((node, why, _)) = refused.iter().min()
        && result.partial.is_none()
    {
        let times: u64 = refused.iter().map(|r| r.2).sum();
        let why = format!(
            "Message Units refused {times} packets or descriptors, the first that of node {node}: {why}"
        );
        result.ended_early(Ended::Failed, why);
    }
    let unfinished: Vec<u32> =
        run.network.blocks().flat_map(|b| b.host().unfinished().collect::<Vec<_>>()).collect();
    if let Some(first) = unfinished.iter().min()
        && result.simulated.ended == Ended::Finished
    {
        let (n, nodes) = (unfinished.len(), study.torus().nodes());
        let why = format!("the programs of {n} of {nodes} nodes never end, the first that of node {first}");
        result.ended_early(Ended::Stalled, why);
    }
    Ok(result)
}

fn wraps(study: &ResolvedStudy) -> Vec<bool> {
    (0..study.torus().topology.dims.len()).map(|d| study.torus().wraps(d)).collect()
}

type Messages = Vec<(u32, u32, u64)>;

/// The programs of a skeleton or a trace, and the messages that are known beforehand, for the statistics of the mapping.
fn programs(
    workload: &WorkloadConfig,
    directory: &std::path::Path,
) -> Result<(Vec<Box<dyn Program>>, Messages), ConfigError> {
    match workload {
        WorkloadConfig::Trace(trace) => {
            let loaded = goal::load(directory.join(&trace.file))
                .map_err(|e| ConfigError { key: "workload.file".into(), message: e.to_string() })?;
            let messages = loaded.messages().collect();
            let programs = Replay::programs(&Arc::new(loaded)).into_iter().map(|p| Box::new(p) as Box<_>);
            Ok((programs.collect(), messages))
        }
        WorkloadConfig::Skeleton(skeleton) => {
            let programs = skeleton.programs()?.into_iter().map(|p| Box::new(p) as Box<_>);
            Ok((programs.collect(), vec![]))
        }
        _ => unreachable!("patterns were dealt with"),
    }
}

/// What programs have to say for themselves.
fn finish_programs<B: NodeBlock<Host = FifoNic<Programs>>>(
    result: &mut RunResult,
    network: &mut Network<B>,
    study: &ResolvedStudy,
    ranks: u32,
    hops: &HopStatistics,
) {
    let mut figures = ProgramFigures { ranks, ..ProgramFigures::default() };
    let mut waiting = vec![];
    let mut ends = vec![];
    for block in network.blocks() {
        let programs = block.host().software();
        figures.messages += programs.messages;
        figures.message_bytes += programs.payload_bytes;
        ends.extend(programs.finished().filter_map(|f| f.1).map(|t| study.micros(t)));
        waiting.extend(programs.waiting());
    }
    figures.last_end_us = ends.iter().copied().fold(0.0, f64::max);
    figures.mean_end_us = ends.iter().sum::<f64>() / (ends.len() as f64).max(1.0);
    figures.mean_hops_by_bytes = hops.mean_of_bytes();
    figures.mean_hops_by_messages = hops.mean_of_messages();
    if result.simulated.ended == Ended::Finished && !waiting.is_empty() {
        waiting.sort_unstable_by_key(|w| w.0);
        let told = waiting.iter().take(4).map(|(rank, receives)| {
            let receive = receives.first().map_or("nothing that can come".into(), |(source, tag)| {
                let word = |x: &Option<u32>| x.map_or("any".to_owned(), |x| x.to_string());
                format!("a message from rank {} with tag {}", word(source), word(tag))
            });
            format!("rank {rank} waits for {receive}")
        });
        let told: Vec<String> = told.collect();
        let why = format!("{} of {ranks} ranks never end: {}", waiting.len(), told.join("; "));
        result.ended_early(Ended::Stalled, why);
    }
    result.simulated.run_time_us = result.simulated.run_time_us.map(|_| figures.last_end_us);
    result.programs = Some(figures);
}
