//! Messages of 8 to 64 KiB whose receiver fetches the data by one copy of the kernel, where this is faster than
//! packets. Either way a receiver takes the data as soon as it hears of the message, whether a receive waits
//! for it or not, so what a program may rely on is the same.

use super::ENDPOINTS;
use super::copies::Copies;
use netloom_mpi::transport::Process;
use netloom_mpi::ways::{Way, Ways};
use std::cell::Cell;
use std::time::Instant;

/// Messages of a batch after which others no longer join it.
const BATCH_MAX: u32 = 16;

/// What is known of the ways of messages.
#[derive(Debug)]
pub struct Fetched {
    is_tried: bool,
    /// As those of puts.
    ways: [Ways; ENDPOINTS],
    batch: Cell<Option<Batch>>,
}

/// Messages whose time is to be noted: each began before all before it had arrived.
#[derive(Clone, Copy, Debug)]
struct Batch {
    to: Process,
    bytes: u64,
    way: Way,
    begin: Instant,
    begun: u32,
    arrived: u32,
    /// Whether its time is of no use: one failed, or other messages began meanwhile.
    is_spoilt: bool,
}

impl Fetched {
    /// Those of a client. Where the program's user says which messages are eager, nothing is tried.
    pub fn new(copies: &Copies) -> Self {
        let is_set = |name| std::env::var_os(name).is_some();
        let is_tried = copies.tries() && !is_set("PAMID_EAGER") && !is_set("PAMID_RZV");
        Fetched { is_tried, ways: std::array::from_fn(|_| Ways::default()), batch: Cell::default() }
    }

    /// The way of a message, and whether its [arrival](Self::end) is to be told; `None` if its length leaves
    /// nothing to choose.
    #[inline]
    pub fn begin(&self, to: Process, bytes: u64, packets_max_bytes: u64) -> Option<(Way, bool)> {
        if !self.is_tried || bytes <= Ways::SHORT_BYTES || bytes > packets_max_bytes {
            return None;
        }
        let (way, is_trial) = self.ways[to as usize % ENDPOINTS].next(bytes);
        Some(if is_trial { self.join(to, bytes, way) } else { (way, false) })
    }

    #[cold]
    fn join(&self, to: Process, bytes: u64, way: Way) -> (Way, bool) {
        let Some(mut batch) = self.batch.get() else {
            let begin = Instant::now();
            self.batch.set(Some(Batch { to, bytes, way, begin, begun: 1, arrived: 0, is_spoilt: false }));
            return (way, true);
        };
        let is_alike = batch.to == to && Ways::are_alike(batch.bytes, bytes);
        let joins = is_alike && batch.begun < BATCH_MAX;
        batch.begun += u32::from(joins);
        batch.is_spoilt |= !is_alike;
        self.batch.set(Some(batch));
        (if is_alike { batch.way } else { Way::Packets }, joins)
    }

    /// A message of the batch has arrived, or failed.
    #[cold]
    pub fn end(&self, has_failed: bool) {
        let Some(mut batch) = self.batch.get() else { return };
        batch.arrived += 1;
        batch.is_spoilt |= has_failed;
        if batch.arrived < batch.begun {
            return self.batch.set(Some(batch));
        }
        self.batch.set(None);
        let ways = &self.ways[batch.to as usize % ENDPOINTS];
        let ns = batch.begin.elapsed().as_nanos() as u64 / u64::from(batch.begun);
        ways.note(batch.bytes, batch.way, (!batch.is_spoilt).then_some(ns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: u64 = 20_000;
    const MOST: u64 = 64 << 10;

    fn fetched() -> Fetched {
        let ways = std::array::from_fn(|_| Ways::default());
        Fetched { is_tried: true, ways, batch: Cell::default() }
    }

    /// Batches until there is nothing to try; the ways tried, and the one that is taken then.
    fn decide(of: &Fetched, messages: u32, mut during: impl FnMut(Way)) -> (Vec<Way>, Way) {
        let mut tried = vec![];
        loop {
            let (way, is_trial) = of.begin(1, LONG, MOST).unwrap();
            if !is_trial {
                return (tried, way);
            }
            tried.push(way);
            (1..messages).for_each(|_| assert_eq!(of.begin(1, LONG, MOST), Some((way, true))));
            during(way);
            (0..messages).for_each(|_| of.end(false));
        }
    }

    #[test]
    fn the_faster_way_is_taken_after_trials_of_both() {
        for (messages, slow) in [(1, Way::Packets), (4, Way::Packets), (4, Way::Copy)] {
            let of = fetched();
            let (tried, way) = decide(&of, messages, |way| {
                let begin = Instant::now();
                while way == slow && begin.elapsed().as_micros() < 200 {}
            });
            assert_ne!(way, slow);
            assert!([Way::Packets, Way::Copy].iter().all(|way| tried.contains(way)));
            // The other lengths and processes are tried by themselves.
            assert_eq!(of.begin(2, LONG, MOST), Some((Way::Packets, true)));
        }
    }

    #[test]
    fn a_batch_with_others_in_between_says_nothing() {
        let of = fetched();
        let (_, way) = decide(&of, 2, |way| {
            // What is noted is never the shorter time, so packets stay.
            if way == Way::Copy {
                assert_eq!(of.begin(2, LONG, MOST), Some((Way::Packets, false)));
            }
        });
        assert_eq!(way, Way::Packets);
    }

    #[test]
    fn short_and_long_messages_leave_nothing_to_choose() {
        let of = fetched();
        assert_eq!([8, Ways::SHORT_BYTES, MOST + 1].map(|bytes| of.begin(1, bytes, MOST)), [None; 3]);
        assert_eq!(Fetched { is_tried: false, ..of }.begin(1, LONG, MOST), None);
    }

    #[test]
    fn a_batch_takes_no_more_than_its_most() {
        let of = fetched();
        let all: Vec<_> = (0..=BATCH_MAX).map(|_| of.begin(1, LONG, MOST).unwrap()).collect();
        assert_eq!(all.iter().filter(|(_, is_trial)| *is_trial).count(), BATCH_MAX as usize);
        (0..BATCH_MAX).for_each(|_| of.end(false));
        assert!(of.batch.get().is_none());
    }
}
