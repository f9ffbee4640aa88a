//! Collectives of a context: schedules of `netloom_messaging::pami::collectives` run over messages of a reserved
//! dispatch identifier.
//!
//! A message names the geometry, the number of the operation in it, and the sender's member index. A message that
//! arrives before this member has called, or even before it has created the geometry, is kept until then. Messages
//! between two members match by their order, which the protocols keep.

pub mod active;
pub mod algorithms;
pub mod plan;
mod selection;
mod unfinished;

use crate::abi::*;
use crate::check;
use crate::client::fail;
use crate::context::{Callback, Context};
use crate::device::Payload;
use crate::rma::NOTHING;
use crate::typed::{Buffer, Combine};
use crate::types::unpack;
use crate::xfer::Xfer;
use netloom_messaging::pami::Map;
use netloom_messaging::pami::collectives::{Block, Local, Schedule, Transfer};
use netloom_messaging::pami::context::{Message, Receive as CoreReceive, Send as CoreSend};
use netloom_messaging::pami::device::{self, PamiDevice, Range};
use netloom_messaging::pami::geometry::Topology;
use netloom_messaging::pami::packet::Head;
use netloom_messaging::pami::types::Type;
use std::collections::VecDeque;
use std::ffi::c_void;
use std::sync::Arc;

/// The dispatch identifier of collectives; programs have those below.
pub const DISPATCH: u16 = Head::DISPATCHES as u16 - 1;

/// An operation: the geometry's identifier above, its number in the geometry below.
pub type Key = u64;

/// The key of an operation.
pub fn key(id: u32, sequence: u32) -> Key {
    u64::from(id) << 32 | u64::from(sequence)
}

/// What is called at the end of an operation.
#[derive(Clone, Copy)]
pub struct Done {
    pub function: EventFunction,
    pub cookie: *mut c_void,
}

/// Packed data that goes to the program's memory at the end.
pub struct Unpack {
    pub from: *const u8,
    pub to: *mut u8,
    pub kind: Arc<Type>,
    pub bytes: usize,
}

/// An operation's memory and schedule.
pub struct Plan {
    /// Where the areas start.
    pub areas: [*mut u8; 3],
    /// What the areas point to, where it is not the program's memory.
    pub _buffers: Vec<Buffer>,
    pub unpacks: Vec<Unpack>,
    pub combine: Combine,
    pub schedule: Schedule,
    /// What the device does instead, with the number of its group.
    pub by_device: Option<(usize, device::Collective)>,
    /// The number of its algorithm in the list.
    pub algorithm: u16,
}

/// An operation in progress.
struct Operation {
    members: Arc<Topology>,
    me: usize,
    plan: Plan,
    /// Local steps at the end of the round.
    then: Vec<Local>,
    /// Sends and receives of the round that are not done.
    pending: usize,
    /// Receives whose message has not begun.
    expected: VecDeque<Expected>,
    done: Done,
    /// The first error, if there was one.
    result: Result,
}

#[derive(Clone, Copy)]
struct Expected {
    peer: usize,
    address: *mut u8,
    bytes: usize,
}

/// A message that came before its receive.
struct Early {
    key: Key,
    /// The member that sent it, and the algorithm that it runs.
    peer: usize,
    algorithm: u16,
    buffer: Buffer,
    bytes: usize,
    result: Result,
    is_complete: bool,
    /// The receive, once it is there and the data is not.
    wanted: Option<Expected>,
}

/// The collectives of a context.
#[derive(Default)]
pub struct Collectives {
    active: Map<Key, Box<Operation>>,
    early: Map<(Key, usize), VecDeque<*mut Early>>,
    /// Completed operations that the program has not been told about.
    ready: VecDeque<(Done, Result)>,
    pub messages: active::ActiveMessages,
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

impl Operation {
    fn address(&self, block: Block) -> *mut u8 {
        self.plan.areas[block.area as usize].wrapping_add(block.at)
    }

