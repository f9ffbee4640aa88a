//! The published bubble rule's deadlock with packets of mixed sizes (Blumrich et al., section 2), reproduced
//! on the event-driven fabric like on the clocked reference; and its absence with the corrected rule.

use netloom_engine::{Progress, Reached, Stream, Time};
use netloom_fabric::config::{BubbleRule, HalfwayTie, TorusConfig};
use netloom_fabric::host::{Delivery, Family, Host, Pull, Signals};
use netloom_fabric::packet::{Header, Meta};
use netloom_fabric::router::torus::TorusNetwork;
use netloom_fabric::router::{BuildOptions, RouterBlock};
use netloom_fabric::routing::hints;
use netloom_fabric::topology::torus::Torus;
use std::collections::HashSet;

const NODES: u32 = 5;
/// When the load stops.
const END: u64 = 200_000;
/// VC of the bubble, after two dynamic ones.
const ESCAPE: usize = 2;
const FULL: u8 = 8;

/// Static packets of any size, each two hops in the plus direction, as fast as possible; every 400 ticks
/// high-priority packets to the next node. While the links serve these, all space in the bubble VCs returns;
/// then each link takes an injected packet wherever it may, and the free space is fragmented.
struct RingHost {
    torus: Torus,
    numbers: Vec<u32>,
    streams: Vec<Stream>,
    delivered: u64,
}

impl<F: Family<Header = Header>> Host<F> for RingHost {
    fn pull(&mut self, now: Time, node: u32, fifo: usize, _: &mut Signals<F::Signal>) -> Pull {
        let high = fifo >= 6;
        if now >= Time::at(END) {
            return Pull::Empty;
        }
        if high && !now.ticks().is_multiple_of(400) {
            return Pull::NotBefore(Time::at(now.ticks().next_multiple_of(400)));
        }
        let own = self.numbers[node as usize];
        let (hops, chunks, flags) = if high {
            (1, 8, Header::STATIC | Header::HIGH)
        } else {
            (2, 1 + self.streams[node as usize].below(8) as u32, Header::STATIC)
        };
        let (from, to) = (self.torus.coordinates(own), self.torus.coordinates((own + hops) % NODES));
        let header =
            Header::new(to, hints::minimal(&self.torus, from, to, HalfwayTie::Parity), chunks, flags);
        Pull::Packet(header, Meta { made: now, source: own, ..Meta::default() })
    }

    fn deliver(&mut self, _: Time, _: u32, _: &Delivery, _: &mut Signals<F::Signal>) {
        self.delivered += 1;
    }

    fn wake(&mut self, _: Time, _: u32, _: u32, _: &mut Signals<F::Signal>) {}
}

fn ring(rule: BubbleRule, seed: u64, bit_error_rate: f64) -> TorusNetwork<RingHost, 6> {
    let mut config = TorusConfig::bluegene_l(&[NODES]);
    (config.router.bubble_rule, config.router.in_network_fraction) = (rule, 0.0);
    config.link.bit_error_rate = bit_error_rate;
    let options = BuildOptions { seed, smallest_chunks: 1, ..BuildOptions::default() };
    let mut network = TorusNetwork::new(&config, &options, |numbers| RingHost {
        torus: Torus::new(&config.topology),
        numbers: numbers.into(),
        streams: numbers.iter().map(|&n| Stream::new(seed, 2, n.into())).collect(),
        delivered: 0,
    })
    .expect("a ring");
    assert_eq!(network.run_until(Time::at(1 << 40), 1, &Progress::default()), Reached::Idle);
    network
}

#[test]
fn the_published_rule_deadlocks_and_the_stall_is_reported() {
    let mut stalls = 0;
    for seed in 0..4 {
        let mut network = ring(BubbleRule::Published, seed, 0.0);
        let Some(stall) = network.stall() else {
            println!("seed {seed}: no stall");
            continue;
        };
        stalls += 1;
        println!("seed {seed}: {} packets in flight, stalled", stall.in_flight);
        assert!(stall.in_flight >= i64::from(NODES) && !network.unrest().is_empty());
        // Each node's bubble VC has a packet at its head that waits for space in the next node's: a cycle.
        let mut ring: HashSet<u32> = HashSet::new();
        for p in &stall.waiting {
            let [output] = p.outputs[..] else { panic!("a static packet has one output: {p:?}") };
            assert_eq!(
                (output.port, output.vc),
                (0, ESCAPE),
                "all travel in the same direction around the ring"
            );
            assert!(p.chunks >= 1 && output.tokens < Some(if p.port.is_some() { FULL } else { 2 * FULL }));
            if let Some(port) = p.port {
                assert_eq!((port, p.slot), (1, ESCAPE), "it came from behind, and stands in the bubble VC");
                assert_eq!(p.destination[0], (p.node + 1) % NODES, "its last hop is left");
                assert_eq!(p.source, (p.node + NODES - 1) % NODES);
                ring.insert(p.node);
            }
        }
        assert_eq!(ring.len(), NODES as usize, "each waits for the next, and the last for the first");
        // Space for a full packet is left in the ring, as the rule promises; but fragmented.
        let in_ring = stall.waiting.iter().filter(|p| p.port.is_some());
        let free: u32 = in_ring.map(|p| p.outputs[0].tokens.map_or(0, u32::from)).sum();
        assert!(free >= u32::from(FULL), "{free} tokens");
    }
    assert!(stalls > 0, "the published rule is known to deadlock");
    // It is a stall also if links may have errors: no timer runs forever.
    assert!((0..4).any(|seed| ring(BubbleRule::Published, seed, 1e-12).stall().is_some()));
}

#[test]
fn the_corrected_rule_does_not() {
    for rate in [0.0, 1e-5] {
        for seed in 0..4 {
            let mut network = ring(BubbleRule::Corrected, seed, rate);
            assert_eq!((network.stall(), network.in_flight()), (None, 0));
            assert_eq!(network.unrest(), Vec::<String>::new());
            let delivered: u64 = network.blocks().map(|b| b.host().delivered).sum();
            let errors = network.errors();
            println!("seed {seed}, {rate:e}: {delivered} delivered, {errors:?}");
            assert!(delivered > 1000);
            assert_eq!(errors.corrupted > 0, rate > 0.0);
        }
    }
}
