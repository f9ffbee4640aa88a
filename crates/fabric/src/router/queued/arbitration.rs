//! Arbitration (section II.E), once per cycle and node: each VC of a receiver selects a packet from its
//! queues for which a sender's link and tokens are available; the receiver's main arbiter picks one of its
//! VCs and requests that sender; injection FIFOs send requests themselves, one packet at a time; each sender
//! grants one request.

use super::QueuedFamily;
use super::block::Shared;
use super::ends::reception;
use super::state::*;
use super::tables::Tables;
use crate::host::Host;
use crate::packet::Header;
use crate::router::bits::{best_of, bits, one_of};
use crate::router::errors::Kept;
use crate::router::recovery::Recovery;
use netloom_engine::{Outbox, Time};

/// The moves of a head: directions, one bit each, and the VC in these directions.
#[derive(Clone, Copy)]
struct Moves {
    directions: u16,
    vc: usize,
}

/// A receiver's request.
#[derive(Clone, Copy, Default)]
struct Request {
    slot: u8,
    vc: u8,
    rank: u8,
}

/// A packet that has been granted its link.
struct Grant {
    /// The receiver that holds it; `None` for an injection FIFO.
    from: Option<usize>,
    /// Its queue there, or the FIFO.
    slot: usize,
    to: usize,
    vc: usize,
}

/// The senders' priority order (section II.E): system packets, then high-priority packets, then user packets.
fn rank(head: &Head) -> u8 {
    match head.vc() {
        SYSTEM => 2,
        HIGH => 1,
        _ => 0,
    }
}

impl Node {
    /// The moves of the head of a queue of a receiver (or, without one, of an injection FIFO), if `links` are
    /// free.
    #[inline]
    fn moves(&self, head: &Head, receiver: Option<(usize, usize)>, links: u16) -> Moves {
        if head.is_deposit()
            && let Some((port, _)) = receiver
            && !self.receives(port, head)
        {
            return Moves { directions: 0, vc: 0 };
        }
        let dynamic = head.dynamic() & links & self.room_one[DYNAMIC];
        if dynamic != 0 {
            return Moves { directions: dynamic, vc: DYNAMIC };
        }
        let (fixed, vc) = (head.fixed(), head.vc());
        if fixed == LOCAL {
            let open = match receiver {
                Some((port, _)) => self.receives(port, head),
                None => self.open & LOCALLY != 0,
            };
            return Moves { directions: u16::from(open) << LOCAL, vc };
        }
        // The bubble rule: space for one packet to continue straight, for two to enter the ring. The
        // deterministic VC accepts dynamic packets only if the dynamic VC has no space for them. An IO link
        // is not on any ring.
        let straight = receiver.is_some_and(|(port, slot)| port ^ 1 == fixed && slot / SLOTS_OF_VC == vc);
        let room =
            if straight || self.io_links >> fixed & 1 != 0 { self.room_one[vc] } else { self.room_two[vc] };
        Moves { directions: 1 << fixed & links & room, vc }
    }

    /// Whether the reception FIFO has space for a packet that arrived through a receiver.
    fn receives(&self, port: usize, head: &Head) -> bool {
        (self.reception_idle & !self.reception_full) >> reception(port, head.vc()) & 1 != 0
    }

    /// Whether the head of a queue of a receiver may move: deterministic packets in one direction keep their
    /// order.
    #[inline]
    fn can_move(&self, port: usize, slot: usize, links: u16) -> bool {
        let r = &self.receivers[port];
        let head = &r.heads[slot];
        let in_turn = !head.is_ordered() || head.ticket == r.departed[slot / SLOTS_OF_VC][head.fixed()];
        in_turn && self.moves(head, Some((port, slot)), links).directions != 0
    }

