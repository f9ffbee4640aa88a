//! Channels between the simulator and its guests: shared memory in which one side at a time reads and writes,
//! and a word that says whose turn it is, on which the other sleeps.
//!
//! Each thread of a guest has a channel of its own.
//!
//! Invariant: only the side whose turn it is touches the buffer and the length. The turn is passed with
//! release and taken with acquire, so what one side wrote is there when the other's turn begins.
#![allow(unsafe_code)]

use crate::segment::{inherited, is_memory};
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// The environment variable by which a guest finds its channel.
pub const ENVIRONMENT: &str = "NETLOOM_CHANNELS";

/// The name that the kernel shows for the memory.
const NAME: &CStr = c"netloom-channels";

/// Most bytes of a message.
pub const MESSAGE_MAX: usize = CHANNEL_B - 4096;
const CHANNEL_B: usize = 1 << 20;

/// One of the two that share a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Side {
    /// The process that runs on a simulated node. The first turn is its.
    Guest,
    /// The simulator.
    Simulator,
}

#[repr(C, align(64))]
struct Header {
    turn: AtomicU32,
    length: AtomicU32,
    /// The kernel's number of the guest's thread.
    thread: AtomicU32,
    /// Of a task's first thread: the threads that have begun by themselves, a bit for each.
    foreign: AtomicU64,
}

/// The channels of a job, as many for each task as it may have threads. The memory has no name, and the
/// kernel frees it with the last process that has it.
pub struct Channels {
    base: *mut u8,
    bytes: usize,
    threads: u32,
    file: OwnedFd,
}

// SAFETY: what it points to is shared between processes anyway, and accessed by turns: see the top of this
// file.
unsafe impl Send for Channels {}
// SAFETY: the same.
unsafe impl Sync for Channels {}

impl Channels {
    /// Channels for a job. Processes that this one starts inherit them.
    ///
    /// # Errors
    /// If there is no memory.
    pub fn create(tasks: u32, threads: u32) -> io::Result<Self> {
        // Not closed on exec: guests inherit it.
        // SAFETY: a system call with a constant string.
        let fd = unsafe { libc::memfd_create(NAME.as_ptr(), 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just opened, and nobody else's.
        let file = unsafe { OwnedFd::from_raw_fd(fd) };
        let bytes = tasks as usize * threads as usize * CHANNEL_B;
        File::from(file.try_clone()?).set_len(bytes as u64)?;
        Self::map(file, bytes, threads)
    }

    /// What a process that inherits the channels finds in [`ENVIRONMENT`].
    pub fn variable(&self) -> String {
        format!("{},{}", self.file.as_raw_fd(), self.threads)
    }

    /// Whether this process was started as a guest.
    pub fn are_inherited() -> bool {
        std::env::var_os(ENVIRONMENT).is_some()
    }

    /// Threads that a task may have.
    pub fn threads(&self) -> u32 {
        self.threads
    }

    /// Opens the channels that the simulator passed on, if this process runs on a simulated node.
    ///
    /// # Errors
    /// If they are not there.
    pub fn inherited() -> io::Result<Option<Self>> {
        let Ok(value) = std::env::var(ENVIRONMENT) else { return Ok(None) };
        let invalid = || {
            let why = format!("{ENVIRONMENT}={value} is not what `netloom mpirun` sets; unset it");
            io::Error::new(io::ErrorKind::InvalidInput, why)
        };
        let (fd, threads) = value.split_once(',').ok_or_else(invalid)?;
        let (fd, threads): (RawFd, u32) =
            fd.parse().ok().zip(threads.parse().ok()).filter(|&(_, n)| n > 0).ok_or_else(invalid)?;
        for file in inherited(fd) {
            let bytes = file.metadata()?.len() as usize;
            let is_whole = bytes > 0 && bytes.is_multiple_of(CHANNEL_B * threads as usize);
            if is_whole && is_memory(&file, NAME) {
                return Self::map(file.into(), bytes, threads).map(Some);
            }
        }
        Err(invalid())
    }

    fn map(file: OwnedFd, bytes: usize, threads: u32) -> io::Result<Self> {
        // SAFETY: a new mapping, of an open file of at least this length.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_NORESERVE,
                file.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Channels { base: base.cast(), bytes, threads, file })
    }

    /// A side of the channel of a thread of a task.
    ///
    /// # Panics
    /// If there is no such task or thread.
    ///
    /// # Safety
    /// A side of a channel is used by one thread at a time.
    pub unsafe fn side(self: &Arc<Self>, task: u32, thread: u32, side: Side) -> Channel {
        let at = (task as usize * self.threads as usize + thread as usize) * CHANNEL_B;
        assert!(at < self.bytes && thread < self.threads, "thread {thread} of task {task}");
        Channel { channels: Arc::clone(self), at, side }
    }
}

impl Drop for Channels {
    fn drop(&mut self) {
        // SAFETY: mapped by `map`, and nothing refers to it any more.
        unsafe { libc::munmap(self.base.cast(), self.bytes) };
    }
}

/// A side of a channel.
pub struct Channel {
    channels: Arc<Channels>,
    at: usize,
    side: Side,
}

impl Channel {
    fn header(&self) -> &Header {
        // SAFETY: the channel lies in the mapping, which lives as long as this; its words are atomic.
        unsafe { &*self.channels.base.add(self.at).cast::<Header>() }
    }

