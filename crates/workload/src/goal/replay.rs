//! Replays a trace: a [`Program`] for each of its ranks.
//!
//! An operation starts when everything that it `requires` has finished and everything that it `irequires` has
//! started; a computation whose CPU is busy starts later, in FIFO order. Sends and receives occupy no CPU.
//! Collective operations use the algorithms configured in the study, one after the other in the order of the
//! file. Operations that become ready together start in the order of their lists, and at time zero in the
//! order of the file.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use super::{ANY, COLLECTIVES, Kind, RankTrace, Trace};
use crate::ConfigError;
use crate::matching::COLLECTIVE_TAGS;
use crate::program::{HardwareCollectives, Issue, OpId, Operation, Processors, Program};
use crate::skeleton::Skeleton;
use crate::skeleton::collective::{Algorithm, Collective, Operation as CollectiveOperation, perform, word};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The first of the identifiers of the operations that a collective operation consists of: a rank has fewer
/// than 2^31 of its own.
const OF_COLLECTIVES: u32 = 1 << 31;

/// How the collective operations of a trace are done: algorithms by operation; the rest as for a
/// [`Collective`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
#[allow(non_snake_case)]
pub struct TraceCollectives {
    /// Algorithm of barriers.
    pub barrier: Algorithm,
    /// Algorithm of broadcasts.
    pub broadcast: Algorithm,
    /// Algorithm of reductions.
    pub reduce: Algorithm,
    /// Algorithm of allreduces.
    pub allreduce: Algorithm,
    /// Algorithm of allgathers.
    pub allgather: Algorithm,
    /// Algorithm of all-to-alls.
    pub all_to_all: Algorithm,
    /// Algorithm of all-to-alls with blocks of different lengths.
    pub all_to_all_v: Algorithm,
    /// Children of a rank and level of a tree, plus one.
    pub radix: u32,
    /// How fast a rank adds up data, GB/s. If omitted: in no time.
    #[serde(skip_serializing_if = "Option::is_none", rename = "sum_GB_per_s")]
    pub sum_GB_per_s: Option<f64>,
}

impl Default for TraceCollectives {
    fn default() -> Self {
        let by_size = Algorithm::BySize;
        TraceCollectives {
            barrier: by_size,
            broadcast: by_size,
            reduce: by_size,
            allreduce: by_size,
            allgather: by_size,
            all_to_all: by_size,
            all_to_all_v: by_size,
            radix: 2,
            sum_GB_per_s: None,
        }
    }
}

impl TraceCollectives {
    /// The algorithm and parameters of a collective operation.
    pub fn of(&self, operation: CollectiveOperation, ranks: u32, bytes: u64) -> Collective {
        let algorithm = match operation {
            CollectiveOperation::Barrier => self.barrier,
            CollectiveOperation::Broadcast => self.broadcast,
            CollectiveOperation::Reduce => self.reduce,
            CollectiveOperation::Allreduce => self.allreduce,
            CollectiveOperation::Allgather => self.allgather,
            CollectiveOperation::AllToAll => self.all_to_all,
            CollectiveOperation::AllToAllV => self.all_to_all_v,
        };
        let (radix, sum) = (self.radix, self.sum_GB_per_s);
        Collective { operation, algorithm, ranks, bytes, radix, sum_GB_per_s: sum, ..Collective::default() }
    }

    /// Checks the algorithms against the operations of a trace.
    ///
    /// # Errors
    /// The first invalid one, by its key (`collectives.…`).
    pub fn check(&self, trace: &Trace) -> Result<(), ConfigError> {
        let Some(first) = trace.ranks().first() else { return Ok(()) };
        let ranks = trace.ranks().len() as u32;
        for (which, bytes) in first.collectives() {
            let collective = self.of(COLLECTIVES[which as usize].1, ranks, bytes);
            collective.check().map_err(|e| {
                let key = if e.key == "algorithm" { word(&collective.operation) } else { e.key };
                ConfigError { key: format!("collectives.{key}"), ..e }
            })?;
        }
        Ok(())
    }
}

