//! Message Units on a small torus, run to the end of their programs.

use netloom_engine::{Progress, Reached};
use netloom_fabric::config::*;
use netloom_fabric::router::queued::{QueuedBlock, QueuedNetwork};
use netloom_fabric::router::{BuildOptions, NodeBlock, RouterBlock};
use netloom_nic::message_unit::config::{MessageUnitConfig, SoftwareConfig};
use netloom_nic::message_unit::spi::{Note, Spi};
use netloom_nic::message_unit::{MessageUnits, NETWORK_FIFOS};
use std::future::Future;
use std::pin::Pin;

/// A Blue Gene/Q without traces, so that a hop is 320 ticks.
pub fn network(dims: &[u32], loopback: bool) -> QueuedConfig {
    let mut config = QueuedConfig::bluegene_q(dims);
    config.topology.loopback = loopback;
    config.link.trace_ticks.clear();
    config
}

pub fn unit() -> MessageUnitConfig {
    MessageUnitConfig {
        cycle_ticks: 10,
        master_ports: 3,
        slave_ticks: 320,
        read_ticks: 416,
        write_ticks: 416,
        inject_ticks: 1060,
        receive_ticks: 1060,
        collective_ticks: 500,
        l2_B: 32 << 20,
        ddr_bytes_per_tick: 3.125,
        pcie_bytes_per_tick: 0.5,
        network_fifo_packets: 2,
        software: SoftwareConfig { inject_ticks: 480, store_ticks: 40, poll_ticks: 40, found_ticks: 280 },
    }
}

pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;
pub type Notes = Vec<(u32, Vec<Note>)>;
/// What each node noted; packets and bytes stored; descriptors injected; the time.
pub type Outcome = (Notes, (u64, u64), u64, u64);

/// Runs a program on all nodes to its end.
pub fn run(
    network: &QueuedConfig,
    unit: &MessageUnitConfig,
    program: fn(Spi) -> Task,
    block: &[u32],
    threads: usize,
) -> Outcome {
    let outline = network.outline();
    let options =
        BuildOptions { block: block.into(), injection_fifos: NETWORK_FIFOS, ..BuildOptions::default() };
    let mut machine =
        QueuedNetwork::new(network, &options, |nodes| MessageUnits::new(unit, &outline, nodes, 1, program))
            .expect("buildable");
    assert_eq!(machine.run_until(1 << 40, threads, &Progress::default()), Reached::Idle);
    assert_eq!((machine.stall(), machine.unrest()), (None, vec![]));
    let mut notes: Notes = machine.blocks().flat_map(|b| b.host().notes().collect::<Vec<_>>()).collect();
    notes.sort_by_key(|n| n.0);
    assert_eq!(machine.blocks().flat_map(|b| b.host().unfinished().collect::<Vec<_>>()).count(), 0);
    let stored =
        machine.blocks().map(|b| b.host().stored_so_far()).fold((0, 0), |s, x| (s.0 + x.0, s.1 + x.1));
    let of_block = |b: &mut QueuedBlock<MessageUnits>| -> u64 {
        (0..b.numbers().len())
            .flat_map(|n| (0..16).map(move |f| (n, f)))
            .map(|(n, f)| b.host().injected(n, f))
            .sum()
    };
    let injected = machine.blocks().map(of_block).sum();
    (notes, stored, injected, machine.now())
}
