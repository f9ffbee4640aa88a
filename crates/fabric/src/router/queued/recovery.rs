//! Recovery from corrupted transmissions specific to these routers, in addition to `router/recovery.rs`:
//! ghosts that continue and are discarded, and barrier packets that are lost and retransmitted (section II.F,
//! "a standard, similar to BG/L, link level protocol"; `docs/link-protection.md`, "In runs", describes the
//! rules). Without bit errors nothing here is on the path of packets.

use super::QueuedFamily;
use super::block::Shared;
use super::state::*;
use super::trees::{Central, Job};
use crate::host::Host;
use crate::packet::{Header, Meta};
use crate::router::bits::bits;
use crate::router::common::Common;
use crate::router::errors::Kept;
use crate::router::port::Port;
use crate::router::recovery::{LinkEnds, Recovery};
use netloom_engine::{Outbox, Time};

/// Slot of a timeout event for barrier packets. That for data packets is 0.
const BARRIER: usize = 1;

/// As the last word sent to a neighbour: unknown. No valid word has this value, since the highest bit of each
/// class is unused.
const NOT_KNOWN: u64 = u64::MAX;

impl LinkEnds for Node {
    fn here(&self) -> u32 {
        self.here
    }

    fn open(&mut self) -> &mut u16 {
        &mut self.open
    }

    fn owing(&mut self) -> &mut u16 {
        &mut self.due
    }

    fn due(&mut self, port: usize) -> &mut u64 {
        &mut self.receivers[port].due
    }

    fn link(&mut self, port: usize) -> &mut Port {
        &mut self.ports[port]
    }
}

impl<H: Host<QueuedFamily>> Recovery<HORIZON> for Shared<H> {
    type Node = Node;
    type Family = QueuedFamily;
    type Own = QueuedKind;
    type Host = H;

    fn common(&mut self) -> &mut Common<QueuedFamily, QueuedKind, H, HORIZON> {
        &mut self.common
    }

    fn wire(&self, chunks: u32) -> u64 {
        self.tables.wire[chunks as usize]
    }

    fn keep_ghost(&mut self, meta: Meta, header: Header) -> u32 {
        self.insert(meta, header, None)
    }

    fn leave(&mut self, n: &mut Node, to: usize, kept: Kept, start: Time, out: &mut Outbox<Message>) {
        let Kept { header, packet, vc } = kept;
        let there = n.far[to].into();
        let arrive = |node, packet| Event::at(Kind::Arrived, node, there, vc.into(), packet, header.0);
        let arrival = start + self.tables.hop + u64::from(n.wires[to]);
        self.common.send(n.ports[to].neighbour, arrival, arrive, packet, out);
    }

    fn send_short_ones(&mut self, n: &mut Node, port: usize, now: Time, out: &mut Outbox<Message>) {
        self.send_due(n, 1 << port, now, out);
        self.send_interrupts(n, 1 << port, now, out);
    }

    fn occupy_again(&mut self, n: &mut Node, port: usize, kept: Kept, now: Time) -> Time {
        // The collective logic does not start before its end: another may follow.
        n.booked |= 1 << port;
        self.occupy(n, port, kept.vc.into(), kept.header, now).1
    }
}

impl<H: Host<QueuedFamily>> Shared<H> {
    /// A packet has joined its VC: schedules the check of its tail, and its acknowledgement.
    #[inline(never)]
    pub(super) fn note_arrival(&mut self, n: &Node, event: &Event, now: Time) {
        let (port, header, packet) = (event.port(), Header(event.word), event.packet());
        let whole = now + self.tables.wire[header.chunks() as usize];
        if header.is_ghost() {
            let slot = u64::from(self.cells[packet as usize].slot);
            self.common.calendar.push(whole, Event::at(Kind::Tail, n.here, port, event.slot(), packet, slot));
        }
        if !header.is_corrupt() {
            self.will_acknowledge((n.here, port), header, packet, whole);
        }
    }

    /// A barrier packet leaves. Returns whether it gets through; if not, sets the timeout.
    #[inline(never)]
    pub(super) fn send_barrier_unreliably(&mut self, n: &mut Node, port: usize) -> bool {
        let through = self.faulty().short_gets_through(n.here, port);
        let Some(interrupts) = &mut n.interrupts else { return through };
        interrupts.lost = interrupts.lost & !(1 << port) | u16::from(!through) << port;
        if !through {
            self.faulty().count(n.here, port).barriers_lost += 1;
            let at = self.faulty().timeout(n.ports[port].free_at);
            self.common.calendar.push(at, Event::at(Kind::Timeout, n.here, port, BARRIER, 0, 0));
        }
        through
    }

    /// Applies an event of a link under recovery.
    #[cold]
    pub(super) fn mend(&mut self, n: &mut Node, event: &Event, now: Time, out: &mut Outbox<Message>) {
        let port = event.port();
        match event.kind() {
            Kind::Tail if event.slot() < VCS => self.end_ghost(n, event, now),
            Kind::Tail => self.end_collective_ghost(n, event, now),
            Kind::Overdue => {
                self.overdue(n, port, now);
            }
            Kind::Resent => {
                n.booked &= !(1 << port);
                self.resent(n, port, now, out);
            }
            _ if event.slot() == BARRIER => self.resend_barrier(n, port),
            _ => self.time_out(n, port, now, out),
        }
    }

