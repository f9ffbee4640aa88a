//! Sets of slots of a node's receivers, by requested direction: the arbiters then need one load, and count
//! zeros to find the slots.

use crate::packet::Header;
use borsh::{BorshDeserialize, BorshSerialize};

/// Slots of a receiver that may request: its VCs, and the bypass last.
pub(super) const SLOTS: usize = 8;
/// The bypass slot.
pub(super) const BYPASS: usize = 7;

/// A set of slots: one byte per receiver, the first eight in one word and the others in a second one, which
/// is always zero in a node of up to eight ports and costs nothing there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, BorshSerialize, BorshDeserialize)]
pub(super) struct SlotSet<const P: usize> {
    low: u64,
    high: u16,
}

impl<const P: usize> SlotSet<P> {
    pub const EMPTY: Self = SlotSet { low: 0, high: 0 };

    /// Some slots of one receiver.
    #[inline]
    pub fn of(port: usize, slots: u8) -> Self {
        if P <= 8 || port < 8 {
            SlotSet { low: u64::from(slots) << (port * SLOTS), high: 0 }
        } else {
            SlotSet { low: 0, high: u16::from(slots) << ((port - 8) * SLOTS) }
        }
    }

    #[inline]
    pub fn is_empty(self) -> bool {
        self.low == 0 && (P <= 8 || self.high == 0)
    }

    /// The receiver and slot, if there is exactly one.
    #[inline]
    pub fn single(self) -> Option<(usize, usize)> {
        let bit = self.low.trailing_zeros() as usize;
        ((P <= 8 || self.high == 0) && self.low.is_power_of_two()).then_some((bit / SLOTS, bit % SLOTS))
    }

    /// Union.
    #[inline]
    pub fn and_also(self, other: Self) -> Self {
        SlotSet { low: self.low | other.low, high: self.high | other.high }
    }

    /// Intersection.
    #[inline]
    pub fn common(self, other: Self) -> Self {
        SlotSet { low: self.low & other.low, high: self.high & other.high }
    }

    /// Difference.
    #[inline]
    pub fn without(self, other: Self) -> Self {
        SlotSet { low: self.low & !other.low, high: self.high & !other.high }
    }

    /// Removes the first receiver with any slots; returns its number and slots.
    #[inline]
    pub fn next_receiver(&mut self) -> Option<(usize, u8)> {
        if self.low != 0 {
            let port = self.low.trailing_zeros() as usize / SLOTS;
            let slots = (self.low >> (port * SLOTS)) as u8;
            self.low &= !(0xff << (port * SLOTS));
            Some((port, slots))
        } else if P > 8 && self.high != 0 {
            let port = self.high.trailing_zeros() as usize / SLOTS;
            let slots = (self.high >> (port * SLOTS)) as u8;
            self.high &= !(0xff << (port * SLOTS));
            Some((port + 8, slots))
        } else {
            None
        }
    }
}

/// The bit of [`Header::LOCAL`].
const LOCAL: usize = Header::LOCAL.trailing_zeros() as usize;

/// All ones if `mask` has this bit, otherwise zero. For a few masks this is faster than branching on each
/// bit, which is unpredictable.
#[inline]
fn every(mask: u16, bit: usize) -> u64 {
    0u64.wrapping_sub(u64::from(mask >> bit & 1))
}

/// The slots of a node with a ready head, by direction that it may take, and for its destination.
#[repr(C)]
#[derive(Clone, Copy, BorshSerialize, BorshDeserialize)]
pub(super) struct RequestedSlots<const P: usize> {
    // The part that a node of up to eight ports needs comes first, in one cache line.
    low: [u64; P],
    local: u64,
    high: [u16; P],
    local_high: u16,
}

impl<const P: usize> RequestedSlots<P> {
    pub const NONE: Self = RequestedSlots { low: [0; P], high: [0; P], local: 0, local_high: 0 };

    /// The first cache line, which is all that a node of up to eight ports needs.
    pub fn first_line(&self) -> &u64 {
        &self.low[0]
    }

    /// Slots whose heads may leave through `port`.
    #[inline]
    pub fn towards(&self, port: usize) -> SlotSet<P> {
        SlotSet { low: self.low[port], high: if P > 8 { self.high[port] } else { 0 } }
    }

    /// Slots whose heads may leave through any of these ports.
    #[inline]
    pub fn towards_any(&self, ports: u16) -> SlotSet<P> {
        let mut set = SlotSet::EMPTY;
        for port in 0..P {
            set.low |= self.low[port] & every(ports, port);
            if P > 8 {
                set.high |= self.high[port] & every(ports, port) as u16;
            }
        }
        set
    }

