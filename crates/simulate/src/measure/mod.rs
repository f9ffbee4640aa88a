//! From what the fabric counted to the figures of a result: what networks of all kinds have in common.

mod errors;
mod jobs;
pub(crate) mod switched;
pub(crate) mod throughput;
pub(crate) mod torus;

use crate::driver::Driver;
use netloom_fabric::histogram::Histogram;
use netloom_fabric::router::{Network, RouterBlock, WindowRecord};
use netloom_study::resolve::ResolvedStudy;
use netloom_study::result::{LatencyBin, LatencyStats, RunResult, Series, Simulated, Totals};

/// How a network is read out.
pub(crate) trait Readout<B: RouterBlock> {
    /// Links whose use is averaged, each direction counted.
    fn links(&self, network: &mut Network<B>) -> f64;

    /// Why the network cannot be trusted any more, if it cannot.
    fn stopped(&self, _: &ResolvedStudy, _: &mut Network<B>) -> Option<String> {
        None
    }

    /// At the end, when nothing is in flight: whether an error escaped all checks.
    fn escaped(&self, _: &mut Network<B>) -> Option<String> {
        None
    }

    /// The offered load of synthetic traffic, and the accepted load of some windows.
    fn load(&self, study: &ResolvedStudy, result: &RunResult, windows: &[WindowRecord]) -> throughput::Load;

    /// The figures of a run over its measured span.
    fn result(&self, study: &ResolvedStudy, network: &mut Network<B>, span: Span, links: f64) -> RunResult;
}

/// The measured part of a run, ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub from: u64,
    pub to: u64,
}

/// The figures of every run: its end, the arrived packets, its duration.
pub(crate) fn common<B: RouterBlock<Host: Driver>>(
    study: &ResolvedStudy,
    network: &mut Network<B>,
    span: Span,
) -> RunResult {
    let (payload, delivered) = arrived_so_far(network);
    let held = network.blocks().map(|b| b.host().held()).sum();
    let held: u64 = network.gather((held, 0)).into_iter().map(|of_rank: (u64, u64)| of_rank.0).sum();
    let in_flight = network.in_flight() + held as i64;
    let totals = network.totals();
    let mut result = RunResult {
        title: study.heading(),
        seed: study.study.seed,
        simulated: Simulated {
            ticks: span.to,
            us: study.micros(span.to),
            measured_from_us: study.micros(span.from),
            measured_us: study.micros(span.to - span.from),
            ..Simulated::default()
        },
        totals: Totals {
            packets_injected: (delivered as i64 + in_flight).max(0) as u64,
            packets_delivered: delivered,
            payload_bytes: payload,
            packet_hops: network.so_far().hops,
        },
        ..RunResult::default()
    };
    result.latency.total = latency(study, &totals.latency);
    result.latency.network = latency(study, &totals.network_latency);
    result
}

/// The windows of a span.
pub(crate) fn measured<'a>(
    study: &ResolvedStudy,
    windows: &'a [WindowRecord],
    span: Span,
) -> &'a [WindowRecord] {
    let first = (span.from / study.window()) as usize;
    &windows[first.min(windows.len())..]
}

/// A curve over time.
pub(crate) fn curve(
    study: &ResolvedStudy,
    windows: &[WindowRecord],
    (chart, name, unit): (&str, &str, &str),
    f: &dyn Fn(&WindowRecord) -> f64,
) -> Series {
    Series {
        chart: chart.into(),
        name: name.into(),
        unit: unit.into(),
        window_us: study.micros(study.window()),
        values: windows.iter().map(f).collect(),
    }
}

/// Payload that has arrived, bytes; packets that have.
pub(crate) fn arrived_so_far<B: RouterBlock<Host: Driver>>(network: &mut Network<B>) -> (u64, u64) {
    let sum = |sum: (u64, u64), x: (u64, u64)| (sum.0 + x.0, sum.1 + x.1);
    let own = network.blocks().map(|b| b.host().arrived_so_far()).fold((0, 0), sum);
    network.gather(own).into_iter().fold((0, 0), sum)
}

/// Mean utilization of the links in a window.
pub(crate) fn utilization(study: &ResolvedStudy, window: &WindowRecord, links: f64) -> f64 {
    window.busy as f64 / (links * study.window() as f64).max(1.0)
}

/// A distribution of ticks as one of ns.
pub(crate) fn latency(study: &ResolvedStudy, h: &Histogram) -> LatencyStats {
    let ns = |ticks: u64| study.micros(ticks) * 1e3;
    LatencyStats {
        count: h.count(),
        mean_ns: h.mean() * 1e9 / study.machine.ticks_per_second() as f64,
        p50_ns: ns(h.quantile(0.5)),
        p90_ns: ns(h.quantile(0.9)),
        p99_ns: ns(h.quantile(0.99)),
        max_ns: ns(h.max()),
        bins: h
            .bins()
            .map(|(from, to, count)| LatencyBin { from_ns: ns(from), to_ns: ns(to), count })
            .collect(),
    }
}

/// Where a run stood at some moment of wall time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mark {
    pub wall_s: f64,
    pub hops: u64,
    pub ticks: u64,
}

/// Figures that depend on the computer. `first` is when the first window ended.
pub(crate) fn host<B: RouterBlock>(
    result: &mut RunResult,
    network: &mut Network<B>,
    study: &ResolvedStudy,
    (first, wall_s): (Mark, f64),
    threads: usize,
) {
    let nodes = study.network.nodes() as f64;
    let span = (wall_s - first.wall_s).max(1e-9);
    result.host.wall_s = wall_s;
    result.host.threads = threads as u32;
    result.host.packet_hops_per_s = (result.totals.packet_hops - first.hops) as f64 / span;
    result.host.simulated_us_per_s = study.micros(result.simulated.ticks.saturating_sub(first.ticks)) / span;
    result.host.bytes_per_node = network.bytes().0 as f64 / nodes;
    result.host.peak_memory_bytes = peak_memory_bytes();
    result.host.version = env!("CARGO_PKG_VERSION").into();
}

/// Maximum memory of this process so far, as Linux reports it.
pub(crate) fn peak_memory_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(1024 * line.split_whitespace().next()?.parse::<u64>().ok()?)
}
