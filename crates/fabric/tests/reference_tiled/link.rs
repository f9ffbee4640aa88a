//! The link control blocks ("Aries Router"): flits are sent in sets with a CRC each. The other end accepts
//! intact sets in order; it rejects a wrong set and everything after it, until the sender, which learns of it
//! a round trip after the set's end, resends the set and everything after it from its buffer, before anything
//! new. Credits travel in any set on the wire, which may be an idle one.

use super::Flit;
use netloom_fabric::config::{LinkClass, TiledConfig};
use netloom_fabric::topology::wiring::Wiring;
use std::collections::VecDeque;

/// Error counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkCounts {
    /// Wrong sets that the other end detected; wrong sets that it did not detect.
    pub wrong_sets: u64,
    pub escaped_sets: u64,
    /// Flits of packets in detected sets.
    pub flits_in_wrong: u64,
    /// Sets without flits whose credits had to be resent.
    pub wrong_idle_sets: u64,
}

impl LinkCounts {
    pub fn add(&mut self, other: &LinkCounts) {
        self.wrong_sets += other.wrong_sets;
        self.escaped_sets += other.escaped_sets;
        self.flits_in_wrong += other.flits_in_wrong;
        self.wrong_idle_sets += other.wrong_idle_sets;
    }
}

/// The report on a set that the sender receives, by its number.
#[derive(Clone, Copy)]
pub enum News {
    Right(u64),
    Wrong(u64),
}

/// The items that get through in a cycle, and when there will be a report.
#[derive(Default)]
pub struct Sent {
    pub flit: Option<Flit>,
    pub credits: Vec<usize>,
    pub news: Option<(u64, News)>,
}

/// A set in the send buffer: its flits so far, their final number, the credits (VCs) that did not get through
/// with it.
struct Set {
    flits: Vec<Flit>,
    slots: usize,
    credits: Vec<usize>,
}

/// The sending end of a link. It knows which set is wrong, and so immediately knows what the other end
/// accepts.
pub struct Link {
    /// Sets that are not acknowledged, the first one's number.
    buffer: VecDeque<Set>,
    first: u64,
    /// The next position to resend: a set's number and a flit in it.
    again: Option<(u64, usize)>,
    /// For the set on the wire: remaining slots, and whether it is wrong.
    left: usize,
    is_wrong: bool,
    /// Flits of the current packet that have not been sent.
    to_go: usize,
    /// The set that the other end waits for, rejecting all others.
    waits_for: Option<u64>,
    /// Without flits: the end of the idle set on the wire.
    idle_until: u64,
    /// Credits (VCs) of this cycle.
    credits: Vec<usize>,
    set_flits: usize,
    buffer_flits: usize,
    /// Cycles of an idle set, and from a set's end to the report on it.
    idle_ticks: u64,
    round_trip: u64,
    /// Probabilities that a flit's share of a set has a wrong bit; that a set's CRC misses it.
    flit_wrong: f64,
    missed: f64,
    random: u64,
    pub counts: LinkCounts,
}

/// Time of a flit on the link at a port, given its lost lanes.
pub fn costs(config: &TiledConfig, wiring: &Wiring, (router, port): (usize, usize), flit: u32) -> u64 {
    let Some(control) = &config.link_control else { return flit.into() };
    let mut left = control.lanes;
    for failure in &config.faults.failures {
        let (Some(at), Some(lanes)) = (failure.port, failure.lanes) else { panic!("lanes only") };
        assert!(failure.at_us == 0.0, "from the start");
        let far = wiring.end(failure.router, at as usize).expect("a link");
        let ends = [(failure.router as usize, at as usize), (far.router as usize, usize::from(far.port))];
        if ends.contains(&(router, port)) {
            left = lanes;
        }
    }
    u64::from(flit * control.lanes / left)
}

impl Link {
    /// `None` without bit errors. `costs` is the time of a flit.
    pub fn new(config: &TiledConfig, class: &LinkClass, costs: u64, seed: u64) -> Option<Self> {
        let control = config.link_control.as_ref().filter(|_| config.faults.bit_error_rate > 0.0)?;
        let bits = f64::from(control.set_bits) / f64::from(control.set_flits);
        Some(Link {
            buffer: VecDeque::new(),
            first: 0,
            again: None,
            left: 0,
            is_wrong: false,
            to_go: 0,
            waits_for: None,
            idle_until: 0,
            credits: vec![],
            set_flits: control.set_flits as usize,
            buffer_flits: control.send_buffer_flits as usize,
            idle_ticks: (u64::from(control.set_flits) * costs).div_ceil(1000),
            round_trip: 2 * u64::from(class.latency_ticks),
            flit_wrong: 1.0 - (1.0 - config.faults.bit_error_rate).powf(bits),
            missed: 0.5f64.powi(control.crc_bits as i32),
            random: seed,
            counts: LinkCounts::default(),
        })
    }

