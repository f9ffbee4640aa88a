//! Collectives of a context: schedules of `netloom_messaging::pami::collectives` run over messages of a
//! reserved dispatch identifier.
//!
//! A message names the geometry, the number of the operation in it, and the sender's member index. A message
//! that arrives before this member has called, or even before it has created the geometry, is kept until
//! then. Messages between two members match by their order, which the protocols keep.
//!
//! - `operation` – an operation in progress.
//! - `messages` – its messages, sent, expected or kept.
//! - `plan` – memory and schedule of an operation, from what the program gave.
//! - `algorithms`, `selection` – the lists of algorithms.
//! - `active` – active-message collectives.

pub mod active;
pub mod algorithms;
mod messages;
mod operation;
pub mod plan;
mod selection;
mod unfinished;

use crate::abi::*;
use crate::check;
use crate::client::fail;
use crate::context::Context;
use crate::types::unpack;
use crate::xfer::Xfer;
use netloom_messaging::pami::Map;
use netloom_messaging::pami::collectives::Transfer;
use netloom_messaging::pami::device::PamiDevice;
use netloom_messaging::pami::geometry::Topology;
use netloom_messaging::pami::packet::Head;
use std::collections::VecDeque;
use std::ffi::c_void;
use std::sync::Arc;

pub use messages::{Header, one_report};
pub use operation::{Done, Plan, Unpack};
use {
    messages::Early,
    operation::{Expected, Operation},
};

/// The dispatch identifier of collectives; programs have those below.
pub const DISPATCH: u16 = Head::DISPATCHES as u16 - 1;

/// An operation: the geometry's identifier above, its number in the geometry below.
pub type Key = u64;

/// The key of an operation.
pub fn key(id: u32, sequence: u32) -> Key {
    u64::from(id) << 32 | u64::from(sequence)
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
    /// The caller's operation begins. It may end before the call returns; the program learns of it when it
    /// advances.
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

    /// Operations that wait for messages, in a geometry of which a task has ended, are over. The message may
    /// be one of a member that runs, but that member may wait for the one that has ended.
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
    let plan = match unsafe {
        plan::plan(algorithm, &xfer.command, &geometry.members, me, geometry.limited_group())
    } {
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
