//! Failures and errors in a block's routers and on their links ("Network Reliability, Availability and
//! Serviceability"): failures at configured times, packets lost by them, upset words in memories. Without any
//! of these nothing here is on the path of packets.
//!
//! - A link that fails does so in both directions. At once neither end routes packets to it any more; what
//!   waits for it is discarded, and so is what is on the wire. A packet of which a part has come is damaged,
//!   and found to be so at its destination, by the packet's CRC; one whose head has left the input queue by
//!   then passes as whole **(ours)**.
//! - A router that fails takes its links with it, the packets in it, and its nodes.
//! - A packet for which the tables have no link that works is discarded.
//! - An upset word is corrected; one with two wrong bits is contained: in a packet's data it corrupts the
//!   packet, in its header the packet is discarded.

use super::TiledFamily;
use super::block::TiledBlock;
use super::event::{Event, Kind};
use super::link_control::{Carried, LinkControlCounts, Rates, Sender};
use super::state::*;
use super::tables::Tables;
use crate::config::{Change, What};
use crate::host::Host;
use crate::router::bits::bits;
use borsh::{BorshDeserialize, BorshSerialize};
use netloom_engine::checkpoint::State;
use netloom_engine::{Stream, Time, chance_threshold};
use serde::{Deserialize, Serialize};
use std::io;
use std::sync::Arc;

/// The random stream of a run for upset words.
const SOFT: u64 = 23;

/// Counts of failures and errors.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize,
)]
pub struct FaultCounts {
    /// On links that work.
    pub links: LinkControlCounts,
    /// Packets lost on links that failed, or that waited for them.
    pub lost_on_links: u64,
    /// Packets lost in routers that failed, or at their nodes.
    pub lost_in_routers: u64,
    /// Packets discarded for lack of a route.
    pub without_route: u64,
    /// Words of packets in memories with one wrong bit, which were corrected; with two, which were contained.
    pub words_corrected: u64,
    /// See `words_corrected`.
    pub words_contained: u64,
    /// Packets discarded because of contained words in their headers.
    pub without_header: u64,
    /// Packets that arrived at their nodes corrupted.
    pub delivered_damaged: u64,
}

impl FaultCounts {
    /// Lost packets.
    pub fn lost(&self) -> u64 {
        self.lost_on_links + self.lost_in_routers + self.without_route + self.without_header
    }

    /// Adds another's.
    pub fn merge(&mut self, other: &Self) {
        self.links.merge(&other.links);
        self.lost_on_links += other.lost_on_links;
        self.lost_in_routers += other.lost_in_routers;
        self.without_route += other.without_route;
        self.words_corrected += other.words_corrected;
        self.words_contained += other.words_contained;
        self.without_header += other.without_header;
        self.delivered_damaged += other.delivered_damaged;
    }
}

/// Kinds of errors that a router detects.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    BorshSerialize,
    BorshDeserialize,
)]
pub enum ErrorKind {
    /// A link that does not work any more.
    Link,
    /// A lane.
    Lane,
    /// A set with a wrong CRC.
    Set,
    /// A wrong bit in a memory, corrected.
    Corrected,
    /// Two wrong bits of a word, contained.
    Contained,
    /// A packet without a route.
    NoRoute,
}

/// The first error that a router detected, which is stored ("identification of the first error within a
/// sequence of errors").
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    BorshSerialize,
    BorshDeserialize,
)]
pub struct FirstError {
    /// Time, ticks.
    pub at: Time,
    /// The router.
    pub router: u32,
    /// The tile.
    pub tile: usize,
    /// Its kind.
    pub kind: ErrorKind,
}

/// A block's state of failures and errors.
pub(super) struct Faults {
    /// What becomes of the block's routers, by the block's numbers, and how much of it has come to pass.
    schedule: Vec<Change>,
    passed: usize,
    /// By router: ports whose links work, a bit each.
    pub works: Vec<u64>,
    /// Routers that have failed.
    pub dead: Vec<bool>,
    /// Lanes that are left, by router and tile.
    lanes: Vec<u8>,
    lanes_of_all: u64,
    /// The sending ends of links, by router and tile, where bits may be wrong.
    senders: Vec<Sender>,
    rates: Option<Rates>,
    /// Probabilities that a packet meets an upset word, and that this has two wrong bits; by router the
    /// random stream.
    soft: [u64; 2],
    streams: Vec<Stream>,
    /// Whether packets wait at their nodes, while route tables are being changed.
    pub quiesced: bool,
    pub counts: FaultCounts,
    pub first: Vec<Option<FirstError>>,
}

impl State for Faults {
    fn store(&self, to: &mut Vec<u8>) -> io::Result<()> {
        #[rustfmt::skip]
        let Faults {
            passed, works, dead, lanes, senders, streams, quiesced, counts, first,
            schedule: _, lanes_of_all: _, rates: _, soft: _,
        } = self;
        (passed, works, dead, lanes, senders).serialize(to)?;
        (streams, quiesced, counts, first).serialize(to)
    }

