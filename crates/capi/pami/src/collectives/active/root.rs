//! Active-message collectives at the member that starts them.

use super::invocation::{Invocation, answer};
use super::{Done, End, Header, Root, one_report, prefix};
use crate::abi::*;
use crate::client::fail;
use crate::collectives::algorithms::Algorithm;
use crate::context::{Context, context};
use crate::device::Payload;
use crate::geometry::Geometry;
use crate::typed::{Buffer, Combine, target};
use crate::types::{complete, pack, unpack};
use crate::xfer::{Active, Xfer, kind};
use netloom_messaging::pami::context::{Message, Receive as CoreReceive};
use netloom_messaging::pami::device::Range;
use netloom_messaging::pami::types::Type;
use std::ffi::c_void;
use std::sync::Arc;

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

    /// An answer begins to arrive at the root.
    pub(super) fn answer_message(&self, number: u32, member: usize, message: &Message<Payload>) {
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
