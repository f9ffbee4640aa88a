//! The interface between nodes and processor tiles: Netlink, which distributes the packets of a share's nodes
//! over its tiles by load ("The Netlink block multiplexes traffic over the processor tiles on a
//! packet-by-packet basis"), and the exchange between network and hosts.

use super::TiledFamily;
use super::block::TiledBlock;
use super::event::{Event, Kind};
use super::header::TiledHeader;
use super::inputs::is_new;
use super::state::*;
use super::tables::Constants;
use crate::host::{Delivery, Family, Host, Pull, Reception, Request};
use netloom_engine::Time;
use std::convert::Infallible;

impl Family for TiledFamily {
    type Header = TiledHeader;
    type Signal = Reception;
    type Event = Infallible;
}

impl<H: Host<TiledFamily>> TiledBlock<H> {
    /// Delivers complete packets, wakes hosts, and pulls packets, in an order that depends on each node
    /// alone.
    pub(super) fn serve_hosts(&mut self, now: Time) {
        if self.for_hosts.is_empty() {
            return;
        }
        let mut events = std::mem::take(&mut self.for_hosts);
        events.sort_unstable_by_key(|e| (e.router, e.tile, e.kind as u8, e.queue, e.packet));
        for event in &events {
            let node = self.node(event.router, event.tile.into());
            match event.kind {
                Kind::Delivered => self.deliver(node, event.queue.into(), event.packet, now),
                Kind::Wake => {
                    self.host.wake(now, node, event.packet, &mut self.signals);
                    self.obey(now);
                }
                _ => self.pull(node, (event.router, event.tile.into()), event.queue.into(), now),
            }
        }
        events.clear();
        self.for_hosts = events;
    }

    /// The block's number of a router's node.
    fn node(&self, router: u32, slot: usize) -> u32 {
        self.tables.wiring.nodes_at(self.first + router).start + slot as u32 - self.first_node
    }

    /// The block's router of a node, and the node's index there.
    fn home(&self, node: u32) -> (u32, usize) {
        let (router, slot) = self.tables.wiring.home(self.first_node + node);
        (router - self.first, slot)
    }

    fn deliver(&mut self, node: u32, port: usize, packet: u32, now: Time) {
        let (cell, mut meta, data) = self.remove(packet);
        meta.hops = cell.hops.into();
        if let Some(faults) = self.faults.as_mut().filter(|_| cell.header.is_damaged()) {
            faults.counts.delivered_damaged += 1;
        }
        self.recorder.in_flight -= 1;
        self.recorder.delivered(now, cell.flits.into(), &meta);
        let delivery = Delivery { port, header: cell.header, meta, data: data.as_ref() };
        self.host.deliver(now, node, &delivery, &mut self.signals);
        self.obey(now);
    }

    /// Carries out the host's requests.
    fn obey(&mut self, now: Time) {
        if self.signals.is_empty() {
            return;
        }
        let mut list = std::mem::take(&mut self.signals.requests);
        for signal in list.drain(..) {
            match signal {
                Request::Fill { node, fifo, at } => {
                    let (router, slot) = self.home(node);
                    self.calendar.push(at.max(now + 1), Event::of_packet(Kind::Fill, router, slot, fifo, 0));
                }
                Request::Wake { node, at, token } => {
                    assert!(at > now, "a host may be woken in the future only");
                    let (router, slot) = self.home(node);
                    self.calendar.push(at, Event::of_packet(Kind::Wake, router, slot, 0, token));
                }
                Request::Own { node, signal: Reception { high, open, .. } } => {
                    self.set_open(node, high, open, now);
                }
            }
        }
        self.signals.requests = list;
    }

    /// A node starts or stops accepting packets of a class: requests, or (`high`) responses.
    fn set_open(&mut self, node: u32, high: bool, open: bool, now: Time) {
        let bit = 1 << u32::from(high);
        let closed = &mut self.closed[node as usize];
        *closed = if open { *closed & !bit } else { *closed | bit };
        if open {
            let (router, slot) = self.home(node);
            for tile in self.k.tiles_of(slot / self.k.nodes_per_share) {
                self.wake_output(router, tile, now + 1);
            }
        }
    }

    /// Pulls the next packet of a node's injection FIFO if that is empty.
    fn pull(&mut self, node: u32, (router, slot): (u32, usize), fifo: usize, now: Time) {
        let place = node as usize * self.fifos + fifo;
        if self.injecting[place] != NONE {
            return;
        }
        match self.host.pull(now, node, fifo, &mut self.signals) {
            Pull::Packet(header, meta) => {
                let data = self.signals.take_data();
                let cell = Cell { header, flits: header.flits() as u8, ..Cell::default() };
                self.injecting[place] = self.insert(cell, meta, data);
                let t = &self.k;
                let share = slot / t.nodes_per_share;
                let bit = slot % t.nodes_per_share * self.fifos + fifo;
                self.shares[router as usize * t.shares + share].waiting |= 1 << bit;
                self.due.shares |= 1 << share;
            }
            Pull::NotBefore(at) => {
                self.signals.refuse_data(node);
                self.calendar.push(at.max(now + 1), Event::of_packet(Kind::Fill, router, slot, fifo, 0));
            }
            Pull::Empty => self.signals.refuse_data(node),
        }
        self.obey(now);
    }

