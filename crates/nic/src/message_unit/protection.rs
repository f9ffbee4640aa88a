//! Protection (section III.G): range registers define the memory that the unit may access; user descriptors
//! may not name system resources. Violations are counted and affect no other request.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Range registers: first the user's, then the system's (the public driver's `MU_Addressing.h`).
pub const RANGES: usize = 28;
/// The number of user registers among them.
pub const USER_RANGES: usize = 20;

/// A range of accessible memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Its first byte.
    pub first: u64,
    /// Its last byte.
    pub last: u64,
    /// Whether injection may read it, but reception may not write it.
    pub injection_only: bool,
}

/// The reason of a protection violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Violation {
    /// An access outside all ranges.
    Range,
    /// An unset entry of the base address table.
    BaseAddress,
    /// A user descriptor that names a system resource.
    Permission,
    /// A remote get for an injection FIFO that does not allow it, or whose data is not valid descriptors.
    RemoteGet,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Violation::Range => "an access outside its ranges",
            Violation::BaseAddress => "an unset entry of the base address table",
            Violation::Permission => "a system resource",
            Violation::RemoteGet => "a remote get that its FIFO does not accept",
        })
    }
}

/// A unit's range registers.
#[derive(Default)]
pub(super) struct Ranges {
    /// The registers in use; if there are none, all memory is accessible.
    set: Vec<(usize, Range)>,
}

impl Ranges {
    pub fn set(&mut self, register: usize, range: Option<Range>) {
        self.set.retain(|(r, _)| *r != register);
        self.set.extend(range.map(|range| (register, range)));
    }

    /// Whether `bytes` from `start` on may be accessed.
    pub fn allow(&self, start: u64, bytes: u64, writes: bool, is_system: bool) -> bool {
        let last = start + bytes.max(1) - 1;
        let holds = |(register, r): &(usize, Range)| {
            r.first <= start
                && last <= r.last
                && !(writes && r.injection_only)
                && (is_system || *register < USER_RANGES)
        };
        self.set.is_empty() || self.set.iter().any(holds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_hold_whole_requests() {
        let mut ranges = Ranges::default();
        assert!(ranges.allow(7, 1 << 30, true, false));
        ranges.set(0, Some(Range { first: 100, last: 199, injection_only: false }));
        ranges.set(3, Some(Range { first: 300, last: 399, injection_only: true }));
        ranges.set(20, Some(Range { first: 500, last: 599, injection_only: false }));
        let may = |start, bytes, writes, system| ranges.allow(start, bytes, writes, system);
        assert!(may(100, 100, true, false) && !may(99, 2, true, false) && !may(199, 2, false, false));
        assert!(may(300, 8, false, false) && !may(300, 8, true, false));
        assert!(may(500, 8, true, true) && !may(500, 8, true, false));
        ranges.set(0, None);
        assert!(!ranges.allow(100, 1, true, true));
    }
}
