//! A study on a graphics processor beside the same on the fabric, and what is refused there.

use netloom_simulate::{Fabric, Gpu};
use netloom_study::resolve::{ResolvedStudy, load};
use netloom_study::result::{Ended, RunResult};
use netloom_study::run::{Progress, ProgressSink, Quiet, Simulate};
use std::sync::atomic::{AtomicBool, Ordering};

fn study(name: &str, sets: &[&str]) -> ResolvedStudy {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    load(name, &sets).unwrap()
}

/// Stops when it has been told of progress.
struct AfterOne(AtomicBool);

impl ProgressSink for AfterOne {
    fn update(&self, _: Progress) {
        self.0.store(true, Ordering::Relaxed);
    }
    fn stop(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

fn on(simulator: &dyn Simulate, study: &ResolvedStudy) -> RunResult {
    simulator
        .simulate(study, &Quiet(&AtomicBool::new(false)), 2)
        .unwrap_or_else(|e| panic!("{}", e.render(false)))
}

/// Figures of both within what two seeds differ by.
#[test]
fn figures_as_on_the_fabric() {
    let sets = [
        "topology.dims=[4,4,4]",
        "measure={}",
        "measure.until=time",
        "measure.time_us=400",
        "measure.warmup_us=100",
    ];
    let study = study("all-to-all", &[&sets[..], &["measure.window_us=50"]].concat());
    let (device, fabric) = (on(&Gpu, &study), on(&Fabric, &study));
    assert_eq!(device.simulated, fabric.simulated);
    assert_eq!((device.per_link.len(), device.links.count), (fabric.per_link.len(), fabric.links.count));
    assert!(device.host.device.is_some() && fabric.host.device.is_none());
    for (path, part) in [
        ("links.mean_utilization", 0.01),
        ("links.payload_utilization", 0.01),
        ("links.ack_utilization", 0.05),
        ("totals.packets_delivered", 0.01),
        ("totals.packet_hops", 0.01),
        ("throughput.accepted", 0.01),
        ("latency.total.mean_ns", 0.04),
        ("latency.network.mean_ns", 0.03),
        ("latency.network.p90_ns", 0.13),
        ("occupancy.mean_chunks.dynamic", 0.05),
    ] {
        let [a, b] = [&device, &fabric].map(|result| result.figure(path).unwrap());
        println!("{path}: {a} on the device, {b} by the fabric");
        assert!((a / b - 1.0).abs() < part, "{path}: {a} on the device, {b} by the fabric");
    }
    for (a, b) in device.series.iter().zip(&fabric.series) {
        assert_eq!((&a.chart, &a.name, a.values.len()), (&b.chart, &b.name, b.values.len()));
    }
    let close = |of: &RunResult| {
        let sum: f64 = of.per_link.iter().map(|row| row.utilization).sum();
        (sum / of.per_link.len() as f64 / of.links.mean_utilization - 1.0).abs() < 1e-9
    };
    assert!(close(&device));
}

#[test]
fn ends_when_the_mean_is_known_or_when_it_is_stopped() {
    let study =
        study("all-to-all", &["topology.dims=[4,4,2]", "measure.window_us=30", "measure.half_width=0.02"]);
    let result = on(&Gpu, &study);
    assert_eq!(result.simulated.ended, Ended::Converged);
    assert!(result.confidence.is_some_and(|c| c.windows >= 6 && c.half_width_95 <= 0.02 * c.mean));
    let stopped = Gpu.simulate(&study, &Quiet(&AtomicBool::new(true)), 1).unwrap();
    assert_eq!(stopped.simulated.ended, Ended::Interrupted);
    assert!(stopped.partial.is_some());
    // After one window: the second, which does not begin, is not in the curves.
    let stopped = Gpu.simulate(&study, &AfterOne(AtomicBool::new(false)), 1).unwrap();
    assert_eq!(stopped.simulated.ended, Ended::Interrupted);
    assert!(!stopped.series.is_empty() && stopped.series.iter().all(|curve| curve.values.len() == 1));
}

#[test]
fn refused_at_the_key() {
    let refused = |sets: &[&str], words: &[&str]| {
        let study = study("all-to-all", &[&["topology.dims=[4,4,2]"], sets].concat());
        let problem = Gpu.simulate(&study, &Quiet(&AtomicBool::new(false)), 1).unwrap_err().render(false);
        words.iter().for_each(|word| assert!(problem.contains(word), "{problem}"));
        assert!(problem.contains("--gpu"), "{problem}");
    };
    refused(
        &["traffic.load=burst", "measure={}", "measure.until=converged"],
        &["traffic.load", "without end"],
    );
    refused(&["traffic.priority=high"], &["traffic.priority"]);
    refused(&["nic.injection_normal=4"], &["nic"]);
    refused(&["router.dynamic_vcs=4"], &["router.dynamic_vcs", "three"]);
    refused(&["topology.dead_nodes=[[0,0,0]]"], &["topology.dead_nodes"]);
    refused(&["machine=bgq", "set={}", "topology.dims=[2,2,2,2,2]"], &["BlueGene/L"]);
}
