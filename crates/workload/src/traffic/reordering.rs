//! Reordering of packets, if it is to be measured.
//!
//! As in RFC 4737: packets from one node to another are numbered as they are sent, separately for requests
//! and responses. A packet is *reordered* if one with a higher number has arrived before it. Its *extent*
//! (section 4.2.1) is the number of arrivals from the first of those to itself: the number of packets that a
//! receiver must buffer to restore the order.

use borsh::{BorshDeserialize, BorshSerialize};
use std::collections::{HashMap, VecDeque};

/// The packets of one class from one node to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize)]
pub struct Flow {
    /// The sending node.
    pub from: u32,
    /// The receiving node.
    pub to: u32,
    /// Whether they are responses.
    pub responses: bool,
}

/// The state of a block's nodes for the packets that they send and receive.
#[derive(Debug, Default, BorshSerialize, BorshDeserialize)]
pub struct Reordering {
    /// Number of packets sent.
    sent: HashMap<Flow, u32>,
    arrived: HashMap<Flow, Arrived>,
}

/// Marks a packet that has not arrived.
const NOT_YET: u32 = u32::MAX;

/// The arrivals of a flow.
#[derive(Debug, Default, BorshSerialize, BorshDeserialize)]
struct Arrived {
    /// The lowest number that has not arrived.
    next: u32,
    /// Packets so far.
    count: u32,
    /// For that number and those after it, the number of earlier arrivals; empty if none is ahead.
    ahead: VecDeque<u32>,
}

impl Reordering {
    /// The number of the next packet sent.
    pub fn send(&mut self, flow: Flow) -> u32 {
        let sent = self.sent.entry(flow).or_default();
        *sent += 1;
        *sent - 1
    }

    /// A packet with this number has arrived: returns its extent, 0 for a packet that is not reordered.
    pub fn arrive(&mut self, flow: Flow, number: u32) -> u32 {
        self.arrived.entry(flow).or_default().arrive(number)
    }
}

impl Arrived {
    fn arrive(&mut self, number: u32) -> u32 {
        let (place, before) = ((number - self.next) as usize, self.count);
        self.count += 1;
        let overtook = self.ahead.iter().skip(place + 1).filter(|&&before| before != NOT_YET).min();
        let extent = overtook.map_or(0, |first| before - first);
        if place >= self.ahead.len() && (place > 0 || !self.ahead.is_empty()) {
            self.ahead.resize(place + 1, NOT_YET);
        }
        if let Some(own) = self.ahead.get_mut(place) {
            *own = before;
        }
        if place == 0 {
            let whole = self.ahead.iter().take_while(|&&before| before != NOT_YET).count();
            self.ahead.drain(..whole);
            self.next += whole.max(1) as u32;
        }
        extent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extents(numbers: &[u32]) -> Vec<u32> {
        let mut arrived = Arrived::default();
        let extents = numbers.iter().map(|&number| arrived.arrive(number)).collect();
        assert!(arrived.ahead.is_empty() && arrived.next == numbers.len() as u32, "{arrived:?}");
        extents
    }

    #[test]
    fn extents_are_those_of_the_rfc() {
        assert_eq!(extents(&[0, 1, 2, 3]), [0; 4]);
        // One that is late by three arrivals; two that are swapped; the table of section 7.2: 4 arrives after
        // 5 to 8.
        assert_eq!(extents(&[1, 2, 3, 0]), [0, 0, 0, 3]);
        assert_eq!(extents(&[0, 2, 1, 3]), [0, 0, 1, 0]);
        assert_eq!(extents(&[0, 1, 2, 4, 5, 6, 7, 3, 8, 9]), [0, 0, 0, 0, 0, 0, 0, 4, 0, 0]);
        // Among several late ones each counts from the first that overtook it.
        assert_eq!(extents(&[3, 2, 1, 0]), [0, 1, 2, 3]);
        assert_eq!(extents(&[2, 0, 3, 1]), [0, 1, 0, 3]);
    }

    #[test]
    fn flows_are_apart() {
        let flow = |from, responses| Flow { from, to: 9, responses };
        let mut order = Reordering::default();
        assert_eq!((order.send(flow(1, false)), order.send(flow(1, false))), (0, 1));
        assert_eq!((order.send(flow(2, false)), order.send(flow(1, true))), (0, 0));
        assert_eq!(order.arrive(flow(1, false), 1), 0);
        assert_eq!((order.arrive(flow(2, false), 0), order.arrive(flow(1, true), 0)), (0, 0));
        assert_eq!(order.arrive(flow(1, false), 0), 1);
    }
}
