//! The lock of a window at a target: held by any number of origins, or by one alone; who waits is served in
//! order.

use crate::transport::Process;
use std::collections::VecDeque;

/// A window's lock at this process.
#[derive(Debug, Default)]
pub struct Lock {
    is_exclusive: bool,
    holders: u32,
    waiting: VecDeque<(Process, bool)>,
}

impl Lock {
    /// An origin wants it; returns whether it has it now. Otherwise it waits.
    pub fn request(&mut self, from: Process, is_exclusive: bool) -> bool {
        if !self.waiting.is_empty() || !self.is_free_for(is_exclusive) {
            self.waiting.push_back((from, is_exclusive));
            return false;
        }
        self.grant(is_exclusive);
        true
    }

    fn is_free_for(&self, is_exclusive: bool) -> bool {
        self.holders == 0 || !is_exclusive && !self.is_exclusive
    }

    fn grant(&mut self, is_exclusive: bool) {
        self.is_exclusive = is_exclusive;
        self.holders += 1;
    }

    /// A holder releases it; returns who has it now that waited.
    pub fn release(&mut self) -> Vec<Process> {
        self.holders = self.holders.saturating_sub(1);
        let mut granted = vec![];
        while let Some(&(next, is_exclusive)) = self.waiting.front()
            && self.is_free_for(is_exclusive)
        {
            self.waiting.pop_front();
            self.grant(is_exclusive);
            granted.push(next);
        }
        granted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_are_granted_in_order_and_shared_ones_together() {
        let mut lock = Lock::default();
        assert!(lock.request(1, false) && lock.request(2, false));
        assert!(!lock.request(3, true));
        // It waits behind the exclusive one.
        assert!(!lock.request(4, false) && !lock.request(5, false) && !lock.request(6, true));
        assert_eq!(lock.release(), []);
        assert_eq!(lock.release(), [3]);
        assert_eq!(lock.release(), [4, 5]);
        assert_eq!(lock.release(), []);
        assert_eq!(lock.release(), [6]);
        assert_eq!(lock.release(), []);
        assert!(lock.request(7, true));
    }
}
