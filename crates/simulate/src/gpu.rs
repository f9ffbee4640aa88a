//! A study on a graphics processor: synthetic traffic on BlueGene/L's torus (`crates/gpu`).

use crate::course;
use crate::measure::torus::{self, Links, payload_of_full_packet};
use crate::measure::{latency, peak_memory_bytes};
use crate::steady;
use netloom_fabric::config::{ConfigError, TorusConfig};
use netloom_fabric::histogram::Histogram;
use netloom_fabric::router::{LinkCounts, WindowRecord};
use netloom_fabric::topology::torus::Torus;
use netloom_gpu::{Counts, DeviceError, Distribution, LinkCount, Load, Machine, Pattern, TICKS_MAX, Traffic};
use netloom_nic::config::FifoConfig;
use netloom_study::diagnose::Problem;
use netloom_study::machine::{Machine as StudyMachine, TorusNetwork};
use netloom_study::resolve::ResolvedStudy;
use netloom_study::result::{Confidence, Ended, RunResult, Simulated, TorusFigures, Totals};
use netloom_study::run::{Checkpoints, Progress, ProgressSink, Simulate};
use netloom_study::study::{Until, Warmup};
use netloom_study::windows;
use netloom_workload::config::{self as workload, Priority, Routing, WorkloadConfig};
use netloom_workload::shape::Shape;
use netloom_workload::traffic::{self, TorusPlan};
use std::time::Instant;

/// Simulates studies on this computer's graphics processor.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gpu;

impl Simulate for Gpu {
    fn run(
        &self,
        study: &ResolvedStudy,
        checkpoints: Option<&Checkpoints>,
        progress: &dyn ProgressSink,
        _: usize,
    ) -> Result<RunResult, Problem> {
        if checkpoints.is_some() {
            return Err(
                Problem::new("a run on a GPU has no checkpoints").help("leave out --checkpoint, or --gpu")
            );
        }
        let begin = Instant::now();
        let (config, traffic) = supported(study)?;
        let offered = match traffic.load {
            Load::PerTick(rate) => Some(rate),
            Load::Infinite => None,
        };
        let machine = Machine::new(&config, traffic, study.study.seed).map_err(|e| problem(study, e))?;
        let torus = Torus::new(&study.torus().topology);
        let ports = (0..torus.nodes()).flat_map(|node| (0..torus.ports()).map(move |port| (node, port)));
        let links = ports.filter(|&(node, port)| torus.neighbour(node, port).is_some()).count() as f64;
        let build_s = begin.elapsed().as_secs_f64();
        Run { study, torus, chunks: traffic.chunks, offered, links, machine, windows: vec![] }
            .until_the_end(progress, build_s)
    }
}

/// What the device cannot do, at its key of the study or the machine.
fn problem(study: &ResolvedStudy, e: DeviceError) -> Problem {
    match e {
        DeviceError::Unsupported(e) => study.impossible(e).help("leave out --gpu"),
        e => Problem::new(e.to_string()),
    }
}

