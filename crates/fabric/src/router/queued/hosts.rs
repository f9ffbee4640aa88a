//! The exchange between nodes and their hosts: packets pulled into injection FIFOs and delivered from
//! reception FIFOs, and hosts' signals.

use super::QueuedFamily;
use super::block::Shared;
use super::state::*;
use crate::collective::{ClassRoute, CollectiveHeader};
use crate::host::{Family, Host, Reception, Signals};
use crate::packet::{Data, Header, Meta};
use netloom_engine::Time;

impl Family for QueuedFamily {
    type Header = Header;
    type Signal = QueuedSignal;
    type Event = BarrierStatus;
}

/// Signals of hosts to these routers.
#[derive(Clone, Debug)]
pub enum QueuedSignal {
    /// A reception FIFO has space, or is full.
    Reception(Reception),
    /// See [`Signals::class_route`].
    ClassRoute {
        /// 0 to 15.
        class: usize,
        /// Its registers, or `None` to clear them.
        route: Option<ClassRoute>,
    },
    /// See [`Signals::barrier_class`].
    BarrierClass {
        /// 0 to 15.
        class: usize,
        /// Its registers, or `None` to clear them.
        route: Option<ClassRoute>,
        /// Three bits.
        start: u64,
    },
    /// See [`Signals::set_barrier_bits`].
    BarrierBits {
        /// 0 to 15.
        class: usize,
        /// Three bits.
        bits: u64,
    },
}

impl From<Reception> for QueuedSignal {
    fn from(reception: Reception) -> Self {
        QueuedSignal::Reception(reception)
    }
}

/// The OR of all nodes' bits for each barrier class, reported when that of a class has changed: all sixteen
/// classes, four bits each, the first class lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BarrierStatus(pub u64);

impl Signals<QueuedSignal> {
    /// Sets a node's registers for a class route, 0 to 15, or clears them. No packet of the class may be in
    /// flight.
    pub fn class_route(&mut self, node: u32, class: usize, route: Option<ClassRoute>) {
        self.own(node, QueuedSignal::ClassRoute { class, route });
    }

    /// Sets a node's registers for a barrier class, 0 to 15, or clears them; `start` has the three bits that
    /// all nodes of the class set initially, and which each assumes of the others.
    pub fn barrier_class(&mut self, node: u32, class: usize, route: Option<ClassRoute>, start: u64) {
        self.own(node, QueuedSignal::BarrierClass { class, route, start });
    }

    /// Sets a node's three bits of a barrier class. All nodes receive the OR of all nodes' bits as
    /// [`BarrierStatus`].
    pub fn set_barrier_bits(&mut self, node: u32, class: usize, bits: u64) {
        self.own(node, QueuedSignal::BarrierBits { class, bits });
    }
}

impl<H: Host<QueuedFamily>> Shared<H> {
    /// Delivers a packet to the host.
    pub(super) fn hand_over(
        &mut self,
        now: Time,
        n: &mut Node,
        port: usize,
        header: Header,
        record: (Meta, Option<Data>),
    ) {
        self.common.hand_over(now, n.here, port, header, record);
        self.obey(n, now);
    }

    /// Carries out the host's requests for a node that will still act in this tick.
    pub(super) fn obey(&mut self, n: &mut Node, now: Time) {
        if self.common.signals.requests.is_empty() {
            return;
        }
        let mut list = std::mem::take(&mut self.common.signals.requests);
        for request in list.drain(..) {
            if let Some(signal) = self.common.obey(request, n.here, &mut n.refill, now) {
                self.obey_own(n, signal, now);
            }
        }
        self.common.signals.requests = list;
    }

    fn obey_own(&mut self, n: &mut Node, signal: QueuedSignal, now: Time) {
        match signal {
            QueuedSignal::Reception(Reception { port, high, open }) => {
                let bit = 1u16 << reception_of_fifo(port, high);
                n.settled = false;
                n.reception_full = if open { n.reception_full & !bit } else { n.reception_full | bit };
            }
            QueuedSignal::ClassRoute { class, route } => self.set_class_route(n, class, route),
            QueuedSignal::BarrierClass { class, route, start } => self.set_barrier(n, class, route, start),
            QueuedSignal::BarrierBits { class, bits } => self.set_barrier_bits(n, class, bits, now),
        }
    }

    /// Pulls the next packets from the host for those of a node's FIFOs that are empty, in FIFO order.
    pub(super) fn refill(&mut self, n: &mut Node, now: Time) {
        while n.refill != 0 {
            let fifo = n.refill.trailing_zeros() as usize;
            n.refill &= n.refill - 1;
            // A FIFO with a packet at its head, or in transfer, pulls again by itself.
            if (n.waiting | n.injecting | n.contributing) >> fifo & 1 == 0 {
                self.pull(n, fifo, now);
            }
        }
    }

    fn pull(&mut self, n: &mut Node, fifo: usize, now: Time) {
        if let Some((header, packet)) = self.common.pull(n.here, fifo, now) {
            *self.cell_mut(packet) = Cell { header, ..Cell::default() };
            self.injecting[n.here as usize * self.common.fifos + fifo] = packet;
            if let Some(collective) = CollectiveHeader::unpack(header) {
                self.contribute(n, fifo, packet, collective);
            } else {
                n.set_waiting(fifo, self.tables.head(header, 0));
            }
        }
        self.obey(n, now);
    }
}

/// A reception FIFO by the port that it belongs to, or by the driver's number: 13 is the system's, 14 and 15
/// are collective; local ones never fill, since their packets come from the same node.
fn reception_of_fifo(number: usize, high: bool) -> usize {
    match number {
        _ if high => RECEPTION_HIGH,
        RECEPTION_SYSTEM => RECEPTION_SYSTEM,
        10..=12 => RECEPTION_LOCAL,
        _ => number,
    }
}
