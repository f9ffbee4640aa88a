//! Blue Gene/Q's event-driven routers against the clocked reference, with the same packets: zero-load latency
//! exactly; mean link utilization and packets delivered within 1%, or 2% where runs of one model differ by as
//! much; mean VC occupancy within 5%; mean latency below saturation within 2%.
//!
//! Times are whole cycles here, as the reference needs them, so the nodes' cycles are aligned in the fabric
//! too.

mod case;
mod collective;
mod load;
mod mix;
mod models;
#[path = "../reference_queued/mod.rs"]
mod reference_queued;
mod trees;

use crate::traffic::script::Packet;
use case::Case;
use load::{Load, deterministic, dynamic, high, system};
use models::{CYCLE, Run, run_fabric, run_reference};
use netloom_fabric::config::{DirectionChoice, QueuedConfig, QueuedRouter};

/// A Blue Gene/Q without traces, so that its times are whole cycles.
fn machine(dims: &[u32]) -> QueuedConfig {
    let mut config = QueuedConfig::bluegene_q(dims);
    config.link.link_chip_ticks = 0;
    config.link.trace_ticks.clear();
    config
}

/// The same with changes to its routers.
fn changed(dims: &[u32], change: impl FnOnce(&mut QueuedRouter)) -> QueuedConfig {
    let mut config = machine(dims);
    change(&mut config.router);
    config
}

/// From every node to others, near and far, one packet at a time, of all kinds and sizes, over wires of
/// several lengths.
#[test]
fn latency_without_load() {
    let mut config = machine(&[4, 3, 2, 1, 2]);
    config.topology.wrap = vec![true, false, true, true, true];
    config.link.trace_ticks = vec![48, 0, 16, 0, 64];
    (config.link.midplane, config.link.link_chip_ticks) = (vec![2, 3, 2, 1, 2], 704);
    let nodes = config.topology.nodes() as u32;
    let kinds = [dynamic(0), dynamic(1), dynamic(2), dynamic(3), deterministic(), high(), system()];
    let pairs = (0..nodes).flat_map(|a| (0..nodes).map(move |b| (a, b))).filter(|(a, b)| a != b);
    let list: Vec<Packet> = pairs
        .step_by(7)
        .zip(0..)
        .map(|((source, destination), i)| {
            let (made, chunks) = (500 * CYCLE * i, 1 + i as u32 % 17);
            Packet { made, source, destination, chunks, ..kinds[i as usize % 7] }
        })
        .collect();
    let run = Run::new(&config, &list);
    let clocked = run_reference(&run).1;
    assert!(clocked.iter().all(Option::is_some));
    assert_eq!(clocked, run_fabric(&run).1);
}

#[test]
fn uniform_random_at_half_load() {
    for dims in [&[4, 4, 4][..], &[4, 4, 2, 2, 2]] {
        let loads = [Load::open(0.5, &[dynamic(0)])];
        Case { to: 30_000, ..Case::new(&machine(dims), &loads) }.agree(&format!("{dims:?} half load"));
    }
}

#[test]
fn saturated_symmetric_tori() {
    for dims in [&[4, 4, 4][..], &[4, 4, 2, 2, 2]] {
        Case::new(&machine(dims), &[Load::saturated(&[dynamic(0)])]).agree(&format!("{dims:?} saturated"));
    }
}

/// With zones, packets take the longest dimension first; without them buffers fill, and escape packets
/// matter.
#[test]
#[ignore = "slow: see CONTRIBUTING.md"]
fn saturated_asymmetric_torus_with_and_without_zones() {
    let config = machine(&[8, 4, 4]);
    Case::new(&config, &[Load::saturated(&[dynamic(0)])]).agree("8x4x4 with zones");
    let loads = [Load::saturated(&[dynamic(1)])];
    Case { runs: 3, to: 15_000, within: 0.02, ..Case::new(&config, &loads) }.agree("8x4x4 without zones");
}

#[test]
#[ignore = "slow: see CONTRIBUTING.md"]
fn deterministic_routing() {
    let loads = [Load::saturated(&[deterministic()])];
    Case { runs: 4, within: 0.02, ..Case::new(&machine(&[4, 4, 4]), &loads) }.agree("4x4x4 deterministic");
    let order = changed(&[4, 4, 8], |r| r.dimension_order = Some("xyz".into()));
    Case { runs: 3, to: 15_000, within: 0.02, ..Case::new(&order, &loads) }
        .agree("4x4x8 deterministic, shortest first");
}

/// All classes below saturation; and saturated normal traffic with a tenth of the links' time for each
/// priority.
#[test]
fn mixed_priorities() {
    let config = machine(&[4, 4, 4]);
    let kinds = [dynamic(0), deterministic(), high(), system()];
    let loads = [Load::open(0.7, &kinds).of_sizes(&[1, 5, 17])];
    Case { runs: 2, ..Case::new(&config, &loads) }.agree("mixed at 0.7");
    let loads = [Load::saturated(&kinds[..2]), Load::open(0.2, &kinds[2..])];
    Case { runs: 2, ..Case::new(&config, &loads) }.agree("mixed, saturated");
}

