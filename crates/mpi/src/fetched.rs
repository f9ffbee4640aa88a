//! Messages of 8 to 64 KiB whose receiver fetches the data by one copy of the kernel, where this is faster than
//! packets. On either path a receiver takes the data as soon as it hears of the message, whether a receive waits
//! for it or not, so what a program may rely on is the same.

use crate::paths::{AllPaths, Path, Paths};
use crate::transport::Process;
use std::cell::Cell;
use std::time::Instant;

/// Messages of a batch after which others no longer join it.
const BATCH_MAX: u32 = 16;

/// What is known of the paths of messages.
#[derive(Debug)]
pub struct Fetched {
    is_tried: bool,
    paths: AllPaths,
    batch: Cell<Option<Batch>>,
}

/// Messages whose time is to be noted: each began before all before it had arrived.
#[derive(Clone, Copy, Debug)]
struct Batch {
    to: Process,
    bytes: u64,
    path: Path,
    begin: Instant,
    begun: u32,
    arrived: u32,
    /// Whether its time is of no use: one failed, or other messages began meanwhile.
    is_spoilt: bool,
}

impl Fetched {
    /// With `is_tried` there are two paths.
    pub fn new(is_tried: bool) -> Self {
        Fetched { is_tried, paths: AllPaths::default(), batch: Cell::default() }
    }

    /// The path of a message, and whether its [arrival](Self::end) is to be told; `None` if its length leaves
    /// nothing to choose.
    #[inline]
    pub fn begin(&self, to: Process, bytes: u64, packets_max_bytes: u64) -> Option<(Path, bool)> {
        if !self.is_tried || bytes <= Paths::SHORT_BYTES || bytes > packets_max_bytes {
            return None;
        }
        let (path, is_trial) = self.paths.to(to).next(bytes);
        Some(if is_trial { self.join(to, bytes, path) } else { (path, false) })
    }

    #[cold]
    fn join(&self, to: Process, bytes: u64, path: Path) -> (Path, bool) {
        let Some(mut batch) = self.batch.get() else {
            let begin = Instant::now();
            self.batch.set(Some(Batch { to, bytes, path, begin, begun: 1, arrived: 0, is_spoilt: false }));
            return (path, true);
        };
        let is_alike = batch.to == to && Paths::are_alike(batch.bytes, bytes);
        let joins = is_alike && batch.begun < BATCH_MAX;
        batch.begun += u32::from(joins);
        batch.is_spoilt |= !is_alike;
        self.batch.set(Some(batch));
        (if is_alike { batch.path } else { Path::Packets }, joins)
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
        let paths = self.paths.to(batch.to);
        let ns = batch.begin.elapsed().as_nanos() as u64 / u64::from(batch.begun);
        paths.note(batch.bytes, batch.path, (!batch.is_spoilt).then_some(ns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: u64 = 20_000;
    const MOST: u64 = 64 << 10;

    /// Batches until there is nothing to try; the paths tried, and the one that is taken then.
    fn decide(of: &Fetched, messages: u32, mut during: impl FnMut(Path)) -> (Vec<Path>, Path) {
        let mut tried = vec![];
        loop {
            let (path, is_trial) = of.begin(1, LONG, MOST).unwrap();
            if !is_trial {
                return (tried, path);
            }
            tried.push(path);
            (1..messages).for_each(|_| assert_eq!(of.begin(1, LONG, MOST), Some((path, true))));
            during(path);
            (0..messages).for_each(|_| of.end(false));
        }
    }

    #[test]
    fn the_faster_way_is_taken_after_trials_of_both() {
        for (messages, slow) in [(1, Path::Packets), (4, Path::Packets), (4, Path::Copy)] {
            let of = Fetched::new(true);
            let (tried, path) = decide(&of, messages, |path| {
                let begin = Instant::now();
                while path == slow && begin.elapsed().as_micros() < 200 {}
            });
            assert_ne!(path, slow);
            assert!([Path::Packets, Path::Copy].iter().all(|path| tried.contains(path)));
            // The other lengths and processes are tried by themselves.
            assert_eq!(of.begin(2, LONG, MOST), Some((Path::Packets, true)));
        }
    }

    #[test]
    fn a_batch_with_others_in_between_says_nothing() {
        let of = Fetched::new(true);
        let (_, path) = decide(&of, 2, |path| {
            // What is noted is never the shorter time, so packets stay.
            if path == Path::Copy {
                assert_eq!(of.begin(2, LONG, MOST), Some((Path::Packets, false)));
            }
        });
        assert_eq!(path, Path::Packets);
    }

    #[test]
    fn short_and_long_messages_leave_nothing_to_choose() {
        let of = Fetched::new(true);
        assert_eq!([8, Paths::SHORT_BYTES, MOST + 1].map(|bytes| of.begin(1, bytes, MOST)), [None; 3]);
        assert_eq!(Fetched::new(false).begin(1, LONG, MOST), None);
    }

    #[test]
    fn a_batch_takes_no_more_than_its_most() {
        let of = Fetched::new(true);
        let all: Vec<_> = (0..=BATCH_MAX).map(|_| of.begin(1, LONG, MOST).unwrap()).collect();
        assert_eq!(all.iter().filter(|(_, is_trial)| *is_trial).count(), BATCH_MAX as usize);
        (0..BATCH_MAX).for_each(|_| of.end(false));
        assert!(of.batch.get().is_none());
    }
}