/// The machine and the traffic of a study, if the kernel has all that it asks for.
fn supported(study: &ResolvedStudy) -> Result<(TorusConfig, Traffic), Problem> {
    let others = || {
        Problem::new("a GPU simulates BlueGene/L's torus: this machine has other routers")
            .help("leave out --gpu")
    };
    let StudyMachine::Torus(machine) = &study.machine else { return Err(others()) };
    let TorusNetwork::Torus(config) = machine.network() else { return Err(others()) };
    let unsupported = |key: &str, message: &str| {
        let e = ConfigError { key: key.into(), message: format!("on a GPU: {message}") };
        Err(study.impossible(e).help("leave out --gpu"))
    };
    let s = &study.study;
    let nic = &machine.nic;
    let (plain, own) = (FifoConfig::default(), FifoConfig { cores: None, ..nic.clone() });
    if own != plain {
        return unsupported(
            "nic",
            "six FIFOs for normal packets and two others, without end, packets dealt in turn",
        );
    }
    if s.measure.unblocking || s.measure.counters {
        return unsupported("measure.unblocking", "neither this nor performance counters");
    }
    if s.expect.keys().any(|path| path.starts_with("waits.")) {
        return unsupported("expect", "waits in VCs are not measured");
    }
    let tick_us = study.micros(1);
    if s.measure.time_us.is_some_and(|us| us / tick_us > TICKS_MAX as f64) {
        let most = TICKS_MAX as f64 * tick_us;
        return unsupported("measure.time_us", &format!("at most {most:.0} us"));
    }
    // The chunks in the buffers of a node are summed over a window in 32 bits.
    let chunks =
        f64::from(config.router.vc_B.max(config.router.escape_vc_B.unwrap_or(0)) / config.packet.chunk_B);
    let longest = f64::from(u32::MAX) / (6.0 * chunks);
    if study.window() as f64 > longest {
        return unsupported("measure.window_us", &format!("at most {:.0} us", longest * tick_us));
    }
    if s.timeline.is_some() {
        return unsupported("timeline", "no timeline");
    }
    if s.measure.until() == Until::Finished {
        return unsupported("measure.until", "\"converged\" or \"time\"");
    }
    let pattern = match &s.workload {
        WorkloadConfig::Uniform {} => Pattern::Uniform,
        WorkloadConfig::AllToAll(of) if of.dims.is_empty() && of.first_phase.is_empty() => Pattern::AllToAll,
        _ => {
            return unsupported(
                "workload.kind",
                "\"uniform\", or an \"all-to-all\" of all nodes in one phase",
            );
        }
    };
    let of = &s.traffic;
    if of.packets_per_node.is_some() || of.load == workload::Load::Burst {
        return unsupported("traffic.load", "traffic without end: \"infinite\" or a rate");
    }
    if of.priority != Priority::Normal || of.high_fraction > 0.0 {
        return unsupported("traffic.priority", "packets of normal priority");
    }
    let mut sizes = of.packet_chunks.clone();
    sizes.or_full(config.packet.chunks_max);
    let [(chunks, _)] = sizes.0[..] else {
        return unsupported("traffic.packet_chunks", "packets of one size");
    };
    let shape = Shape::of_torus(&Torus::new(&config.topology));
    let of_pattern =
        traffic::Pattern::new(&s.workload, &shape, payload_of_full_packet(study.torus()), s.seed)
            .map_err(|e| study.impossible(e))?
            .expect("traffic has a pattern");
    let plan = TorusPlan::new(of_pattern, (&s.workload, of), study.torus(), nic, s.seed);
    let load = plan.plan().rates()[0].offered.map_or(Load::Infinite, Load::PerTick);
    Ok((config, Traffic { pattern, load, chunks, is_static: of.routing == Routing::Static }))
}

/// A run in progress.
struct Run<'a> {
    study: &'a ResolvedStudy,
    torus: Torus,
    chunks: u32,
    /// Packets that a node offers per tick.
    offered: Option<f64>,
    links: f64,
    machine: Machine,
    windows: Vec<WindowRecord>,
}