    fn load(&mut self, from: &mut &[u8]) -> io::Result<()> {
        (self.passed, self.works, self.dead, self.lanes, self.senders) = BorshDeserialize::deserialize(from)?;
        (self.streams, self.quiesced, self.counts, self.first) = BorshDeserialize::deserialize(from)?;
        Ok(())
    }
}

impl Faults {
    /// For the routers from `first` on; `None` if nothing ever fails.
    pub fn new(
        tables: &Tables,
        schedule: &[Change],
        (first, routers): (u32, u32),
        seed: u64,
    ) -> Option<Box<Self>> {
        let (config, k) = (&tables.config, &tables.constants);
        if config.faults.is_none() {
            return None;
        }
        let own = schedule.iter().filter(|change| (first..first + routers).contains(&change.router));
        let ports = |router: u32| {
            (0..k.ports)
                .filter(|&port| tables.wiring.end(router, port).is_some())
                .fold(0, |works, port| works | 1 << port)
        };
        let lanes = config.link_control.as_ref().map_or(1, |control| control.lanes);
        let control = config.link_control.as_ref();
        let rates = control.and_then(|control| Rates::new(config.faults.bit_error_rate, control));
        let senders = rates.iter().flat_map(|&rates| {
            (first..first + routers)
                .flat_map(move |router| (0..k.tiles).map(move |tile| Sender::new(seed, router, tile, rates)))
        });
        let numbers = first..first + routers;
        Some(Box::new(Faults {
            schedule: own.map(|change| Change { router: change.router - first, ..*change }).collect(),
            passed: 0,
            works: numbers.clone().map(ports).collect(),
            dead: vec![false; routers as usize],
            lanes: vec![lanes as u8; routers as usize * k.tiles],
            lanes_of_all: lanes.into(),
            senders: senders.collect(),
            rates,
            soft: [config.faults.soft_error_rate, config.faults.soft_double_share].map(chance_threshold),
            streams: numbers.map(|router| Stream::new(seed, SOFT, router.into())).collect(),
            quiesced: false,
            counts: FaultCounts::default(),
            first: vec![None; routers as usize],
        }))
    }

    /// The times of failures.
    pub fn times(&self) -> impl Iterator<Item = Time> {
        self.schedule.iter().map(|change| change.at)
    }

    fn note(&mut self, first: u32, router: u32, tile: usize, kind: ErrorKind, at: Time) {
        let error = FirstError { at, router: first + router, tile, kind };
        self.first[router as usize].get_or_insert(error);
    }

    /// Time of a flit on a link with the remaining lanes.
    pub fn flit(&self, at: usize, flit: u64) -> u64 {
        flit * self.lanes_of_all / u64::from(self.lanes[at])
    }

    /// When a link takes a packet that could leave at `now`, thousandths of a tick.
    pub fn open_at(&self, at: usize, now: u64) -> u64 {
        self.senders.get(at).map_or(now, |sender| sender.open_at(now))
    }

    /// Whether bits on links may be wrong.
    pub fn has_wrong_bits(&self) -> bool {
        self.rates.is_some()
    }

    pub fn bytes(&self) -> usize {
        size_of_val(&*self.senders) + self.lanes.len() + self.works.len() * (9 + size_of::<FirstError>())
    }
}

impl<H: Host<TiledFamily>> TiledBlock<H> {
    /// The ports of a router whose links work.
    #[inline]
    pub(super) fn works(&self, router: u32) -> u64 {
        self.faults.as_ref().map_or(!0, |faults| faults.works[router as usize])
    }

    /// Whether the link of a tile has failed.
    #[inline]
    pub(super) fn is_dead(&self, router: u32, tile: usize) -> bool {
        self.is_link(router, tile) && self.works(router) >> tile & 1 == 0
    }

    /// Whether an event is of a router that has failed, or of a packet on a link that has; its packet is no
    /// more then.
    pub(super) fn is_void(&mut self, event: &Event) -> bool {
        let is_link = self.is_link(event.router, event.tile.into());
        let Some(faults) = &mut self.faults else { return false };
        let is_dead = faults.dead[event.router as usize];
        let tile = usize::from(event.tile);
        let is_cut =
            event.kind == Kind::Arrived && is_link && faults.works[event.router as usize] >> tile & 1 == 0;
        if !is_dead && !is_cut {
            return false;
        }
        if matches!(event.kind, Kind::Arrived | Kind::Switched | Kind::Buffered | Kind::Delivered) {
            if is_cut {
                faults.counts.lost_on_links += 1;
            } else {
                faults.counts.lost_in_routers += 1;
            }
            self.lose(event.packet);
        }
        true
    }

