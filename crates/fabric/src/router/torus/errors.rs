//! Links with errors: what a block keeps of them, and the model that says which transmissions are corrupted.
//!
//! None of this exists where the bit error rate is 0. What follows from it is in [`super::recovery`]; the rules are told in
//! `docs/torus-router.md`, "Links with errors".

use crate::config::TorusConfig;
use crate::packet::Header;
use crate::router::statistics::LinkErrors;
use netloom_engine::{Stream, Time, chance_threshold};
use std::collections::{BTreeMap, VecDeque};

/// How a transmission of a data packet ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Clean,
    /// The receiver sees it at the header, and takes none of the packet.
    BadHeader,
    /// The receiver sees it at the tail.
    BadTail,
}

/// A packet in a retransmission FIFO, as it is on the link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    pub header: Header,
    /// In the block's arena.
    pub packet: u32,
    pub vc: u8,
}

/// A link on which a packet has been corrupted and has not got through since.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    /// The retransmission FIFO from that packet on; acknowledged packets before it are of no interest.
    pub fifo: VecDeque<Kept>,
    /// While the FIFO is sent again: which of it comes next.
    pub next: usize,
    /// The same: whether one of this pass has been corrupted, so that the receiver refuses what follows.
    pub failed: bool,
}

/// When a receiver owes its sender an acknowledgement.
#[derive(Clone, Copy)]
pub(super) struct AckClock {
    /// When the first and the last packet that are not acknowledged were received whole; [`NEVER`] for none.
    first: Time,
    last: Time,
    /// When an acknowledgement got lost that none has followed.
    lost: Time,
    /// Whether a timer is under way.
    running: bool,
    /// Whether it has run out, and the acknowledgement only waits for the link.
    waiting: bool,
}

const NEVER: Time = Time::MAX;

impl AckClock {
    const AT_REST: Self = AckClock { first: NEVER, last: NEVER, lost: NEVER, running: false, waiting: false };

    /// When the acknowledgement is overdue, if one is owed.
    fn overdue(&self, after: Time) -> Option<Time> {
        let since = self.first.min(self.lost);
        (since != NEVER).then(|| since + after)
    }

    /// Starts the timer if one is needed and none runs: the time for which it is to be set.
    fn start(&mut self, after: Time) -> Option<Time> {
        let at = self.overdue(after).filter(|_| !self.running && !self.waiting);
        self.running |= at.is_some();
        at
    }

    /// A packet will have been received whole at `at`: the time for which a timer is to be set.
    pub fn received(&mut self, at: Time, after: Time) -> Option<Time> {
        self.first = self.first.min(at);
        self.last = at;
        self.start(after)
    }

    /// An acknowledgement leaves, and gets through or not: the time for which a timer is to be set.
    pub fn acknowledged(&mut self, now: Time, through: bool, after: Time) -> Option<Time> {
        // At most the last packet is still on its way in.
        (self.first, self.last) = if self.last > now { (self.last, self.last) } else { (NEVER, NEVER) };
        self.lost = if through { NEVER } else { now };
        self.waiting = false;
        self.start(after)
    }

    /// The timer has run out: whether to acknowledge now, or the time for which it is to be set again.
    pub fn ring(&mut self, now: Time, after: Time) -> (bool, Option<Time>) {
        self.running = false;
        match self.overdue(after) {
            Some(at) if at <= now => {
                self.waiting = true;
                (true, None)
            }
            _ => (false, self.start(after)),
        }
    }
}

/// State of a block whose links corrupt bits.
pub(super) struct Errors {
    /// Thresholds of a draw: below the first the header is corrupted, below the other, by chunks, something is.
    header: u64,
    packet: [u64; 17],
    ack: u64,
    /// See [`crate::config::Link`].
    pub timeout: Time,
    pub ack_after: Time,
    /// Each node's own, apart from those of arbitration.
    streams: Vec<Stream>,
    /// The links in trouble, by [`Errors::link`] of the sending port.
    pub troubles: BTreeMap<usize, Trouble>,
    /// By link of the port whose receiver owes and whose sender pays.
    pub clocks: Vec<AckClock>,
    /// By link of the sending port.
    pub counts: Vec<LinkErrors>,
    ports: usize,
}

