//! Functions of the Message Unit other than RDMA writes: packets to FIFOs in memory, RDMA reads, atomic
//! operations, priorities, protection, interrupts.

use crate::units;

use netloom_engine::{Stream, Time};
use netloom_messaging::spi::Spi;
use netloom_messaging::spi::kernel::{Refusal, Resource};
use netloom_nic::message_unit::config::MessageUnitConfig;
use netloom_nic::message_unit::descriptor::{
    ANY_DIRECTION, Atomic, Descriptor, IoLink, Kind, LOCAL, Network, SYSTEM,
};
use netloom_nic::message_unit::fifos::{InjectionFifo, Priority, ReceptionFifo};
use netloom_nic::message_unit::interrupts::{Group, Interrupt};
use netloom_nic::message_unit::protection::{Range, Violation};
use netloom_nic::message_unit::{self, NETWORK_FIFOS, UnitCounters};
use units::{Task, network, run, run_failing, unit};

fn put(destination: u32, length: u64) -> Descriptor {
    Descriptor {
        payload: 1 << 20,
        length,
        map: ANY_DIRECTION,
        network: Network::to(destination),
        kind: Kind::DirectPut { base: 0, offset: 1 << 16, counter_base: 0, counter_offset: 0 },
        prefetch_only: false,
    }
}

fn queued(destination: u32, fifo: u16, software: u128, length: u64) -> Descriptor {
    let map = if destination == u32::MAX { LOCAL } else { ANY_DIRECTION };
    Descriptor {
        map,
        kind: Kind::MemoryFifo { fifo, software, interrupt: false },
        ..put(destination, length)
    }
}

fn fifo(start: u64, size: u64) -> ReceptionFifo {
    ReceptionFifo { start, size_B: size, threshold_B: None }
}

/// All nodes send packets of all sizes to one node's small FIFO, whose software is slow: engines wait for
/// space, the network fills and waits, and each packet arrives once, with its data.
#[test]
fn packets_wait_for_room_and_none_is_lost() {
    const EACH: u64 = 12;
    fn flood(spi: Spi) -> Task {
        Box::pin(async move {
            let mut random = Stream::new(4, 4, spi.node().into());
            if spi.node() == 0 {
                spi.set_reception_fifo(5, fifo(1 << 24, 2048));
                let mut seen = std::collections::BTreeMap::new();
                let expected: u64 = (1..spi.nodes()).map(packets).sum();
                for _ in 0..expected {
                    let packet = spi.receive(5).await;
                    assert_eq!(
                        u128::from(packet.source),
                        packet.software >> 104,
                        "in the first of the fourteen bytes"
                    );
                    let data = packet.data.expect("stored at the sender");
                    assert!(data.iter().all(|&b| u32::from(b) == packet.source), "its sender's bytes");
                    let of = seen.entry(packet.software).or_insert(0u64);
                    *of += data.len() as u64;
                    spi.compute(random.below(4000)).await;
                }
                for n in 1..spi.nodes() {
                    for i in 0..EACH {
                        assert_eq!(seen[&(u128::from(n) << 104 | u128::from(i))], length(n, i));
                    }
                }
                spi.measure(0, spi.now());
            } else {
                spi.store(1 << 20, &vec![spi.node() as u8; 4096]);
                for i in 0..EACH {
                    let software = u128::from(spi.node()) << 104 | u128::from(i);
                    spi.inject(i as u16 % 3, queued(0, 5, software, length(spi.node(), i))).await;
                }
            }
        })
    }
    fn length(node: u32, i: u64) -> u64 {
        1 + Stream::new(3, 3, u64::from(node) << 20 | i).below(1500)
    }
    fn packets(node: u32) -> u64 {
        (0..EACH).map(|i| length(node, i).div_ceil(512)).sum()
    }
    let config = network(&[3, 2, 2, 1, 2], false);
    let first = run(&config, &unit(), flood, &[3; 5], 1);
    assert_eq!(first.0[0].1.len(), 1);
    for (block, threads) in [([1, 2, 1, 1, 2], 2), ([2, 1, 2, 1, 1], 3)] {
        assert_eq!(run(&config, &unit(), flood, &block, threads), first);
    }
}

