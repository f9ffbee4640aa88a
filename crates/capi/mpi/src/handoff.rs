//! Sends that go to communication threads without the library's lock, where those get all sends (section IV.A
//! of the PAMI paper): a message that is short and of a predefined type is copied, and PAMI's queue of posted
//! work takes it. Its request is the one of all sends that have ended, so nothing of the library is touched.
//!
//! What such a send needs to know of a communicator each thread keeps. It asks for it again, under the lock,
//! when communicators have been made, changed or freed since.

use crate::buffer::Buffer;
use crate::library::library;
use crate::pami::listener;
use crate::requests::ENDED_SEND;
use netloom_mpi::datatype;
use netloom_mpi::matching::Envelope;
use netloom_mpi::transport::{Memory, MessageEvent, Process, Step, Transport};
use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};

/// Most bytes of such a send, and 1; 0 if there are none.
static LIMIT: AtomicUsize = AtomicUsize::new(0);
/// How often communicators were made, changed or freed.
static CHANGES: AtomicU64 = AtomicU64::new(1);
/// Such sends, and the bytes of their data.
static SENDS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);
/// Those of which the program got a handle.
static HANDLES: AtomicI64 = AtomicI64::new(0);

thread_local! {
    static KNOWN: RefCell<Known> = const { RefCell::new(Known { changes: 0, communicators: vec![] }) };
}

/// What a thread knows of communicators.
struct Known {
    changes: u64,
    communicators: Vec<Communicator>,
}

struct Communicator {
    handle: usize,
    context: u32,
    /// This process's rank.
    source: i32,
    peers: Box<[Process]>,
}

/// Sends of at most this length go past the lock from now on; none if there is no length.
pub fn set(most: Option<usize>) {
    LIMIT.store(most.map_or(0, |most| most + 1), Ordering::Release);
}

/// A communicator has been made, changed or freed.
pub fn note_change() {
    CHANGES.fetch_add(1, Ordering::Release);
}

/// Such sends so far, and the bytes of their data.
pub fn counts() -> [u64; 2] {
    [&SENDS, &BYTES].map(|count| count.load(Ordering::Relaxed))
}

/// How many handles of such sends the program got.
pub fn handles() -> i64 {
    HANDLES.load(Ordering::Relaxed)
}

/// Whether there are such sends.
#[inline]
pub fn is_on() -> bool {
    LIMIT.load(Ordering::Relaxed) != 0
}

/// Hands a send to its communication thread; false if it is not such a send, or not a valid one: then nothing
/// has been done.
///
/// # Safety
/// The program gave the arguments.
#[cold]
pub unsafe fn send(
    buf: *const c_void,
    count: impl Into<i64>,
    of: usize,
    (dest, tag, comm): (c_int, c_int, usize),
) -> bool {
    let most = LIMIT.load(Ordering::Acquire);
    if most == 0 || tag < 0 || dest < 0 || datatype::predefined(of).is_none() {
        return false;
    }
    let buffer = Buffer::new(["buf", "count", "datatype"], buf, count, of);
    let (Some(data), Some(listener)) = (buffer.plain(most - 1), listener()) else { return false };
    let Some((to, envelope)) = envelope(dest, tag, comm, data) else { return false };
    let transport = listener.transport();
    if transport.send_short(to, envelope, data).is_err() {
        return false;
    }
    SENDS.fetch_add(1, Ordering::Relaxed);
    BYTES.fetch_add(data.bytes, Ordering::Relaxed);
    true
}

/// The same, with a handle for the request.
///
/// # Safety
/// As [`send`].
#[cold]
pub unsafe fn isend(
    buf: *const c_void,
    count: impl Into<i64>,
    of: usize,
    to: (c_int, c_int, usize),
    request: *mut usize,
) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        let is_sent = !request.is_null() && send(buf, count, of, to);
        if is_sent {
            HANDLES.fetch_add(1, Ordering::Relaxed);
            *request = ENDED_SEND;
        }
        is_sent
    }
}

/// Where a message goes, and its envelope; its send begins.
fn envelope(dest: c_int, tag: c_int, comm: usize, data: Memory) -> Option<(Process, Envelope)> {
    KNOWN
        .with_borrow_mut(|known| {
            let changes = CHANGES.load(Ordering::Acquire);
            if known.changes != changes {
                *known = Known { changes, communicators: vec![] };
            }
            let place = known.communicators.iter().position(|of| of.handle == comm);
            let of = match place {
                Some(at) => &known.communicators[at],
                None => {
                    known.communicators.push(look_up(comm)?);
                    known.communicators.last()?
                }
            };
            let to = *of.peers.get(dest as usize)?;
            let (context, source) = (of.context, of.source);
            Some((to, Envelope { context, source, tag, bytes: data.bytes, acknowledge: 0 }))
        })
        .inspect(|&(to, envelope)| {
            if let Some(listener) = listener() {
                listener.transport().observe(|| MessageEvent::Sent(to, envelope));
                listener.transport().spend(Step::Send);
            }
        })
}

/// What the library knows of a communicator.
fn look_up(handle: usize) -> Option<Communicator> {
    // SAFETY: the thread is in a call of the program, and has not the lock.
    let mut library = unsafe { library() }?;
    let id = library.comm("comm", handle).ok()?;
    let of = library.of(id);
    let peers = (0..of.peers()).map(|rank| of.peer(rank)).collect();
    Some(Communicator { handle, context: of.group.context, source: of.group.rank as i32, peers })
}
