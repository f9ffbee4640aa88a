//! Atomic memory operations ("Remote Memory Access"), in `gni_pub.h`'s numbering of Aries' second generation:
//! on words of 32 and 64 bits, with or without fetching the old value, cached in the AMO cache or not.

/// The operation on a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum AmoKind {
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// And with the first operand, then exclusive or with the second.
    AndXor,
    /// Integer sum.
    Add,
    /// Minimum of signed integers.
    Min,
    /// Maximum of signed integers.
    Max,
    /// Replace by the first operand.
    Swap,
    /// Replace by the second operand if the word equals the first.
    CompareSwap,
    /// Floating-point sum: 32 bits only, since Aries' 64-bit sum does not work (the sources of gasnet and
    /// libfabric).
    FloatAdd,
    /// Minimum of floating-point numbers.
    FloatMin,
    /// Maximum of floating-point numbers.
    FloatMax,
}

/// An atomic memory operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amo {
    /// The operation.
    pub kind: AmoKind,
    /// Whether it returns the old value.
    pub fetches: bool,
    /// Whether the word has 32 bits instead of 64.
    pub is_short: bool,
    /// Whether the AMO cache keeps the word.
    pub is_cached: bool,
}

impl Amo {
    /// On 64 bits, non-fetching, cached.
    pub const fn new(kind: AmoKind) -> Self {
        Amo { kind, fetches: false, is_short: false, is_cached: true }
    }

    /// The same, fetching the old value.
    #[must_use]
    pub const fn fetching(self) -> Self {
        Amo { fetches: true, ..self }
    }

    /// The same on 32 bits.
    #[must_use]
    pub const fn short(self) -> Self {
        Amo { is_short: true, ..self }
    }

    /// The same, bypassing the cache: each operation reads and writes the word in memory.
    #[must_use]
    pub const fn uncached(self) -> Self {
        Amo { is_cached: false, ..self }
    }

    /// Size of its word, bytes.
    pub fn bytes(self) -> u32 {
        if self.is_short { 4 } else { 8 }
    }

    /// Whether the hardware implements it.
    pub fn exists(self) -> bool {
        self.kind != AmoKind::FloatAdd || self.is_short
    }

    pub(super) fn number(self) -> u8 {
        self.kind as u8
            | u8::from(self.fetches) << 4
            | u8::from(self.is_short) << 5
            | u8::from(self.is_cached) << 6
    }

    pub(super) fn of(number: u8) -> Self {
        use AmoKind::*;
        const ALL: [AmoKind; 12] =
            [And, Or, Xor, AndXor, Add, Min, Max, Swap, CompareSwap, FloatAdd, FloatMin, FloatMax];
        Amo {
            kind: ALL[usize::from(number & 15).min(11)],
            fetches: number & 16 != 0,
            is_short: number & 32 != 0,
            is_cached: number & 64 != 0,
        }
    }

    /// The new value of a word.
    pub fn apply(self, old: u64, [first, second]: [u64; 2]) -> u64 {
        let float = |f: fn(f64, f64) -> f64, f32: fn(f32, f32) -> f32| {
            if self.is_short {
                u64::from(f32(f32::from_bits(old as u32), f32::from_bits(first as u32)).to_bits())
            } else {
                f(f64::from_bits(old), f64::from_bits(first)).to_bits()
            }
        };
        let mask = if self.is_short { u64::from(u32::MAX) } else { u64::MAX };
        let signed = |x: u64| if self.is_short { i64::from(x as i32) } else { x as i64 };
        let new = match self.kind {
            AmoKind::And => old & first,
            AmoKind::Or => old | first,
            AmoKind::Xor => old ^ first,
            AmoKind::AndXor => old & first ^ second,
            AmoKind::Add => old.wrapping_add(first),
            AmoKind::Min => signed(old).min(signed(first)) as u64,
            AmoKind::Max => signed(old).max(signed(first)) as u64,
            AmoKind::Swap => first,
            AmoKind::CompareSwap if old & mask == first & mask => second,
            AmoKind::CompareSwap => old,
            AmoKind::FloatAdd => float(|a, b| a + b, |a, b| a + b),
            AmoKind::FloatMin => float(f64::min, f32::min),
            AmoKind::FloatMax => float(f64::max, f32::max),
        };
        new & mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_survive_their_number_and_do_what_they_say() {
        for kind in [AmoKind::And, AmoKind::AndXor, AmoKind::CompareSwap, AmoKind::FloatMax] {
            for amo in [Amo::new(kind), Amo::new(kind).fetching().short(), Amo::new(kind).uncached()] {
                assert_eq!(Amo::of(amo.number()), amo);
            }
        }
        let of = |kind, old, a, b| Amo::new(kind).apply(old, [a, b]);
        assert_eq!(of(AmoKind::AndXor, 0b1100, 0b0110, 0b0001), 0b0101);
        assert_eq!((of(AmoKind::CompareSwap, 5, 5, 9), of(AmoKind::CompareSwap, 6, 5, 9)), (9, 6));
        assert_eq!(of(AmoKind::Min, u64::MAX, 1, 0), u64::MAX);
        assert_eq!(Amo::new(AmoKind::Max).short().apply(0xffff_ffff, [3, 0]), 3);
        assert_eq!(Amo::new(AmoKind::Add).short().apply(0xffff_ffff, [2, 0]), 1);
        let two = Amo::new(AmoKind::FloatAdd).short();
        assert_eq!(
            two.apply(u64::from(1.5f32.to_bits()), [u64::from(2f32.to_bits()), 0]),
            u64::from(3.5f32.to_bits())
        );
        assert!(two.exists() && !Amo::new(AmoKind::FloatAdd).exists());
    }
}