/// One rank of a trace. An operation's [`OpId`] is its index in the rank, from 0.
///
/// It takes 4 bytes per operation in addition to the trace, which all ranks share.
pub struct Replay {
    trace: Arc<Trace>,
    rank: u32,
    collectives: Arc<TraceCollectives>,
    hardware: HardwareCollectives,
    state: State,
    /// The current collective operation: its index in the rank, and the rank's program for it.
    in_flight: Option<(u32, Skeleton)>,
    issue: Issue,
}

#[derive(Debug)]
struct State {
    /// Number of unfinished dependencies of each operation.
    waits: Box<[u32]>,
    /// Operations without unfinished dependencies that have not started.
    ready: VecDeque<u32>,
    processors: Processors<u32>,
    /// Number of operations that have not finished.
    left: usize,
    /// Collective operations, last first, and those that are ready; the number of those started.
    collectives: Vec<u32>,
    ready_collectives: BTreeSet<u32>,
    begun: u32,
}

impl Replay {
    /// The programs of all ranks, in order.
    pub fn programs(trace: &Arc<Trace>, collectives: &TraceCollectives) -> Vec<Self> {
        let collectives = Arc::new(collectives.clone());
        let ranks = 0..trace.ranks().len() as u32;
        ranks.map(|rank| Self::new(Arc::clone(trace), rank, &collectives)).collect()
    }

    /// The program of one rank.
    ///
    /// # Panics
    /// Where the trace has no such rank.
    pub fn new(trace: Arc<Trace>, rank: u32, collectives: &Arc<TraceCollectives>) -> Self {
        let own = &trace.ranks()[rank as usize];
        let waits = own.waits.clone();
        let left = own.nodes.iter().filter(|node| node.kind != Kind::Block).count();
        let state = State {
            waits,
            ready: VecDeque::new(),
            processors: Processors::default(),
            left,
            collectives: own.collectives.iter().rev().copied().collect(),
            ready_collectives: BTreeSet::new(),
            begun: 0,
        };
        let collectives = Arc::clone(collectives);
        let (hardware, issue) = (HardwareCollectives::default(), Issue::new());
        Self { trace, rank, collectives, hardware, state, in_flight: None, issue }
    }

    /// Starts all ready operations; for collective operations the next one, if none is in progress.
    fn run(&mut self, issue: &mut Issue) {
        loop {
            let (rank, state) = self.parts();
            state.run(rank, issue);
            let next = state.collectives.last().copied();
            let Some(node) =
                next.filter(|next| self.in_flight.is_none() && self.state.ready_collectives.remove(next))
            else {
                return;
            };
            self.state.collectives.pop();
            self.begin(node, issue);
        }
    }

    /// Starts a collective operation.
    fn begin(&mut self, node: u32, issue: &mut Issue) {
        let number = self.state.begun;
        self.state.begun += 1;
        let ranks = self.trace.ranks().len() as u32;
        let (rank, state) = self.parts();
        let (which, bytes) = (rank.nodes()[node as usize].peer, rank.nodes()[node as usize].size);
        state.release(rank.after_start(node));
        let operation = COLLECTIVES[which as usize].1;
        let config = self.collectives.of(operation, ranks, bytes);
        let trace = Arc::clone(&self.trace);
        let block = move |from: u32, to: u32| match operation {
            CollectiveOperation::AllToAllV => trace.ranks()[from as usize].block(number, to),
            _ => bytes,
        };
        let mut own = Skeleton::new(self.rank, ranks, |rank| async move {
            perform(&rank, &config, COLLECTIVE_TAGS + number, block).await;
        });
        own.set_hardware(self.hardware);
        own.start(&mut self.issue);
        self.in_flight = Some((node, own));
        self.advance_collective(issue);
    }

    /// Issues the operations of the current collective operation, and ends it if there are none left.
    fn advance_collective(&mut self, issue: &mut Issue) {
        self.issue.drain().for_each(|(op, operation)| issue.push(OpId(op.0 + OF_COLLECTIVES), operation));
        if let Some((node, _)) = self.in_flight.take_if(|(_, own)| own.is_done()) {
            let (rank, state) = self.parts();
            state.left -= 1;
            state.release(rank.after_finish(node));
        }
    }

