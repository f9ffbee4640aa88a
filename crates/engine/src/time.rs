//! Simulated time.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A point in simulated time: whole ticks, which the machine names, since the run began. How long something takes is a number of ticks, a
/// `u64`. 64 bits do not wrap: at 175 MHz they last 3,340 years.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Time(u64);

impl Time {
    /// The begin of a run.
    pub const ZERO: Time = Time(0);
    /// Later than anything: never.
    pub const MAX: Time = Time(u64::MAX);

    /// So many ticks after the begin.
    #[inline]
    pub const fn at(ticks: u64) -> Self {
        Time(ticks)
    }

    /// Ticks since the begin.
    #[inline]
    pub const fn ticks(self) -> u64 {
        self.0
    }

    /// Ticks since another time; none if that is later.
    #[inline]
    pub const fn saturating_sub(self, other: Time) -> u64 {
        self.0.saturating_sub(other.0)
    }

    /// So many ticks later, or never.
    #[inline]
    pub const fn saturating_add(self, ticks: u64) -> Self {
        Time(self.0.saturating_add(ticks))
    }
}

impl Add<u64> for Time {
    type Output = Time;

    #[inline]
    fn add(self, ticks: u64) -> Time {
        Time(self.0 + ticks)
    }
}

impl AddAssign<u64> for Time {
    #[inline]
    fn add_assign(&mut self, ticks: u64) {
        self.0 += ticks;
    }
}

/// Ticks from one time to a later one.
impl Sub for Time {
    type Output = u64;

    #[inline]
    fn sub(self, earlier: Time) -> u64 {
        self.0 - earlier.0
    }
}

/// So many ticks earlier.
impl Sub<u64> for Time {
    type Output = Time;

    #[inline]
    fn sub(self, ticks: u64) -> Time {
        Time(self.0 - ticks)
    }
}

/// As the number of its ticks, so that lists of times stay readable.
impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
