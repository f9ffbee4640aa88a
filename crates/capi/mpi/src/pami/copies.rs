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
    /// The ways to other processes. Those with equal numbers modulo [`ENDPOINTS`] share what is known, so
    /// that memory does not grow with their number, and nothing is forgotten.
    ways: [Cell<Ways>; ENDPOINTS],
    /// The put in packets whose time is to be noted when it has arrived.
    trial: Cell<Option<Trial>>,
    /// Puts in packets that have begun.
    puts: Cell<u32>,
}

/// A put in packets whose time is to be noted.
#[derive(Clone, Copy, Debug)]
struct Trial {
    to: Process,
    bytes: u64,
    begin: Instant,
    /// Puts that had begun, with this one.
    puts: u32,
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
            puts: Cell::default(),
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

    /// A put in packets begins. Whether it is a trial, whose [end](Self::end_trial) is to be told.
    pub fn begin_put(&self, to: Process, bytes: u64) -> bool {
        let puts = self.puts.get().wrapping_add(1);
        self.puts.set(puts);
        let is_trial = self.next(to, bytes) == (Way::Packets, true) && self.trial.get().is_none();
        if is_trial {
            self.trial.set(Some(Trial { to, bytes, begin: Instant::now(), puts }));
        }
        is_trial
    }

    /// The trial has arrived, or failed. Its time includes that until this process looked for what has
    /// arrived.
    #[cold]
    pub fn end_trial(&self, has_failed: bool) {
        let Some(Trial { to, bytes, begin, puts }) = self.trial.take() else { return };
        // If others have begun since, it is the time of all; packets stay the way then, which need not be
        // waited for.
        if has_failed || self.puts.get() == puts {
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
    #[inline(always)]
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
