//! Active-message collectives: one member starts, the others learn of it from their dispatch function.
//!
//! The root sends a message to each member. In a gather or a reduce the member answers with the data that its
//! dispatch function names, and the root keeps the answers until all are there.

use super::algorithms::Algorithm;
use super::{DISPATCH, Done, Header, one_report};
use crate::abi::*;
use crate::check::enter;
use crate::client::fail;
use crate::context::{Callback, Context, context};
use crate::device::Payload;
use crate::geometry::Geometry;
use crate::symbols;
use crate::typed::{Buffer, Combine, target};
use crate::types::{complete, pack, unpack};
use crate::xfer::{Active, Xfer, kind};
use netloom_messaging::pami::context::{Message, Receive as CoreReceive, Send as CoreSend};
use netloom_messaging::pami::device::Range;
use netloom_messaging::pami::types::Type;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::Arc;

/// `pami_dispatch_ambroadcast_function`, `pami_dispatch_amscatter_function`.
type ReceiveFunction = unsafe extern "C" fn(
    *mut c_void,
    *mut c_void,
    *const c_void,
    usize,
    *const c_void,
    usize,
    u32,
    *mut c_void,
    *mut Receive,
);
/// `pami_dispatch_amgather_function`.
type GatherFunction = unsafe extern "C" fn(
    *mut c_void,
    *mut c_void,
    *const c_void,
    usize,
    usize,
    u32,
    *mut c_void,
    *mut Receive,
);
/// `pami_dispatch_amreduce_function`.
type ReduceFunction = unsafe extern "C" fn(
    *mut c_void,
    *mut c_void,
    *const c_void,
    usize,
    usize,
    u32,
    *mut c_void,
    *mut DataFunction,
    *mut Receive,
);

/// `pami_dispatch_callback_function` of these collectives.
#[derive(Clone, Copy)]
#[repr(C)]
pub union Function {
    receive: ReceiveFunction,
    gather: GatherFunction,
    reduce: ReduceFunction,
    any: Option<ReceiveFunction>,
}

/// What is registered for an identifier of an algorithm.
#[derive(Clone, Copy)]
struct Registered {
    function: Function,
    cookie: *mut c_void,
}

