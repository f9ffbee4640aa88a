//! Packets and tokens that arrive, leave or return: the first step of a tick, and the resulting token-acks.

use super::TorusFamily;
use super::arbitration::Grant;
use super::shared::Shared;
use super::slots::{BYPASS, SLOTS};
use super::state::*;
use crate::host::Host;
use crate::packet::Header;
use crate::router::recovery::Recovery;
use netloom_engine::{Outbox, Time};

impl<H: Host<TorusFamily>, const P: usize> Shared<H, P> {
    /// A data packet's last bit has left on a link: the link, the path and the packet's buffer space are
    /// free.
    #[inline]
    pub(super) fn sent(&mut self, n: &mut Node<P>, event: &Event, now: Time) {
        let Leaving { from, slot, chunks, due_vc, due_chunks } = Leaving::of(event.word);
        n.open |= 1 << event.port();
        n.offer(&self.tables, event.port());
        if from == FROM_INJECTION {
            self.common.host.prepare(n.here, slot.into());
            n.injecting &= !(1 << slot);
            n.refill |= 1 << slot;
        } else {
            n.paths[from as usize] -= 1;
            self.vacate(n, (from.into(), slot.into()), chunks, (due_vc, due_chunks), now);
        }
    }

    /// A packet of `chunks` has completely left a receiver: its tokens are due on its VC, and the next packet
    /// becomes the head.
    #[inline]
    fn vacate(&mut self, n: &mut Node<P>, place: (usize, usize), chunks: u8, due: (u8, u8), now: Time) {
        let (port, slot) = place;
        if slot == BYPASS {
            n.bypass_busy &= !(1 << port);
        } else {
            let places = self.tables.places;
            let first = n.receivers[port].first[slot];
            let next = if first as usize + 1 == places { 0 } else { first + 1 };
            n.receivers[port].first[slot] = next;
            let left = n.receivers[port].count[slot] - 1;
            n.receivers[port].count[slot] = left;
            n.receivers[port].chunks[slot] -= chunks;
            self.common.recorder.leave(slot, chunks, now);
            if left == 0 {
                n.occupied[port] &= !(1 << slot);
            } else {
                let head = self.head(self.entry(n.here, port, slot, next).header);
                n.set_head(port, slot, head);
            }
        }
        let (vc, tokens) = due;
        n.receivers[port].due += u64::from(tokens) << (8 * vc);
        n.due |= u16::from(tokens != 0) << port;
    }

    /// A packet has been transferred completely to the reception FIFO.
    pub(super) fn received(&mut self, n: &mut Node<P>, event: &Event, now: Time) {
        let (port, slot) = (event.port(), event.slot());
        let header = Header(event.word);
        let high = usize::from(header.head() & Header::HIGH != 0);
        n.reception_idle[high] |= 1 << port;
        if event.kind() == Kind::Received {
            let vc = if slot == BYPASS { n.bypass_vc[port] } else { slot as u8 };
            // A corrupted packet's space is kept for its retransmission.
            let tokens =
                if header.is_corrupt() { 0 } else { self.tables.cost(vc as usize, header.chunks() as u8) };
            self.vacate(n, (port, slot), header.chunks() as u8, (vc, tokens), now);
            self.common.recorder.in_flight -= i64::from(!header.is_ghost());
        }
        let record = self.common.arena.remove(event.packet());
        if header.is_ghost() {
            self.discarded(n, port);
            return;
        }
        self.common.hand_over(now, n.here, port, header, record);
    }

    /// Tokens have returned to a sender. Returns whether the node may act on them.
    #[inline]
    pub(super) fn tokens(&mut self, n: &mut Node<P>, port: usize, word: u64) -> bool {
        let before = self.common.recorder.unblocking.then(|| {
            // The available directions of busy links are otherwise not kept up to date.
            (0..P).for_each(|port| n.offer(&self.tables, port));
            self.blocked(n)
        });
        // No byte overflows: at most the tokens taken are returned.
        n.tokens[port] += word;
        n.offer(&self.tables, port);
        let matters = (n.open >> port & 1 != 0) & !n.is_quiet();
        self.common.recorder.current.token_acks += 1;
        if let Some(before) = before
            && before != 0
        {
            self.common.recorder.current.hoped_for += 1;
            self.common.recorder.current.unblocking += u64::from(before & !self.blocked(n) != 0);
        }
        matters
    }

    /// Heads of receivers that wait for tokens, one bit per slot: none of their directions is available,
    /// whether the links are busy or not.
    fn blocked(&self, n: &Node<P>) -> u128 {
        let mut mask = 0;
        for port in 0..P {
            for (slot, &head) in n.receivers[port].heads.iter().enumerate() {
                if head & Header::HINTS != 0
                    && n.directions(&self.tables, Some(port), slot, head, Header::HINTS) == 0
                {
                    mask |= 1 << (port * SLOTS + slot);
                }
            }
        }
        mask
    }

    /// A packet's header has passed the receiving unit: the packet enters the bypass, or joins its VC.
    #[inline]
    pub(super) fn arrive(&mut self, n: &mut Node<P>, event: &Event, now: Time) {
        if self.common.errors.is_some() {
            self.note_arrival(n, event, now);
        }
        let (port, vc) = (event.port(), event.slot());
        let header = Header(event.word);
        let entry = Entry::new(header, event.packet(), now);
        if n.occupied[port] >> vc & 1 != 0 {
            self.join(n, port, vc, entry, now);
        } else if self.tables.bypass && n.bypass_busy >> port & 1 == 0 {
            n.enter_bypass(port, vc, self.head(header));
            let place = self.standing(n, port);
            self.standing[place] = entry;
        } else {
            n.set_head(port, vc, self.head(header));
            self.join(n, port, vc, entry, now);
        }
    }

