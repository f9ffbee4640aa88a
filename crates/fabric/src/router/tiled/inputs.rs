//! A tile's input queue: packets are routed when they reach the head of their VC, and take the row bus to the
//! sub-switch in the column of their output ("Aries Router").

use super::TiledFamily;
use super::block::TiledBlock;
use super::event::{Event, Kind, Message};
use super::state::*;
use super::tables::Constants;
use crate::host::Host;
use crate::router::bits::bits;
use netloom_engine::{Outbox, Time, prefetch};

impl<H: Host<TiledFamily>> TiledBlock<H> {
    /// Routes the packets at the heads, and grants the row bus to one packet.
    pub(super) fn act_input(&mut self, router: u32, tile: usize, now: Time, out: &mut Outbox<Message>) {
        let at = router as usize * self.k.tiles + tile;
        let input = &self.inputs[at];
        for vc in bits(input.waiting & !input.routed) {
            self.route_head(router, tile, vc, now, out);
        }
        let input = &self.inputs[at];
        if input.waiting == 0 {
            return;
        }
        if input.free_at > now {
            return self.wake_input(router, tile, input.free_at);
        }
        if let Some(vc) = self.pick_head(router, tile, now) {
            self.send_along_row(router, tile, vc, now, out);
            if self.inputs[at].waiting != 0 {
                self.wake_input(router, tile, self.inputs[at].free_at);
            }
        }
    }

    /// Routes the packet at a VC's head. A packet without a route is discarded, and the next becomes the
    /// head.
    fn route_head(&mut self, router: u32, tile: usize, vc: usize, now: Time, out: &mut Outbox<Message>) {
        let at = router as usize * self.k.tiles + tile;
        let packet = loop {
            let Some(packet) = self.inputs[at].queues[vc].first() else {
                self.inputs[at].waiting &= !(1 << vc);
                return;
            };
            let Cell { flits, tail_at, .. } = self.cells[packet as usize];
            let is_read = self.reads_header(router, tile, packet, now);
            if is_read && self.route(router, tile, packet, now) {
                break packet;
            }
            self.inputs[at].queues[vc].pop(&mut self.cells);
            self.recorder.leave(vc, flits, now);
            let busy = self.k.bus_ticks(flits.into()).max(tail_at.saturating_sub(now));
            self.give_room_back(router, tile, (vc, flits), now, (busy, 0), out);
            if is_read {
                self.lose_without_route(router, tile, packet, now);
            } else {
                self.lose_without_header(packet);
            }
        };
        let cell = &self.cells[packet as usize];
        let input = &mut self.inputs[at];
        input.heads[vc] = Head { out: cell.out, flits: cell.flits };
        input.routed |= 1 << vc;
    }

    /// The next VC in turn whose head has space in its sub-switch. If flits are leaving there, space will
    /// soon suffice: the tile is woken then.
    fn pick_head(&mut self, router: u32, tile: usize, now: Time) -> Option<usize> {
        let at = router as usize * self.k.tiles + tile;
        let input = &self.inputs[at];
        let mut soon = Time::MAX;
        for vc in in_turn(input.waiting.into(), input.turn) {
            let Head { out, flits } = self.inputs[at].heads[vc];
            let column = self.k.column(out.into());
            let room = u32::from(self.inputs[at].room[column * VCS + vc]);
            let flits = u32::from(flits);
            if room < flits {
                self.inputs[at].blocked = true;
                continue;
            }
            if !self.inputs[at].departures.may_leave(column, now) {
                return Some(vc);
            }
            let switch = self.k.row(tile) * self.k.columns + column;
            let (leaving, until) = self.leaving_row_queue(router, switch, self.k.column(tile) * VCS + vc);
            if room >= flits + leaving.left(until, now) {
                return Some(vc);
            }
            soon = soon.min(leaving.when_left(until, room - flits).max(now + 1));
        }
        if soon != Time::MAX {
            self.wake_input(router, tile, soon);
        }
        None
    }

    fn send_along_row(&mut self, router: u32, tile: usize, vc: usize, now: Time, out: &mut Outbox<Message>) {
        let Constants { tiles, columns, row_ticks, .. } = self.k;
        let at = router as usize * tiles + tile;
        let input = &mut self.inputs[at];
        input.turn = vc as u8;
        let packet = input.queues[vc].pop(&mut self.cells);
        let more = input.queues[vc].first().is_some();
        input.routed &= !(1 << vc);
        if !more {
            input.waiting &= !(1 << vc);
        }
        let cell = self.cells[packet as usize];
        // It holds the bus until its last flit has arrived and left.
        let busy = self.k.bus_ticks(cell.flits.into()).max(cell.tail_at.saturating_sub(now));
        input.free_at = now + busy;
        self.recorder.leave(vc, cell.flits, now);
        let column = self.k.column(cell.out.into());
        // The sub-switch in its column, and the queue there of its incoming VC. With the outgoing VC, packets
        // on their last leg would wait behind others that have just started it.
        let (switch, queue) = (self.k.row(tile) * columns + column, self.k.column(tile) * VCS + vc);
        self.inputs[at].room[column * VCS + vc] -= cell.flits;
        let waiting = &mut self.cells[packet as usize];
        (waiting.tail_at, waiting.since) = (now + busy + row_ticks, now.ticks() as u32);
        let event = Event::of_packet(Kind::Switched, router, switch, queue, packet);
        self.calendar.push(now + row_ticks, event);
        // When it arrives there, that state is in the cache.
        let switch = router as usize * tiles + switch;
        prefetch(&self.row_buffers[switch * columns * VCS + queue]);
        prefetch(&self.switches[switch]);
        prefetch(&self.buses[switch * self.k.rows + self.k.row(cell.out.into())]);
        let held_back = match &self.round_trips {
            Some(trips) if self.is_link(router, tile) && self.is_link(router, cell.out.into()) => {
                let first = router as usize * tiles;
                trips.held_back(first + usize::from(cell.out), first..first + self.k.ports)
            }
            _ => 0,
        };
        self.give_room_back(router, tile, (vc, cell.flits), now, (busy, held_back), out);
        if more {
            self.route_head(router, tile, vc, now, out);
        }
    }

