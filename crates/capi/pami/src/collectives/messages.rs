//! The messages of schedules: sent, expected, or kept until they are.

use super::operation::{Expected, Operation};
use super::{DISPATCH, Key};
use crate::abi::*;
use crate::context::{Callback, Context};
use crate::device::Payload;
use crate::rma::NOTHING;
use crate::typed::Buffer;
use netloom_messaging::pami::collectives::Block;
use netloom_messaging::pami::context::{Message, Receive as CoreReceive, Send as CoreSend};
use netloom_messaging::pami::device::Range;
use std::ffi::c_void;

/// A message that came before its receive.
pub(super) struct Early {
    pub(super) key: Key,
    /// The member that sent it, and the algorithm that it runs.
    pub(super) peer: usize,
    pub(super) algorithm: u16,
    pub(super) buffer: Buffer,
    pub(super) bytes: usize,
    pub(super) result: Result,
    pub(super) is_complete: bool,
    /// The receive, once it is there and the data is not.
    pub(super) wanted: Option<Expected>,
}

/// Head of each message.
#[derive(Clone, Copy)]
pub struct Header {
    /// The kind of message in the lower half; the number of the algorithm in the upper one.
    pub kind: u32,
    pub key: Key,
    pub member: u32,
}

/// Kinds of messages: data of a schedule; those of active-message collectives are above.
pub const SCHEDULED: u32 = 0;

impl Header {
    pub const BYTES: usize = 16;

    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..4].copy_from_slice(&self.kind.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.member.to_le_bytes());
        bytes[8..].copy_from_slice(&self.key.to_le_bytes());
        bytes
    }

    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        Some(Header {
            kind: word(0)?,
            member: word(4)?,
            key: u64::from(word(12)?) << 32 | u64::from(word(8)?),
        })
    }
}

impl Context {
    /// Sends a block to a member.
    pub(super) fn send_block(&self, key: Key, operation: &mut Operation, peer: usize, block: Block) {
        let Some(to) = operation.members.endpoint(peer) else {
            (operation.pending, operation.result) = (operation.pending - 1, INVAL);
            return;
        };
        let kind = SCHEDULED | u32::from(operation.plan.algorithm) << 16;
        let header = Header { kind, key, member: operation.me as u32 }.to_bytes();
        let address = operation.address(block);
        let is_sent = if Header::BYTES + block.bytes <= self.core().immediate_max() {
            // SAFETY: the plan's areas are as long as its schedule says. An empty block may have no address.
            let data = match block.bytes {
                0 => &[][..],
                bytes => unsafe { std::slice::from_raw_parts(address, bytes) },
            };
            operation.pending -= 1;
            self.core().send_immediate(to, DISPATCH, [&header, data], true).is_ok()
        } else {
            let cookie = std::ptr::without_provenance_mut(key as usize);
            let cookie = self.callbacks().insert(one_report(cookie, block_done));
            let data = Range { address: address as u64, bytes: block.bytes as u64 };
            let send =
                CoreSend { to, dispatch: DISPATCH, header: &header, data, cookie, is_acknowledged: false };
            let is_sent = self.core().send(send).is_ok();
            if !is_sent {
                self.callbacks().withdraw(cookie);
                operation.pending -= 1;
            }
            is_sent
        };
        if !is_sent {
            operation.result = INVAL;
        }
    }

    /// A receive of a round: from a message that is here, or from one that is to come.
    pub(super) fn receive(&self, key: Key, operation: &mut Operation, expected: Expected) {
        let from = (key, expected.peer);
        let Some(queue) = self.collectives().early.get_mut(&from) else {
            return operation.expected.push_back(expected);
        };
        let early = queue.pop_front().expect("queues are not empty");
        if queue.is_empty() {
            self.collectives().early.remove(&from);
        }
        // SAFETY: made by `keep`, and not freed before its data is taken; no other reference exists.
        let found = unsafe { &mut *early };
        if found.is_complete {
            // SAFETY: as above; it is in no queue any more.
            let mut early = unsafe { Box::from_raw(early) };
            self.take_early(operation, &mut early, expected);
        } else {
            found.wanted = Some(expected);
        }
    }

    /// Copies the data of an early message to where it belongs.
    fn take_early(&self, operation: &mut Operation, early: &mut Early, expected: Expected) {
        operation.pending -= 1;
        operation.check_message(early.peer, early.algorithm, [expected.bytes, early.bytes]);
        if early.result != SUCCESS {
            operation.result = early.result;
        } else if early.bytes != expected.bytes {
            operation.result = INVAL;
        } else if early.bytes > 0 {
            // SAFETY: both have as many bytes.
            unsafe { expected.address.copy_from_nonoverlapping(early.buffer.address(), early.bytes) };
        }
    }

