//! Hint bits: the directions that a packet may take, set once at its source (Blumrich et al., section 2).

use crate::config::{DIMENSIONS_MAX, EscapeOrder, HalfwayTie};
use crate::packet::Header;
use crate::topology::torus::{Coordinates, Torus};
use std::num::NonZeroU32;

/// The hint bits that hardware sets: minimal hops in each dimension. The hardware compares the distance with
/// two registers of the node per dimension; if both directions around a ring are equally long, `tie` selects
/// one.
pub fn minimal(torus: &Torus, from: Coordinates, to: Coordinates, tie: HalfwayTie) -> u16 {
    let mut hints = 0;
    let parity = from.iter().fold(0, |sum, x| sum ^ (x & 1));
    for d in 0..torus.dimensions() {
        if from[d] == to[d] {
            continue;
        }
        let (first, length, closed) = torus.line(from, d);
        if !(first..first + length).contains(&u32::from(to[d])) {
            // In another partition: the packet starts out, but never arrives.
            hints |= 1 << (2 * d + usize::from(to[d] < from[d]));
            continue;
        }
        let difference = u32::from(to[d]) + length - u32::from(from[d]);
        let minus = is_minus((length, closed), difference, tie == HalfwayTie::Parity && parity == 1);
        hints |= 1 << (2 * d + usize::from(minus));
    }
    hints
}

/// Whether the shorter direction on a line of `k` nodes, which may be closed, is minus, to a coordinate
/// larger by `difference` minus the length; if both are equally long, returns `odd`.
fn is_minus((k, closed): (u32, bool), difference: u32, odd: bool) -> bool {
    if closed { 2 * (difference % k) + u32::from(odd) > k } else { difference < k }
}

/// [`minimal`] as a table, for senders that need it for every packet.
#[derive(Clone, Debug)]
pub struct Compass {
    /// Rows of hint bits by the difference of two coordinates: one row for each dimension and parity of the
    /// sender.
    rows: Vec<u16>,
    lengths: Vec<NonZeroU32>,
}

/// A sending node in the form that [`Compass`] uses.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    /// For each dimension, the index in the rows of the hint bits for destinations with coordinate 0.
    zero: [u16; DIMENSIONS_MAX],
}

impl Compass {
    /// The table for a torus and its tie-breaking rule.
    pub fn new(torus: &Torus, tie: HalfwayTie) -> Self {
        let mut rows = vec![];
        for d in 0..torus.dimensions() {
            let k = torus.length(d);
            for parity in 0..2 {
                // Differences from -k to k; -k itself is included only so that a row has an even length of 2
                // k.
                for difference in 0..2 * k {
                    let minus =
                        is_minus((k, torus.wraps(d)), difference, tie == HalfwayTie::Parity && parity == 1);
                    let here = difference.is_multiple_of(k);
                    rows.push(if here { 0 } else { 1 << (2 * d + usize::from(minus)) });
                }
            }
        }
        let lengths = (0..torus.dimensions()).filter_map(|d| NonZeroU32::new(torus.length(d))).collect();
        Compass { rows, lengths }
    }

    /// A sending node.
    pub fn origin(&self, from: Coordinates) -> Origin {
        let parity = from.iter().fold(0, |sum, x| sum ^ (x & 1));
        let mut zero = [0; DIMENSIONS_MAX];
        let mut start = 0;
        for (d, k) in self.lengths.iter().enumerate() {
            let k = k.get() as u16;
            zero[d] = start + 2 * k * u16::from(parity) + k - u16::from(from[d]);
            start += 4 * k;
        }
        Origin { zero }
    }

    /// A node's coordinates, and the hint bits of a packet to it.
    #[inline]
    pub fn to(&self, origin: &Origin, node: u32) -> (Coordinates, u16) {
        // Coordinates are assembled in a register: reading as a word what was written byte by byte would
        // stall on the store.
        let (mut rest, mut packed, mut shift, mut hints) = (node, 0, 0, 0);
        for (&k, &zero) in self.lengths.iter().zip(&origin.zero) {
            let x = rest % k;
            rest /= k;
            packed |= u64::from(x) << shift;
            shift += 8;
            hints |= self.rows[usize::from(zero) + x as usize];
        }
        let mut c = Coordinates::default();
        c.copy_from_slice(&packed.to_le_bytes()[..DIMENSIONS_MAX]);
        (c, hints)
    }
}

