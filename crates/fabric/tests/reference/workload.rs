//! Traffic for the reference's tests: uniform at a rate or saturated, and all-to-all.

use super::packet::{PacketSpec, Routing};
use super::random::Random;
use super::{FIFOS_NORMAL, Reference};

/// A full dynamic packet of normal priority.
pub fn full(destination: usize, made_at: u64) -> PacketSpec {
    PacketSpec { destination, chunks: 8, routing: Routing::Dynamic, high_priority: false, made_at }
}

/// Any node but `node`, all equally likely.
pub fn other(nodes: usize, node: usize, random: &mut Random) -> usize {
    let n = random.below(nodes - 1);
    n + usize::from(n >= node)
}

/// Links that a packet to another node crosses, mean over all pairs.
pub fn mean_hops(reference: &Reference) -> f64 {
    let geometry = &reference.rules.geometry;
    let nodes = geometry.nodes();
    let mut hops = 0;
    for from in 0..nodes {
        for to in 0..nodes {
            for port in geometry.hints(from, to).iter().flatten() {
                let mut at = from;
                while geometry.coordinates(at)[port / 2] != geometry.coordinates(to)[port / 2] {
                    at = geometry.neighbour(at, *port).expect("hints lead along links");
                    hops += 1;
                }
            }
        }
    }
    hops as f64 / (nodes * (nodes - 1)) as f64
}

/// The rate at which each node creates full packets, in packets per tick, so that with uniform destinations
/// data packets fill a fraction `load` of the links' time.
pub fn uniform_rate(reference: &Reference, load: f64) -> f64 {
    let links = reference.statistics.links as f64 / reference.nodes.len() as f64;
    load * links / (mean_hops(reference) * reference.rules.data_ticks(8) as f64)
}

/// Each node creates a full dynamic packet with probability `rate` in each tick, for any other node, and puts
/// it in a random normal FIFO. Open loop: independent of the network's state.
pub fn uniform(reference: &mut Reference, rate: f64, ticks: u64, random: &mut Random) {
    let nodes = reference.nodes.len();
    for _ in 0..ticks {
        for node in 0..nodes {
            if random.chance(rate) {
                let spec = full(other(nodes, node, random), reference.now);
                reference.inject(node, random.below(FIFOS_NORMAL), spec);
            }
        }
        reference.step();
    }
}

/// All normal FIFOs of all nodes always have a packet for any other node, modified by `change`.
pub fn flood(
    reference: &mut Reference,
    ticks: u64,
    random: &mut Random,
    change: impl Fn(&mut PacketSpec, &mut Random),
) {
    let nodes = reference.nodes.len();
    for _ in 0..ticks {
        reference.step_pulling(&mut |node, fifo, now| {
            let mut spec = full(other(nodes, node, random), now);
            change(&mut spec, random);
            (fifo < FIFOS_NORMAL).then_some(spec)
        });
    }
}

/// Each node has a full dynamic packet for every other node, in a random order of its own, distributed over
/// its normal FIFOs in turn: all of them present at tick zero.
pub fn all_to_all(reference: &mut Reference, random: &mut Random) {
    let nodes = reference.nodes.len();
    for node in 0..nodes {
        let mut others: Vec<usize> = (0..nodes).filter(|&n| n != node).collect();
        for i in (1..others.len()).rev() {
            others.swap(i, random.below(i + 1));
        }
        for (i, &destination) in others.iter().enumerate() {
            reference.inject(node, i % FIFOS_NORMAL, full(destination, 0));
        }
    }
}