    /// A receiver's main arbiter: the queue for which it sends a request, among those that its VCs selected,
    /// and whether there was another. Each VC selects at random among its queues whose heads may move.
    #[inline]
    fn request(&mut self, port: usize, links: u16) -> Option<(usize, bool)> {
        let standing = self.standing[port];
        if standing.is_power_of_two() {
            let slot = standing.trailing_zeros() as usize;
            return self.can_move(port, slot, links).then_some((slot, false));
        }
        self.request_of_several(port, links)
    }

    #[inline(never)]
    fn request_of_several(&mut self, port: usize, links: u16) -> Option<(usize, bool)> {
        let mut able = 0u32;
        for slot in bits(self.standing[port]) {
            able |= u32::from(self.can_move(port, slot, links)) << slot;
        }
        if able == 0 {
            return None;
        }
        if able.is_power_of_two() {
            return Some((able.trailing_zeros() as usize, false));
        }
        let mut selected = 0u64;
        let mut left = able;
        while left != 0 {
            let first = left.ilog2() & !(SLOTS_OF_VC as u32 - 1);
            selected |= 1 << one_of(u64::from(left >> first << first), &mut self.random);
            left &= (1 << first) - 1;
        }
        let slot = if selected.is_power_of_two() {
            selected.trailing_zeros() as usize
        } else {
            let heads = &self.receivers[port].heads;
            one_of(best_of(selected, |slot| rank(&heads[slot])), &mut self.random)
        };
        Some((slot, true))
    }

    /// Among several directions, the one with the shortest queue downstream by four ranges of tokens, ties at
    /// random; or any.
    #[inline(always)]
    fn choose(&mut self, t: &Tables, moves: Moves) -> usize {
        match moves.directions.is_power_of_two() {
            true => moves.directions.trailing_zeros() as usize,
            false => self.choose_of_several(t, moves),
        }
    }

    #[inline(never)]
    fn choose_of_several(&mut self, t: &Tables, moves: Moves) -> usize {
        let directions = u64::from(moves.directions);
        let capacity = u32::from(t.capacity[moves.vc]) + 1;
        let range = |port: usize| (u32::from(self.tokens[port][moves.vc]) * 4 / capacity) as u8;
        let ties = if t.jsq { best_of(directions, range) } else { directions };
        one_of(ties, &mut self.random)
    }
}

impl<H: Host<QueuedFamily>> Shared<H> {
    /// One arbitration cycle of a node.
    #[inline]
    pub(super) fn arbitrate(&mut self, n: &mut Node, now: Time, out: &mut Outbox<Message>) {
        // Collective packets have reserved the claimed links.
        let open = n.open & !n.claimed;
        let movers = n.movers(open) & !n.stopped;
        if movers == 0 {
            return;
        }
        let port = movers.trailing_zeros() as usize;
        if movers.is_power_of_two() && port != INJECTION {
            self.arbitrate_alone(n, port, open, now, out);
        } else {
            self.arbitrate_among(n, movers, open, now, out);
        }
    }

    /// A receiver's part in a cycle: a packet for this node starts towards its reception FIFO, for another node the
    /// receiver requests a sender. Returns the request with its sender, if there is one, and whether another of its
    /// packets may move in the next cycle.
    #[inline(always)]
    fn ask(&mut self, n: &mut Node, port: usize, open: u16, now: Time) -> (Option<(usize, Request)>, bool) {
        let links = if n.without_path >> port & 1 == 0 { open & !LOCALLY } else { 0 };
        let Some((slot, more)) = n.request(port, links) else { return (None, false) };
        let head = n.receivers[port].heads[slot];
        let moves = n.moves(&head, Some((port, slot)), links);
        if moves.directions == LOCALLY {
            self.grant_reception(n, port, slot, now);
            // Its links may be free for another packet in the next cycle.
            return (None, more || n.asking >> port & 1 != 0);
        }
        let to = n.choose(&self.tables, moves);
        (Some((to, Request { slot: slot as u8, vc: moves.vc as u8, rank: rank(&head) })), more)
    }

