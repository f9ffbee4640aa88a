//! A program that is one of several jobs on a machine.

use crate::program::{Issue, OpId, Operation, Program};

/// A rank of a job. The ranks of its program are numbered from 0, those of all jobs on the machine
/// consecutively: its program's sends and receives are renumbered, so that jobs do not interact. Hardware for
/// collective operations is among all ranks of a machine, so jobs have none.
pub struct JobProgram {
    first: u32,
    program: Box<dyn Program>,
    issue: Issue,
}

impl JobProgram {
    /// A rank of the job whose first rank has the number `first` on the machine.
    pub fn new(first: u32, program: Box<dyn Program>) -> Self {
        JobProgram { first, program, issue: Issue::new() }
    }

    fn hand_over(&mut self, issue: &mut Issue) {
        for (op, operation) in self.issue.drain() {
            let operation = match operation {
                Operation::Send { to, bytes, tag } => Operation::Send { to: self.first + to, bytes, tag },
                Operation::Receive { from, bytes, tag } => {
                    Operation::Receive { from: from.map(|from| self.first + from), bytes, tag }
                }
                other @ (Operation::Compute { .. }
                | Operation::Collective { .. }
                | Operation::Mark { .. }) => other,
            };
            issue.push(op, operation);
        }
    }
}

impl Program for JobProgram {
    fn start(&mut self, issue: &mut Issue) {
        self.program.start(&mut self.issue);
        self.hand_over(issue);
    }

    fn finished(&mut self, op: OpId, issue: &mut Issue) {
        self.program.finished(op, &mut self.issue);
        self.hand_over(issue);
    }

    fn is_done(&self) -> bool {
        self.program.is_done()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skeleton::{Rank, Skeleton};

    #[test]
    fn ranks_are_numbered_on_the_machine() {
        let ring = |rank| async move { Rank::send(&rank, 2, 5, 64).await };
        let mut job = JobProgram::new(10, Box::new(Skeleton::new(0, 4, ring)));
        let mut issue = Issue::new();
        job.start(&mut issue);
        let issued: Vec<_> = issue.drain().collect();
        assert_eq!(issued[0].1, Operation::Send { to: 12, bytes: 64, tag: 5 });
        job.finished(issued[0].0, &mut issue);
        assert!(job.is_done() && issue.is_empty());
    }
}
