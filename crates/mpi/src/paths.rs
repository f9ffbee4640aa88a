//! Which of two paths is the faster one for data that goes to another process: packets, which it takes out, or
//! one copy by the kernel.
//!
//! That depends on how far apart the two cores are: through shared caches packets carry 20 GB/s and the kernel
//! 12, between cores that share no cache 8 and 12 (`docs/performance.md`). No program can ask that, so the
//! first transfers to a process try one path, and then the other; from then on the better one is taken.

use crate::transport::Process;
use std::cell::Cell;

/// Lengths that are told apart: up to 8 B, 16, 32 and so on up to 64 KiB.
const LENGTHS: usize = 14;
/// The shortest of them, bytes, as a power of two.
const SHORTEST: u32 = 3;
/// Trials of each path.
const TRIALS: u8 = 20;
/// Trials of a path one after the other: what a path leaves in the caches is where it will be found. The
/// lowest mean of such a row decides: a single transfer can be lucky, and other work disturbs some rows.
const IN_A_ROW: u8 = 5;

/// What is known of the paths to one process.
#[derive(Debug)]
pub struct Paths {
    of: [Cell<Length>; LENGTHS],
}

/// What is known for one length.
#[derive(Clone, Copy, Debug)]
struct Length {
    trials: u8,
    /// The lowest mean time of a row of each path, ns.
    packets_ns: u32,
    copy_ns: u32,
    /// The trials of the present row with a usable time, and the sum of their times, ns.
    row: u8,
    row_ns: u32,
}

const NOTHING: Length = Length { trials: 0, packets_ns: u32::MAX, copy_ns: u32::MAX, row: 0, row_ns: 0 };

/// A path to move data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// In packets.
    Packets,
    /// By one copy.
    Copy,
}

/// Sets of paths that are told apart.
const PROCESSES: usize = 16;

/// The paths to all processes. Those with equal numbers modulo 16 share what is known, so that memory
/// does not grow with their number, and nothing is forgotten.
#[derive(Debug, Default)]
pub struct AllPaths([Paths; PROCESSES]);

impl AllPaths {
    /// The paths to a process.
    #[inline]
    pub fn to(&self, process: Process) -> &Paths {
        &self.0[process as usize % PROCESSES]
    }
}

impl Default for Paths {
    fn default() -> Self {
        Paths { of: [const { Cell::new(NOTHING) }; LENGTHS] }
    }
}

impl Paths {
    /// Data of up to this length, bytes, goes in packets unless somebody waits for it alone.
    pub const SHORT_BYTES: u64 = 8 << 10;

    #[inline(always)]
    fn length(bytes: u64) -> usize {
        let above = bytes.max(1).next_power_of_two().trailing_zeros().saturating_sub(SHORTEST);
        (above as usize).min(LENGTHS - 1)
    }

    /// Whether one path is taken for data of both lengths.
    pub fn are_alike(bytes: u64, others: u64) -> bool {
        Self::length(bytes) == Self::length(others)
    }

    /// The path of the next transfer, and whether its time is to be [noted](Self::note).
    #[inline(always)]
    pub fn next(&self, bytes: u64) -> (Path, bool) {
        let Length { trials, packets_ns, copy_ns, .. } = self.of[Self::length(bytes)].get();
        if trials < 2 * TRIALS {
            return (Self::tried(trials), true);
        }
        (if copy_ns < packets_ns { Path::Copy } else { Path::Packets }, false)
    }

    /// The path that is tried after so many trials: each several times, so that both are tried in what the
    /// program does then.
    fn tried(trials: u8) -> Path {
        if (trials / IN_A_ROW).is_multiple_of(2) { Path::Packets } else { Path::Copy }
    }

