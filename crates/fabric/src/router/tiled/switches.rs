//! A tile's sub-switch: 64 queues, one for each input of its row and each VC, and the buses to the column
//! buffers of its column.

use super::TiledFamily;
use super::block::TiledBlock;
use super::event::{Event, Kind};
use super::inputs::is_new;
use super::state::{Leaving, ROWS, VCS, in_turn};
use super::tables::Constants;
use crate::config::FLITS_MAX;
use crate::host::Host;
use crate::router::bits::bits;
use netloom_engine::{Time, prefetch};

impl<H: Host<TiledFamily>> TiledBlock<H> {
    /// Grants each free and requested bus to a packet.
    pub(super) fn act_switch(&mut self, router: u32, tile: usize, now: Time) {
        let rows = self.k.rows;
        let at = router as usize * self.k.tiles + tile;
        let switch = &self.switches[at];
        debug_assert!(
            (0..rows)
                .all(|row| switch.wanted >> row & 1 == u8::from(self.buses[at * rows + row].wanted != 0)),
            "router {router}, tile {tile}: rows that are wanted"
        );
        if switch.wanted == 0 {
            return;
        }
        let mut next = Time::MAX;
        for row in bits(switch.wanted) {
            let free_at = self.switches[at].free_at[row];
            if free_at > now {
                next = next.min(free_at);
                continue;
            }
            // A queue is read by one bus at a time.
            let leaving = self.leaving_among(at, self.buses[at * rows + row].wanted, now);
            if leaving != 0 {
                next = next.min(self.first_free(at, now));
            }
            match self.pick_queue(router, tile, row, leaving, now) {
                Ok(queue) => {
                    self.send_along_column(router, tile, row, queue, now);
                    if self.switches[at].wanted >> row & 1 != 0 {
                        next = next.min(self.switches[at].free_at[row]);
                    }
                }
                Err(soon) => next = next.min(soon),
            }
        }
        if next != Time::MAX {
            self.wake_switch(router, tile, next);
        }
    }

    /// Those of a sub-switch's queues that a bus is reading.
    #[inline]
    fn leaving_among(&self, at: usize, queues: u64, now: Time) -> u64 {
        let (switch, queues_here) = (&self.switches[at], self.k.columns * VCS);
        let here = &self.row_buffers[at * queues_here..][..queues_here];
        bits(queues).fold(0, |leaving, queue| {
            let row = usize::from(here[queue].left_to) % ROWS;
            let is_its = usize::from(switch.turn[row]) == queue && switch.free_at[row] > now;
            leaving | u64::from(is_its) << queue
        })
    }

    /// When the first of a sub-switch's busy buses is free.
    fn first_free(&self, at: usize, now: Time) -> Time {
        let free_at = self.switches[at].free_at.iter().filter(|&&free_at| free_at > now);
        free_at.copied().min().unwrap_or(Time::MAX)
    }

    /// The next queue in turn whose first packet goes to this row and has space in the column buffer there. A
    /// packet without space in its turn is promised the next space of its VC: until it has left, no other
    /// queue's packet may take any. Otherwise the time to try again: if flits are leaving there, space will
    /// soon suffice.
    fn pick_queue(
        &mut self,
        router: u32,
        tile: usize,
        row: usize,
        leaving: u64,
        now: Time,
    ) -> Result<usize, Time> {
        let Constants { tiles, rows, columns, .. } = self.k;
        let at = router as usize * tiles + tile;
        let bus = &self.buses[at * rows + row];
        let here = &self.row_buffers[at * columns * VCS..][..columns * VCS];
        let mut promised = bus.promised;
        let mut held = bits(promised).fold(0u32, |held, queue| held | 1 << here[queue].vc);
        let (mut found, mut soon) = (None, Time::MAX);
        for queue in in_turn(bus.wanted & !leaving, self.switches[at].turn[row]) {
            let (vc, flits) = (usize::from(here[queue].vc), u32::from(here[queue].flits));
            if held >> vc & 1 != 0 && promised >> queue & 1 == 0 {
                continue;
            }
            let room = u32::from(bus.room[vc]);
            if room >= flits + FLITS_MAX {
                found = Some(queue);
                break;
            }
            if room < flits {
                self.switches[at].blocked |= 1 << row;
            } else {
                let there = row * columns + self.k.column(tile);
                let (leaving, until) = self.leaving_column_queue(router, there, self.k.row(tile) * VCS + vc);
                if room >= flits + leaving.left(until, now) {
                    found = Some(queue);
                    break;
                }
                soon = soon.min(leaving.when_left(until, room - flits).max(now + 1));
            }
            promised |= 1 << queue;
            held |= 1 << vc;
        }
        self.buses[at * rows + row].promised = promised;
        found.ok_or(soon)
    }