/// Software that takes nothing stops the network, and so the sender: there is space for a fixed number of
/// packets.
#[test]
fn a_slow_receiver_stops_the_sender() {
    const LATE: u64 = 10_000_000;
    fn slow(spi: Spi) -> Task {
        Box::pin(async move {
            if spi.node() == 0 {
                let settings = InjectionFifo {
                    start: 1 << 24,
                    size_B: 128,
                    priority: Priority::User,
                    remote_get: false,
                    threshold_B: None,
                };
                spi.set_injection_fifo(0, settings);
                for length in [14, 40] {
                    let in_order = Network::in_order(1);
                    spi.inject(0, Descriptor { map: 1, network: in_order, ..queued(1, 5, 0, 512 * length) })
                        .await;
                    spi.measure(length, spi.now());
                }
                spi.inject(0, Descriptor { map: 1, ..put(0, 8) }).await;
                spi.measure(0, spi.now());
            } else {
                spi.set_reception_fifo(5, fifo(1 << 24, 2048));
                spi.compute(LATE).await;
                for i in 0..54 {
                    assert_eq!(spi.receive(5).await.offset / 512, if i < 14 { i } else { i - 14 });
                }
            }
        })
    }
    let measurements = &run(&network(&[2], false), &unit(), slow, &[], 1).0[0].1;
    // Three in memory, three in the network's reception FIFO and its engine, seven in the deterministic VC,
    // two in the injection FIFO: fourteen are sent, and of forty more not all.
    assert!(
        measurements[1].time().ticks() < LATE / 10 && measurements[2].time().ticks() > LATE,
        "{measurements:?}"
    );
}

/// An RDMA read fetches data from a node whose program is idle; the fetched data is that in its memory.
#[test]
fn a_remote_get_brings_data() {
    fn get(spi: Spi) -> Task {
        Box::pin(async move {
            spi.set_base_address(0, 0);
            let numbers: Vec<u8> = (0..3000u32).map(|i| (i * 7 + spi.node()) as u8).collect();
            spi.store(1 << 20, &numbers);
            spi.set_injection_fifo(
                40,
                InjectionFifo {
                    start: 1 << 30,
                    size_B: 1024,
                    priority: Priority::User,
                    remote_get: true,
                    threshold_B: None,
                },
            );
            if spi.node() != 1 {
                return;
            }
            for from in [0u32, 2, 3, 0, 2, 3] {
                spi.set_counter(0, 3000);
                let length = spi.store_descriptors(1 << 21, &[put(1, 3000)]);
                let kind = Kind::RemoteGet { fifo: 40 };
                spi.inject(0, Descriptor { payload: 1 << 21, kind, ..put(from, length) }).await;
                spi.wait_counter(0).await;
                let expected: Vec<u8> = (0..3000u32).map(|i| (i * 7 + from) as u8).collect();
                assert_eq!(spi.load(1 << 16, 3000), expected);
                spi.store(1 << 16, &[0; 3000]);
            }
            spi.measure(0, spi.now());
        })
    }
    let measurements = run(&network(&[4], false), &unit(), get, &[], 1).0;
    assert_eq!(measurements[1].1.len(), 1);
}

