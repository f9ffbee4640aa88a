//! Links with bit errors: the state of a block. `corruption.rs` has the model of which transmissions are
//! corrupted.
//!
//! Without bit errors none of this exists. Each family's `recovery.rs` handles the consequences at a node;
//! `docs/torus-router.md`, "Links with errors", and `docs/link-protection.md`, "In runs", describe the rules.

use super::ack_clock::AckClock;
use super::corruption::{ErrorThresholds, Outcome, Special};
use super::event::{Event, Kind, OwnKind};
use super::statistics::LinkErrors;
use crate::collective::{CollectiveHeader, RouteKind};
use crate::config::{Link, LinkFault, PacketFormat, PlacedFault};
use crate::link::crc::crc64;
use crate::packet::{Data, Header, Meta};
use crate::topology::torus::Torus;
use borsh::{BorshDeserialize, BorshSerialize};
use netloom_engine::checkpoint::State;
use netloom_engine::{Calendar, Stream, Time};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::io;

/// A packet in a retransmission FIFO, as sent on the link.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
pub(in crate::router) struct Kept {
    pub header: Header,
    /// Index in the block's arena.
    pub packet: u32,
    pub vc: u8,
}

/// A link with a corrupted packet that has not yet been retransmitted successfully.
#[derive(Debug, Default, BorshSerialize, BorshDeserialize)]
struct LinkRecovery {
    /// The retransmission FIFO from that packet on; packets before it, which are acknowledged, are not
    /// stored.
    fifo: VecDeque<Kept>,
    /// During retransmission: the index of the next packet.
    next: usize,
    /// During retransmission: whether a packet of this pass was corrupted, so that the receiver rejects those
    /// that follow.
    failed: bool,
}

/// The CRCs of all packets that a port has sent and received: user packets, system packets.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize,
)]
pub struct LinkCrcs {
    /// CRC of the packets sent, each once, in order.
    pub sent: [u64; 2],
    /// CRC of the packets completely received.
    pub received: [u64; 2],
}

/// State of a block with bit errors on its links.
pub struct Errors {
    /// Thresholds of ordinary links.
    thresholds: Option<ErrorThresholds>,
    /// Links with their own settings, by [`Errors::link`] of the sending port.
    special: BTreeMap<usize, Special>,
    /// By link of the receiving port: whether arriving packets may be corrupted.
    doubtful: Vec<bool>,
    packet: PacketFormat,
    /// See [`Link`].
    timeout: u64,
    ack_after: u64,
    /// A random stream per node, separate from that of arbitration.
    streams: Vec<Stream>,
    /// The links under recovery, by [`Errors::link`] of the sending port.
    recovering: BTreeMap<usize, LinkRecovery>,
    /// By link of the port whose receiver owes acknowledgements and whose sender sends them.
    clocks: Vec<AckClock>,
    /// By link of the sending port.
    counts: Vec<LinkErrors>,
    /// By link.
    crcs: Vec<LinkCrcs>,
    ports: usize,
}

impl State for Errors {
    fn store(&self, to: &mut Vec<u8>) -> io::Result<()> {
        #[rustfmt::skip]
        let Errors {
            special, streams, recovering, clocks, counts, crcs,
            thresholds: _, doubtful: _, packet: _, timeout: _, ack_after: _, ports: _,
        } = self;
        (special, streams, recovering, clocks, counts, crcs).serialize(to)
    }

    fn load(&mut self, from: &mut &[u8]) -> io::Result<()> {
        let Errors { special, streams, recovering, clocks, counts, crcs, .. } = self;
        (*special, *streams, *recovering, *clocks, *counts, *crcs) = BorshDeserialize::deserialize(from)?;
        Ok(())
    }
}

