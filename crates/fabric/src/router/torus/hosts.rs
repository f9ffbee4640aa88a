//! What passes between nodes and their hosts: packets pulled into injection FIFOs and handed over from reception FIFOs, and what
//! hosts ask for.

use super::TorusFamily;
use super::shared::Shared;
use super::state::*;
use crate::host::{Family, Host, Pull, Reception, Request};
use crate::packet::{Data, Header, Meta};
use netloom_engine::Time;
use std::convert::Infallible;

impl Family for TorusFamily {
    type Header = Header;
    type Signal = Reception;
    type Event = Infallible;
}

impl<H: Host<TorusFamily>, const P: usize> Shared<H, P> {
    /// A time has come for which the host asked.
    pub(super) fn wake(&mut self, n: &Node<P>, token: u32, now: Time) {
        self.host.wake(now, n.here, token, &mut self.signals);
    }

    /// Hands a packet over to the host.
    pub(super) fn hand_over(
        &mut self,
        now: Time,
        n: &Node<P>,
        port: usize,
        header: Header,
        meta: Meta,
        data: Option<Data>,
    ) {
        self.recorder.delivered(now, header.chunks(), &meta);
        let delivery = crate::host::Delivery { port, header, meta, data: data.as_ref() };
        self.host.deliver(now, n.here, &delivery, &mut self.signals);
    }

    /// Does what the host asked for at a node, which has yet to act in this tick. Returns whether it asked for anything that
    /// the node may act on.
    pub(super) fn obey(&mut self, n: &mut Node<P>, now: Time) -> bool {
        if self.signals.requests.is_empty() {
            return false;
        }
        let mut acts = false;
        for signal in self.signals.requests.drain(..) {
            let node = match signal {
                Request::Fill { node, fifo } => {
                    n.refill |= 1 << fifo;
                    acts = true;
                    node
                }
                Request::Wake { node, at, token } => {
                    assert!(at > now, "a host may be woken in the future only");
                    self.calendar.push(at, Event::at(Kind::Wake, node, 0, 0, token, 0));
                    node
                }
                Request::Own { node, signal: Reception { port, high, open } } => {
                    let full = &mut n.reception_full[usize::from(high)];
                    *full = *full & !(1 << port) | u16::from(!open) << port;
                    acts = true;
                    node
                }
            };
            debug_assert_eq!(node, n.here, "a host's signals are for the node for which it was called");
        }
        acts
    }

    /// Asks the host for the next packets of a node's FIFOs that have none, in the FIFOs' order.
    pub(super) fn refill(&mut self, n: &mut Node<P>, now: Time) {
        let mut fifos = std::mem::take(&mut n.refill);
        while fifos != 0 {
            let fifo = fifos.trailing_zeros() as usize;
            fifos &= fifos - 1;
            // One with a packet at its head, or in transfer, asks again by itself.
            if (n.waiting | n.injecting) >> fifo & 1 == 0 {
                self.pull(n, fifo, now);
            }
            if fifos == 0 {
                // What the host signalled while it was asked.
                fifos = std::mem::take(&mut n.refill);
            }
        }
    }

    // The host answers in line here, so that what it says of the packet is written once; and this stays out of the block's tick:
    // there it would take registers from everything else that a tick does.
    #[inline(never)]
    fn pull(&mut self, n: &mut Node<P>, fifo: usize, now: Time) {
        match self.host.pull(now, n.here, fifo, &mut self.signals) {
            Pull::Packet(header, meta) => {
                let packet = self.arena.insert_with(meta, self.signals.take_data());
                let entry = Entry::new(header, packet, now);
                self.injecting[n.here as usize * self.fifos + fifo] = entry;
                let head = self.head(header);
                self.injection[n.here as usize].heads[fifo] = head;
                n.waiting |= 1 << fifo;
                n.waiting_high |= u16::from(head & Header::HIGH != 0) << fifo;
                (0..P).for_each(|port| n.entering[port] |= (head >> port & 1) << fifo);
            }
            Pull::NotBefore(at) => {
                self.signals.refuse_data(n.here);
                let event = Event::at(Kind::Fill, n.here, fifo / 8, fifo % 8, 0, 0);
                self.calendar.push(at.max(now + 1), event);
            }
            Pull::Empty => self.signals.refuse_data(n.here),
        }
        self.obey(n, now);
    }
}
