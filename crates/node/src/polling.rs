//! The delay until a waiting process notices an event, by polling or by an interrupt.

use crate::time::Microticks;

/// How a process waits for a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Polling {
    /// From the start of a poll to its sample of the condition.
    looks_after: Microticks,
    /// From the start of a poll to its end.
    ends_after: Microticks,
    /// From the start of a poll to that of the next; 0 if the process sleeps.
    turn: Microticks,
    /// From the end of the successful poll to the program's resumption.
    found: Microticks,
}

impl Polling {
    /// A loop over cached memory: a poll sees everything present by its end.
    pub fn memory(turn: Microticks, found: Microticks) -> Self {
        Polling { looks_after: turn, ends_after: turn, turn, found }
    }

    /// A loop over a register of the network interface, which a load reaches after `there`; the reply takes
    /// as long.
    pub fn register(there: Microticks, poll: Microticks, found: Microticks) -> Self {
        Polling { looks_after: there, ends_after: there * 2, turn: there * 2 + poll, found }
    }

    /// Sleeps until an interrupt, after which the program resumes with this delay.
    pub fn asleep(found: Microticks) -> Self {
        Polling { looks_after: Microticks::ZERO, ends_after: Microticks::ZERO, turn: Microticks::ZERO, found }
    }

    /// The same, but the process sleeps until a wake-up unit sees that the condition holds, and then polls
    /// once.
    pub fn woken(self) -> Self {
        Self::asleep(self.ends_after + self.found)
    }

    /// When a process that has waited since `since` resumes, for a condition that holds from `at` on.
    pub fn seen(&self, since: Microticks, at: Microticks) -> Microticks {
        if self.turn.is_zero() {
            return at.max(since) + self.found;
        }
        let turns = at.saturating_sub(since + self.looks_after).div_ceil(self.turn);
        since + self.turn * turns + self.ends_after + self.found
    }

    /// A loop over several conditions, of which the one at `place` holds: each is polled once per turn, in
    /// order.
    pub fn of_all(all: impl Iterator<Item = Polling>, place: usize) -> Self {
        let mut own = Polling::asleep(Microticks::ZERO);
        let (mut before, mut turn) = (Microticks::ZERO, Microticks::ZERO);
        for (number, polling) in all.enumerate() {
            if number < place {
                before += polling.turn;
            } else if number == place {
                own = polling;
            }
            turn += polling.turn;
        }
        if own.turn.is_zero() {
            return own;
        }
        Polling { looks_after: before + own.looks_after, ends_after: before + own.ends_after, turn, ..own }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_seen_at_the_end_of_a_turn() {
        let p = Polling::memory(Microticks(10), Microticks(3));
        assert_eq!(
            [0, 1, 10, 11, 20, 21].map(|at| p.seen(Microticks(100), Microticks(100 + at)).0),
            [113, 113, 113, 123, 123, 133]
        );
    }

    #[test]
    fn a_register_is_seen_half_way() {
        let p = Polling::register(Microticks(5), Microticks(2), Microticks(3));
        assert_eq!(
            [0, 5, 6, 17, 18].map(|at| p.seen(Microticks(100), Microticks(100 + at)).0),
            [113, 113, 125, 125, 137]
        );
    }

    #[test]
    fn who_is_woken_polls_once() {
        let woken = Polling::register(Microticks(5), Microticks(2), Microticks(3)).woken();
        assert_eq!([0, 6, 17].map(|at| woken.seen(Microticks(100), Microticks(100 + at)).0), [113, 119, 130]);
    }

    #[test]
    fn of_several_each_is_looked_at_once_a_turn() {
        let list =
            [Polling::memory(Microticks(10), Microticks(3)), Polling::memory(Microticks(4), Microticks(3))];
        let first = Polling::of_all(list.into_iter(), 0);
        let second = Polling::of_all(list.into_iter(), 1);
        assert_eq!([10, 11, 24, 25].map(|at| first.seen(Microticks(0), Microticks(at)).0), [13, 27, 27, 41]);
        assert_eq!([14, 15].map(|at| second.seen(Microticks(0), Microticks(at)).0), [17, 31]);
        assert_eq!(Polling::of_all([list[0]].into_iter(), 0), list[0]);
        assert_eq!(
            Polling::of_all([list[0], Polling::asleep(Microticks(9))].into_iter(), 1)
                .seen(Microticks(5), Microticks(7))
                .0,
            16
        );
    }
}
