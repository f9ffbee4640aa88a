//! How a process sleeps until another writes to one of its queues: a futex, rung only while it sleeps, so
//! that a message to a process that polls makes no system call.
//!
//! # Invariant
//! A writer writes, then looks whether the process sleeps; a process says that it sleeps, then looks whether
//! something was written. With a full fence between the two steps on both sides at least one of them sees the
//! other (Dekker's pattern), so no message waits for a process that sleeps on.
//!
//! The writer's fence would cost a third of a short message. Where Linux offers `membarrier`, the process
//! that is about to sleep makes all others pass a full fence instead, once per sleep, and writers do without:
//! [`spare_fences`].
//!
//! A doorbell has several bells. A writer rings the bell of the queue that it wrote to.
#![allow(unsafe_code)]

use crate::sync::{AtomicU32, Ordering, fence};
#[cfg(not(all(loom, test)))]
use {crate::segment::QUEUES, std::time::Duration};

/// Whether this process passes a full fence whenever another is about to sleep.
static IS_FENCED_BY_OTHERS: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

const MEMBARRIER_GLOBAL_EXPEDITED: libc::c_int = 1 << 1;
const MEMBARRIER_REGISTER_GLOBAL_EXPEDITED: libc::c_int = 1 << 2;

fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: a system call without pointers.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// From now on this process's [`Doorbell::ring`] has no fence of its own, if the kernel can fence it when
/// another process is about to sleep. All processes that sleep must be able to call `membarrier`, as those of
/// one computer are. To be called before the first ring.
pub fn spare_fences() {
    if membarrier(MEMBARRIER_REGISTER_GLOBAL_EXPEDITED) {
        IS_FENCED_BY_OTHERS.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}

/// Bells of a doorbell. Threads that wait for different queues sleep at different bells, so that a message
/// wakes only those that it concerns.
#[cfg(not(all(loom, test)))]
pub const BELLS: usize = 32;
#[cfg(all(loom, test))]
const BELLS: usize = 2;
#[cfg(not(all(loom, test)))]
const RUNG_FOR: usize = QUEUES;
#[cfg(all(loom, test))]
const RUNG_FOR: usize = 2;

/// The doorbell of a process. All bytes zero is valid.
#[repr(C, align(128))]
pub struct Doorbell {
    /// Number of threads that sleep, or are about to, at any bell.
    sleeping: AtomicU32,
    bells: [Bell; BELLS],
    /// The bell that is rung for each queue.
    of_queue: [AtomicU32; RUNG_FOR],
}

#[repr(C)]
struct Bell {
    /// Number of threads that sleep here, or are about to.
    sleeping: AtomicU32,
    /// Counts rings: the futex.
    rings: AtomicU32,
}

impl Doorbell {
    /// After something was written to a queue of the process, or posted to its owner: wakes who sleeps for
    /// it.
    #[inline]
    pub fn ring(&self, queue: usize) {
        self.fence();
        if self.sleeping.load(Ordering::Relaxed) != 0 {
            self.bell(self.bell_of(queue)).wake();
        }
    }

    /// Wakes all that sleep, after something was written for which any of them may wait.
    #[inline]
    pub fn ring_all(&self) {
        self.fence();
        if self.sleeping.load(Ordering::Relaxed) != 0 {
            self.bells.iter().for_each(Bell::wake);
        }
    }

    #[inline]
    fn fence(&self) {
        if IS_FENCED_BY_OTHERS.load(std::sync::atomic::Ordering::Relaxed) {
            // The compiler must not move the load up either.
            std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
        } else {
            fence(Ordering::SeqCst);
        }
    }

    /// The bell that is rung for a queue; at first the bell 0.
    #[inline]
    pub fn bell_of(&self, queue: usize) -> usize {
        self.of_queue[queue].load(Ordering::Relaxed) as usize
    }

    /// Changes the bell that is rung for a queue. Who sleeps at the old one does not hear of messages any
    /// more. Who looks at the queue after it has prepared to sleep at the new one misses none: a writer that
    /// still rang the old one wrote before that.
    pub fn set_bell(&self, queue: usize, bell: usize) {
        self.of_queue[queue].store(bell as u32, Ordering::Relaxed);
    }

    fn bell(&self, n: usize) -> &Bell {
        // Other processes write the number.
        &self.bells[n % BELLS]
    }

    /// Sleeps until this bell rings, at most this long, unless `is_ready` when it is about to.
    #[cfg(not(all(loom, test)))]
    pub fn sleep(&self, bell: usize, at_most: Duration, is_ready: impl FnOnce() -> bool) {
        let seen = self.prepare(bell);
        if IS_FENCED_BY_OTHERS.load(std::sync::atomic::Ordering::Relaxed) {
            membarrier(MEMBARRIER_GLOBAL_EXPEDITED);
        }
        if !is_ready() {
            let time = libc::timespec {
                tv_sec: at_most.as_secs() as libc::time_t,
                tv_nsec: libc::c_long::from(at_most.subsec_nanos()),
            };
            let rings = self.bell(bell).rings.as_ptr();
            // SAFETY: a system call on a word that lives as long as the reference, with a time that does too.
            unsafe {
                libc::syscall(libc::SYS_futex, rings, libc::FUTEX_WAIT, seen, &raw const time);
            }
        }
        self.finish(bell);
    }

    /// The process is about to sleep; returns the number of rings, which its futex call expects.
    fn prepare(&self, bell: usize) -> u32 {
        let bell = self.bell(bell);
        let seen = bell.rings.load(Ordering::Acquire);
        bell.sleeping.fetch_add(1, Ordering::Relaxed);
        self.sleeping.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        seen
    }

    fn finish(&self, bell: usize) {
        self.sleeping.fetch_sub(1, Ordering::Relaxed);
        self.bell(bell).sleeping.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Bell {
    #[cold]
    fn wake(&self) {
        if self.sleeping.load(Ordering::Relaxed) == 0 {
            return;
        }
        self.rings.fetch_add(1, Ordering::Release);
        #[cfg(not(all(loom, test)))]
        // SAFETY: a system call on a word that lives as long as the reference.
        unsafe {
            libc::syscall(libc::SYS_futex, self.rings.as_ptr(), libc::FUTEX_WAKE, i32::MAX);
        }
    }
}

#[cfg(test)]
impl Doorbell {
    fn new() -> Self {
        let bell = |_| Bell { sleeping: AtomicU32::new(0), rings: AtomicU32::new(0) };
        Doorbell {
            sleeping: AtomicU32::new(0),
            bells: std::array::from_fn(bell),
            of_queue: std::array::from_fn(|_| AtomicU32::new(0)),
        }
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
        bell.sleep(0, Duration::from_secs(10), || true);
        let (other, set) = (Arc::clone(&bell), Arc::clone(&flag));
        let writer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            set.store(true, Ordering::Release);
            other.ring(0);
        });
        while !flag.load(Ordering::Acquire) {
            bell.sleep(0, Duration::from_secs(10), || flag.load(Ordering::Acquire));
        }
        writer.join().unwrap();
        bell.sleep(0, Duration::from_millis(1), || false);
        assert!(began.elapsed() < Duration::from_secs(5));
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no futex with time")]
    fn a_sleeper_is_woken_for_its_queues_only() {
        let bell = Arc::new(Doorbell::new());
        bell.set_bell(7, 1);
        let other = Arc::clone(&bell);
        let sleeper = std::thread::spawn(move || {
            let began = Instant::now();
            other.sleep(1, Duration::from_secs(10), || false);
            began.elapsed()
        });
        std::thread::sleep(Duration::from_millis(20));
        bell.ring(6);
        std::thread::sleep(Duration::from_millis(50));
        assert!(!sleeper.is_finished());
        bell.ring(7);
        let slept = sleeper.join().unwrap();
        assert!(slept > Duration::from_millis(40) && slept < Duration::from_secs(5), "{slept:?}");
        let other = Arc::clone(&bell);
        let sleeper = std::thread::spawn(move || other.sleep(2, Duration::from_secs(100), || false));
        while !sleeper.is_finished() {
            bell.ring_all();
        }
        sleeper.join().unwrap();
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;

    /// The sleeper would sleep only if it saw no message; then the writer must have rung. `before` runs
    /// before the sleeper prepares to sleep.
    fn no_lost_wakeup(at: usize, before: impl Fn(&Doorbell) + Sync + Send + 'static) {
        loom::model(move || {
            let shared = Arc::new((Doorbell::new(), AtomicU32::new(0)));
            let writer = {
                let shared = Arc::clone(&shared);
                loom::thread::spawn(move || {
                    shared.1.store(1, Ordering::Release);
                    shared.0.ring(0);
                })
            };
            before(&shared.0);
            let seen = shared.0.prepare(at);
            let would_sleep = shared.1.load(Ordering::Acquire) == 0;
            writer.join().unwrap();
            let rung = shared.0.bell(at).rings.load(Ordering::Acquire) != seen;
            assert!(!would_sleep || rung, "it would sleep for ever");
            shared.0.finish(at);
        });
    }

    #[test]
    fn loom_no_lost_wakeup() {
        no_lost_wakeup(0, |_| {});
    }

    #[test]
    fn loom_no_lost_wakeup_when_the_bell_changes() {
        no_lost_wakeup(1, |doorbell| doorbell.set_bell(0, 1));
    }
}
