//! Several contexts of PAMI for messages (section IV.A of the PAMI paper): which of them a message takes at
//! its two ends depends on the other process and the communicator, so messages of two processes in a
//! communicator stay in order, and others can be worked on at the same time.
//!
//! With communication threads each context of messages has its own lock, and sends are handed to the thread
//! that advances it. Context 0 then carries no messages: it has what PAMI does besides (collectives,
//! transfers), and its lock is that of the library: see [`crate::threads`].
//!
//! # Order
//! A send that is handed over is counted until the thread has carried it out, under the context's lock. A
//! send to a context with such a count is handed over too; one that is not has the context's lock. Senders
//! have the library's lock. So sends of a context are carried out in their order. Where all are handed over,
//! PAMI's queue keeps the order of what a thread posts, with the library's lock or without it.

use super::functions::*;
use super::{AGAIN, MESSAGE, POLLS, Pami, SUCCESS, listener, reason, sent, symbol};
use crate::entry::tell;
use crate::pami_interface::abi::{
    AttributeValue, Configuration, Send, SendEvents, SendImmediate, attribute, iovec,
};
use crate::threads;
use netloom_mpi::matching::Envelope;
use netloom_mpi::transport::{Memory, Process, Refused};
use netloom_mpi::waits::CONTEXTS;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

/// Contexts natively if communication threads are asked for and no number.
const NATIVE_CONTEXTS: usize = 4;

/// What the environment says, by IBM's names: the same for all processes of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Contexts of a process.
    pub contexts: usize,
    /// Whether communication threads advance those of messages.
    pub have_threads: bool,
    /// Whether these threads get all sends, or those only for which a context's lock is taken.
    pub are_posted: bool,
}

/// A number of the environment. One that cannot be read is told of by the first process.
fn number(name: &str, own: Process) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    let parsed = text.trim().parse().ok();
    if parsed.is_none() && own == 0 {
        tell(&format!("warning: {name} is {text}, which is no number; it is ignored"));
    }
    parsed
}

impl Settings {
    /// Reads it for a process that may have this number of contexts, and whose program asks for
    /// `MPI_THREAD_MULTIPLE` or not. On a simulated machine that enables communication threads, as the paper
    /// says; natively they would take cores from the program.
    pub fn new(is_simulated: bool, most: usize, own: Process, is_multiple: bool) -> Self {
        let number = |name| number(name, own);
        let is_on = |name| number(name).map(|value| value > 0);
        let variable = is_on("PAMID_ASYNC_PROGRESS").or_else(|| is_on("PAMID_THREAD_MULTIPLE"));
        let is_asked = variable.unwrap_or(is_simulated && is_multiple);
        let usual = match (is_asked, is_simulated) {
            (false, _) => 1,
            (true, false) => NATIVE_CONTEXTS,
            (true, true) => most,
        };
        // It is the most that there are to be.
        let set = number("PAMID_CONTEXT_MAX").map(|count| usize::try_from(count).unwrap_or(usize::MAX));
        let contexts = set.unwrap_or(usual).clamp(1, most);
        let have_threads = is_asked && contexts > 1;
        // Without a variable there are as many as the machine gives.
        if variable == Some(true) && !have_threads && own == 0 {
            let why = match most {
                1 => "a process has one context of PAMI here",
                _ => "PAMID_CONTEXT_MAX is 1",
            };
            tell(&format!("warning: there are no communication threads: {why}, and they need two"));
        }
        Settings { contexts, have_threads, are_posted: is_on("PAMID_CONTEXT_POST").unwrap_or(is_simulated) }
    }

    /// That other processes have as many contexts for messages: one with fewer would never look at some that
    /// messages to it take.
    pub fn check_alike(&self, client: *mut c_void) -> Result<(), String> {
        type Common = unsafe extern "C" fn(u32) -> u32;
        let Some(common) = symbol(client, c"NETLOOM_threads", c"common") else { return Ok(()) };
        let to_number = |of: &Settings| 2 * of.contexts as u32 + u32::from(of.have_threads);
        // SAFETY: a function of PAMI's extension.
        let first = unsafe { std::mem::transmute::<*mut c_void, Common>(common)(to_number(self)) };
        if first == to_number(self) {
            return Ok(());
        }
        let in_words = |contexts, have_threads| match (contexts, have_threads) {
            (1, _) => "one context of PAMI".to_owned(),
            (contexts, true) => format!("{contexts} contexts of PAMI with communication threads"),
            (contexts, false) => format!("{contexts} contexts of PAMI"),
        };
        Err(format!(
            "this rank would have {}, and another one has {}: PAMID_CONTEXT_MAX, PAMID_ASYNC_PROGRESS and \
             PAMID_THREAD_MULTIPLE have to be the same for all; if only some ranks ask for \
             MPI_THREAD_MULTIPLE, set PAMID_THREAD_MULTIPLE to 0 or 1 for all",
            in_words(self.contexts, self.have_threads),
            in_words(first as usize / 2, first % 2 == 1),
        ))
    }
}

