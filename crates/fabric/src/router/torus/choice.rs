//! The possible moves of a packet and the selection among them: phase 1 of arbitration, and the receivers'
//! part of phase 2 (section 2).

use super::slots::BYPASS;
use super::state::*;
use super::tables::Tables;
use crate::packet::Header;
use crate::router::bits::{best_of, one_of};
use crate::router::stall::PossibleOutput;
use crate::routing::hints;

/// In a head's set of directions: its single direction is not on a dynamic VC.
pub(super) const FIXED: u16 = 1 << 15;

/// In place of a VC: any dynamic one that JSQ allows, not selected yet.
const OPEN: u8 = 0xff;

/// Heads with any of these flags need more than a dynamic VC.
const SPECIAL: u16 = Header::STATIC | Header::HIGH | Header::LOCAL | Header::DEPOSIT;

impl<const P: usize> Node<P> {
    /// The directions in which the head at `slot` of a receiver (or, without one, of an injection FIFO) may
    /// move, among those in `mask`, if tokens allow; [`FIXED`] with a single direction that is not on a
    /// dynamic VC.
    #[inline]
    pub fn directions(&self, t: &Tables, port: Option<usize>, slot: usize, head: u16, mask: u16) -> u16 {
        let possible = head & mask & Header::HINTS;
        if head & (Header::STATIC | Header::HIGH) == 0 {
            let dynamic = possible & self.dynamic_ok;
            if dynamic != 0 {
                return dynamic;
            }
        }
        if possible == 0 { 0 } else { self.fixed_direction(t, port, slot, head, mask) }
    }

    /// The single direction of an escaping, static or high-priority packet, if its tokens are available.
    fn fixed_direction(&self, t: &Tables, port: Option<usize>, slot: usize, head: u16, mask: u16) -> u16 {
        let first = hints::first(head, t.order) & mask;
        if first == 0 {
            return 0;
        }
        let out = first.trailing_zeros() as usize;
        let vc = self.fixed_vc(t, head, first);
        // The bubble rule: space for one full packet to continue straight, for two to enter the ring.
        let enters = (t.bubble || vc == t.high)
            && !port.is_some_and(|p| {
                p ^ 1 == out && vc == if slot == BYPASS { self.bypass_vc[p] as usize } else { slot }
            });
        let needed = if enters { 2 * t.full } else { t.full };
        if self.tokens_of(out, vc) >= needed { first | FIXED } else { 0 }
    }

    /// All outputs that the head may take if tokens allow: dynamic VCs, and its fixed VC in one direction.
    pub(super) fn outputs(&self, t: &Tables, head: u16) -> Vec<PossibleOutput> {
        let output = |port: usize, vc: usize| PossibleOutput {
            port,
            vc,
            tokens: Some(self.tokens[port].to_le_bytes()[vc]),
        };
        let is_dynamic = head & (Header::STATIC | Header::HIGH) == 0;
        let dynamic_vcs = if is_dynamic { t.escape } else { 0 };
        let ports = (0..P).filter(|port| head & Header::HINTS & 1 << port != 0);
        let mut outputs: Vec<PossibleOutput> =
            ports.flat_map(|port| (0..dynamic_vcs).map(move |vc| output(port, vc))).collect();
        let first = hints::first(head, t.order);
        if first != 0 {
            outputs.push(output(first.trailing_zeros() as usize, self.fixed_vc(t, head, first)));
        }
        outputs
    }

    /// The VC of such a packet in its single direction.
    fn fixed_vc(&self, t: &Tables, head: u16, direction: u16) -> usize {
        if head & Header::HIGH != 0 {
            t.high
        } else if t.bubble {
            t.escape
        } else {
            t.escape + usize::from(head & UPPER != 0 || self.dateline & direction != 0)
        }
    }