    /// From 0 up to 1 (SplitMix64).
    fn unit(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Whether a set of `slots` flits that is sent now is detected as wrong.
    fn goes_wrong(&mut self, slots: usize) -> bool {
        if self.unit() >= 1.0 - (1.0 - self.flit_wrong).powi(slots as i32) {
            return false;
        }
        let is_missed = self.unit() < self.missed;
        self.counts.escaped_sets += u64::from(is_missed && self.waits_for.is_none());
        !is_missed
    }

    /// Whether there is space in the send buffer.
    pub fn has_room(&self) -> bool {
        self.buffer.iter().map(|set| set.flits.len()).sum::<usize>() < self.buffer_flits
    }

    /// A flit of a packet of `flits` is sent for the first time. Sets are counted from a packet's first flit.
    pub fn send(&mut self, flit: Flit, flits: u32, now: u64) -> Sent {
        if flit.first {
            assert!(self.left == 0, "the packet before is whole");
            self.to_go = flits as usize;
        }
        let mut credits = vec![];
        if self.left == 0 {
            let slots = self.to_go.min(self.set_flits);
            self.buffer.push_back(Set { flits: vec![], slots, credits: vec![] });
            self.left = slots;
            self.is_wrong = self.goes_wrong(slots);
        }
        let set = self.buffer.back_mut().expect("a set on the wire");
        set.flits.push(flit);
        self.to_go -= 1;
        let passes = !self.is_wrong && self.waits_for.is_none();
        if passes {
            credits.append(&mut set.credits);
        }
        let number = self.first + self.buffer.len() as u64 - 1;
        let news = self.slot_ends(number, now);
        Sent { flit: passes.then_some(flit), credits, news }
    }

    /// A slot of a set has been sent. After the last one the other end knows whether the set is intact.
    fn slot_ends(&mut self, number: u64, now: u64) -> Option<(u64, News)> {
        self.left -= 1;
        if self.left > 0 || self.waits_for.is_some() {
            return None;
        }
        let at = now + 1 + self.round_trip;
        if self.is_wrong {
            let flits = self.buffer[(number - self.first) as usize].flits.len() as u64;
            self.counts.wrong_sets += u64::from(flits > 0);
            self.counts.flits_in_wrong += flits;
            self.waits_for = Some(number);
            return Some((at, News::Wrong(number)));
        }
        Some((at, News::Right(number)))
    }

    /// The items resent in this cycle, if any.
    pub fn send_again(&mut self, now: u64) -> Option<Sent> {
        let (number, slot) = self.again?;
        let at = (number - self.first) as usize;
        let slots = self.buffer[at].slots;
        if slot == 0 {
            if self.waits_for == Some(number) {
                self.waits_for = None;
            }
            self.left = slots;
            self.is_wrong = self.goes_wrong(slots);
        }
        let passes = !self.is_wrong && self.waits_for.is_none();
        let set = &mut self.buffer[at];
        let flit = set.flits.get(slot).copied();
        let credits = if passes { std::mem::take(&mut set.credits) } else { vec![] };
        // The last set may have flits that have never been sent.
        let is_behind = slot + 1 == set.flits.len().max(1);
        let news = self.slot_ends(number, now);
        let next = if is_behind { (number + 1, 0) } else { (number, slot + 1) };
        self.again = (next.0 < self.first + self.buffer.len() as u64).then_some(next);
        Some(Sent { flit: flit.filter(|_| passes), credits, news })
    }

    /// A credit of a VC is to be sent in this cycle.
    pub fn take_credit(&mut self, vc: usize) {
        self.credits.push(vc);
    }

    /// Sends the credits of this cycle with the current set (a flit, if it `is_busy`): those that get
    /// through, and when there will be a report on an idle set.
    pub fn send_credits(&mut self, now: u64, is_busy: bool) -> Sent {
        if self.credits.is_empty() {
            return Sent::default();
        }
        let mut credits = std::mem::take(&mut self.credits);
        let mut news = None;
        let is_new = self.again.is_none();
        let passes = if is_new && self.left > 0 {
            !self.is_wrong && self.waits_for.is_none()
        } else if is_new && self.waits_for.is_none() {
            // With the last flit of a set, between two sets of a packet, or with an idle set.
            is_busy || self.to_go > 0 || now < self.idle_until || {
                self.idle_until = now + self.idle_ticks;
                let is_wrong = self.goes_wrong(self.set_flits);
                if is_wrong {
                    let number = self.first + self.buffer.len() as u64;
                    self.counts.wrong_idle_sets += 1;
                    self.waits_for = Some(number);
                    news = Some((self.idle_until + self.round_trip, News::Wrong(number)));
                }
                !is_wrong
            }
        } else {
            false
        };
        if passes {
            return Sent { credits, ..Sent::default() };
        }
        // With the last set that will be resent, or after all of them.
        let last = self.first + self.buffer.len() as u64;
        let is_to_come = |set: &Set, again: (u64, usize)| set.flits.len() < set.slots || again.0 + 1 < last;
        match self.buffer.back_mut() {
            Some(set) if news.is_none() && self.again.is_none_or(|again| is_to_come(set, again)) => {
                set.credits.append(&mut credits);
            }
            _ => self.buffer.push_back(Set { flits: vec![], slots: 1, credits }),
        }
        Sent { news, ..Sent::default() }
    }

    /// A report on a set.
    pub fn hear(&mut self, news: News) {
        match news {
            News::Right(number) => {
                while self.first <= number {
                    self.buffer.pop_front();
                    self.first += 1;
                }
            }
            News::Wrong(number) => self.again = Some((number, 0)),
        }
    }
}