/// An envelope as bytes: its address would have the envelope of messages without these contexts in memory,
/// too.
type Header = [u8; Envelope::BYTES];

type Lock = unsafe extern "C" fn(*mut c_void) -> c_int;
type Release = unsafe extern "C" fn(*mut c_void);

/// The contexts of messages of a process, if these have more than context 0.
#[derive(Debug)]
pub struct Contexts {
    list: Vec<*mut c_void>,
    /// Of each, the sends that were handed over and have not been carried out. They stay where they are.
    handed: Box<[AtomicU32]>,
    /// The number of the first.
    first: usize,
    settings: Settings,
    /// PAMI's functions for a context's lock, with communication threads.
    locks: Option<(Lock, Release)>,
}

/// A send that is handed over, as PAMI's posted work.
#[repr(C)]
struct Handed {
    /// PAMI's `pami_work_t`.
    work: [usize; 6],
    header: Header,
    dest: u32,
    data: Data,
    count: *const AtomicU32,
}

enum Data {
    /// A copy: the send has ended for its caller.
    Copy(Box<[u8]>),
    /// The program's, until the end of the request is reported.
    Kept(Memory, u64),
}

#[inline]
pub fn immediate(header: &[u8], (address, bytes): (u64, usize), dest: u32) -> SendImmediate {
    let part = |address: u64, bytes: usize| iovec { iov_base: address as *mut c_void, iov_len: bytes };
    SendImmediate {
        header: part(header.as_ptr() as u64, header.len()),
        data: part(address, bytes),
        dispatch: MESSAGE,
        hints: 0,
        dest,
    }
}

/// Sends a message in a context that this thread may use; the end of one that is not short is reported with
/// this number.
fn send_in(
    context: *mut c_void,
    header: &[u8],
    data: (u64, usize),
    dest: u32,
    number: Option<u64>,
) -> Result<(), Refused> {
    let send = immediate(header, data, dest);
    // SAFETY: the context lives; the header is copied in the calls, and so is the data of an immediate send.
    // Other data stays until the end is reported.
    let (result, call) = unsafe {
        match number {
            None => (PAMI_Send_immediate(context, &mut { send }), "PAMI_Send_immediate"),
            Some(number) => {
                let events =
                    SendEvents { cookie: number as *mut c_void, local_fn: Some(sent), remote_fn: None };
                (PAMI_Send(context, &mut Send { send, events }), "PAMI_Send")
            }
        }
    };
    if result == SUCCESS { Ok(()) } else { Err(Refused(reason(call))) }
}

/// Posted work: carries out a send that was handed over.
unsafe extern "C" fn carry_out(context: *mut c_void, cookie: *mut c_void) -> c_int {
    // SAFETY: made by `hand_over`, and run once.
    let handed = unsafe { Box::from_raw(cookie.cast::<Handed>()) };
    let (data, number) = match &handed.data {
        Data::Copy(bytes) => ((bytes.as_ptr() as u64, bytes.len()), None),
        Data::Kept(memory, number) => ((memory.address, memory.bytes as usize), Some(*number)),
    };
    if let Err(Refused(why)) = send_in(context, &handed.header, data, handed.dest, number) {
        tell(&format!("a send that was handed to a communication thread is lost: {why}"));
        if let (Some(number), Some(listener)) = (number, listener()) {
            threads::in_dispatch(|| listener.sent(number, true));
        }
    }
    // SAFETY: the counts live as long as the contexts.
    unsafe { (*handed.count).fetch_sub(1, Ordering::Release) };
    SUCCESS
}