    /// [`Self::directions`] for the head at a receiver's slot, including the bus to the reception FIFO, which
    /// senders do not consider.
    #[inline]
    pub fn receiver_directions(&self, t: &Tables, port: usize, slot: usize, head: u16, mask: u16) -> u16 {
        let dynamic = head & mask & self.dynamic_ok;
        if head & SPECIAL == 0 && dynamic != 0 {
            return dynamic;
        }
        self.special_ports(t, port, slot, head, mask)
    }

    fn special_ports(&self, t: &Tables, port: usize, slot: usize, head: u16, mask: u16) -> u16 {
        if head & (Header::LOCAL | Header::DEPOSIT) != 0 {
            let class = usize::from(head & Header::HIGH != 0);
            if (self.reception_idle[class] & !self.reception_full[class]) >> port & 1 == 0 {
                return 0;
            }
            if head & Header::LOCAL != 0 {
                return Header::LOCAL;
            }
        }
        self.directions(t, Some(port), slot, head, mask)
    }

    /// Phase 2: the slots of a receiver that may request.
    #[inline]
    pub fn choose_slot(&mut self, t: &Tables, port: usize, slots: u8) -> usize {
        if slots.is_power_of_two() {
            slots.trailing_zeros() as usize
        } else {
            self.choose_of_slots(t, port, slots)
        }
    }

    fn choose_of_slots(&mut self, t: &Tables, port: usize, slots: u8) -> usize {
        if slots >> t.high & 1 != 0 {
            return t.high;
        }
        if slots >> BYPASS != 0 && self.receivers[port].heads[BYPASS] & Header::HIGH != 0 {
            return BYPASS;
        }
        // The bypass requests only if no VC does.
        let slots = slots & !(1 << BYPASS);
        if slots.is_power_of_two() {
            return slots.trailing_zeros() as usize;
        }
        let longest = self.random.chance(t.receiver_slq);
        let ties =
            if longest { best_of(slots.into(), |slot| self.fullness(t, port, slot)) } else { slots.into() };
        one_of(ties, &mut self.random)
    }

    /// Phase 1's selection: join the shortest queue, or any. The VC may be left open, for [`Self::vc`] to
    /// select if the packet is granted.
    #[inline]
    pub fn choose_direction(&mut self, t: &Tables, directions: u16, head: u16) -> (u8, u8) {
        if directions.is_power_of_two() {
            return (directions.trailing_zeros() as u8, OPEN);
        }
        self.choose_of_directions(t, directions, head)
    }

    /// The VC of a request: if it was left open, the packet has a single direction and joins the shortest
    /// queue there, or any.
    #[inline]
    pub fn vc(&mut self, port: usize, vc: u8) -> usize {
        if vc == OPEN { one_of(u64::from(self.best[port] & 15), &mut self.random) } else { vc as usize }
    }

    fn choose_of_directions(&mut self, t: &Tables, directions: u16, head: u16) -> (u8, u8) {
        if directions & FIXED != 0 {
            let direction = directions & !FIXED;
            return (direction.trailing_zeros() as u8, self.fixed_vc(t, head, direction) as u8);
        }
        let ties = if directions.count_ones() <= 3 {
            // The first, the second and the last: all directions of a minimal route in three dimensions.
            let ports = [directions, directions & (directions - 1), 1 << directions.ilog2()];
            self.shortest(ports.map(|mask| mask.trailing_zeros() as usize))
        } else {
            // Missing ones are replaced by the first.
            self.shortest::<P>(std::array::from_fn(|port| {
                if directions >> port & 1 != 0 { port } else { directions.trailing_zeros() as usize }
            }))
        };
        let chosen = one_of(ties, &mut self.random);
        ((chosen / 4) as u8, (chosen % 4) as u8)
    }

    /// The shortest queues of the given links, one bit for each port and VC: up to 10 ports with 4 VCs each.
    #[inline]
    fn shortest<const N: usize>(&self, ports: [usize; N]) -> u64 {
        let rank = ports.iter().fold(0, |rank, &port| rank.max(self.best[port] >> 4));
        ports.iter().fold(0, |ties, &port| {
            let offer = self.best[port];
            ties | if offer >> 4 == rank { u64::from(offer & 15) << (4 * port) } else { 0 }
        })
    }

