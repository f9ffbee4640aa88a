//! Channels between the simulator and its guests: shared memory in which one side at a time reads and writes,
//! and a word that says whose turn it is, on which the other sleeps.
//!
//! Invariant: only the side whose turn it is touches the buffer and the length. The turn is passed with release
//! and taken with acquire, so what one side wrote is there when the other's turn begins.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The environment variable by which a guest finds its channel.
pub const ENVIRONMENT: &str = "NETLOOM_CHANNELS";

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
}

/// The channels of a job, one for each task. The memory has no name, and the kernel frees it with the last process
/// that has it.
pub struct Channels {
    base: *mut u8,
    bytes: usize,
    file: OwnedFd,
}

// SAFETY: what it points to is shared between processes anyway, and accessed by turns: see the top of this file.
unsafe impl Send for Channels {}
// SAFETY: the same.
unsafe impl Sync for Channels {}

impl Channels {
    /// Channels for a job. Processes that this one starts inherit them.
    ///
    /// # Errors
    /// If there is no memory.
    pub fn create(tasks: u32) -> io::Result<Self> {
        // Not closed on exec: guests inherit it.
        // SAFETY: a system call with a constant string.
        let fd = unsafe { libc::memfd_create(c"netloom-channels".as_ptr(), 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just opened, and nobody else's.
        let file = unsafe { OwnedFd::from_raw_fd(fd) };
        let bytes = tasks as usize * CHANNEL_B;
        File::from(file.try_clone()?).set_len(bytes as u64)?;
        Self::map(file, bytes)
    }

    /// The number by which a process that inherits the channels opens them.
    pub fn fd(&self) -> RawFd {
        self.file.as_raw_fd()
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
        let fd: RawFd = value.parse().map_err(|_| invalid())?;
        // SAFETY: fails if it is not open.
        let copy = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3) };
        if copy < 0 {
            return Err(invalid());
        }
        // SAFETY: just opened, and nobody else's.
        let file = unsafe { OwnedFd::from_raw_fd(copy) };
        let bytes = File::from(file.try_clone()?).metadata()?.len() as usize;
        if bytes == 0 || !bytes.is_multiple_of(CHANNEL_B) {
            return Err(invalid());
        }
        Self::map(file, bytes).map(Some)
    }

    fn map(file: OwnedFd, bytes: usize) -> io::Result<Self> {
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
        Ok(Channels { base: base.cast(), bytes, file })
    }

    /// A side of a task's channel.
    ///
    /// # Panics
    /// If there is no such task.
    ///
    /// # Safety
    /// A side of a channel is used by one thread at a time.
    pub unsafe fn side(self: &Arc<Self>, task: u32, side: Side) -> Channel {
        assert!((task as usize) < self.bytes / CHANNEL_B, "task {task}");
        Channel { channels: Arc::clone(self), at: task as usize * CHANNEL_B, side }
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
        header.turn.store(1 - self.side as u32, Ordering::Release);
        // SAFETY: a system call on a word that lives.
        unsafe { libc::syscall(libc::SYS_futex, header.turn.as_ptr(), libc::FUTEX_WAKE, 1) };
    }

    /// Sleeps until it is this side's turn, at most this long. Returns whether it is.
    pub fn sleep(&self, at_most: Duration) -> bool {
        let header = self.header();
        let time = libc::timespec {
            tv_sec: at_most.as_secs() as libc::time_t,
            tv_nsec: libc::c_long::from(at_most.subsec_nanos() as i32),
        };
        if !self.is_own_turn() {
            let other = 1 - self.side as u32;
            // SAFETY: a system call on words that live.
            unsafe {
                libc::syscall(libc::SYS_futex, header.turn.as_ptr(), libc::FUTEX_WAIT, other, &raw const time)
            };
        }
        self.is_own_turn()
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
        let channels = Arc::new(Channels::create(3).unwrap());
        // SAFETY: each side is used by one thread.
        let (mut guest, mut simulator) =
            unsafe { (channels.side(2, Side::Guest), channels.side(2, Side::Simulator)) };
        assert!(guest.is_own_turn() && !simulator.sleep(Duration::from_millis(1)));
        let thread = std::thread::spawn(move || {
            for round in 0..1000u32 {
                guest.pass(&round.to_le_bytes());
                while !guest.sleep(Duration::from_secs(1)) {}
                assert_eq!(guest.message(), (round + 1).to_le_bytes().repeat(2));
            }
        });
        for round in 0..1000u32 {
            while !simulator.sleep(Duration::from_secs(1)) {}
            assert_eq!(simulator.message(), round.to_le_bytes());
            simulator.pass(&(round + 1).to_le_bytes().repeat(2));
        }
        thread.join().unwrap();
        assert!(channels.fd() > 2);
    }
}