    /// Slots of a receiver with a head that has any direction.
    #[inline]
    pub fn of(&self, port: usize) -> u8 {
        let low = self.low.iter().fold(self.local, |all, set| all | set);
        let high = self.high.iter().fold(self.local_high, |all, set| all | set);
        if P <= 8 || port < 8 { (low >> (port * SLOTS)) as u8 } else { (high >> ((port - 8) * SLOTS)) as u8 }
    }

    /// Slots whose heads are at their destination.
    #[inline]
    pub fn local(&self) -> SlotSet<P> {
        SlotSet { low: self.local, high: if P > 8 { self.local_high } else { 0 } }
    }

    /// A head becomes ready.
    #[inline]
    pub fn add(&mut self, port: usize, slot: usize, head: u16) {
        let set = SlotSet::<P>::of(port, 1 << slot);
        for out in 0..P {
            self.low[out] |= set.low & every(head, out);
            if P > 8 {
                self.high[out] |= set.high & every(head, out) as u16;
            }
        }
        self.local |= set.low & every(head, LOCAL);
        if P > 8 {
            self.local_high |= set.high & every(head, LOCAL) as u16;
        }
    }

    /// Clears a slot of every receiver.
    #[inline]
    pub fn clear(&mut self, slot: usize) {
        let (low, high) = (!(0x0101_0101_0101_0101 << slot), !(0x0101 << slot));
        self.low.iter_mut().for_each(|set| *set &= low);
        self.local &= low;
        if P > 8 {
            self.high.iter_mut().for_each(|set| *set &= high);
            self.local_high &= high;
        }
    }

    /// A head is no longer ready.
    #[inline]
    pub fn remove(&mut self, port: usize, slot: usize) {
        let set = SlotSet::<P>::of(port, 1 << slot);
        // Removed from all directions, requested or not: no branch depends on the head.
        self.low.iter_mut().for_each(|low| *low &= !set.low);
        self.local &= !set.low;
        if P > 8 {
            self.high.iter_mut().for_each(|high| *high &= !set.high);
            self.local_high &= !set.high;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Against a list of heads.
    fn agrees<const P: usize>(steps: &[(usize, usize, u16)]) {
        let mut requested = RequestedSlots::<P>::NONE;
        let mut heads = [[0u16; SLOTS]; P];
        for &(port, slot, head) in steps {
            let (port, slot) = (port % P, slot % SLOTS);
            let head = head & (((1 << P) - 1) | Header::LOCAL);
            requested.remove(port, slot);
            heads[port][slot] = if heads[port][slot] == 0 { head } else { 0 };
            requested.add(port, slot, heads[port][slot]);
            if head.is_multiple_of(13) {
                requested.clear(slot);
                heads.iter_mut().for_each(|heads| heads[slot] = 0);
            }
        }
        let expected = |mask: u16| -> Vec<(usize, u8)> {
            let slots = |p: usize| (0..SLOTS).fold(0, |s, i| s | u8::from(heads[p][i] & mask != 0) << i);
            (0..P).map(|p| (p, slots(p))).filter(|x| x.1 != 0).collect()
        };
        let list = |mut set: SlotSet<P>| -> Vec<_> {
            let single = set.single();
            let list: Vec<(usize, u8)> = std::iter::from_fn(|| set.next_receiver()).collect();
            if let Some((port, slot)) = single {
                assert_eq!(list, [(port, 1 << slot)]);
            }
            list
        };
        for out in 0..P {
            assert_eq!(list(requested.towards(out)), expected(1 << out));
        }
        assert_eq!(list(requested.local()), expected(Header::LOCAL));
        let all = expected(u16::MAX);
        assert!((0..P).all(|p| requested.of(p) == all.iter().find(|x| x.0 == p).map_or(0, |x| x.1)));
        let mask = 0x15 & ((1 << P) - 1);
        assert_eq!(list(requested.towards_any(mask)), expected(mask));
        assert_eq!(requested.towards_any(mask).is_empty(), expected(mask).is_empty());
    }

    proptest! {
        #[test]
        fn wishes_are_those_of_the_heads(
            steps in proptest::collection::vec((0usize..10, 0usize..8, any::<u16>()), 0..80)
        ) {
            agrees::<6>(&steps);
            agrees::<10>(&steps);
        }
    }
}
