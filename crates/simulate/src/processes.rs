//! Reports of the processes of a run that failed or did not end.

use super::driver::Driver;
use netloom_fabric::router::{Network, RouterBlock};
use netloom_node::nodes::{NetworkInterface, Nodes};
use netloom_node::process::{Failure, Measurement};
use netloom_study::result::{Ended, RunResult};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The outcome of the processes of a run.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Processes {
    /// Their measurements: node, process, figures, in the order of nodes.
    pub measurements: Vec<(u32, u32, Vec<Measurement>)>,
    /// Those that have not ended: node, process.
    unfinished: Vec<(u32, u32)>,
    /// Those that failed, and why.
    failures: Vec<(u32, u32, Failure)>,
}

impl Processes {
    /// The processes of all nodes of a network.
    pub fn of<B: RouterBlock<Host: Driver>>(network: &mut Network<B>) -> Self {
        let mut all = Processes::default();
        network.blocks().for_each(|block| block.host().add_to(&mut all));
        let mut of_run = Processes::default();
        network.gather(all).into_iter().for_each(|of| of_run.join(of));
        of_run
    }

    /// Adds others.
    fn join(&mut self, others: Processes) {
        self.measurements.extend(others.measurements);
        self.unfinished.extend(others.unfinished);
        self.failures.extend(others.failures);
        self.sort();
    }

    /// Adds those of a block.
    pub fn add<N: NetworkInterface>(&mut self, nodes: &Nodes<N>) {
        self.measurements.extend(nodes.measurements());
        self.unfinished.extend(nodes.unfinished());
        self.failures.extend(nodes.failures().map(|(node, process, why)| (node, process, why.clone())));
        self.sort();
    }

    fn sort(&mut self) {
        self.measurements.sort_by_key(|&(node, process, _)| (node, process));
        self.unfinished.sort_unstable();
        self.failures.sort();
    }

    /// Leaves out the processes of nodes.
    pub fn forget(&mut self, nodes: &BTreeSet<u32>) {
        self.unfinished.retain(|(node, _)| !nodes.contains(node));
    }

    /// Those that failed: node, process, reason.
    pub fn failures(&self) -> &[(u32, u32, Failure)] {
        &self.failures
    }

    /// Whether any failed.
    pub fn has_failures(&self) -> bool {
        !self.failures.is_empty()
    }

    /// Marks a result as partial if any failed or has not ended; there are `count` of them.
    pub fn judge(&self, result: &mut RunResult, count: u32) {
        if let Some((node, process, why)) = self.failures.first() {
            let failed = self.failures.len();
            let why = format!(
                "{failed} of {count} processes failed, the first process {process} of node {node}: {why}"
            );
            result.ended_early(Ended::Failed, why);
        } else if let (Ended::Finished, Some((node, process))) =
            (result.simulated.ended, self.unfinished.first())
        {
            let unfinished = self.unfinished.len();
            let why = format!(
                "{unfinished} of {count} processes never end, the first process {process} of node {node}"
            );
            result.ended_early(Ended::Stalled, why);
        }
    }

    /// Whether all have ended.
    pub fn all_ended(&self) -> bool {
        self.unfinished.is_empty()
    }
}
