//! A tile's input queue: packets are routed when they come to the head of their VC, and go along the row bus to the sub-switch in the
//! column of their output ("Aries Router").

use super::block::TiledBlock;
use super::event::{Event, Kind, Message};
use super::header::TiledHeader;
use super::state::*;
use super::tables::Constants;
use crate::host::Host;
use crate::router::bits::bits;
use netloom_engine::{Outbox, Time};

impl<H: Host<TiledHeader>> TiledBlock<H> {
    /// Routes what is at the heads, and lets one packet have the row bus.
    pub(super) fn act_input(&mut self, router: u32, tile: usize, now: Time, out: &mut Outbox<Message>) {
        let at = router as usize * self.k.tiles + tile;
        let input = &self.inputs[at];
        for vc in bits(input.waiting & !input.routed) {
            self.route_head(router, tile, vc, now);
        }
        let input = &self.inputs[at];
        if input.waiting == 0 {
            return;
        }
        if input.free_at > now {
            return self.wake_input(router, tile, input.free_at);
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
        let packet = self.inputs[at].queues[vc].first().expect("a VC with a packet at its head");
        self.route(router, tile, packet, now);
        let cell = &self.cells[packet as usize];
        let input = &mut self.inputs[at];
        input.heads[vc] = Head { out: cell.out, flits: cell.flits };
        input.routed |= 1 << vc;
    }

    /// The next VC in turn whose head has room in its sub-switch.
    fn pick_head(&mut self, router: u32, tile: usize) -> Option<usize> {
        let tiles = self.k.tiles;
        let at = router as usize * tiles + tile;
        let input = &self.inputs[at];
        let behind = input.waiting & (!1 << input.turn);
        for vc in bits(behind).chain(bits(input.waiting & !behind)) {
            let head = self.inputs[at].heads[vc];
            let room = self.k.column(head.out.into()) * VCS + vc;
            if self.inputs[at].room[room] >= head.flits {
                return Some(vc);
            }
            self.inputs[at].blocked = true;
        }
        None
    }

    fn send_along_row(&mut self, router: u32, tile: usize, vc: usize, now: Time, out: &mut Outbox<Message>) {
        let Constants { tiles, columns, row_ticks, ports, shares, tiles_per_share, rules, .. } = self.k;
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
        let busy = self.k.bus_ticks(cell.flits.into());
        input.free_at = now + busy;
        let (from, from_tile, credit_ticks) = (input.from, input.from_tile, input.credit_ticks);
        self.recorder.leave(vc, cell.flits, now);
        let column = self.k.column(cell.out.into());
        // The sub-switch in its column, and the queue there of the VC by which it came. Were it the one by which it leaves, packets on
        // their last stretch would wait behind others that have just begun it.
        let (switch, queue) = (self.k.row(tile) * columns + column, self.k.column(tile) * VCS + vc);
        self.inputs[at].room[column * VCS + vc] -= cell.flits;
        self.cells[packet as usize].tail_at = cell.tail_at.max(now + busy) + row_ticks;
        let event = Event::of_packet(Kind::Switched, router, switch, queue, packet);
        self.calendar.push(now + row_ticks, event);
        // Its room in the input queue is free for whoever sends here.
        if tile >= ports {
            let (share, place) = ((tile - ports) / tiles_per_share, tile - ports);
            let entry = router as usize * shares * tiles_per_share + place;
            self.entries[entry].room.give_back(vc, cell.flits.into(), rules);
            if self.shares[router as usize * shares + share].waiting != 0 {
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

    /// The sub-switch of a column has more room for what comes from a tile by a VC.
    pub(super) fn more_row_room(
        &mut self,
        router: u32,
        tile: usize,
        (column, vc): (usize, usize),
        flits: u8,
        now: Time,
    ) {
        let input = &mut self.inputs[router as usize * self.k.tiles + tile];
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
