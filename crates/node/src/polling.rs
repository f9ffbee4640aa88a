//! How long after something has come a process that waits for it knows: it polls, or an interrupt wakes it.

/// How a process waits for something. Times in microticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Polling {
    /// From the begin of a poll to where it sees what is there.
    looks_after: u64,
    /// From the begin of a poll to its end.
    ends_after: u64,
    /// From the begin of a poll to that of the next; 0 for one that sleeps.
    turn: u64,
    /// From the end of the poll that finds something to where the program resumes.
    found: u64,
}

impl Polling {
    /// A loop over memory that the cache holds: what is there by the end of a turn is seen in it.
    pub fn memory(turn: u64, found: u64) -> Self {
        Polling { looks_after: turn, ends_after: turn, turn, found }
    }

    /// A loop over a register of the network interface, which a load reaches after `there` and needs as long to come back.
    pub fn register(there: u64, poll: u64, found: u64) -> Self {
        Polling { looks_after: there, ends_after: 2 * there, turn: 2 * there + poll, found }
    }

    /// Asleep until an interrupt, after which the program resumes this much later.
    pub fn asleep(found: u64) -> Self {
        Polling { looks_after: 0, ends_after: 0, turn: 0, found }
    }

    /// When a process that has waited since `since` resumes, for something that is there from `at` on.
    pub fn seen(&self, since: u64, at: u64) -> u64 {
        if self.turn == 0 {
            return at.max(since) + self.found;
        }
        let turns = at.saturating_sub(since + self.looks_after).div_ceil(self.turn);
        since + turns * self.turn + self.ends_after + self.found
    }

    /// A loop over several things, of which this one is there: each is looked at once a turn, in order.
    pub fn of_all(all: impl Iterator<Item = Polling>, place: usize) -> Self {
        let mut own = Polling::asleep(0);
        let (mut before, mut turn) = (0, 0);
        for (number, polling) in all.enumerate() {
            if number < place {
                before += polling.turn;
            } else if number == place {
                own = polling;
            }
            turn += polling.turn;
        }
        if own.turn == 0 {
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
        let p = Polling::memory(10, 3);
        assert_eq!([0, 1, 10, 11, 20, 21].map(|at| p.seen(100, 100 + at)), [113, 113, 113, 123, 123, 133]);
    }

    #[test]
    fn a_register_is_seen_half_way() {
        let p = Polling::register(5, 2, 3);
        assert_eq!([0, 5, 6, 17, 18].map(|at| p.seen(100, 100 + at)), [113, 113, 125, 125, 137]);
    }

    #[test]
    fn of_several_each_is_looked_at_once_a_turn() {
        let list = [Polling::memory(10, 3), Polling::memory(4, 3)];
        let first = Polling::of_all(list.into_iter(), 0);
        let second = Polling::of_all(list.into_iter(), 1);
        assert_eq!([10, 11, 24, 25].map(|at| first.seen(0, at)), [13, 27, 27, 41]);
        assert_eq!([14, 15].map(|at| second.seen(0, at)), [17, 31]);
        assert_eq!(Polling::of_all([list[0]].into_iter(), 0), list[0]);
        assert_eq!(Polling::of_all([list[0], Polling::asleep(9)].into_iter(), 1).seen(5, 7), 16);
    }
}
