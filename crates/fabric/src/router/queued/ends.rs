//! Packets and tokens that leave, return or arrive, and the resulting token-acks.

use super::QueuedFamily;
use super::block::Shared;
use super::state::*;
use crate::host::Host;
use crate::packet::Header;
use crate::router::bits::bits;
use crate::router::recovery::Recovery;
use netloom_engine::{Outbox, Time};

impl<H: Host<QueuedFamily>> Shared<H> {
    /// A data packet's last bit has left on a link: the link, the path and the packet's buffer space are
    /// free.
    pub(super) fn sent(&mut self, n: &mut Node, event: &Event, now: Time) {
        let Leaving { from, slot, due_chunks, chunks, .. } = Leaving::of(event.word);
        let link = 1 << event.port();
        // The collective logic's next packet is already in transit to a booked link.
        n.open |= link & !n.booked;
        n.booked &= !link;
        if from == FROM_INJECTION {
            self.common.host.prepare(n.here, slot.into());
            n.injecting &= !(1 << slot);
            n.refill |= 1 << slot;
        } else if from != FROM_CENTRAL {
            n.free_path(from.into());
            self.vacate(n, (from.into(), slot.into()), chunks, due_chunks, now);
        }
    }

    /// Tokens have returned to a sender: one byte per VC.
    pub(super) fn tokens(&mut self, n: &mut Node, port: usize, word: u64) {
        let mut left = word;
        while left != 0 {
            let vc = left.trailing_zeros() as usize / 8;
            n.tokens[port][vc] += (word >> (8 * vc)) as u8;
            self.offer(n, port, vc);
            left &= !(0xff << (8 * vc));
        }
        self.common.recorder.current.token_acks += 1;
    }

    /// Records the number of full packets for which a VC at the other end of a link has space.
    pub(super) fn offer(&self, n: &mut Node, port: usize, vc: usize) {
        let (tokens, full) = (u32::from(n.tokens[port][vc]), u32::from(self.tables.full[vc]));
        n.room_one[vc] = n.room_one[vc] & !(1 << port) | u16::from(tokens >= full) << port;
        n.room_two[vc] = n.room_two[vc] & !(1 << port) | u16::from(tokens >= 2 * full) << port;
    }

    /// A packet, or its copy, has been transferred completely to its reception FIFO. A packet that never was
    /// in the network came from an injection FIFO of the same node.
    pub(super) fn received(&mut self, n: &mut Node, event: &Event, now: Time) {
        let (port, header) = (event.port(), Header(event.word));
        if port != LOCAL {
            n.reception_idle |= 1 << reception(port, fixed_vc(header));
        }
        if event.kind() == Kind::Received {
            if port != LOCAL {
                let slot = usize::from(self.cells[event.packet() as usize].slot);
                let due = self.due(slot / SLOTS_OF_VC, header);
                self.vacate(n, (port, slot), header.chunks() as u8, due, now);
            }
            self.common.recorder.in_flight -= i64::from(!header.is_ghost());
        }
        let record = self.common.arena.remove(event.packet());
        if header.is_ghost() {
            self.discarded(n, port);
            return;
        }
        let fifo = if port == LOCAL { RECEPTION_LOCAL } else { port };
        self.hand_over(now, n, fifo, header, record);
    }

    /// Sends the token-acks that are due on these links, after their current packets.
    pub(super) fn send_due(&mut self, n: &mut Node, ports: u16, now: Time, out: &mut Outbox<Message>) {
        let ports = n.due & ports;
        n.due &= !ports;
        for port in bits(ports) {
            let word = std::mem::take(&mut n.receivers[port].due);
            let (to, at) = self.send_short(n, port, now);
            if self.common.errors.is_some() && !self.acknowledge(n, port, word, now) {
                continue;
            }
            let there = n.far[port].into();
            let event = |node, _| Event::at(Kind::Tokens, node, there, 0, 0, word);
            self.common.send(to, at, event, u32::MAX, out);
        }
    }

    /// Sends a short packet on a link between data packets. Returns the node at the other end, and when it is
    /// complete there.
    pub(super) fn send_short(&mut self, n: &mut Node, port: usize, now: Time) -> (u32, Time) {
        let end = self.common.send_short(&mut n.ports[port], self.tables.ack, now);
        (n.ports[port].neighbour, end + self.tables.token_delay + u64::from(n.wires[port]))
    }
}

/// The reception FIFO of a packet that arrived through a receiver, selected by its fixed VC.
pub(super) fn reception(port: usize, fixed_vc: usize) -> usize {
    match fixed_vc {
        SYSTEM => RECEPTION_SYSTEM,
        HIGH => RECEPTION_HIGH,
        _ => port,
    }
}