    /// Whether it is this side's turn.
    pub fn is_own_turn(&self) -> bool {
        self.header().turn.load(Ordering::Acquire) == self.side as u32
    }

    /// Notes the kernel's number of the thread that is the guest's side.
    pub fn set_thread(&self, number: u32) {
        self.header().thread.store(number, Ordering::Relaxed);
    }

    /// That number.
    pub fn thread(&self) -> u32 {
        self.header().thread.load(Ordering::Relaxed)
    }

    /// In the channel of a task's first thread: another thread of the task has begun by itself.
    pub fn add_foreign(&self, thread: u32) {
        self.header().foreign.fetch_or(1 << thread, Ordering::AcqRel);
    }

    /// Whether there are such threads.
    pub fn has_foreign(&self) -> bool {
        self.header().foreign.load(Ordering::Acquire) != 0
    }

    /// Those since the last call.
    pub fn take_foreign(&self) -> impl Iterator<Item = u32> + use<> {
        let threads = if self.has_foreign() { self.header().foreign.swap(0, Ordering::AcqRel) } else { 0 };
        (0..u64::BITS).filter(move |thread| threads & 1 << thread != 0)
    }

    /// Leaves the turn to the other side without a message, as at the beginning.
    pub fn yield_turn(&mut self) {
        self.give_turn();
    }

    /// Writes a message for the other side, whose turn it is then. Call it in one's own turn only.
    ///
    /// # Panics
    /// If the message is too long.
    pub fn pass(&mut self, message: &[u8]) {
        assert!(message.len() <= MESSAGE_MAX, "a message of {} B", message.len());
        let header = self.header();
        // SAFETY: the buffer is of this length, and it is this side's turn.
        unsafe {
            let buffer = self.channels.base.add(self.at + 4096);
            buffer.copy_from_nonoverlapping(message.as_ptr(), message.len());
        }
        header.length.store(message.len() as u32, Ordering::Relaxed);
        self.give_turn();
    }

    fn give_turn(&self) {
        let header = self.header();
        header.turn.store(1 - self.side as u32, Ordering::Release);
        // SAFETY: a system call on a word that lives.
        unsafe { libc::syscall(libc::SYS_futex, header.turn.as_ptr(), libc::FUTEX_WAKE, 1) };
    }

    /// Sleeps until it is this side's turn, at most this long. Returns whether it is.
    pub fn sleep(&self, at_most: Duration) -> bool {
        let time = libc::timespec {
            tv_sec: at_most.as_secs() as libc::time_t,
            tv_nsec: libc::c_long::from(at_most.subsec_nanos() as i32),
        };
        self.sleep_until_woken(&raw const time);
        self.is_own_turn()
    }

    /// Sleeps until it is this side's turn. The kernel sets no timer, which takes time.
    pub fn wait(&self) {
        while !self.is_own_turn() {
            self.sleep_until_woken(std::ptr::null());
        }
    }

    fn sleep_until_woken(&self, at_most: *const libc::timespec) {
        if !self.is_own_turn() {
            let (turn, other) = (self.header().turn.as_ptr(), 1 - self.side as u32);
            // SAFETY: a system call on a word that lives; NULL, or the callers' time.
            unsafe { libc::syscall(libc::SYS_futex, turn, libc::FUTEX_WAIT, other, at_most) };
        }
    }

    /// The message that the other side has left. Call it in one's own turn only.
    pub fn message(&self) -> &[u8] {
        let length = (self.header().length.load(Ordering::Relaxed) as usize).min(MESSAGE_MAX);
        // SAFETY: the buffer is of this length, and the other side leaves it alone in this side's turn.
        unsafe { std::slice::from_raw_parts(self.channels.base.add(self.at + 4096), length) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_go_to_and_fro() {
        let channels = Arc::new(Channels::create(3, 2).unwrap());
        // SAFETY: each side is used by one thread.
        let (mut guest, mut simulator) =
            unsafe { (channels.side(2, 1, Side::Guest), channels.side(2, 1, Side::Simulator)) };
        assert!(guest.is_own_turn() && !simulator.sleep(Duration::from_millis(1)));
        let thread = std::thread::spawn(move || {
            for round in 0..1000u32 {
                guest.pass(&round.to_le_bytes());
                guest.wait();
                assert_eq!(guest.message(), (round + 1).to_le_bytes().repeat(2));
            }
        });
        for round in 0..1000u32 {
            while !simulator.sleep(Duration::from_secs(1)) {}
            assert_eq!(simulator.message(), round.to_le_bytes());
            simulator.pass(&(round + 1).to_le_bytes().repeat(2));
        }
        thread.join().unwrap();
        assert!(channels.variable().ends_with(",2"));
    }
}
