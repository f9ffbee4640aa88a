//! Collective operations and barriers by programs on Message Units: data in memory is combined and stored at
//! all nodes, and no node leaves a barrier before all have entered.

use crate::units;

use netloom_engine::Stream;
use netloom_fabric::collective::route::Rectangle;
use netloom_fabric::collective::{ClassRoute, Delivers, Operation, RouteKind};
use netloom_fabric::config::{LinkFault, Topology};
use netloom_fabric::topology::torus::Torus;
use netloom_messaging::spi::Spi;
use netloom_nic::message_unit::descriptor::{
    ANY_DIRECTION, COLLECTIVE, Descriptor, Kind, Network, SYSTEM_COLLECTIVE,
};
use netloom_nic::message_unit::fifos::{InjectionFifo, Priority, ReceptionFifo};
use netloom_nic::message_unit::interrupts::{Group, Interrupt};
use units::{Task, network, run, run_failing, unit};

const DIMS: [u32; 5] = [3, 2, 2, 1, 2];

fn torus() -> Torus {
    Torus::new(&Topology { dims: DIMS.into(), ..Topology::default() })
}

/// A node's registers in the tree over a box from the origin.
fn route(node: u32, high: [u8; 5], kind: RouteKind) -> Option<ClassRoute> {
    let (torus, rectangle) = (torus(), Rectangle { low: [0; 5], high });
    rectangle.route(&torus, rectangle.middle(), torus.coordinates(node), kind)
}

const WHOLE: [u8; 5] = [2, 1, 1, 0, 1];

fn collective(
    class: u8,
    kind: RouteKind,
    operation: Operation,
    delivers: Delivers,
    length: u64,
) -> Descriptor {
    Descriptor {
        payload: 1 << 20,
        length,
        map: if kind == RouteKind::System { SYSTEM_COLLECTIVE } else { COLLECTIVE },
        network: Network::Collective { class, kind, operation, word_B: 8, delivers },
        kind: Kind::DirectPut { base: 0, offset: 1 << 16, counter_base: 0, counter_offset: 0 },
        prefetch_only: false,
    }
}

/// Sums of several packets, in both kinds of FIFO; and a sum delivered to one node.
#[test]
fn what_lies_in_memory_is_summed() {
    fn sums(spi: Spi) -> Task {
        Box::pin(async move {
            spi.set_base_address(0, 0);
            let words = 150;
            spi.set_injection_fifo(
                1,
                InjectionFifo {
                    start: 1 << 30,
                    size_B: 1 << 12,
                    priority: Priority::System,
                    remote_get: false,
                    threshold_B: None,
                },
            );
            spi.set_class_route(3, route(spi.node(), WHOLE, RouteKind::UserSubcomm).expect("all are in it"));
            // They share a VC, so they may not share links: one over the first dimension, one over the
            // second.
            let classes =
                [(2, RouteKind::UserCommworld, [2, 0, 0, 0, 0]), (14, RouteKind::System, [0, 1, 0, 0, 0])];
            for (class, kind, high) in classes {
                route(spi.node(), high, kind).into_iter().for_each(|route| spi.set_class_route(class, route));
            }
            for (class, kind, high) in classes {
                if route(spi.node(), high, kind).is_none() {
                    continue;
                }
                let members: Vec<u32> =
                    (0..spi.nodes()).filter(|&n| self::route(n, high, kind).is_some()).collect();
                spi.set_counter(0, 8 * words);
                let term = |node: u32, i: u64| f64::from(node * 1000) + i as f64 / 4.0;
                let numbers: Vec<f64> = (0..words).map(|i| term(spi.node(), i)).collect();
                spi.store_doubles(1 << 20, &numbers);
                let fifo = u16::from(kind == RouteKind::System);
                spi.inject(
                    fifo,
                    collective(class, kind, Operation::AddDouble, Delivers::AllReduce, 8 * words),
                )
                .await;
                spi.wait_counter(0).await;
                let sum = |i: u64| members.iter().map(|&n| term(n, i)).sum::<f64>();
                let got = spi.load_doubles(1 << 16, words as usize);
                assert!((0..words).all(|i| got[i as usize] == sum(i)), "node {}", spi.node());
            }
            // To node 5 alone.
            let (kind, to) = (RouteKind::UserSubcomm, 5);
            spi.set_counter(0, 8);
            spi.store(1 << 20, &u64::from(spi.node() + 1).to_be_bytes());
            spi.store(1 << 16, &[9; 8]);
            let delivers = Delivers::Reduce(torus().coordinates(to));
            spi.inject(0, collective(3, kind, Operation::MaxUnsigned, delivers, 8)).await;
            if spi.node() == to {
                spi.wait_counter(0).await;
                assert_eq!(spi.load(1 << 16, 8), u64::from(spi.nodes()).to_be_bytes());
            } else {
                spi.compute(100_000).await;
                assert_eq!(spi.load(1 << 16, 8), [9; 8], "node {}", spi.node());
            }
            spi.measure(0, 1);
        })
    }
    let first = run(&network(&DIMS, false), &unit(), sums, &[3; 5], 1);
    assert_eq!(first.0.iter().filter(|n| n.1.len() == 1).count(), 24);
    assert_eq!(run(&network(&DIMS, false), &unit(), sums, &[1, 2, 1, 1, 2], 2), first);
}

