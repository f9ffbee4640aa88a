//! Message times, and the causes of a rank's waiting: its partner, which has not sent yet; the wire, with the
//! time of an otherwise empty machine; or queues, for any time in addition.
//!
//! The times on an empty machine are not computed but measured, on the same machine and with the same
//! protocols: ranks send messages of several lengths to a near and to a far rank, one at a time
//! ([`Unloaded`]).

use crate::transport::{Envelope, Kind};
use netloom_engine::{SharedState, decode, encode};
use netloom_node::program::lock;
use netloom_node::time::Microticks;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// The parts of protocols that are in flight between ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Part {
    /// A message with its data.
    Eager,
    /// A control message of the protocol.
    Control,
    /// Data by rendezvous.
    Bulk,
}

impl Part {
    /// The part that a message belongs to, and the length of its data, bytes.
    pub fn of(envelope: &Envelope) -> (Self, u64) {
        match envelope.kind {
            Kind::Eager => (Part::Eager, envelope.bytes),
            Kind::Data => (Part::Bulk, envelope.bytes),
            Kind::RequestToSend | Kind::ClearToSend | Kind::Finished => (Part::Control, 0),
        }
    }
}

/// What has arrived from another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flight {
    /// A packet of a sender, or data that this task read itself.
    pub part: Part,
    /// Its length, bytes.
    pub bytes: u64,
    /// The other node.
    pub node: u32,
    /// When the sender's interface made the packet, or this task asked for the data.
    pub sent: Microticks,
    /// When this task found that it is there.
    pub found: Microticks,
}

/// A transfer between two ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passage {
    /// Its part.
    pub part: Part,
    /// Its data, bytes.
    pub bytes: u64,
    /// The sending rank.
    pub from: u32,
    /// The receiving rank.
    pub to: u32,
}

/// Minimum hops between the nodes of two ranks.
pub type Hops = Arc<dyn Fn(u32, u32) -> u32 + Send + Sync>;

/// Transfer times on an otherwise empty machine.
#[derive(Default)]
pub struct Unloaded {
    /// By part and hops: bytes and times, in ascending order. At most two distances per part.
    curves: BTreeMap<(Part, u32), Vec<(u64, Microticks)>>,
}

impl Unloaded {
    /// From transfers that were observed one at a time. Among equal transfers the shortest time counts: the
    /// first one may include set-up.
    pub fn new(observed: &[(Passage, Microticks)], hops: &Hops) -> Self {
        let mut least: BTreeMap<(Part, u32, u64), Microticks> = BTreeMap::new();
        for &(passage, took) in observed {
            let key = (passage.part, hops(passage.from, passage.to), passage.bytes);
            let time = least.entry(key).or_insert(took);
            *time = took.min(*time);
        }
        let mut curves: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for ((part, hops, bytes), took) in least {
            curves.entry((part, hops)).or_default().push((bytes, took));
        }
        Unloaded { curves }
    }

    /// The time of a transfer over this number of hops, by linear interpolation and extrapolation of the
    /// observed ones. `None` if there are no similar ones.
    pub fn time(&self, part: Part, bytes: u64, hops: u32) -> Option<Microticks> {
        let mut of = self.curves.range((part, 0)..=(part, u32::MAX)).map(|(key, curve)| (key.1, curve));
        let (near, curve) = of.next()?;
        let short = at(curve, bytes);
        let Some((far, curve)) = of.next_back() else { return Some(Microticks::of_f64(short)) };
        let long = at(curve, bytes);
        let share = (f64::from(hops) - f64::from(near)) / f64::from(far - near);
        Some(Microticks::of_f64((short + (long - short) * share).max(0.0)))
    }
}

/// The time of this number of bytes on a curve, microticks.
fn at(curve: &[(u64, Microticks)], bytes: u64) -> f64 {
    let point = |place: usize| (curve[place].0 as f64, curve[place].1.0 as f64);
    let behind = curve.partition_point(|&(b, _)| b < bytes).clamp(1, curve.len().max(2) - 1);
    let ((b0, t0), (b1, t1)) = (point(behind - 1), point(behind.min(curve.len() - 1)));
    if b1 > b0 { t0 + (t1 - t0) * (bytes as f64 - b0) / (b1 - b0) } else { t0 }
}

/// Identifies a transfer in flight from a rank: receiver, kind, and sequence or request.
type Key = (u32, Kind, u32);