    /// Distributes the packets of a share's nodes over its tiles, in turn.
    pub(super) fn enter_tiles(&mut self, router: u32, share: usize, now: Time) {
        if self.faults.as_ref().is_some_and(|faults| faults.quiesced) {
            return;
        }
        let at = router as usize * self.k.shares + share;
        let Share { waiting, turn, .. } = self.shares[at];
        let mut next = Time::MAX;
        for bit in in_turn(waiting, turn) {
            match self.pick_tile(router, share, bit, now) {
                Ok(place) => self.enter(router, share, bit, place, now),
                Err(at) => next = next.min(at),
            }
        }
        if next != Time::MAX {
            self.wake_share(router, share, next);
        }
    }

    /// The FIFO of a bit of a share, by its index in the array of all.
    fn fifo_of(&self, router: u32, share: usize, bit: usize) -> (u32, usize) {
        let node = self.node(router, share * self.k.nodes_per_share + bit / self.fifos);
        (node, bit % self.fifos)
    }

    /// The tile of a share for the packet of a FIFO: among those with space and a free input, the one with
    /// the shortest queue. Otherwise the time to try again, which is the end of time if only freed space will
    /// help. A packet that finds no space anywhere is promised the next space of its VC in each tile that it
    /// may use.
    fn pick_tile(&mut self, router: u32, share: usize, bit: usize, now: Time) -> Result<usize, Time> {
        let t = &self.k;
        let (node, fifo) = self.fifo_of(router, share, bit);
        let cell = &self.cells[self.injecting[node as usize * self.fifos + fifo] as usize];
        let vc = self.tables.class_vcs(cell.header);
        let first = (router as usize * t.shares + share) * t.tiles_per_share;
        let hashed = cell.header.mode().is_in_order().then(|| cell.header.seed as usize % t.tiles_per_share);
        let places = hashed.map_or(0..t.tiles_per_share, |hashed| hashed..hashed + 1);
        let mut best: Option<(u32, usize)> = None;
        let (mut next, mut has_room) = (Time::MAX, false);
        for place in places.clone() {
            let entry = &self.entries[first + place];
            if entry.promised[vc] != NOBODY && usize::from(entry.promised[vc]) != bit {
                continue;
            }
            let Some(room_at) = entry.room.has_at(vc, cell.flits.into(), t.rules, now) else { continue };
            has_room |= room_at <= now;
            let free_at = room_at.max(tick_from(entry.free_at));
            if free_at > now {
                next = next.min(free_at);
            } else if best.is_none_or(|(load, _)| entry.room.in_all() < load) {
                best = Some((entry.room.in_all(), place));
            }
        }
        if !has_room {
            for entry in &mut self.entries[first + places.start..first + places.end] {
                if entry.promised[vc] == NOBODY {
                    entry.promised[vc] = bit as u8;
                }
            }
        }
        best.map(|(_, place)| place).ok_or(next)
    }

    fn enter(&mut self, router: u32, share: usize, bit: usize, place: usize, now: Time) {
        let t = &self.k;
        let at = router as usize * t.shares + share;
        self.shares[at].waiting &= !(1 << bit);
        self.shares[at].turn = bit as u8;
        let (node, fifo) = self.fifo_of(router, share, bit);
        let packet = std::mem::replace(&mut self.injecting[node as usize * self.fifos + fifo], NONE);
        let vc = self.tables.class_vcs(self.cells[packet as usize].header);
        let mut was_promised = false;
        for entry in &mut self.entries[at * t.tiles_per_share..][..t.tiles_per_share] {
            if usize::from(entry.promised[vc]) == bit {
                entry.promised[vc] = NOBODY;
                was_promised = true;
            }
        }
        let entry = &mut self.entries[at * t.tiles_per_share + place];
        let cell = &mut self.cells[packet as usize];
        let start = entry.free_at.max(milliticks(now).saturating_sub(999));
        entry.free_at = start + u64::from(cell.flits) * t.netlink_flit;
        entry.room.take(vc, cell.flits.into(), t.rules);
        let latency = t.netlink_ticks + t.route_ticks;
        (cell.came, cell.tail_at) = (vc as u8, tick_from(entry.free_at) + latency);
        let tile = t.tiles_of(share).start + place;
        self.calendar.push(now + latency, Event::of_packet(Kind::Arrived, router, tile, 0, packet));
        self.arena.get_mut(packet).entered = now;
        self.recorder.current.injected += 1;
        self.recorder.in_flight += 1;
        let slot = share * self.k.nodes_per_share + bit / self.fifos;
        self.calendar.push(now + 1, Event::of_packet(Kind::Fill, router, slot, fifo, 0));
        if was_promised && self.shares[at].waiting != 0 {
            // FIFOs that were held back may continue.
            self.wake_share(router, share, now + 1);
        }
    }

    /// Flits have left the input queue of a processor tile, identified by its index among those of all
    /// shares.
    pub(super) fn give_back_entry(
        &mut self,
        router: u32,
        place: usize,
        vc: usize,
        flits: u32,
        now: Time,
        busy: u64,
    ) {
        let Constants { shares, tiles_per_share, rules, .. } = self.k;
        let room = &mut self.entries[router as usize * shares * tiles_per_share + place].room;
        room.give_back(vc, flits, rules);
        // Space freed by an action becomes visible a tick later.
        room.leaving = (vc as u8, Leaving::new(flits as u8, busy), now + busy + 1);
        let share = place / tiles_per_share;
        if self.shares[router as usize * shares + share].waiting != 0 {
            self.wake_share(router, share, now + 1);
        }
    }

    pub(super) fn wake_share(&mut self, router: u32, share: usize, at: Time) {
        let wake_at = &mut self.shares[router as usize * self.k.shares + share].wake_at;
        if is_new(wake_at, at) {
            self.wake(Kind::WakeShare, router, share, at);
        }
    }
}
