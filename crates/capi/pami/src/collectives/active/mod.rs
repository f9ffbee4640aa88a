//! Active-message collectives: one member starts, the others learn of it from their dispatch function.
//!
//! The root sends a message to each member. In a gather or a reduce the member answers with the data that its
//! dispatch function names, and the root keeps the answers until all are there.
//!
//! - `root` – the member that starts.
//! - `invocation` – dispatch functions and what they fill in.

mod invocation;
mod root;

use super::{DISPATCH, Done, Header, one_report};
use crate::abi::*;
use crate::check::enter;
use crate::client::fail;
use crate::context::{Callback, Context, context};
use crate::device::Payload;
use crate::typed::{Buffer, target};
use crate::xfer::{Active, kind};
use invocation::{Function, Invocation, Registered, answer};
use netloom_messaging::pami::Map;
use netloom_messaging::pami::context::{Message, Receive as CoreReceive, Send as CoreSend};
use netloom_messaging::pami::device::Range;
use netloom_messaging::pami::types::Type;
use std::ffi::c_void;
use std::sync::Arc;

/// The active-message collectives of a context.
#[derive(Default)]
pub struct ActiveMessages {
    /// By geometry, collective and identifier.
    registered: Map<(u32, u32, u32), Registered>,
    /// Operations that this member started and that are not complete, by number.
    roots: Map<u32, Root>,
    next: u32,
}

impl ActiveMessages {
    /// Operations that this member started and that are not complete.
    pub fn pending(&self) -> usize {
        self.roots.len()
    }
}

/// An operation at its root.
struct Root {
    /// Sends and answers that are to come.
    pending: usize,
    end: End,
    result: Result,
}

/// What happens at the end of an operation.
enum End {
    /// A broadcast: the program's callback.
    Done(Done),
    /// A scatter: the root receives its own block.
    Own { invocation: Invocation, data: (Buffer, usize) },
    /// A gather or a reduce: the answers, by member, and where they go.
    Answers {
        invocation: Invocation,
        me: usize,
        answers: Vec<(Buffer, usize)>,
        active: Active,
        kind: Arc<Type>,
    },
}

/// Words between the header of a collective and the program's: identifier, number at the root, length of an
/// answer.
const PREFIX_BYTES: usize = 16;
/// Kind of message of an answer; requests have the number of their collective plus one.
const ANSWER: u32 = 100;

fn prefix(dispatch: u32, number: u32, bytes: usize) -> [u8; PREFIX_BYTES] {
    let mut prefix = [0; PREFIX_BYTES];
    prefix[..4].copy_from_slice(&dispatch.to_le_bytes());
    prefix[4..8].copy_from_slice(&number.to_le_bytes());
    prefix[8..].copy_from_slice(&(bytes as u64).to_le_bytes());
    prefix
}

/// A send from memory of this library.
struct Departure {
    _data: Buffer,
    done: Done,
}

unsafe extern "C" fn departed(handle: *mut c_void, cookie: *mut c_void, result: Result) {
    // SAFETY: made by `send_buffer`, and reported once; called by the context itself.
    let (departure, context) = unsafe { (Box::from_raw(cookie.cast::<Departure>()), context(handle)) };
    if let Some(context) = context {
        // SAFETY: the program gave both.
        unsafe { context.call(departure.done.function, departure.done.cookie, result) };
    }
}

impl Context {
    /// Sends a header and a buffer, which is freed afterwards; then `done` is called.
    fn send_buffer(&self, to: u32, header: &[u8], mut data: Buffer, bytes: usize, done: Done) -> Result {
        let range = Range { address: data.address() as u64, bytes: bytes as u64 };
        let departure = Box::into_raw(Box::new(Departure { _data: data, done }));
        let result = self.send_range(to, header, range, one_report(departure.cast(), departed));
        if result != SUCCESS {
            // SAFETY: nothing will be reported.
            drop(unsafe { Box::from_raw(departure) });
        }
        result
    }

