//! How fast the fabric is under the real interfaces and traffic, without the study above them: `cargo run
//! --release -p netloom-workload --example stack -- MACHINE SHAPE LOAD TICKS THREADS`. MACHINE is bgl or bgq; a load
//! of 0 is an all-to-all as fast as it goes.

use netloom_engine::{Progress, Time};
use netloom_fabric::config::{Outline, QueuedConfig, TorusConfig};
use netloom_fabric::router::BuildOptions;
use netloom_fabric::router::queued::QueuedNetwork;
use netloom_fabric::router::torus::TorusNetwork;
use netloom_fabric::topology::torus::Torus;
use netloom_nic::config::FifoConfig;
use netloom_nic::fifo::FifoNic;
use netloom_workload::config::{AllToAll, Load, TrafficConfig, WorkloadConfig};
use netloom_workload::shape::Shape;
use netloom_workload::traffic::{Pattern, TorusPlan, TorusTraffic};
use std::sync::Arc;
use std::time::Instant;

#[global_allocator]
static MEMORY: netloom_engine::HugePages = netloom_engine::HugePages;

/// Runs to the middle, and then, timed, to the end: sums until both, and the seconds of the second half.
macro_rules! halves {
    ($network:expr, $ticks:expr, $threads:expr) => {{
        let (mut network, progress) = ($network.expect("a machine"), Progress::default());
        network.run_until(Time::at($ticks / 2), $threads, &progress);
        let warm = network.so_far();
        let start = Instant::now();
        network.run_until(Time::at($ticks), $threads, &progress);
        (warm, network.so_far(), start.elapsed().as_secs_f64())
    }};
}

/// The traffic of some nodes, and their interfaces.
struct Traffic {
    nic: FifoConfig,
    outline: Outline,
    plan: Arc<TorusPlan>,
}

impl Traffic {
    fn new(outline: Outline, torus: &Torus, load: f64) -> Self {
        let (workload, load) = if load > 0.0 {
            (WorkloadConfig::Uniform {}, Load::LinkUtilization(load))
        } else {
            (WorkloadConfig::AllToAll(AllToAll::default()), Load::Infinite)
        };
        let nic = FifoConfig::default();
        let pattern =
            Pattern::new(&workload, &Shape::of_torus(torus), 240, 1).expect("readable").expect("a pattern");
        let traffic = TrafficConfig { load, ..TrafficConfig::default() };
        let plan = Arc::new(TorusPlan::new(pattern, (&workload, &traffic), &outline, &nic, 1));
        Traffic { nic, outline, plan }
    }

    fn options(&self, blocks: usize) -> BuildOptions {
        let injection_fifos = FifoNic::<TorusTraffic>::injection_fifos(&self.nic);
        BuildOptions { injection_fifos, blocks, ..BuildOptions::default() }
    }

    fn host(&self, nodes: &[u32]) -> FifoNic<TorusTraffic> {
        FifoNic::new(&self.nic, &self.outline, nodes, TorusTraffic::new(&self.plan, nodes))
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let get = |i: usize, or: &str| args.get(i).cloned().unwrap_or(or.into());
    let is_bgq = get(0, "bgl") == "bgq";
    let shape = get(1, if is_bgq { "4x4x4x4x2" } else { "8x8x8" });
    let dims: Vec<u32> = shape.split('x').map(|k| k.parse().expect("a number")).collect();
    let load: f64 = get(2, "0.5").parse().expect("a share of the links");
    let ticks: u64 = get(3, "100000").parse().expect("ticks");
    let threads: usize = get(4, "1").parse().expect("threads");
    let ((warm, now, wall), outline) = if is_bgq {
        let config = QueuedConfig::bluegene_q(&dims);
        let traffic = Traffic::new(config.outline(), &Torus::new(&config.topology), load);
        let network = QueuedNetwork::<_>::new(&config, &traffic.options(threads), |n| traffic.host(n));
        (halves!(network, ticks, threads), config.outline())
    } else {
        let config = TorusConfig::bluegene_l(&dims);
        let traffic = Traffic::new(config.outline(), &Torus::new(&config.topology), load);
        let network = TorusNetwork::<_, 6>::new(&config, &traffic.options(threads), |n| traffic.host(n));
        (halves!(network, ticks, threads), config.outline())
    };
    let (hops, busy) = (now.hops - warm.hops, now.busy - warm.busy);
    let links = f64::from(dims.iter().product::<u32>()) * 2.0 * dims.len() as f64;
    println!(
        "{:.2} million packet-hops/s, {:.1} us/s, {:.0} ns per hop, links {:.4}, {hops} hops timed, {} in all, latency {}",
        hops as f64 / wall / 1e6,
        (ticks / 2) as f64 / outline.ticks_per_second as f64 * 1e6 / wall,
        wall * 1e9 / hops as f64,
        busy as f64 / links / (ticks / 2) as f64,
        now.hops,
        now.latency,
    );
}