/// More RDMA reads than the FIFO for their descriptors holds: the engine waits for space, and none is lost.
#[test]
fn remote_gets_wait_for_space() {
    const READS: u64 = 60;
    fn many(spi: Spi) -> Task {
        Box::pin(async move {
            spi.set_base_address(0, 0);
            let small =
                InjectionFifo { start: 1 << 30, size_B: 1024, remote_get: true, ..InjectionFifo::usual(40) };
            spi.set_injection_fifo(40, small);
            if spi.node() == 0 {
                return;
            }
            spi.set_counter(0, READS * 3000);
            let length = spi.store_descriptors(1 << 21, &[put(spi.node(), 3000)]);
            for _ in 0..READS {
                let kind = Kind::RemoteGet { fifo: 40 };
                spi.inject(0, Descriptor { payload: 1 << 21, kind, ..put(0, length) }).await;
            }
            spi.wait_counter(0).await;
            spi.measure(0, spi.now());
        })
    }
    let measurements = run(&network(&[4], false), &unit(), many, &[], 1).0;
    assert!(measurements[1..].iter().all(|n| n.1.len() == 1));
}

/// Words that many nodes put to one node by an operation of the L2: all count, in any order.
#[test]
fn atomic_puts_all_count() {
    fn add(spi: Spi) -> Task {
        Box::pin(async move {
            spi.set_base_address(0, 0);
            let cases = [(Atomic::Add, 0u64), (Atomic::Or, 8), (Atomic::Xor, 16), (Atomic::MaxUnsigned, 24)];
            spi.set_counter(0, 8 * u64::from(spi.nodes()) * cases.len() as u64);
            spi.store(1 << 20, &(1u64 << spi.node() | 1).to_be_bytes());
            for (atomic, at) in cases {
                let kind = Kind::AtomicPut {
                    atomic,
                    base: 0,
                    offset: 4096 + at,
                    counter_base: 0,
                    counter_offset: 0,
                };
                let map = if spi.node() == 2 { LOCAL } else { ANY_DIRECTION };
                spi.inject(1, Descriptor { kind, map, ..put(2, 8) }).await;
            }
            if spi.node() == 2 {
                spi.wait_counter(0).await;
                let word = |at: u64| u64::from_be_bytes(spi.load(4096 + at, 8).try_into().expect("eight"));
                let terms: Vec<u64> = (0..spi.nodes()).map(|n| 1u64 << n | 1).collect();
                assert_eq!(word(0), terms.iter().sum::<u64>());
                assert_eq!(word(8), terms.iter().fold(0, |a, b| a | b));
                assert_eq!(word(16), terms.iter().fold(0, |a, b| a ^ b));
                assert_eq!(word(24), *terms.iter().max().expect("some"));
                spi.measure(0, 1);
            }
        })
    }
    let measurements = run(&network(&[4, 3], false), &unit(), add, &[2, 2], 1).0;
    assert_eq!(measurements[2].1.len(), 1);
}

/// Descriptors of higher priority are taken first: a long user message waits while a system message is sent.
#[test]
fn descriptors_have_priorities() {
    fn three(spi: Spi) -> Task {
        Box::pin(async move {
            spi.set_base_address(0, 0);
            let length = 100 * 512;
            (0..3).for_each(|i| spi.set_counter(64 * i, length));
            if spi.node() == 0 {
                for (i, priority) in
                    [Priority::User, Priority::UserHigh, Priority::System].into_iter().enumerate()
                {
                    let start = (1u64 << 32) + (1 << 16) * i as u64;
                    let settings =
                        InjectionFifo { start, size_B: 4096, priority, remote_get: false, threshold_B: None };
                    spi.set_injection_fifo(i as u16, settings);
                    let kind = Kind::DirectPut {
                        base: 0,
                        offset: 1 << 16,
                        counter_base: 0,
                        counter_offset: 64 * i as u64,
                    };
                    spi.inject(i as u16, Descriptor { map: 1, kind, ..put(1, length) }).await;
                }
            } else {
                for i in [2, 1, 0] {
                    spi.wait_counter(64 * i).await;
                    spi.measure(i, spi.counted_down(64 * i));
                }
            }
        })
    }
    let measurements = run(&network(&[2], false), &unit(), three, &[], 1).0;
    let [system, high, user] = [0, 1, 2].map(|i| measurements[1].1[i].time().ticks());
    let packet = 568 * 4;
    assert!(high - system > 90 * packet && user - high > 90 * packet, "{system} {high} {user}");
}