    /// A receiver's request is granted.
    #[inline(always)]
    fn grant(
        &mut self,
        n: &mut Node,
        (port, to): (usize, usize),
        request: Request,
        now: Time,
        out: &mut Outbox<Message>,
    ) {
        n.through[to] = n.through[to].saturating_add(1);
        let Request { slot, vc, .. } = request;
        self.grant_link(n, Grant { from: Some(port), slot: slot.into(), to, vc: vc.into() }, now, out);
    }

    /// The same for a receiver that alone may request a sender, mostly the case under half load: it is granted.
    #[inline(always)]
    fn arbitrate_alone(
        &mut self,
        n: &mut Node,
        port: usize,
        open: u16,
        now: Time,
        out: &mut Outbox<Message>,
    ) {
        let (request, left) = self.ask(n, port, open, now);
        if let Some((to, request)) = request {
            self.grant(n, (port, to), request, now, out);
        }
        if left {
            self.retry(n, now);
        }
    }

    /// The same among receivers and injection FIFOs of which any head may move.
    fn arbitrate_among(
        &mut self,
        n: &mut Node,
        movers: u16,
        open: u16,
        now: Time,
        out: &mut Outbox<Message>,
    ) {
        let mut contenders = [0u16; PORTS + 1];
        let mut requests = [Request::default(); PORTS];
        let (mut asked, mut losers) = (0u16, 0u16);
        for port in bits(movers & !(1 << INJECTION)) {
            let (request, more) = self.ask(n, port, open, now);
            losers |= u16::from(more) << port;
            if let Some((to, request)) = request {
                requests[port] = request;
                contenders[to] |= 1 << port;
                asked |= 1 << to;
            }
        }
        let mut injectors = [0u16; PORTS + 1];
        let mut vcs = [0u8; 16];
        for fifo in bits(if movers >> INJECTION & 1 != 0 { n.waiting } else { 0 }) {
            let head = n.heads[fifo];
            let moves = n.moves(&head, None, open);
            if moves.directions == 0 {
                continue;
            }
            let to = n.choose(&self.tables, moves);
            vcs[fifo] = moves.vc as u8;
            injectors[to] |= 1 << fifo;
            asked |= 1 << to;
        }
        let mut left = losers;
        for to in bits(asked) {
            let (receivers, fifos) = (contenders[to], injectors[to]);
            let several = receivers & receivers.wrapping_sub(1) | fifos & fifos.wrapping_sub(1);
            let is_contended = several != 0 || receivers != 0 && fifos != 0;
            left |= u16::from(is_contended);
            let (mut receivers_best, mut fifos_best, mut goes_through) = (receivers, fifos, receivers != 0);
            if is_contended {
                let (r, f);
                (receivers_best, r) = foremost(receivers, |port| requests[port].rank);
                (fifos_best, f) = foremost(fifos, |fifo| rank(&n.heads[fifo]));
                let may_pass = || fifos == 0 || r > f || r == f && n.through[to] < self.tables.through;
                goes_through = receivers != 0 && may_pass();
            }
            if goes_through {
                let port = one_of(receivers_best.into(), &mut n.random);
                self.grant(n, (port, to), requests[port], now, out);
            } else {
                let fifo = one_of(fifos_best.into(), &mut n.random);
                if to != LOCAL {
                    n.through[to] = 0;
                }
                self.grant_link(n, Grant { from: None, slot: fifo, to, vc: vcs[fifo].into() }, now, out);
            }
        }
        // Losers may find another link or path free in the next cycle; packets that cannot move wait for an
        // event.
        if left != 0 {
            self.retry(n, now);
        }
    }

