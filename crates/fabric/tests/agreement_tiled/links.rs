//! Links with bit errors or lost lanes. Each model draws its own wrong sets, so the means over seeds are
//! compared.

use super::group;
use super::models::Comparison;
use netloom_fabric::config::{Failure, TiledConfig};

/// Wrong sets of packets, flits in them, wrong idle sets, sets with errors that the CRC missed; in the
/// fabric's model and the reference.
type Sums = [(u64, u64); 4];

fn compare(config: &TiledConfig, (each, interval): (u32, f64), seeds: u64) -> Sums {
    let mut comparison = Comparison::default();
    let mut sums = Sums::default();
    for seed in 1..=seeds {
        let (ours, theirs) = comparison.add(config, each, interval, seed);
        let counts = [
            (ours.corrupted_sets, theirs.wrong_sets),
            (ours.repeated_flits, theirs.flits_in_wrong),
            (ours.corrupted_idle_sets, theirs.wrong_idle_sets),
            (ours.escaped_sets, theirs.escaped_sets),
        ];
        for (sum, count) in sums.iter_mut().zip(counts) {
            *sum = (sum.0 + count.0, sum.1 + count.1);
        }
    }
    println!("{}, a packet in {interval}: {sums:?}", config.faults.bit_error_rate);
    comparison.mean_within(0.02);
    sums
}

/// Two counts are close if they differ by at most four standard deviations, each of their items counting for
/// this many.
fn near((ours, theirs): (u64, u64), items: f64) {
    let off = (ours as f64 - theirs as f64).abs();
    assert!(off < 4.0 * (items * (ours + theirs) as f64).sqrt(), "{ours} and {theirs}");
}

/// Wrong bits at a rate, under a load.
type WrongBits = (f64, (u32, f64), u64);

#[test]
fn wrong_bits_cost_as_much() {
    wrong_bits(&[(1e-6, (250, 30.0), 4), (1e-5, (250, 30.0), 8), (1e-4, (250, 30.0), 16)]);
}

#[test]
#[ignore = "slow: see CONTRIBUTING.md"]
fn wrong_bits_cost_as_much_in_bursts() {
    wrong_bits(&[(1e-5, (250, 0.0), 24), (1e-4, (250, 0.0), 40)]);
}

fn wrong_bits(cases: &[WrongBits]) {
    let mut config = group(4, 4);
    for &(rate, load, seeds) in cases {
        config.faults.bit_error_rate = rate;
        let [sets, flits, idle, _] = compare(&config, load, seeds);
        near(sets, 1.0);
        near(flits, 9.0);
        // The fabric tracks credits by packet instead of flit, so their number of sets may differ.
        assert!(idle.0.abs_diff(idle.1) < 40 + idle.1 / 8, "{idle:?}");
    }
}

#[test]
fn credits_are_as_late() {
    late_credits(&[(1e-5, (250, 0.0), 12), (1e-4, (120, 200.0), 8)]);
}

#[test]
#[ignore = "slow: see CONTRIBUTING.md"]
fn credits_are_as_late_where_many_bits_are_wrong() {
    late_credits(&[(1e-4, (250, 0.0), 32)]);
}

/// With space for little more than two packets: senders wait for credits.
fn late_credits(cases: &[WrongBits]) {
    let mut config = group(4, 4);
    (config.router.input_flits, config.router.input_reserved_flits) = (240, 30);
    for &(rate, load, seeds) in cases {
        config.faults.bit_error_rate = rate;
        near(compare(&config, load, seeds)[0], 1.0);
    }
}

#[test]
fn what_a_short_crc_misses_passes() {
    let mut config = group(4, 4);
    config.faults.bit_error_rate = 1e-4;
    config.link_control.as_mut().expect("link control").crc_bits = 2;
    let [sets, _, _, escaped] = compare(&config, (250, 30.0), 12);
    near(sets, 1.0);
    near(escaped, 1.0);
}

#[test]
fn links_with_fewer_lanes_are_as_slow() {
    fewer_lanes(&[(0.0, (250, 60.0), 4), (0.0, (250, 0.0), 8)]);
}

#[test]
#[ignore = "slow: see CONTRIBUTING.md"]
fn links_with_fewer_lanes_and_wrong_bits_are_as_slow() {
    fewer_lanes(&[(1e-5, (250, 60.0), 16)]);
}

/// Every third link with fewer lanes.
fn fewer_lanes(cases: &[WrongBits]) {
    let mut config = group(4, 4);
    for lanes in [2, 1] {
        let lost = |router, port| Failure { at_us: 0.0, router, port: Some(port), lanes: Some(lanes) };
        config.faults.failures = vec![lost(0, 0), lost(2, 1)];
        for &(rate, load, seeds) in cases {
            config.faults.bit_error_rate = rate;
            compare(&config, load, seeds);
        }
    }
}