/// The violations and counters of the units of two nodes, at the end of a program.
fn afterwards(program: fn(Spi) -> Task) -> (Vec<(u32, Violation, u64)>, Vec<UnitCounters>) {
    let (network, unit) = (network(&[2], false), unit());
    let outline = network.outline();
    let options =
        netloom_fabric::router::BuildOptions { injection_fifos: NETWORK_FIFOS, ..Default::default() };
    let mut machine = netloom_fabric::router::queued::QueuedNetwork::new(&network, &options, |nodes| {
        netloom_messaging::spi::units(&unit, &outline, nodes, 1, 1, program)
    })
    .expect("buildable");
    machine.run_until(Time::at(1 << 40), 1, &netloom_engine::Progress::default());
    assert_eq!((machine.stall(), machine.unrest()), (None, vec![]));
    use netloom_fabric::router::RouterBlock;
    assert_eq!(machine.blocks().flat_map(|b| b.host().unfinished().collect::<Vec<_>>()).count(), 0);
    let refused =
        machine.blocks().flat_map(|b| message_unit::refused(b.host()).collect::<Vec<_>>()).collect();
    (refused, machine.blocks().flat_map(|b| b.host().counters().map(|c| c.1).collect::<Vec<_>>()).collect())
}

/// A program that allocates all its resources from the kernel, frees them, and allocates them again; its
/// memory has the address given by the kernel.
#[test]
fn the_kernel_gives_and_takes() {
    fn polite(spi: Spi) -> Task {
        Box::pin(async move {
            let data: Vec<u8> = (0..1000u32).map(|i| (i * 3) as u8).collect();
            let region = spi.memory_region(0x7000_0123, 4096).expect("memory");
            for round in 0..3u128 {
                let injection = spi.allocate(Resource::InjectionFifo, 528).expect("all of them");
                assert_eq!(
                    spi.allocate(Resource::InjectionFifo, 1),
                    Err(Refusal::TooFew(Resource::InjectionFifo, 1, 0))
                );
                let [base] = spi.allocate(Resource::BaseAddress, 1).expect("one")[..] else { panic!("one") };
                let [reception] = spi.allocate(Resource::ReceptionFifo, 1).expect("one")[..] else {
                    panic!("one")
                };
                let at = |address: u64, bytes: u64| region.translate(address, bytes).expect("inside");
                spi.set_base_address(base, at(0x7000_0123, 4096));
                let counter = at(0x7000_0123 + 8, 8);
                if spi.node() == 1 {
                    spi.set_counter(counter, 1000);
                    spi.inject(injection[0], queued(0, reception, round, 8)).await;
                    spi.wait_counter(counter).await;
                    assert_eq!(spi.load(at(0x7000_0123 + 100, 1000), 1000), data);
                    spi.wait_injected(injection[0], 1).await;
                } else {
                    assert_eq!(spi.receive(reception).await.software, round);
                    let payload = at(0x7000_0123 + 2000, 1000);
                    spi.store(payload, &data);
                    let kind = Kind::DirectPut { base, offset: 100, counter_base: base, counter_offset: 8 };
                    spi.inject(injection[527], Descriptor { payload, kind, ..put(1, 1000) }).await;
                    spi.wait_injected(injection[527], 1).await;
                }
                for fifo in injection {
                    spi.free(Resource::InjectionFifo, fifo).expect("its own");
                }
                spi.free(Resource::ReceptionFifo, reception).expect("its own");
                spi.free(Resource::BaseAddress, base).expect("its own");
                assert!(spi.free(Resource::BaseAddress, base).is_err(), "it is no longer");
            }
            spi.measure(0, 1);
        })
    }
    let measurements = run(&network(&[2], false), &unit(), polite, &[], 1).0;
    assert!(measurements.iter().all(|n| n.1.len() == 1));
}