    /// Counts a lost packet.
    fn lose(&mut self, packet: u32) {
        self.remove(packet);
        self.recorder.in_flight -= 1;
    }

    /// Applies the failures due by now.
    #[inline(never)]
    pub(super) fn fail(&mut self, now: Time) {
        loop {
            let Some(faults) = &mut self.faults else { return };
            let Some(&change) = faults.schedule.get(faults.passed).filter(|change| change.at <= now) else {
                return;
            };
            faults.passed += 1;
            let router = change.router;
            match change.what {
                What::Lanes(port, lanes) => {
                    faults.lanes[router as usize * self.k.tiles + port as usize] = lanes as u8;
                    faults.note(self.first, router, port as usize, ErrorKind::Lane, now);
                }
                What::Link(port) => {
                    faults.works[router as usize] &= !(1 << port);
                    faults.note(self.first, router, port as usize, ErrorKind::Link, now);
                    self.cut(router, port as usize, now);
                }
                What::Router => {
                    faults.dead[router as usize] = true;
                    self.empty(router, now);
                }
            }
        }
    }

    /// The time of the next failure.
    pub(super) fn fails_next(&self) -> Time {
        let next = self.faults.as_ref().and_then(|faults| faults.schedule.get(faults.passed));
        next.map_or(Time::MAX, |change| change.at)
    }

    /// Corrupts a packet from now on: its data, if it has any.
    #[cold]
    pub(super) fn damage(&mut self, packet: u32) {
        let cell = &mut self.cells[packet as usize];
        cell.header = cell.header.damaged();
        self.arena.damage_data(packet, |size| size / 2);
    }

    /// A link has failed: what has not come whole is damaged, and what waits for it is to be discarded.
    fn cut(&mut self, router: u32, port: usize, now: Time) {
        let at = router as usize * self.k.tiles + port;
        for vc in bits(self.inputs[at].waiting) {
            // The packet that arrives last is the last of its queue.
            let first = self.inputs[at].queues[vc].first().expect("a VC with a packet");
            let last = self.cells[first as usize].last;
            if self.cells[last as usize].tail_at > now {
                self.damage(last);
            }
        }
        self.calendar.push(now, Event::at(Kind::WakeOutput, router, port));
    }

    /// A router has failed: everything in it is lost.
    fn empty(&mut self, router: u32, now: Time) {
        let k = self.k;
        let mut lost = vec![];
        let tiles = router as usize * k.tiles..(router as usize + 1) * k.tiles;
        for at in tiles.clone() {
            for vc in bits(self.inputs[at].waiting) {
                while self.inputs[at].queues[vc].first().is_some() {
                    let packet = self.inputs[at].queues[vc].pop(&mut self.cells);
                    self.recorder.leave(vc, self.cells[packet as usize].flits, now);
                    lost.push(packet);
                }
            }
            (self.inputs[at].waiting, self.inputs[at].routed) = (0, 0);
            let row = at * k.columns * VCS..(at + 1) * k.columns * VCS;
            let column = at * k.rows * VCS..(at + 1) * k.rows * VCS;
            for buffer in self.row_buffers[row].iter_mut().chain(&mut self.column_buffers[column]) {
                while buffer.queue.first().is_some() {
                    lost.push(buffer.queue.pop(&mut self.cells));
                }
            }
            let buses = &mut self.buses[at * k.rows..(at + 1) * k.rows];
            buses.iter_mut().for_each(|bus| (bus.wanted, bus.promised) = (0, 0));
            self.switches[at].wanted = 0;
            let output = &mut self.outputs[at];
            (output.waiting, output.promised) = (0, 0);
            (output.load, output.load_all) = ([0; VCS], 0);
        }
        self.load[router as usize] = 0;
        let number = (self.first + router) as usize;
        self.router_loads.change(number, now, 0);
        (0..k.globals).for_each(|link| self.link_loads.change(number * k.globals + link, now, 0));
        let shares = router as usize * k.shares..(router as usize + 1) * k.shares;
        self.shares[shares].iter_mut().for_each(|share| share.waiting = 0);
        // Packets that had not entered yet are not counted.
        let nodes = self.tables.wiring.nodes_at(self.first + router);
        for node in nodes.start - self.first_node..nodes.end - self.first_node {
            for fifo in 0..self.fifos {
                let packet = std::mem::replace(&mut self.injecting[node as usize * self.fifos + fifo], NONE);
                if packet != NONE {
                    self.remove(packet);
                }
            }
            self.host.died(now, node);
        }
        self.faults.as_mut().expect("a router has failed").counts.lost_in_routers += lost.len() as u64;
        lost.into_iter().for_each(|packet| self.lose(packet));
    }