impl Contexts {
    /// Of a process with these contexts of PAMI; `None` if one carries all messages.
    pub fn new(client: *mut c_void, all: &[*mut c_void], settings: Settings) -> Option<Self> {
        if all.len() == 1 {
            return None;
        }
        let first = usize::from(settings.have_threads);
        let list = all[first..].to_vec();
        let locks = settings.have_threads.then(|| {
            let found = |name| {
                symbol(client, c"NETLOOM_threads", name)
                    .expect("PAMI has it where it has communication threads")
            };
            // SAFETY: the symbols are functions of these types.
            unsafe {
                (
                    std::mem::transmute::<*mut c_void, Lock>(found(c"try_lock")),
                    std::mem::transmute::<*mut c_void, Release>(found(c"release")),
                )
            }
        });
        let handed = list.iter().map(|_| AtomicU32::new(0)).collect();
        Some(Contexts { list, handed, first, settings, locks })
    }

    /// The place of the context for messages with a process in the communicator of a context of matching.
    fn hash(&self, process: Process, matching_context: u32) -> usize {
        process.wrapping_add(matching_context / CONTEXTS) as usize % self.list.len()
    }
}

impl Pami {
    /// The contexts that are joined to context 0, and whether communication threads advance them.
    pub(super) fn joined(&self) -> (Vec<*mut c_void>, bool) {
        let of = |contexts: &Contexts| (contexts.list[1 - contexts.first..].to_vec(), self.has_threads());
        self.contexts.as_ref().map_or((vec![], false), of)
    }

    /// Whether communication threads advance the contexts of messages.
    pub fn has_threads(&self) -> bool {
        self.contexts.as_ref().is_some_and(|contexts| contexts.settings.have_threads)
    }

    /// All contexts have what is needed for messages: communication threads begin.
    pub fn start_threads(&self) -> Result<(), String> {
        let Some(contexts) = self.contexts.as_ref().filter(|_| self.has_threads()) else { return Ok(()) };
        type Enable = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;
        let enable = symbol(self.client, c"EXT_async_progress", c"enable")
            .ok_or_else(|| reason("EXT_async_progress"))?;
        for &context in &contexts.list {
            // SAFETY: PAMI's function, for a context that lives.
            let result = unsafe { std::mem::transmute::<*mut c_void, Enable>(enable)(context, ASYNC_ALL) };
            if result != SUCCESS {
                return Err(reason("EXT_async_progress"));
            }
        }
        if contexts.settings.are_posted {
            crate::handoff::set(Some(self.short_max_bytes.get()));
        }
        Ok(())
    }

    /// Communication threads end, and what was handed to them is carried out. The caller has not the
    /// library's lock, for which they may wait.
    pub fn stop_threads(&self) {
        let Some(contexts) = self.contexts.as_ref().filter(|_| self.has_threads()) else { return };
        type Disable = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;
        let Some(disable) = symbol(self.client, c"EXT_async_progress", c"disable") else { return };
        for (&context, handed) in contexts.list.iter().zip(&contexts.handed) {
            // SAFETY: PAMI's functions, for a context that lives, and that no other thread uses then.
            unsafe {
                std::mem::transmute::<*mut c_void, Disable>(disable)(context, ASYNC_ALL);
                while handed.load(Ordering::Acquire) > 0 {
                    PAMI_Context_advance(context, 1);
                }
            }
        }
    }

    /// Most contexts that PAMI gives a process.
    pub(super) fn most_contexts(client: *mut c_void) -> usize {
        let value = AttributeValue { intval: 1 };
        let mut most = Configuration { name: attribute::CLIENT_NUM_CONTEXTS, value };
        // SAFETY: the client lives; the attribute is a number.
        unsafe {
            PAMI_Client_query(client, &mut most, 1);
            most.value.intval
        }
    }

    /// Sends a message in its context, or hands it to the thread that advances that; of one that is not
    /// short, the end of this request is reported.
    #[inline(never)]
    pub(super) fn send_hashed(
        &self,
        contexts: &Contexts,
        to: Process,
        (header, context): (Header, u32),
        data: Memory,
        number: Option<u64>,
    ) -> Result<(), Refused> {
        let dest = self.hashed_endpoint(contexts, to, context)?;
        let send = |context| send_in(context, &header, (data.address, data.bytes as usize), dest, number);
        let at = contexts.hash(to, context);
        if let Some(sent) = contexts.with(at, send) {
            return sent;
        }
        let data = match number {
            Some(number) => Data::Kept(data, number),
            None => Data::Copy(copy_of(data)),
        };
        contexts.hand_over(at, header, dest, data)
    }