impl Errors {
    /// For the nodes of a block by their numbers; `None` if no link has errors.
    pub(super) fn new(
        link: &Link,
        packet: &PacketFormat,
        torus: &Torus,
        seed: u64,
        numbers: &[u32],
        ports: usize,
    ) -> Option<Box<Self>> {
        if !link.may_corrupt() {
            return None;
        }
        let links = numbers.len() * ports;
        let mut errors = Box::new(Errors {
            thresholds: ErrorThresholds::new(link.bit_error_rate, packet),
            special: BTreeMap::new(),
            doubtful: vec![link.bit_error_rate > 0.0; links],
            packet: packet.clone(),
            timeout: link.retransmit_timeout_ticks.into(),
            ack_after: link.ack_only_after_ticks.into(),
            streams: numbers.iter().map(|&n| Stream::new(seed, 3, n.into())).collect(),
            recovering: BTreeMap::new(),
            clocks: vec![AckClock::AT_REST; links],
            counts: vec![LinkErrors::default(); links],
            crcs: vec![LinkCrcs::default(); links],
            ports,
        });
        errors.place(link, torus, seed, numbers);
        Some(errors)
    }

    /// Records the links with their own settings.
    fn place(&mut self, link: &Link, torus: &Torus, seed: u64, numbers: &[u32]) {
        let mut faults: BTreeMap<(u32, usize), Vec<&LinkFault>> = BTreeMap::new();
        for PlacedFault { node, port, fault } in link.placed(torus) {
            faults.entry((node, port)).or_default().push(fault);
        }
        // Settings are looked up by the sending port.
        let of = |number: u32, port: usize| {
            let (d, minus) = (port / 2, port % 2 == 1);
            let x = torus.coordinates(number)[d].into();
            let is_optical = link.fibre_error_rate > 0.0 && link.is_optical(d, x, torus.length(d), minus);
            (faults.get(&(number, port)).map_or(&[][..], |list| &list[..]), is_optical)
        };
        for (here, &number) in numbers.iter().enumerate().filter(|(_, number)| !torus.is_io_node(**number)) {
            for port in (0..torus.ports()).filter(|&port| !torus.is_dead(number, port)) {
                let index = self.link(here as u32, port);
                let other = torus.neighbour(number, port).expect("a link that is not dead has two ends");
                let (coming, is_optical) = of(other, port ^ 1);
                self.doubtful[index] |= is_optical || !coming.is_empty();
                let (named, is_optical) = of(number, port);
                if is_optical || !named.is_empty() {
                    let stream = Stream::new(seed, 5, u64::from(number) << 4 | port as u64);
                    let special = Special::new(link, &self.packet, named, is_optical, stream);
                    self.special.insert(index, special);
                }
            }
        }
    }

    /// Index of a node's port within the block.
    fn link(&self, node: u32, port: usize) -> usize {
        node as usize * self.ports + port
    }

    /// Draws the outcome of a data packet's transmission.
    fn transmit(&mut self, node: u32, port: usize, chunks: u32) -> Outcome {
        let link = self.link(node, port);
        let special = self.special.get_mut(&link);
        let thresholds =
            special.as_ref().map_or(self.thresholds.as_ref(), |special| special.thresholds.as_ref());
        let mut outcome = match thresholds.map(|thresholds| (self.streams[node as usize].draw(), thresholds))
        {
            Some((drawn, thresholds)) if drawn < thresholds.header => Outcome::BadHeader,
            Some((drawn, thresholds)) if drawn < thresholds.packet[chunks as usize] => Outcome::BadTail,
            _ => Outcome::Clean,
        };
        let counts = &mut self.counts[link];
        if let Some(special) = special {
            outcome = special.carry(outcome, chunks, &self.packet, counts);
        }
        counts.corrupted += u64::from(!outcome.is_taken());
        counts.bad_headers += u64::from(outcome == Outcome::BadHeader);
        outcome
    }

