//! Credit round trips (Kim et al. 2008, section 4.3.2): a router measures the round trip of each output's
//! credits, in excess of the link's own, and delays the credits of packets that it sends there by this
//! excess, minus the smallest of any output. So upstream routers notice a saturated link before the queues in
//! between are full. A tiled router returns a credit when a packet has left its input queue; the packet's
//! later wait in sub-switch and column buffer is added, since in the paper's routers it would wait in the
//! input queue **(ours)**.

use super::state::VCS;
use borsh::{BorshDeserialize, BorshSerialize};
use netloom_engine::Time;
use std::collections::VecDeque;

/// The round trips of the outputs of a block's routers, if credits are delayed.
#[derive(Clone, Default, BorshSerialize, BorshDeserialize)]
pub(super) struct RoundTrips {
    /// By output and VC: send times of packets with outstanding credits. Those of a VC return in order.
    sent: Vec<[VecDeque<Time>; VCS]>,
    /// By output: the last round trip in excess of the link's, ticks.
    late: Vec<u32>,
    /// By output: the last packet's wait in sub-switch and column buffer, ticks.
    inside: Vec<u32>,
}

impl RoundTrips {
    /// For `outputs` outputs.
    pub fn new(outputs: usize) -> Self {
        RoundTrips {
            sent: (0..outputs).map(|_| Default::default()).collect(),
            late: vec![0; outputs],
            inside: vec![0; outputs],
        }
    }

    /// A packet has been sent.
    pub fn sent(&mut self, output: usize, vc: usize, now: Time) {
        self.sent[output][vc].push_back(now);
    }

    /// A credit has returned, over a link whose own round trip is `link`.
    pub fn came_back(&mut self, output: usize, vc: usize, now: Time, link: u64) {
        let sent = self.sent[output][vc].pop_front().expect("a packet for each credit");
        self.late[output] = (now - sent).saturating_sub(link) as u32;
    }

    /// A packet leaves through an output, after waiting `ticks` inside the router since its credit was
    /// returned.
    pub fn waited(&mut self, output: usize, ticks: u64) {
        self.inside[output] = ticks as u32;
    }

    /// The delay of the credit for a packet to this output, of a router with `outputs`.
    pub fn held_back(&self, output: usize, outputs: std::ops::Range<usize>) -> u64 {
        let late = |output: usize| self.late[output] + self.inside[output];
        let least = outputs.map(late).min().unwrap_or(0);
        late(output).saturating_sub(least).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credits_are_held_back_by_what_is_late() {
        let mut trips = RoundTrips::new(3);
        for (output, back) in [(0, 130), (1, 110), (2, 500)] {
            trips.sent(output, 1, Time::at(10));
            trips.came_back(output, 1, Time::at(back), 90);
        }
        // 30, 10 and 400 late.
        assert_eq!([0, 1, 2].map(|output| trips.held_back(output, 0..3)), [20, 0, 390]);
        trips.waited(1, 50);
        assert_eq!([0, 1, 2].map(|output| trips.held_back(output, 0..3)), [0, 30, 370]);
        trips.waited(1, 0);
        trips.sent(0, 0, Time::at(600));
        trips.sent(0, 0, Time::at(610));
        trips.came_back(0, 0, Time::at(690), 90);
        assert_eq!(trips.held_back(0, 0..3), 0);
    }
}