    /// The constant and the changing part. (Not a clone of the shared pointer: all threads would contend for
    /// its count.)
    fn parts(&mut self) -> (&RankTrace, &mut State) {
        (&self.trace.ranks()[self.rank as usize], &mut self.state)
    }
}

impl State {
    /// Starts all ready operations, and those that become ready as a result.
    fn run(&mut self, rank: &RankTrace, issue: &mut Issue) {
        while let Some(node) = self.ready.pop_front() {
            let operation = &rank.nodes()[node as usize];
            if operation.kind == Kind::Collective {
                self.ready_collectives.insert(node);
                continue;
            }
            if operation.kind == Kind::Calc {
                if operation.size == 0 && self.processors.is_idle(operation.cpu) {
                    // It starts and finishes immediately: traces are full of these, and they cost no event.
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

    /// Starts a computation on its idle CPU.
    fn compute(&mut self, rank: &RankTrace, node: u32, issue: &mut Issue) {
        let operation = &rank.nodes()[node as usize];
        issue.push(OpId(node), Operation::Compute { ns: operation.size, cpu: operation.cpu });
        self.release(rank.after_start(node));
    }

    /// An event that these operations waited for has happened.
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
    fn set_hardware(&mut self, collectives: HardwareCollectives) {
        self.hardware = collectives;
    }

    fn start(&mut self, issue: &mut Issue) {
        let state = &mut self.state;
        let nodes = self.trace.ranks()[self.rank as usize].nodes();
        let ready = (0..)
            .zip(nodes)
            .zip(&state.waits)
            .filter(|((_, n), waits)| **waits == 0 && n.kind != Kind::Block);
        state.ready.extend(ready.map(|((node, _), _)| node));
        self.run(issue);
    }

    fn finished(&mut self, op: OpId, issue: &mut Issue) {
        if op.0 >= OF_COLLECTIVES {
            if let Some((_, own)) = &mut self.in_flight {
                own.finished(OpId(op.0 - OF_COLLECTIVES), &mut self.issue);
            }
            self.advance_collective(issue);
            return self.run(issue);
        }
        let (rank, state) = self.parts();
        let operation = &rank.nodes()[op.0 as usize];
        state.left -= 1;
        if operation.kind == Kind::Calc
            && let Some(next) = state.processors.leave(operation.cpu)
        {
            state.compute(rank, next, issue);
        }
        state.release(rank.after_finish(op.0));
        self.run(issue);
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
        let mut programs: Vec<_> = Replay::programs(&Arc::new(trace), &TraceCollectives::default())
            .into_iter()
            .map(Box::new)
            .collect();
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
        // Both kinds together, and one dependency stated twice.
        assert_eq!(one("a: calc 70\nb: calc 5 cpu 1\nb requires a\nb irequires a\nb requires a"), 75);
        // An operation starts with a receive that is still waiting.
        let goal =
            "num_ranks 2 rank 0 {\nr: recv 10b from 1\nc: calc 30\nc irequires r\nd: calc 1\nd requires r\n}
                    rank 1 {\nw: calc 500\ns: send 10b to 0\ns requires w\n}";
        assert_eq!(times(goal), [500 + 110 + 1, 510]);
        let finished = times(&goal.replace("irequires", "requires"));
        assert_eq!(finished, [500 + 110 + 31, 510]);
    }

    /// Collective operations start when they are ready, in the order of the file, and operations that require
    /// them wait. Receives with any tag match none of their messages.
    #[test]
    fn collective_operations_are_done_by_messages() {
        // A barrier of four ranks; rank 3 is last, at 300 ns: its message reaches rank 0 in the first round,
        // rank 1 in the second, and rank 2 through rank 0.
        let rank = |number: u32, ns: u32| {
            format!("rank {number} {{\na: calc {ns}\nb: barrier\nb requires a\nc: calc 7\nc requires b\n}}\n")
        };
        let goal: String = (0..4).map(|number| rank(number, 100 * number)).collect();
        assert_eq!(times(&format!("num_ranks 4\n{goal}")), [407, 407, 507, 307]);
        // The second allreduce is ready first.
        let rank = |number: u32| {
            format!("rank {number} {{\na: calc 50\nb: allreduce 8b\nb requires a\nc: allreduce 100b\n}}\n")
        };
        let goal = format!("num_ranks 2\n{}{}", rank(0), rank(1));
        assert_eq!(times(&goal), [50 + 108 + 200; 2]);
        // A receive from any source with any tag is posted all the time.
        let goal = "num_ranks 2
            rank 0 {\nr: recv 10b from -1 tag -1\nb: bcast 10b\ns: reduce 20b\n}
            rank 1 {\nb: bcast 10b\ns: reduce 20b\nl: calc 1000\nm: send 10b to 0 tag 3\nm requires l\n}";
        assert_eq!(times(goal), [1110, 1010]);
    }

    /// Each block has its sender's length; empty ones are not sent. Operations that require this one wait for
    /// the rank's own part.
    #[test]
    fn blocks_of_different_lengths_go_to_all() {
        let goal = "num_ranks 3
            rank 0 {\na: alltoallv 9b 30b 0b\nb: calc 5\nb requires a\n}
            rank 1 {\nalltoallv 0b 0b 200b\n}
            rank 2 {\nalltoallv 40b 0b 7b\n}";
        // Rank 0 gets 40 B from rank 2, rank 1 gets 30 B from rank 0, and rank 2 gets 200 B from rank 1;
        // nothing else is sent.
        let finish = run_on(NETWORK, text::parse(goal.as_bytes()).unwrap()).unwrap();
        let ns: Vec<u64> = finish.ranks_ps.iter().map(|ps| ps / 1000).collect();
        assert_eq!((ns, finish.messages, finish.bytes), (vec![140 + 5, 200, 300], 3, 270));
        // One partner after the other: rank 0 first sends its 30 B to rank 1, and receives from rank 2 at the
        // same time.
        let collectives =
            TraceCollectives { all_to_all_v: Algorithm::Pairwise, ..TraceCollectives::default() };
        let trace = Arc::new(text::parse(goal.as_bytes()).unwrap());
        assert!(collectives.check(&trace).is_ok());
        let mut programs: Vec<_> = Replay::programs(&trace, &collectives).into_iter().map(Box::new).collect();
        assert_eq!(NETWORK.run(&mut programs).unwrap().bytes, 270);
        let wrong = TraceCollectives { all_to_all_v: Algorithm::Bruck, ..TraceCollectives::default() };
        assert_eq!(wrong.check(&trace).unwrap_err().key, "collectives.all-to-all-v");
    }

    #[test]
    fn a_cpu_takes_one_computation_at_a_time() {
        assert_eq!(one("calc 70\ncalc 50"), 120);
        assert_eq!(one("calc 70\ncalc 50 cpu 1\ncalc 0"), 70);
        // b has not started while it waits for its CPU, so neither has c.
        assert_eq!(one("a: calc 70\nb: calc 50\nc: calc 10 cpu 1\nc irequires b"), 120);
        assert_eq!(one("a: calc 70\nb: calc 5\nc: calc 10 cpu 1\nc irequires b"), 80);
        // With length zero, too, it waits for its turn.
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
        // Without a network the ranks still wait for each other, but no rank can take less than its
        // computations.
        let free = run_on(Ideal::default(), trace.clone()).unwrap();
        assert_eq!(free.messages, 13_455);
        assert!((0..64).all(|r| free.ranks_ps[r] >= 1000 * computed(r)));
        assert!(free.end_ns() >= most && free.end_ns() < 2 * most, "{} of {most}", free.end_ns());
        let slow = run_on(Ideal { latency_ns: 5_000, ps_per_byte: 6_000 }, trace).unwrap();
        assert!(slow.end_ns() > free.end_ns());
        assert!(slow.operations < 13_455 * 2 + 36_974, "computations of no length are no operations");
    }

    #[test]
    fn a_message_that_is_never_sent_is_named() {
        let goal = "num_ranks 2 rank 0 {\nrecv 8b from 1 tag 9\n}\nrank 1 {\na: recv 8b from -1 tag 4\ns: send 8b to 0
                    s requires a\n}";
        let deadlock = run_on(NETWORK, text::parse(goal.as_bytes()).unwrap()).unwrap_err();
        assert_eq!(deadlock.stuck, [(0, vec![(Some(1), Some(9))]), (1, vec![(None, Some(4))])]);
    }
}
