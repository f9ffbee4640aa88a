//! The memory of a guest, as its node's network interface reads and writes it.
#![allow(unsafe_code)]

use crate::link::Shared;
use netloom_node::memory::AddressSpace;
use netloom_shm::memory::{Direction, copy, copy_pieces};
use netloom_shm::segment::{Segment, State};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The launcher notes within this time that a process has ended.
const NOTED: Duration = Duration::from_secs(10);

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
    shared: Arc<Shared>,
}

impl Status {
    /// That of a guest of a job.
    pub fn new(shared: &Arc<Shared>) -> Self {
        Status { shared: Arc::clone(shared), ..Status::default() }
    }

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

    /// Memory cannot be accessed. If that is because the process has just crashed, or was killed, the job
    /// ends with its status, and nobody sees what could not be read.
    fn cannot(&self, verb: &str, segment: &Segment, store: (u32, u64, usize), error: &io::Error) {
        let (task, address, bytes) = store;
        if error.raw_os_error() == Some(libc::ESRCH) && has_failed(segment, task) {
            return self.shared.crash();
        }
        self.report(|| format!("the node cannot {verb} {bytes} B at {address:#x} of task {task}: {error}"));
    }

    fn report(&self, why: impl FnOnce() -> String) {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(why);
    }
}

/// Whether a task whose process is no longer there has failed, once the launcher knows it.
fn has_failed(segment: &Segment, task: u32) -> bool {
    let began = Instant::now();
    loop {
        match segment.task(task).state() {
            State::Dead => return true,
            State::Ended => return false,
            // It stays so if it ended with status 0.
            State::Finished if began.elapsed() > NOTED / 100 => return false,
            _ if began.elapsed() > NOTED => return false,
            _ => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// Bytes, and stores, that wait at most.
const WAITING_B: usize = 1 << 20;
const WAITING: usize = 512;

/// Stores to the memory of a node's guests that are not carried out yet. A guest sees its memory only when it
/// runs, so they are, many with one system call, before any guest of the node does: others may share the
/// memory.
#[derive(Debug, Default)]
pub struct Stores {
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    list: Vec<Waits>,
    bytes: Vec<u8>,
}

/// A store: to the memory of a task, from an address on.
#[derive(Debug)]
struct Waits {
    task: u32,
    /// Where its faults are noted.
    status: Arc<Status>,
    address: u64,
    bytes: usize,
}

impl Stores {
    fn add(&self, memory: &GuestMemory, address: u64, bytes: &[u8]) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.list.len() >= WAITING || waiting.bytes.len() + bytes.len() > WAITING_B {
            waiting.carry_out(&memory.segment);
        }
        waiting.bytes.extend_from_slice(bytes);
        match waiting.list.last_mut() {
            // Only to the last, so that the order of stores stays.
            Some(last) if last.task == memory.task && last.address + last.bytes as u64 == address => {
                last.bytes += bytes.len();
            }
            _ => {
                let (task, status) = (memory.task, Arc::clone(&memory.status));
                waiting.list.push(Waits { task, status, address, bytes: bytes.len() });
            }
        }
    }

    /// Carries them out.
    pub fn carry_out(&self, segment: &Segment) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).carry_out(segment);
    }

    /// The same before memory of a task is read, if what is read may have been stored. Memory that tasks
    /// share has an address in each: a store to another task counts.
    fn carry_out_before(&self, memory: &GuestMemory, address: u64, bytes: usize) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let meets = |store: &Waits| {
            store.task != memory.task
                || store.address < address + bytes as u64 && address < store.address + store.bytes as u64
        };
        if waiting.list.iter().any(meets) {
            waiting.carry_out(&memory.segment);
        }
    }
}