    /// Reports that another member runs another algorithm, or sends another length than this one expects.
    fn check_message(&self, peer: usize, algorithm: u16, [expected, bytes]: [usize; 2]) {
        if !check::is_on() {
            return;
        }
        let (me, own) = (self.me, self.plan.algorithm);
        let name =
            |number: u16| algorithms::ALGORITHMS.get(usize::from(number)).map_or(c"a barrier", |a| a.name);
        if algorithm != own {
            let [own, other] = [own, algorithm].map(|number| name(number).to_string_lossy());
            check::report(format!(
                "PAMI_Collective: member {peer} runs {other} (number {algorithm}) and member {me} {own} (number {}); all \
                 members start the same collectives with the same algorithms in the same order",
                self.plan.algorithm
            ));
        } else if expected != bytes {
            check::report(format!(
                "PAMI_Collective: {}: member {peer} sends {bytes} B where member {me} expects {expected} B; counts, types \
                 and roots of all members must agree",
                name(own).to_string_lossy()
            ));
        }
    }

    /// Runs the local steps of a round that is complete.
    fn run_local_steps(&mut self) {
        for step in std::mem::take(&mut self.then) {
            match step {
                Local::Copy { from, to } => {
                    let (from, to) = (self.address(from), self.address(to));
                    if from != to && step.bytes() > 0 {
                        // SAFETY: the plan's areas are as long as its schedule says; they may be the same memory.
                        unsafe { to.copy_from(from, step.bytes()) };
                    }
                }
                Local::Reduce { into, from } if from.bytes > 0 => {
                    let (into, source) = (self.address(into), self.address(from));
                    // SAFETY: as above; a schedule reduces between different blocks only.
                    unsafe { self.plan.combine.run(into, source, from.bytes) };
                }
                Local::Reduce { .. } => {}
            }
        }
    }
}

impl Collectives {
    /// Operations that are not complete.
    pub fn pending(&self) -> usize {
        self.active.len() + self.messages.pending()
    }

    /// Operations of a geometry that are not complete.
    pub fn pending_of(&self, id: u32) -> usize {
        self.active.keys().filter(|&&key| (key >> 32) as u32 == id).count()
    }
}

impl Context {
    /// The caller's operation begins. It may end before the call returns; the program learns of it when it advances.
    pub fn start_collective(&self, key: Key, members: &Arc<Topology>, me: usize, plan: Plan, done: Done) {
        let mut operation = Operation {
            members: Arc::clone(members),
            me,
            plan,
            then: vec![],
            pending: 0,
            expected: VecDeque::new(),
            done,
            result: SUCCESS,
        };
        let by_device = operation.plan.by_device;
        operation.pending = usize::from(by_device.is_some());
        self.collectives().active.insert(key, Box::new(operation));
        match by_device {
            Some((group, operation)) => self.core().collective(group, operation, key),
            None => self.progress_collective(key),
        }
    }

    /// Calls a function of the program at the next advance.
    pub fn report_later(&self, done: Done, result: Result) {
        self.collectives().ready.push_back((done, result));
    }

    /// Reports what has completed; returns whether there was anything.
    pub fn report_collectives(&self) -> bool {
        let mut is_busy = false;
        // What these calls complete is reported by the next advance.
        for _ in 0..self.collectives().ready.len() {
            let Some((done, result)) = self.collectives().ready.pop_front() else { break };
            is_busy = true;
            // SAFETY: the program gave both.
            unsafe { self.call(done.function, done.cookie, result) };
        }
        is_busy
    }

    /// Whether completed operations are to be reported.
    pub fn has_reports(&self) -> bool {
        !self.collectives().ready.is_empty()
    }

    /// Runs rounds as long as nothing is pending.
    fn progress_collective(&self, key: Key) {
        // Out of the map while the program's reductions run, because these may use the context.
        let Some(mut operation) = self.collectives().active.remove(&key) else { return };
        while operation.pending == 0 {
            operation.run_local_steps();
            let round = if operation.result == SUCCESS { operation.plan.schedule.next() } else { None };
            let Some(round) = round else {
                return self.finish_collective(&operation);
            };
            operation.then = round.then;
            operation.pending = round.sends.len() + round.receives.len();
            for Transfer { peer, block } in round.receives {
                let expected = Expected { peer, address: operation.address(block), bytes: block.bytes };
                self.receive(key, &mut operation, expected);
            }
            for Transfer { peer, block } in round.sends {
                self.send_block(key, &mut operation, peer, block);
            }
        }
        self.collectives().active.insert(key, operation);
    }

