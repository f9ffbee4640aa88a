//! The memory of a guest, as its node's Message Unit reads and writes it.
#![allow(unsafe_code)]

use netloom_node::memory::AddressSpace;
use netloom_shm::memory::{Direction, copy};
use netloom_shm::segment::Segment;
use std::sync::{Arc, Mutex, PoisonError};

/// What went wrong first, if anything did.
pub type Fault = Arc<Mutex<Option<String>>>;

/// The memory of a task's process.
pub struct GuestMemory {
    /// The job, where the process has noted its number.
    pub segment: Arc<Segment>,
    /// The task.
    pub task: u32,
    /// Accesses to memory that does not exist are noted here.
    pub fault: Fault,
}

impl GuestMemory {
    fn access(&self, direction: Direction, local: u64, remote: u64, bytes: usize) {
        let pid = self.segment.task(self.task).pid();
        // SAFETY: the local range is a slice of the caller's; the guest has given the remote one to its library.
        if let Err(error) = unsafe { copy(direction, pid, local, remote, bytes) } {
            let verb = if direction == Direction::Read { "read" } else { "write" };
            let mut fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
            let task = self.task;
            fault.get_or_insert_with(|| {
                format!("the Message Unit cannot {verb} {bytes} B at {remote:#x} of task {task}: {error}")
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
