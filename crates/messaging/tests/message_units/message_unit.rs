//! Message Units on a small torus: all messages arrive, once, for any sizes, alignments and FIFOs; the same
//! for any blocks and threads; and each limit is at its expected value.

use crate::units;

use netloom_engine::Stream;
use netloom_engine::{Progress, Reached, Time};
use netloom_fabric::router::queued::QueuedNetwork;
use netloom_fabric::router::{BuildOptions, RouterBlock};
use netloom_messaging::spi::Spi;
use netloom_nic::message_unit::NETWORK_FIFOS;
use netloom_nic::message_unit::config::{MessageUnitConfig, SoftwareConfig};
use netloom_nic::message_unit::descriptor::{ANY_DIRECTION, Descriptor, HIGH_PRIORITY, Kind, LOCAL, Network};
use units::{Task, network, run, run_failing, unit};

fn put(destination: u32, length: u64) -> Descriptor {
    Descriptor {
        payload: 1 << 30,
        length,
        map: ANY_DIRECTION,
        network: Network::to(destination),
        kind: Kind::DirectPut { base: 0, offset: 4096, counter_base: 0, counter_offset: 0 },
        prefetch_only: false,
    }
}

/// Size of node `from`'s message to node `to`, bytes: of all sizes.
fn length(from: u32, to: u32) -> u64 {
    1 + Stream::new(7, 7, u64::from(from) << 32 | u64::from(to)).below(5000)
}

fn crowd(spi: Spi) -> Task {
    Box::pin(async move {
        let (me, nodes) = (spi.node(), spi.nodes());
        spi.set_base_address(0, 1 << 20);
        let expected: u64 = (0..nodes).map(|from| length(from, me)).sum();
        spi.set_counter(1 << 20, expected);
        for step in 0..nodes {
            let to = (me + step) % nodes;
            let map = match step {
                0 => LOCAL,
                _ if step % 5 == 0 => HIGH_PRIORITY,
                _ => ANY_DIRECTION,
            };
            let payload = (1 << 30) + u64::from(step * 37);
            let network =
                Network::PointToPoint { destination: to, hints: None, deterministic: step % 3 == 0, zone: 0 };
            let message = Descriptor { map, payload, network, ..put(to, length(me, to)) };
            spi.inject((step % 7) as u16, message).await;
        }
        spi.wait_counter(1 << 20).await;
        spi.measure(1, spi.now());
    })
}

#[test]
fn every_byte_arrives_once_whatever_the_blocks() {
    let config = network(&[3, 2, 2, 1, 2], false);
    let outcome = run(&config, &unit(), crowd, &[3; 5], 1);
    let nodes = 24;
    let lengths: Vec<u64> = (0..nodes).flat_map(|a| (0..nodes).map(move |b| length(a, b))).collect();
    assert_eq!(outcome.1, (lengths.iter().map(|l| l.div_ceil(512)).sum(), lengths.iter().sum()));
    assert!(outcome.0.iter().all(|(_, measurements)| measurements.len() == 1));
    assert_eq!(outcome.2, 24 * 24, "a descriptor for each pair");
    for (block, threads) in [([1, 2, 1, 1, 2], 2), ([2, 1, 2, 1, 1], 3)] {
        assert_eq!(run(&config, &unit(), crowd, &block, threads), outcome);
    }
}

/// The path of a packet, station by station.
#[test]
fn latency_is_the_sum_of_the_stations() {
    fn one(spi: Spi) -> Task {
        Box::pin(async move {
            spi.set_base_address(0, 0);
            spi.set_counter(0, 32);
            if spi.node() == 0 {
                spi.inject(3, put(1, 32)).await;
                spi.measure(0, spi.now());
            } else {
                spi.wait_counter(0).await;
                spi.measure(0, spi.counted_down(0));
                spi.measure(1, spi.now());
            }
        })
    }
    let measurements = run(&network(&[2], false), &unit(), one, &[], 1).0;
    let (sent, seen, on) = (
        measurements[0].1[0].time().ticks(),
        measurements[1].1[0].time().ticks(),
        measurements[1].1[1].time().ticks(),
    );
    let c = unit();
    assert_eq!(sent, 480);
    // To the unit; the descriptor of two times 32 B, which is in the L2 since it was written; the data of
    // one, for which memory brings 512 B; the packet into the network, over a hop and out of it, 4 B per
    // cycle; the data in two writes; the counter in one.
    let (fetch, read, ddr) = (416 + 2 * 10, 416 + 10, 164);
    let (written, counted) = (2 * 10 + 416, 10 + 416);
    let wire = 4 * (2 * 32 + 8);
    let logic = u64::from(c.inject_ticks + c.receive_ticks);
    let pulled = 2 * 32 / 4 * 10;
    assert_eq!(seen - sent, 320 + fetch + read + ddr + logic + 320 + wire + pulled + written + counted);
    // Polled every 40 ticks since the start.
    assert_eq!(on, seen.div_ceil(40) * 40 + 280);
}