#[test]
fn a_fifo_in_use_is_not_freed() {
    fn hasty(spi: Spi) -> Task {
        Box::pin(async move {
            let fifo = spi.allocate(Resource::InjectionFifo, 1).expect("one")[0];
            if spi.node() == 0 {
                spi.inject(fifo, queued(1, 0, 0, 8)).await;
                spi.free(Resource::InjectionFifo, fifo).expect("its own");
            }
        })
    }
    let failures = run_failing(&network(&[2], false), hasty);
    assert_eq!(failures, ["node 0: free: injection FIFO 0 is freed with 64 B of descriptors in it"]);
}

/// Violations are counted, reported on request, and affect nothing else.
#[test]
fn what_is_not_allowed_is_refused() {
    fn wrong(spi: Spi) -> Task {
        Box::pin(async move {
            spi.set_base_address(0, 0);
            spi.set_counter(0, 1000);
            if spi.node() == 1 {
                spi.set_range(0, Some(Range { first: 0, last: (1 << 17) - 1, injection_only: false }));
                spi.set_interrupt(Interrupt::Refused, Some(Group::Critical));
                // Five violations by incoming packets.
                for _ in 0..5 {
                    assert_eq!(spi.wait_interrupt(Group::Critical).await, Interrupt::Refused);
                }
                spi.wait_counter(0).await;
            } else {
                let to = |base, offset| Kind::DirectPut { base, offset, counter_base: 0, counter_offset: 0 };
                // Two packets outside the range; an unset entry; a remote get for a FIFO that allows none,
                // and one whose FIFO does not exist there.
                spi.inject(0, Descriptor { kind: to(0, 1 << 18), ..put(1, 1000) }).await;
                spi.inject(0, Descriptor { kind: to(7, 0), ..put(1, 100) }).await;
                spi.inject(0, Descriptor { kind: Kind::RemoteGet { fifo: 3 }, ..put(1, 64) }).await;
                spi.inject(0, Descriptor { kind: Kind::RemoteGet { fifo: 543 }, ..put(1, 64) }).await;
                // The system's network FIFO in a user's descriptor.
                let network = Network::System { destination: 1, io: IoLink::None };
                spi.inject(0, Descriptor { map: SYSTEM, network, ..put(1, 100) }).await;
                // And a valid one.
                spi.inject(0, Descriptor { kind: to(0, 1 << 16), ..put(1, 1000) }).await;
            }
        })
    }
    assert_eq!(
        afterwards(wrong).0,
        [
            (0, Violation::Permission, 1),
            (1, Violation::Range, 2),
            (1, Violation::BaseAddress, 1),
            (1, Violation::RemoteGet, 2)
        ]
    );
}