    /// Draws whether a token-ack, or another short packet, gets through.
    pub(super) fn short_gets_through(&mut self, node: u32, port: usize) -> bool {
        let link = self.link(node, port);
        let special = self.special.get_mut(&link);
        let thresholds =
            special.as_ref().map_or(self.thresholds.as_ref(), |special| special.thresholds.as_ref());
        let through =
            thresholds.is_none_or(|thresholds| self.streams[node as usize].draw() >= thresholds.ack);
        let wire = self.packet.ack_wire_B();
        let fibres = special.and_then(|special| special.fibres.as_mut());
        // The fibres carry it regardless of other errors.
        through
            & fibres.is_none_or(|fibres| self.counts[link].add_transmission(&fibres.carry(wire)).is_none())
    }

    /// A packet starts on a link for the first time. Returns its outcome; `None` if the receiver rejects it
    /// as out of sequence.
    pub(super) fn send(
        &mut self,
        (node, port): (u32, usize),
        kept: Kept,
        meta: &Meta,
        data: Option<&Data>,
    ) -> Option<Outcome> {
        let link = self.link(node, port);
        add(&mut self.crcs[link].sent, kept.header, meta, data);
        self.counts[link].ran_on += u64::from(kept.header.is_ghost());
        if let Some(recovery) = self.recovering.get_mut(&link) {
            recovery.fifo.push_back(kept);
            self.counts[link].refused += 1;
            return None;
        }
        let outcome = self.transmit(node, port, kept.header.chunks());
        if !outcome.is_taken() {
            self.recovering.entry(link).or_default().fifo.push_back(kept);
        }
        Some(outcome)
    }

    /// The next packet of a retransmission FIFO starts on its link. Returns it and its outcome, as
    /// [`Self::send`] does.
    pub(super) fn resend(&mut self, node: u32, port: usize) -> (Kept, Option<Outcome>) {
        let link = self.link(node, port);
        let recovery = &self.recovering[&link];
        let (kept, failed) = (recovery.fifo[recovery.next], recovery.failed);
        self.counts[link].retransmitted += 1;
        self.counts[link].refused += u64::from(failed);
        let outcome = (!failed).then(|| self.transmit(node, port, kept.header.chunks()));
        let recovery = self.recovering.get_mut(&link).expect("a link under recovery");
        if outcome.is_some_and(Outcome::is_taken) {
            recovery.fifo.pop_front();
        } else {
            recovery.failed = true;
            recovery.next += 1;
        }
        (kept, outcome)
    }

    /// A retransmitted packet has left its link. Returns whether another is to follow; if not, the pass is
    /// complete.
    pub(super) fn resent(&mut self, node: u32, port: usize) -> bool {
        let link = self.link(node, port);
        let recovery = self.recovering.get_mut(&link).expect("a link under recovery");
        if recovery.next < recovery.fifo.len() {
            return true;
        }
        (recovery.next, recovery.failed) = (0, false);
        if recovery.fifo.is_empty() {
            self.recovering.remove(&link);
        }
        false
    }

    /// When a sender retransmits after a transmission that ended at `end` without an acknowledgement.
    pub(super) fn timeout(&self, end: Time) -> Time {
        end + self.timeout
    }

    /// A packet will have been completely received at `at`: sets the timer of its acknowledgement if needed.
    pub(super) fn received<Own: OwnKind, const HORIZON: usize>(
        &mut self,
        (node, port): (u32, usize),
        header: Header,
        meta: &Meta,
        data: Option<&Data>,
        at: Time,
        calendar: &mut Calendar<Event<Own>, HORIZON>,
    ) {
        let link = self.link(node, port);
        add(&mut self.crcs[link].received, header, meta, data);
        // Without retransmission no acknowledgement matters.
        let timer = if self.doubtful[link] { self.clocks[link].received(at, self.ack_after) } else { None };
        set_ack_timer(calendar, node, port, timer);
    }