    /// Sends a header, and memory that stays as it is until the callback.
    fn send_range(&self, to: u32, header: &[u8], data: Range, callback: Callback) -> Result {
        let cookie = self.callbacks().insert(callback);
        let to = netloom_messaging::pami::Endpoint(to);
        let send = CoreSend { to, dispatch: DISPATCH, header, data, cookie, is_acknowledged: false };
        if self.core().send(send).is_ok() {
            return SUCCESS;
        }
        self.callbacks().withdraw(cookie);
        INVAL
    }

    /// A message of an active-message collective begins; `header` is what follows the collective's.
    pub fn active_message(&self, head: Header, header: &[u8], message: &Message<Payload>) {
        let word = |at: usize| {
            header.get(at..at + 4).map_or(0, |bytes| u32::from_le_bytes(bytes.try_into().expect("four")))
        };
        let (dispatch, number, length) = (word(0), word(4), word(8) as usize | (word(12) as usize) << 32);
        if head.kind == ANSWER {
            return self.answer_message(number, head.member as usize, message);
        }
        let (id, algorithm) = (head.key as u32, head.kind - 1);
        let geometry = self.client().geometries.lock().unwrap_or_else(|e| e.into_inner()).get(&id).cloned();
        let registered = self.collectives().messages.registered.get(&(id, algorithm, dispatch)).copied();
        let Some((geometry, registered)) = geometry.zip(registered) else {
            // The reference calls this undefined.
            let task = self.client().job.task;
            eprintln!(
                "PAMI: task {task} has no dispatch function {dispatch} for an active-message collective"
            );
            std::process::abort();
        };
        let invocation = Invocation {
            algorithm,
            registered,
            geometry: geometry.handle(),
            header: header.get(PREFIX_BYTES..).unwrap_or_default().to_vec(),
            origin: message.origin.0,
            cookie: std::ptr::null_mut(),
        };
        if matches!(algorithm, kind::AMBROADCAST | kind::AMSCATTER) {
            let (receive, _) = invocation.call(self, message.data_bytes as usize);
            let (address, callback) = target(receive, DispatchHints(0), message.data_bytes as usize);
            let cookie = self.callbacks().insert(callback);
            return self.core().accept(CoreReceive { address, cookie });
        }
        let origin = message.origin.0;
        self.core().consumed();
        let (send, _) = invocation.call(self, length);
        let me = geometry
            .members
            .member(netloom_messaging::pami::device::PamiDevice::endpoint(self.core().device()));
        let head = Header { kind: ANSWER, key: u64::from(id), member: me.unwrap_or(0) as u32 };
        let header = [&head.to_bytes()[..], &prefix(dispatch, number, length)].concat();
        let done = Done { function: send.local_fn, cookie: send.cookie };
        self.send_buffer(origin, &header, answer(&send, length), length, done);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_AMCollective_dispatch_set(
    handle: *mut c_void,
    algorithm: usize,
    dispatch: usize,
    function: Function,
    cookie: *mut c_void,
    _options: u32,
) -> Result {
    // SAFETY: the program gave them.
    let found =
        unsafe { enter("PAMI_AMCollective_dispatch_set", handle).zip(crate::geometry::algorithm(algorithm)) };
    let Some((context, (geometry, algorithm))) = found else {
        return fail(INVAL, "PAMI_AMCollective_dispatch_set: there is no such context or algorithm");
    };
    // SAFETY: all members of the union are pointers.
    let is_missing = unsafe { function.any }.is_none();
    if is_missing || !(kind::AMBROADCAST..=kind::AMREDUCE).contains(&algorithm.kind) {
        return fail(INVAL, "PAMI_AMCollective_dispatch_set: no function, or no active-message collective");
    }
    let Ok(dispatch) = u32::try_from(dispatch) else {
        return fail(INVAL, format!("PAMI_AMCollective_dispatch_set: identifier {dispatch} is too great"));
    };
    let key = (geometry.id, algorithm.kind, dispatch);
    context.collectives().messages.registered.insert(key, Registered { function, cookie });
    SUCCESS
}