/// One node's data reaches all memories, including its own.
#[test]
fn a_broadcast_reaches_all() {
    fn broadcast(spi: Spi) -> Task {
        Box::pin(async move {
            spi.set_base_address(0, 0);
            let kind = RouteKind::UserSubcomm;
            spi.set_class_route(0, route(spi.node(), WHOLE, kind).expect("all are in it"));
            let text: Vec<u8> = (0..2000).map(|i| (i % 251) as u8).collect();
            spi.set_counter(0, 2000);
            if spi.node() == 7 {
                spi.store(1 << 20, &text);
                spi.inject(4, collective(0, kind, Operation::Or, Delivers::Broadcast, 2000)).await;
            }
            spi.wait_counter(0).await;
            assert_eq!(spi.load(1 << 16, 2000), text, "node {}", spi.node());
            spi.measure(0, spi.now());
        })
    }
    let first = run(&network(&DIMS, false), &unit(), broadcast, &[3; 5], 1);
    assert_eq!(first.1, (24 * 4, 24 * 2000));
    assert_eq!(run(&network(&DIMS, false), &unit(), broadcast, &[2, 1, 2, 1, 1], 3), first);
}

/// Two barrier classes at the same time, over a part and over all nodes, entered at any time: each is left
/// after the last node has entered, and soon after; with lost packets, after their retransmission.
#[test]
fn no_rank_leaves_before_all_have_entered() {
    const ROUNDS: u64 = 7;
    fn barriers(spi: Spi) -> Task {
        Box::pin(async move {
            let kind = RouteKind::UserSubcomm;
            let classes: [(u8, [u8; 5]); 2] = [(0, WHOLE), (9, [1, 1, 1, 0, 0])];
            for (class, high) in classes {
                if let Some(route) = route(spi.node(), high, kind) {
                    spi.set_barrier(class, route);
                }
            }
            let mut random = Stream::new(8, 8, spi.node().into());
            for round in 0..ROUNDS {
                for (class, high) in classes {
                    if route(spi.node(), high, kind).is_some() {
                        spi.compute(random.below(20_000)).await;
                        spi.measure(u64::from(class) << 32 | round << 1, spi.now());
                        spi.enter_barrier(class, round).await;
                        spi.wait_barrier(class, round).await;
                        spi.measure(u64::from(class) << 32 | round << 1 | 1, spi.now());
                    }
                }
            }
        })
    }
    // A store, at most four levels up and down, a poll in either direction; and some timeouts if one packet
    // in eight is lost.
    for (rate, most) in [(0.0, 10_000), (2e-3, 10_000 + 12 * 17_000)] {
        let mut config = network(&DIMS, false);
        config.link.bit_error_rate = rate;
        let first = run(&config, &unit(), barriers, &[3; 5], 1);
        let mut slowest = 0;
        for (class, members) in [(0u64, 24), (9, 8)] {
            for round in 0..ROUNDS {
                let times = |left: u64| -> Vec<u64> {
                    let of = class << 32 | round << 1 | left;
                    first
                        .0
                        .iter()
                        .flat_map(|n| &n.1)
                        .filter(|n| n.key == of)
                        .map(|n| n.time().ticks())
                        .collect()
                };
                let (entered, left) = (times(0), times(1));
                assert_eq!((entered.len(), left.len()), (members, members));
                let last = entered.iter().max().expect("some");
                assert!(left.iter().all(|t| t > last), "class {class} round {round}");
                slowest = left.iter().map(|t| t - last).max().max(Some(slowest)).expect("some");
            }
        }
        assert!(slowest < most && (rate == 0.0 || slowest > 16_000), "{slowest}");
        assert_eq!(run(&config, &unit(), barriers, &[1, 2, 1, 1, 2], 2), first);
    }
}

