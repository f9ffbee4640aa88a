//! Time at a node, finer than ticks, so that rates and software times that are not multiples of the router's
//! clock are exact.
//!
//! [`Microticks`] are not ticks ([`Time`]): conversions are explicit about rounding.

use netloom_engine::Time;
use serde::{Deserialize, Serialize};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// A time or duration in millionths of a tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Microticks(pub u64);

impl Microticks {
    /// The start of a run; a duration of zero.
    pub const ZERO: Self = Microticks(0);
    /// A tick.
    pub const TICK: Self = Microticks(1_000_000);
    /// A thousandth of a tick, the unit of software times in machine files.
    pub const MILLITICK: Self = Microticks(1000);
    /// Later than any other time.
    pub const MAX: Self = Microticks(u64::MAX);

    /// The start of a tick.
    pub const fn at(tick: Time) -> Self {
        Self::of_ticks(tick.ticks())
    }

    /// This number of ticks.
    pub const fn of_ticks(ticks: u64) -> Self {
        Microticks(ticks * Self::TICK.0)
    }

    /// This number of thousandths of a tick.
    pub const fn of_milliticks(milliticks: u64) -> Self {
        Microticks(milliticks * Self::MILLITICK.0)
    }

    /// Rounds to the nearest microtick.
    pub fn of_f64(microticks: f64) -> Self {
        Microticks(microticks.round() as u64)
    }

    /// Whole ticks.
    pub const fn ticks(self) -> u64 {
        self.0 / Self::TICK.0
    }

    /// The tick that contains this time.
    pub const fn tick(self) -> Time {
        Time::at(self.ticks())
    }

    /// The first tick that does not start before this time.
    pub const fn tick_up(self) -> Time {
        Time::at(self.0.div_ceil(Self::TICK.0))
    }

    /// Whether it is a duration of zero, or the start of a run.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The difference to an earlier time; zero if that is later.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Microticks(self.0.saturating_sub(other.0))
    }

    /// The number of turns of this length that cover it.
    pub const fn div_ceil(self, turn: Self) -> u64 {
        self.0.div_ceil(turn.0)
    }
}

/// The number of microticks.
impl From<Microticks> for u64 {
    fn from(time: Microticks) -> u64 {
        time.0
    }
}

impl Add for Microticks {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        Microticks(self.0 + other.0)
    }
}

impl AddAssign for Microticks {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Microticks {
    type Output = Self;

    #[inline]
    fn sub(self, other: Self) -> Self {
        Microticks(self.0 - other.0)
    }
}

impl SubAssign for Microticks {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}

impl Mul<u64> for Microticks {
    type Output = Self;

    #[inline]
    fn mul(self, times: u64) -> Self {
        Microticks(self.0 * times)
    }
}

impl Mul<Microticks> for u64 {
    type Output = Microticks;

    #[inline]
    fn mul(self, each: Microticks) -> Microticks {
        each * self
    }
}

impl Div<u64> for Microticks {
    type Output = Self;

    #[inline]
    fn div(self, parts: u64) -> Self {
        Microticks(self.0 / parts)
    }
}

impl Sum for Microticks {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::ZERO, Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_rounded_as_asked() {
        let t = Microticks::of_ticks(3) + Microticks(1);
        assert_eq!((t.ticks(), t.tick(), t.tick_up()), (3, Time::at(3), Time::at(4)));
        assert_eq!(Microticks::at(Time::at(3)).tick_up(), Time::at(3));
        assert_eq!(Microticks::of_milliticks(2500), Microticks(2_500_000));
        assert_eq!(Microticks(7).saturating_sub(Microticks(9)), Microticks::ZERO);
    }
}