impl Waiting {
    fn carry_out(&mut self, segment: &Segment) {
        let mut from = self.bytes.as_ptr() as u64;
        for of_task in self.list.chunk_by(|a, b| a.task == b.task) {
            let place = |store: &Waits| {
                let place = (from, store.address, store.bytes);
                from += store.bytes as u64;
                place
            };
            let places: Vec<_> = of_task.iter().map(place).collect();
            let pid = segment.task(of_task[0].task).pid();
            // SAFETY: the local ranges are parts of `bytes`; the guest has given the remote ones to its
            // library.
            if unsafe { copy_pieces(Direction::Write, pid, &places) }.is_ok() {
                continue;
            }
            for (store, &(local, remote, bytes)) in of_task.iter().zip(&places) {
                // SAFETY: the same.
                if let Err(error) = unsafe { copy(Direction::Write, pid, local, remote, bytes) } {
                    store.status.cannot("write", segment, (store.task, remote, bytes), &error);
                }
            }
        }
        self.list.clear();
        self.bytes.clear();
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
    /// Stores of its node.
    pub stores: Arc<Stores>,
}

impl GuestMemory {
    /// Whether the process is there, which may access its memory.
    fn is_there(&self, verb: &str, bytes: usize) -> bool {
        let task = self.task;
        let has_ended = self.status.has_ended.load(Ordering::Acquire);
        if has_ended {
            self.status.report(|| {
                format!(
                    "the node has to {verb} {bytes} B of task {task}, which has ended: it must wait for its operations first"
                )
            });
        }
        !has_ended
    }
}

impl AddressSpace for GuestMemory {
    fn load(&self, address: u64, into: &mut [u8]) {
        if !self.is_there("read", into.len()) {
            return;
        }
        self.stores.carry_out_before(self, address, into.len());
        let (pid, local) = (self.segment.task(self.task).pid(), into.as_mut_ptr() as u64);
        // SAFETY: the local range is a slice; the guest has given the remote one to its library.
        if let Err(error) = unsafe { copy(Direction::Read, pid, local, address, into.len()) } {
            self.status.cannot("read", &self.segment, (self.task, address, into.len()), &error);
        }
    }

    fn store(&mut self, address: u64, bytes: &[u8]) {
        if self.is_there("write", bytes.len()) {
            self.stores.add(self, address, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Memory of this process, as that of a task.
    fn memory() -> GuestMemory {
        let (segment, task) = Segment::attach().unwrap();
        let segment = Arc::new(segment);
        GuestMemory { segment, task, status: Arc::default(), stores: Arc::default() }
    }

    proptest! {
        /// Whatever is stored, once or again, alone or beside another store, is read, and is there when a
        /// guest runs.
        #[test]
        fn stores_are_read_in_order(
            steps in proptest::collection::vec((0usize..900, 1usize..100, any::<Option<u8>>()), 1..100)
        ) {
            let (mut memory, mut expected) = (memory(), vec![0u8; 1000]);
            let own = vec![0u8; 1000];
            let start = own.as_ptr() as u64;
            for (at, bytes, value) in steps {
                if let Some(value) = value {
                    memory.store(start + at as u64, &vec![value; bytes]);
                    expected[at..at + bytes].fill(value);
                } else {
                    let mut read = vec![0; bytes];
                    memory.load(start + at as u64, &mut read);
                    prop_assert_eq!(&read[..], &expected[at..at + bytes]);
                }
            }
            memory.stores.carry_out(&memory.segment);
            let mut all = vec![0; 1000];
            // Past the stores that wait: none must be left.
            // SAFETY: both are this process's own.
            unsafe { copy(Direction::Read, std::process::id() as i32, all.as_mut_ptr() as u64, start, 1000) }.unwrap();
            prop_assert_eq!(all, expected);
            prop_assert_eq!(memory.status.fault(), None);
        }
    }

    #[test]
    fn stores_wait_until_a_guest_runs_and_only_so_many() {
        let mut memory = memory();
        let own = vec![0u8; 8 * (WAITING + 1)];
        let at = |n: usize| own.as_ptr() as u64 + 8 * n as u64;
        let read = |n: usize| {
            let mut byte = [0u8];
            // SAFETY: both are this process's own.
            unsafe { copy(Direction::Read, std::process::id() as i32, byte.as_mut_ptr() as u64, at(n), 1) }
                .unwrap();
            byte[0]
        };
        for n in 0..WAITING {
            memory.store(at(n), &[7]);
        }
        assert_eq!((read(0), read(WAITING - 1)), (0, 0));
        memory.store(at(WAITING), &[7]);
        assert_eq!((read(0), read(WAITING - 1), read(WAITING)), (7, 7, 0));
        memory.stores.carry_out(&memory.segment);
        assert_eq!(read(WAITING), 7);
    }

    #[test]
    fn a_store_to_no_memory_is_told_and_the_others_are_carried_out() {
        let mut memory = memory();
        let own = [0u8; 24];
        let start = own.as_ptr() as u64;
        memory.store(start, &[1]);
        memory.store(8, &[2; 3]);
        memory.store(start + 16, &[3]);
        let mut read = vec![0; 24];
        memory.load(start, &mut read);
        assert_eq!((read[0], read[16]), (1, 3));
        let fault = memory.status.fault().unwrap();
        assert!(fault.contains("the node cannot write 3 B at 0x8 of task 0"), "{fault}");
    }
}
