//! A tile's column buffer: a queue for each row of its column and each VC, in front of the link or of a
//! node's interface.

use super::TiledFamily;
use super::block::TiledBlock;
use super::event::{Event, Kind, Message};
use super::header::{Class, TiledHeader};
use super::inputs::is_new;
use super::state::*;
use super::tables::Constants;
use crate::host::Host;
use crate::router::bits::bits;
use netloom_engine::{Outbox, Time};

impl<H: Host<TiledFamily>> TiledBlock<H> {
    /// Sends one packet on the link, if it is free.
    pub(super) fn act_output(&mut self, router: u32, tile: usize, now: Time, out: &mut Outbox<Message>) {
        let at = router as usize * self.k.tiles + tile;
        let output = &self.outputs[at];
        if output.waiting == 0 {
            return;
        }
        let free_at = tick_from(output.free_at);
        if free_at > now {
            return self.wake_output(router, tile, free_at);
        }
        if let Some(faults) = self.faults.as_ref().filter(|_| self.is_link(router, tile)) {
            let open_at = tick_from(faults.open_at(at, milliticks(now)));
            if open_at > now {
                return self.wake_output(router, tile, open_at);
            }
        }
        match self.pick_waiting(router, tile, now) {
            Ok(queue) => {
                self.send(router, tile, queue, now, out);
                let output = &self.outputs[at];
                if output.waiting != 0 {
                    let free_at = tick_from(output.free_at).max(now + 1);
                    self.wake_output(router, tile, free_at);
                }
            }
            Err(Time::MAX) => {}
            Err(soon) => self.wake_output(router, tile, soon),
        }
    }

    /// The next queue in turn whose first packet has space at the other end. A packet without space in its
    /// turn is promised the next credits of its VC: until it has left, no other queue's packet may take any,
    /// so that a long packet cannot starve behind shorter ones. Packets of other VCs may leave. Otherwise the
    /// time to try again.
    fn pick_waiting(&mut self, router: u32, tile: usize, now: Time) -> Result<usize, Time> {
        let t = &self.k;
        let at = router as usize * t.tiles + tile;
        let output = &self.outputs[at];
        if self.is_dead(router, tile) {
            return in_turn(output.waiting, output.turn).next().ok_or(Time::MAX);
        }
        if !self.is_link(router, tile) {
            return self.pick_for_node(at).ok_or(Time::MAX);
        }
        let buffers = &self.column_buffers[at * t.rows * VCS..][..t.rows * VCS];
        let mut promised = output.promised;
        let mut held = bits(promised).fold(0u32, |held, queue| held | 1 << (queue % VCS));
        let (mut found, mut soon) = (None, Time::MAX);
        for queue in in_turn(output.waiting, output.turn) {
            let vc = queue % VCS;
            if held >> vc & 1 != 0 && promised >> queue & 1 == 0 {
                continue;
            }
            match output.room.has_at(vc, buffers[queue].flits.into(), t.rules, now) {
                Some(room_at) if room_at <= now => {
                    found = Some(queue);
                    break;
                }
                Some(room_at) => soon = soon.min(room_at),
                None => {}
            }
            promised |= 1 << queue;
            held |= 1 << vc;
        }
        self.outputs[at].promised = promised;
        found.ok_or(soon)
    }

    /// The next queue in turn whose first packet its node accepts. A packet that its node does not accept in
    /// its turn is promised the next time that the node accepts its class, like space on links.
    fn pick_for_node(&mut self, at: usize) -> Option<usize> {
        let queues = self.k.rows * VCS;
        let buffers = &self.column_buffers[at * queues..][..queues];
        let first = |queue: usize| {
            let packet = buffers[queue].queue.first().expect("a packet that waits");
            self.cells[packet as usize].header
        };
        let output = &self.outputs[at];
        let mut promised = output.promised;
        let mut found = None;
        for queue in in_turn(output.waiting, output.turn) {
            let header = first(queue);
            let is_for = |other: TiledHeader| {
                (other.destination(), other.class()) == (header.destination(), header.class())
            };
            if promised >> queue & 1 == 0 && bits(promised).any(|other| is_for(first(other))) {
                continue;
            }
            if self.takes(header) {
                found = Some(queue);
                break;
            }
            promised |= 1 << queue;
        }
        self.outputs[at].promised = promised;
        found
    }

    /// Whether a packet's node accepts it now.
    fn takes(&self, header: TiledHeader) -> bool {
        let closed = self.closed[(header.destination() - self.first_node) as usize];
        closed >> (header.class() == Class::Response) as u32 & 1 == 0
    }

