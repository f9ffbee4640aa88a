//! A lock between the hardware threads of a rank: "a low overhead L2 atomic mutex" (section IV.A). It is
//! taken by an atomic operation of the L2; who finds it taken polls until it gets it, in the order of coming
//! **(ours)**.

use netloom_node::process::ProcessId;
use std::collections::VecDeque;

/// The lock's state.
#[derive(Debug, Default)]
pub(super) struct Mutex {
    holder: Option<ProcessId>,
    waiting: VecDeque<ProcessId>,
}

impl Mutex {
    /// A hardware thread tries to take it; if it cannot, it is one of those that wait.
    pub(super) fn try_lock(&mut self, process: ProcessId) -> bool {
        match self.holder {
            None => self.holder = Some(process),
            Some(holder) if holder == process => {}
            Some(_) => {
                if !self.waiting.contains(&process) {
                    self.waiting.push_back(process);
                }
                return false;
            }
        }
        true
    }

    /// Gives it to the next; who must be unparked.
    pub(super) fn unlock(&mut self) -> Option<ProcessId> {
        self.holder = self.waiting.pop_front();
        self.holder
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_given_to_those_that_wait_in_their_order() {
        let mut mutex = Mutex::default();
        assert!(mutex.try_lock(3) && !mutex.try_lock(5) && !mutex.try_lock(4) && !mutex.try_lock(5));
        assert_eq!(mutex.unlock(), Some(5));
        // Whom it was given to finds it taken by itself.
        assert!(mutex.try_lock(5) && !mutex.try_lock(3));
        assert_eq!([mutex.unlock(), mutex.unlock(), mutex.unlock()], [Some(4), Some(3), None]);
        assert!(mutex.try_lock(1));
    }
}
