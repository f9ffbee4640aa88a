//! Message Units on a small torus, run to the end of their programs.

use netloom_engine::{Progress, Reached, Time};
use netloom_fabric::config::*;
use netloom_fabric::router::queued::{QueuedBlock, QueuedNetwork};
use netloom_fabric::router::{BuildOptions, NodeBlock, RouterBlock};
use netloom_messaging::config::PamiConfig;
use netloom_messaging::pami::context::Limits;
use netloom_messaging::pami::task::Task as PamiTask;
use netloom_messaging::pami::{Costs, Placement};
use netloom_messaging::spi::{self, Spi};
use netloom_nic::message_unit::config::{MessageUnitConfig, SoftwareConfig};
use netloom_nic::message_unit::{self, MessageUnits, NETWORK_FIFOS};
use netloom_node::cores::CoresConfig;
use netloom_node::process::Measurement;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

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
        l2_ways: None,
        ddr_bytes_per_tick: 3.125,
        pcie_bytes_per_tick: 0.5,
        network_fifo_packets: 2,
        cores: CoresConfig { cpus: 1, per_cpu: 16, full_speed_threads: 2 },
        software: SoftwareConfig { inject_ticks: 480, store_ticks: 40, poll_ticks: 40, found_ticks: 280 },
    }
}

pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;
pub type Measurements = Vec<(u32, Vec<Measurement>)>;
/// The measurements of each node; packets and bytes stored; descriptors injected; the time.
pub type Outcome = (Measurements, (u64, u64), u64, u64);

/// Runs a program on all nodes, none of which may fail, to its end.
pub fn run(
    network: &QueuedConfig,
    unit: &MessageUnitConfig,
    program: impl Fn(Spi) -> Task + Copy + Send + Sync + 'static,
    block: &[u32],
    threads: usize,
) -> Outcome {
    let outline = network.outline();
    let options =
        BuildOptions { block: block.into(), injection_fifos: NETWORK_FIFOS, ..BuildOptions::default() };
    let mut machine =
        QueuedNetwork::new(network, &options, |nodes| spi::units(unit, &outline, nodes, 1, 1, program))
            .expect("buildable");
    assert_eq!(machine.run_until(Time::at(1 << 40), threads, &Progress::default()), Reached::Idle);
    assert_eq!((machine.stall(), machine.unrest()), (None, vec![]));
    assert_eq!(failures(&mut machine), Vec::<String>::new());
    let mut measurements: Measurements = machine
        .blocks()
        .flat_map(|b| b.host().measurements().map(|(node, _, m)| (node, m)).collect::<Vec<_>>())
        .collect();
    measurements.sort_by_key(|n| n.0);
    assert_eq!(machine.blocks().flat_map(|b| b.host().unfinished().collect::<Vec<_>>()).count(), 0);
    let stored = machine
        .blocks()
        .map(|b| message_unit::stored_so_far(b.host()))
        .fold((0, 0), |s, x| (s.0 + x.0, s.1 + x.1));
    let of_block = |b: &mut QueuedBlock<MessageUnits>| -> u64 {
        (0..b.numbers().len())
            .flat_map(|n| (0..16).map(move |f| (n, f)))
            .map(|(n, f)| message_unit::injected(b.host(), n, f))
            .sum()
    };
    let injected = machine.blocks().map(of_block).sum();
    (measurements, stored, injected, machine.now().ticks())
}

/// The programs that failed, each with its node and reason.
pub fn failures(machine: &mut QueuedNetwork<MessageUnits>) -> Vec<String> {
    let of = |b: &mut QueuedBlock<MessageUnits>| -> Vec<String> {
        b.host().failures().map(|(node, _, why)| format!("node {node}: {why}")).collect()
    };
    machine.blocks().flat_map(of).collect()
}

/// Runs a program on all nodes and returns the failures.
pub fn run_failing(network: &QueuedConfig, program: fn(Spi) -> Task) -> Vec<String> {
    let (outline, unit) = (network.outline(), unit());
    let options = BuildOptions { injection_fifos: NETWORK_FIFOS, ..BuildOptions::default() };
    let units = |nodes: &[u32]| spi::units(&unit, &outline, nodes, 1, 1, program);
    let mut machine = QueuedNetwork::new(network, &options, units).expect("buildable");
    assert_eq!(machine.run_until(Time::at(1 << 40), 1, &Progress::default()), Reached::Idle);
    failures(&mut machine)
}

/// Runs a program on PAMI on all processes of a torus; returns its duration, ticks.
pub fn run_tasks<F, T>(dims: &[u32], processes: u8, program: F) -> u64
where
    F: Fn(PamiTask, Arc<Placement>) -> T + Send + Sync + Clone + 'static,
    T: Future<Output = ()> + Send + 'static,
{
    let (network, unit) = (network(dims, false), unit());
    let outline = network.outline();
    let nodes: u32 = dims.iter().product();
    let tasks = nodes * u32::from(processes);
    let placement = Arc::new(Placement { nodes: (0..nodes).collect(), processes, tasks });
    let pami = PamiConfig {
        dispatch_ns: 100.0,
        poll_ns: 50.0,
        atomic_ns: 52.0,
        copy_GB_per_s: Some(8.0),
        ..PamiConfig::default()
    };
    let costs = Costs::new(&pami, 8_000_000_000);
    let options = BuildOptions { injection_fifos: NETWORK_FIFOS, ..BuildOptions::default() };
    let mut machine = QueuedNetwork::new(&network, &options, |numbers| {
        let (placement, costs, program) = (Arc::clone(&placement), costs.clone(), program.clone());
        spi::units(&unit, &outline, numbers, processes.into(), 1, move |spi| {
            let task = PamiTask::new(&spi, &placement, costs.clone(), Limits::default());
            program(task, Arc::clone(&placement))
        })
    })
    .expect("buildable");
    assert_eq!(machine.run_until(Time::at(1 << 40), 1, &Progress::default()), Reached::Idle);
    assert_eq!(failures(&mut machine), Vec::<String>::new());
    assert_eq!(machine.blocks().flat_map(|b| b.host().unfinished().collect::<Vec<_>>()).count(), 0);
    machine.now().ticks()
}