#[test]
#[ignore = "slow: see CONTRIBUTING.md"]
fn short_packets() {
    let loads = [Load::saturated(&[dynamic(0)]).of_sizes(&[1, 2, 3])];
    Case { to: 12_000, ..Case::new(&machine(&[4, 4, 4]), &loads) }.agree("short packets");
    let loads = [Load::saturated(&[dynamic(1)]).of_sizes(&[1, 2, 3])];
    Case { runs: 4, to: 15_000, within: 0.02, ..Case::new(&machine(&[8, 4, 2]), &loads) }
        .agree("short packets without zones");
}

/// Changed routers under saturation.
#[test]
#[ignore = "slow: see CONTRIBUTING.md"]
fn variants() {
    type Change = fn(&mut QueuedRouter);
    let [free, fixed] = [&[dynamic(1)][..], &[deterministic()]];
    let variants: [(&str, &[Packet], u64, Change); 7] = [
        ("one queue", free, 1, |r| r.queues = 1),
        ("one path", free, 1, |r| r.paths = 1),
        ("small buffers", free, 1, |r| (r.dynamic_vc_B, r.slots) = (40 * 32, 2)),
        ("random directions", free, 1, |r| r.direction_choice = DirectionChoice::Random),
        ("one injected for one that goes through", fixed, 4, |r| (r.through_per_injection, r.slots) = (1, 3)),
        ("an order of its own", fixed, 2, |r| r.dimension_order = Some("zxy".into())),
        ("zones of its own", &[dynamic(0), dynamic(1)], 1, |r| {
            let sets = [["zy", "x"], ["yx", "z"]];
            r.zones = Some(sets.map(|sets| sets.map(str::to_owned).to_vec()).to_vec());
        }),
    ];
    for (name, kinds, runs, change) in variants {
        let loads = [Load::saturated(kinds)];
        Case { runs, within: 0.02, ..Case::new(&changed(&[4, 4, 4], change), &loads) }.agree(name);
    }
    let mut mesh = machine(&[4, 4, 4]);
    mesh.topology.wrap = vec![true, false, true];
    Case { within: 0.02, ..Case::new(&mesh, &[Load::saturated(&[dynamic(0)])]) }.agree("mesh");
}

/// The fabric's nodes start their cycles at events, which with the machine's wire delays are not aligned.
#[test]
fn cycles_that_do_not_begin_together() {
    let [clocked, fabric] = [48, 43].map(|ticks| {
        let mut config = machine(&[4, 4, 4]);
        config.link.trace_ticks = vec![ticks; 5];
        config
    });
    for load in [Load::open(0.5, &[dynamic(0)]), Load::saturated(&[dynamic(0)])] {
        let loads = [load];
        Case { fabric: &fabric, ..Case::new(&clocked, &loads) }.agree("traces");
    }
}

/// The comparison detects changed routers in only one of the two models. Random directions instead of JSQ are
/// not detected under uniform traffic, which depends too little on them.
#[test]
fn differences_are_seen() {
    type Change = fn(&mut QueuedRouter);
    // Which of these is detected depends on the scarce resource under the load.
    let [zones, none, fixed] = [dynamic(0), dynamic(1), deterministic()].map(|kind| Load::saturated(&[kind]));
    let short = none.clone().of_sizes(&[1, 2, 3]);
    let changes: [(&str, &Load, Change); 8] = [
        ("one queue", &zones, |r| r.queues = 1),
        ("three queues", &short, |r| r.queues = 3),
        ("one path", &zones, |r| r.paths = 1),
        ("no gap between packets", &zones, |r| r.gap_ticks = 0),
        ("smaller dynamic VC", &none, |r| r.dynamic_vc_B = 110 * 32),
        ("three slots", &fixed, |r| r.slots = 3),
        ("two go through for one injected", &fixed, |r| r.through_per_injection = 2),
        ("shortest dimension first", &fixed, |r| r.dimension_order = Some("zyx".into())),
    ];
    for (name, load, change) in changes {
        let (clocked, fabric) = (machine(&[8, 4, 2]), changed(&[8, 4, 2], change));
        let loads = [load.clone()];
        let case = Case { fabric: &fabric, to: 12_000, within: 0.02, ..Case::new(&clocked, &loads) };
        let differences = case.differences(name);
        assert!(!differences.is_empty(), "{name}: no difference is seen");
    }
}

/// Two packets of one VC wait for two links that become free in the same cycle: the second leaves a cycle
/// after the first.
#[test]
fn packets_of_one_vc_leave_a_cycle_apart() {
    let packet =
        |source, destination, fifo, chunks| Packet { source, destination, fifo, chunks, ..deterministic() };
    // From node 1 to its neighbours in y and z; and through it from node 0 to the same, to wait behind those.
    let list = [packet(1, 5, 0, 17), packet(1, 17, 1, 17), packet(0, 5, 0, 14), packet(0, 17, 0, 1)];
    let config = machine(&[4, 4, 4]);
    let run = Run::new(&config, &list);
    assert_eq!(run_fabric(&run).1, run_reference(&run).1);
}
