//! Links with errors: what a block keeps of them, and the model that says which transmissions are corrupted.
//!
//! None of this exists where the bit error rate is 0. What follows from it at a node is in each family's `recovery.rs`; the
//! rules are told in `docs/torus-router.md`, "Links with errors".

use super::statistics::LinkErrors;
use crate::config::{Link, PacketFormat};
use crate::packet::Header;
use netloom_engine::{Stream, Time, chance_threshold};
use std::collections::{BTreeMap, VecDeque};

/// How a transmission of a data packet ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::router) enum Fate {
    Clean,
    /// The receiver sees it at the header, and takes none of the packet.
    BadHeader,
    /// The receiver sees it at the tail.
    BadTail,
}

/// A packet in a retransmission FIFO, as it is on the link.
#[derive(Clone, Copy, Debug)]
pub(in crate::router) struct Kept {
    pub header: Header,
    /// In the block's arena.
    pub packet: u32,
    pub vc: u8,
}

/// A link on which a packet has been corrupted and has not got through since.
#[derive(Debug, Default)]
struct Trouble {
    /// The retransmission FIFO from that packet on; acknowledged packets before it are of no interest.
    fifo: VecDeque<Kept>,
    /// While the FIFO is sent again: which of it comes next.
    next: usize,
    /// The same: whether one of this pass has been corrupted, so that the receiver refuses what follows.
    failed: bool,
}

/// When a receiver owes its sender an acknowledgement.
#[derive(Clone, Copy)]
struct AckClock {
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
    fn received(&mut self, at: Time, after: Time) -> Option<Time> {
        self.first = self.first.min(at);
        self.last = at;
        self.start(after)
    }

    /// An acknowledgement leaves, and gets through or not: the time for which a timer is to be set.
    fn acknowledged(&mut self, now: Time, through: bool, after: Time) -> Option<Time> {
        // At most the last packet is still on its way in.
        (self.first, self.last) = if self.last > now { (self.last, self.last) } else { (NEVER, NEVER) };
        self.lost = if through { NEVER } else { now };
        self.waiting = false;
        self.start(after)
    }