/// The time for a node to send long messages in all directions and receive as much, ticks per byte and link.
fn exchange(unit: &MessageUnitConfig) -> f64 {
    fn all_directions(spi: Spi) -> Task {
        Box::pin(async move {
            for port in 0..10u16 {
                spi.set_base_address(port, u64::from(port) << 24);
                spi.set_counter(u64::from(port) << 24, 1 << 18);
            }
            for port in 0..10u16 {
                let kind =
                    Kind::DirectPut { base: port, offset: 4096, counter_base: port, counter_offset: 0 };
                let payload = 1 << 36 | u64::from(port) << 24;
                let network = Network::PointToPoint {
                    destination: 0,
                    hints: Some(1 << port),
                    deterministic: true,
                    zone: 0,
                };
                let message = Descriptor { payload, map: 1 << port, network, kind, ..put(0, 1 << 18) };
                spi.inject(port, message).await;
            }
            for port in 0..10u64 {
                spi.wait_counter(port << 24).await;
            }
            spi.measure(0, spi.now());
        })
    }
    let measurements = run(&network(&[1; 5], true), unit, all_directions, &[], 1).0;
    measurements[0].1[0].time().ticks() as f64 / f64::from(1 << 18)
}

/// The links are the bottleneck unless something else is slower: memory, then the port to the switch, then
/// the network FIFO.
#[test]
fn each_limit_can_be_the_bottleneck() {
    let wide = MessageUnitConfig { ddr_bytes_per_tick: 1e6, ..unit() };
    // A full packet and its acknowledgement are 568 B for 512 B of data, at four ticks per byte; plus a
    // start-up time.
    let links = exchange(&wide);
    assert!((4.43..4.6).contains(&links), "{links}");
    // The L2 is initially empty: all data that ten links send comes from memory, at a byte per tick.
    let memory = exchange(&MessageUnitConfig { ddr_bytes_per_tick: 1.0, ..unit() });
    assert!((10.0..10.6).contains(&memory), "{memory}");
    // 4 reads and 33 writes for a packet of 512 B, by ten engines, one per cycle of ten ticks.
    let port = exchange(&MessageUnitConfig { master_ports: 1, ..wide.clone() });
    assert!((7.1..7.6).contains(&port), "{port}");
    // An engine creates the next packet only when the last one has left.
    let fifo = exchange(&MessageUnitConfig { network_fifo_packets: 1, ..wide });
    assert!(fifo > 1.5 * links, "{fifo} {links}");
}

/// An engine takes the next packet when it has read the data of the last one, whose logic takes longer.
#[test]
fn packets_follow_each_other_through_an_engine() {
    const PACKETS: u16 = 10;
    fn many(spi: Spi) -> Task {
        Box::pin(async move {
            spi.set_base_address(0, 0);
            spi.set_counter(0, u64::from(PACKETS) * 32);
            if spi.node() != 0 {
                return spi.wait_counter(0).await;
            }
            let messages = (0..PACKETS).map(|fifo| (fifo, Descriptor { map: 1, ..put(1, 32) }));
            for (fifo, message) in messages {
                spi.inject(fifo, message).await;
            }
            let mut ends = vec![];
            for fifo in 0..PACKETS {
                spi.wait_injected(fifo, 1).await;
                ends.push(spi.now());
            }
            spi.measure(0, ends[usize::from(PACKETS) - 1] - ends[0]);
        })
    }
    let unit = MessageUnitConfig {
        software: SoftwareConfig { inject_ticks: 20, ..unit().software },
        inject_ticks: 20_000,
        network_fifo_packets: 8,
        ..unit()
    };
    let measurements = run(&network(&[2], false), &unit, many, &[], 1).0;
    let between = measurements[0].1[0].time().ticks();
    assert!(between < 20_000, "{between} ticks between the first and the last of {PACKETS} packets");
}

