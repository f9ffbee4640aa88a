//! Simulated time.

use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A point in simulated time: whole ticks since the start of the run; the machine defines the tick. Durations
/// are numbers of ticks, as `u64`. 64 bits do not overflow: at 175 MHz they last 3,340 years.
#[derive(
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    BorshSerialize,
    BorshDeserialize,
)]
#[repr(transparent)]
pub struct Time(u64);

impl Time {
    /// The start of a run.
    pub const ZERO: Time = Time(0);
    /// Later than any other time: never.
    pub const MAX: Time = Time(u64::MAX);

    /// The time `ticks` after the start.
    #[inline]
    pub const fn at(ticks: u64) -> Self {
        Time(ticks)
    }

    /// Ticks since the start.
    #[inline]
    pub const fn ticks(self) -> u64 {
        self.0
    }

    /// Ticks since another time; 0 if that is later.
    #[inline]
    pub const fn saturating_sub(self, other: Time) -> u64 {
        self.0.saturating_sub(other.0)
    }

    /// This number of ticks later, or never.
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

/// This number of ticks earlier.
impl Sub<u64> for Time {
    type Output = Time;

    #[inline]
    fn sub(self, ticks: u64) -> Time {
        Time(self.0 - ticks)
    }
}

/// Formatted as its number of ticks, so that lists of times stay readable.
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
