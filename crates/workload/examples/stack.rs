//! How fast the fabric is under the real interfaces and traffic, without the study above them: `cargo run
//! --release -p netloom-workload --example stack -- 8x8x8 LOAD TICKS THREADS`; a load of 0 is an all-to-all
//! as fast as it goes.

use netloom_engine::{Progress, Time};
use netloom_fabric::config::TorusConfig;
use netloom_fabric::router::BuildOptions;
use netloom_fabric::router::torus::TorusNetwork;
use netloom_fabric::topology::torus::Torus;
use netloom_nic::config::FifoConfig;
use netloom_nic::fifo::FifoNic;
use netloom_workload::config::{AllToAll, Load, TrafficConfig, WorkloadConfig};
use netloom_workload::shape::Shape;
use netloom_workload::traffic::{Pattern, TorusPlan, TorusTraffic};
use std::sync::Arc;

#[global_allocator]
static MEMORY: netloom_engine::HugePages = netloom_engine::HugePages;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let get = |i: usize, or: &str| args.get(i).cloned().unwrap_or(or.into());
    let dims: Vec<u32> = get(0, "8x8x8").split('x').map(|k| k.parse().expect("a number")).collect();
    let load: f64 = get(1, "0.5").parse().expect("a share of the links");
    let ticks: u64 = get(2, "100000").parse().expect("ticks");
    let threads: usize = get(3, "1").parse().expect("threads");
    let (workload, load) = if load > 0.0 {
        (WorkloadConfig::Uniform {}, Load::LinkUtilization(load))
    } else {
        (WorkloadConfig::AllToAll(AllToAll::default()), Load::Infinite)
    };
    let (config, nic) = (TorusConfig::bluegene_l(&dims), FifoConfig::default());
    let torus = Torus::new(&config.topology);
    let pattern =
        Pattern::new(&workload, &Shape::of_torus(&torus), 240, 1).expect("readable").expect("a pattern");
    let traffic = TrafficConfig { load, ..TrafficConfig::default() };
    let plan = Arc::new(TorusPlan::new(pattern, (&workload, &traffic), &config.outline(), &nic, 1));
    let injection_fifos = FifoNic::<TorusTraffic>::injection_fifos(&nic);
    let options = BuildOptions { injection_fifos, ..BuildOptions::default() };
    let mut network = TorusNetwork::<_, 6>::new(&config, &options, |n| {
        FifoNic::new(&nic, &config.outline(), n, TorusTraffic::new(&plan, n))
    })
    .expect("a BlueGene/L");
    let progress = Progress::default();
    network.run_until(Time::at(ticks / 2), threads, &progress);
    let warm = network.so_far();
    let start = std::time::Instant::now();
    network.run_until(Time::at(ticks), threads, &progress);
    let wall = start.elapsed().as_secs_f64();
    let now = network.so_far();
    let (hops, busy) = (now.hops - warm.hops, now.busy - warm.busy);
    let links = config.nodes() as f64 * 6.0;
    println!(
        "{:.2} million packet-hops/s, {:.1} us/s, {:.0} ns per hop, links {:.4}, {} hops, latency {}",
        hops as f64 / wall / 1e6,
        (ticks / 2) as f64 / 175.0 / wall,
        wall * 1e9 / hops as f64,
        busy as f64 / links / (ticks / 2) as f64,
        now.hops,
        now.latency,
    );
}
