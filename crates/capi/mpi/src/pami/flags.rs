//! Flags of shared memory, by which ranks of this computer carry out short collectives without messages: PAMI's
//! extension `NETLOOM_flags`.

use super::symbol;
use netloom_mpi::transport::{FlagAt, FlagSpace, Process};
use netloom_shm::flags::{self, Flags};
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr::null;

type OfTask = unsafe extern "C" fn(u32) -> *const Flags;
type Written = unsafe extern "C" fn(u32);
type AwaitCell = unsafe extern "C" fn(*mut c_void, *const flags::Flag, u64);
type HasLeft = unsafe extern "C" fn(u32) -> bool;

/// Processes whose flags are known: as many as take part in a sequence.
const KNOWN: usize = 64;

/// Looks at a flag before others get to run.
const LOOKS: c_int = 300;

/// The flags of this process and of others.
#[derive(Debug)]
pub struct SharedFlags {
    own: &'static Flags,
    sets: u32,
    looks: c_int,
    known: [Cell<(Process, *const Flags)>; KNOWN],
    of_task: OfTask,
    written: Written,
    await_flag: AwaitCell,
    has_left: HasLeft,
}

impl SharedFlags {
    /// `None` if PAMI has no flags. Where threads begin collectives at the same time there are no sets.
    ///
    /// # Safety
    /// The client lives.
    pub unsafe fn new(
        client: *mut c_void,
        own: Process,
        has_own_core: bool,
        is_multiple: bool,
    ) -> Option<Self> {
        let found = |name| symbol(client, c"NETLOOM_flags", name);
        // SAFETY: symbols of these types; flags are there as long as the process.
        unsafe {
            let of_task = std::mem::transmute::<*mut c_void, OfTask>(found(c"of_task")?);
            Some(SharedFlags {
                own: of_task(own).as_ref()?,
                sets: if is_multiple { 0 } else { flags::SETS as u32 },
                looks: if has_own_core { LOOKS } else { 1 },
                known: [const { Cell::new((0, null())) }; KNOWN],
                of_task,
                written: std::mem::transmute::<*mut c_void, Written>(found(c"written")?),
                await_flag: std::mem::transmute::<*mut c_void, AwaitCell>(found(c"await_flag")?),
                has_left: std::mem::transmute::<*mut c_void, HasLeft>(found(c"has_left")?),
            })
        }
    }

    #[inline]
    pub fn space(&self) -> FlagSpace {
        FlagSpace { sets: self.sets, rounds: flags::ROUNDS as u32, bytes: flags::DATA_B }
    }

    #[inline]
    fn of(&self, process: Process) -> &'static Flags {
        match self.known[process as usize % KNOWN].get() {
            // SAFETY: flags are there as long as the process.
            (known, flags) if known == process && !flags.is_null() => unsafe { &*flags },
            _ => self.find(process),
        }
    }

    #[cold]
    fn find(&self, process: Process) -> &'static Flags {
        // SAFETY: PAMI's function.
        let flags = unsafe { (self.of_task)(process) };
        self.known[process as usize % KNOWN].set((process, flags));
        // SAFETY: as above.
        unsafe { flags.as_ref() }.expect("a process of a communicator is a task of the job")
    }

    #[inline]
    fn at(flags: &'static Flags, at: FlagAt) -> &'static flags::Flag {
        flags.of(at.set as usize, at.sequence, at.round as usize)
    }

    #[inline]
    pub fn write(&self, at: FlagAt, data: &[u8], reader: Process) {
        Self::at(self.own, at).write(at.sequence, data);
        // SAFETY: PAMI's function.
        unsafe { (self.written)(reader) };
    }

    #[inline]
    pub fn read(&self, at: FlagAt, of: Process, space: &mut [u8]) -> Option<usize> {
        let flag = Self::at(self.of(of), at);
        (0..self.looks).find_map(|_| flag.read(at.sequence, space))
    }

    /// See [`Transport::await_flag`](netloom_mpi::transport::Transport::await_flag).
    ///
    /// # Safety
    /// The context lives.
    #[cold]
    pub unsafe fn set_awaited(&self, context: *mut c_void, awaited: Option<(FlagAt, Process)>) {
        let (flag, sequence) = awaited
            .map_or((null(), 0), |(at, of)| (std::ptr::from_ref(Self::at(self.of(of), at)), at.sequence));
        // SAFETY: the caller's promise; flags are there as long as the process.
        unsafe { (self.await_flag)(context, flag, sequence) };
    }

    #[cold]
    pub fn has_left(&self, process: Process) -> bool {
        // SAFETY: PAMI's function.
        unsafe { (self.has_left)(process) }
    }
}
