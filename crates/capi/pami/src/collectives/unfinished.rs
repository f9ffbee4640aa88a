//! What the collectives of a context wait for, in words.

use super::{Collectives, Operation};
use crate::xfer::kind;

/// Members that are named, of those that an operation waits for.
const NAMED: usize = 4;

/// A type of transfer.
fn name(kind: u32) -> &'static str {
    const NAMES: [&str; kind::COUNT as usize] = [
        "broadcast",
        "allreduce",
        "reduce",
        "allgather",
        "allgatherv",
        "allgatherv_int",
        "scatter",
        "scatterv",
        "scatterv_int",
        "gather",
        "gatherv",
        "gatherv_int",
        "barrier",
        "alltoall",
        "alltoallv",
        "alltoallv_int",
        "scan",
        "reduce_scatter",
        "ambroadcast",
        "amscatter",
        "amgather",
        "amreduce",
    ];
    NAMES.get(kind as usize).copied().unwrap_or("collective")
}

impl Operation {
    fn unfinished(&self, geometry: u32) -> String {
        let algorithm = super::algorithms::ALGORITHMS.get(usize::from(self.plan.algorithm));
        let kind = algorithm.map_or("collective", |algorithm| name(algorithm.kind));
        let tasks: Vec<String> = self
            .expected
            .iter()
            .take(NAMED)
            .filter_map(|expected| Some(self.members.endpoint(expected.peer)?.task().to_string()))
            .collect();
        let more = if self.expected.len() > NAMED { " and others" } else { "" };
        match tasks.is_empty() {
            true if self.pending == 1 => format!("{kind} of geometry {geometry} (an operation is under way)"),
            true => format!("{kind} of geometry {geometry} ({} operations are under way)", self.pending),
            false => format!("{kind} of geometry {geometry} (waits for task {}{more})", tasks.join(", ")),
        }
    }
}

impl Collectives {
    /// Operations that are not complete, and for whom they wait.
    pub fn unfinished(&self) -> Vec<String> {
        let of_schedules =
            self.active.iter().map(|(key, operation)| operation.unfinished((key >> 32) as u32));
        let mut list: Vec<String> = of_schedules.collect();
        if self.messages.pending() > 0 {
            list.push(format!("{} active-message collectives", self.messages.pending()));
        }
        list.sort();
        list
    }
}
