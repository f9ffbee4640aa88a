//! A study simulated: its machine and workload built, run window by window to the end that the study asks for, and measured.

use crate::beside::Beside;
use crate::diagnose::Problem;
use crate::driver::Driver;
use crate::errors;
use crate::family::{self, RouterFamily};
use crate::machine::NetworkConfig;
use crate::measure::{self, Mark, Span};
use crate::reach;
use crate::resolve::ResolvedStudy;
use crate::result::{Confidence, Ended, MeasuredTable, ProgramFigures, RunResult};
use crate::run::{Progress as Report, ProgressSink, Simulate};
use crate::steady;
use crate::study::{Until, Warmup};
use netloom_engine::{Progress, Reached, Time};
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
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Simulates studies on the fabric.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fabric;

impl Simulate for Fabric {
    fn simulate(
        &self,
        study: &ResolvedStudy,
        progress: &dyn ProgressSink,
        threads: usize,
    ) -> Result<RunResult, Problem> {
        match &study.machine.network() {
            // A router of this family is built for three dimensions or for five.
            NetworkConfig::Torus(config) if config.topology.dims.len() <= 3 => {
                simulate(&family::Torus::<6>(config), study, progress, threads)
            }
            NetworkConfig::Torus(config) => simulate(&family::Torus::<10>(config), study, progress, threads),
            NetworkConfig::Queued(config) => simulate(&family::Queued(config), study, progress, threads),
        }
    }
}

