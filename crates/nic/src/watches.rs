//! What processes of a node wait for, by polling memory or asleep, and who goes on when something has come there.

use crate::agenda::MILLI;
use std::collections::BTreeMap;

/// What each process waits for, and since when.
pub(crate) struct Watches<W>(BTreeMap<u8, (u64, W)>);

impl<W> Default for Watches<W> {
    fn default() -> Self {
        Watches(BTreeMap::new())
    }
}

/// What polling takes: a turn of the loop, and from the poll that finds something until the program goes on.
#[derive(Clone, Copy)]
pub(crate) struct Polling {
    pub poll_milliticks: u64,
    pub found_milliticks: u64,
}

impl<W: Copy> Watches<W> {
    /// A process waits from now on.
    pub fn wait(&mut self, process: u8, since: u64, what: W) {
        self.0.insert(process, (since, what));
    }

    /// Whether anybody waits for this.
    pub fn any(&self, is_it: impl Fn(W) -> bool) -> bool {
        self.0.values().any(|&(_, what)| is_it(what))
    }

    /// It no longer waits, if it has done so since that time and for the same: says whether it did.
    pub fn give_up(&mut self, process: u8, since: u64) -> bool {
        let waits = self.0.get(&process).is_some_and(|&(from, _)| from == since);
        if waits {
            self.0.remove(&process);
        }
        waits
    }

    /// Who polls for this no longer waits: who, and when it goes on, at the end of the turn in which it is there.
    pub fn found(&mut self, t: u64, polling: Polling, is_it: impl Fn(u8, W) -> bool) -> Vec<(u8, u64)> {
        let turn = polling.poll_milliticks * MILLI;
        let end = |since: u64| since + t.saturating_sub(since).div_ceil(turn).max(1) * turn;
        let goes_on = |since| end(since) + polling.found_milliticks * MILLI;
        self.take(is_it).into_iter().map(|(process, since)| (process, goes_on(since))).collect()
    }

    /// Who sleeps until this is there no longer waits: who, and since when it has.
    pub fn take(&mut self, is_it: impl Fn(u8, W) -> bool) -> Vec<(u8, u64)> {
        let mut taken = vec![];
        self.0.retain(|&process, &mut (since, what)| {
            let is_it = is_it(process, what);
            if is_it {
                taken.push((process, since));
            }
            !is_it
        });
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_polls_goes_on_at_the_end_of_a_turn() {
        let polling = Polling { poll_milliticks: 10, found_milliticks: 3 };
        let mut watches = Watches::default();
        watches.wait(1, 500, 'a');
        watches.wait(2, 600, 'b');
        watches.wait(3, 700, 'a');
        assert!(watches.any(|w| w == 'b') && !watches.any(|w| w == 'c'));
        // Turns of 10,000: the second ends at 20,500, and at once there is one turn at the least.
        assert_eq!(watches.found(12_000, polling, |p, w| p == 1 && w == 'a'), [(1, 23_500)]);
        assert_eq!(watches.found(700, polling, |_, w| w == 'a'), [(3, 13_700)]);
        assert!(!watches.give_up(2, 601) && watches.give_up(2, 600) && !watches.give_up(2, 600));
    }
}