/// All nodes receive the bits that a node sets, and their change when no node sets them any more.
#[test]
fn an_interrupt_is_heard_by_all() {
    fn alarm(spi: Spi) -> Task {
        Box::pin(async move {
            spi.set_barrier(3, route(spi.node(), WHOLE, RouteKind::UserSubcomm).expect("all are in it"));
            spi.set_barrier_bits(3, 0).await;
            spi.compute(20_000).await;
            assert_eq!(spi.status(3).0, 0);
            if spi.node() == 11 {
                spi.set_barrier_bits(3, 0b010).await;
            }
            spi.compute(20_000).await;
            assert_eq!(spi.status(3).0, 0b010);
            spi.measure(0, spi.status(3).1);
        })
    }
    let measurements = run(&network(&DIMS, false), &unit(), alarm, &[2; 5], 2).0;
    assert!(measurements.iter().all(|n| n.1.len() == 1));
}

#[test]
fn there_are_sixteen_class_routes() {
    fn wrong(spi: Spi) -> Task {
        Box::pin(async move {
            if spi.node() == 2 {
                spi.set_class_route(16, ClassRoute::default());
            }
        })
    }
    let failures = run_failing(&network(&[4], false), wrong);
    assert_eq!(failures, ["node 2: set_class_route: class route 16 of 16"]);
}

/// One node broadcasts a short RDMA read: it triggers all nodes' contributions to a long sum (section II.C),
/// whose data no processor touched.
#[test]
fn a_remote_get_sets_off_a_reduction() {
    fn reduction(spi: Spi) -> Task {
        Box::pin(async move {
            let (kind, words) = (RouteKind::UserSubcomm, 400u64);
            spi.set_base_address(0, 0);
            spi.set_class_route(0, route(spi.node(), WHOLE, kind).expect("all are in it"));
            spi.set_injection_fifo(
                9,
                InjectionFifo {
                    start: 1 << 30,
                    size_B: 1 << 12,
                    priority: Priority::User,
                    remote_get: true,
                    threshold_B: None,
                },
            );
            spi.set_counter(0, 8 * words);
            let numbers: Vec<f64> = (0..words).map(|i| f64::from(spi.node()) + i as f64).collect();
            spi.store_doubles(1 << 20, &numbers);
            if spi.node() == 3 {
                let sum = collective(0, kind, Operation::AddDouble, Delivers::AllReduce, 8 * words);
                let length = spi.store_descriptors(1 << 21, &[sum]);
                let get = Descriptor {
                    payload: 1 << 21,
                    kind: Kind::RemoteGet { fifo: 9 },
                    ..collective(0, kind, Operation::Or, Delivers::Broadcast, length)
                };
                spi.inject(0, get).await;
            }
            spi.wait_counter(0).await;
            let got = spi.load_doubles(1 << 16, words as usize);
            let all = f64::from((0..spi.nodes()).sum::<u32>());
            assert!((0..words as usize).all(|i| got[i] == all + f64::from(spi.nodes()) * i as f64));
            spi.measure(0, spi.now());
        })
    }
    let first = run(&network(&DIMS, false), &unit(), reduction, &[3; 5], 1);
    assert_eq!(first.0.iter().filter(|n| n.1.len() == 1).count(), 24);
    assert_eq!(run(&network(&DIMS, false), &unit(), reduction, &[2, 1, 2, 1, 1], 3), first);
}

/// Sums that overflow interrupt all nodes that enabled it.
#[test]
fn an_overflow_interrupts_all() {
    fn overflow(spi: Spi) -> Task {
        Box::pin(async move {
            let kind = RouteKind::UserSubcomm;
            spi.set_base_address(0, 0);
            spi.set_class_route(0, route(spi.node(), WHOLE, kind).expect("all are in it"));
            spi.set_interrupt(Interrupt::Arithmetic, Some(Group::NonCritical));
            spi.store(1 << 20, &u64::MAX.to_be_bytes());
            spi.inject(0, collective(0, kind, Operation::AddUnsigned, Delivers::AllReduce, 8)).await;
            assert_eq!(spi.wait_interrupt(Group::NonCritical).await, Interrupt::Arithmetic);
            spi.measure(0, spi.now());
        })
    }
    let measurements = run(&network(&DIMS, false), &unit(), overflow, &[3; 5], 1).0;
    assert!(measurements.iter().all(|n| n.1.len() == 1));
}

