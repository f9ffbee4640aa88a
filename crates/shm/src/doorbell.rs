//! How a process sleeps until another writes to one of its queues: a futex, rung only while it sleeps, so that
//! a message to a process that polls makes no system call.
//!
//! # Invariant
//! A writer writes, then looks whether the process sleeps; a process says that it sleeps, then looks whether
//! something was written. With a full fence between the two steps on both sides at least one of them sees the
//! other (Dekker's pattern), so no message waits for a process that sleeps on.
//!
//! The writer's fence would cost a third of a short message. Where Linux offers `membarrier`, the process that is
//! about to sleep makes all others pass a full fence instead, once per sleep, and writers do without:
//! [`spare_fences`].
#![allow(unsafe_code)]

use crate::sync::{AtomicU32, Ordering, fence};
#[cfg(not(all(loom, test)))]
use std::time::Duration;

/// Whether this process passes a full fence whenever another is about to sleep.
static IS_FENCED_BY_OTHERS: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

const MEMBARRIER_GLOBAL_EXPEDITED: libc::c_int = 1 << 1;
const MEMBARRIER_REGISTER_GLOBAL_EXPEDITED: libc::c_int = 1 << 2;

fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: a system call without pointers.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// From now on this process's [`Doorbell::ring`] has no fence of its own, if the kernel can fence it when another
/// process is about to sleep. All processes that sleep must be able to call `membarrier`, as those of one
/// computer are. To be called before the first ring.
pub fn spare_fences() {
    if membarrier(MEMBARRIER_REGISTER_GLOBAL_EXPEDITED) {
        IS_FENCED_BY_OTHERS.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}

/// The doorbell of a process. All bytes zero is valid.
#[repr(C, align(128))]
pub struct Doorbell {
    /// Number of threads that sleep, or are about to.
    sleeping: AtomicU32,
    /// Counts rings: the futex.
    rings: AtomicU32,
}

impl Doorbell {
    /// After something was written to the process: wakes it if it sleeps.
    #[inline]
    pub fn ring(&self) {
        if IS_FENCED_BY_OTHERS.load(std::sync::atomic::Ordering::Relaxed) {
            // The compiler must not move the load up either.
            std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
        } else {
            fence(Ordering::SeqCst);
        }
        if self.sleeping.load(Ordering::Relaxed) != 0 {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        self.rings.fetch_add(1, Ordering::Release);
        #[cfg(not(all(loom, test)))]
        // SAFETY: a system call on a word that lives as long as the reference.
        unsafe {
            libc::syscall(libc::SYS_futex, self.rings.as_ptr(), libc::FUTEX_WAKE, i32::MAX);
        }
    }

    /// Sleeps until the doorbell rings, at most this long, unless `is_ready` when it is about to.
    #[cfg(not(all(loom, test)))]
    pub fn sleep(&self, at_most: Duration, is_ready: impl FnOnce() -> bool) {
        let seen = self.prepare();
        if IS_FENCED_BY_OTHERS.load(std::sync::atomic::Ordering::Relaxed) {
            membarrier(MEMBARRIER_GLOBAL_EXPEDITED);
        }
        if !is_ready() {
            let time = libc::timespec {
                tv_sec: at_most.as_secs() as libc::time_t,
                tv_nsec: libc::c_long::from(at_most.subsec_nanos()),
            };
            // SAFETY: a system call on a word that lives as long as the reference, with a time that does too.
            unsafe {
                libc::syscall(libc::SYS_futex, self.rings.as_ptr(), libc::FUTEX_WAIT, seen, &raw const time);
            }
        }
        self.finish();
    }

    /// The process is about to sleep; returns the number of rings, which its futex call expects.
    fn prepare(&self) -> u32 {
        let seen = self.rings.load(Ordering::Acquire);
        self.sleeping.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        seen
    }

    fn finish(&self) {
        self.sleeping.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
impl Doorbell {
    fn new() -> Self {
        Doorbell { sleeping: AtomicU32::new(0), rings: AtomicU32::new(0) }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    use std::time::Instant;

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no futex with time")]
    fn a_sleeper_is_woken_and_does_not_sleep_when_something_is_there() {
        let (bell, flag) = (Arc::new(Doorbell::new()), Arc::new(AtomicBool::new(false)));
        let began = Instant::now();
        bell.sleep(Duration::from_secs(10), || true);
        let (other, set) = (Arc::clone(&bell), Arc::clone(&flag));
        let writer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            set.store(true, Ordering::Release);
            other.ring();
        });
        while !flag.load(Ordering::Acquire) {
            bell.sleep(Duration::from_secs(10), || flag.load(Ordering::Acquire));
        }
        writer.join().unwrap();
        bell.sleep(Duration::from_millis(1), || false);
        assert!(began.elapsed() < Duration::from_secs(5));
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;

    /// The sleeper would sleep only if it saw no message; then the writer must have rung.
    #[test]
    fn loom_no_lost_wakeup() {
        loom::model(|| {
            let shared = Arc::new((Doorbell::new(), AtomicU32::new(0)));
            let writer = {
                let shared = Arc::clone(&shared);
                loom::thread::spawn(move || {
                    shared.1.store(1, Ordering::Release);
                    shared.0.ring();
                })
            };
            let seen = shared.0.prepare();
            let would_sleep = shared.1.load(Ordering::Acquire) == 0;
            writer.join().unwrap();
            let rung = shared.0.rings.load(Ordering::Acquire) != seen;
            assert!(!would_sleep || rung, "it would sleep for ever");
            shared.0.finish();
        });
    }
}
