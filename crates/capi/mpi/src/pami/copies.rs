//! Puts and gets: what they have in common, and those by a copy that is done when the call returns, where this
//! is faster than packets.

use super::arrivals::transferred;
use super::functions::*;
use super::{NO_RDMA, PACKETS_B, Pami, SHORT_B, SUCCESS, reason, symbol};
use crate::pami_interface::abi::{MemoryRegion, Rma};
use netloom_mpi::paths::{AllPaths, Path, Paths};
use netloom_mpi::transport::{Memory, Process, Refused};
use std::ffi::{c_int, c_void};
use std::time::Duration;

type Copy = unsafe extern "C" fn(*mut c_void, u32, *mut c_void, MemoryRegion, usize, bool) -> c_int;

/// What copies at once, and when it does.
#[derive(Debug)]
pub struct Copies {
    copy: Option<Copy>,
    /// Most data that goes through packets although the memory can be reached.
    pub packets_max_bytes: u64,
    paths: AllPaths,
}

impl Copies {
    /// Those of a client. Packets need a process at the other end that takes them at once.
    pub fn new(client: *mut c_void, has_own_core: bool) -> Self {
        let copy = symbol(client, c"NETLOOM_whole_messages", c"copy");
        Copies {
            // SAFETY: that symbol is such a function.
            copy: copy.map(|symbol| unsafe { std::mem::transmute::<*mut c_void, Copy>(symbol) }),
            packets_max_bytes: if has_own_core { PACKETS_B } else { 0 },
            paths: AllPaths::default(),
        }
    }

    /// Whether there are two paths, and either may be the faster one.
    pub fn tries(&self) -> bool {
        self.copy.is_some() && self.packets_max_bytes > 0
    }

    /// The same for messages: where the program's user says which are eager, nothing is tried.
    pub fn tries_messages(&self) -> bool {
        self.tries() && ["PAMID_EAGER", "PAMID_RZV"].iter().all(|name| std::env::var_os(name).is_none())
    }

    fn paths(&self, to: Process) -> &Paths {
        self.paths.to(to)
    }

    /// The path of a put, and whether its time is to be noted. Several short ones that are not waited for take
    /// less time in packets.
    #[inline(always)]
    pub fn put_path(&self, to: Process, bytes: u64, is_alone: bool) -> (Path, bool) {
        let is_long = bytes > self.packets_max_bytes && bytes >= SHORT_B;
        let is_message = !self.tries() || (bytes <= Paths::SHORT_BYTES && !is_alone) || bytes == 0;
        match (is_long, is_message) {
            (true, _) if self.copy.is_some() => (Path::Copy, false),
            (_, true) => (Path::Packets, false),
            _ => match self.paths(to).next(bytes) {
                (_, true) if !is_alone => (Path::Packets, false),
                next => next,
            },
        }
    }

    /// Notes the time of a trial; `None` if it failed, which makes its row the slowest possible.
    #[cold]
    pub fn note_put(&self, to: Process, bytes: u64, path: Path, time: Option<Duration>) {
        self.paths(to).note(bytes, path, Some(time.map_or(u64::MAX, |time| time.as_nanos() as u64)));
    }
}

impl Pami {
    /// Copies between this process's memory and exposed memory of another one; returns whether it has been
    /// done.
    #[inline(always)]
    pub(super) fn copy(&self, with: Process, own: Memory, exposed: u64, is_put: bool) -> bool {
        let Some(copy) = self.copies.copy else { return false };
        let Ok(endpoint) = self.endpoint(with) else { return false };
        let (local, bytes) = (own.address as *mut c_void, own.bytes as usize);
        // SAFETY: the context lives; the caller's memory, and what the other process has exposed.
        SUCCESS == unsafe { copy(self.context, endpoint, local, exposed as MemoryRegion, bytes, is_put) }
    }

    /// A region of memory, by which other processes know it too.
    pub(super) fn region(&self, memory: Memory) -> Option<MemoryRegion> {
        let (mut registered, mut region) = (0, 0);
        let Memory { address, bytes } = memory;
        let bytes = bytes as usize;
        // SAFETY: the context lives; places for the results.
        let made = unsafe {
            PAMI_Memregion_create(self.context, address as *mut c_void, bytes, &mut registered, &mut region)
        };
        (made == SUCCESS && registered == bytes && region != 0).then_some(region)
    }

    /// What puts and gets have in common: the other process, and this one's memory.
    pub(super) fn transfer(
        &self,
        with: Process,
        memory: Memory,
        number: u64,
    ) -> Result<(Rma, MemoryRegion), Refused> {
        let region = self.region(memory).ok_or_else(|| Refused(reason("PAMI_Memregion_create")))?;
        let (dest, bytes, cookie) = (self.endpoint(with)?, memory.bytes as usize, number as *mut c_void);
        let hints = if memory.bytes <= self.copies.packets_max_bytes { NO_RDMA } else { 0 };
        Ok((Rma { dest, hints, bytes, cookie, done_fn: Some(transferred) }, region))
    }
}
