//! What a guest may ask for. Its requests come from another process, whose memory may be corrupt: what no
//! library sends is refused here, before it is executed, so that the rest of the simulator need not expect
//! it.

use super::interface::{ContextPort, Interface};
use super::process::invalid;
use super::task::Task;
use super::{ContextNumber, Contexts, Reach, Request, Requests, Then};
use crate::pami::Endpoint;
use crate::pami::device::{Collective, Combine, Range, Step};
use netloom_fabric::collective::header::WORDS;
use netloom_node::process::Failure;
use netloom_node::time::Microticks;

/// Most bytes of an operation: the memory of a Blue Gene/Q node.
const DATA_MAX: u64 = 16 << 30;
/// End of the addresses of a process.
const ADDRESSES: u64 = 1 << 47;
/// Length from which it is looked at whether there is memory before it is used: what cannot be read is only
/// noticed when the unit reads it, and until then a wrong length would be simulated packet by packet.
const LONG_B: u64 = 1 << 20;
/// Longest simulated time of what is handed over at once, and last time at which something may be: their sum,
/// and that of a wait, must be a time.
const HAND_OVER_NS: f64 = 5e11;
const LAST: Microticks = Microticks(u64::MAX / 2);

/// What the requests of a hand-over have taken so far.
#[derive(Default)]
pub(super) struct Sums {
    ns: f64,
}

impl<I: Interface> Task<I> {
    /// Refuses what a library does not send. Returns whether memory was looked at, so that a fault of it may
    /// be known.
    pub(super) fn check(&mut self, request: &Request, sums: &mut Sums) -> Result<bool, Failure> {
        let mut is_read = false;
        match request {
            Request::Open(number) => {
                if *number >= self.settings.facts.contexts || self.existing(*number).is_some() {
                    return Err(invalid(format!("context {number} is created")));
                }
            }
            Request::Spend(Step::Copy(bytes)) if *bytes > DATA_MAX => {
                return Err(invalid(format!("a copy of {bytes} B")));
            }
            Request::Spend(step) => sums.ns += self.ns(self.settings.costs.of(*step)),
            Request::Compute(ns) => {
                if !(ns.is_finite() && *ns >= 0.0) {
                    return Err(invalid(format!("it computes for {ns} ns")));
                }
                sums.ns += ns;
            }
            Request::Inject { to, bytes, .. } => {
                self.check_endpoint(*to)?;
                if bytes.len() > self.settings.facts.packet_max_bytes {
                    return Err(invalid(format!("a packet of {} B", bytes.len())));
                }
            }
            Request::Data { to, data, .. } => {
                self.check_endpoint(*to)?;
                is_read = self.check_range(*data)?;
            }
            Request::Transfer { with, pieces, .. } => {
                self.check_endpoint(*with)?;
                if pieces.is_empty() {
                    return Err(invalid("a transfer of nothing"));
                }
                for &(address, bytes, remote) in pieces {
                    is_read |= self.check_range((address, bytes))?;
                    if !self.interface.is_exposed(remote, bytes) {
                        return Err(invalid(format!("{bytes} B at {remote:#x} of another task's memory")));
                    }
                }
            }
            Request::Flush { with, .. } => self.check_endpoint(*with)?,
            Request::Join { tasks, class, .. } => {
                self.check_tasks(tasks)?;
                let own = self.number;
                if !tasks.iter().any(|&(low, high)| (low..=high).contains(&own)) {
                    return Err(invalid(format!("class {class} for tasks {tasks:?} by task {own}")));
                }
            }
            Request::Leave { by, group } => self.check_group(*by, *group)?,
            Request::Collective { by, group, operation, .. } => {
                self.check_group(*by, *group)?;
                is_read = self.check_operation(*by, *group, operation)?;
            }
            Request::Close(number) if self.existing(*number).is_none() => {
                return Err(invalid(format!("there is no context {number}")));
            }
            Request::Close(_)
            | Request::Start(_)
            | Request::Report(_)
            | Request::Mark(_)
            | Request::Acts
            | Request::Unpark(_) => {}
        }
        if sums.ns > HAND_OVER_NS {
            return Err(invalid(format!("its calls take {:.3e} s", sums.ns / 1e9)));
        }
        Ok(is_read)
    }