/// That some of so many bits are corrupted.
fn any_of(bits: u32, rate: f64) -> f64 {
    -(f64::from(bits) * (-rate).ln_1p()).exp_m1()
}

impl Errors {
    /// For the nodes of a block by their numbers; nothing if no bit is ever corrupted.
    pub fn new(config: &TorusConfig, seed: u64, numbers: &[u32], ports: usize) -> Option<Box<Self>> {
        let (link, packet) = (&config.link, &config.packet);
        let rate = link.bit_error_rate;
        let threshold = |bytes: u32| chance_threshold(any_of(8 * bytes, rate));
        (rate > 0.0).then(|| {
            Box::new(Errors {
                header: threshold(packet.header_B),
                packet: std::array::from_fn(|c| threshold(c as u32 * packet.chunk_B + packet.trailer_B)),
                ack: threshold(packet.ack_B),
                timeout: link.retransmit_timeout_ticks.into(),
                ack_after: link.ack_only_after_ticks.into(),
                streams: numbers.iter().map(|&n| Stream::new(seed, 3, n.into())).collect(),
                troubles: BTreeMap::new(),
                clocks: vec![AckClock::AT_REST; numbers.len() * ports],
                counts: vec![LinkErrors::default(); numbers.len() * ports],
                ports,
            })
        })
    }

    /// Number of a port of a node among the block's.
    pub fn link(&self, node: usize, port: usize) -> usize {
        node * self.ports + port
    }

    /// Draws what becomes of a data packet on a link.
    pub fn transmit(&mut self, node: usize, chunks: u32) -> Fate {
        let drawn = self.streams[node].draw();
        if drawn < self.header {
            Fate::BadHeader
        } else if drawn < self.packet[chunks as usize] {
            Fate::BadTail
        } else {
            Fate::Clean
        }
    }

    /// Draws whether a token-ack or ack-only packet gets through.
    pub fn ack_gets_through(&mut self, node: usize) -> bool {
        self.streams[node].draw() >= self.ack
    }

    pub fn bytes(&self) -> usize {
        size_of_val(&*self.streams) + size_of_val(&*self.clocks) + size_of_val(&*self.counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_corrupted_as_often_as_one_of_its_bits() {
        let mut config = TorusConfig::bluegene_l(&[2]);
        assert!(Errors::new(&config, 1, &[0, 1], 6).is_none());
        config.link.bit_error_rate = 1e-4;
        let mut errors = Errors::new(&config, 1, &[0, 1], 6).expect("errors");
        let mut fates = [0.0; 3];
        let n = 200_000;
        (0..n).for_each(|_| fates[errors.transmit(1, 8) as usize] += 1.0 / f64::from(n));
        let ok = |bits: i32| (1.0 - 1e-4f64).powi(bits);
        let expected = [ok(2080), 1.0 - ok(64), ok(64) - ok(2080)];
        for (found, expected) in fates.iter().zip(expected) {
            assert!((found / expected - 1.0).abs() < 0.05, "{fates:?}");
        }
        let lost = (0..n).filter(|_| !errors.ack_gets_through(0)).count() as f64 / f64::from(n);
        assert!((lost / (1.0 - ok(64)) - 1.0).abs() < 0.1, "{lost}");
    }

    #[test]
    fn an_acknowledgement_is_overdue_after_its_time() {
        let mut clock = AckClock::AT_REST;
        assert_eq!(clock.ring(5, 100), (false, None));
        assert_eq!(clock.received(300, 100), Some(400));
        assert_eq!(clock.received(350, 100), None, "one timer is enough");
        // The second packet is still on its way in when the first is acknowledged.
        assert_eq!(clock.acknowledged(320, true, 100), None);
        assert_eq!(clock.ring(400, 100), (false, Some(450)));
        assert_eq!(clock.ring(450, 100), (true, None));
        assert_eq!(clock.received(460, 100), None, "it waits for the link");
        // It gets lost, and is sent again.
        assert_eq!(clock.acknowledged(470, false, 100), Some(570));
        assert_eq!(clock.ring(570, 100), (true, None));
        assert_eq!(clock.acknowledged(575, true, 100), None);
        assert_eq!(clock.ring(700, 100), (false, None));
    }
}
