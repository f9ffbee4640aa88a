//! Which of two ways is the faster one for data that goes to another process: packets, which it takes out, or
//! one copy by the kernel.
//!
//! That depends on how far apart the two cores are: through shared caches packets carry 20 GB/s and the kernel
//! 12, between cores that share no cache 8 and 12 (`docs/performance.md`). No program can ask that, so the
//! first transfers to a process try one way, and then the other; from then on the better one is taken.

use std::cell::Cell;

/// Lengths that are told apart: up to 8 B, 16, 32 and so on up to 64 KiB.
const LENGTHS: usize = 14;
/// The shortest of them, bytes, as a power of two.
const SHORTEST: u32 = 3;
/// Trials of each way.
const TRIALS: u8 = 20;
/// Trials of a way one after the other: what a way leaves in the caches is where it will be found. Their mean
/// counts, and that of the best row: a single transfer can be lucky, and a whole row is disturbed now and then.
const IN_A_ROW: u8 = 5;

/// What is known of the ways to one process.
#[derive(Debug)]
pub struct Ways {
    of: [Cell<Length>; LENGTHS],
}

/// What is known for one length.
#[derive(Clone, Copy, Debug)]
struct Length {
    trials: u8,
    /// The shortest time of a transfer of each way, ns, as the mean of a row.
    packets_ns: u32,
    copy_ns: u32,
    /// The trials of this row whose times are of use, and the sum of these times, ns.
    row: u8,
    row_ns: u32,
}

const NOTHING: Length = Length { trials: 0, packets_ns: u32::MAX, copy_ns: u32::MAX, row: 0, row_ns: 0 };

/// A way to move data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// In packets.
    Packets,
    /// By one copy.
    Copy,
}

impl Default for Ways {
    fn default() -> Self {
        Ways { of: [const { Cell::new(NOTHING) }; LENGTHS] }
    }
}

impl Ways {
    /// Data of up to this length, bytes, goes in packets unless somebody waits for it alone.
    pub const SHORT_BYTES: u64 = 8 << 10;

    #[inline(always)]
    fn length(bytes: u64) -> usize {
        let above = bytes.max(1).next_power_of_two().trailing_zeros().saturating_sub(SHORTEST);
        (above as usize).min(LENGTHS - 1)
    }

    /// Whether one way is taken for data of both lengths.
    pub fn are_alike(bytes: u64, others: u64) -> bool {
        Self::length(bytes) == Self::length(others)
    }

    /// The way of the next transfer, and whether its time is to be [noted](Self::note).
    #[inline(always)]
    pub fn next(&self, bytes: u64) -> (Way, bool) {
        let Length { trials, packets_ns, copy_ns, .. } = self.of[Self::length(bytes)].get();
        if trials < 2 * TRIALS {
            return (Self::tried(trials), true);
        }
        (if copy_ns < packets_ns { Way::Copy } else { Way::Packets }, false)
    }

    /// The way that is tried after so many trials: each several times, so that both are tried in what the
    /// program does then.
    fn tried(trials: u8) -> Way {
        if (trials / IN_A_ROW).is_multiple_of(2) { Way::Packets } else { Way::Copy }
    }

    /// Notes how long it took until all packets had arrived, or the copy, ns; `None` if its time is of no use:
    /// it has been tried nevertheless, so that trials end.
    pub fn note(&self, bytes: u64, way: Way, ns: Option<u64>) {
        let place = &self.of[Self::length(bytes)];
        let mut length = place.get();
        if length.trials >= 2 * TRIALS || way != Self::tried(length.trials) {
            // It began before the end of its row, which others have filled.
            return;
        }
        if let Some(ns) = ns {
            length.row += 1;
            length.row_ns = length.row_ns.saturating_add(u32::try_from(ns).unwrap_or(u32::MAX));
        }
        length.trials += 1;
        if length.trials.is_multiple_of(IN_A_ROW) {
            if let Some(mean_ns) = length.row_ns.checked_div(length.row.into()) {
                let shortest = match way {
                    Way::Packets => &mut length.packets_ns,
                    Way::Copy => &mut length.copy_ns,
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
    fn chosen(bytes: u64, [packets_ns, copy_ns]: [u64; 2]) -> Way {
        let ways = Ways::default();
        for trial in 0..2 * u64::from(TRIALS) {
            let (way, is_trial) = ways.next(bytes);
            assert!(is_trial);
            // Now and then something else takes time, or it is of no use.
            let ns = if way == Way::Packets { packets_ns } else { copy_ns };
            let disturbed_ns = if trial % 13 == 0 { 10_000 } else { 0 };
            ways.note(bytes, way, (trial % 7 > 0).then_some(ns + disturbed_ns));
        }
        let (way, is_trial) = ways.next(bytes);
        assert!(!is_trial);
        way
    }

    #[test]
    fn the_faster_way_is_chosen() {
        // As measured between near cores, ns, and between distant ones.
        let near = [(16, [1000, 2100]), (32, [1700, 3000]), (64, [3000, 4900])];
        let distant = [(16, [2750, 2350]), (32, [4800, 3300]), (64, [8500, 5300])];
        for (expected, all) in [(Way::Packets, near), (Way::Copy, distant)] {
            for (kib, times) in all {
                assert_eq!(chosen(kib << 10, times), expected, "{kib} KiB");
            }
        }
    }

    #[test]
    fn a_lucky_transfer_decides_nothing() {
        let ways = Ways::default();
        for trial in 0..2 * u64::from(TRIALS) {
            let (way, _) = ways.next(64);
            let ns = if way == Way::Copy {
                550
            } else if trial % 5 == 3 {
                450
            } else {
                750
            };
            ways.note(64, way, Some(ns));
        }
        assert_eq!(ways.next(64), (Way::Copy, false));
    }

    #[test]
    fn a_row_is_not_mixed_and_trials_end() {
        let ways = Ways::default();
        (0..IN_A_ROW).for_each(|_| ways.note(64, Way::Packets, Some(500)));
        // These began in the row before.
        (0..3).for_each(|_| ways.note(64, Way::Packets, Some(1)));
        assert_eq!(ways.next(64), (Way::Copy, true));
        for _ in u64::from(IN_A_ROW)..2 * u64::from(TRIALS) {
            let (way, is_trial) = ways.next(64);
            assert!(is_trial);
            ways.note(64, way, (way == Way::Packets).then_some(600));
        }
        // No copy was of use.
        assert_eq!(ways.next(64), (Way::Packets, false));
    }

    #[test]
    fn lengths_are_told_apart() {
        let ways = Ways::default();
        (0..IN_A_ROW).for_each(|_| ways.note(16 << 10, Way::Packets, Some(1)));
        assert_eq!(ways.next(16 << 10).0, Way::Copy);
        assert_eq!([(16 << 10) + 1, 64 << 10].map(|bytes| ways.next(bytes).0), [Way::Packets; 2]);
        assert_eq!(
            [0, 1, 8, 9, 1 << 14, (1 << 14) + 1, 1 << 15, 1 << 16, u64::MAX / 4].map(Ways::length),
            [0, 0, 0, 1, 11, 12, 12, 13, 13]
        );
    }
}