    /// A packet starts on a link, or from an injection FIFO to this node's own reception FIFO.
    #[inline]
    fn grant_link(&mut self, n: &mut Node, grant: Grant, now: Time, out: &mut Outbox<Message>) {
        let Grant { from, slot, to, vc } = grant;
        if self.soft.is_some() && from.is_some_and(|port| !self.head_is_right(n, port, slot, now)) {
            return;
        }
        let packet = match from {
            Some(port) => {
                n.take_path(port, self.tables.paths);
                self.take_head(n, port, slot, now)
            }
            None => self.inject(n, slot, now),
        };
        let header = self.cells[packet as usize].header;
        let chunks = header.chunks() as u8;
        let leaving = Leaving {
            from: from.map_or(FROM_INJECTION, |port| port as u8),
            slot: slot as u8,
            due_vc: 0,
            due_chunks: self.due(slot / SLOTS_OF_VC, header),
            chunks,
        };
        let time = self.tables.wire[usize::from(chunks)];
        n.open &= !(1 << to);
        if to == LOCAL {
            let end = now + time;
            self.common.calendar.push(end, Event::at(Kind::Sent, n.here, to, 0, 0, leaving.word()));
            self.common.calendar.push(end, Event::at(Kind::Received, n.here, to, 0, packet, header.0));
            return;
        }
        n.tokens[to][vc] -= self.tables.cost(vc, chunks);
        self.offer(n, to, vc);
        let after = match n.io_links >> to & 1 {
            0 => header.after_hop(to, n.ahead[to], false),
            _ => header.after_io_hop(),
        };
        let (neighbour, start) = self.occupy(n, to, vc, header, now);
        let arrival = start + self.tables.hop + u64::from(n.wires[to]);
        self.common.calendar.push(start + time, Event::at(Kind::Sent, n.here, to, 0, 0, leaving.word()));
        let mut moving = packet;
        if let Some(port) = from
            && header.head() & Header::DEPOSIT != 0
        {
            // A copy stays here: the packet itself continues with a record of its own.
            let data = self.common.arena.data(packet).cloned();
            moving = self.insert(*self.common.arena.get(packet), header, data);
            self.start_reception(n, Kind::Copied, port, packet, header, now);
        }
        if self.common.errors.is_some() {
            self.send_unsure(n, to, Kept { header: after, packet: moving, vc: vc as u8 }, start, out);
            return;
        }
        let there = n.far[to].into();
        let arrive = |node, packet| Event::at(Kind::Arrived, node, there, vc, packet, after.0);
        self.common.send(neighbour, arrival, arrive, moving, out);
    }

    /// A packet occupies a link, as soon as it is free, a gap after the data packet before it, and not before
    /// `start`. Returns the node at its other end, and the actual start.
    #[inline]
    pub(super) fn occupy(
        &mut self,
        n: &mut Node,
        to: usize,
        vc: usize,
        header: Header,
        start: Time,
    ) -> (u32, Time) {
        let chunks = header.chunks();
        let time = self.tables.wire[chunks as usize];
        let start = start.max(n.ready_at[to]);
        let start = self.common.occupy(&mut n.ports[to], (vc, CLASS[vc]), chunks, time, start);
        n.ready_at[to] = start + (time + self.tables.gap);
        self.counters.iter_mut().for_each(|c| c.sent(n.here, to, vc, chunks));
        (n.ports[to].neighbour, start)
    }

    /// Takes the head of an injection FIFO.
    fn inject(&mut self, n: &mut Node, fifo: usize, now: Time) -> u32 {
        n.clear_waiting(fifo);
        let packet = self.injecting[n.here as usize * self.common.fifos + fifo];
        self.common.arena.get_mut(packet).entered = now;
        self.common.recorder.current.injected += 1;
        self.common.recorder.in_flight += 1;
        packet
    }

    /// A packet is transferred to its reception FIFO.
    fn grant_reception(&mut self, n: &mut Node, port: usize, slot: usize, now: Time) {
        if self.soft.is_some() && !self.head_is_right(n, port, slot, now) {
            return;
        }
        let packet = self.take_head(n, port, slot, now);
        let header = self.cells[packet as usize].header;
        self.start_reception(n, Kind::Received, port, packet, header, now);
    }

