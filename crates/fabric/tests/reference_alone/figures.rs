//! Results of whole runs: close to the closed forms, and sensitive to the right parameters.

use crate::reference::random::Random;
use crate::reference::rules::Rules;
use crate::reference::statistics::Means;
use crate::reference::{Reference, workload};
use crate::{bluegene, saturated};
use netloom_fabric::config::{TorusConfig, VCS_MAX};

pub fn occupancy(chunks: &[f64; VCS_MAX], rules: &Rules) -> String {
    chunks[..rules.vcs].iter().map(|c| format!("{c:.3}")).collect::<Vec<_>>().join(" ")
}

#[test]
fn saturation_is_near_the_closed_form() {
    for (dims, at_least) in [(&[8, 1, 1], 0.90), (&[4, 4, 4], 0.91)] {
        let (means, reference) = saturated(&TorusConfig::bluegene_l(dims));
        let capacity = workload::uniform_rate(&reference, 1.0) * reference.nodes.len() as f64;
        let reached = means.delivered / capacity;
        println!(
            "{dims:?} flooded: {:.4} of the capacity delivered; links {:.4} data {:.4} acks; \
             chunks {}; escape share {:.5}",
            reached,
            means.data,
            means.acks,
            occupancy(&means.chunks, &reference.rules),
            reference.statistics.escape_share(&reference.rules),
        );
        assert!((at_least..=1.0).contains(&reached));
        assert!((reached - means.data).abs() < 0.015, "what is delivered was carried");
    }
}

/// An all-to-all of full packets from start to end.
fn all_to_all(config: &TorusConfig, seed: u64) -> Reference {
    let mut reference = Reference::new(config, seed);
    workload::all_to_all(&mut reference, &mut Random::new(seed + 1));
    assert!(reference.run_until_drained(100_000));
    reference
}

/// Runs an all-to-all, prints its results, and returns the means of ticks `from` to `to`.
fn all_to_all_figures(config: &TorusConfig, seed: u64, (from, to): (u64, u64)) -> Means {
    let reference = all_to_all(config, seed);
    let means = reference.statistics.means(from, to);
    let whole = reference.statistics.means(0, reference.now);
    println!(
        "{:?} all-to-all, gap {}, seed {seed}: ticks {from}..{to} utilization {:.4} (data {:.4}, acks {:.4}), \
         chunks {}; whole run {} ticks, utilization {:.4}, chunks {}; mean latency {:.1}, highest {}; \
         escape share {:.5}",
        config.topology.dims,
        config.router.arbitration_gap,
        means.utilization(),
        means.data,
        means.acks,
        occupancy(&means.chunks, &reference.rules),
        reference.now,
        whole.utilization(),
        occupancy(&whole.chunks, &reference.rules),
        reference.latency_mean(),
        reference.statistics.latency.2,
        reference.statistics.escape_share(&reference.rules),
    );
    means
}

#[test]
fn all_to_all_keeps_the_links_busy() {
    for (dims, window) in [(&[4, 4, 4], (1_500, 7_000)), (&[8, 8, 1], (3_000, 14_000))] {
        for seed in [5, 15, 25] {
            let means = all_to_all_figures(&TorusConfig::bluegene_l(dims), seed, window);
            assert!((0.94..=1.0).contains(&means.utilization()));
            let gap = bluegene(dims, |r| r.arbitration_gap = true);
            let fuller = all_to_all_figures(&gap, seed, window);
            let dynamic = |m: &Means| m.chunks[0] + m.chunks[1];
            assert!(dynamic(&fuller) > 1.5 * dynamic(&means), "the gap lets injected packets in");
        }
    }
}

#[test]
fn a_single_path_costs_time_and_throughput() {
    let config = |paths| bluegene(&[4, 4, 4], |r| r.paths = paths);
    let [one, two] = [1, 2].map(|paths| {
        let mut reference = Reference::new(&config(paths), 7);
        let rate = workload::uniform_rate(&reference, 0.8);
        let mut random = Random::new(8);
        let mut most = 0;
        for _ in 0..4_000 {
            workload::uniform(&mut reference, rate, 10, &mut random);
            let busy = reference.nodes.iter().flat_map(|n| &n.ports).map(|p| p.receiver.paths_busy).max();
            most = most.max(busy.unwrap_or(0));
        }
        assert_eq!(most, paths);
        reference.latency_mean()
    });
    // With one dynamic VC the saturation throughput depends on it too; with two, injected packets fill the
    // rest.
    let [less, more] = [1, 2].map(|paths| {
        let mut config = config(paths);
        config.router.dynamic_vcs = 1;
        saturated(&config).0.delivered
    });
    println!(
        "paths 1 and 2: latency at 0.8 {one:.1}, {two:.1}; one dynamic VC flooded {less:.4}, {more:.4} a tick"
    );
    assert!(one > 1.1 * two && less < 0.99 * more);
}

#[test]
fn in_light_traffic_packets_bypass_the_buffers() {
    let chunks = [true, false].map(|bypass| {
        let mut reference = Reference::new(&bluegene(&[4, 4, 4], |r| r.bypass = bypass), 1);
        let rate = workload::uniform_rate(&reference, 0.05);
        workload::uniform(&mut reference, rate, 30_000, &mut Random::new(2));
        let means = reference.statistics.means(5_000, 30_000);
        means.chunks.iter().sum::<f64>() / means.data
    });
    println!("chunks in the VCs a busy link: {:.3} with the bypass, {:.3} without", chunks[0], chunks[1]);
    // Without it, each packet's 8 chunks are in a VC for at least their time on the link.
    assert!(chunks[0] < 1.0 && chunks[1] > 7.9);
}

#[test]
fn uniform_traffic_below_saturation() {
    for (dims, load) in [(&[4, 4, 4], 0.05), (&[4, 4, 4], 0.5), (&[8, 8, 1], 0.05), (&[8, 8, 1], 0.5)] {
        let mut reference = Reference::new(&TorusConfig::bluegene_l(dims), 7);
        let rate = workload::uniform_rate(&reference, load);
        workload::uniform(&mut reference, rate, 100_000, &mut Random::new(8));
        let means = reference.statistics.means(10_000, 100_000);
        let lone = 17.0 * workload::mean_hops(&reference) + 260.0;
        let latency = reference.latency_mean();
        println!(
            "{dims:?} uniform at {load}: rate {rate:.7}, utilization {:.4} (data {:.4}, acks {:.4}), chunks {}; \
             mean latency {latency:.1} (alone {lone:.1}), highest {}; escape share {:.5}",
            means.utilization(),
            means.data,
            means.acks,
            occupancy(&means.chunks, &reference.rules),
            reference.statistics.latency.2,
            reference.statistics.escape_share(&reference.rules),
        );
        assert!((means.data - load).abs() < 0.03 * load + 0.002, "open loop: what is offered is carried");
        assert!(latency > lone && latency < lone * if load < 0.1 { 1.1 } else { 2.0 });
    }
}