    fn send(&mut self, router: u32, tile: usize, queue: usize, now: Time, out: &mut Outbox<Message>) {
        let Constants { tiles, rows, columns, rules, netlink_ticks, netlink_flit, route_ticks, .. } = self.k;
        let at = router as usize * tiles + tile;
        let all = at * rows * VCS + queue;
        let buffer = &mut self.column_buffers[all];
        let packet = buffer.queue.pop(&mut self.cells);
        let more = buffer.note_first(&self.cells);
        let cell = self.cells[packet as usize];
        let (vc, flits) = (usize::from(cell.vc), u32::from(cell.flits));
        let switch = queue / VCS * columns + self.k.column(tile);
        self.more_column_room(router, switch, (self.k.row(tile), vc), cell.flits, now);
        self.change_load(router, tile, vc, -i32::from(cell.flits), now);
        let (is_link, is_dead) = (self.is_link(router, tile), self.is_dead(router, tile));
        let class = usize::from(self.outputs[at].class);
        let mut flit = if is_link { self.k.flit[class] } else { netlink_flit };
        if let Some(faults) = self.faults.as_ref().filter(|_| is_link) {
            flit = faults.flit(at, flit);
        }
        let output = &mut self.outputs[at];
        output.turn = queue as u8;
        output.promised &= !(1 << queue);
        if !more {
            output.waiting &= !(1 << queue);
        }
        // A link that became free within this tick starts the next packet at once, so that its rate is exact.
        let takes = u64::from(flits) * flit;
        let start = output.free_at.max(milliticks(now).saturating_sub(999));
        // It is held until the last flit has arrived and left.
        let end = (start + takes).max(milliticks(cell.tail_at));
        output.free_at = end;
        output.leaving = Leaving::new(cell.flits, tick_from(end).saturating_sub(now));
        if is_dead {
            return self.lose_on_link(packet);
        }
        self.outputs[at].packets += 1;
        self.outputs[at].flits += u64::from(flits);
        let tail = tick_from(end).max(now + 1);
        if !is_link {
            let whole = tail + netlink_ticks;
            let slot = self.tables.wiring.home(cell.header.destination()).1;
            self.calendar.push(whole, Event::of_packet(Kind::Delivered, router, slot, tile, packet));
            return;
        }
        self.outputs[at].room.take(vc, flits, rules);
        if let Some(trips) = &mut self.round_trips {
            trips.sent(at, vc, now);
            let least = self.k.row_ticks + self.k.column_ticks;
            trips.waited(at, u64::from((now.ticks() as u32).wrapping_sub(cell.since)).saturating_sub(least));
        }
        // Retransmitted flits arrive later.
        let carried = self.carry(at, start, flits.into(), flit, now);
        let tail = tail.max(tick_from(carried.end));
        let latency = self.k.latency[class] + (carried.start - start).div_ceil(1000);
        let Output { to, to_tile, .. } = self.outputs[at];
        self.recorder.busy(Time::at(start / 1000), Time::at(end / 1000));
        self.recorder.current.hops += 1;
        self.recorder.current.chunks_by_vc[vc] += u64::from(flits);
        let arrives = now + latency + route_ticks;
        let next = &mut self.cells[packet as usize];
        (next.came, next.hops) = (cell.vc, cell.hops + 1);
        next.tail_at = tail + self.k.latency[class] + route_ticks;
        if carried.escaped {
            self.damage(packet);
        }
        let event = Event::of_packet(Kind::Arrived, to & !REMOTE, to_tile.into(), 0, packet);
        if to & REMOTE == 0 {
            self.calendar.push(arrives, event);
        } else {
            let event = Event { router: to & 0xffff, ..event };
            let message = Message { event, packet: Some(self.remove(packet)) };
            out.send(((to & !REMOTE) >> 16) as usize, arrives, message);
        }
    }

    /// The packet that is leaving a queue of a column buffer, recorded as departed, and until when its flits
    /// still occupy space for the sender: space freed by an action becomes visible a tick later.
    pub(super) fn leaving_column_queue(&self, router: u32, tile: usize, queue: usize) -> (Leaving, Time) {
        let output = &self.outputs[router as usize * self.k.tiles + tile];
        let is_its = usize::from(output.turn) == queue;
        (output.leaving, if is_its { tick_from(output.free_at) + 1 } else { Time::ZERO })
    }

    /// Flits in a router that are to leave by a tile become more or fewer; who asks for loads hears of it.
    pub(super) fn change_load(&mut self, router: u32, tile: usize, vc: usize, by: i32, now: Time) {
        let is_link = self.is_link(router, tile);
        let t = &self.k;
        let output = &mut self.outputs[router as usize * t.tiles + tile];
        output.load[vc] = (i32::from(output.load[vc]) + by) as u16;
        output.load_all = (i32::from(output.load_all) + by) as u16;
        if !is_link {
            return;
        }
        let number = (self.first + router) as usize;
        let all = &mut self.load[router as usize];
        *all = (*all as i32 + by) as u32;
        self.router_loads.change(number, now, (*all / t.ports as u32) as u16);
        if let Some(link) = tile.checked_sub(t.first_global) {
            self.link_loads.change(number * t.globals + link, now, output.load_all);
        }
    }

    pub(super) fn wake_output(&mut self, router: u32, tile: usize, at: Time) {
        let output = &mut self.outputs[router as usize * self.k.tiles + tile];
        if is_new(&mut output.wake_at, at) {
            self.wake(Kind::WakeOutput, router, tile, at);
        }
    }
}