#[test]
fn a_descriptor_that_cannot_be_sent_names_its_fifo() {
    fn wrong(spi: Spi) -> Task {
        Box::pin(async move { spi.inject(3, put(9, 32)).await })
    }
    let failures = run_failing(&network(&[2], false), wrong);
    let why = "a descriptor in injection FIFO 3: its destination 9 is no node of 2";
    assert_eq!(failures, [0, 1].map(|node| format!("node {node}: inject: {why}")));
}

/// A wait that is over is not ended again by a later event: the next operation takes its full time.
#[test]
fn what_comes_late_ends_no_later_call() {
    const LONG: u64 = 100_000;
    fn late(spi: Spi) -> Task {
        Box::pin(async move {
            spi.set_base_address(0, 0);
            spi.set_counter(0, 8 * 512);
            if spi.node() != 0 {
                return spi.wait_counter(0).await;
            }
            for _ in 0..8 {
                spi.inject(0, put(1, 512)).await;
            }
            // The first has been injected: the other seven move the head of the FIFO while the program
            // computes.
            spi.wait_injected(0, 1).await;
            for call in 0..4 {
                let begin = spi.now();
                spi.compute(LONG / 100).await;
                spi.compute(LONG).await;
                spi.measure(call, spi.now() - begin);
            }
        })
    }
    let measurements = run(&network(&[2], false), &unit(), late, &[], 1).0;
    let took: Vec<u64> = measurements[0].1.iter().map(|m| m.time().ticks()).collect();
    assert_eq!(took, [LONG + LONG / 100; 4]);
}

/// Two long messages from two FIFOs that share an engine take turns, packet by packet.
#[test]
fn messages_interleave() {
    fn two(spi: Spi) -> Task {
        Box::pin(async move {
            let length = 200 * 512;
            spi.set_base_address(0, 0);
            [0, 64].iter().for_each(|&counter| spi.set_counter(counter, length));
            if spi.node() == 0 {
                for counter in [0, 64] {
                    let kind =
                        Kind::DirectPut { base: 0, offset: 4096, counter_base: 0, counter_offset: counter };
                    spi.inject(counter as u16, Descriptor { map: 1, kind, ..put(1, length) }).await;
                }
            } else {
                for counter in [0, 64] {
                    spi.wait_counter(counter).await;
                    spi.measure(counter, spi.counted_down(counter));
                }
            }
        })
    }
    let measurements = run(&network(&[2], false), &unit(), two, &[], 1).0;
    let [first, second] = [0, 1].map(|i| measurements[1].1[i].time().ticks() as f64);
    assert!((first / second - 1.0).abs() < 0.2, "{first} {second}");
}

/// A core runs two threads at full speed. More share its issue slots: the duration of a step depends on the
/// number of threads at its start.
#[test]
fn hardware_threads_share_a_core() {
    // When the first process of several on a node has computed for 1,000 ticks twice, while the others
    // compute for 400 once.
    let ended = |processes: u32| {
        let (config, unit) = (network(&[2, 1, 1, 1, 1], false), unit());
        let outline = config.outline();
        let units = |nodes: &[u32]| {
            netloom_messaging::spi::units(&unit, &outline, nodes, processes, 1, |spi: Spi| async move {
                spi.compute(if spi.process() == 0 { 1000 } else { 400 }).await;
                if spi.process() == 0 {
                    spi.compute(1000).await;
                    spi.measure(0, spi.now());
                }
            })
        };
        let options = BuildOptions { injection_fifos: NETWORK_FIFOS, ..BuildOptions::default() };
        let mut machine = QueuedNetwork::new(&config, &options, units).expect("buildable");
        assert_eq!(machine.run_until(Time::at(1 << 40), 1, &Progress::default()), Reached::Idle);
        let block = machine.blocks().next().expect("a block");
        let (_, _, measured) = block.host().measurements().next().expect("a process");
        measured[0].time().ticks()
    };
    assert_eq!([1, 16, 17, 32].map(ended), [2000; 4]);
    // Three threads on its core, then it alone; and four.
    assert_eq!([33, 64].map(ended), [1500 + 1000, 2000 + 1000]);
}