    /// Discards a packet for which the tables have no link that works.
    #[cold]
    pub(super) fn lose_without_route(&mut self, router: u32, tile: usize, packet: u32, now: Time) {
        let first = self.first;
        let faults = self.faults.as_mut().expect("tables have routes where nothing fails");
        faults.counts.without_route += 1;
        faults.note(first, router, tile, ErrorKind::NoRoute, now);
        self.lose(packet);
    }

    /// Discards a packet whose header cannot be read.
    #[cold]
    pub(super) fn lose_without_header(&mut self, packet: u32) {
        self.faults.as_mut().expect("a word is upset").counts.without_header += 1;
        self.lose(packet);
    }

    /// Discards a packet that waited for a link that has failed.
    #[cold]
    pub(super) fn lose_on_link(&mut self, packet: u32) {
        self.faults.as_mut().expect("a link has failed").counts.lost_on_links += 1;
        self.lose(packet);
    }

    /// A packet reaches the head of an input queue, out of its memory: whether its header can be read.
    #[inline]
    pub(super) fn reads_header(&mut self, router: u32, tile: usize, packet: u32, now: Time) -> bool {
        self.faults.is_none() || self.reads_doubtful_header(router, tile, packet, now)
    }

    #[inline(never)]
    fn reads_doubtful_header(&mut self, router: u32, tile: usize, packet: u32, now: Time) -> bool {
        let first = self.first;
        let Some(faults) = &mut self.faults else { return true };
        let stream = &mut faults.streams[router as usize];
        if !stream.chance(faults.soft[0]) {
            return true;
        }
        if !stream.chance(faults.soft[1]) {
            faults.counts.words_corrected += 1;
            faults.note(first, router, tile, ErrorKind::Corrected, now);
            return true;
        }
        let format = &self.tables.config.packet;
        let cell = &mut self.cells[packet as usize];
        let is_in_header =
            stream.below(cell.flits.into()) < u64::from(format.header_flits(cell.header.class()));
        faults.counts.words_contained += 1;
        faults.note(first, router, tile, ErrorKind::Contained, now);
        if is_in_header {
            return false;
        }
        self.damage(packet);
        true
    }

    /// The outcome of a packet's transmission that starts at `start`; `flit` is the time of a flit.
    #[inline]
    pub(super) fn carry(&mut self, at: usize, start: u64, flits: u64, flit: u64, now: Time) -> Carried {
        if self.faults.is_some() {
            return self.carry_doubtfully(at, start, flits, flit, now);
        }
        Carried { start, end: start + flits * flit, escaped: false }
    }

    #[inline(never)]
    fn carry_doubtfully(&mut self, at: usize, start: u64, flits: u64, flit: u64, now: Time) -> Carried {
        let straight = Carried { start, end: start + flits * flit, escaped: false };
        let (first, tiles) = (self.first, self.k.tiles);
        let Some(faults) = &mut self.faults else { return straight };
        let (Some(rates), Some(sender)) = (faults.rates, faults.senders.get_mut(at)) else {
            return straight;
        };
        let round_trip = 2000 * self.k.latency[usize::from(self.outputs[at].class)];
        let counts = &mut faults.counts.links;
        let before = counts.corrupted_sets;
        let carried = sender.carry(start, flits, (flit, round_trip), rates, counts);
        if counts.corrupted_sets != before {
            faults.note(first, (at / tiles) as u32, at % tiles, ErrorKind::Set, now);
        }
        carried
    }

    /// The delay of credits that are to leave now over a tile's link, and how long it holds, ticks.
    pub(super) fn credits_are_late(&mut self, router: u32, tile: usize, now: Time) -> (u64, u64) {
        let at = router as usize * self.k.tiles + tile;
        let faults = self.faults.as_mut().expect("bits are wrong");
        let class = usize::from(self.outputs[at].class);
        let times = (faults.flit(at, self.k.flit[class]), 2000 * self.k.latency[class]);
        let (rates, sender) = (faults.rates.expect("bits are wrong"), &mut faults.senders[at]);
        let (late, until) = sender.carry_credits(milliticks(now), times, rates, &mut faults.counts.links);
        (late.div_ceil(1000), tick_from(until) - now)
    }

    /// Holds packets back at their nodes.
    pub(super) fn quiesce(&mut self) {
        if let Some(faults) = &mut self.faults {
            faults.quiesced = true;
        }
    }

    /// Switches to other tables, and lets packets enter again.
    pub(super) fn release(&mut self, tables: &Arc<Tables>, now: Time) {
        self.tables = Arc::clone(tables);
        if let Some(faults) = &mut self.faults {
            faults.quiesced = false;
        }
        for router in 0..self.load.len() {
            for share in 0..self.k.shares {
                if self.shares[router * self.k.shares + share].waiting != 0 {
                    self.calendar.push(now, Event::at(Kind::WakeShare, router as u32, share));
                }
            }
        }
    }
}