    fn finish_collective(&self, operation: &Operation) {
        if operation.result == SUCCESS {
            for Unpack { from, to, kind, bytes } in &operation.plan.unpacks {
                // SAFETY: the program gave memory that the type describes; the source has all bytes.
                unsafe { unpack(kind, *to, *from, *bytes) };
            }
        }
        self.report_later(operation.done, operation.result);
    }

    fn send_block(&self, key: Key, operation: &mut Operation, peer: usize, block: Block) {
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
    fn receive(&self, key: Key, operation: &mut Operation, expected: Expected) {
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

    /// A send or a receive of a round is done, or what the device does.
    pub fn one_done(&self, key: Key, result: Result) {
        if let Some(operation) = self.collectives().active.get_mut(&key) {
            operation.pending -= 1;
            if result != SUCCESS {
                operation.result = result;
            }
            if operation.pending == 0 {
                self.progress_collective(key);
            }
        }
    }

    /// Operations that wait for messages, in a geometry of which a task has ended, are over. The message may be one
    /// of a member that runs, but that member may wait for the one that has ended.
    pub fn report_gone_members(&self) {
        let device = self.core().device();
        let mut over = vec![];
        for (&key, operation) in self.collectives().active.iter_mut() {
            let members = &operation.members;
            let task = |member| members.endpoint(member).map(|peer| peer.task());
            let has_failed = |member| task(member).is_some_and(|task| device.has_failed(task));
            // One that ended with status 0 may have done its part: only what it should have sent is missing.
            let mut expected = operation.expected.iter();
            let is_missing =
                expected.any(|expected| task(expected.peer).is_some_and(|task| device.is_gone(task)));
            if is_missing || !operation.expected.is_empty() && (0..members.len()).any(has_failed) {
                operation.pending -= operation.expected.len();
                operation.expected.clear();
                operation.result = SHUTDOWN;
                over.push(key);
            }
        }
        over.into_iter().for_each(|key| self.progress_collective(key));
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

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Collective(handle: *mut c_void, xfer: *mut Xfer) -> Result {
    // SAFETY: the program gave them.
    let Some((context, xfer)) =
        (unsafe { crate::check::enter("PAMI_Collective", handle).zip(xfer.as_ref()) })
    else {
        return fail(INVAL, "PAMI_Collective: context or parameters are NULL");
    };
    if check::is_on() && !crate::geometry::is_live(&context, xfer.algorithm) {
        return check::refuse_geometry("PAMI_Collective", std::ptr::without_provenance(xfer.algorithm));
    }
    // SAFETY: the program gave it.
    let Some((geometry, algorithm)) = (unsafe { crate::geometry::algorithm(xfer.algorithm) }) else {
        return fail(INVAL, "PAMI_Collective: there is no such algorithm");
    };
    let Some(me) = geometry.members.member(context.core().device().endpoint()) else {
        return fail(INVAL, "PAMI_Collective: the context is not a member of the geometry");
    };
    if algorithm.method == algorithms::Method::ActiveMessage {
        return context.start_active(geometry, algorithm, me, xfer);
    }
    // SAFETY: the program gave the command.
    let obstacles = unsafe { algorithm.obstacles(&xfer.command, geometry) };
    if obstacles != 0 {
        let name = algorithm.name.to_string_lossy();
        return fail(
            INVAL,
            format!("PAMI_Collective: {name}: check_fn returns {obstacles:#x}: use another algorithm"),
        );
    }
    // SAFETY: the program gave the command.
    let plan = match unsafe { plan::plan(algorithm, &xfer.command, &geometry.members, me, geometry.group()) }
    {
        Ok(plan) => plan,
        Err(reason) => {
            let name = algorithm.name.to_string_lossy();
            return fail(INVAL, format!("PAMI_Collective: {name}: {reason}"));
        }
    };
    let done = Done { function: xfer.done_fn, cookie: xfer.cookie };
    let Some((me, sequence)) = geometry.next_operation(&context) else { return INVAL };
    context.start_collective(key(geometry.id, sequence), &geometry.members, me, plan, done);
    SUCCESS
}
