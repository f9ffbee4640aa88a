//! The lock of a window at a target: held by any number of origins, or by one alone. A shared lock is granted
//! while others share it, also if somebody waits for it alone: an origin may hold the locks of many targets
//! (`MPI_Win_lock_all`), and if it waited behind those who wait for an origin that waits for it, none would
//! go on.

use crate::transport::Process;
use std::collections::VecDeque;

/// A window's lock at this process.
#[derive(Debug, Default)]
pub struct Lock {
    is_exclusive: bool,
    holders: Vec<Process>,
    waiting: VecDeque<(Process, bool)>,
}

impl Lock {
    /// An origin wants it; returns whether it has it now. Otherwise it waits.
    pub fn request(&mut self, from: Process, is_exclusive: bool) -> bool {
        let is_free = self.holders.is_empty() || !is_exclusive && !self.is_exclusive;
        if is_free {
            self.grant(from, is_exclusive);
        } else {
            self.waiting.push_back((from, is_exclusive));
        }
        is_free
    }

    fn grant(&mut self, to: Process, is_exclusive: bool) {
        self.is_exclusive = is_exclusive;
        self.holders.push(to);
    }

    /// Those that have it.
    pub fn holders(&self) -> &[Process] {
        &self.holders
    }

    /// A holder releases it; returns who has it now that waited: the first, and if it shares it, all that do.
    pub fn release(&mut self, holder: Process) -> Vec<Process> {
        if let Some(at) = self.holders.iter().position(|&of| of == holder) {
            self.holders.swap_remove(at);
        }
        let Some(&(first, is_exclusive)) = self.waiting.front().filter(|_| self.holders.is_empty()) else {
            return vec![];
        };
        let granted: Vec<Process> = match is_exclusive {
            true => {
                self.waiting.pop_front();
                vec![first]
            }
            false => {
                let shared = self.waiting.iter().filter(|of| !of.1).map(|of| of.0).collect();
                self.waiting.retain(|of| of.1);
                shared
            }
        };
        granted.iter().for_each(|&to| self.grant(to, is_exclusive));
        granted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_is_served_in_order_and_shared_locks_are_shared_at_once() {
        let mut lock = Lock::default();
        assert!(lock.request(1, false) && lock.request(2, false));
        assert!(!lock.request(3, true));
        // It does not wait behind the exclusive one.
        assert!(lock.request(4, false));
        assert_eq!(lock.holders(), [1, 2, 4]);
        // Who does not hold it releases nothing.
        assert_eq!([4, 1, 3].map(|of| lock.release(of)), [[], [], []]);
        assert_eq!(lock.release(2), [3]);
        assert!(!lock.request(5, false) && !lock.request(6, true) && !lock.request(7, false));
        assert_eq!(lock.release(3), [5, 7]);
        assert_eq!(lock.release(7), []);
        assert_eq!(lock.release(5), [6]);
        assert_eq!(lock.release(6), []);
        assert!(lock.request(8, true));
    }

    /// Origins that share the locks of two targets do not wait for those that wait for one of them alone,
    /// each for another.
    #[test]
    fn sharing_two_locks_is_no_deadlock() {
        let [mut a, mut b] = [Lock::default(), Lock::default()];
        assert!(a.request(1, false) && b.request(2, false));
        assert!(!a.request(3, true) && !b.request(4, true));
        assert!(b.request(1, false) && a.request(2, false));
    }
}
