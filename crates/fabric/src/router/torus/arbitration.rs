//! The three phases of arbitration (section 2), once a tick and node: each packet's direction and VC; each receiver's
//! request; each sender's grant.

use super::block::{Message, TorusBlock};
use super::state::*;
use crate::host::Host;
use crate::packet::Header;
use crate::routing::hints;
use netloom_engine::{Outbox, Stream, Time};

/// How a packet may move.
#[derive(Clone, Copy, Debug)]
pub(super) enum Options {
    /// To the reception FIFO.
    Local,
    /// In any of these directions, on any dynamic VC that has the tokens.
    Dynamic(u16),
    /// Through one port on one VC.
    Fixed(u8, u8),
}

/// A receiver's request.
#[derive(Clone, Copy, Default)]
struct Request {
    slot: u8,
    vc: u8,
    /// Fullness of the VC that the packet would leave, as SLQ sees it.
    range: u8,
    high: bool,
}

impl<H: Host, const P: usize> TorusBlock<H, P> {
    /// How the head at `slot` of a receiver (or, without one, of an injection FIFO) may move through the directions in
    /// `mask`, if tokens allow: phase 1 up to the choice.
    #[inline]
    pub(super) fn options_if(
        &self,
        node: usize,
        port: Option<usize>,
        slot: usize,
        head: u16,
        mask: u16,
    ) -> Option<Options> {
        let t = &self.tables;
        let n = &self.nodes[node];
        let possible = head & mask & Header::HINTS;
        if possible == 0 {
            return None;
        }
        if head & (Header::STATIC | Header::HIGH) == 0 {
            let dynamic = possible & n.dynamic_ok;
            if dynamic != 0 {
                return Some(Options::Dynamic(dynamic));
            }
        }
        let first = hints::first(head, t.order) & mask;
        if first == 0 {
            return None;
        }
        let out = first.trailing_zeros() as u8;
        // The bubble rule: room for one full packet to go straight on, for two to enter the ring.
        let straight_on = |vc: usize| {
            port.is_some_and(|p| {
                p ^ 1 == out as usize
                    && vc == if slot == BYPASS { self.ports[node * P + p].bypass_vc as usize } else { slot }
            })
        };
        if head & Header::HIGH != 0 {
            let ok = n.high_ok[usize::from(!straight_on(t.high))];
            (ok & first != 0).then_some(Options::Fixed(out, t.high as u8))
        } else if t.bubble {
            let ok = n.escape_ok[usize::from(!straight_on(t.escape))];
            (ok & first != 0).then_some(Options::Fixed(out, t.escape as u8))
        } else {
            let upper = usize::from(head & UPPER != 0 || n.dateline & first != 0);
            (n.escape_ok[upper] & first != 0).then_some(Options::Fixed(out, (t.escape + upper) as u8))
        }
    }

    /// The same with what receivers know beyond the senders: the bus to the reception FIFO.
    #[inline]
    fn options(&self, node: usize, port: usize, slot: usize, head: u16, mask: u16) -> Option<Options> {
        let class = usize::from(head & Header::HIGH != 0);
        let n = &self.nodes[node];
        let reception = n.reception_idle[class] & !n.reception_full[class];
        if head & Header::LOCAL != 0 {
            return (reception >> port & 1 != 0).then_some(Options::Local);
        }
        if head & Header::DEPOSIT != 0 && reception >> port & 1 == 0 {
            return None;
        }
        self.options_if(node, Some(port), slot, head, mask)
    }

