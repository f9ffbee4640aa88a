//! An operation in progress: its memory, its schedule, and what its round waits for.

use super::algorithms;
use crate::abi::*;
use crate::check;
use crate::typed::{Buffer, Combine};
use netloom_messaging::pami::collectives::{Block, Local, Schedule};
use netloom_messaging::pami::device;
use netloom_messaging::pami::geometry::Topology;
use netloom_messaging::pami::types::Type;
use std::collections::VecDeque;
use std::ffi::c_void;
use std::sync::Arc;

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
pub(super) struct Operation {
    pub(super) members: Arc<Topology>,
    pub(super) me: usize,
    pub(super) plan: Plan,
    /// Local steps at the end of the round.
    pub(super) then: Vec<Local>,
    /// Sends and receives of the round that are not done.
    pub(super) pending: usize,
    /// Receives whose message has not begun.
    pub(super) expected: VecDeque<Expected>,
    pub(super) done: Done,
    /// The first error, if there was one.
    pub(super) result: Result,
}

/// A receive whose message has not begun.
#[derive(Clone, Copy)]
pub(super) struct Expected {
    pub(super) peer: usize,
    pub(super) address: *mut u8,
    pub(super) bytes: usize,
}

impl Operation {
    pub(super) fn address(&self, block: Block) -> *mut u8 {
        self.plan.areas[block.area as usize].wrapping_add(block.at)
    }

    /// Reports that another member runs another algorithm, or sends another length than this one expects.
    pub(super) fn check_message(&self, peer: usize, algorithm: u16, [expected, bytes]: [usize; 2]) {
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
    pub(super) fn run_local_steps(&mut self) {
        for step in std::mem::take(&mut self.then) {
            match step {
                Local::Copy { from, to } => {
                    let (from, to) = (self.address(from), self.address(to));
                    if from != to && step.bytes() > 0 {
                        // SAFETY: the plan's areas are as long as its schedule says; they may be the same
                        // memory.
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
