//! RDMA reads and writes of memory that tasks have exposed.
//!
//! A read is a remote get: a packet with descriptors, which the target's unit executes; each is an RDMA write
//! into this task's memory, by any route, and all of them decrement one counter here. One packet holds the
//! descriptors of [`GET_PIECES`] pieces. A neighbour in E sends the halves of a single long piece over one
//! link each, if there is room for two descriptors.
//!
//! A write is a descriptor per piece in the FIFO of sends to its target, on the fixed route of its packets.
//! It ends here when it has been injected. Nothing reports its end there, so an acknowledgement follows it: a
//! remote get whose descriptor writes one byte back, and a counter here. It is behind the write in the same
//! injection FIFO, whose descriptors are injected one after the other by one engine, on the same route and in
//! the same virtual channel, in which no packet overtakes another. The engine that receives them begins to
//! store them in order; only then is the descriptor of the byte fetched from the L2, and executed.
//!
//! IBM's library sends remote gets over the high-priority virtual channel, in which they would overtake the
//! write. There the acknowledgement is a packet to a system process of the target's node, on its seventeenth
//! core, which sends the descriptor that is in it. Here the unit does what that process does, without its
//! time **(ours)**.

use super::resources::bulk_map;
use super::*;
use crate::double_link;

/// Descriptors in a packet of a remote get.
const GET_PIECES: usize = 512 / DESCRIPTOR_B as usize;
const DESCRIPTOR_B: u64 = 64;
/// The offset of the counter of RDMA writes at their target, which nobody reads.
const UNREAD_COUNTER: u64 = 0;

/// Pieces per descriptor of a transfer.
pub fn pieces_per_descriptor(way: Transfer) -> usize {
    match way {
        Transfer::Put => 1,
        Transfer::Get => GET_PIECES,
    }
}

impl UnitContext {
    /// Writes pieces into the memory of a task; there must be space for them.
    pub(super) fn write(&mut self, with: Endpoint, pieces: &[Piece]) -> Begun {
        let fifo = self.fifo(with);
        let to = self.placement.of_task(with.task());
        for &(local, remote) in pieces {
            let kind = direct_put(remote, UNREAD_COUNTER);
            let put = self.describe(to, self.physical(local), local.bytes, kind);
            self.submit(fifo, &put).expect("it has room");
        }
        let written = self.fifos[fifo].written;
        self.ticket(Pending::Injected(fifo, written))
    }

    /// Reads pieces of the memory of a task; there must be space for them.
    pub(super) fn read(&mut self, with: Endpoint, pieces: &[Piece]) -> Begun {
        let counter = self.counter();
        self.device.set_counter(counter, pieces.iter().map(|(local, _)| local.bytes).sum());
        let reply_of = |unit: &Self, &(local, remote): &Piece| {
            unit.reply(with, (remote, local.bytes), unit.physical(local), counter)
        };
        if let Some(ports) = self.two_links(with, pieces) {
            for (port, half) in ports.into_iter().zip(double_link::halves(&reply_of(self, &pieces[0]), ports))
            {
                self.remote_get(with, port, &[half]).expect("it has room");
            }
        } else {
            let port = self.pin_at(with);
            for some in pieces.chunks(GET_PIECES) {
                let replies: SmallVec<[Descriptor; GET_PIECES]> =
                    some.iter().map(|piece| reply_of(self, piece)).collect();
                self.remote_get(with, port, &replies).expect("it has room");
            }
        }
        let begun = self.ticket(Pending::Counter(counter, self.device.now().ticks()));
        self.note_read(with, pieces.iter().map(|(local, _)| local.bytes).sum());
        begun
    }

    /// The ports of the links over which a task's node sends the halves of a read, if it has two of them to
    /// this node.
    fn two_links(&self, with: Endpoint, pieces: &[Piece]) -> Option<[u16; 2]> {
        let [(local, _)] = pieces else { return None };
        let is_long = local.bytes >= double_link::DIVIDED_MIN_B && self.room_of(self.fifo(with)) >= 2;
        let target = self.placement.of_task(with.task()).0;
        double_link::ports(self.device.torus(), target, self.device.node()).filter(|_| is_long)
    }

    /// This process's number at a task's node.
    fn pin_at(&self, with: Endpoint) -> u16 {
        let here = (self.device.node(), self.device.process());
        pin(self.device.torus(), self.placement.of_task(with.task()).0, here)
    }

    /// The operation that has just begun reads data of a task.
    fn note_read(&mut self, with: Endpoint, bytes: u64) {
        let node = self.placement.of_task(with.task()).0;
        if let Some(flights) = &mut self.flights {
            flights.reads.insert(self.next_ticket, (node, bytes));
        }
    }

    /// Begins what ends when all writes so far to a task are in its memory.
    pub(super) fn acknowledge(&mut self, with: Endpoint) -> Result<Begun, Remote> {
        let fifo = self.fifo(with);
        if self.room_of(fifo) == 0 {
            self.is_full = Some(fifo);
            return Err(Remote::Full);
        }
        let counter = self.counter();
        self.device.set_counter(counter, 1);
        let scratch = *self.scratch.get_or_insert_with(|| self.device.allocate_memory(8));
        // Any byte of the node's will do.
        let reply = self.reply(with, (0, 1), scratch, counter);
        self.remote_get(with, self.pin_at(with), &[reply]).expect("it has room");
        let begun = self.ticket(Pending::Counter(counter, self.device.now().ticks()));
        self.note_read(with, 1);
        Ok(begun)
    }

    /// The descriptor by which the unit of a task's node writes its data into this node's memory.
    fn reply(&self, with: Endpoint, (payload, length): (u64, u64), to: u64, counter: u64) -> Descriptor {
        let (node, _) = self.placement.of_task(with.task());
        let here = (self.device.node(), self.device.process());
        Descriptor {
            payload,
            length,
            map: bulk_map(self.device.torus(), node, here),
            network: Network::to(here.0),
            kind: direct_put(to, counter),
            prefetch_only: false,
        }
    }

    /// Lets the unit of a task's node execute descriptors, in the FIFO of this number among those for reads.
    fn remote_get(&mut self, with: Endpoint, number: u16, replies: &[Descriptor]) -> Result<(), Full> {
        let fifo = self.fifo(with);
        let (node, process) = self.placement.of_task(with.task());
        let number = self.resources.fetch(process, number);
        let slot = self.slot(fifo);
        let length = replies.len() as u64 * DESCRIPTOR_B;
        let get = self.describe((node, process), slot, length, Kind::RemoteGet { fifo: number });
        self.submit(fifo, &get)?;
        self.device.store_descriptors(slot, replies);
        Ok(())
    }
}

fn direct_put(offset: u64, counter_offset: u64) -> Kind {
    Kind::DirectPut { base: 0, offset, counter_base: 0, counter_offset }
}