    /// One tick's arbitration of a node.
    pub(super) fn arbitrate(&mut self, node: usize, now: Time, out: &mut Outbox<Message>) {
        // Directions in which anything at all is offered.
        let offered = self.offered(node);
        let mut asked = 0u16;
        let mut contenders = [0u16; P];
        let mut requests = [Request::default(); P];
        // Directions that some packet could have taken and did not, by receiver.
        let mut wanted = [0u16; P];
        let mut delivered = 0u16;
        for port in 0..P {
            let n = &self.nodes[node];
            let heads = n.heads[port];
            let reception = (n.reception_idle[0] | n.reception_idle[1]) >> port & 1;
            let mask = if n.paths[port] < self.tables.paths { offered } else { 0 } | reception * Header::LOCAL;
            if heads.iter().fold(0, |any, head| any | head) & mask == 0 {
                continue;
            }
            let mut slots = 0u8;
            let mut found = [Options::Local; SLOTS];
            for (slot, &head) in heads.iter().enumerate() {
                if head & mask != 0
                    && let Some(options) = self.options(node, port, slot, head, mask)
                {
                    slots |= 1 << slot;
                    found[slot] = options;
                    wanted[port] |= match options {
                        Options::Local => Header::LOCAL,
                        Options::Dynamic(directions) => directions,
                        Options::Fixed(port, _) => 1 << port,
                    };
                }
            }
            if slots == 0 {
                continue;
            }
            if self.tables.gap && self.nodes[node].stalled >> port & 1 != 0 {
                // The gap: it could ask only now that something is offered, and asks one tick late.
                self.nodes[node].stalled &= !(1 << port);
                continue;
            }
            let slot = self.choose_slot(node, port, slots);
            match found[slot] {
                Options::Local => {
                    delivered |= 1 << port;
                    requests[port].slot = slot as u8;
                }
                options => {
                    let (to, vc) = self.choose_direction(node, options);
                    let head = heads[slot];
                    requests[port] = Request {
                        slot: slot as u8,
                        vc,
                        range: self.fullness(node, port, slot),
                        high: head & Header::HIGH != 0,
                    };
                    contenders[to as usize] |= 1 << port;
                    asked |= 1 << to;
                }
            }
            if slots.count_ones() == 1 {
                wanted[port] = 0;
            }
        }
        let granted = self.grant_all(node, asked, &contenders, &requests, now, out, offered);
        for port in 0..P {
            if (asked != 0 || delivered != 0) && delivered >> port & 1 != 0 {
                self.grant_reception(node, port, requests[port].slot as usize, now, false);
            }
        }
        self.settle(node, now, granted, asked, &contenders, &wanted, delivered);
    }

    #[inline]
    fn offered(&self, node: usize) -> u16 {
        let n = &self.nodes[node];
        n.open & (n.dynamic_ok | n.escape_ok[0] | n.escape_ok[1] | n.high_ok[0])
    }

    /// Phase 2: which of a receiver's slots may request.
    #[inline]
    fn choose_slot(&mut self, node: usize, port: usize, slots: u8) -> usize {
        if slots.is_power_of_two() {
            return slots.trailing_zeros() as usize;
        }
        let t = &self.tables;
        if slots >> t.high & 1 != 0 {
            return t.high;
        }
        if slots >> BYPASS != 0 && self.nodes[node].heads[port][BYPASS] & Header::HIGH != 0 {
            return BYPASS;
        }
        // The bypass asks only if no VC does.
        let slots = slots & !(1 << BYPASS);
        if slots.is_power_of_two() {
            return slots.trailing_zeros() as usize;
        }
        let slq = t.receiver_slq;
        let n = &mut self.nodes[node];
        let ranges = &self.tables.fullness;
        let chunks = &n.chunks[port];
        let longest = n.random.chance(slq);
        pick(slots.into(), &mut n.random, |slot| {
            if longest { ranges[slot][chunks[slot] as usize] } else { 0 }
        })
    }

    /// Phase 1's choice: join the shortest queue, or any.
    #[inline]
    fn choose_direction(&mut self, node: usize, options: Options) -> (u8, u8) {
        let directions = match options {
            Options::Fixed(port, vc) => return (port, vc),
            Options::Dynamic(directions) => directions,
            Options::Local => unreachable!("delivery has no direction"),
        };
        let t = &self.tables;
        if t.dynamic == 1 && directions.is_power_of_two() {
            return (directions.trailing_zeros() as u8, 0);
        }
        let n = &mut self.nodes[node];
        let mut best = 0;
        let mut ties = 0u64; // a bit for each port and VC: up to 10 ports of 4 VCs
        let mut left = directions;
        while left != 0 {
            let port = left.trailing_zeros() as usize;
            left &= left - 1;
            for (vc, &tokens) in n.tokens[port][..t.dynamic].iter().enumerate() {
                if tokens < t.full {
                    continue;
                }
                let range = if t.jsq { t.token_range[tokens as usize] } else { 0 };
                if range > best {
                    (best, ties) = (range, 0);
                }
                if range == best {
                    ties |= 1 << (port * 4 + vc);
                }
            }
        }
        let chosen = pick(ties, &mut n.random, |_| 0);
        ((chosen / 4) as u8, (chosen % 4) as u8)
    }

