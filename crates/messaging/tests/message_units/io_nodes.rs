//! Message Units of IO nodes: data is sent there and back over IO links, in system packets, and the PCIe
//! takes time.

use crate::units;

use netloom_fabric::config::{IoNodes, QueuedConfig};
use netloom_messaging::spi::{Pcie, Spi};
use netloom_nic::message_unit::descriptor::{Descriptor, IoLink, Kind, Network, SYSTEM};
use netloom_nic::message_unit::fifos::{InjectionFifo, Priority};
use netloom_nic::message_unit::protection::{Range, USER_RANGES};
use units::{Task, network, run, run_failing, unit};

/// Six nodes, three for each of two IO nodes, which have two links each.
fn machine() -> QueuedConfig {
    let mut config = network(&[2, 3], false);
    config.topology.io = Some(IoNodes { pset: vec![1, 3], exits: vec![vec![0, 2], vec![0, 0]] });
    config
}

/// The injection FIFO of a system program.
const OWN: u16 = 500;

fn set_up(spi: &Spi) {
    let fifo = InjectionFifo {
        start: 1 << 41,
        size_B: 4096,
        priority: Priority::System,
        remote_get: false,
        threshold_B: None,
    };
    spi.set_injection_fifo(OWN, fifo);
    spi.set_base_address(0, 0);
}

const LENGTH: u64 = 1500;

fn put(network: Network, payload: u64, offset: u64) -> Descriptor {
    let kind = Kind::DirectPut { base: 0, offset, counter_base: 0, counter_offset: 0 };
    Descriptor { payload, length: LENGTH, map: SYSTEM, network, kind, prefetch_only: false }
}

/// The address of a compute node's data in its own memory and in its IO node's.
fn place(node: u32) -> u64 {
    (1 << 16) + 4096 * u64::from(node)
}

fn data(node: u32) -> Vec<u8> {
    (0..LENGTH).map(|i| (i * 7 + u64::from(node) * 13) as u8).collect()
}

/// All compute nodes write to their IO node's memory, which changes the data and writes it back.
#[test]
fn data_come_and_go() {
    fn there_and_back(spi: Spi) -> Task {
        Box::pin(async move {
            set_up(&spi);
            let torus = spi.torus().clone();
            if spi.is_io_node() {
                let exits = torus.exits(spi.node());
                spi.set_counter(0, 3 * LENGTH);
                spi.wait_counter(0).await;
                for (i, (node, exit)) in torus.exits_of_pset(spi.node()).into_iter().enumerate() {
                    let mut bytes = spi.load(place(node), LENGTH as usize);
                    assert_eq!(bytes, data(node), "of node {node}");
                    bytes.iter_mut().for_each(|b| *b ^= 0xff);
                    spi.store(place(node), &bytes);
                    let link = exits.iter().position(|&e| e == exit).expect("its own") as u8;
                    let back = Network::System { destination: node, io: IoLink::AtSource(link) };
                    spi.inject(OWN, put(back, place(node), place(node))).await;
                    spi.wait_injected(OWN, i as u64 + 1).await;
                }
                spi.measure(0, spi.now());
            } else {
                spi.set_counter(0, LENGTH);
                spi.store(place(spi.node()), &data(spi.node()));
                let destination = torus.exit_of(spi.node()).expect("it has one");
                let outward = Network::System { destination, io: IoLink::AtDestination };
                spi.inject(OWN, put(outward, place(spi.node()), place(spi.node()))).await;
                spi.wait_counter(0).await;
                let bytes = spi.load(place(spi.node()), LENGTH as usize);
                assert!(bytes.iter().zip(data(spi.node())).all(|(b, sent)| *b == sent ^ 0xff));
                spi.measure(0, spi.now());
            }
        })
    }
    let alone = run(&machine(), &unit(), there_and_back, &[], 1);
    assert_eq!(alone.0.iter().filter(|n| n.1.len() == 1).count(), 8, "all came to their end");
    assert_eq!(alone, run(&machine(), &unit(), there_and_back, &[1, 2], 2));
}

/// System packets may write to memory reserved for the system, including counters.
#[test]
fn the_systems_memory_takes_the_systems_packets() {
    fn guarded(spi: Spi) -> Task {
        Box::pin(async move {
            set_up(&spi);
            let range = Range { first: 0, last: u64::MAX, injection_only: false };
            match spi.node() {
                1 => {
                    spi.set_range(USER_RANGES, Some(range));
                    spi.set_counter(0, LENGTH);
                    spi.wait_counter(0).await;
                    spi.measure(0, 0);
                }
                0 => {
                    let network = Network::System { destination: 1, io: IoLink::None };
                    spi.inject(OWN, put(network, 0, place(0))).await;
                }
                _ => {}
            }
        })
    }
    let measurements = run(&machine(), &unit(), guarded, &[], 1).0;
    assert_eq!(measurements[1].1.len(), 1);
}

/// The PCIe serves one transfer after the other, independently in each direction, at its rate; a poll finds a
/// packet, or nothing.
#[test]
fn the_pcie_has_a_rate() {
    fn move_some(spi: Spi) -> Task {
        Box::pin(async move {
            if spi.is_io_node() {
                assert!(spi.poll(3).await.is_none(), "no node sends anything");
                let begin = spi.now();
                assert_eq!(
                    [spi.pcie(Pcie::Out, 1000), spi.pcie(Pcie::Out, 500)],
                    [begin + 2000, begin + 3000]
                );
                let done = spi.pcie(Pcie::In, 100);
                assert_eq!(done, begin + 200);
                spi.wait_until(done).await;
                assert_eq!(spi.now(), begin + 200);
                spi.wait_until(begin).await;
                assert_eq!(spi.now(), begin + 200, "that is past");
                assert_eq!(spi.pcie(Pcie::In, 100), begin + 400);
                spi.measure(0, 0);
            }
        })
    }
    let measurements = run(&machine(), &unit(), move_some, &[], 1).0;
    assert_eq!(measurements.iter().map(|n| n.1.len()).sum::<usize>(), 2);
}

#[test]
fn an_exit_without_a_link_is_named() {
    fn astray(spi: Spi) -> Task {
        Box::pin(async move {
            set_up(&spi);
            let destination = 1;
            let network = Network::System { destination, io: IoLink::AtDestination };
            if spi.node() == 0 {
                spi.inject(OWN, put(network, 0, 0)).await;
            }
        })
    }
    let mut machine = machine();
    machine.topology.io = Some(IoNodes { pset: vec![2, 3], exits: vec![vec![0, 0]] });
    let why = "a descriptor in injection FIFO 500: its destination 1 has no IO link";
    assert_eq!(run_failing(&machine, astray), [format!("node 0: inject: {why}")]);
}
