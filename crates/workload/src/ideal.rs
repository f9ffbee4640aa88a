//! Test support: an ideal network, in which a message takes a latency and its transmission time, without
//! contention.
//!
//! A send finishes once its bytes have left at the given rate; the message arrives a latency later, but never
//! before an earlier one from the same sender to the same rank. A receive finishes when its message has
//! arrived. Simultaneous events happen in the order in which they were caused.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use crate::matching::Contexts;
use crate::program::{Issue, OpId, Operation, Program};

/// The network's parameters.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ideal {
    /// From the last byte's departure to its arrival, ns.
    pub latency_ns: u64,
    /// Transmission time per byte at a sender, ps.
    pub ps_per_byte: u64,
}

/// The results of a run.
#[derive(Debug)]
pub struct Finish {
    /// When each rank's last operation finished, ps.
    pub ranks_ps: Vec<u64>,
    /// Number of sends, and their total bytes.
    pub messages: u64,
    pub bytes: u64,
    /// Number of operations of all kinds.
    pub operations: u64,
    /// Marks: rank, key, ps.
    pub marks: Vec<(u32, u64, u64)>,
}

impl Finish {
    /// When the last rank finished, ns.
    pub fn end_ns(&self) -> u64 {
        let ps = self.ranks_ps.iter().max().unwrap();
        assert_eq!(ps % 1000, 0, "{ps} ps");
        ps / 1000
    }
}

/// Deadlock: no outstanding operation can finish.
#[derive(Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// The unfinished ranks, each with the receives (source, tag) that it waits for, in order of issue.
    pub stuck: Vec<(u32, Vec<Wait>)>,
}

/// An unmatched receive: source and tag.
pub type Wait = (Option<u32>, Option<u32>);

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Finished(u32, OpId),
    Arrived { from: u32, to: u32, tag: u32 },
}

struct Run {
    network: Ideal,
    now_ps: u64,
    caused: u64,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    sides: Vec<Contexts<(u64, OpId), ()>>,
    last_arrival_ps: HashMap<(u32, u32), u64>,
    finish: Finish,
}

impl Run {
    fn at(&mut self, ps: u64, event: Event) {
        self.caused += 1;
        self.events.push(Reverse((ps, self.caused, event)));
    }

    fn issue(&mut self, rank: u32, issue: &mut Issue) {
        for (op, operation) in issue.drain() {
            self.finish.operations += 1;
            match operation {
                Operation::Compute { ns, .. } => self.at(self.now_ps + ns * 1000, Event::Finished(rank, op)),
                Operation::Send { to, bytes, tag } => {
                    self.finish.messages += 1;
                    self.finish.bytes += bytes;
                    let sent = self.now_ps + bytes * self.network.ps_per_byte;
                    let last = self.last_arrival_ps.entry((rank, to)).or_default();
                    *last = (sent + self.network.latency_ns * 1000).max(*last);
                    let arrival = *last;
                    self.at(sent, Event::Finished(rank, op));
                    self.at(arrival, Event::Arrived { from: rank, to, tag });
                }
                Operation::Mark { key } => {
                    self.finish.marks.push((rank, key, self.now_ps));
                    self.at(self.now_ps, Event::Finished(rank, op));
                }
                Operation::Collective { .. } => unreachable!("this network has no hardware for them"),
                Operation::Receive { from, tag, .. } => {
                    let posted = (self.finish.operations, op);
                    if self.sides[rank as usize].post(from, tag, posted).is_some() {
                        self.at(self.now_ps, Event::Finished(rank, op));
                    }
                }
            }
        }
    }
}

impl Ideal {
    /// Runs one program per rank to its end.
    pub fn run<P: Program + ?Sized>(self, programs: &mut [Box<P>]) -> Result<Finish, Deadlock> {
        let ranks = programs.len();
        let finish = Finish { ranks_ps: vec![0; ranks], messages: 0, bytes: 0, operations: 0, marks: vec![] };
        let mut run = Run {
            network: self,
            now_ps: 0,
            caused: 0,
            events: BinaryHeap::new(),
            sides: (0..ranks).map(|_| Contexts::default()).collect(),
            last_arrival_ps: HashMap::new(),
            finish,
        };
        let mut issue = Issue::new();
        for (rank, program) in (0..).zip(programs.iter_mut()) {
            program.start(&mut issue);
            run.issue(rank, &mut issue);
        }
        while let Some(Reverse((ps, _, event))) = run.events.pop() {
            run.now_ps = ps;
            let (rank, op) = match event {
                Event::Finished(rank, op) => (rank, op),
                Event::Arrived { from, to, tag } => match run.sides[to as usize].arrive(from, tag, ()) {
                    Some((_, op)) => (to, op),
                    None => continue,
                },
            };
            run.finish.ranks_ps[rank as usize] = ps;
            programs[rank as usize].finished(op, &mut issue);
            run.issue(rank, &mut issue);
        }
        let waits = |rank: usize| {
            let mut waits: Vec<_> =
                run.sides[rank].posted().map(|(from, tag, op)| (op.0, (from, tag))).collect();
            waits.sort_unstable();
            waits.into_iter().map(|(_, wait)| wait).collect()
        };
        let stuck: Vec<_> =
            (0..ranks).filter(|&r| !programs[r].is_done()).map(|r| (r as u32, waits(r))).collect();
        if stuck.is_empty() { Ok(run.finish) } else { Err(Deadlock { stuck }) }
    }
}