    #[inline]
    fn fullness(&self, node: usize, port: usize, slot: usize) -> u8 {
        if slot == BYPASS {
            return 0;
        }
        self.tables.fullness[slot][self.nodes[node].chunks[port][slot] as usize]
    }

    /// Phase 3: each sender serves one request. Returns the directions granted.
    #[allow(clippy::too_many_arguments)]
    #[inline]
    fn grant_all(
        &mut self,
        node: usize,
        asked: u16,
        contenders: &[u16; P],
        requests: &[Request; P],
        now: Time,
        out: &mut Outbox<Message>,
        offered: u16,
    ) -> Granted {
        let mut granted = Granted { receivers: 0, losers: 0 };
        // Injected packets. Where packets in the network always come first, those that could only lose are not looked at.
        let always_first = self.tables.in_network == u64::MAX;
        let hopeful = self.nodes[node].injection;
        let useful = if always_first && hopeful & Header::HIGH == 0 { offered & !asked } else { offered };
        let mut injectors = [0u16; P];
        let mut vcs = [0u8; 16];
        let mut injected = 0;
        if hopeful & useful != 0 {
            for fifo in 0..self.fifos {
                let head = self.injection[node].heads[fifo];
                if head & offered == 0 {
                    continue;
                }
                if let Some(options) = self.options_if(node, None, 0, head, offered) {
                    if let Options::Dynamic(directions) = options {
                        granted.losers |= directions;
                    }
                    let (to, vc) = self.choose_direction(node, options);
                    injectors[to as usize] |= 1 << fifo;
                    vcs[fifo] = vc;
                    injected |= 1 << to;
                    granted.losers |= 1 << to;
                }
            }
        }
        let mut left = asked | injected;
        while left != 0 {
            let to = left.trailing_zeros() as usize;
            left &= left - 1;
            let (receivers, fifos) = (contenders[to], injectors[to]);
            let from_network = self.network_first(node, receivers, fifos, requests);
            if from_network {
                let port = self.choose_receiver(node, receivers, requests);
                let request = requests[port];
                granted.receivers |= 1 << port;
                self.grant_link(node, to, request.vc as usize, Some(port), request.slot as usize, now, out);
            } else {
                let highs = self.high_fifos(node, fifos);
                let fifo = pick(
                    u64::from(if highs != 0 { highs } else { fifos }),
                    &mut self.nodes[node].random,
                    |_| 0,
                );
                self.grant_link(node, to, vcs[fifo] as usize, None, fifo, now, out);
            }
        }
        granted
    }

    #[inline]
    fn high_fifos(&self, node: usize, fifos: u16) -> u16 {
        if self.nodes[node].injection & Header::HIGH == 0 {
            return 0;
        }
        let heads = &self.injection[node].heads;
        (0..16).filter(|f| fifos >> f & 1 != 0 && heads[*f] & Header::HIGH != 0).fold(0, |mask, f| mask | 1 << f)
    }

    /// Whether a sender serves a receiver rather than an injection FIFO.
    #[inline]
    fn network_first(&mut self, node: usize, receivers: u16, fifos: u16, requests: &[Request; P]) -> bool {
        if receivers == 0 || fifos == 0 {
            return receivers != 0;
        }
        if bits(receivers).any(|port| requests[port].high) {
            return true;
        }
        // The exception for a lone high-priority packet at injection.
        self.high_fifos(node, fifos) == 0 && self.nodes[node].random.chance(self.tables.in_network)
    }

    /// Which of the receivers that ask for one link is served.
    #[inline]
    fn choose_receiver(&mut self, node: usize, receivers: u16, requests: &[Request; P]) -> usize {
        if receivers.is_power_of_two() {
            return receivers.trailing_zeros() as usize;
        }
        let random = &mut self.nodes[node].random;
        let longest = random.chance(self.tables.sender_slq);
        pick(receivers.into(), random, |port| {
            let request = requests[port];
            u8::from(request.high) * 8 + if longest { request.range } else { 0 }
        })
    }

