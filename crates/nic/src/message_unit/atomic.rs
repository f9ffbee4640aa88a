//! Atomic operations of the L2 on words of memory, for transfers that carry them.

/// The L2's operation on a word that a transfer carries (the public driver's `spi/include/l2/atomic.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Atomic {
    /// Sum.
    Add = 2,
    /// Bitwise or.
    Or = 4,
    /// Bitwise exclusive or.
    Xor = 5,
    /// Maximum of unsigned integers.
    MaxUnsigned = 6,
}

impl Atomic {
    /// The new value in memory.
    pub fn apply(self, old: u64, new: u64) -> u64 {
        match self {
            Atomic::Add => old.wrapping_add(new),
            Atomic::Or => old | new,
            Atomic::Xor => old ^ new,
            Atomic::MaxUnsigned => old.max(new),
        }
    }

    pub(super) fn of(number: u8) -> Option<Self> {
        [Atomic::Add, Atomic::Or, Atomic::Xor, Atomic::MaxUnsigned].into_iter().find(|&a| a as u8 == number)
    }
}