    /// Occupancy of the VC that a packet would leave, as the senders' SLQ sees it.
    #[inline]
    pub fn fullness(&self, t: &Tables, port: usize, slot: usize) -> u8 {
        if slot == BYPASS { 0 } else { t.fullness[slot][self.receivers[port].chunks[slot] as usize] }
    }

    /// The gap in the receivers' arbitration: a receiver that found no available direction in the previous
    /// tick requests in this tick or in the next one, at random. Returns whether it skips this one.
    #[cold]
    pub fn misses(&mut self, port: usize) -> bool {
        let stalled = self.stalled >> port & 1 != 0;
        self.stalled &= !(1 << port);
        stalled && self.random.chance(1 << 63)
    }

    /// The injection FIFOs whose heads may take any of these directions.
    #[inline]
    pub fn entering(&self, ports: u16) -> u16 {
        (0..P).fold(0, |fifos, port| fifos | if ports >> port & 1 != 0 { self.entering[port] } else { 0 })
    }

    /// Recomputes the available VCs of a link from its tokens.
    #[inline]
    pub fn offer(&mut self, t: &Tables, port: usize) {
        let tokens = self.tokens[port];
        // The top bit of each byte with enough tokens for a full packet: numbers of tokens are below 128.
        let full = (tokens | TOPS).wrapping_sub(t.full_bytes) & TOPS;
        let offer = t.offer(tokens);
        let bit = 1u16 << (port % 16);
        self.best[port] = offer;
        self.any_ok = if full != 0 { self.any_ok | bit } else { self.any_ok & !bit };
        self.dynamic_ok = if offer != 0 { self.dynamic_ok | bit } else { self.dynamic_ok & !bit };
    }
}

/// The top bit of each byte.
const TOPS: u64 = 0x8080_8080_8080_8080;

#[cfg(test)]
mod tests {
    use crate::config::TorusConfig;
    use crate::router::BuildOptions;
    use crate::router::torus::TorusNetwork;
    use crate::router::torus::ends::tests::Silent;
    use std::collections::BTreeSet;

    /// JSQ takes each VC in the best range of any of the directions at some time, and no others; with few
    /// directions or many.
    #[test]
    fn the_shortest_queues_are_joined() {
        let config = TorusConfig::bluegene_l(&[2, 2, 2, 2, 2]);
        let mut network =
            TorusNetwork::<_, 10>::new(&config, &BuildOptions::default(), |_| Silent).expect("buildable");
        let block = network.blocks().next().expect("a block");
        let (n, t) = (&mut block.nodes[0], &block.shared.tables);
        // Ranges 1 to 3 with some VCs each; port 9 has none.
        n.best = [0x31, 0x23, 0x33, 0x12, 0x31, 0x21, 0x23, 0x32, 0x11, 0];
        for directions in 1u16..1 << 9 {
            let is_direction = |port: usize| directions >> port & 1 != 0;
            let best = (0..10).filter(|&port| is_direction(port)).map(|port| n.best[port] >> 4).max();
            let all = (0..10).flat_map(|port| (0..4).map(move |vc| (port, vc)));
            let expected: BTreeSet<(usize, usize)> = all
                .filter(|&(port, vc)| {
                    is_direction(port) && Some(n.best[port] >> 4) == best && n.best[port] >> vc & 1 != 0
                })
                .collect();
            let chosen: BTreeSet<(usize, usize)> = (0..200)
                .map(|_| {
                    let (port, vc) = n.choose_direction(t, directions, 0);
                    (port.into(), n.vc(port.into(), vc))
                })
                .collect();
            assert_eq!(chosen, expected, "{directions:b}");
        }
    }
}
