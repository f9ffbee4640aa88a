//! Packets that have arrived from the network and wait to be processed. When a limit is reached, the NIC
//! accepts no more packets of their class.

use crate::outgoing::Requests;
use netloom_engine::Time;
use netloom_node::time::Microticks;
use std::collections::VecDeque;

/// The packets of a class.
pub(crate) struct Arrivals<T> {
    waiting: VecDeque<(Microticks, T)>,
    /// When they will be processed.
    serve_at: Microticks,
    is_closed: bool,
}

impl<T> Default for Arrivals<T> {
    fn default() -> Self {
        Arrivals { waiting: VecDeque::new(), serve_at: Microticks::MAX, is_closed: false }
    }
}

impl<T> Arrivals<T> {
    /// Adds a packet that may be processed after a delay; notifies the fabric if it takes the last space.
    #[inline]
    pub fn push(
        &mut self,
        now: Time,
        after: Microticks,
        item: T,
        (class, room): (usize, u32),
        asks: &mut Requests,
    ) {
        self.waiting.push_back((Microticks::at(now) + after, item));
        if self.waiting.len() >= room as usize && !self.is_closed {
            self.is_closed = true;
            asks.opens.push((class, false));
        }
    }

    /// The first packet, and when it may be processed.
    pub fn first(&self) -> Option<(Microticks, &T)> {
        self.waiting.front().map(|(there, item)| (*there, item))
    }

    /// Takes the first packet.
    pub fn pop(&mut self) -> Option<T> {
        self.waiting.pop_front().map(|(_, item)| item)
    }

    /// Requests processing at a time; returns whether none is scheduled earlier.
    pub fn is_first_call(&mut self, at: Microticks) -> bool {
        let is_first = at < self.serve_at;
        self.serve_at = self.serve_at.min(at);
        is_first
    }

    /// Processing starts now; returns whether this is the earliest request for it.
    pub fn called(&mut self, t: Microticks) -> bool {
        let is_due = self.serve_at <= t;
        if is_due {
            self.serve_at = Microticks::MAX;
        }
        is_due
    }

    /// Reopens the class once half of its space is free.
    pub fn reopen(&mut self, (class, room): (usize, u32), asks: &mut Requests) {
        if self.is_closed && self.waiting.len() <= room as usize / 2 {
            self.is_closed = false;
            asks.opens.push((class, true));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_closed_while_there_is_no_room() {
        let (mut arrivals, mut asks) = (Arrivals::default(), Requests::default());
        for n in 0..4 {
            arrivals.push(Time::at(1), Microticks(500), n, (1, 4), &mut asks);
        }
        assert_eq!(
            (std::mem::take(&mut asks.opens), arrivals.first().map(|(there, _)| there)),
            (vec![(1, false)], Some(Microticks(1_000_500)))
        );
        for n in 0..2 {
            arrivals.reopen((1, 4), &mut asks);
            assert!(asks.opens.is_empty());
            assert_eq!(arrivals.pop(), Some(n));
        }
        arrivals.reopen((1, 4), &mut asks);
        assert_eq!(asks.opens, [(1, true)]);
        let calls = [9, 9, 8].map(|at| arrivals.is_first_call(Microticks(at)));
        assert_eq!(calls, [true, false, true]);
        assert!(!arrivals.called(Microticks(7)));
        assert!(arrivals.called(Microticks(8)));
        assert!(arrivals.is_first_call(Microticks(9)));
    }
}