/// Hops of a packet that follows its hint bits.
pub fn hops(torus: &Torus, from: Coordinates, header: Header) -> u32 {
    (0..torus.ports())
        .filter(|&port| header.hints() >> port & 1 != 0)
        .map(|port| {
            let (d, k) = (port / 2, torus.length(port / 2));
            let plus = (u32::from(header.destination(d)) + k - u32::from(from[d])) % k;
            if port % 2 == 0 { plus } else { k - plus }
        })
        .sum()
}

/// Bits of the plus directions.
const PLUS: u16 = 0x155;

/// The one direction, as a bit, that static and escape routing select among the hinted ones.
#[inline]
pub fn first(head: u16, order: EscapeOrder) -> u16 {
    let hints = head & Header::HINTS;
    let of = match order {
        EscapeOrder::Dimension => hints,
        EscapeOrder::Direction if hints & PLUS != 0 => hints & PLUS,
        EscapeOrder::Direction => hints,
    };
    of & of.wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Topology;
    use proptest::prelude::*;

    fn torus(dims: &[u32], wrap: &[bool]) -> Torus {
        Torus::new(&Topology {
            dims: dims.into(),
            wrap: wrap.into(),
            loopback: false,
            dead_nodes: vec![],
            dead_links: vec![],
            ..Topology::default()
        })
    }

    #[test]
    fn orders() {
        // x-, y+ and z- hinted.
        let head = 0b10_01_10 | Header::STATIC;
        assert_eq!(first(head, EscapeOrder::Dimension), 0b10);
        assert_eq!(first(head, EscapeOrder::Direction), 0b01_00);
        assert_eq!(first(0b10_00_10, EscapeOrder::Direction), 0b10);
        assert_eq!(first(Header::LOCAL, EscapeOrder::Direction), 0);
    }

    #[test]
    fn half_way_round_both_sides_share() {
        let torus = torus(&[8, 8], &[]);
        let plus = (0..64)
            .filter(|&n| {
                let from = torus.coordinates(n);
                let to = [(from[0] + 4) % 8, from[1], 0, 0, 0];
                minimal(&torus, from, to, HalfwayTie::Parity) == 1
            })
            .count();
        assert_eq!(plus, 32);
        assert_eq!(minimal(&torus, [1, 0, 0, 0, 0], [5, 0, 0, 0, 0], HalfwayTie::Plus), 1);
    }

    proptest! {
        /// The table agrees with the comparisons.
        #[test]
        fn the_compass_agrees(
            shape in proptest::collection::vec((1u32..9, any::<bool>()), 1..=5),
            from in any::<u32>(), to in any::<u32>(), parity in any::<bool>(),
        ) {
            let torus = torus(
                &shape.iter().map(|x| x.0).collect::<Vec<_>>(),
                &shape.iter().map(|x| x.1).collect::<Vec<_>>(),
            );
            let tie = if parity { HalfwayTie::Parity } else { HalfwayTie::Plus };
            let (from, to) = (torus.coordinates(from % torus.nodes()), to % torus.nodes());
            let compass = Compass::new(&torus, tie);
            let at = torus.coordinates(to);
            let found = compass.to(&compass.origin(from), to);
            prop_assert_eq!(found, (at, minimal(&torus, from, at, tie)));
        }

        /// Any walk along the hint bits arrives after exactly the distance in hops.
        #[test]
        fn walks_arrive(
            shape in proptest::collection::vec((1u32..9, any::<bool>()), 1..=5),
            from in any::<u32>(), to in any::<u32>(), mut pick in any::<u64>(),
        ) {
            let torus = torus(
                &shape.iter().map(|x| x.0).collect::<Vec<_>>(),
                &shape.iter().map(|x| x.1).collect::<Vec<_>>(),
            );
            let (from, to) = (from % torus.nodes(), to % torus.nodes());
            let hints = minimal(&torus, torus.coordinates(from), torus.coordinates(to), HalfwayTie::Parity);
            let mut header = Header::new(torus.coordinates(to), hints, 8, 0);
            prop_assert_eq!(hops(&torus, torus.coordinates(from), header), torus.distance(from, to));
            let (mut at, mut walked) = (from, 0);
            while header.hints() != 0 {
                let mut ports: Vec<usize> = (0..10).filter(|p| header.hints() >> p & 1 != 0).collect();
                let port = ports.swap_remove((pick % ports.len() as u64) as usize);
                pick = pick.rotate_left(7) ^ 0x9e37;
                at = torus.neighbour(at, port).expect("hints stay inside a mesh");
                header = header.after_hop(port, torus.coordinates(at)[port / 2], false);
                walked += 1;
                prop_assert!(walked <= torus.distance(from, to));
            }
            prop_assert_eq!(at, to);
            prop_assert_eq!(walked, torus.distance(from, to));
        }
    }
}