    /// An acknowledgement with these tokens leaves; sets the timer of the next one if needed. Returns whether
    /// it delivers the tokens; if it is lost they go with the next one.
    pub(super) fn acknowledge<Own: OwnKind, const HORIZON: usize>(
        &mut self,
        (node, port): (u32, usize),
        word: u64,
        due: &mut u64,
        now: Time,
        calendar: &mut Calendar<Event<Own>, HORIZON>,
    ) -> bool {
        let through = self.short_gets_through(node, port);
        let link = self.link(node, port);
        self.counts[link].ack_only += u64::from(word == 0);
        self.counts[link].acks_lost += u64::from(!through);
        set_ack_timer(calendar, node, port, self.clocks[link].acknowledged(now, through, self.ack_after));
        if !through {
            *due = word;
        }
        through && word != 0
    }

    /// A timer has expired, and is restarted if needed. Returns whether to acknowledge as soon as the link
    /// carries no data packet.
    pub(super) fn overdue<Own: OwnKind, const HORIZON: usize>(
        &mut self,
        node: u32,
        port: usize,
        now: Time,
        calendar: &mut Calendar<Event<Own>, HORIZON>,
    ) -> bool {
        let link = self.link(node, port);
        let (send, timer) = self.clocks[link].ring(now, self.ack_after);
        set_ack_timer(calendar, node, port, timer);
        send
    }

    /// The error counters of a port, for updating.
    pub(super) fn count(&mut self, node: u32, port: usize) -> &mut LinkErrors {
        let link = self.link(node, port);
        &mut self.counts[link]
    }

    /// The errors of a port since the statistics were restarted.
    pub(super) fn counted(&self, node: usize, port: usize) -> LinkErrors {
        self.counts[self.link(node as u32, port)]
    }

    /// The CRCs of a port.
    pub(super) fn crcs(&self, node: usize, port: usize) -> LinkCrcs {
        self.crcs[self.link(node as u32, port)]
    }

    /// The errors of all ports of the block since the statistics were restarted.
    pub(super) fn sum(&self) -> LinkErrors {
        let mut sum = LinkErrors::default();
        self.counts.iter().for_each(|link| sum.merge(link));
        sum
    }

    /// Restarts the statistics.
    pub(super) fn restart_counting(&mut self) {
        self.counts.fill(LinkErrors::default());
    }

    /// Reports packets in retransmission FIFOs that still wait for recovery when the network should be idle.
    pub(super) fn unrest(&self) -> Option<String> {
        let left: usize = self.recovering.values().map(|recovery| recovery.fifo.len()).sum();
        (left > 0).then(|| format!("{left} packets in retransmission FIFOs"))
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.streams)
            + size_of_val(&*self.clocks)
            + size_of_val(&*self.counts)
            + size_of_val(&*self.crcs)
    }
}

fn set_ack_timer<Own: OwnKind, const HORIZON: usize>(
    calendar: &mut Calendar<Event<Own>, HORIZON>,
    node: u32,
    port: usize,
    at: Option<Time>,
) {
    if let Some(at) = at {
        calendar.push(at, Event::at(Kind::Overdue, node, port, 0, 0, 0));
    }
}

/// Adds a packet to the CRCs of a link. Packets have no bytes here, so the CRC covers header, metadata and
/// payload.
fn add(crcs: &mut [u64; 2], header: Header, meta: &Meta, data: Option<&Data>) {
    let is_system = header.is_system()
        || CollectiveHeader::unpack(header).is_some_and(|header| header.kind == RouteKind::System);
    let crc = &mut crcs[usize::from(is_system)];
    for word in [header.0, meta.made.ticks(), meta.source.into(), meta.message[0], meta.message[1]] {
        *crc = crc64(*crc, &word.to_le_bytes());
    }
    *crc = crc64(*crc, data.map_or(&[], |data| &data[..]));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::TorusConfig;

    #[test]
    fn a_packet_is_corrupted_as_often_as_one_of_its_bits() {
        let mut config = TorusConfig::bluegene_l(&[2]);
        let torus = Torus::new(&config.topology);
        assert!(Errors::new(&config.link, &config.packet, &torus, 1, &[0, 1], 6).is_none());
        config.link.bit_error_rate = 1e-4;
        let mut errors = Errors::new(&config.link, &config.packet, &torus, 1, &[0, 1], 6).expect("errors");
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
}
