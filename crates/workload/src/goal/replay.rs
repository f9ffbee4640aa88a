//! Replays a trace: a [`Program`] for each of its ranks.
//!
//! An operation starts at the moment when all that it `requires` has finished and all that it `irequires` has
//! started; a computation whose CPU is busy starts later, when its turn comes (first come first served). Sends and
//! receives keep no CPU busy. Operations that become ready together start in the order of their lists, and at time
//! zero in the order of the file.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{ANY, Kind, RankTrace, Trace};
use crate::program::{Issue, OpId, Operation, Processors, Program};

/// One rank of a trace. An operation's [`OpId`] is its place in the rank, from 0.
///
/// It takes 4 bytes an operation beside the trace, which all ranks share.
#[derive(Debug)]
pub struct Replay {
    trace: Arc<Trace>,
    rank: u32,
    state: State,
}

#[derive(Debug)]
struct State {
    /// How many of its dependencies each operation still waits for.
    waits: Box<[u32]>,
    /// Operations that wait for nothing more and have not started.
    ready: VecDeque<u32>,
    processors: Processors<u32>,
    /// Operations that have not finished.
    left: usize,
}

impl Replay {
    /// The programs of all ranks, in order.
    pub fn programs(trace: &Arc<Trace>) -> Vec<Self> {
        (0..trace.ranks().len() as u32).map(|rank| Self::new(Arc::clone(trace), rank)).collect()
    }

    /// The program of one rank.
    ///
    /// # Panics
    /// Where the trace has no such rank.
    pub fn new(trace: Arc<Trace>, rank: u32) -> Self {
        let waits = trace.ranks()[rank as usize].waits.clone();
        let left = waits.len();
        let state = State { waits, ready: VecDeque::new(), processors: Processors::default(), left };
        Self { trace, rank, state }
    }

    /// What never changes beside what does. (No copy of the shared pointer: its count would be every thread's.)
    fn parts(&mut self) -> (&RankTrace, &mut State) {
        (&self.trace.ranks()[self.rank as usize], &mut self.state)
    }
}

impl State {
    /// Starts all that is ready, and what becomes ready by that.
    fn run(&mut self, rank: &RankTrace, issue: &mut Issue) {
        while let Some(node) = self.ready.pop_front() {
            let operation = &rank.nodes()[node as usize];
            if operation.kind == Kind::Calc {
                if operation.size == 0 && self.processors.is_idle(operation.cpu) {
                    // It starts and finishes here and now: traces are full of these, and they cost no event.
                    self.left -= 1;
                    self.release(rank.after_start(node));
                    self.release(rank.after_finish(node));
                } else if self.processors.enter(operation.cpu, node).is_some() {
                    self.compute(rank, node, issue);
                }
                continue;
            }
            let any = |value: u32| (value != ANY).then_some(value);
            let (bytes, peer, tag) = (operation.size, operation.peer, operation.tag);
            issue.push(
                OpId(node),
                match operation.kind {
                    Kind::Send => Operation::Send { to: peer, bytes, tag },
                    _ => Operation::Receive { from: any(peer), bytes, tag: any(tag) },
                },
            );
            self.release(rank.after_start(node));
        }
    }

    /// Starts a computation that has its CPU.
    fn compute(&mut self, rank: &RankTrace, node: u32, issue: &mut Issue) {
        let operation = &rank.nodes()[node as usize];
        issue.push(OpId(node), Operation::Compute { ns: operation.size, cpu: operation.cpu });
        self.release(rank.after_start(node));
    }

    /// Something that these waited for has happened.
    fn release(&mut self, waiting: &[u32]) {
        for &node in waiting {
            let waits = &mut self.waits[node as usize];
            *waits -= 1;
            if *waits == 0 {
                self.ready.push_back(node);
            }
        }
    }
}

impl Program for Replay {
    fn start(&mut self, issue: &mut Issue) {
        let (rank, state) = self.parts();
        state.ready.extend((0..).zip(&state.waits).filter(|&(_, &waits)| waits == 0).map(|(node, _)| node));
        state.run(rank, issue);
    }

    fn finished(&mut self, op: OpId, issue: &mut Issue) {
        let (rank, state) = self.parts();
        let operation = &rank.nodes()[op.0 as usize];
        state.left -= 1;
        if operation.kind == Kind::Calc
            && let Some(next) = state.processors.leave(operation.cpu)
        {
            state.compute(rank, next, issue);
        }
        state.release(rank.after_finish(op.0));
        state.run(rank, issue);
    }

