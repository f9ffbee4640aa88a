//! What the hardware does between two cores, without PAMI: lines of memory that both tasks share. It is here, not
//! in the benchmark's own crate, since that is compiled to be compiled soon: there each poll was a call.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A variable with a cache line of its own, and the next one.
#[repr(C, align(128))]
struct Line(AtomicU64);

/// The memory that both tasks share. All bytes zero is valid.
#[repr(C)]
pub struct Shared {
    ping_pong: [Line; 2],
    arrived: [Line; 2],
}

/// A file with the shared memory, which tasks inherit.
pub fn create() -> io::Result<File> {
    // SAFETY: a system call with a constant string. Without MFD_CLOEXEC tasks inherit it.
    let fd = unsafe { libc::memfd_create(c"netloom-bench".as_ptr(), 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just opened, and nobody else's.
    let file = unsafe { File::from_raw_fd(fd) };
    file.set_len(size_of::<Shared>() as u64)?;
    Ok(file)
}

/// Maps the file that this task inherited, until the process ends.
pub fn map(fd: RawFd) -> io::Result<&'static Shared> {
    let length = size_of::<Shared>();
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
    // SAFETY: a new mapping, which overlaps nothing.
    let base = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, fd, 0) };
    if base == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: mapped just now and for good, aligned to a page, valid for all bytes zero, and atomic.
    Ok(unsafe { &*base.cast::<Shared>() })
}

impl Shared {
    /// Waits until both tasks are here.
    pub fn barrier(&self, task: usize) {
        let own = self.arrived[task].0.fetch_add(1, Ordering::AcqRel) + 1;
        while self.arrived[1 - task].0.load(Ordering::Acquire) < own {
            std::hint::spin_loop();
        }
    }

    /// The same for a task that may wait long: it leaves its core to others.
    pub fn rest(&self, task: usize) {
        let own = self.arrived[task].0.fetch_add(1, Ordering::AcqRel) + 1;
        while self.arrived[1 - task].0.load(Ordering::Acquire) < own {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Half round trip of one cache line, s, by the plainest loop.
    #[inline(never)]
    pub fn ping_pong_s(&self, task: usize, rounds: u64) -> f64 {
        let [own, other] = [task, 1 - task].map(|task| &self.ping_pong[task].0);
        let first = own.load(Ordering::Relaxed);
        self.barrier(task);
        let began = Instant::now();
        for round in first + 1..=first + rounds {
            if task == 0 {
                own.store(round, Ordering::Release);
            }
            while other.load(Ordering::Acquire) < round {}
            if task == 1 {
                own.store(round, Ordering::Release);
            }
        }
        began.elapsed().as_secs_f64() / rounds as f64 / 2.0
    }
}