impl Run<'_> {
    /// As `course.rs`, for a network that does not come to rest.
    fn until_the_end(mut self, progress: &dyn ProgressSink, build_s: f64) -> Result<RunResult, Problem> {
        let (study, measure) = (self.study, &self.study.study.measure);
        let ticks = |us: f64| windows::ticks(us, study.machine.ticks_per_second());
        let (window, until) = (study.window(), measure.until());
        let end = measure.time_us.or(measure.max_time_us).map(ticks);
        let last = end.unwrap_or(u64::MAX).min(TICKS_MAX);
        let mut from = match measure.warmup_us {
            Warmup::Micros(us) => Some(ticks(us).div_ceil(window).saturating_mul(window)),
            Warmup::Auto if until != Until::Converged => Some(0),
            Warmup::Auto => None,
        };
        let begin = Instant::now();
        let (mut first, mut counted) = (Counts::default(), Counts::default());
        let mut counted_from = 0;
        let mut confidence = None;
        let ended = loop {
            let now = self.machine.now();
            if from == Some(now) {
                (counted_from, first) = (now, counted.clone());
                self.machine.restart_extremes();
            }
            if until == Until::Converged && now > 0 && now.is_multiple_of(window) {
                match from {
                    None if steady::has_settled(study, &self.windows, self.links) => {
                        (from, counted_from, first) = (Some(now), now, counted.clone());
                        self.machine.restart_extremes();
                    }
                    Some(from) if now > from => {
                        let measured = &self.windows[(from / window) as usize..];
                        confidence = steady::confidence_of(study, measured, self.links);
                        if steady::is_known(study, confidence.as_ref(), measured) {
                            break Ended::Converged;
                        }
                    }
                    _ => {}
                }
            }
            let next = ((now / window + 1) * window).min(last);
            let stop = || progress.stop();
            let after = self.machine.run_until(next, &stop).map_err(|e| problem(study, e))?.clone();
            let now = self.machine.now();
            // One that was stopped before it began is none.
            if now == next && now.is_multiple_of(window) {
                self.windows.push(self.record(&counted, &after));
            }
            counted = after;
            let fraction = measure.time_us.map(|us| now as f64 / ticks(us) as f64);
            progress.update(Progress { ticks: now, fraction, packet_hops: hops(&counted) });
            if now < next {
                break Ended::Interrupted;
            }
            if now >= last {
                break Ended::TimeLimit;
            }
        };
        let mut result = self.result(&counted, &first, counted_from, confidence);
        course::warn(study, &mut result, from.is_none());
        self.warn(&mut result);
        result.simulated.ended = ended;
        result.partial = match ended {
            Ended::Interrupted => Some("interrupted before its end".into()),
            Ended::TimeLimit if until != Until::Time => {
                Some("reached max_time_us, or the longest time of a run on a GPU, before its own end".into())
            }
            _ if from.is_some_and(|from| from > counted_from) => {
                Some("ended before its warm-up did, so that is in the figures".into())
            }
            _ => None,
        };
        let wall_s = begin.elapsed().as_secs_f64();
        let host = &mut result.host;
        (host.wall_s, host.build_s, host.threads) = (wall_s, build_s, 1);
        host.packet_hops_per_s = hops(&counted) as f64 / wall_s;
        host.simulated_us_per_s = study.micros(self.machine.now()) / wall_s;
        host.bytes_per_node = self.machine.bytes_per_node() as f64;
        host.peak_memory_bytes = peak_memory_bytes();
        host.version = env!("CARGO_PKG_VERSION").into();
        host.device = Some(self.machine.device().into());
        Ok(result)
    }

    /// What was counted between two moments, as a window of the fabric.
    fn record(&self, before: &Counts, after: &Counts) -> WindowRecord {
        let (now, then) = (sum(after), sum(before));
        let delivered = after.delivered - before.delivered;
        let chunks = u64::from(self.chunks);
        let vcs = after.occupancy.len();
        let mut record = WindowRecord {
            delivered,
            delivered_chunks: delivered * chunks,
            busy: now.busy - then.busy,
            hops: hops(after) - hops(before),
            acks: now.acks - then.acks,
            token_acks: now.acks - then.acks,
            injected: after.injected - before.injected,
            latency: after.latency.sum - before.latency.sum,
            ..WindowRecord::default()
        };
        for (vc, chunks) in after.occupancy.iter().enumerate() {
            record.occupancy[vc] = chunks - before.occupancy.get(vc).unwrap_or(&0);
        }
        for vc in 0..vcs {
            record.chunks_by_vc[vc] = (now.packets[vc] - then.packets[vc]) * chunks;
        }
        record
    }

    /// The figures of what was counted since `first`, at the tick `from`.
    fn result(
        &self,
        counted: &Counts,
        first: &Counts,
        from: u64,
        confidence: Option<Confidence>,
    ) -> RunResult {
        let study = self.study;
        let to = self.machine.now();
        let p = &study.torus().packet;
        let payload = u64::from((self.chunks * p.chunk_B).saturating_sub(p.header_B + p.software_header_B));
        let mut result = RunResult {
            title: study.heading(),
            seed: study.study.seed,
            simulated: Simulated {
                ticks: to,
                us: study.micros(to),
                measured_from_us: study.micros(from),
                measured_us: study.micros(to - from),
                ..Simulated::default()
            },
            totals: Totals {
                packets_injected: counted.injected,
                packets_delivered: counted.delivered,
                payload_bytes: counted.delivered * payload,
                packet_hops: hops(counted),
            },
            confidence,
            ..RunResult::default()
        };
        result.latency.total = latency(study, &histogram(&counted.latency, &first.latency));
        result.latency.network = latency(study, &histogram(&counted.network_latency, &first.network_latency));
        let mut figures = TorusFigures::default();
        let between = self.links(counted, first);
        let links = Links { torus: &self.torus, between, io: vec![] };
        torus::link_figures(&mut result, &mut figures, study, &links, (to - from) as f64);
        let measured = &self.windows[((from / study.window()) as usize).min(self.windows.len())..];
        figures.occupancy = torus::occupancy(study, measured, self.links);
        result.torus = Some(figures);
        result.series = torus::series(study, &self.windows, self.links, self.torus.nodes().into());
        result.throughput = torus::load(study, self.offered, measured).figures(study, &result);
        result
    }

    /// What a reader must know of the device.
    fn warn(&self, result: &mut RunResult) {
        if self.machine.is_software() {
            result.warnings.push(format!(
                "the device is {}, a driver that runs on the processor: without --gpu it is faster",
                self.machine.device()
            ));
        }
        result.warnings.push("on a GPU waits in VCs are not measured".into());
    }

    fn links(&self, counted: &Counts, first: &Counts) -> Vec<(u32, usize, LinkCounts)> {
        let ports = counted.links.len() / self.torus.nodes() as usize;
        let with_links = (0..self.torus.nodes())
            .flat_map(|node| (0..self.torus.ports().min(ports)).map(move |port| (node, port)))
            .filter(|&(node, port)| self.torus.neighbour(node, port).is_some());
        with_links
            .map(|(node, port)| {
                let at = node as usize * ports + port;
                let (now, then) = (counted.links[at], first.links.get(at).copied().unwrap_or_default());
                let vcs = counted.occupancy.len();
                let of = |vc: usize| now.packets[vc] - then.packets[vc];
                let (dynamic, escape) = ((0..vcs - 1).map(of).sum::<u64>(), of(vcs - 1));
                let chunks = u64::from(self.chunks);
                let counts = LinkCounts {
                    packets: dynamic + escape,
                    chunks: [dynamic * chunks, escape * chunks, 0],
                    acks: now.acks - then.acks,
                    busy: now.busy - then.busy,
                };
                (node, port, counts)
            })
            .collect()
    }
}

/// The counts of all links.
fn sum(counts: &Counts) -> LinkCount {
    counts.links.iter().fold(LinkCount::default(), |mut sum, link| {
        sum.packets.iter_mut().zip(link.packets).for_each(|(sum, more)| *sum += more);
        (sum.acks, sum.busy) = (sum.acks + link.acks, sum.busy + link.busy);
        sum
    })
}

/// Packets times the links that they crossed.
fn hops(counts: &Counts) -> u64 {
    sum(counts).packets.iter().sum()
}

/// A distribution since a moment, from which on its extremes were looked for.
fn histogram(now: &Distribution, then: &Distribution) -> Histogram {
    let bins: Vec<u64> =
        now.bins.iter().enumerate().map(|(bin, &count)| count - then.bins.get(bin).unwrap_or(&0)).collect();
    Histogram::counted(&bins, now.sum - then.sum, (now.least, now.greatest))
}