    /// A packet starts on a link.
    #[allow(clippy::too_many_arguments)]
    #[inline]
    fn grant_link(
        &mut self,
        node: usize,
        to: usize,
        vc: usize,
        from: Option<usize>,
        slot: usize,
        now: Time,
        out: &mut Outbox<Message>,
    ) {
        let entry = if let Some(port) = from { self.take_head(node, port, slot, now) } else { self.inject(node, slot, now) };
        let chunks = entry.header.chunks() as u8;
        let n = &mut self.nodes[node];
        n.open &= !(1 << to);
        n.tokens[to][vc] -= self.tables.cost(vc, chunks);
        let dimension = to / 2;
        let length = self.tables.lengths[dimension];
        let here = u32::from(n.coordinates[dimension]);
        let next = if to % 2 == 0 {
            if here + 1 == length { 0 } else { here + 1 }
        } else if here == 0 {
            length - 1
        } else {
            here - 1
        };
        let header = entry.header.after_hop(to, next as u8, n.dateline >> to & 1 != 0);
        if let Some(port) = from {
            n.paths[port] += 1;
        }
        self.offer(node, to);
        let record = &mut self.ports[node * P + to];
        let start = record.free_at.max(now);
        record.free_at = start + self.tables.wire[chunks as usize];
        match from {
            Some(port) => {
                let left = if slot == BYPASS { self.ports[node * P + port].bypass_vc } else { slot as u8 };
                let record = &mut self.ports[node * P + to];
                record.from_port = port as u8;
                record.due_vc = left;
                record.due_chunks = self.tables.cost(left as usize, chunks);
            }
            None => record.from_port = FROM_INJECTION,
        }
        let record = &mut self.ports[node * P + to];
        record.from_slot = slot as u8;
        record.packets += 1;
        record.sent[self.tables.class(vc)] += u32::from(chunks);
        self.recorder.current.hops += 1;
        self.recorder.current.chunks_by_vc[vc] += u64::from(chunks);
        let (end, neighbour) = (record.free_at, record.neighbour);
        self.calendar.push(end, Event::at(Kind::Sent, node as u32, to, 0, 0, 0));
        let arrive = |node, packet| Event::at(Kind::Arrived, node, to ^ 1, vc, packet, header.0);
        let mut packet = entry.packet;
        if from.is_some() && header.head() & Header::DEPOSIT != 0 {
            // A copy stays here: the packet itself goes on with its own record.
            let meta = *self.arena.get(packet);
            packet = self.arena.insert(meta);
            let port = from.expect("just seen");
            self.copy_to_reception(node, port, entry, now);
        }
        self.send(neighbour, start + self.tables.hop, arrive, packet, out);
    }

    /// Takes the head at a slot of a receiver: from now on it is being transferred.
    #[inline]
    fn take_head(&mut self, node: usize, port: usize, slot: usize, now: Time) -> Entry {
        let p = node * P + port;
        let vc = if slot == BYPASS {
            self.nodes[node].bypass_busy |= 1 << port;
            self.ports[p].bypass_vc as usize
        } else {
            slot
        };
        self.nodes[node].heads[port][slot] = 0;
        let entry = self.rings[self.ring(node, port, vc, self.ports[p].first[vc])];
        let class = self.tables.class(vc);
        self.recorder.totals.waits[class].saturating_record(u64::from((now as u32).wrapping_sub(entry.arrived)));
        entry
    }

    /// Takes the head of an injection FIFO.
    #[inline]
    fn inject(&mut self, node: usize, fifo: usize, now: Time) -> Entry {
        let heads = &mut self.injection[node].heads;
        heads[fifo] = 0;
        self.nodes[node].injection = heads.iter().fold(0, |any, head| any | head);
        let entry = self.injecting[node * self.fifos + fifo];
        self.arena.get_mut(entry.packet).entered = now;
        self.recorder.current.injected += 1;
        self.recorder.under_way += 1;
        entry
    }

    /// A packet starts on the bus to its reception FIFO; it is there whole, trailer checked, when it has passed.
    #[inline]
    fn grant_reception(&mut self, node: usize, port: usize, slot: usize, now: Time, _copy: bool) {
        let entry = self.take_head(node, port, slot, now);
        self.occupy_reception(node, port, entry.header);
        let end = now + self.tables.wire[entry.header.chunks() as usize];
        self.calendar
            .push(end, Event::at(Kind::Received, node as u32, port, slot, entry.packet, entry.header.0));
    }

    /// A broadcast packet goes to the reception FIFO while it goes on.
    fn copy_to_reception(&mut self, node: usize, port: usize, entry: Entry, now: Time) {
        self.occupy_reception(node, port, entry.header);
        let end = now + self.tables.wire[entry.header.chunks() as usize];
        self.calendar.push(end, Event::at(Kind::Copied, node as u32, port, 0, entry.packet, entry.header.0));
    }