    /// A packet leaves the queue of a VC: the sender may send as many flits, each when one has left.
    #[inline]
    fn give_room_back(
        &mut self,
        router: u32,
        tile: usize,
        (vc, flits): (usize, u8),
        now: Time,
        (busy, held_back): (u64, u64),
        out: &mut Outbox<Message>,
    ) {
        if !self.is_link(router, tile) {
            return self.give_back_entry(
                router,
                tile - self.k.ports_beside_nodes,
                vc,
                flits.into(),
                now,
                busy,
            );
        }
        if self.faults.as_ref().is_some_and(|faults| faults.has_wrong_bits()) {
            let credits = Event::of_packet(Kind::Credits, router, tile, vc, busy as u32);
            return self.credits.push((Event { flits, ..credits }, held_back));
        }
        self.send_credits(router, tile, (vc, flits, busy), now + held_back, out);
    }

    /// Credits of flits that leave from now on, for so long, go by a tile's link: the first at `leave`.
    fn send_credits(
        &mut self,
        router: u32,
        tile: usize,
        (vc, flits, busy): (usize, u8, u64),
        leave: Time,
        out: &mut Outbox<Message>,
    ) {
        let back = &self.outputs[router as usize * self.k.tiles + tile];
        let (from, class) = (back.to, usize::from(back.class));
        let mut credit = Event::of_packet(Kind::Credit, from, back.to_tile.into(), vc, busy as u32);
        credit.flits = flits;
        let comes = leave + self.k.latency[class];
        if from & REMOTE == 0 {
            self.calendar.push(comes, credit);
        } else {
            let event = Event { router: from & 0xffff, ..credit };
            out.send(((from & !REMOTE) >> 16) as usize, comes, Message { event, packet: None });
        }
    }

    /// Sends the credits of this tick where bits may be wrong: after all else, when it is known what is on
    /// the links.
    pub(super) fn send_doubtful_credits(&mut self, now: Time, out: &mut Outbox<Message>) {
        let mut list = std::mem::take(&mut self.credits);
        for (event, held_back) in list.drain(..) {
            let Event { router, tile, queue, flits, .. } = event;
            let busy = u64::from(event.packet);
            let (late, holds) = self.credits_are_late(router, tile.into(), now);
            let leave = now + late + held_back;
            // Routers that measure round trips of credits do so packet by packet.
            if holds >= busy || self.round_trips.is_some() {
                self.send_credits(router, tile.into(), (queue.into(), flits, busy), leave, out);
                continue;
            }
            // The others go in other sets. Where they are that late, they are in a set that came wrong, and
            // come together.
            let left = if busy > 2 * self.k.bus_ticks(flits.into()) {
                u32::from(flits).saturating_sub(holds as u32).max(1)
            } else {
                Leaving::new(flits, busy).left(now + busy, now + holds - 1)
            };
            let after = holds.max(busy.saturating_sub(self.k.bus_ticks(left)));
            let others = Event { flits: left as u8, packet: (busy - after).max(1) as u32, ..event };
            self.calendar.push(now + after, others);
            self.send_credits(router, tile.into(), (queue.into(), flits - left as u8, holds), leave, out);
        }
        self.credits = list;
    }

    /// The sub-switch of a column has more space for a tile's packets on a VC, all of it from `gone_at` on.
    pub(super) fn more_row_room(
        &mut self,
        router: u32,
        tile: usize,
        (column, vc): (usize, usize),
        (flits, gone_at): (u8, Time),
        now: Time,
    ) {
        let input = &mut self.inputs[router as usize * self.k.tiles + tile];
        input.departures.leaves(column, gone_at, now);
        input.room[column * VCS + vc] += flits;
        if input.blocked {
            input.blocked = false;
            let at = input.free_at.max(now + 1);
            self.wake_input(router, tile, at);
        }
    }

    fn wake_input(&mut self, router: u32, tile: usize, at: Time) {
        let input = &mut self.inputs[router as usize * self.k.tiles + tile];
        if is_new(&mut input.wake_at, at) {
            self.wake(Kind::WakeInput, router, tile, at);
        }
    }
}

/// Whether an event is needed to wake a tile at `at`, given its scheduled wake-up.
#[inline]
pub(super) fn is_new(wake_at: &mut Time, at: Time) -> bool {
    let new = *wake_at != at;
    *wake_at = at;
    new
}