    /// Notes how long it took until all packets had arrived, or the copy, ns. Without a usable time, `None`,
    /// it counts as a trial all the same, so that trials end.
    pub fn note(&self, bytes: u64, path: Path, ns: Option<u64>) {
        let place = &self.of[Self::length(bytes)];
        let mut length = place.get();
        if length.trials >= 2 * TRIALS || path != Self::tried(length.trials) {
            // A late one: other transfers have completed its row.
            return;
        }
        if let Some(ns) = ns {
            length.row += 1;
            length.row_ns = length.row_ns.saturating_add(u32::try_from(ns).unwrap_or(u32::MAX));
        }
        length.trials += 1;
        if length.trials.is_multiple_of(IN_A_ROW) {
            if let Some(mean_ns) = length.row_ns.checked_div(length.row.into()) {
                let shortest = match path {
                    Path::Packets => &mut length.packets_ns,
                    Path::Copy => &mut length.copy_ns,
                };
                *shortest = (*shortest).min(mean_ns);
            }
            (length.row, length.row_ns) = (0, 0);
        }
        place.set(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is chosen in the end, if packets and copies take these times.
    fn chosen(bytes: u64, [packets_ns, copy_ns]: [u64; 2]) -> Path {
        let paths = Paths::default();
        for trial in 0..2 * u64::from(TRIALS) {
            let (path, is_trial) = paths.next(bytes);
            assert!(is_trial);
            // Now and then something else takes time, or it is of no use.
            let ns = if path == Path::Packets { packets_ns } else { copy_ns };
            let disturbed_ns = if trial % 13 == 0 { 10_000 } else { 0 };
            paths.note(bytes, path, (trial % 7 > 0).then_some(ns + disturbed_ns));
        }
        let (path, is_trial) = paths.next(bytes);
        assert!(!is_trial);
        path
    }

    #[test]
    fn the_faster_way_is_chosen() {
        // As measured between near cores, ns, and between distant ones.
        let near = [(16, [1000, 2100]), (32, [1700, 3000]), (64, [3000, 4900])];
        let distant = [(16, [2750, 2350]), (32, [4800, 3300]), (64, [8500, 5300])];
        for (expected, all) in [(Path::Packets, near), (Path::Copy, distant)] {
            for (kib, times) in all {
                assert_eq!(chosen(kib << 10, times), expected, "{kib} KiB");
            }
        }
    }

    #[test]
    fn a_lucky_transfer_decides_nothing() {
        let paths = Paths::default();
        for trial in 0..2 * u64::from(TRIALS) {
            let (path, _) = paths.next(64);
            let ns = if path == Path::Copy {
                550
            } else if trial % 5 == 3 {
                450
            } else {
                750
            };
            paths.note(64, path, Some(ns));
        }
        assert_eq!(paths.next(64), (Path::Copy, false));
    }

    /// The mean of a row is that of its usable times, however few they are.
    #[test]
    fn a_row_of_few_usable_times_is_not_a_fast_one() {
        let paths = Paths::default();
        for trial in 0..2 * TRIALS {
            let (path, _) = paths.next(64);
            let is_usable = path == Path::Packets || trial.is_multiple_of(IN_A_ROW);
            paths.note(64, path, is_usable.then_some(if path == Path::Packets { 500 } else { 600 }));
        }
        assert_eq!(paths.next(64), (Path::Packets, false));
    }

    #[test]
    fn a_row_is_not_mixed_and_trials_end() {
        let paths = Paths::default();
        (0..IN_A_ROW).for_each(|_| paths.note(64, Path::Packets, Some(500)));
        // These began in the row before.
        (0..3).for_each(|_| paths.note(64, Path::Packets, Some(1)));
        assert_eq!(paths.next(64), (Path::Copy, true));
        for _ in u64::from(IN_A_ROW)..2 * u64::from(TRIALS) {
            let (path, is_trial) = paths.next(64);
            assert!(is_trial);
            paths.note(64, path, (path == Path::Packets).then_some(600));
        }
        // No copy was of use.
        assert_eq!(paths.next(64), (Path::Packets, false));
    }

    #[test]
    fn lengths_are_told_apart() {
        let paths = Paths::default();
        (0..IN_A_ROW).for_each(|_| paths.note(16 << 10, Path::Packets, Some(1)));
        assert_eq!(paths.next(16 << 10).0, Path::Copy);
        assert_eq!([(16 << 10) + 1, 64 << 10].map(|bytes| paths.next(bytes).0), [Path::Packets; 2]);
        assert_eq!(
            [0, 1, 8, 9, 1 << 14, (1 << 14) + 1, 1 << 15, 1 << 16, u64::MAX / 4].map(Paths::length),
            [0, 0, 0, 1, 11, 12, 12, 13, 13]
        );
    }
}