    #[inline]
    fn occupy_reception(&mut self, node: usize, port: usize, header: Header) {
        let class = usize::from(header.head() & Header::HIGH != 0);
        self.nodes[node].reception_idle[class] &= !(1 << port);
    }

    /// After the grants: what stands in a bypass goes into its VC; what lost asks again in the next tick, if anything that
    /// it could take is still there.
    #[allow(clippy::too_many_arguments)]
    #[inline]
    fn settle(
        &mut self,
        node: usize,
        now: Time,
        granted: Granted,
        asked: u16,
        contenders: &[u16; P],
        wanted: &[u16; P],
        delivered: u16,
    ) {
        let mut losers = granted.losers;
        for port in 0..P {
            let waiting = self.nodes[node].heads[port][BYPASS];
            if waiting != 0 {
                let vc = self.ports[node * P + port].bypass_vc as usize;
                let entry = self.rings[self.ring(node, port, vc, self.ports[node * P + port].first[vc])];
                self.nodes[node].heads[port][BYPASS] = 0;
                self.nodes[node].heads[port][vc] = waiting;
                self.join(node, port, vc, entry.header, now);
            }
            losers |= wanted[port] & !(if delivered >> port & 1 != 0 { Header::LOCAL } else { 0 });
        }
        // A receiver that asked for a link and lost asks again; `wanted` left it out if it had but one packet to ask for.
        for to in bits(asked) {
            if contenders[to] & !granted.receivers != 0 {
                losers |= 1 << to;
                // It may have had other directions than the one for which it asked.
                losers |= self.other_directions(node, contenders[to] & !granted.receivers);
            }
        }
        if self.tables.gap {
            self.note_stalls(node);
        }
        if losers & (self.offered(node) | Header::LOCAL) != 0 {
            self.calendar.push(now + 1, Event::at(Kind::Retry, node as u32, 0, 0, 0, 0));
        }
    }

    /// All that the heads of these receivers hint at.
    #[cold]
    fn other_directions(&self, node: usize, receivers: u16) -> u16 {
        bits(receivers).flat_map(|port| self.nodes[node].heads[port]).fold(0, |any, head| any | head)
            & Header::HINTS
    }

    /// For the gap: which receivers have packets that nothing is offered to.
    #[cold]
    fn note_stalls(&mut self, node: usize) {
        let offered = self.offered(node);
        for port in 0..P {
            let heads = self.nodes[node].heads[port];
            let waits = heads.iter().any(|&head| head != 0);
            let mask = if self.nodes[node].paths[port] < self.tables.paths { offered } else { 0 };
            let could = heads.iter().enumerate().any(|(slot, &head)| {
                head != 0 && self.options(node, port, slot, head, mask | Header::LOCAL).is_some()
            });
            if waits && !could {
                self.nodes[node].stalled |= 1 << port;
            } else {
                self.nodes[node].stalled &= !(1 << port);
            }
        }
    }
}

/// Outcome of phase 3.
struct Granted {
    /// Receivers that were granted a link.
    receivers: u16,
    /// Directions that injection FIFOs could have taken.
    losers: u16,
}

/// The bits of a mask, lowest first.
#[inline]
pub(super) fn bits(mut mask: u16) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let bit = mask.trailing_zeros() as usize;
            mask &= mask - 1;
            bit
        })
    })
}

/// Of the bits of `mask`, the one with the highest `rank`, ties at random. Draws only if there is a tie.
#[inline]
fn pick(mask: u64, random: &mut Stream, rank: impl Fn(usize) -> u8) -> usize {
    debug_assert!(mask != 0);
    let (mut best, mut ties) = (0, 0u64);
    let mut left = mask;
    while left != 0 {
        let bit = left.trailing_zeros() as usize;
        left &= left - 1;
        let r = rank(bit);
        if r > best {
            (best, ties) = (r, 0);
        }
        if r == best {
            ties |= 1 << bit;
        }
    }
    let count = ties.count_ones();
    if count == 1 {
        return ties.trailing_zeros() as usize;
    }
    for _ in 0..random.below(count.into()) {
        ties &= ties - 1;
    }
    ties.trailing_zeros() as usize
}
