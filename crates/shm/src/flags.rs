//! Flags: each a sequence number with a few bytes, which one process writes and another polls, so that short
//! collectives of processes of one computer need no messages.
//!
//! A process has [`SETS`] sets of flags, of which a communicator takes one for good. Each of its collectives has
//! the next sequence number, and up to [`ROUNDS`] rounds, in each of which a process writes its own flag and polls
//! that of another. Collectives of odd and of even numbers use different flags.
//!
//! # Invariant
//! Nobody ends a collective before all have begun it. So who begins collective `n + 2`, and writes to the flags of
//! `n` again, has ended `n + 1`, which all others have begun, so all have read what they need of `n`.

use crate::sync::{AtomicU64, Ordering};

const IS_MODEL: bool = cfg!(all(loom, test));

/// Sets of flags of a process. Communicators beyond them use messages.
pub const SETS: usize = if IS_MODEL { 1 } else { 128 };
/// Rounds of a collective: of up to 64 processes.
pub const ROUNDS: usize = if IS_MODEL { 1 } else { 8 };
const PARITIES: usize = 2;
const WORDS: usize = if IS_MODEL { 1 } else { 15 };

/// Most bytes with a flag.
pub const DATA_B: usize = WORDS * 8;
const _: () = assert!(DATA_B <= LENGTH as usize);

/// The bits of a flag's first word that have the length of its data; the sequence number is above them.
const LENGTH: u64 = 0xff;
const SEQUENCE_AT: u32 = LENGTH.count_ones();

/// A flag. All bytes zero is valid: no collective has the number 0.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct Flag {
    sequence: AtomicU64,
    data: [AtomicU64; WORDS],
}

impl Flag {
    /// Writes what the process has in the collective of this number.
    ///
    /// # Panics
    /// If the data is too long.
    #[inline]
    pub fn write(&self, sequence: u64, data: &[u8]) {
        assert!(data.len() <= DATA_B);
        let (words, rest) = data.as_chunks();
        for (place, word) in self.data.iter().zip(words) {
            place.store(u64::from_ne_bytes(*word), Ordering::Relaxed);
        }
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            self.data[words.len()].store(u64::from_ne_bytes(word), Ordering::Relaxed);
        }
        self.sequence.store(sequence << SEQUENCE_AT | data.len() as u64, Ordering::Release);
    }

    /// Reads what the other process has in the collective of this number, as much as there is space for; returns
    /// its length.
    /// `None` if it is not there yet.
    #[inline]
    pub fn read(&self, sequence: u64, space: &mut [u8]) -> Option<usize> {
        let first = self.sequence.load(Ordering::Acquire);
        if first >> SEQUENCE_AT != sequence {
            return None;
        }
        let length = (first & LENGTH) as usize;
        let taken = length.min(space.len()).min(DATA_B);
        let (words, rest) = space[..taken].as_chunks_mut();
        for (place, word) in self.data.iter().zip(&mut *words) {
            *word = place.load(Ordering::Relaxed).to_ne_bytes();
        }
        if !rest.is_empty() {
            let word = self.data[words.len()].load(Ordering::Relaxed).to_ne_bytes();
            rest.copy_from_slice(&word[..rest.len()]);
        }
        Some(length)
    }

    /// Whether it is there.
    #[inline]
    pub fn has(&self, sequence: u64) -> bool {
        self.sequence.load(Ordering::Acquire) >> SEQUENCE_AT == sequence
    }
}

/// The flags of a process.
#[derive(Debug)]
#[repr(C)]
pub struct Flags {
    flags: [[[Flag; ROUNDS]; PARITIES]; SETS],
}

impl Flags {
    /// The flag of a round of a collective.
    ///
    /// # Panics
    /// If there is no such set or round.
    #[inline]
    pub fn of(&self, set: usize, sequence: u64, round: usize) -> &Flag {
        &self.flags[set][sequence as usize % PARITIES][round]
    }
}

#[cfg(test)]
impl Flags {
    fn new() -> Self {
        let flag = || Flag { sequence: AtomicU64::new(0), data: std::array::from_fn(|_| AtomicU64::new(0)) };
        Flags { flags: std::array::from_fn(|_| std::array::from_fn(|_| std::array::from_fn(|_| flag()))) }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;

    /// Two processes exchange numbers in three collectives, so that a flag is used again.
    #[test]
    fn loom_a_collective_reads_what_was_written_in_it() {
        loom::model(|| {
            let both = Arc::new([Flags::new(), Flags::new()]);
            let run = |both: &[Flags; 2], own: usize| {
                for sequence in 1..4 {
                    both[own].of(0, sequence, 0).write(sequence, &(10 * sequence + own as u64).to_ne_bytes());
                    let mut space = [0; 8];
                    while both[1 - own].of(0, sequence, 0).read(sequence, &mut space).is_none() {
                        loom::thread::yield_now();
                    }
                    assert_eq!(u64::from_ne_bytes(space), 10 * sequence + 1 - own as u64);
                }
            };
            let other = {
                let both = Arc::clone(&both);
                loom::thread::spawn(move || run(&both, 1))
            };
            run(&both, 0);
            other.join().unwrap();
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_flag_has_what_was_written_last() {
        let flags = Box::new(Flags::new());
        for (sequence, length) in (1..).zip(0..=DATA_B) {
            let (data, flag) = (vec![sequence as u8; length], flags.of(3, sequence, 2));
            flag.write(sequence, &data);
            assert!(flag.has(sequence) && !flag.has(sequence + PARITIES as u64));
            let mut space = vec![0; length];
            assert_eq!((flag.read(sequence, &mut space), space), (Some(length), data));
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "many collectives")]
    fn flags_of_two_threads_have_what_each_wrote_for_a_collective() {
        const LAST: u64 = 20_000;
        let both = [Box::new(Flags::new()), Box::new(Flags::new())];
        let run = |own: usize| {
            for sequence in 1..=LAST {
                let data = |of: usize| [sequence as u8 ^ of as u8; 13];
                both[own].of(1, sequence, 0).write(sequence, &data(own));
                let (flag, mut space) = (both[1 - own].of(1, sequence, 0), [0; 13]);
                (0..).find(|&n| {
                    crate::sync::pause(n);
                    flag.read(sequence, &mut space).is_some()
                });
                assert_eq!(space, data(1 - own), "sequence {sequence}");
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| run(1));
            run(0);
        });
    }

    #[test]
    fn less_space_than_data_takes_a_part() {
        let flags = Box::new(Flags::new());
        let flag = flags.of(0, 1, 0);
        assert_eq!(flag.read(1, &mut [0; 4]), None);
        flag.write(1, b"0123456789");
        let mut space = [0; 9];
        assert_eq!((flag.read(1, &mut space), &space), (Some(10), b"012345678"));
        assert_eq!(flag.read(1, &mut []), Some(10));
    }
}
