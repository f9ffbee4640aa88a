//! A tile's sub-switch: 64 queues, one for each of its row's inputs and each VC, and the buses to the column buffers of its column.

use super::block::TiledBlock;
use super::event::{Event, Kind};
use super::header::TiledHeader;
use super::inputs::is_new;
use super::state::VCS;
use super::tables::Constants;
use crate::host::Host;
use crate::router::bits::bits;
use netloom_engine::Time;

impl<H: Host<TiledHeader>> TiledBlock<H> {
    /// Lets a packet have each bus that is free and wanted.
    pub(super) fn act_switch(&mut self, router: u32, tile: usize, now: Time) {
        let (rows, tiles) = (self.k.rows, self.k.tiles);
        let at = router as usize * tiles + tile;
        let mut next = Time::MAX;
        for row in 0..rows {
            let bus = &self.buses[at * rows + row];
            if bus.wanted == 0 {
                continue;
            }
            if bus.free_at > now {
                next = next.min(bus.free_at);
                continue;
            }
            match self.pick_queue(router, tile, row) {
                Some(queue) => {
                    self.send_along_column(router, tile, row, queue, now);
                    if self.buses[at * rows + row].wanted != 0 {
                        next = next.min(self.buses[at * rows + row].free_at);
                    }
                }
                None => self.switches[at].blocked |= 1 << row,
            }
        }
        if next != Time::MAX {
            self.wake_switch(router, tile, next);
        }
    }

    /// The next queue in turn whose first packet wants this row and has room in the column buffer there.
    fn pick_queue(&self, router: u32, tile: usize, row: usize) -> Option<usize> {
        let Constants { tiles, rows, columns, .. } = self.k;
        let at = router as usize * tiles + tile;
        let bus = &self.buses[at * rows + row];
        let here = &self.row_buffers[at * columns * VCS..][..columns * VCS];
        let fits = |&queue: &usize| bus.room[usize::from(here[queue].vc)] >= here[queue].flits;
        // Those behind the one served last come first.
        let behind = bus.wanted & (!1 << bus.turn);
        bits(behind).chain(bits(bus.wanted & !behind)).find(fits)
    }

    fn send_along_column(&mut self, router: u32, tile: usize, row: usize, queue: usize, now: Time) {
        let Constants { tiles, rows, columns, column_ticks, .. } = self.k;
        let at = router as usize * tiles + tile;
        let buffer = &mut self.row_buffers[at * columns * VCS + queue];
        let packet = buffer.queue.pop(&mut self.cells);
        let more = buffer.note_first(&self.cells);
        let wants = self.k.row(buffer.out.into());
        let cell = &mut self.cells[packet as usize];
        let busy = self.k.bus_ticks(cell.flits.into());
        cell.tail_at = cell.tail_at.max(now + busy) + column_ticks;
        let (vc, flits) = (usize::from(cell.vc), cell.flits);
        let bus = &mut self.buses[at * rows + row];
        (bus.free_at, bus.turn) = (now + busy, queue as u8);
        bus.wanted &= !(1 << queue);
        bus.room[vc] -= flits;
        if more {
            self.buses[at * rows + wants].wanted |= 1 << queue;
            if wants != row {
                // Its bus may be free already.
                self.wake_switch(router, tile, now + 1);
            }
        }
        // In the column buffer there, the queue for what comes from this row.
        let (here, column) = (self.k.row(tile), self.k.column(tile));
        let event = Event::of_packet(Kind::Buffered, router, row * columns + column, here * VCS + vc, packet);
        self.calendar.push(now + column_ticks, event);
        let from = (column, queue % VCS);
        self.more_row_room(router, here * columns + queue / VCS, from, flits, now);
    }

    /// The column buffer of a row has more room for what comes from a sub-switch by a VC.
    pub(super) fn more_column_room(
        &mut self,
        router: u32,
        tile: usize,
        (row, vc): (usize, usize),
        flits: u8,
        now: Time,
    ) {
        let at = router as usize * self.k.tiles + tile;
        let bus = &mut self.buses[at * self.k.rows + row];
        bus.room[vc] += flits;
        let free_at = bus.free_at;
        let switch = &mut self.switches[at];
        if switch.blocked >> row & 1 != 0 {
            switch.blocked &= !(1 << row);
            self.wake_switch(router, tile, free_at.max(now + 1));
        }
    }

    fn wake_switch(&mut self, router: u32, tile: usize, at: Time) {
        let switch = &mut self.switches[router as usize * self.k.tiles + tile];
        if is_new(&mut switch.wake_at, at) {
            self.calendar.push(at, Event::at(Kind::WakeSwitch, router, tile));
        }
    }
}
