//! A tile's input queue: packets are routed when they come to the head of their VC, and go along the row bus to the sub-switch in the
//! column of their output ("Aries Router").

use super::block::TiledBlock;
use super::event::{Event, Kind, Message};
use super::header::TiledHeader;
use super::state::*;
use crate::host::Host;
use netloom_engine::{Outbox, Time};

impl<H: Host<TiledHeader>> TiledBlock<H> {
    /// Routes what is at the heads, and lets one packet have the row bus.
    pub(super) fn act_input(&mut self, router: u32, tile: usize, now: Time, out: &mut Outbox<Message>) {
        let at = router as usize * self.k.tiles + tile;
        let mut waiting = self.inputs[at].waiting;
        while waiting != 0 {
            let vc = waiting.trailing_zeros() as usize;
            waiting &= waiting - 1;
            self.route_head(router, tile, vc, now);
        }
        if self.inputs[at].waiting == 0 {
            return;
        }
        let free_at = self.inputs[at].free_at;
        if free_at > now {
            return self.wake_input(router, tile, free_at);
        }
        if let Some(vc) = self.pick_head(router, tile) {
            self.send_along_row(router, tile, vc, now, out);
            if self.inputs[at].waiting != 0 {
                self.wake_input(router, tile, self.inputs[at].free_at);
            }
        }
    }

    fn route_head(&mut self, router: u32, tile: usize, vc: usize, now: Time) {
        let at = router as usize * self.k.tiles + tile;
        let head = self.inputs[at].queues[vc].first(&self.cells);
        let packet = head.expect("a VC with a packet at its head");
        if self.cells[packet as usize].out == UNROUTED {
            self.route(router, tile, packet, now);
        }
    }

    /// The sub-switch to which a routed packet of an input goes, and the queue there, in the array of all: that of the VC by which it came.
    /// Were it the one by which it leaves, packets on their last stretch would wait behind others that have just begun it.
    fn row_queue(&self, router: u32, tile: usize, cell: &Cell) -> (usize, usize) {
        let t = &self.k;
        let (row, column) = (tile / t.columns, usize::from(cell.out) % t.columns);
        let switch = row * t.columns + column;
        let queue = tile % t.columns * t.all_vcs + usize::from(cell.came);
        (switch, (router as usize * t.tiles + switch) * t.columns * t.all_vcs + queue)
    }

    /// The next VC in turn whose head has room in its sub-switch.
    fn pick_head(&mut self, router: u32, tile: usize) -> Option<usize> {
        let (at, vcs) = (router as usize * self.k.tiles + tile, self.k.all_vcs);
        let turn = usize::from(self.inputs[at].turn);
        for step in 1..=vcs {
            let vc = (turn + step) % vcs;
            if self.inputs[at].waiting >> vc & 1 == 0 {
                continue;
            }
            let packet = self.inputs[at].queues[vc].first(&self.cells).expect("a head");
            let cell = self.cells[packet as usize];
            if self.row_room[self.row_queue(router, tile, &cell).1] >= cell.flits {
                return Some(vc);
            }
            self.inputs[at].blocked = true;
        }
        None
    }

    fn send_along_row(&mut self, router: u32, tile: usize, vc: usize, now: Time, out: &mut Outbox<Message>) {
        let t = self.k;
        let at = router as usize * t.tiles + tile;
        let input = &mut self.inputs[at];
        input.turn = vc as u8;
        let (packet, more) = input.queues[vc].pop(&mut self.cells);
        if !more {
            input.waiting &= !(1 << vc);
        }
        let cell = self.cells[packet as usize];
        let busy = t.bus_ticks(cell.flits.into());
        input.free_at = now + busy;
        let (from, from_tile, credit_ticks) = (input.from, input.from_tile, input.credit_ticks);
        self.recorder.leave(vc, cell.flits, now);
        let (switch, queue) = self.row_queue(router, tile, &cell);
        self.row_room[queue] -= cell.flits;
        self.cells[packet as usize].tail_at = cell.tail_at.max(now + busy) + t.row_ticks;
        let queue = queue % (t.columns * t.all_vcs);
        let event = Event::of_packet(Kind::Switched, router, switch, queue, packet);
        self.calendar.push(now + t.row_ticks, event);
        // Its room in the input queue is free for whoever sends here.
        if tile >= t.ports {
            let (share, place) = ((tile - t.ports) / t.tiles_per_share, tile - t.ports);
            let entry = router as usize * t.shares * t.tiles_per_share + place;
            self.entries[entry].room.give_back(vc, cell.flits.into(), t.reserved);
            if self.shares[router as usize * t.shares + share].waiting != 0 {
                self.wake_share(router, share, now + 1);
            }
        } else {
            let mut credit = Event::of_packet(Kind::Credit, from & !REMOTE, from_tile.into(), vc, 0);
            credit.flits = cell.flits;
            if from & REMOTE == 0 {
                self.calendar.push(now + Time::from(credit_ticks), credit);
            } else {
                credit.router = from & 0xffff;
                let lane = (from & !REMOTE) >> 16;
                out.send(
                    lane as usize,
                    now + Time::from(credit_ticks),
                    Message { event: credit, packet: None },
                );
            }
        }
        if more {
            self.route_head(router, tile, vc, now);
        }
    }

    /// A sub-switch has more room for what comes from a tile.
    pub(super) fn unblock_input(&mut self, router: u32, tile: usize, now: Time) {
        let input = &mut self.inputs[router as usize * self.k.tiles + tile];
        if input.blocked {
            input.blocked = false;
            let at = input.free_at.max(now + 1);
            self.wake_input(router, tile, at);
        }
    }

    fn wake_input(&mut self, router: u32, tile: usize, at: Time) {
        let input = &mut self.inputs[router as usize * self.k.tiles + tile];
        if is_new(&mut input.wake_at, at) {
            self.calendar.push(at, Event::at(Kind::WakeInput, router, tile));
        }
    }
}

/// Whether an event is needed for someone to be woken at `at`, who may be woken already.
#[inline]
pub(super) fn is_new(wake_at: &mut Time, at: Time) -> bool {
    let new = *wake_at != at;
    *wake_at = at;
    new
}