/// A packet that may not be stored blocks no other: neither those that wait for space before and after it,
/// nor the place that it would have had in a FIFO.
#[test]
fn what_is_refused_blocks_nothing() {
    fn behind(spi: Spi) -> Task {
        Box::pin(async move {
            spi.set_base_address(0, 0);
            spi.set_counter(0, 100);
            let get = |start| InjectionFifo {
                start,
                size_B: 640,
                priority: Priority::User,
                remote_get: true,
                threshold_B: None,
            };
            if spi.node() == 1 {
                // Two FIFOs for packets and two for descriptors, one of each outside the range.
                spi.set_range(0, Some(Range { first: 0, last: (1 << 25) - 1, injection_only: false }));
                spi.set_reception_fifo(5, fifo(1 << 24, 2048));
                spi.set_reception_fifo(6, fifo(1 << 26, 2048));
                spi.set_injection_fifo(40, get(1 << 23));
                spi.set_injection_fifo(41, get(1 << 27));
                spi.compute(1_000_000).await;
                for i in 0..6 {
                    assert_eq!(spi.receive(5).await.offset, 512 * i);
                }
                // Packets sent after them, on a fixed route.
                spi.wait_counter(0).await;
                assert_eq!(spi.receive(5).await.software, 2);
            } else {
                let ordered = |d: Descriptor| Descriptor { map: 1, network: Network::in_order(1), ..d };
                spi.inject(0, ordered(queued(1, 5, 0, 512 * 6))).await;
                let unset = Kind::DirectPut { base: 9, offset: 0, counter_base: 0, counter_offset: 0 };
                spi.inject(0, ordered(Descriptor { kind: unset, ..put(1, 100) })).await;
                for _ in 0..9 {
                    spi.inject(0, ordered(queued(1, 6, 0, 512))).await;
                    spi.inject(0, ordered(Descriptor { kind: Kind::RemoteGet { fifo: 41 }, ..put(1, 64) }))
                        .await;
                }
                spi.inject(0, ordered(put(1, 100))).await;
                spi.inject(0, ordered(queued(1, 5, 2, 512))).await;
            }
        })
    }
    let (refused, counters) = afterwards(behind);
    assert_eq!(refused, [(1, Violation::Range, 18), (1, Violation::BaseAddress, 1)]);
    let received = &counters[1];
    assert_eq!((received.fifo_packets, received.put_packets, received.get_packets), (7, 1, 0));
    assert_eq!(received.violations, 19);
}

/// The unit's performance counters.
#[test]
fn units_count_what_they_do() {
    fn some(spi: Spi) -> Task {
        Box::pin(async move {
            spi.set_base_address(0, 0);
            spi.set_counter(0, 1100);
            if spi.node() == 0 {
                // Three packets by the engine of +x, which uses the first master port; aligned to 128 B.
                spi.inject(2, Descriptor { map: 1, ..put(1, 1100) }).await;
            } else {
                spi.wait_counter(0).await;
            }
        })
    }
    let (refused, counters) = afterwards(some);
    assert_eq!(refused, []);
    let [sent, received] = [0, 1].map(|n| counters[n]);
    assert_eq!((sent.messages, sent.packets, sent.slave_stores), (1, 3, 1));
    // 512 B, 512 B and 76 B: eight lines, and 64 B and 32 B; the descriptor's 64 B, through the fetcher's
    // port, which is also the first.
    assert_eq!(sent.requests[0], [0, 1, 2, 8]);
    assert_eq!((received.put_packets, received.fifo_packets), (3, 0));
    // Arrived over the link of -x, through whose engine's port they are written, 16 B per request, and three
    // counters.
    assert_eq!(received.requests[1], [32 + 32 + 5 + 3, 0, 0, 0]);
}

/// A message that requests it interrupts when its last packet has arrived; so do FIFOs that pass their
/// thresholds.
#[test]
fn interrupts_report_their_causes() {
    fn reported(spi: Spi) -> Task {
        Box::pin(async move {
            if spi.node() == 1 {
                spi.set_reception_fifo(3, ReceptionFifo { threshold_B: Some(1000), ..fifo(1 << 24, 2048) });
                spi.set_interrupt(Interrupt::Arrived(0), Some(Group::NonCritical));
                spi.set_interrupt(Interrupt::ReceptionRoom(0), Some(Group::MachineCheck));
                assert_eq!(spi.wait_interrupt(Group::NonCritical).await, Interrupt::Arrived(3));
                let mut packets = vec![];
                for _ in 0..3 {
                    packets.push(spi.receive(3).await.offset);
                }
                packets.sort_unstable();
                assert_eq!(packets, [0, 512, 1024]);
                assert_eq!(spi.wait_interrupt(Group::MachineCheck).await, Interrupt::ReceptionRoom(3));
            } else {
                let settings = InjectionFifo {
                    start: 1 << 24,
                    size_B: 128,
                    priority: Priority::User,
                    remote_get: false,
                    threshold_B: Some(0),
                };
                spi.set_injection_fifo(2, settings);
                spi.set_interrupt(Interrupt::InjectionRoom(0), Some(Group::Critical));
                let kind = Kind::MemoryFifo { fifo: 3, software: 9, interrupt: true };
                spi.inject(2, Descriptor { kind, ..put(1, 1500) }).await;
                assert_eq!(spi.wait_interrupt(Group::Critical).await, Interrupt::InjectionRoom(2));
            }
            spi.measure(0, 1);
        })
    }
    let measurements = run(&network(&[2], false), &unit(), reported, &[], 1).0;
    assert!(measurements.iter().all(|n| n.1.len() == 1));
}

