//! Statistics of links over an interval: exact to the tick, for any interval.

use crate::traffic::{Traffic, TrafficHost};
use netloom_engine::{Progress, Time};
use netloom_fabric::config::TorusConfig;
use netloom_fabric::router::torus::TorusNetwork;
use netloom_fabric::router::{BuildOptions, LinkCounts};

const WINDOW: u64 = 1000;

/// The links of a saturated machine over some windows, and the link-ticks spent sending in those windows by
/// the series.
fn saturated(error_rate: f64, from: u64, to: u64) -> (Vec<LinkCounts>, u64) {
    let mut config = TorusConfig::bluegene_l(&[4, 4, 4]);
    config.link.bit_error_rate = error_rate;
    let chunks = vec![4, 8];
    let traffic = Traffic { interval: 0.0, packets: 1 << 30, chunks, flags: 0, all_to_all: true, seed: 3 };
    let options = BuildOptions { smallest_chunks: 4, window: WINDOW, ..BuildOptions::default() };
    let mut network = TorusNetwork::<_, 6>::new(&config, &options, |nodes| {
        TrafficHost::new(&config, &traffic, nodes, false)
    })
    .expect("buildable");
    let progress = Progress::default();
    network.run_until(Time::at(from * WINDOW), 1, &progress);
    network.restart_counting();
    assert!(network.links().iter().all(|l| l.2 == LinkCounts::default()), "nothing is spent in no time");
    network.run_until(Time::at(to * WINDOW), 1, &progress);
    let series = network.windows()[from as usize..to as usize].iter().map(|w| w.busy).sum();
    (network.links().into_iter().map(|l| l.2).collect(), series)
}

#[test]
fn no_link_sends_longer_than_there_is_time() {
    for error_rate in [0.0, 1e-5] {
        for (from, to) in [(20, 21), (20, 30)] {
            let (links, series) = saturated(error_rate, from, to);
            let span = (to - from) * WINDOW;
            assert_eq!(links.len(), 384);
            assert!(links.iter().all(|l| l.busy <= span), "a link cannot be used above 1");
            // It would exceed that if packets were counted entirely in the interval in which they start.
            let whole =
                |l: &LinkCounts| 4 * l.packets + 32 * l.chunks.iter().sum::<u64>() + 12 * l.acks > span;
            assert!(links.iter().any(whole), "the machine is saturated");
            assert_eq!(links.iter().map(|l| l.busy).sum::<u64>(), series, "links and series agree");
        }
    }
}