    /// The same for what follows the requests, and for the time.
    pub(super) fn check_then(&mut self, requests: &Requests) -> Result<(), Failure> {
        let now = self.interface.thread().now();
        if now > LAST {
            let s = self.ns(now) / 1e9;
            return Err(Failure::new(
                "time",
                format!("the job has taken {s:.0} s of simulated time, the longest"),
            ));
        }
        let is_time = |ns: f64| ns >= 0.0;
        match &requests.then {
            Then::Expose(address, bytes) => self.check_range((*address, *bytes)).map(drop),
            Then::Classes(_, tasks) => self.check_tasks(tasks),
            Then::Block(Some(ns)) if !is_time(*ns) => Err(invalid(format!("it waits for {ns} ns"))),
            Then::Sleep(ns) if !is_time(*ns) || *ns > HAND_OVER_NS => {
                Err(invalid(format!("it sleeps for {ns} ns")))
            }
            _ => Ok(()),
        }
    }

    fn check_endpoint(&self, endpoint: u32) -> Result<(), Failure> {
        let (task, offset) = (Endpoint(endpoint).task(), Endpoint(endpoint).offset());
        // Other machines have one path within a node.
        let is_unit = self.settings.facts.reach == Reach::Exposed;
        let known = if is_unit { Endpoint(endpoint).plain() } else { Endpoint(endpoint) };
        let is_there = Endpoint::new(task, offset) == Some(known)
            && task < self.settings.placement.tasks
            && offset < self.settings.facts.contexts;
        if is_there { Ok(()) } else { Err(invalid(format!("endpoint {endpoint:#x}"))) }
    }

    /// Each task is in one range at most, so that there are no more members than tasks.
    fn check_tasks(&self, tasks: &[(u32, u32)]) -> Result<(), Failure> {
        let mut sorted = tasks.to_vec();
        sorted.sort_unstable();
        let is_valid = sorted.iter().all(|&(low, high)| low <= high && high < self.settings.placement.tasks)
            && sorted.windows(2).all(|pair| pair[0].1 < pair[1].0);
        if is_valid { Ok(()) } else { Err(invalid(format!("tasks {tasks:?}"))) }
    }

    /// Memory of the guest. Returns whether it was looked at.
    fn check_range(&mut self, (address, bytes): (u64, u64)) -> Result<bool, Failure> {
        let refused = || invalid(format!("{bytes} B at {address:#x}"));
        if bytes > DATA_MAX || address.checked_add(bytes).is_none_or(|end| end > ADDRESSES) {
            return Err(refused());
        }
        if bytes == 0 {
            return Ok(false);
        }
        let range = Range { address, bytes };
        let exposed = self.interface.expose(range).physical(range);
        if !exposed.is_some_and(|at| self.interface.is_exposed(at, bytes)) {
            return Err(refused());
        }
        if bytes < LONG_B {
            return Ok(false);
        }
        self.interface.touch(range);
        Ok(true)
    }

    fn check_group(&self, by: ContextNumber, group: usize) -> Result<(), Failure> {
        let has = self.existing(by).is_some_and(|context| context.has_group(group));
        if has { Ok(()) } else { Err(invalid(format!("there is no group {group}"))) }
    }

    fn check_operation(
        &mut self,
        by: ContextNumber,
        group: usize,
        operation: &Collective,
    ) -> Result<bool, Failure> {
        let check_root = |root: u32, bytes: u64| {
            let has = self.settings.placement.tasks > root
                && self.existing(by).is_some_and(|context| context.group_has(group, root));
            if has && bytes.is_multiple_of(4) {
                return Ok(());
            }
            Err(invalid(format!("an operation on {bytes} B whose root is task {root}")))
        };
        if !self.settings.facts.group_limits.permit(operation) {
            return Err(invalid(format!("group {group} does no {operation:?}")));
        }
        match *operation {
            Collective::Broadcast { root, data } | Collective::Rectangle { root, data } => {
                check_root(root, data.bytes)?;
                self.check_range((data.address, data.bytes))
            }
            Collective::Allreduce { source, target, combine }
            | Collective::Reduce { source, target, combine, .. } => {
                if let Collective::Reduce { root, .. } = *operation {
                    check_root(root, source.bytes)?;
                }
                let Combine { operation, word_B: word } = combine;
                let is_valid = WORDS.contains(&word)
                    && word.is_power_of_two()
                    && (!operation.is_double() || word == 8)
                    && source.bytes == target.bytes
                    && source.bytes.is_multiple_of(word.into());
                if !is_valid {
                    let sizes = (source.bytes, target.bytes);
                    return Err(invalid(format!("{operation:?} of words of {word} B in {sizes:?} B")));
                }
                let is_read = self.check_range((source.address, source.bytes))?;
                Ok(self.check_range((target.address, target.bytes))? || is_read)
            }
            Collective::Barrier => Ok(false),
        }
    }

    fn existing(&self, number: ContextNumber) -> Option<&I::Context> {
        self.contexts(Contexts::ALL).find(|&(existing, _)| existing == number).map(|(_, context)| context)
    }
}
