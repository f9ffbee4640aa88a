//! Puts and gets by a copy that is done when the call returns, where this is faster than packets.

use super::{ENDPOINTS, PACKETS_B, Pami, SUCCESS, symbol};
use crate::pami_interface::abi::MemoryRegion;
use netloom_mpi::transport::{Memory, Process};
use netloom_mpi::ways::{Way, Ways};
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::time::Instant;

type Copy = unsafe extern "C" fn(*mut c_void, u32, *mut c_void, MemoryRegion, usize, bool) -> c_int;

/// What copies at once, and when it does.
#[derive(Debug)]
pub struct Copies {
    copy: Option<Copy>,
    /// Most data that goes through packets although the memory can be reached.
    pub packets_max_bytes: u64,
    /// The ways to other processes. Those with equal numbers modulo [`ENDPOINTS`] share what is known, so that
    /// memory does not grow with their number, and nothing is forgotten.
    ways: [Cell<Ways>; ENDPOINTS],
    /// The put in packets whose time is to be noted when it has arrived: to whom, its bytes, since when.
    trial: Cell<Option<(Process, u64, Instant)>>,
    /// Puts and copies that have begun.
    begun: Cell<u32>,
    /// How many there were when that one began.
    begun_before: Cell<u32>,
}

impl Copies {
    /// Those of a client. Packets need a process at the other end that takes them at once.
    pub fn new(client: *mut c_void, has_own_core: bool) -> Self {
        let copy = symbol(client, c"NETLOOM_whole_messages", c"copy");
        Copies {
            // SAFETY: that symbol is such a function.
            copy: copy.map(|symbol| unsafe { std::mem::transmute::<*mut c_void, Copy>(symbol) }),
            packets_max_bytes: if has_own_core { PACKETS_B } else { 0 },
            ways: std::array::from_fn(|_| Cell::default()),
            trial: Cell::default(),
            begun: Cell::default(),
            begun_before: Cell::default(),
        }
    }

    fn ways(&self, to: Process) -> &Cell<Ways> {
        &self.ways[to as usize % ENDPOINTS]
    }

    /// How to move data, and whether its time is to be noted.
    fn next(&self, to: Process, bytes: u64) -> (Way, bool) {
        if self.copy.is_none() || bytes <= self.packets_max_bytes.min(Ways::SHORT_BYTES) {
            return (Way::Packets, false);
        }
        if bytes > self.packets_max_bytes { (Way::Copy, false) } else { self.ways(to).get().next(bytes) }
    }

    /// A put in packets begins; whether its time is to be [noted](Self::tried).
    pub fn tries(&self, to: Process, bytes: u64) -> bool {
        self.begun.set(self.begun.get().wrapping_add(1));
        let is_tried = self.next(to, bytes) == (Way::Packets, true) && self.trial.get().is_none();
        if is_tried {
            self.begun_before.set(self.begun.get());
            self.trial.set(Some((to, bytes, Instant::now())));
        }
        is_tried
    }

    /// That put has arrived, as far as this process has looked, or failed.
    #[cold]
    pub fn tried(&self, has_failed: bool) {
        // Of several at once the time is that of all: packets are the way then.
        let was_alone = has_failed || self.begun.get() == self.begun_before.get();
        if let Some((to, bytes, begin)) = self.trial.take().filter(|_| was_alone) {
            self.note(to, bytes, Way::Packets, begin, has_failed);
        }
    }

    /// Notes how long a trial took, which began then; one that failed is never the faster way.
    #[cold]
    fn note(&self, to: Process, bytes: u64, way: Way, begin: Instant, has_failed: bool) {
        let ns = if has_failed { u64::MAX } else { begin.elapsed().as_nanos() as u64 };
        let mut ways = self.ways(to).get();
        ways.note(bytes, way, ns);
        self.ways(to).set(ways);
    }
}

impl Pami {
    /// Copies between this process's memory and exposed memory of another one, if that is the way; returns
    /// whether it has been done.
    pub(super) fn copy_at_once(&self, with: Process, own: Memory, exposed: u64, is_put: bool) -> bool {
        let (way, is_trial) = self.copies.next(with, own.bytes);
        let Some(copy) = self.copies.copy.filter(|_| way == Way::Copy) else { return false };
        // How long a get in packets takes, its call does not tell.
        if is_trial && !is_put {
            return false;
        }
        let Ok(endpoint) = self.endpoint(with) else { return false };
        let begin = is_trial.then(Instant::now);
        let (local, bytes) = (own.address as *mut c_void, own.bytes as usize);
        // SAFETY: the context lives; the caller's memory, and what the other process has exposed.
        let end = unsafe { copy(self.context, endpoint, local, exposed as MemoryRegion, bytes, is_put) };
        if let Some(begin) = begin {
            self.copies.note(with, own.bytes, Way::Copy, begin, end != SUCCESS);
        }
        end == SUCCESS
    }
}
