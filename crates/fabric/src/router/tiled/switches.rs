//! A tile's sub-switch: 64 queues, one for each of its row's inputs and each VC, and the buses to the column buffers of its column.

use super::block::TiledBlock;
use super::event::{Event, Kind};
use super::header::TiledHeader;
use super::inputs::is_new;
use crate::host::Host;
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
        let t = &self.k;
        let at = router as usize * t.tiles + tile;
        let bus = &self.buses[at * t.rows + row];
        let first = self.column_queue(router, tile, row, 0).1;
        let mut left = bus.wanted;
        // Those behind the one served last come first.
        let behind = left & (!1 << bus.turn);
        for part in [behind, left & !behind] {
            left = part;
            while left != 0 {
                let queue = left.trailing_zeros() as usize;
                left &= left - 1;
                let packet = self.row_queues[at * t.columns * t.all_vcs + queue].first(&self.cells);
                let cell = &self.cells[packet.expect("a head") as usize];
                if self.column_room[first + usize::from(cell.vc)] >= cell.flits {
                    return Some(queue);
                }
            }
        }
        None
    }

    /// The tile in the sub-switch's column and a row, and the queue there for what comes from this sub-switch, in the array of all.
    fn column_queue(&self, router: u32, tile: usize, row: usize, vc: usize) -> (usize, usize) {
        let t = &self.k;
        let to = row * t.columns + tile % t.columns;
        let queue = tile / t.columns * t.all_vcs + vc;
        (to, (router as usize * t.tiles + to) * t.rows * t.all_vcs + queue)
    }

    fn send_along_column(&mut self, router: u32, tile: usize, row: usize, queue: usize, now: Time) {
        let t = self.k;
        let at = router as usize * t.tiles + tile;
        let all = at * t.columns * t.all_vcs + queue;
        let (packet, more) = self.row_queues[all].pop(&mut self.cells);
        let cell = self.cells[packet as usize];
        let busy = t.bus_ticks(cell.flits.into());
        let bus = &mut self.buses[at * t.rows + row];
        (bus.free_at, bus.turn) = (now + busy, queue as u8);
        bus.wanted &= !(1 << queue);
        if more {
            let next = self.row_queues[all].first(&self.cells).expect("one more");
            let wants = usize::from(self.cells[next as usize].out) / t.columns;
            self.buses[at * t.rows + wants].wanted |= 1 << queue;
            if wants != row {
                // Its bus may be free already.
                self.wake_switch(router, tile, now + 1);
            }
        }
        let (to, queue_there) = self.column_queue(router, tile, row, cell.vc.into());
        self.column_room[queue_there] -= cell.flits;
        self.cells[packet as usize].tail_at = cell.tail_at.max(now + busy) + t.column_ticks;
        let queue_there = queue_there % (t.rows * t.all_vcs);
        let event = Event::of_packet(Kind::Buffered, router, to, queue_there, packet);
        self.calendar.push(now + t.column_ticks, event);
        self.row_room[all] += cell.flits;
        self.unblock_input(router, tile / t.columns * t.columns + queue / t.all_vcs, now);
    }

    /// A column buffer has more room for what comes from a sub-switch.
    pub(super) fn unblock_switch(&mut self, router: u32, tile: usize, row: usize, now: Time) {
        let at = router as usize * self.k.tiles + tile;
        let switch = &mut self.switches[at];
        if switch.blocked >> row & 1 != 0 {
            switch.blocked &= !(1 << row);
            let free_at = self.buses[at * self.k.rows + row].free_at;
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
