//! The exchange between nodes and their hosts: packets pulled into injection FIFOs and delivered from
//! reception FIFOs, and hosts' signals.

use super::TorusFamily;
use super::shared::Shared;
use super::state::*;
use crate::host::{Family, Host, Reception, Request};
use crate::packet::Header;
use netloom_engine::Time;
use std::convert::Infallible;

impl Family for TorusFamily {
    type Header = Header;
    type Signal = Reception;
    type Event = Infallible;
}

impl<H: Host<TorusFamily>, const P: usize> Shared<H, P> {
    /// Carries out the host's requests for a node that will still act in this tick. Returns whether the node
    /// may act on any of them.
    pub(super) fn obey(&mut self, n: &mut Node<P>, now: Time) -> bool {
        if self.common.signals.requests.is_empty() {
            return false;
        }
        let mut acts = false;
        let mut list = std::mem::take(&mut self.common.signals.requests);
        for request in list.drain(..) {
            acts |= !matches!(request, Request::Wake { .. });
            let own = self.common.obey(request, n.here, &mut n.refill, now);
            if let Some(Reception { port, high, open }) = own {
                let full = &mut n.reception_full[usize::from(high)];
                *full = *full & !(1 << port) | u16::from(!open) << port;
            }
        }
        self.common.signals.requests = list;
        acts
    }

    /// Pulls the next packets from the host for those of a node's FIFOs that are empty, in FIFO order.
    pub(super) fn refill(&mut self, n: &mut Node<P>, now: Time) {
        let mut fifos = std::mem::take(&mut n.refill);
        while fifos != 0 {
            let fifo = fifos.trailing_zeros() as usize;
            fifos &= fifos - 1;
            // A FIFO with a packet at its head, or in transfer, pulls again by itself.
            if (n.waiting | n.injecting) >> fifo & 1 == 0 {
                self.pull(n, fifo, now);
            }
            if fifos == 0 {
                // FIFOs that the host signalled during the call.
                fifos = std::mem::take(&mut n.refill);
            }
        }
    }

    // The host's call is inlined here, so that the packet is written only once; and this function stays out
    // of the block's tick, where it would take registers from everything else.
    #[inline(never)]
    fn pull(&mut self, n: &mut Node<P>, fifo: usize, now: Time) {
        if let Some((header, packet)) = self.common.pull(n.here, fifo, now) {
            self.injecting[n.here as usize * self.common.fifos + fifo] = Entry::new(header, packet, now);
            let head = self.head(header);
            self.injection[n.here as usize].heads[fifo] = head;
            n.waiting |= 1 << fifo;
            n.waiting_high |= u16::from(head & Header::HIGH != 0) << fifo;
            (0..P).for_each(|port| n.entering[port] |= (head >> port & 1) << fifo);
        }
        self.obey(n, now);
    }
}