    /// The tail of an invalid packet has arrived: if the packet is still in its VC, it is discarded.
    /// Otherwise it continues, marked invalid. No later packet can have arrived yet.
    fn end_ghost(&mut self, n: &mut Node, event: &Event, now: Time) {
        let (port, vc, packet, slot) = (event.port(), event.slot(), event.packet(), event.word as usize);
        let r = &mut n.receivers[port];
        let leaving = r.leaving >> slot & 1;
        let standing = u32::from(r.count[slot]) - leaving;
        if standing == 0 {
            return;
        }
        debug_assert_eq!(r.queues[slot].last, packet, "the last to come to its queue");
        let Cell { header, ticket, .. } = self.cells[packet as usize];
        let head = self.tables.head(header, ticket);
        if head.is_ordered() {
            let came = &mut r.came[vc][head.fixed()];
            *came = came.wrapping_sub(1);
        }
        r.remove_from(slot);
        // The packet before it is the last now.
        let before = (2..standing).fold(r.queues[slot].first, |at, _| self.cells[at as usize].next);
        r.queues[slot].last = before;
        if standing == 1 && leaving == 0 {
            n.clear_head(port, slot);
        }
        self.common.arena.remove(packet);
        let due = self.due(vc, header);
        self.leave_place(n, (port, vc), header, due, now);
    }

    /// The same for a collective packet: a grant that includes it is revoked.
    fn end_collective_ghost(&mut self, n: &mut Node, event: &Event, now: Time) {
        let (port, vc, packet) = (event.port(), event.slot(), event.packet());
        let Some(central) = n.central.as_deref_mut() else { return };
        if central.queues[vc - VCS][port].back() != Some(&packet) {
            return;
        }
        central.pop(vc, port, false);
        if central.queues[vc - VCS][port].is_empty() {
            for logic in [&mut central.up, &mut central.down] {
                logic.granted = logic.granted.filter(|job| job.vc != vc || job.inputs >> port & 1 == 0);
            }
        }
        let header = self.cells[packet as usize].header;
        self.common.arena.remove(packet);
        self.leave_place(n, (port, vc), header, u8::from(!header.is_corrupt()), now);
    }

    /// A discarded packet's space is free: if tokens are due for it, the previous link delivered it intact.
    fn leave_place(&mut self, n: &mut Node, (port, vc): (usize, usize), header: Header, due: u8, now: Time) {
        n.receivers[port].due += u64::from(due) << (8 * vc);
        n.due |= u16::from(due != 0) << port;
        self.common.recorder.leave(vc, header.chunks() as u8, now);
        self.counters.iter_mut().for_each(|c| c.departed(n.here, port, vc, now));
        self.discarded(n, port);
    }

    /// Whether a packet that a job is to read will turn out to be corrupted at its tail.
    pub(super) fn is_spoilt(&self, c: &Central, job: &Job) -> bool {
        let is_ghost = |port: usize| {
            let packet = c.queues[job.vc - VCS][port].front();
            packet.is_some_and(|&packet| self.cells[packet as usize].header.is_ghost())
        };
        self.common.errors.is_some() && bits(job.inputs).any(is_ghost)
    }

    /// The logic is reading a packet that turns out to be corrupted, so the result is invalid and continues
    /// as a ghost. The ghosts among the inputs are discarded; the other inputs keep their space and are read
    /// again with the retransmitted packet.
    pub(super) fn run_on(
        &mut self,
        n: &mut Node,
        c: &mut Central,
        job: &mut Job,
        now: Time,
    ) -> (Header, Meta) {
        let (mut ghosts, mut kept, mut last) = (0u16, 0u16, None);
        for port in bits(job.inputs) {
            let header = c.queues[job.vc - VCS][port]
                .front()
                .map_or(Header::default(), |&packet| self.cells[packet as usize].header);
            if !header.is_ghost() {
                continue;
            }
            let packet = c.pop(job.vc, port, true).expect("it was seen at the head");
            ghosts |= 1 << port;
            kept |= u16::from(header.is_corrupt()) << port;
            c.being_read[job.vc - VCS][port] = header.chunks() as u8;
            self.counters.iter_mut().for_each(|c| c.departed(n.here, port, job.vc, now));
            if job.receives || job.outputs == 0 {
                self.discarded(n, port);
            }
            last = Some((header.passed_on(), self.common.arena.remove(packet).0));
        }
        *job = Job { inputs: ghosts, kept, contribution: None, receives: false, ..*job };
        last.expect("one of them is a ghost")
    }

    /// A barrier packet was lost, and none has got through since: sends the current word.
    fn resend_barrier(&mut self, n: &mut Node, port: usize) {
        let Some(interrupts) = &mut n.interrupts else { return };
        if interrupts.lost >> port & 1 != 0 {
            interrupts.lost &= !(1 << port);
            interrupts.sent[port] = NOT_KNOWN;
            n.barrier_updates |= 1 << port;
            self.faulty().count(n.here, port).barriers_resent += 1;
        }
    }
}