/// Transfers that have ended at a rank, and their times.
type Observed = Mutex<Vec<(Passage, Microticks)>>;

/// State shared by the ranks of a run on message times.
pub struct Transit {
    hops: Hops,
    unloaded: Unloaded,
    /// By sender: start times of transfers in flight.
    sent: Box<[Mutex<HashMap<Key, Microticks>>]>,
    /// For each collective operation by hardware, when the last rank entered it.
    entered: Mutex<Vec<Microticks>>,
    /// All transfers, by receiving rank, if they are to be recorded.
    observed: Option<Box<[Observed]>>,
    /// What other processes have not heard of, if there are several.
    unshared: OnceLock<Mutex<Vec<Change>>>,
    /// The ranks of this process.
    own: Box<[AtomicBool]>,
}

/// What happens in one process and concerns others.
#[derive(Debug, Serialize, Deserialize)]
enum Change {
    /// A rank has sent something.
    Sent(u32, Key, Microticks),
    /// A rank has entered the collective operation with this number.
    Entered(usize, Microticks),
}

impl fmt::Debug for Transit {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Transit").field("ranks", &self.sent.len()).finish_non_exhaustive()
    }
}

impl SharedState for Transit {
    fn take(&self) -> Vec<u8> {
        encode(&self.unshared.get().map(|unshared| std::mem::take(&mut *lock(unshared))).unwrap_or_default())
    }

    fn apply(&self, changes: &[u8]) {
        for change in decode::<Vec<Change>>(changes) {
            match change {
                Change::Sent(from, key, at) => self.record_sent(from, key, at),
                Change::Entered(number, at) => self.record_entered(number, at),
            }
        }
    }
}

fn key(to: u32, envelope: &Envelope) -> Key {
    let number = match envelope.kind {
        Kind::Eager | Kind::RequestToSend => envelope.sequence,
        Kind::ClearToSend | Kind::Data | Kind::Finished => envelope.request,
    };
    (to, envelope.kind, number)
}

impl Transit {
    /// For this number of ranks.
    pub fn new(ranks: u32, hops: Hops, unloaded: Unloaded) -> Self {
        let sent = (0..ranks).map(|_| Mutex::default()).collect();
        let own = (0..ranks).map(|_| AtomicBool::new(false)).collect();
        Transit {
            hops,
            unloaded,
            sent,
            entered: Mutex::default(),
            observed: None,
            unshared: OnceLock::new(),
            own,
        }
    }

    /// From now on other processes are to hear of the ranks of this one.
    pub fn share(&self) {
        self.unshared.get_or_init(Mutex::default);
    }

    /// Whether there are several processes.
    pub fn is_shared(&self) -> bool {
        self.unshared.get().is_some()
    }

    /// A rank is one of this process.
    pub fn add_own_rank(&self, rank: u32) {
        self.own[rank as usize].store(true, Ordering::Relaxed);
    }

    /// Whether a rank is one of this process.
    pub fn is_own_rank(&self, rank: u32) -> bool {
        self.own[rank as usize].load(Ordering::Relaxed)
    }

    fn note(&self, change: impl FnOnce() -> Change) {
        if let Some(unshared) = self.unshared.get() {
            lock(unshared).push(change());
        }
    }

    /// The same, recording all transfers.
    #[must_use]
    pub fn observing(self) -> Self {
        let observed = self.sent.iter().map(|_| Mutex::default()).collect();
        Transit { observed: Some(observed), ..self }
    }

    /// A rank enters the collective operation with this number.
    pub(crate) fn enters(&self, number: usize, now: Microticks) {
        self.note(|| Change::Entered(number, now));
        self.record_entered(number, now);
    }

    fn record_entered(&self, number: usize, now: Microticks) {
        let mut entered = lock(&self.entered);
        if entered.len() <= number {
            entered.resize(number + 1, Microticks::ZERO);
        }
        entered[number] = entered[number].max(now);
    }

    /// When the last rank entered the collective operation with this number, which has ended.
    pub(crate) fn last_to_enter(&self, number: usize) -> Microticks {
        lock(&self.entered).get(number).copied().unwrap_or_default()
    }

    /// A rank sends a message now.
    pub(crate) fn sends(&self, from: u32, to: u32, envelope: &Envelope, now: Microticks) {
        self.note(|| Change::Sent(from, key(to, envelope), now));
        self.record_sent(from, key(to, envelope), now);
    }