/// An injection FIFO of two places holds one descriptor: the next waits for it to be sent.
#[test]
fn a_full_injection_fifo_is_waited_for() {
    fn small(spi: Spi) -> Task {
        Box::pin(async move {
            spi.set_base_address(0, 0);
            spi.set_counter(0, 20 * 512);
            if spi.node() == 0 {
                let usual = InjectionFifo {
                    start: 1 << 24,
                    size_B: 128,
                    priority: Priority::User,
                    remote_get: false,
                    threshold_B: None,
                };
                spi.set_injection_fifo(2, usual);
                for _ in 0..20 {
                    spi.inject(2, put(1, 512)).await;
                }
                spi.measure(0, spi.now());
            } else {
                spi.wait_counter(0).await;
            }
        })
    }
    let small_fifo = run(&network(&[2], false), &unit(), small, &[], 1);
    assert_eq!(small_fifo.2, 20);
    // Each one takes its time from the tail to the network before the next is written.
    assert!(small_fifo.0[0].1[0].time().ticks() > 19 * 2000, "{:?}", small_fifo.0[0]);
}

/// Data fetched only into the L2 is there when it is sent; nothing else happens.
#[test]
fn prefetched_data_need_not_be_fetched() {
    fn fetch(spi: Spi, first: bool) -> Task {
        Box::pin(async move {
            spi.set_base_address(0, 0);
            spi.set_counter(0, 1 << 16);
            if spi.node() == 0 {
                if first {
                    spi.inject(0, Descriptor { prefetch_only: true, ..put(1, 1 << 16) }).await;
                }
                spi.compute(1_000_000).await;
                let begin = spi.now();
                spi.inject(0, put(1, 1 << 16)).await;
                spi.wait_counter(8).await;
                spi.measure(0, begin);
            } else {
                spi.wait_counter(0).await;
                spi.measure(0, spi.counted_down(0));
            }
        })
    }
    let slow = MessageUnitConfig { ddr_bytes_per_tick: 0.1, ..unit() };
    let time = |program: fn(Spi) -> Task| {
        let (measurements, stored, ..) = run(&network(&[2], false), &slow, program, &[], 1);
        assert_eq!(stored, (128, 1 << 16));
        measurements[1].1[0].time().ticks() - measurements[0].1[0].time().ticks()
    };
    let (with, without) = (time(|spi| fetch(spi, true)), time(|spi| fetch(spi, false)));
    assert!(2 * with < without, "{with} {without}");
}

#[test]
fn fifos_that_overlap_are_named() {
    fn overlap(spi: Spi) -> Task {
        Box::pin(async move {
            if spi.node() == 1 {
                for (number, start, size) in [(3, 0x1000, 128), (4, 0x1040, 512)] {
                    let settings = InjectionFifo {
                        start,
                        size_B: size,
                        priority: Priority::User,
                        remote_get: false,
                        threshold_B: None,
                    };
                    spi.set_injection_fifo(number, settings);
                }
            }
        })
    }
    let failures = run_failing(&network(&[2], false), overlap);
    let why = "start: 0x1040 and 512 B overlap FIFO 3, of 128 B at 0x1000";
    assert_eq!(failures, [format!("node 1: set_injection_fifo: injection FIFO 4: {why}")]);
}