    /// A packet, or its copy, starts towards the reception FIFO, where it is complete after the transfer.
    fn start_reception(
        &mut self,
        n: &mut Node,
        kind: Kind,
        port: usize,
        packet: u32,
        header: Header,
        now: Time,
    ) {
        n.reception_idle &= !(1 << reception(port, fixed_vc(header)));
        let end = now + self.tables.wire[header.chunks() as usize];
        // A receiver may transfer packets of several priorities at once.
        self.common.calendar.push(end, Event::at(kind, n.here, port, fixed_vc(header), packet, header.0));
    }
}

/// The elements of a mask with the highest rank, and that rank; 0 if the mask is empty.
fn foremost(mask: u16, rank: impl Fn(usize) -> u8) -> (u16, u8) {
    if mask == 0 {
        return (0, 0);
    }
    let best = best_of(mask.into(), &rank) as u16;
    (best, rank(best.trailing_zeros() as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{DirectionChoice, QueuedConfig};
    use crate::host::{Delivery, Pull, Signals};
    use crate::packet::Meta;
    use crate::router::BuildOptions;
    use crate::router::queued::{QueuedBlock, QueuedNetwork, QueuedSignal};
    use std::collections::BTreeSet;

    /// A host that sends nothing.
    struct Silent;

    impl Host<QueuedFamily> for Silent {
        fn pull(&mut self, _: Time, _: u32, _: usize, _: &mut Signals<QueuedSignal>) -> Pull {
            Pull::Empty
        }
        fn deliver(&mut self, _: Time, _: u32, _: &Delivery, _: &mut Signals<QueuedSignal>) {}
        fn wake(&mut self, _: Time, _: u32, _: u32, _: &mut Signals<QueuedSignal>) {}
    }

    fn with_block(config: &QueuedConfig, test: impl FnOnce(&mut QueuedBlock<Silent>)) {
        let mut network =
            QueuedNetwork::new(config, &BuildOptions::default(), |_| Silent).expect("buildable");
        test(network.blocks().next().expect("a block"));
    }

    /// A receiver sends no more packets at once than it has paths.
    #[test]
    fn a_receiver_has_so_many_paths() {
        for paths in 1..=4 {
            let mut config = QueuedConfig::bluegene_q(&[4, 4, 4, 4, 2]);
            config.router.paths = paths;
            with_block(&config, |block| {
                let (n, shared) = (&mut block.nodes[0], &mut block.shared);
                // Four packets arrived over one link; each continues over a link of its own.
                for port in [0, 2, 4, 6] {
                    let header = Header::new([1, 1, 1, 1, 0], 1 << port, 17, Header::STATIC);
                    let packet = shared.common.arena.insert(Meta::default());
                    shared.join(n, 8, DETERMINISTIC, packet, header, Time::ZERO);
                }
                let mut out = Outbox::new(vec![]);
                (1..10).for_each(|cycle| shared.arbitrate(n, Time::at(16 * cycle), &mut out));
                assert_eq!((u32::from(n.paths[8]), n.open.count_ones()), (paths, 11 - paths));
            });
        }
    }

    /// Among the open directions a packet takes one with the most tokens, by four ranges; or any.
    #[test]
    fn the_shortest_queue_is_joined() {
        for (choice, expected) in
            [(DirectionChoice::Jsq, vec![2, 4]), (DirectionChoice::Random, vec![0, 2, 4])]
        {
            let mut config = QueuedConfig::bluegene_q(&[4, 4, 4, 4, 2]);
            config.router.direction_choice = choice;
            with_block(&config, |block| {
                let (n, t) = (&mut block.nodes[0], &block.shared.tables);
                // With 126 tokens: the second range once, and the last one twice.
                for (port, tokens) in [(0, 40), (2, 126), (4, 100), (6, 126)] {
                    n.tokens[port][DYNAMIC] = tokens;
                }
                let moves = Moves { directions: 0b1_0101, vc: DYNAMIC };
                let chosen: BTreeSet<usize> = (0..100).map(|_| n.choose(t, moves)).collect();
                assert_eq!(chosen.into_iter().collect::<Vec<_>>(), expected);
            });
        }
    }
}