/// A node whose software does not empty a FIFO stops broadcasts into it, and so the sender: there is space
/// for a fixed number of packets.
#[test]
fn a_slow_receiver_stops_a_broadcast() {
    const LATE: u64 = 10_000_000;
    fn slow(spi: Spi) -> Task {
        Box::pin(async move {
            let kind = RouteKind::UserSubcomm;
            spi.set_class_route(0, route(spi.node(), WHOLE, kind).expect("all are in it"));
            if spi.node() == 0 {
                let settings = InjectionFifo {
                    start: 1 << 30,
                    size_B: 128,
                    priority: Priority::User,
                    remote_get: false,
                    threshold_B: None,
                };
                spi.set_injection_fifo(0, settings);
                for packets in [10, 90] {
                    let message = collective(0, kind, Operation::Or, Delivers::Broadcast, 512 * packets);
                    let kind = Kind::MemoryFifo { fifo: 5, software: 0, interrupt: false };
                    spi.inject(0, Descriptor { kind, ..message }).await;
                    spi.measure(packets, spi.now());
                }
                let last = collective(0, kind, Operation::Or, Delivers::Broadcast, 8);
                let kind = Kind::MemoryFifo { fifo: 6, software: 0, interrupt: false };
                spi.inject(0, Descriptor { kind, ..last }).await;
                spi.measure(0, spi.now());
            }
            if spi.node() == 23 {
                spi.set_reception_fifo(5, ReceptionFifo { start: 1 << 24, size_B: 2048, threshold_B: None });
                spi.compute(LATE).await;
                for _ in 0..100 {
                    spi.receive(5).await;
                }
            }
        })
    }
    let measurements = &run(&network(&DIMS, false), &unit(), slow, &[3; 5], 1).0[0].1;
    assert!(
        measurements[1].time().ticks() < LATE / 10 && measurements[2].time().ticks() > LATE,
        "{measurements:?}"
    );
}

/// A lost barrier packet is retransmitted although its link is busy when the timeout expires, and other
/// classes change in the meantime.
#[test]
fn lost_barrier_packets_are_said_again_on_busy_links() {
    const ROUNDS: u64 = 60;
    fn busy(spi: Spi) -> Task {
        Box::pin(async move {
            let route =
                |inputs, output| ClassRoute { kind: RouteKind::UserSubcomm, inputs, output, local: true };
            // Nodes 1 and 2 wait for one another; node 0's continual changes reach node 1 in another class.
            match spi.node() {
                0 => spi.set_barrier(9, route(0, Some(0))),
                1 => {
                    spi.set_barrier(9, route(1 << 1, None));
                    spi.set_barrier(0, route(0, Some(0)));
                }
                _ => spi.set_barrier(0, route(1 << 1, None)),
            }
            spi.set_base_address(0, 0);
            if spi.node() == 0 {
                for i in 0..20_000 {
                    spi.set_barrier_bits(9, i).await;
                    spi.compute(300).await;
                }
                return;
            }
            for round in 0..ROUNDS {
                if spi.node() == 1 {
                    for _ in 0..40 {
                        let kind =
                            Kind::DirectPut { base: 0, offset: 64, counter_base: 0, counter_offset: 0 };
                        let network = Network::in_order(2);
                        let map = ANY_DIRECTION;
                        let put =
                            Descriptor { payload: 0, length: 8, map, network, kind, prefetch_only: false };
                        spi.inject(round as u16 % 4, put).await;
                    }
                }
                spi.enter_barrier(0, round).await;
                spi.wait_barrier(0, round).await;
            }
            spi.measure(0, ROUNDS);
        })
    }
    let mut config = network(&[3], false);
    config.topology.wrap = vec![false];
    let fault = LinkFault {
        node: vec![1],
        direction: "+x".into(),
        bit_error_rate: Some(1e-3),
        fibre: None,
        fibre_error_rate: None,
        escape: None,
    };
    config.link.faults = vec![fault];
    let measurements = run(&config, &unit(), busy, &[], 1).0;
    assert_eq!(measurements.iter().filter(|n| n.1.len() == 1).count(), 2, "both came to the end");
}