    /// The packet that is leaving a queue of a sub-switch, recorded as departed, and until when its flits
    /// still occupy space for the sender: space freed by an action becomes visible a tick later.
    pub(super) fn leaving_row_queue(&self, router: u32, tile: usize, queue: usize) -> (Leaving, Time) {
        let Constants { tiles, columns, .. } = self.k;
        let at = router as usize * tiles + tile;
        let row = usize::from(self.row_buffers[at * columns * VCS + queue].left_to);
        let switch = &self.switches[at];
        if usize::from(switch.turn[row]) == queue {
            (switch.leaving[row], switch.free_at[row] + 1)
        } else {
            (Leaving::default(), Time::ZERO)
        }
    }

    fn send_along_column(&mut self, router: u32, tile: usize, row: usize, queue: usize, now: Time) {
        let Constants { tiles, rows, columns, column_ticks, .. } = self.k;
        let at = router as usize * tiles + tile;
        let buffer = &mut self.row_buffers[at * columns * VCS + queue];
        let packet = buffer.queue.pop(&mut self.cells);
        let more = buffer.note_first(&self.cells);
        buffer.left_to = row as u8;
        let wants = self.k.row(buffer.out.into());
        let cell = &mut self.cells[packet as usize];
        let busy = self.k.bus_ticks(cell.flits.into()).max(cell.tail_at.saturating_sub(now));
        cell.tail_at = now + busy + column_ticks;
        let (vc, flits) = (usize::from(cell.vc), cell.flits);
        let (switch, bus) = (&mut self.switches[at], &mut self.buses[at * rows + row]);
        (switch.free_at[row], switch.turn[row]) = (now + busy, queue as u8);
        switch.leaving[row] = Leaving::new(flits, busy);
        bus.wanted &= !(1 << queue);
        bus.promised &= !(1 << queue);
        bus.room[vc] -= flits;
        switch.wanted &= !(u8::from(bus.wanted == 0) << row);
        if more {
            self.buses[at * rows + wants].wanted |= 1 << queue;
            switch.wanted |= 1 << wants;
            if wants != row {
                self.wake_switch(router, tile, now + busy);
            }
        }
        // The queue in that column buffer for packets from this row.
        let (here, column) = (self.k.row(tile), self.k.column(tile));
        let event = Event::of_packet(Kind::Buffered, router, row * columns + column, here * VCS + vc, packet);
        self.calendar.push(now + column_ticks, event);
        let there = router as usize * tiles + row * columns + column;
        prefetch(&self.column_buffers[there * rows * VCS + here * VCS + vc]);
        prefetch(&self.outputs[there]);
        if row * columns + column >= self.k.first_global {
            // It is about to leave the block.
            self.arena.fetch(packet);
        }
        let from = (column, queue % VCS);
        self.more_row_room(router, here * columns + queue / VCS, from, (flits, now + busy + 1), now);
    }

    /// A row's column buffer has more space for a sub-switch's packets on a VC.
    pub(super) fn more_column_room(
        &mut self,
        router: u32,
        tile: usize,
        (row, vc): (usize, usize),
        flits: u8,
        now: Time,
    ) {
        let at = router as usize * self.k.tiles + tile;
        self.buses[at * self.k.rows + row].room[vc] += flits;
        let switch = &mut self.switches[at];
        if switch.blocked >> row & 1 != 0 {
            switch.blocked &= !(1 << row);
            let free_at = switch.free_at[row];
            self.wake_switch(router, tile, free_at.max(now + 1));
        }
    }

    fn wake_switch(&mut self, router: u32, tile: usize, at: Time) {
        let switch = &mut self.switches[router as usize * self.k.tiles + tile];
        if is_new(&mut switch.wake_at, at) {
            self.wake(Kind::WakeSwitch, router, tile, at);
        }
    }
}