    fn is_done(&self) -> bool {
        self.state.left == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::goal::{load, text};
    use crate::ideal::{Deadlock, Finish, Ideal};

    const NETWORK: Ideal = Ideal { latency_ns: 100, ps_per_byte: 1_000 };

    fn run_on(network: Ideal, trace: Trace) -> Result<Finish, Deadlock> {
        let mut programs: Vec<_> = Replay::programs(&Arc::new(trace)).into_iter().map(Box::new).collect();
        let finish = network.run(&mut programs);
        assert!(
            finish.is_err() || programs.iter().all(|p| p.is_done() && p.state.waits.iter().all(|&w| w == 0))
        );
        finish
    }

    /// When each rank finishes, ns.
    fn times(goal: &str) -> Vec<u64> {
        let finish = run_on(NETWORK, text::parse(goal.as_bytes()).unwrap()).unwrap();
        finish.ranks_ps.iter().map(|ps| ps / 1000).collect()
    }

    fn one(statements: &str) -> u64 {
        times(&format!("num_ranks 1\nrank 0 {{\n{statements}\n}}"))[0]
    }

    #[test]
    fn requires_waits_for_the_finish_and_irequires_for_the_start() {
        assert_eq!(one("a: calc 70 cpu 0\nb: calc 50 cpu 1"), 70);
        assert_eq!(one("a: calc 70 cpu 0\nb: calc 50 cpu 1\nb requires a"), 120);
        assert_eq!(one("a: calc 70 cpu 0\nb: calc 50 cpu 1\nb irequires a"), 70);
        // c starts with b, which starts after a.
        assert_eq!(one("a: calc 70\nb: calc 5 cpu 1\nc: calc 90 cpu 2\nb requires a\nc irequires b"), 160);
        // Both kinds at once, and one dependency stated twice.
        assert_eq!(one("a: calc 70\nb: calc 5 cpu 1\nb requires a\nb irequires a\nb requires a"), 75);
        // An operation starts with a receive that is still waiting.
        let goal =
            "num_ranks 2 rank 0 {\nr: recv 10b from 1\nc: calc 30\nc irequires r\nd: calc 1\nd requires r\n}
                    rank 1 {\nw: calc 500\ns: send 10b to 0\ns requires w\n}";
        assert_eq!(times(goal), [500 + 110 + 1, 510]);
        let finished = times(&goal.replace("irequires", "requires"));
        assert_eq!(finished, [500 + 110 + 31, 510]);
    }

    #[test]
    fn a_cpu_takes_one_computation_at_a_time() {
        assert_eq!(one("calc 70\ncalc 50"), 120);
        assert_eq!(one("calc 70\ncalc 50 cpu 1\ncalc 0"), 70);
        // b has not started while it waits for its CPU, so neither has c.
        assert_eq!(one("a: calc 70\nb: calc 50\nc: calc 10 cpu 1\nc irequires b"), 120);
        assert_eq!(one("a: calc 70\nb: calc 5\nc: calc 10 cpu 1\nc irequires b"), 80);
        // Of length zero, too: it waits for its turn.
        assert_eq!(one("a: calc 70\nb: calc 0\nc: calc 10 cpu 1\nc requires b"), 80);
    }

    #[test]
    fn messages_match_by_source_and_tag_in_order() {
        // The second receive from any source takes the first message, since the first receive wants tag 2.
        let goal = "num_ranks 2 rank 0 {\na: send 10b to 1 tag 1\nb: send 20b to 1 tag 2\nb requires a\n}
                    rank 1 {\nx: recv 20b from 0 tag 2\ny: recv 10b from -1 tag -1\nz: calc 1000\nz requires y\n}";
        assert_eq!(times(goal), [30, 1110]);
        // To itself.
        assert_eq!(one("s: send 10b to 0 tag 3\nr: recv 10b from 0 tag 3\nc: calc 5\nc requires r"), 115);
    }

    #[test]
    fn the_example_runs_to_its_end() {
        let trace =
            load(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/traces/lulesh-64.goal.gz")).unwrap();
        let computed = |rank: usize| {
            let nodes = trace.ranks()[rank].nodes().iter();
            nodes.filter(|n| n.kind == Kind::Calc).map(|n| n.size).sum::<u64>()
        };
        let most = (0..64).map(computed).max().unwrap();
        // Without a network the ranks still wait for each other, but no rank can take less than it computes.
        let free = run_on(Ideal::default(), trace.clone()).unwrap();
        assert_eq!(free.messages, 13_455);
        assert!((0..64).all(|r| free.ranks_ps[r] >= 1000 * computed(r)));
        assert!(free.end_ns() >= most && free.end_ns() < 2 * most, "{} of {most}", free.end_ns());
        let slow = run_on(Ideal { latency_ns: 5_000, ps_per_byte: 6_000 }, trace).unwrap();
        assert!(slow.end_ns() > free.end_ns());
        assert!(slow.operations < 13_455 * 2 + 36_974, "computations of no length are no operations");
    }

    #[test]
    fn a_message_that_nobody_sends_is_named() {
        let goal = "num_ranks 2 rank 0 {\nrecv 8b from 1 tag 9\n}\nrank 1 {\na: recv 8b from -1 tag 4\ns: send 8b to 0
                    s requires a\n}";
        let deadlock = run_on(NETWORK, text::parse(goal.as_bytes()).unwrap()).unwrap_err();
        assert_eq!(deadlock.stuck, [(0, vec![(Some(1), Some(9))]), (1, vec![(None, Some(4))])]);
    }
}