/// The active-message collectives of a context.
#[derive(Default)]
pub struct ActiveMessages {
    /// By geometry, collective and identifier.
    registered: HashMap<(u32, u32, u32), Registered>,
    /// Operations that this member started and that are not complete, by number.
    roots: HashMap<u32, Root>,
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

/// A call of a dispatch function.
struct Invocation {
    algorithm: u32,
    registered: Registered,
    geometry: *mut c_void,
    header: Vec<u8>,
    origin: u32,
    cookie: *mut c_void,
}

/// Words between the header of a collective and the program's: identifier, number at the root, length of an answer.
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

fn no_receive() -> Receive {
    Receive {
        cookie: std::ptr::null_mut(),
        local_fn: None,
        addr: std::ptr::null_mut(),
        kind: symbols::byte(),
        offset: 0,
        data_fn: symbols::copy_function(),
        data_cookie: std::ptr::null_mut(),
    }
}

impl Invocation {
    /// Calls the dispatch function for `bytes` of data; returns what it filled in, and the operation of a reduce.
    fn call(&self, context: &Context, bytes: usize) -> (Receive, DataFunction) {
        let mut receive = no_receive();
        let mut operation = None;
        let header = self.header.as_ptr().cast();
        let (length, origin, geometry) = (self.header.len(), self.origin, self.geometry);
        let Registered { function, cookie } = self.registered;
        let handle = context.handle();
        // SAFETY: the program registered the function for this collective.
        unsafe {
            match self.algorithm {
                kind::AMGATHER => {
                    (function.gather)(
                        handle,
                        cookie,
                        header,
                        length,
                        bytes,
                        origin,
                        geometry,
                        &raw mut receive,
                    );
                }
                kind::AMREDUCE => {
                    let operation = &raw mut operation;
                    let receive = &raw mut receive;
                    (function.reduce)(
                        handle, cookie, header, length, bytes, origin, geometry, operation, receive,
                    );
                }
                _ => {
                    let (receive, data) = (&raw mut receive, std::ptr::null());
                    (function.receive)(
                        handle, cookie, header, length, data, bytes, origin, geometry, receive,
                    );
                }
            }
        }
        (receive, operation)
    }
}

/// The data that a dispatch function named, packed; zeros where it named none.
fn answer(send: &Receive, bytes: usize) -> Buffer {
    let mut buffer = Buffer::new(bytes);
    // SAFETY: the program gave the type.
    let layout = unsafe { complete(send.kind) };
    let combine = Combine::new(send.data_fn, send.data_cookie, [send.kind; 2]);
    if let (Some(layout), Some(combine), false) = (layout, combine, send.addr.is_null()) {
        let mut to = buffer.address();
        for piece in layout.pieces(send.offset as u64, bytes as u64) {
            // SAFETY: the program gave memory that the type describes; the buffer is as long as the data.
            unsafe {
                let from = send.addr.cast::<u8>().wrapping_offset(piece.offset as isize);
                combine.run(to, from, piece.bytes as usize);
                to = to.add(piece.bytes as usize);
            }
        }
    }
    buffer
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

/// A send of the root is done; the cookie is the operation's number.
unsafe extern "C" fn root_sent(handle: *mut c_void, cookie: *mut c_void, result: Result) {
    // SAFETY: called by the context itself.
    if let Some(context) = unsafe { context(handle) } {
        context.root_progress(cookie.addr() as u32, result);
    }
}

/// An answer whose data is arriving.
struct Arrival {
    number: u32,
    member: usize,
    buffer: Buffer,
    bytes: usize,
}

unsafe extern "C" fn answer_arrived(handle: *mut c_void, cookie: *mut c_void, result: Result) {
    // SAFETY: made by `answer_message`, and reported once; called by the context itself.
    let (arrival, context) = unsafe { (Box::from_raw(cookie.cast::<Arrival>()), context(handle)) };
    if let Some(context) = context {
        let Arrival { number, member, buffer, bytes } = *arrival;
        context.keep_answer(number, member, (buffer, bytes), result);
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

    /// Starts an active-message collective at its root.
    pub fn start_active(&self, geometry: &Geometry, algorithm: &Algorithm, me: usize, xfer: &Xfer) -> Result {
        // SAFETY: all of these collectives begin with it.
        let active = unsafe { xfer.command.active };
        // SAFETY: the program gave the type.
        let Some(layout) = (unsafe { complete(active.data.kind) }) else {
            return fail(INVAL, "PAMI_Collective: a type is not complete");
        };
        let bytes = active.data.count * layout.data_bytes() as usize;
        let dispatch = active.dispatch as u32;
        if active.headers.is_null() && active.header_bytes > 0 || active.data.buffer.is_null() && bytes > 0 {
            return fail(INVAL, "PAMI_Collective: a buffer or the headers are NULL");
        }
        let registered = self.collectives().messages.registered.get(&(geometry.id, algorithm.kind, dispatch));
        let registered = registered.copied();
        let has_headers = matches!(algorithm.kind, kind::AMSCATTER | kind::AMGATHER);
        let header = |member: usize| {
            let at = if has_headers { member * active.header_bytes } else { 0 };
            match active.header_bytes {
                0 => vec![],
                // SAFETY: the program gave a header, or one per member.
                length => unsafe { std::slice::from_raw_parts(active.headers.add(at), length) }.to_vec(),
            }
        };
        let origin = geometry.members.endpoint(me).expect("a member").0;
        let is_broadcast = algorithm.kind == kind::AMBROADCAST;
        let invocation = match registered {
            Some(registered) => Some(Invocation {
                algorithm: algorithm.kind,
                registered,
                geometry: geometry.handle(),
                header: header(me),
                origin,
                cookie: std::ptr::null_mut(),
            }),
            None if is_broadcast => None,
            None => {
                return fail(
                    INVAL,
                    format!(
                        "PAMI_Collective: identifier {dispatch} is not set here; call PAMI_AMCollective_dispatch_set"
                    ),
                );
            }
        };
        // The data for a member, packed.
        let block = |member: usize| {
            let mut buffer = Buffer::new(bytes);
            let first = if algorithm.kind == kind::AMSCATTER { member * active.data.count } else { 0 };
            let from = active.data.buffer.wrapping_offset(first as isize * layout.extent() as isize);
            // SAFETY: the program gave memory that the type describes; the buffer is as long as the data.
            unsafe { pack(&layout, from, buffer.address(), bytes) };
            buffer
        };
        let has_data = matches!(algorithm.kind, kind::AMBROADCAST | kind::AMSCATTER);
        let count = geometry.members.len();
        let end = match (algorithm.kind, invocation) {
            (kind::AMSCATTER, Some(invocation)) => End::Own { invocation, data: (block(me), bytes) },
            (kind::AMGATHER, Some(mut invocation)) | (kind::AMREDUCE, Some(mut invocation)) => {
                if algorithm.kind == kind::AMREDUCE {
                    // SAFETY: the kind says so.
                    invocation.cookie = unsafe { xfer.command.active_reduce.cookie };
                }
                let answers = (0..count).map(|_| (Buffer::new(0), 0)).collect();
                End::Answers { invocation, me, answers, active, kind: Arc::clone(&layout) }
            }
            _ => End::Done(Done { function: xfer.done_fn, cookie: xfer.cookie }),
        };
        let messages = &mut self.collectives().messages;
        messages.next = messages.next.wrapping_add(1);
        let number = messages.next;
        // One more than there are, until all are on their way.
        messages.roots.insert(number, Root { pending: count, end, result: SUCCESS });
        let head = Header { kind: algorithm.kind + 1, key: u64::from(geometry.id), member: me as u32 };
        let words = prefix(dispatch, number, bytes);
        let blocks = if algorithm.kind == kind::AMSCATTER { count } else { 1 };
        let direct = layout.contiguous_part(0, (bytes * blocks) as u64).filter(|_| has_data);
        for member in (0..count).filter(|&member| member != me) {
            let header = [&head.to_bytes()[..], &words, &header(member)].concat();
            let to = geometry.members.endpoint(member).map_or(u32::MAX, |endpoint| endpoint.0);
            let cookie = std::ptr::without_provenance_mut(number as usize);
            let sent = if let Some(offset) = direct {
                let at = if blocks > 1 { member * bytes } else { 0 };
                let address = active.data.buffer.wrapping_offset(offset as isize).wrapping_add(at) as u64;
                let data = Range { address, bytes: bytes as u64 };
                self.send_range(to, &header, data, one_report(cookie, root_sent))
            } else {
                let (data, length) = if has_data { (block(member), bytes) } else { (Buffer::new(0), 0) };
                // Without data, the root waits for the member's answer.
                let function: EventFunction = if has_data { Some(root_sent) } else { None };
                self.send_buffer(to, &header, data, length, Done { function, cookie })
            };
            if sent != SUCCESS {
                self.root_progress(number, sent);
            }
        }
        // Completion calls the program, so it waits for the next advance.
        self.post_internal(move |context| context.root_progress(number, SUCCESS));
        SUCCESS
    }

    /// One of the things that a root waits for is done.
    fn root_progress(&self, number: u32, result: Result) {
        let roots = &mut self.collectives().messages.roots;
        let Some(root) = roots.get_mut(&number) else { return };
        root.pending -= 1;
        if result != SUCCESS {
            root.result = result;
        }
        if root.pending > 0 {
            return;
        }
        let Some(Root { end, result, .. }) = roots.remove(&number) else { return };
        match end {
            // SAFETY: the program gave both.
            End::Done(done) => unsafe { self.call(done.function, done.cookie, result) },
            End::Own { invocation, mut data } => {
                let (receive, _) = invocation.call(self, data.1);
                let (address, callback) = target(receive, DispatchHints(0), data.1);
                if address != 0 && data.1 > 0 {
                    // SAFETY: the program, or a buffer of this library, has as many bytes there.
                    unsafe { (address as *mut u8).copy_from(data.0.address(), data.1) };
                }
                // SAFETY: the program's, or that of this library's buffer.
                unsafe { self.call(callback.local_fn, callback.cookie, result) };
            }
            End::Answers { invocation, me, answers, active, kind } => {
                self.finish_answers(&invocation, me, answers, &active, &kind, result);
            }
        }
    }

    /// All answers are there: adds the root's own, and fills the program's buffer.
    fn finish_answers(
        &self,
        invocation: &Invocation,
        me: usize,
        mut answers: Vec<(Buffer, usize)>,
        active: &Active,
        layout: &Type,
        mut result: Result,
    ) {
        let bytes = active.data.count * layout.data_bytes() as usize;
        let (send, operation) = invocation.call(self, bytes);
        answers[me] = (answer(&send, bytes), bytes);
        if answers.iter().any(|(_, length)| *length != bytes) && result == SUCCESS {
            result = INVAL;
        }
        if result == SUCCESS && invocation.algorithm == kind::AMREDUCE {
            let combine = Combine::new(operation, invocation.cookie, [send.kind, active.data.kind]);
            let (first, others) = answers.split_at_mut(1);
            match combine {
                Some(combine) => others.iter_mut().for_each(|(other, _)| {
                    if bytes > 0 {
                        // SAFETY: both buffers have as many bytes.
                        unsafe { combine.run(first[0].0.address(), other.address(), bytes) };
                    }
                }),
                None => result = fail(INVAL, "the types of a reduce do not permit its operation"),
            }
            answers.truncate(1);
        }
        for (member, (data, _)) in answers.iter_mut().enumerate().filter(|_| result == SUCCESS) {
            let first = (member * active.data.count) as isize;
            let to = active.data.buffer.wrapping_offset(first * layout.extent() as isize);
            // SAFETY: the program gave memory that the type describes; the buffer is as long as the data.
            unsafe { unpack(layout, to, data.address(), bytes) };
        }
        // SAFETY: the program gave both.
        unsafe { self.call(send.local_fn, send.cookie, result) };
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

    /// An answer begins to arrive at the root.
    fn answer_message(&self, number: u32, member: usize, message: &Message<Payload>) {
        let bytes = message.data_bytes as usize;
        let mut arrival = Box::new(Arrival { number, member, buffer: Buffer::new(bytes), bytes });
        let address = arrival.buffer.address() as u64;
        let cookie = Box::into_raw(arrival).cast();
        let cookie = self.callbacks().insert(one_report(cookie, answer_arrived));
        self.core().accept(CoreReceive { address, cookie });
    }

    fn keep_answer(&self, number: u32, member: usize, data: (Buffer, usize), result: Result) {
        if let Some(Root { end: End::Answers { answers, .. }, .. }) =
            self.collectives().messages.roots.get_mut(&number)
            && let Some(place) = answers.get_mut(member)
        {
            *place = data;
        }
        self.root_progress(number, result);
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
