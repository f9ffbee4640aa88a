//! Atomic operations on integers in another task's memory. They are executed by the target, in its own turn,
//! so they are atomic with respect to each other and to the target's own atomic operations.

/// An operation on an integer of 4 or 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rmw {
    /// Its address at the target.
    pub address: u64,
    /// Its length, 4 or 8 bytes.
    pub bytes: u64,
    /// The modification.
    pub modify: Modify,
    /// The operand.
    pub value: u64,
    /// The modification takes place only if the old value equals this.
    pub test: Option<u64>,
}

/// Modifications, with the numbers that PAMI's interface gives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Modify {
    /// None: the old value is fetched.
    Keep,
    /// The operand.
    Set,
    /// The sum.
    Add,
    /// The bitwise or.
    Or,
    /// The bitwise and.
    And,
    /// The bitwise exclusive or.
    Xor,
}

/// Modifications by number.
pub const MODIFICATIONS: [Modify; 6] =
    [Modify::Keep, Modify::Set, Modify::Add, Modify::Or, Modify::And, Modify::Xor];

impl Rmw {
    /// The new value, from the old one; `None` if it stays. Only the integer's own bits count.
    pub fn apply(&self, old: u64) -> Option<u64> {
        let mask = if self.bytes == 4 { u64::from(u32::MAX) } else { u64::MAX };
        if self.test.is_some_and(|test| (test ^ old) & mask != 0) {
            return None;
        }
        let new = match self.modify {
            Modify::Keep => return None,
            Modify::Set => self.value,
            Modify::Add => old.wrapping_add(self.value),
            Modify::Or => old | self.value,
            Modify::And => old & self.value,
            Modify::Xor => old ^ self.value,
        };
        Some(new & mask)
    }

    /// As a packet's integers, with the requester's number.
    pub fn to_integers(self, request: u64) -> [u64; 5] {
        let flags = self.modify as u64 | u64::from(self.test.is_some()) << 8 | self.bytes << 16;
        [request, flags, self.address, self.value, self.test.unwrap_or(0)]
    }

    /// The reverse of [`Self::to_integers`].
    pub fn of_integers(integers: [u64; 5]) -> (u64, Self) {
        let [request, flags, address, value, test] = integers;
        let modify = MODIFICATIONS[(flags & 0xff) as usize % MODIFICATIONS.len()];
        let test = (flags >> 8 & 1 == 1).then_some(test);
        (request, Rmw { address, bytes: if flags >> 16 == 4 { 4 } else { 8 }, modify, value, test })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn operations_survive(request: u64, address: u64, wide: bool, modify in 0usize..6, value: u64, test: Option<u64>) {
            let bytes = if wide { 8 } else { 4 };
            let rmw = Rmw { address, bytes, modify: MODIFICATIONS[modify], value, test };
            prop_assert_eq!(Rmw::of_integers(rmw.to_integers(request)), (request, rmw));
            prop_assert_eq!(MODIFICATIONS[modify] as usize, modify);
        }
    }

    #[test]
    fn an_operation_changes_the_value_if_its_test_holds() {
        let rmw = |modify, test| Rmw { address: 0, bytes: 4, modify, value: 0b1100, test };
        assert_eq!(rmw(Modify::Keep, None).apply(7), None);
        assert_eq!(rmw(Modify::Set, Some(7)).apply(7), Some(12));
        assert_eq!(rmw(Modify::Set, Some(8)).apply(7), None);
        assert_eq!(rmw(Modify::Add, None).apply(0xffff_ffff), Some(11));
        assert_eq!(rmw(Modify::Or, None).apply(0b1010), Some(0b1110));
        assert_eq!(rmw(Modify::And, None).apply(0b1010), Some(0b1000));
        assert_eq!(rmw(Modify::Xor, None).apply(0b1010), Some(0b0110));
        // The upper half does not count for 4 bytes.
        assert_eq!(rmw(Modify::Set, Some(7 | 1 << 40)).apply(7), Some(12));
    }
}