fn simulate<F: RouterFamily>(
    family: &F,
    study: &ResolvedStudy,
    progress: &dyn ProgressSink,
    threads: usize,
) -> Result<RunResult, Problem> {
    let begin = Instant::now();
    let (network, nic, s) = (&study.network, &study.machine.nic, &study.study);
    let torus = Torus::new(&network.topology);
    let payload = measure::payload_of_full_packet(network);
    let workload = beside_the_study(study);
    let problem = |e: ConfigError| study.impossible(e);
    let at = |key: &str, message: String| study.impossible(ConfigError { key: key.into(), message });
    let mut options = BuildOptions {
        seed: s.seed,
        injection_fifos: FifoNic::<Synthetic>::injection_fifos(nic),
        window: s.measure.window_cycles,
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
        let total = plan.packets();
        let built = built.map_err(problem)?;
        return Ok(
            Run::new(study, built, total, threads, begin.elapsed().as_secs_f64()).until_the_end(progress)
        );
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
    let mut run = Run::new(study, built.map_err(problem)?, None, threads, begin.elapsed().as_secs_f64());
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
    let Some(unit) = &study.machine.message_unit else {
        let message = "this machine has no Message Units: give it a table [message_unit], or take bgq".into();
        return Err(study.impossible(ConfigError { key: "workload.kind".into(), message }));
    };
    let dims = &study.network.topology.dims;
    let options = BuildOptions {
        seed: s.seed,
        injection_fifos: NETWORK_FIFOS,
        window: s.measure.window_cycles,
        counters: s.measure.counters.then(CounterMasks::default),
        ..BuildOptions::default()
    };
    let built = family.build(&options, |nodes| {
        MessageUnits::new(unit, &study.network, nodes, s.seed, |spi| program.program(spi, dims))
    });
    let built = built.map_err(|e| study.impossible(e))?;
    let mut run = Run::new(study, built, None, threads, begin.elapsed().as_secs_f64());
    let mut result = run.until_the_end(progress);
    let mut notes: Vec<_> = run.network.blocks().flat_map(|b| b.host().notes().collect::<Vec<_>>()).collect();
    notes.sort_by_key(|(node, _)| *node);
    let Measured { title, columns, rows } =
        program.measured(&study.network.topology, &notes, study.micros(1) * 1e3);
    let published = s.published.as_ref().map(Beside::curves).unwrap_or_default();
    result.measured.push(MeasuredTable { title, columns, rows, published });
    let refused: Vec<_> = run.network.blocks().flat_map(|b| b.host().refused().collect::<Vec<_>>()).collect();
    if let Some((node, why, _)) = refused.iter().min()
        && result.partial.is_none()
    {
        let times: u64 = refused.iter().map(|r| r.2).sum();
        result.partial = Some(format!(
            "Message Units refused {times} packets or descriptors, the first that of node {node}: {why}"
        ));
    }
    let unfinished: Vec<u32> =
        run.network.blocks().flat_map(|b| b.host().unfinished().collect::<Vec<_>>()).collect();
    if let Some(first) = unfinished.iter().min()
        && result.partial.is_none()
    {
        let (n, nodes) = (unfinished.len(), study.network.nodes());
        result.partial =
            Some(format!("the programs of {n} of {nodes} nodes never end, the first that of node {first}"));
    }
    Ok(result)
}

/// The workload with its file names taken from the study's folder.
fn beside_the_study(study: &ResolvedStudy) -> WorkloadConfig {
    let mut workload = study.study.workload.clone();
    if let WorkloadConfig::Permutation(p) = &mut workload {
        p.file = study.directory.join(&p.file).to_string_lossy().into_owned();
    }
    workload
}

fn wraps(study: &ResolvedStudy) -> Vec<bool> {
    (0..study.network.topology.dims.len()).map(|d| study.network.wraps(d)).collect()
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

/// A run under way.
struct Run<'a, B: NodeBlock> {
    study: &'a ResolvedStudy,
    network: Network<B>,
    threads: usize,
    /// Packets that will be sent in all, if that is known.
    total: Option<u64>,
    links: f64,
    build_s: f64,
}

impl<'a, B: NodeBlock<Host: Driver>> Run<'a, B> {
    fn new(
        study: &'a ResolvedStudy,
        mut network: Network<B>,
        total: Option<u64>,
        threads: usize,
        build_s: f64,
    ) -> Self {
        let links = network.links().len() as f64;
        Run { study, network, threads, total, links, build_s }
    }

    /// Ticks of a time in microseconds.
    fn ticks(&self, us: f64) -> Time {
        (us * self.study.machine.ticks_per_second as f64 / 1e6).round() as Time
    }

    /// Runs until the study's end, or until it is stopped, while another thread passes on how far it is.
    fn until_the_end(&mut self, sink: &dyn ProgressSink) -> RunResult {
        let (progress, seen, done) = (Progress::default(), Seen::default(), AtomicBool::new(false));
        let goal = self.study.study.measure.time_us.map(|us| self.ticks(us));
        let watch = || {
            while !done.load(Acquire) {
                if sink.stop() {
                    progress.stop();
                }
                sink.update(seen.report(progress.time(), goal));
                std::thread::park_timeout(Duration::from_millis(100));
            }
        };
        std::thread::scope(|scope| {
            let watcher = scope.spawn(watch);
            let _end = AtEnd(|| {
                done.store(true, Release);
                watcher.thread().unpark();
            });
            self.window_by_window(&progress, &seen)
        })
    }

    /// Runs a window of the series after the other, and decides at each end whether it is the last.
    fn window_by_window(&mut self, progress: &Progress, seen: &Seen) -> RunResult {
        let measure = &self.study.study.measure;
        let window = measure.window_cycles;
        let last = measure.time_us.or(measure.max_time_us).map_or(Time::MAX / 2, |us| self.ticks(us));
        let mut from = match measure.warmup {
            Warmup::Micros(us) => Some(self.ticks(us).div_ceil(window) * window),
            Warmup::Auto if measure.until != Until::Steady => Some(0),
            Warmup::Auto => None,
        };
        let begin = Instant::now();
        let mut counted_from = 0;
        let mut confidence = None;
        let mut first = Mark::default();
        let mut failure;
        let ended = loop {
            let next = ((self.network.now() / window + 1) * window).min(last);
            self.tell(seen);
            let reached = self.network.run_until(next, self.threads, progress);
            let now = self.network.now();
            if from == Some(now) && reached == Reached::Time && now < last {
                self.network.restart_counting();
                counted_from = now;
            }
            failure = errors::stopped(self.study, &mut self.network);
            if failure.is_some() {
                break Ended::Failed;
            }
            match reached {
                Reached::Stopped => break Ended::Stopped,
                Reached::Idle if self.network.stall().is_some() => break Ended::Stalled,
                Reached::Idle => {
                    failure = errors::escaped(&mut self.network);
                    break if failure.is_some() { Ended::Failed } else { Ended::Done };
                }
                Reached::Time => {}
            }
            if now >= last {
                break Ended::Time;
            }
            if now <= window {
                first = Mark { wall_s: begin.elapsed().as_secs_f64(), hops: self.hops(), ticks: now };
            }
            if measure.until == Until::Steady {
                let series = self.utilization();
                match from {
                    None if steady::settled(&series, measure.half_width) => {
                        from = Some(now);
                        self.network.restart_counting();
                        counted_from = now;
                    }
                    Some(from) if now > from => {
                        let measured = &series[(from / window) as usize..];
                        confidence = steady::confidence(measured).map(|(mean, half)| Confidence {
                            quantity: "mean utilization of the links".into(),
                            mean,
                            half_width_95: half,
                            windows: measured.len() as u64,
                        });
                        if confidence.as_ref().is_some_and(|c| c.half_width_95 <= measure.half_width * c.mean)
                        {
                            break Ended::Steady;
                        }
                    }
                    _ => {}
                }
            }
        };
        // Of a run that ended before its warm-up, all is counted.
        let span = Span { from: counted_from, to: self.network.now() };
        let mut result = measure::result(self.study, &mut self.network, span, self.links);
        result.confidence = confidence;
        result.simulated.ended = ended;
        result.partial = match ended {
            Ended::Failed => failure,
            Ended::Stopped => Some("stopped before its end".into()),
            Ended::Stalled => Some("stalled: packets in the network wait for each other".into()),
            Ended::Time if measure.until != Until::Time => {
                Some("reached max_time_us before its own end".into())
            }
            _ if from.is_some_and(|from| from > counted_from) => {
                Some("ended before its warm-up did, so that is in the figures".into())
            }
            _ => None,
        };
        let wall = begin.elapsed().as_secs_f64();
        measure::host(&mut result, &mut self.network, self.study, (first, wall), self.threads);
        result.host.build_s = self.build_s;
        result
    }

    /// Mean utilization of the links in each window so far.
    fn utilization(&mut self) -> Vec<f64> {
        let study = self.study;
        let links = self.links;
        self.network.windows().iter().map(|w| measure::utilization(study, w, links)).collect()
    }

    /// How far the run is, for who watches it.
    fn tell(&mut self, seen: &Seen) {
        let fraction = self.fraction().unwrap_or(f64::NAN);
        seen.hops.store(self.hops(), Relaxed);
        seen.fraction.store(fraction.to_bits(), Relaxed);
    }

    fn hops(&mut self) -> u64 {
        self.network.so_far().hops
    }

    /// How much of the way is done, where that can be told.
    fn fraction(&mut self) -> Option<f64> {
        let total = self.total? as f64;
        let delivered: u64 = self.network.blocks().map(|b| b.host().arrived_so_far().1).sum();
        (self.study.study.measure.until == Until::Done).then_some(delivered as f64 / total)
    }
}

/// Does something at the end of a scope, also where it ends in a panic: the watcher would watch for ever.
struct AtEnd<F: Fn()>(F);

impl<F: Fn()> Drop for AtEnd<F> {
    fn drop(&mut self) {
        self.0();
    }
}

/// How far a run is at the last window's end.
#[derive(Default)]
struct Seen {
    hops: AtomicU64,
    /// Bits of a number; not one where it cannot be told.
    fraction: AtomicU64,
}

impl Seen {
    fn report(&self, ticks: Time, goal: Option<Time>) -> Report {
        let fraction = Some(f64::from_bits(self.fraction.load(Relaxed))).filter(|f| !f.is_nan());
        let fraction = goal.map(|goal| ticks as f64 / goal as f64).or(fraction);
        Report { ticks, fraction, packet_hops: self.hops.load(Relaxed) }
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
    if result.simulated.ended == Ended::Done && !waiting.is_empty() {
        result.simulated.ended = Ended::Stalled;
        waiting.sort_unstable_by_key(|w| w.0);
        let told = waiting.iter().take(4).map(|(rank, receives)| {
            let receive = receives.first().map_or("nothing that can come".into(), |(source, tag)| {
                let word = |x: &Option<u32>| x.map_or("any".to_owned(), |x| x.to_string());
                format!("a message from rank {} with tag {}", word(source), word(tag))
            });
            format!("rank {rank} waits for {receive}")
        });
        let told: Vec<String> = told.collect();
        result.partial = Some(format!("{} of {ranks} ranks never end: {}", waiting.len(), told.join("; ")));
    }
    result.programs = Some(figures);
}