    /// The receiver's process takes note.
    fn record_sent(&self, from: u32, key: Key, now: Microticks) {
        if !self.is_shared() || self.is_own_rank(key.0) {
            lock(&self.sent[from as usize]).insert(key, now);
        }
    }

    /// A message has arrived: returns when it was sent, if it was in flight.
    pub(crate) fn arrives(&self, from: u32, to: u32, envelope: &Envelope) -> Option<Microticks> {
        lock(&self.sent[from as usize]).remove(&key(to, envelope))
    }

    /// A transfer lasted from one time to another, of which its receiver waited for a part. Returns the
    /// wire's share of that part, and the queues'.
    pub(crate) fn passed(
        &self,
        passage: Passage,
        (sent, now): (Microticks, Microticks),
        waited: Microticks,
    ) -> (Microticks, Microticks) {
        let took = now.saturating_sub(sent);
        if let Some(observed) = &self.observed {
            lock(&observed[passage.to as usize]).push((passage, took));
        }
        if waited.is_zero() {
            return (waited, waited);
        }
        let hops = (self.hops)(passage.from, passage.to);
        // Without measurements all is attributed to the wire.
        let alone = self.unloaded.time(passage.part, passage.bytes, hops).unwrap_or(took).min(took);
        let share = if took.is_zero() { 1.0 } else { alone.0 as f64 / took.0 as f64 };
        let wire = Microticks::of_f64(waited.0 as f64 * share);
        (wire, waited.saturating_sub(wire))
    }

    /// The recorded transfers.
    pub fn observed(&self) -> Vec<(Passage, Microticks)> {
        self.observed.iter().flatten().flat_map(|of_rank| lock(of_rank).clone()).collect()
    }

    /// Puts the transfers of all processes in place of those that this one has recorded.
    pub fn observe(&self, all: Vec<(Passage, Microticks)>) {
        let Some(observed) = &self.observed else { return };
        observed.iter().for_each(|of_rank| lock(of_rank).clear());
        all.into_iter().for_each(|of| lock(&observed[of.0.to as usize]).push(of));
    }

    /// The recorded transfers as times on an empty machine.
    pub fn unloaded(&self) -> Unloaded {
        Unloaded::new(&self.observed(), &self.hops)
    }

    /// Minimum hops between the nodes of two ranks.
    pub fn hops(&self) -> &Hops {
        &self.hops
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_lie_on_lines_through_what_was_seen() {
        let seen = |part, bytes, to, took| (Passage { part, bytes, from: 0, to }, Microticks(took));
        let observed = [
            seen(Part::Eager, 0, 1, 900),
            seen(Part::Eager, 0, 1, 100),
            seen(Part::Eager, 100, 1, 200),
            seen(Part::Eager, 0, 5, 300),
            seen(Part::Eager, 100, 5, 400),
            seen(Part::Control, 0, 1, 50),
        ];
        let unloaded = Unloaded::new(&observed, &(Arc::new(|a: u32, b: u32| a.abs_diff(b)) as Hops));
        let time = |part, bytes, hops| unloaded.time(part, bytes, hops).map(|t| t.0);
        assert_eq!(time(Part::Eager, 0, 1), Some(100));
        assert_eq!(time(Part::Eager, 50, 3), Some(250));
        // Beyond both lengths and distances.
        assert_eq!(time(Part::Eager, 200, 7), Some(600));
        assert_eq!(time(Part::Control, 0, 9), Some(50));
        assert_eq!(time(Part::Bulk, 0, 1), None);
    }

    #[test]
    fn what_takes_longer_than_alone_is_queueing() {
        let observed = [(Passage { part: Part::Eager, bytes: 8, from: 0, to: 1 }, Microticks(100))];
        let hops = || Arc::new(|_: u32, _: u32| 1u32) as Hops;
        let transit = Transit::new(2, hops(), Unloaded::new(&observed, &hops()));
        let passage = Passage { part: Part::Eager, bytes: 8, from: 0, to: 1 };
        let passed = |took: u64, waited: u64| {
            transit.passed(passage, (Microticks(50), Microticks(50 + took)), Microticks(waited))
        };
        assert_eq!(passed(100, 100), (Microticks(100), Microticks(0)));
        assert_eq!(passed(400, 400), (Microticks(100), Microticks(300)));
        // The wait has the same shares as the whole time in flight.
        assert_eq!(passed(400, 200), (Microticks(50), Microticks(150)));
        assert_eq!(passed(80, 80), (Microticks(80), Microticks(0)));
    }
}