    /// The same if this is the node's only event in this tick, and the node acts at once. If no other packet
    /// requests anything there, the usual case under light load, only this packet needs to be considered.
    #[inline]
    pub(super) fn arrive_alone(
        &mut self,
        n: &mut Node<P>,
        event: &Event,
        now: Time,
        out: &mut Outbox<Message>,
    ) {
        let (port, vc) = (event.port(), event.slot());
        let t = &self.tables;
        let is_head = n.occupied[port] >> vc & 1 == 0;
        let stands = is_head && t.bypass && n.bypass_busy >> port & 1 == 0;
        if !stands || !n.is_quiet() || t.gap || self.common.errors.is_some() {
            self.arrive(n, event, now);
            if is_head {
                self.arbitrate(n, now, out);
            }
            return;
        }
        let header = Header(event.word);
        let entry = Entry::new(header, event.packet(), now);
        let head = self.head(header);
        n.bypass_vc[port] = vc as u8;
        let offered = if n.paths[port] < t.paths { n.open & n.any_ok } else { 0 };
        let directions = n.receiver_directions(t, port, BYPASS, head, offered);
        if directions == 0 {
            n.set_head(port, vc, head);
            self.join(n, port, vc, entry, now);
            return;
        }
        n.bypass_busy |= 1 << port;
        if directions == Header::LOCAL {
            self.start_reception(n, Kind::Received, port, BYPASS, entry, now);
        } else {
            let (to, vc) = n.choose_direction(t, directions, head);
            let vc = n.vc(to as usize, vc);
            self.start(n, Grant { from: Some(port), slot: BYPASS, to: to.into(), vc, entry }, now, out);
        }
    }

    /// The record of the packet in a receiver's bypass, for the tick in which it is there. Most packets
    /// continue at once, and never enter a VC's ring.
    #[inline]
    pub(super) fn standing(&self, n: &Node<P>, port: usize) -> usize {
        let row = if n.events == LISTED { n.acting } else { 0 };
        row as usize * P + port
    }

    /// A packet joins its VC.
    #[inline]
    pub(super) fn join(&mut self, n: &mut Node<P>, port: usize, vc: usize, entry: Entry, now: Time) {
        let chunks = entry.header.chunks() as u8;
        let places = self.tables.places;
        let here = n.here;
        let receiver = &mut n.receivers[port];
        let (first, count) = (receiver.first[vc] as usize, receiver.count[vc] as usize);
        debug_assert!(count < places, "tokens bound the packets of a VC");
        receiver.count[vc] += 1;
        n.occupied[port] |= 1 << vc;
        receiver.chunks[vc] += chunks;
        let place = if first + count < places { first + count } else { first + count - places };
        *self.entry_mut(here, port, vc, place as u8) = entry;
        self.common.recorder.enter(vc, chunks, now);
    }

    /// Sends the token-acks that are due on links that carry no data packet.
    #[inline]
    pub(super) fn send_due(&mut self, n: &mut Node<P>, now: Time, out: &mut Outbox<Message>) {
        let mut ports = n.due & n.open;
        n.due &= !ports;
        while ports != 0 {
            let port = ports.trailing_zeros() as usize;
            ports &= ports - 1;
            let end = self.common.send_short(&mut n.ports[port], self.tables.ack, now);
            let word = std::mem::take(&mut n.receivers[port].due);
            let to = n.ports[port].neighbour;
            if self.common.errors.is_some() && !self.acknowledge(n, port, word, now) {
                continue;
            }
            let event = |node, _| Event::at(Kind::Tokens, node, port ^ 1, 0, 0, word);
            self.common.send(to, end + self.tables.token_delay, event, u32::MAX, out);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use crate::config::TorusConfig;
    use crate::host::{Delivery, Host, Pull, Signals};
    use crate::router::BuildOptions;
    use crate::router::torus::{TorusFamily, TorusNetwork};
    use netloom_engine::Time;

    /// A host that sends nothing.
    pub struct Silent;

    impl Host<TorusFamily> for Silent {
        fn pull(&mut self, _: Time, _: u32, _: usize, _: &mut Signals) -> Pull {
            Pull::Empty
        }
        fn deliver(&mut self, _: Time, _: u32, _: &Delivery, _: &mut Signals) {}
        fn wake(&mut self, _: Time, _: u32, _: u32, _: &mut Signals) {}
    }

    /// A head waits for a busy link whose current packet has taken its last tokens. It is blocked when tokens
    /// arrive for another link, and freed by tokens for its own.
    #[test]
    fn a_head_waits_for_the_tokens_of_a_busy_link() {
        let options = BuildOptions { unblocking: true, ..BuildOptions::default() };
        let config = TorusConfig::bluegene_l(&[4, 4, 4]);
        let mut network = TorusNetwork::<_, 6>::new(&config, &options, |_| Silent).expect("buildable");
        let block = network.blocks().next().expect("a block");
        let (n, shared) = (&mut block.nodes[0], &mut block.shared);
        let full = u64::from(shared.tables.full);
        // The state after a grant: the link is closed and the tokens are taken; its available VCs are
        // computed when it is free.
        n.open &= !1;
        n.tokens[0] = 0;
        n.set_head(2, 0, 1);
        n.tokens[4] -= full;
        let counted = |shared: &super::Shared<Silent, 6>| {
            (shared.common.recorder.current.hoped_for, shared.common.recorder.current.unblocking)
        };
        shared.tokens(n, 4, full);
        assert_eq!(counted(shared), (1, 0));
        shared.tokens(n, 0, full);
        assert_eq!(counted(shared), (2, 1));
        n.tokens[4] -= full;
        shared.tokens(n, 4, full);
        assert_eq!(counted(shared), (2, 1), "the head is not blocked any more");
    }
}
