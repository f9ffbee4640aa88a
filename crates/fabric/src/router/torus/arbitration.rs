//! The three phases of arbitration (section 2), once a tick and node: each packet's direction and VC; each receiver's
//! request; each sender's grant.

use super::block::{Message, TorusBlock};
use super::errors::Kept;
use super::state::*;
use crate::host::Host;
use crate::packet::Header;
use crate::routing::hints;
use netloom_engine::{Outbox, Stream, Time};

/// Among a head's ways: the one direction is not taken on a dynamic VC.
const FIXED: u16 = 1 << 15;

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
    /// The directions in which the head at `slot` of a receiver (or, without one, of an injection FIFO) may move, of
    /// those in `mask`, if tokens allow; [`FIXED`] with a single one that is not on a dynamic VC. Phase 1 up to the choice.
    #[inline(always)]
    pub(super) fn ways(&self, node: usize, port: Option<usize>, slot: usize, head: u16, mask: u16) -> u16 {
        let n = &self.nodes[node];
        let possible = head & mask & Header::HINTS;
        if head & (Header::STATIC | Header::HIGH) == 0 {
            let dynamic = possible & n.dynamic_ok;
            if dynamic != 0 {
                return dynamic;
            }
        }
        if possible == 0 { 0 } else { self.fixed_way(node, port, slot, head, mask) }
    }

    /// The one direction of an escaping, static or high-priority packet, if its tokens are there.
    fn fixed_way(&self, node: usize, port: Option<usize>, slot: usize, head: u16, mask: u16) -> u16 {
        let t = &self.tables;
        let n = &self.nodes[node];
        let first = hints::first(head, t.order) & mask;
        if first == 0 {
            return 0;
        }
        // The bubble rule: room for one full packet to go straight on, for two to enter the ring.
        let enters = |vc: usize| {
            usize::from(!port.is_some_and(|p| {
                first == 1 << (p ^ 1)
                    && vc == if slot == BYPASS { self.ports[node][p].bypass_vc as usize } else { slot }
            }))
        };
        let ok = if head & Header::HIGH != 0 {
            n.high_ok[enters(t.high)]
        } else if t.bubble {
            n.escape_ok[enters(t.escape)]
        } else {
            n.escape_ok[usize::from(head & UPPER != 0 || n.dateline & first != 0)]
        };
        if ok & first != 0 { first | FIXED } else { 0 }
    }

    /// The VC that such a packet takes through its one direction.
    #[inline]
    fn fixed_vc(&self, node: usize, head: u16, direction: u16) -> usize {
        let t = &self.tables;
        if head & Header::HIGH != 0 {
            t.high
        } else if t.bubble {
            t.escape
        } else {
            t.escape + usize::from(head & UPPER != 0 || self.nodes[node].dateline & direction != 0)
        }
    }

    /// [`Self::ways`] with what receivers know beyond the senders: the bus to the reception FIFO.
    #[inline(always)]
    fn receiver_ways(&self, node: usize, port: usize, slot: usize, head: u16, mask: u16) -> u16 {
        if head & (Header::LOCAL | Header::DEPOSIT) != 0 {
            let class = usize::from(head & Header::HIGH != 0);
            let n = &self.nodes[node];
            if (n.reception_idle[class] & !n.reception_full[class]) >> port & 1 == 0 {
                return 0;
            }
            if head & Header::LOCAL != 0 {
                return Header::LOCAL;
            }
        }
        self.ways(node, Some(port), slot, head, mask)
    }

    /// One tick's arbitration of a node.
    #[inline]
    pub(super) fn arbitrate(&mut self, node: usize, now: Time, out: &mut Outbox<Message>) {
        let n = &self.nodes[node];
        // Directions in which anything at all is offered, and receivers with a head that they or delivery could serve.
        let offered = n.open & n.any_ok;
        let splat = lanes(offered | Header::LOCAL);
        let mut receivers = 0u16;
        for port in 0..P {
            let [low, high] = halves(&n.heads[port]);
            receivers |= u16::from((low | high) & splat != 0) << port;
        }
        let finding = if self.tables.gap { self.finding(node) } else { 0 };
        if receivers | (n.injection & offered) != 0 {
            self.serve(node, receivers, offered, now, out);
        }
        if self.tables.gap {
            self.note_stalls(node, finding, now);
        }
        if self.nodes[node].bypassing != 0 {
            self.end_bypass(node, now);
        }
    }

    /// The three phases, for receivers and injection FIFOs that may have something to ask for.
    fn serve(&mut self, node: usize, receivers: u16, offered: u16, now: Time, out: &mut Outbox<Message>) {
        let mut asked = 0u16;
        let mut contenders = [0u16; P];
        let mut requests = [Request::default(); P];
        // What packets could have taken and did not: if any of it is left, they ask again in the next tick.
        let mut missed = 0u16;
        // What each receiver's packets may take.
        let mut wanted = [0u16; P];
        for port in bits(receivers) {
            let n = &self.nodes[node];
            let heads = n.heads[port];
            let mask = if n.paths[port] < self.tables.paths { offered } else { 0 };
            let mut slots = 0u8;
            let mut found = [0u16; SLOTS];
            for slot in occupied(&heads, mask | Header::LOCAL) {
                let ways = self.receiver_ways(node, port, slot, heads[slot], mask);
                if ways != 0 {
                    slots |= 1 << slot;
                    found[slot] = ways;
                    wanted[port] |= ways & !FIXED;
                }
            }
            if slots == 0 {
                continue;
            }
            if self.tables.gap && self.misses(node, port, now) {
                missed |= wanted[port];
                continue;
            }
            let slot = self.choose_slot(node, port, slots);
            if !slots.is_power_of_two() {
                missed |= wanted[port];
            }
            if found[slot] == Header::LOCAL {
                self.grant_reception(node, port, slot, now);
                continue;
            }
            let (to, vc) = self.choose_direction(node, found[slot], heads[slot]);
            requests[port] = Request {
                slot: slot as u8,
                vc,
                range: self.fullness(node, port, slot),
                high: heads[slot] & Header::HIGH != 0,
            };
            contenders[to as usize] |= 1 << port;
            asked |= 1 << to;
        }
        let mut injectors = [0u16; P];
        let mut vcs = [0u8; 16];
        let injected = self.ask_to_inject(node, asked, offered, &mut injectors, &mut vcs, &mut missed);
        // Phase 3: each sender serves one request.
        for to in bits(asked | injected) {
            let (receivers, fifos) = (contenders[to], injectors[to]);
            if self.network_first(node, receivers, fifos, &requests) {
                let port = self.choose_receiver(node, receivers, &requests);
                let request = requests[port];
                bits(receivers & !(1 << port)).for_each(|loser| missed |= wanted[loser]);
                self.grant_link(node, to, request.vc as usize, Some(port), request.slot as usize, now, out);
            } else {
                bits(receivers).for_each(|loser| missed |= wanted[loser]);
                let highs = self.high_fifos(node, fifos);
                let fifos = if highs != 0 { highs } else { fifos };
                let fifo = pick(fifos.into(), &mut self.nodes[node].random, |_| 0);
                self.grant_link(node, to, vcs[fifo] as usize, None, fifo, now, out);
            }
        }
        let n = &self.nodes[node];
        if missed & (n.open & n.any_ok | Header::LOCAL) != 0 {
            self.calendar.push(now + 1, Event::at(Kind::Retry, node as u32, 0, 0, 0, 0));
        }
    }

    /// Phase 1 of the injection FIFOs: each asks by itself. Returns the directions asked for.
    #[inline]
    fn ask_to_inject(
        &mut self,
        node: usize,
        asked: u16,
        offered: u16,
        injectors: &mut [u16; P],
        vcs: &mut [u8; 16],
        missed: &mut u16,
    ) -> u16 {
        let hopeful = self.nodes[node].injection;
        // Where packets in the network always come first, those that could only lose need not be looked at.
        let always_first = self.tables.in_network == u64::MAX && hopeful & Header::HIGH == 0;
        if hopeful & (if always_first { offered & !asked } else { offered }) == 0 {
            return 0;
        }
        let mut injected = 0;
        let mut count = 0;
        #[allow(clippy::needless_range_loop)]
        for fifo in 0..self.fifos {
            let head = self.injection[node].heads[fifo];
            let ways = if head & offered == 0 { 0 } else { self.ways(node, None, 0, head, offered) };
            if ways == 0 {
                continue;
            }
            count += 1;
            let (to, vc) = self.choose_direction(node, ways, head);
            injectors[to as usize] |= 1 << fifo;
            vcs[fifo] = vc;
            injected |= 1 << to;
            *missed |= ways & !FIXED;
        }
        if count == 1 && injected & asked == 0 {
            // The only one, and sure to be served: nobody is left.
            *missed &= !injected;
        }
        injected
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
        let n = &mut self.nodes[node];
        let chunks = &n.chunks[port];
        let longest = n.random.chance(t.receiver_slq);
        pick(
            slots.into(),
            &mut n.random,
            |slot| {
                if longest { t.fullness[slot][chunks[slot] as usize] } else { 0 }
            },
        )
    }

    /// Phase 1's choice: join the shortest queue, or any.
    #[inline]
    fn choose_direction(&mut self, node: usize, ways: u16, head: u16) -> (u8, u8) {
        if ways & FIXED != 0 {
            let direction = ways & !FIXED;
            return (direction.trailing_zeros() as u8, self.fixed_vc(node, head, direction) as u8);
        }
        let t = &self.tables;
        if t.dynamic == 1 && ways.is_power_of_two() {
            return (ways.trailing_zeros() as u8, 0);
        }
        let n = &mut self.nodes[node];
        let mut best = 0;
        let mut ties = 0u64; // a bit for each port and VC: up to 10 ports of 4 VCs
        for port in bits(ways) {
            for (vc, &tokens) in n.tokens[port].iter().enumerate().take(t.dynamic) {
                if tokens < t.full {
                    continue;
                }
                let range = if t.jsq { t.token_range[tokens as usize] } else { 0 };
                if range > best {
                    (best, ties) = (range, 0);
                }
                ties |= u64::from(range == best) << (port * 4 + vc);
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

    #[inline]
    fn high_fifos(&self, node: usize, fifos: u16) -> u16 {
        if self.nodes[node].injection & Header::HIGH == 0 {
            return 0;
        }
        let heads = &self.injection[node].heads;
        bits(fifos).filter(|&f| heads[f] & Header::HIGH != 0).fold(0, |mask, f| mask | 1 << f)
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
        let entry = match from {
            Some(port) => self.take_head(node, port, slot, now),
            None => self.inject(node, slot, now),
        };
        let t = &self.tables;
        let n = &mut self.nodes[node];
        let ports = &mut self.ports[node];
        let chunks = entry.header.chunks() as u8;
        n.open &= !(1 << to);
        n.tokens[to][vc] -= t.cost(vc, chunks);
        n.offer(t, to);
        let next = t.step(n.coordinates[to / 2], to);
        let header = entry.header.after_hop(to, next, n.dateline >> to & 1 != 0);
        match from {
            Some(port) => {
                n.paths[port] += 1;
                let left = if slot == BYPASS { ports[port].bypass_vc } else { slot as u8 };
                ports[to].from_port = port as u8;
                ports[to].due_vc = left;
                ports[to].due_chunks = t.cost(left as usize, chunks);
            }
            None => ports[to].from_port = FROM_INJECTION,
        }
        let record = &mut ports[to];
        let start = record.free_at.max(now);
        let end = start + t.wire[chunks as usize];
        record.free_at = end;
        record.from_slot = slot as u8;
        record.packets += 1;
        record.sent[t.class(vc)] += u32::from(chunks);
        let neighbour = record.neighbour;
        let arrival = start + t.hop;
        self.recorder.current.hops += 1;
        self.recorder.current.chunks_by_vc[vc] += u64::from(chunks);
        self.calendar.push(end, Event::at(Kind::Sent, node as u32, to, 0, 0, 0));
        let mut packet = entry.packet;
        if let Some(port) = from
            && header.head() & Header::DEPOSIT != 0
        {
            // A copy stays here: the packet itself goes on with its own record.
            let meta = *self.arena.get(packet);
            packet = self.arena.insert(meta);
            self.to_reception(Kind::Copied, node, port, 0, entry, now);
        }
        if self.errors.is_some() {
            self.grant_unsure(node, to, Kept { header, packet, vc: vc as u8 }, start, out);
            return;
        }
        let arrive = |node, packet| Event::at(Kind::Arrived, node, to ^ 1, vc, packet, header.0);
        self.send(neighbour, arrival, arrive, packet, out);
    }

    /// Takes the head at a slot of a receiver: from now on it is being transferred.
    #[inline]
    fn take_head(&mut self, node: usize, port: usize, slot: usize, now: Time) -> Entry {
        let n = &mut self.nodes[node];
        n.heads[port][slot] = 0;
        let record = &self.ports[node][port];
        if slot == BYPASS {
            n.bypass_busy |= 1 << port;
            n.bypassing &= !(1 << port);
            let vc = record.bypass_vc as usize;
            return *self.entry(node, port, vc, record.first[vc]);
        }
        let entry = *self.entry(node, port, slot, record.first[slot]);
        self.recorder.waited(self.tables.class(slot), (now as u32).wrapping_sub(entry.arrived));
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

    /// A packet goes to its reception FIFO.
    #[inline]
    fn grant_reception(&mut self, node: usize, port: usize, slot: usize, now: Time) {
        let entry = self.take_head(node, port, slot, now);
        self.to_reception(Kind::Received, node, port, slot, entry, now);
    }

    /// A packet, or its copy, starts on the bus to the reception FIFO; it is there whole, trailer checked, when it has
    /// passed.
    #[allow(clippy::wrong_self_convention)]
    #[inline]
    fn to_reception(&mut self, kind: Kind, node: usize, port: usize, slot: usize, entry: Entry, now: Time) {
        let class = usize::from(entry.header.head() & Header::HIGH != 0);
        self.nodes[node].reception_idle[class] &= !(1 << port);
        let end = now + self.tables.wire[entry.header.chunks() as usize];
        self.calendar.push(end, Event::at(kind, node as u32, port, slot, entry.packet, entry.header.0));
    }

    /// What stands in a bypass after the grants goes into its VC.
    #[inline]
    fn end_bypass(&mut self, node: usize, now: Time) {
        for port in bits(std::mem::take(&mut self.nodes[node].bypassing)) {
            let record = &self.ports[node][port];
            let vc = record.bypass_vc as usize;
            let header = self.entry(node, port, vc, record.first[vc]).header;
            let heads = &mut self.nodes[node].heads[port];
            heads[vc] = std::mem::take(&mut heads[BYPASS]);
            self.join(node, port, vc, header, now);
        }
    }

    /// The gap in the receivers' arbitration: while nothing is offered to its heads, a receiver asks in every second tick
    /// only. Whether this tick is one of the others.
    #[cold]
    fn misses(&self, node: usize, port: usize, now: Time) -> bool {
        let n = &self.nodes[node];
        n.stalled >> port & 1 != 0 && (n.stalled_odd >> port & 1 != 0) == now.is_multiple_of(2)
    }

    /// For the gap: the receivers for which something is offered.
    #[cold]
    fn finding(&self, node: usize) -> u16 {
        let n = &self.nodes[node];
        let offered = n.open & n.any_ok;
        (0..P).fold(0, |mask, port| {
            let open = if n.paths[port] < self.tables.paths { offered } else { 0 };
            let finds = (0..SLOTS).any(|s| self.receiver_ways(node, port, s, n.heads[port][s], open) != 0);
            mask | u16::from(finds) << port
        })
    }

    /// For the gap: after a tick's grants, notes which receivers find nothing, and whether they look in the odd or in the even
    /// ticks. `finding` are those for which something was offered before the grants.
    #[cold]
    fn note_stalls(&mut self, node: usize, finding: u16, now: Time) {
        let still = self.finding(node);
        for port in 0..P {
            let bit = 1u16 << port;
            if finding & bit != 0 && !self.misses(node, port, now) {
                self.nodes[node].stalled &= !bit;
            }
            let n = &mut self.nodes[node];
            let path = n.paths[port] < self.tables.paths;
            // It can ask if a head is free and a path idle, or a head is at its destination.
            if !n.heads[port].iter().any(|&head| head != 0 && (path || head & Header::LOCAL != 0)) {
                n.stalled &= !bit;
            } else if still & bit == 0 && n.stalled & bit == 0 {
                n.stalled |= bit;
                // The first tick in which it finds nothing: this one, unless what it found was taken in it.
                let since = now + u64::from(finding & bit != 0);
                n.stalled_odd = n.stalled_odd & !bit | ((since % 2) as u16 * bit);
            }
        }
    }
}

/// A mask in each of four lanes.
#[inline]
fn lanes(mask: u16) -> u64 {
    u64::from(mask) * 0x0001_0001_0001_0001
}

/// A receiver's heads as two words of four lanes.
#[inline]
fn halves(heads: &[u16; SLOTS]) -> [u64; 2] {
    let word = |i: usize| (0..4).fold(0, |word, lane| word | u64::from(heads[i + lane]) << (16 * lane));
    [word(0), word(4)]
}

/// Slots whose heads have a bit of `mask`.
#[inline]
fn occupied(heads: &[u16; SLOTS], mask: u16) -> impl Iterator<Item = usize> + use<> {
    bits((0..SLOTS).fold(0u16, |slots, s| slots | u16::from(heads[s] & mask != 0) << s))
}

/// The bits of a mask, lowest first.
#[inline]
fn bits(mut mask: u16) -> impl Iterator<Item = usize> {
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