    /// Sends a message of several packets at once, if its context can be used at once.
    #[inline(never)]
    pub(super) fn send_whole_hashed(
        &self,
        contexts: &Contexts,
        to: Process,
        (header, context): (Header, u32),
        data: Memory,
    ) -> Result<bool, Refused> {
        let Some(send_whole) = self.send_whole else { return Ok(false) };
        let dest = self.hashed_endpoint(contexts, to, context)?;
        let mut send = immediate(&header, (data.address, data.bytes as usize), dest);
        // SAFETY: header and data are there during the call.
        match contexts.with(contexts.hash(to, context), |context| unsafe { send_whole(context, &mut send) }) {
            Some(SUCCESS) => Ok(true),
            None | Some(AGAIN) => Ok(false),
            Some(_) => Err(Refused(reason("a send of a whole message"))),
        }
    }

    /// The endpoint at which another process takes a message of this one.
    fn hashed_endpoint(&self, contexts: &Contexts, to: Process, context: u32) -> Result<u32, Refused> {
        let offset = contexts.first + contexts.hash(self.own, context);
        let mut endpoint = 0;
        // SAFETY: a place for the result.
        match unsafe { PAMI_Endpoint_create(self.client, to, offset, &mut endpoint) } {
            SUCCESS => Ok(endpoint),
            _ => Err(Refused(reason("PAMI_Endpoint_create"))),
        }
    }

    /// Makes progress of all contexts, where no communication thread does.
    #[inline(never)]
    pub(super) fn advance_hashed(&self, contexts: &Contexts) {
        if self.has_threads() {
            // It carries no messages.
            // SAFETY: the context lives.
            unsafe { PAMI_Context_advance(self.context, POLLS) };
        } else {
            let mut list = contexts.list.clone();
            // SAFETY: the contexts live.
            unsafe { PAMI_Context_advancev(list.as_mut_ptr(), list.len(), POLLS) };
        }
    }

    /// The same without waiting.
    #[inline(never)]
    pub(super) fn poll_hashed(&self, contexts: &Contexts) {
        if self.has_threads() {
            // SAFETY: the context lives.
            unsafe { self.polls.poll(self.context) };
        } else {
            // SAFETY: the contexts live.
            unsafe { self.polls.poll_several(&mut contexts.list.clone()) };
        }
    }
}

/// `PAMIX_ASYNC_ALL`.
const ASYNC_ALL: c_int = 0;

fn copy_of(data: Memory) -> Box<[u8]> {
    match data.bytes {
        0 => Box::default(),
        // SAFETY: the caller of a send gives it.
        bytes => unsafe { std::slice::from_raw_parts(data.address as *const u8, bytes as usize) }.into(),
    }
}

impl Contexts {
    /// Does something with a context; `None` if a communication thread is to do it.
    fn with<R>(&self, at: usize, act: impl FnOnce(*mut c_void) -> R) -> Option<R> {
        let context = self.list[at];
        let Some((try_lock, release)) = self.locks else { return Some(act(context)) };
        // SAFETY: PAMI's function, for a context that lives.
        let may_act = !self.settings.are_posted
            && self.handed[at].load(Ordering::Acquire) == 0
            && unsafe { try_lock(context) } != 0;
        may_act.then(|| {
            let result = act(context);
            // SAFETY: this thread has taken the lock.
            unsafe { release(context) };
            result
        })
    }

    fn hand_over(&self, at: usize, header: Header, dest: u32, data: Data) -> Result<(), Refused> {
        let count = &self.handed[at];
        count.fetch_add(1, Ordering::Relaxed);
        let handed = Box::into_raw(Box::new(Handed { work: [0; 6], header, dest, data, count }));
        // SAFETY: the context lives; the work stays until it is carried out, which frees it.
        match unsafe { PAMI_Context_post(self.list[at], handed.cast(), Some(carry_out), handed.cast()) } {
            SUCCESS => Ok(()),
            _ => {
                count.fetch_sub(1, Ordering::Relaxed);
                // SAFETY: made just now, and not posted.
                drop(unsafe { Box::from_raw(handed) });
                Err(Refused(reason("PAMI_Context_post")))
            }
        }
    }
}
