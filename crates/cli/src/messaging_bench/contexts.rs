//! How the message rate grows with contexts: each of a task's threads has a context of its own, and sends
//! messages to it. That needs no more than two cores, and shows what contexts share: nothing, if two threads
//! send twice as many messages as one.
#![allow(unsafe_code)]

use super::task::{check, pin};
use pami::abi::{DispatchHints, Receive, SendImmediate, iovec};
use pami::{client, context, dispatch, send};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Messages that are sent before they are taken.
const BURST: u64 = 16;

/// Messages that have arrived at a context; no other context's are in the same cache lines.
#[repr(align(128))]
struct Arrived(AtomicU64);

unsafe extern "C" fn arrived(
    _: *mut c_void,
    cookie: *mut c_void,
    _: *const c_void,
    _: usize,
    _: *const c_void,
    _: usize,
    _: u32,
    _: *mut Receive,
) {
    // SAFETY: the cookie of `Contexts::create`, which lives as long as the context.
    let counter = unsafe { &(*cookie.cast::<Arrived>()).0 };
    // Only the thread that advances the context changes it.
    counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

/// A client with a context for each of two threads.
pub struct Contexts {
    client: *mut c_void,
    contexts: [*mut c_void; 2],
    endpoints: [u32; 2],
    counts: Box<[Arrived; 2]>,
}

// SAFETY: a context is used by one thread at a time: `rate` gives each thread one.
unsafe impl Sync for Contexts {}

impl Contexts {
    /// At this task.
    pub fn create(task: u32) -> Result<Self, String> {
        let counts = Box::new([const { Arrived(AtomicU64::new(0)) }; 2]);
        let (mut handle, mut contexts, mut endpoints) = (null_mut(), [null_mut(); 2], [0; 2]);
        // SAFETY: calls with places for their results; the cookies live as long as the contexts.
        unsafe {
            let made = client::PAMI_Client_create(c"contexts".as_ptr(), &mut handle, null_mut(), 0);
            check("PAMI_Client_create", made)?;
            let made = context::PAMI_Context_createv(handle, null_mut(), 0, contexts.as_mut_ptr(), 2);
            check("PAMI_Context_createv", made)?;
            for (offset, (context, count)) in contexts.iter().zip(&*counts).enumerate() {
                let endpoint = client::PAMI_Endpoint_create(handle, task, offset, &mut endpoints[offset]);
                check("PAMI_Endpoint_create", endpoint)?;
                let cookie = std::ptr::from_ref(count).cast_mut().cast();
                let set = dispatch::PAMI_Dispatch_set(*context, 1, Some(arrived), cookie, DispatchHints(0));
                check("PAMI_Dispatch_set", set)?;
            }
        }
        Ok(Contexts { client: handle, contexts, endpoints, counts })
    }

    /// Sends this many messages of 8 B to a context from itself.
    fn send(&self, of: usize, total: u64) -> Result<(), String> {
        let (context, count) = (self.contexts[of], &self.counts[of].0);
        let mut bytes = [0u8; 8];
        let header = iovec { iov_base: null_mut(), iov_len: 0 };
        let data = iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        let mut message = SendImmediate { header, data, dispatch: 1, hints: 0, dest: self.endpoints[of] };
        let mut sent = count.load(Ordering::Relaxed);
        let end = sent + total;
        while sent < end {
            let burst = BURST.min(end - sent);
            for _ in 0..burst {
                // SAFETY: the context lives, and this thread alone uses it; the data lives during the call.
                check("PAMI_Send_immediate", unsafe { send::PAMI_Send_immediate(context, &mut message) })?;
            }
            sent += burst;
            while count.load(Ordering::Relaxed) < sent {
                // SAFETY: as above.
                unsafe { context::PAMI_Context_advance(context, 100) };
            }
        }
        Ok(())
    }

    /// Messages per second of threads on these cores together.
    pub fn rate(&self, cores: &[usize], total: u64) -> Result<f64, String> {
        let start = Barrier::new(cores.len());
        let (contexts, start) = (self, &start);
        std::thread::scope(|scope| {
            let threads: Vec<_> = cores
                .iter()
                .enumerate()
                .map(|(of, &core)| {
                    scope.spawn(move || {
                        pin(core);
                        let warm = contexts.send(of, total / 20);
                        start.wait();
                        warm?;
                        let began = Instant::now();
                        contexts.send(of, total)?;
                        Ok(total as f64 / began.elapsed().as_secs_f64())
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("it does not panic")).sum()
        })
    }
}

impl Drop for Contexts {
    fn drop(&mut self) {
        // SAFETY: both live, and nobody uses them any more.
        unsafe {
            context::PAMI_Context_destroyv(self.contexts.as_mut_ptr(), 2);
            client::PAMI_Client_destroy(&mut self.client);
        }
    }
}
