//! Order of service: queues, the network before injection, the bypass, priority.

use crate::bluegene;
use crate::reference::node::{Place, Source};
use crate::reference::packet::{Packet, PacketSpec};
use crate::reference::random::Random;
use crate::reference::{FIFOS_NORMAL, Reference, workload};
use netloom_fabric::config::TorusConfig;

/// A machine of 8x8 whose node 9 has packets that all request its link to node 10, placed there manually:
/// `waiting` lists their incoming port, the VC, and their number; `injected` those in the first FIFO. Returns
/// the holder of the packet that was granted the link in the next tick.
fn first_granted(
    config: &TorusConfig,
    seed: u64,
    waiting: &[(usize, usize, u32)],
    injected: usize,
) -> Source {
    let mut reference = Reference::new(config, seed);
    for &(port, vc, count) in waiting {
        for _ in 0..count {
            let packet = reference.inject(9, 0, workload::full(12, 0));
            let place = Place { packet, vc, chunks: 8, tokens: 8 };
            reference.nodes[9].ports[port].receiver.vcs[vc].push(place);
        }
    }
    reference.nodes[9].fifos[0].queue.clear();
    for _ in 0..injected {
        reference.inject(9, 0, workload::full(12, 0));
    }
    reference.step();
    reference.nodes[9].ports[0].sender.transfer.expect("one of them is granted the link").source
}

#[test]
fn arbiters_serve_the_longest_queue_and_the_network_first() {
    let config = |receiver: f64, sender: f64, network: f64| {
        bluegene(&[8, 8], |r| {
            (r.receiver_slq_fraction, r.sender_slq_fraction, r.in_network_fraction) =
                (receiver, sender, network);
        })
    };
    // The number of grants for the packet of one source, out of 400 seeds.
    let times = |config: &TorusConfig, source: Source, waiting: &[(usize, usize, u32)], injected: usize| {
        (0..400).filter(|&seed| first_granted(config, seed, waiting, injected) == source).count()
    };
    let (full, other) = (Source::Vc { port: 1, vc: 1 }, Source::Vc { port: 2, vc: 0 });
    let about = |n: usize| n - 50..n + 50;
    // Two VCs of a receiver.
    let waiting = [(1, 0, 1), (1, 1, 3)];
    assert_eq!(times(&config(1.0, 0.0, 1.0), full, &waiting, 0), 400);
    assert!(about(200).contains(&times(&config(0.0, 1.0, 1.0), full, &waiting, 0)));
    assert!(about(300).contains(&times(&config(0.5, 1.0, 1.0), full, &waiting, 0)));
    // Two receivers.
    let waiting = [(1, 1, 3), (2, 0, 1)];
    assert_eq!(times(&config(0.0, 1.0, 1.0), full, &waiting, 0), 400);
    assert!(about(200).contains(&times(&config(1.0, 0.0, 1.0), other, &waiting, 0)));
    // A receiver and an injection FIFO.
    let injection = Source::Injection { fifo: 0 };
    assert_eq!(times(&config(0.5, 0.5, 1.0), other, &[(2, 0, 1)], 1), 400);
    assert_eq!(times(&config(0.5, 0.5, 0.0), injection, &[(1, 0, 4)], 1), 400);
    assert!(about(100).contains(&times(&config(0.5, 0.5, 0.75), injection, &[(1, 0, 4)], 1)));
}

#[test]
fn the_bypass_yields_to_the_buffers() {
    for seed in 0..20 {
        let mut reference = Reference::new(&TorusConfig::bluegene_l(&[8, 8]), seed);
        for vc in 0..2 {
            let packet = reference.inject(9, 0, workload::full(12, 0));
            let place = Place { packet, vc, chunks: 8, tokens: 8 };
            let receiver = &mut reference.nodes[9].ports[1].receiver;
            if vc == 0 { receiver.vcs[0].push(place) } else { receiver.bypass = Some(place) }
        }
        reference.nodes[9].fifos[0].queue.clear();
        reference.step();
        let receiver = &reference.nodes[9].ports[1].receiver;
        assert!(receiver.vcs[0].moving && !receiver.bypass_moving);
        assert!(
            receiver.bypass.is_none() && receiver.vcs[1].queue.len() == 1,
            "what is not granted is buffered"
        );
    }
}

#[test]
fn high_priority_goes_first() {
    let mut reference = Reference::new(&TorusConfig::bluegene_l(&[4, 4]), 1);
    let mut random = Random::new(2);
    for _ in 0..30_000 {
        reference.step_pulling(&mut |node, fifo, now| {
            let high_priority = fifo == FIFOS_NORMAL;
            let wanted = fifo < FIFOS_NORMAL || high_priority && random.chance(0.000_5);
            let destination = workload::other(16, node, &mut random);
            wanted.then(|| PacketSpec { high_priority, ..workload::full(destination, now) })
        });
    }
    let mean = |high: bool| {
        let delivered = reference.deliveries.iter().map(|&n| &reference.packets[n]);
        let latencies: Vec<_> =
            delivered.filter(|p| p.spec.high_priority == high).filter_map(Packet::latency).collect();
        latencies.iter().sum::<u64>() as f64 / latencies.len() as f64
    };
    println!("mean latency of high-priority packets {:.1}, of others {:.1}", mean(true), mean(false));
    // At every hop it waits for at most the rest of a packet, without other high-priority packets.
    assert!(mean(true) < 295.0 + 3.0 * 150.0 && mean(false) > 2.0 * mean(true));
}