    /// A message of the reserved identifier begins.
    pub fn collective_message(&self, message: &Message<Payload>) {
        let header = message.payload.at(message.header_from);
        // SAFETY: the packet holds the header until it is consumed or accepted.
        let header = match message.has_long_header {
            true => self.core().long_header().to_vec(),
            false => unsafe { std::slice::from_raw_parts(header, message.header_bytes) }.to_vec(),
        };
        let Some(parsed) = Header::of_bytes(&header) else { return self.core().consumed() };
        let algorithm = (parsed.kind >> 16) as u16;
        if parsed.kind & 0xffff != SCHEDULED {
            return self.active_message(parsed, &header[Header::BYTES..], message);
        }
        let (key, peer, bytes) = (parsed.key, parsed.member as usize, message.data_bytes as usize);
        let operation = self.collectives().active.get_mut(&key);
        let expected = operation.and_then(|operation| {
            let at = operation.expected.iter().position(|expected| expected.peer == peer)?;
            let expected = operation.expected.remove(at)?;
            operation.check_message(peer, algorithm, [expected.bytes, bytes]);
            if expected.bytes != bytes {
                operation.result = INVAL;
            }
            Some(expected)
        });
        let Some(expected) = expected else { return self.keep(key, peer, algorithm, message) };
        let address = if expected.bytes == bytes { expected.address } else { std::ptr::null_mut() };
        if message.is_whole {
            if !address.is_null() && bytes > 0 {
                let data = message.payload.at(message.header_from + message.header_bytes);
                // SAFETY: the packet holds the data until it is consumed; the block is as long.
                unsafe { address.copy_from_nonoverlapping(data, bytes) };
            }
            self.core().consumed();
            return self.one_done(key, SUCCESS);
        }
        let cookie = std::ptr::without_provenance_mut(key as usize);
        let cookie = self.callbacks().insert(one_report(cookie, block_done));
        self.core().accept(CoreReceive { address: address as u64, cookie });
    }

    /// Keeps a message until it is expected.
    fn keep(&self, key: Key, peer: usize, algorithm: u16, message: &Message<Payload>) {
        let bytes = message.data_bytes as usize;
        let mut buffer = Buffer::uninitialised(bytes);
        let address = buffer.address();
        let early = Early {
            key,
            peer,
            algorithm,
            buffer,
            bytes,
            result: SUCCESS,
            is_complete: message.is_whole,
            wanted: None,
        };
        let early = Box::into_raw(Box::new(early));
        self.collectives().early.entry((key, peer)).or_default().push_back(early);
        if message.is_whole {
            let data = message.payload.at(message.header_from + message.header_bytes);
            // SAFETY: the packet holds the data until it is consumed; the buffer is as long.
            unsafe { address.copy_from_nonoverlapping(data, bytes) };
            return self.core().consumed();
        }
        let cookie = self.callbacks().insert(one_report(early.cast(), early_done));
        self.core().accept(CoreReceive { address: address as u64, cookie });
    }
}

/// A callback that is called once.
pub fn one_report(
    cookie: *mut c_void,
    function: unsafe extern "C" fn(*mut c_void, *mut c_void, Result),
) -> Callback {
    Callback { cookie, local_fn: Some(function), remote_fn: None, reports: 1, fetched: NOTHING }
}

/// A send or a receive of a round is done; the cookie is the key.
unsafe extern "C" fn block_done(context: *mut c_void, cookie: *mut c_void, result: Result) {
    // SAFETY: called by the context itself.
    if let Some(context) = unsafe { crate::context::context(context) } {
        context.one_done(cookie.addr() as Key, result);
    }
}

/// All data of an early message is there.
unsafe extern "C" fn early_done(context: *mut c_void, cookie: *mut c_void, result: Result) {
    let early = cookie.cast::<Early>();
    // SAFETY: called by the context itself. Made by `keep`, and not freed before its data is taken.
    let (Some(context), found) = (unsafe { (crate::context::context(context), &mut *early) }) else { return };
    (found.is_complete, found.result) = (true, result);
    let (key, Some(expected)) = (found.key, found.wanted) else { return };
    // SAFETY: no queue holds it, since its receive is there.
    let mut early = unsafe { Box::from_raw(early) };
    if let Some(operation) = context.collectives().active.get_mut(&key) {
        context.take_early(operation, &mut early, expected);
        if operation.pending == 0 {
            context.progress_collective(key);
        }
    }
}
