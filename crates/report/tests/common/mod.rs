//! A stand-in for the simulator: plausible figures at once, the same for the same study.
#![allow(dead_code)]

use netloom_study::diagnose::Problem;
use netloom_study::machine::Machine;
use netloom_study::resolve::ResolvedStudy;
use netloom_study::result::*;
use netloom_study::run::{Checkpoints, Progress, ProgressSink, Simulate};
use netloom_workload::config::{Load, Routing};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Makes results up.
#[derive(Default)]
pub struct Fake {
    /// Runs so far.
    pub runs: AtomicUsize,
    /// The run at which it sees that it should stop, if any.
    pub stop_at: Option<usize>,
    /// How long each run takes.
    pub takes: Duration,
}

/// Numbers that look random and are not.
fn noise(i: u64) -> f64 {
    let mut x = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d;
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

impl Simulate for Fake {
    fn run(
        &self,
        study: &ResolvedStudy,
        _: Option<&Checkpoints>,
        progress: &dyn ProgressSink,
        threads: usize,
    ) -> Result<RunResult, Problem> {
        let run = self.runs.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(self.takes);
        let stopped = progress.stop() || self.stop_at.is_some_and(|at| run >= at);
        progress.update(Progress { ticks: 100_000, fraction: Some(0.5), packet_hops: 1_000_000 });
        let is_torus = matches!(study.machine, Machine::Torus(_));
        let nodes = study.network.nodes();
        let dims = &if is_torus { study.torus().topology.dims.clone() } else { vec![nodes as u32] };
        let nodes = nodes as u64;
        let load = match study.study.traffic.load {
            Load::LinkUtilization(u) => u,
            _ if !is_torus => 0.9,
            _ => 0.97 * study.torus_machine().facts().peak_all_to_all_link_utilization,
        };
        let slow = if study.study.traffic.routing == Routing::Static { 1.5 } else { 1.0 };
        let windows = 60u64;
        let window_us = study.micros(study.window());
        let us = windows as f64 * window_us;
        let curve = |chart: &str, name: &str, unit: &str, level: f64, salt: u64| Series {
            chart: chart.into(),
            name: name.into(),
            unit: unit.into(),
            window_us,
            values: (0..windows)
                .map(|i| {
                    let rise = 1.0 - (-(i as f64 + 0.5) / 4.0).exp();
                    let bump = 1.0 + 0.12 * (-((i as f64 - 9.0) / 6.0).powi(2)).exp();
                    level * rise * bump * (0.985 + 0.03 * noise(i + 1000 * salt))
                })
                .collect(),
        };
        let mut per_link = Vec::new();
        for node in (0..nodes).filter(|_| study.study.measure.per_link) {
            let mut rest = node;
            let at: Vec<u32> = dims
                .iter()
                .map(|&k| {
                    let c = rest % u64::from(k);
                    rest /= u64::from(k);
                    c as u32
                })
                .collect();
            for direction in 0..2 * dims.len() as u8 {
                let k = dims[usize::from(direction / 2)];
                if k == 1 {
                    continue;
                }
                let hot =
                    at.iter().zip(dims).filter(|(c, k)| **c < **k / 2).count() as f64 / dims.len() as f64;
                let noise = noise(node * 8 + u64::from(direction) + 77);
                let utilization = (load * (0.78 + 0.2 * hot + 0.04 * noise)).min(1.0);
                per_link.push(LinkRow {
                    node: at.clone(),
                    direction,
                    utilization,
                    payload: utilization * 0.89,
                    acks: utilization * 0.03,
                    by_class: ByClass { dynamic: utilization * 0.94, escape: utilization * 0.03, high: 0.0 },
                });
            }
        }
        let stats = |scale: f64| {
            let mut bins = Vec::new();
            let mut from_ns = 600.0 * scale;
            for i in 0..90u64 {
                let to_ns = from_ns * 1.05;
                let z = (i as f64 - 35.0) / 14.0;
                bins.push(LatencyBin { from_ns, to_ns, count: (1e5 * (-z * z / 2.0).exp()) as u64 });
                from_ns = to_ns;
            }
            LatencyStats {
                count: bins.iter().map(|b| b.count).sum(),
                mean_ns: 3600.0 * scale,
                p50_ns: 3310.0 * scale,
                p90_ns: 8110.0 * scale,
                p99_ns: 15_800.0 * scale,
                max_ns: 48_210.0 * scale,
                bins,
            }
        };
        let wait = slow / (1.02 - load);
        let mean = per_link.iter().map(|l| l.utilization).sum::<f64>() / per_link.len().max(1) as f64;
        let ended = if stopped { Ended::Interrupted } else { Ended::Converged };
        let result = RunResult {
            link_errors: vec![],
            timeline: None,
            ports: vec![],
            switched: None,
            torus: Some(TorusFigures {
                occupancy: Occupancy {
                    mean_chunks: ByClass { dynamic: 9.3, escape: 0.2, high: 0.0 },
                    fraction: ByClass { dynamic: 0.145, escape: 0.006, high: 0.0 },
                },
                escape_share: 0.0312,
                unblock_probability: 0.41,
                ..TorusFigures::default()
            }),
            measured: vec![MeasuredTable {
                title: "Ping-pong".into(),
                columns: vec![Column::setting("hops", ""), Column::new("hardware", "ns")],
                rows: (1..=5).map(|hops| vec![f64::from(hops), 600.0 + 45.0 * f64::from(hops)]).collect(),
                published: vec![],
            }],
            title: study.heading(),
            seed: study.study.seed,
            warnings: vec![],
            throughput: Some(Throughput {
                unit: "MB/s".into(),
                offered: Some(200.0 * load),
                accepted: 200.0 * load.min(0.6 / (slow - 0.5)),
                accepted_half_width_95: Some(1.5),
                windows: 42,
                saturated: Some(load > 0.6 / (slow - 0.5)),
            }),
            partial: stopped.then(|| "stopped by the user".into()),
            simulated: Simulated {
                ticks: windows * study.window(),
                us,
                measured_from_us: us * 0.3,
                measured_us: us * 0.7,
                ended,
                window_us,
                run_time_us: None,
            },
            totals: Totals {
                packets_injected: nodes * 5200,
                packets_delivered: nodes * 5000,
                payload_bytes: nodes * 5000 * 240,
                packet_hops: nodes * 5000 * 24,
            },
            links: LinkSummary {
                count: per_link.len() as u64,
                mean_utilization: mean,
                min_utilization: per_link.iter().map(|l| l.utilization).fold(1.0, f64::min),
                max_utilization: per_link.iter().map(|l| l.utilization).fold(0.0, f64::max),
                torus: Some(TorusLinks {
                    payload_utilization: mean * 0.89,
                    header_utilization: mean * 0.06,
                    trailer_utilization: mean * 0.02,
                    ack_utilization: mean * 0.03,
                    by_class: ByClass { dynamic: mean * 0.94, escape: mean * 0.03, high: 0.0 },
                    by_direction: (0..2 * dims.len() as u8)
                        .map(|d| DirectionMean { direction: direction_name(d), utilization: mean })
                        .collect(),
                }),
            },
            latency: Latency { network: stats(wait * 0.1), total: stats(wait * 0.3) },
            confidence: Some(Confidence {
                quantity: "mean link utilization".into(),
                mean,
                half_width_95: 0.0021,
                windows: 42,
            }),
            jobs: vec![],
            programs: None,
            stall: None,
            series: vec![
                curve("Throughput", "throughput", "payload MB/s per node", 210.0, 1),
                curve("Mean link utilization", "all bytes", "fraction", mean, 2),
                curve("Throughput by virtual channel", "dynamic 0", "payload MB/s per node", 104.0, 3),
                curve("Throughput by virtual channel", "dynamic 1", "payload MB/s per node", 99.0, 4),
                curve("Throughput by virtual channel", "escape", "payload MB/s per node", 7.0, 5),
                curve("Buffer occupancy", "dynamic VCs", "fraction", 0.145, 6),
                curve("Buffer occupancy", "escape VCs", "fraction", 0.006, 7),
                curve("Unblocking probability", "token-acks that unblock", "fraction", 0.41, 8),
            ],
            per_link,
            host: Host {
                build_s: 0.1,
                wall_s: 12.3,
                threads: threads as u32,
                packet_hops_per_s: 18.4e6,
                simulated_us_per_s: 132.0,
                bytes_per_node: 3300.0,
                device: None,
                peak_memory_bytes: None,
                version: env!("CARGO_PKG_VERSION").into(),
            },
        };
        progress.update(Progress {
            ticks: result.simulated.ticks,
            fraction: Some(1.0),
            packet_hops: 2_000_000,
        });
        Ok(result)
    }
}
