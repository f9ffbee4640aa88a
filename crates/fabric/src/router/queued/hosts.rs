//! What passes between nodes and their hosts: packets pulled into injection FIFOs and handed over from reception FIFOs, and what
//! hosts ask for.

use super::block::Shared;
use super::state::*;
use crate::collective::CollectiveHeader;
use crate::host::{Delivery, Host, Pull, Signal};
use crate::packet::{Data, Header, Meta};
use netloom_engine::Time;

impl<H: Host> Shared<H> {
    /// Hands a packet over to the host.
    pub(super) fn hand_over(
        &mut self,
        now: Time,
        n: &mut Node,
        port: usize,
        header: Header,
        meta: Meta,
        data: Option<Data>,
    ) {
        self.recorder.delivered(now, header.chunks(), &meta);
        let delivery = Delivery { port, header, meta, data: data.as_ref() };
        self.host.deliver(now, n.here, &delivery, &mut self.signals);
        self.obey(n, now);
    }

    /// Does what the host asked for at a node, which has yet to act in this tick.
    pub(super) fn obey(&mut self, n: &mut Node, now: Time) {
        let mut list = std::mem::take(&mut self.signals.list);
        for signal in list.drain(..) {
            let node = match signal {
                Signal::Fill { node, fifo } => {
                    n.refill |= 1 << fifo;
                    node
                }
                Signal::Wake { node, at, token } => {
                    assert!(at > now, "a host may be woken in the future only");
                    self.calendar.push(at, Event::at(Kind::Wake, node, 0, 0, token, 0));
                    node
                }
                Signal::Reception { node, port, high, open } => {
                    let bit = 1u16 << reception_of_fifo(port, high);
                    n.reception_full = if open { n.reception_full & !bit } else { n.reception_full | bit };
                    node
                }
                Signal::ClassRoute { node, class, route } => {
                    self.set_class_route(n, class, route);
                    node
                }
                Signal::Barrier { node, class, route, start } => {
                    self.set_barrier(n, class, route, start);
                    node
                }
                Signal::Say { node, class, says } => {
                    self.say(n, class, says, now);
                    node
                }
            };
            debug_assert_eq!(node, n.here, "a host's signals are for the node for which it was called");
        }
        self.signals.list = list;
    }

    /// Asks the host for the next packets of a node's FIFOs that have none, in the FIFOs' order.
    pub(super) fn refill(&mut self, n: &mut Node, now: Time) {
        while n.refill != 0 {
            let fifo = n.refill.trailing_zeros() as usize;
            n.refill &= n.refill - 1;
            // One with a packet at its head, or in transfer, asks again by itself.
            if (n.waiting | n.injecting | n.contributing) >> fifo & 1 == 0 {
                self.pull(n, fifo, now);
            }
        }
    }

    fn pull(&mut self, n: &mut Node, fifo: usize, now: Time) {
        match self.host.pull(now, n.here, fifo, &mut self.signals) {
            Pull::Packet(header, meta) => {
                let data = self.signals.data.take();
                let packet = self.insert(meta, header, data);
                self.injecting[n.here as usize * self.fifos + fifo] = packet;
                if let Some(collective) = CollectiveHeader::unpack(header) {
                    self.contribute(n, fifo, packet, collective);
                } else {
                    n.heads[fifo] = self.tables.head(header, 0);
                    n.waiting |= 1 << fifo;
                }
            }
            Pull::NotBefore(at) => {
                let event = Event::at(Kind::Fill, n.here, fifo / 8, fifo % 8, 0, 0);
                self.calendar.push(at.max(now + 1), event);
            }
            Pull::Empty => {}
        }
        self.obey(n, now);
    }
}

/// A reception FIFO by the port that it belongs to, or by the number that the machine's driver gives it: 13 is the system's, 14 and 15 are
/// collective ones; local ones never fill, since what goes there comes from the same node.
fn reception_of_fifo(number: usize, high: bool) -> usize {
    match number {
        _ if high => RECEPTION_HIGH,
        RECEPTION_SYSTEM => RECEPTION_SYSTEM,
        10..=12 => RECEPTION_LOCAL,
        _ => number,
    }
}
