//! Cells: places of a process for a few bytes that one other process reads, so that short collectives of
//! processes of one computer need no messages: a process writes to its own cell, and looks into the other's.
//!
//! A process has [`SLOTS`] sets of cells, of which a communicator takes one for good. A collective is a *turn*
//! of its slot. It has up to [`STEPS`] steps, in each of which a process reads one cell of another, and turns
//! use two sides by turns.
//!
//! # Invariant
//! Nobody ends a turn before all have begun it. So who begins turn `n + 2`, and writes to the side of turn `n`
//! again, has ended turn `n + 1`, which all others have begun, so all have read what they need of turn `n`.

use crate::sync::{AtomicU64, Ordering};

const IS_MODEL: bool = cfg!(all(loom, test));

/// Sets of cells of a process. Communicators beyond them use messages.
pub const SLOTS: usize = if IS_MODEL { 1 } else { 128 };
/// Steps of a turn: of up to 64 processes.
pub const STEPS: usize = if IS_MODEL { 1 } else { 8 };
const SIDES: usize = 2;
const WORDS: usize = if IS_MODEL { 1 } else { 15 };

/// Most bytes that a cell takes.
pub const DATA_B: usize = WORDS * 8;
const _: () = assert!(DATA_B <= LENGTH as usize);

/// The bits of a cell's first word that have the length of its data; the turn is above them.
const LENGTH: u64 = 0xff;
const TURN_AT: u32 = LENGTH.count_ones();

/// A cell. All bytes zero is valid: no turn has the number 0.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct Cell {
    turn: AtomicU64,
    data: [AtomicU64; WORDS],
}

impl Cell {
    /// Writes what the process has in this turn.
    ///
    /// # Panics
    /// If the data is too long.
    #[inline]
    pub fn write(&self, turn: u64, data: &[u8]) {
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
        self.turn.store(turn << TURN_AT | data.len() as u64, Ordering::Release);
    }

    /// Reads what the other process has in this turn, as much as there is space for; returns its length.
    /// `None` if it is not there yet.
    #[inline]
    pub fn read(&self, turn: u64, space: &mut [u8]) -> Option<usize> {
        let first = self.turn.load(Ordering::Acquire);
        if first >> TURN_AT != turn {
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
    pub fn has(&self, turn: u64) -> bool {
        self.turn.load(Ordering::Acquire) >> TURN_AT == turn
    }
}

/// The cells of a process.
#[derive(Debug)]
#[repr(C)]
pub struct Cells {
    cells: [[[Cell; STEPS]; SIDES]; SLOTS],
}

impl Cells {
    /// The cell of a step of a turn.
    ///
    /// # Panics
    /// If there is no such slot or step.
    #[inline]
    pub fn of(&self, slot: usize, turn: u64, step: usize) -> &Cell {
        &self.cells[slot][turn as usize % SIDES][step]
    }
}

#[cfg(test)]
impl Cells {
    fn new() -> Self {
        let cell = || Cell { turn: AtomicU64::new(0), data: std::array::from_fn(|_| AtomicU64::new(0)) };
        Cells { cells: std::array::from_fn(|_| std::array::from_fn(|_| std::array::from_fn(|_| cell()))) }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;

    /// Two processes exchange numbers in three turns, so that a side is used again.
    #[test]
    fn loom_a_turn_reads_what_was_written_in_it() {
        loom::model(|| {
            let both = Arc::new([Cells::new(), Cells::new()]);
            let run = |both: &[Cells; 2], own: usize| {
                for turn in 1..4 {
                    both[own].of(0, turn, 0).write(turn, &(10 * turn + own as u64).to_ne_bytes());
                    let mut space = [0; 8];
                    while both[1 - own].of(0, turn, 0).read(turn, &mut space).is_none() {
                        loom::thread::yield_now();
                    }
                    assert_eq!(u64::from_ne_bytes(space), 10 * turn + 1 - own as u64);
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
    fn a_cell_has_what_was_written_in_a_turn() {
        let cells = Box::new(Cells::new());
        for (turn, length) in (1..).zip(0..=DATA_B) {
            let (data, cell) = (vec![turn as u8; length], cells.of(3, turn, 2));
            cell.write(turn, &data);
            assert!(cell.has(turn) && !cell.has(turn + SIDES as u64));
            let mut space = vec![0; length];
            assert_eq!((cell.read(turn, &mut space), space), (Some(length), data));
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "many turns")]
    fn cells_of_two_threads_have_what_each_wrote_in_a_turn() {
        const TURNS: u64 = 20_000;
        let both = [Box::new(Cells::new()), Box::new(Cells::new())];
        let run = |own: usize| {
            for turn in 1..=TURNS {
                let data = |of: usize| [turn as u8 ^ of as u8; 13];
                both[own].of(1, turn, 0).write(turn, &data(own));
                let (cell, mut space) = (both[1 - own].of(1, turn, 0), [0; 13]);
                (0..).find(|&n| {
                    crate::sync::pause(n);
                    cell.read(turn, &mut space).is_some()
                });
                assert_eq!(space, data(1 - own), "turn {turn}");
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| run(1));
            run(0);
        });
    }

    #[test]
    fn less_space_than_data_takes_a_part() {
        let cells = Box::new(Cells::new());
        let cell = cells.of(0, 1, 0);
        assert_eq!(cell.read(1, &mut [0; 4]), None);
        cell.write(1, b"0123456789");
        let mut space = [0; 9];
        assert_eq!((cell.read(1, &mut space), &space), (Some(10), b"012345678"));
        assert_eq!(cell.read(1, &mut []), Some(10));
    }
}