    /// The timer has run out: whether to acknowledge now, or the time for which it is to be set again.
    fn ring(&mut self, now: Time, after: Time) -> (bool, Option<Time>) {
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
pub(in crate::router) struct Errors {
    /// Thresholds of a draw: below the first the header is corrupted, below the other, by chunks, something is.
    header: u64,
    packet: [u64; CHUNKS_MAX + 1],
    ack: u64,
    /// See [`Link`].
    timeout: Time,
    ack_after: Time,
    /// Each node's own, apart from those of arbitration.
    streams: Vec<Stream>,
    /// The links in trouble, by [`Errors::link`] of the sending port.
    troubles: BTreeMap<usize, Trouble>,
    /// By link of the port whose receiver owes and whose sender pays.
    clocks: Vec<AckClock>,
    /// By link of the sending port.
    counts: Vec<LinkErrors>,
    ports: usize,
}

/// Most chunks of a packet.
const CHUNKS_MAX: usize = 32;

/// That some of so many bits are corrupted.
fn any_of(bits: u32, rate: f64) -> f64 {
    -(f64::from(bits) * (-rate).ln_1p()).exp_m1()
}

impl Errors {
    /// For the nodes of a block by their numbers; nothing if no bit is ever corrupted.
    pub fn new(
        link: &Link,
        packet: &PacketFormat,
        seed: u64,
        numbers: &[u32],
        ports: usize,
    ) -> Option<Box<Self>> {
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
    fn link(&self, node: u32, port: usize) -> usize {
        node as usize * self.ports + port
    }

    /// Draws what becomes of a data packet on a link.
    fn transmit(&mut self, node: u32, port: usize, chunks: u32) -> Fate {
        let link = self.link(node, port);
        let drawn = self.streams[node as usize].draw();
        let fate = if drawn < self.header {
            Fate::BadHeader
        } else if drawn < self.packet[chunks as usize] {
            Fate::BadTail
        } else {
            Fate::Clean
        };
        self.counts[link].corrupted += u64::from(fate != Fate::Clean);
        self.counts[link].bad_headers += u64::from(fate == Fate::BadHeader);
        fate
    }

    /// Draws whether a token-ack, or another short packet, gets through.
    pub fn short_gets_through(&mut self, node: u32, _port: usize) -> bool {
        self.streams[node as usize].draw() >= self.ack
    }

    /// A packet starts on a link for the first time. Returns what becomes of it; nothing if the receiver refuses it, since it
    /// comes out of sequence.
    pub fn send(&mut self, node: u32, port: usize, kept: Kept) -> Option<Fate> {
        let link = self.link(node, port);
        self.counts[link].ran_on += u64::from(kept.header.is_ghost());
        if let Some(trouble) = self.troubles.get_mut(&link) {
            trouble.fifo.push_back(kept);
            self.counts[link].refused += 1;
            return None;
        }
        let fate = self.transmit(node, port, kept.header.chunks());
        if fate != Fate::Clean {
            self.troubles.entry(link).or_default().fifo.push_back(kept);
        }
        Some(fate)
    }

    /// The next packet of a retransmission FIFO starts on its link. Returns it and what becomes of it, as [`Self::send`] does.
    pub fn resend(&mut self, node: u32, port: usize) -> (Kept, Option<Fate>) {
        let link = self.link(node, port);
        let trouble = &self.troubles[&link];
        let (kept, failed) = (trouble.fifo[trouble.next], trouble.failed);
        self.counts[link].retransmitted += 1;
        self.counts[link].refused += u64::from(failed);
        let fate = (!failed).then(|| self.transmit(node, port, kept.header.chunks()));
        let trouble = self.troubles.get_mut(&link).expect("a link in trouble");
        if fate == Some(Fate::Clean) {
            trouble.fifo.pop_front();
        } else {
            trouble.failed = true;
            trouble.next += 1;
        }
        (kept, fate)
    }

    /// A packet sent again has left its link. Returns whether another is to follow; if not, the pass is over.
    pub fn resent(&mut self, node: u32, port: usize) -> bool {
        let link = self.link(node, port);
        let trouble = self.troubles.get_mut(&link).expect("a link in trouble");
        if trouble.next < trouble.fifo.len() {
            return true;
        }
        (trouble.next, trouble.failed) = (0, false);
        if trouble.fifo.is_empty() {
            self.troubles.remove(&link);
        }
        false
    }

    /// When a sender that saw a transmission end at `end` without an acknowledgement sends again.
    pub fn timeout(&self, end: Time) -> Time {
        end + self.timeout
    }

    /// A packet will have been received whole at `at`: the time for which a timer of its acknowledgement is to be set, if any.
    pub fn received(&mut self, node: u32, port: usize, at: Time) -> Option<Time> {
        let link = self.link(node, port);
        self.clocks[link].received(at, self.ack_after)
    }

    /// An acknowledgement with these tokens leaves. Returns whether it gets through, and the time for which a timer is to be
    /// set, if any.
    pub fn acknowledge(&mut self, node: u32, port: usize, word: u64, now: Time) -> (bool, Option<Time>) {
        let through = self.short_gets_through(node, port);
        let link = self.link(node, port);
        self.counts[link].ack_only += u64::from(word == 0);
        self.counts[link].acks_lost += u64::from(!through);
        (through, self.clocks[link].acknowledged(now, through, self.ack_after))
    }

    /// A timer has run out: whether to acknowledge now, or the time for which it is to be set again, if any.
    pub fn overdue(&mut self, node: u32, port: usize, now: Time) -> (bool, Option<Time>) {
        let link = self.link(node, port);
        self.clocks[link].ring(now, self.ack_after)
    }

    /// What went wrong at a port, to be counted.
    pub fn count(&mut self, node: u32, port: usize) -> &mut LinkErrors {
        let link = self.link(node, port);
        &mut self.counts[link]
    }

    /// What went wrong at a port since counting began.
    pub fn counted(&self, node: usize, port: usize) -> LinkErrors {
        self.counts[self.link(node as u32, port)]
    }

    /// What went wrong at all ports of the block since counting began.
    pub fn sum(&self) -> LinkErrors {
        let mut sum = LinkErrors::default();
        self.counts.iter().for_each(|link| sum.merge(link));
        sum
    }

    /// Begins counting anew.
    pub fn restart_counting(&mut self) {
        self.counts.fill(LinkErrors::default());
    }

    /// What is not as it must be when nothing is under way: packets in retransmission FIFOs that wait for their links' recovery.
    pub fn unrest(&self) -> Option<String> {
        let left: usize = self.troubles.values().map(|trouble| trouble.fifo.len()).sum();
        (left > 0).then(|| format!("{left} packets in retransmission FIFOs"))
    }

    pub fn bytes(&self) -> usize {
        size_of_val(&*self.streams) + size_of_val(&*self.clocks) + size_of_val(&*self.counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::TorusConfig;

    #[test]
    fn a_packet_is_corrupted_as_often_as_one_of_its_bits() {
        let mut config = TorusConfig::bluegene_l(&[2]);
        assert!(Errors::new(&config.link, &config.packet, 1, &[0, 1], 6).is_none());
        config.link.bit_error_rate = 1e-4;
        let mut errors = Errors::new(&config.link, &config.packet, 1, &[0, 1], 6).expect("errors");
        let mut fates = [0.0; 3];
        let n = 200_000;
        (0..n).for_each(|_| fates[errors.transmit(1, 0, 8) as usize] += 1.0 / f64::from(n));
        let ok = |bits: i32| (1.0 - 1e-4f64).powi(bits);
        let expected = [ok(2080), 1.0 - ok(64), ok(64) - ok(2080)];
        for (found, expected) in fates.iter().zip(expected) {
            assert!((found / expected - 1.0).abs() < 0.05, "{fates:?}");
        }
        let lost = (0..n).filter(|_| !errors.short_gets_through(0, 0)).count() as f64 / f64::from(n);
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
