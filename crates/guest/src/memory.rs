//! The memory of a guest, as its node's Message Unit reads and writes it.
#![allow(unsafe_code)]

use netloom_node::memory::AddressSpace;
use netloom_shm::memory::{Direction, copy};
use netloom_shm::segment::Segment;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What simulator and memory of a guest know of each other.
#[derive(Debug, Default)]
pub struct Status {
    /// What went wrong first, if anything did.
    fault: Mutex<Option<String>>,
    /// The guest has handed over for the last time. Its process may live a little longer: from then on its
    /// memory is not accessed, so that the outcome does not depend on how long.
    has_ended: AtomicBool,
    /// A thread of the guest was not waited for, so simulated times can vary.
    varies: AtomicBool,
}

impl Status {
    /// What went wrong.
    pub fn fault(&self) -> Option<String> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The guest has ended.
    pub fn end(&self) {
        self.has_ended.store(true, Ordering::Release);
    }

    /// Whether simulated times can vary.
    pub fn varies(&self) -> bool {
        self.varies.load(Ordering::Relaxed)
    }

    /// They can from now on. Returns whether they could not before.
    pub fn vary(&self) -> bool {
        !self.varies.swap(true, Ordering::Relaxed)
    }

    fn report(&self, why: impl FnOnce() -> String) {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(why);
    }
}

/// The memory of a task's process.
pub struct GuestMemory {
    /// The job, where the process has noted its number.
    pub segment: Arc<Segment>,
    /// The task.
    pub task: u32,
    /// Accesses to memory that does not exist are noted here.
    pub status: Arc<Status>,
}

impl GuestMemory {
    fn access(&self, direction: Direction, local: u64, remote: u64, bytes: usize) {
        let verb = if direction == Direction::Read { "read" } else { "write" };
        let task = self.task;
        if self.status.has_ended.load(Ordering::Acquire) {
            return self.status.report(|| {
                format!(
                    "the node has to {verb} {bytes} B of task {task}, which has ended: it must wait for its operations first"
                )
            });
        }
        let pid = self.segment.task(task).pid();
        // SAFETY: the local range is a slice of the caller's; the guest has given the remote one to its
        // library.
        if let Err(error) = unsafe { copy(direction, pid, local, remote, bytes) } {
            self.status.report(|| {
                format!("the node cannot {verb} {bytes} B at {remote:#x} of task {task}: {error}")
            });
        }
    }
}

impl AddressSpace for GuestMemory {
    fn load(&self, address: u64, into: &mut [u8]) {
        self.access(Direction::Read, into.as_mut_ptr() as u64, address, into.len());
    }

    fn store(&mut self, address: u64, bytes: &[u8]) {
        self.access(Direction::Write, bytes.as_ptr() as u64, address, bytes.len());
    }
}
