//! Puts of all nodes to nodes at random, each to a place of its own and with data of its own, so that at the end every byte of each can
//! be looked at: how many were issued, how many ended well, how many were reported as failed, and whether that is true. The same on
//! any network interface; what calls it is beside the other programs of each.

use crate::ConfigError;
use crate::processes::{Notes, refuse};
use crate::spi::Measured;
use netloom_engine::Stream;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};

/// What is sent, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Exchange {
    /// Puts of each process.
    pub puts: u32,
    /// Data of a put, bytes: a multiple of 8.
    pub bytes: u64,
    /// Mean time between a process' puts, ns; 0: as fast as they go.
    pub interval_ns: f64,
    /// Puts of a process that may be without their events.
    pub outstanding: u32,
    /// When each process looks at what has come to its memory, us: after all has ended. 0: never.
    pub check_at_us: f64,
    /// Whether each put has a connection, on interfaces that have such.
    pub connect: bool,
    /// Decides who puts to whom.
    pub seed: u64,
}

impl Default for Exchange {
    fn default() -> Self {
        Exchange {
            puts: 32,
            bytes: 1024,
            interval_ns: 0.0,
            outstanding: 8,
            check_at_us: 0.0,
            connect: true,
            seed: 1,
        }
    }
}

/// What is noted, and of which put: its number, or how it ended.
const COMPLETED: u64 = 1 << 33;
const FAILED: u64 = COMPLETED + 1;
const FOUND: u64 = COMPLETED + 2;
const WRONG: u64 = COMPLETED + 3;
const RETURNED: u64 = COMPLETED + 4;
const ISSUED: u64 = COMPLETED + 5;
const CHECKED: u64 = COMPLETED + 6;

/// What the puts of a process draw from, among the streams of a run.
const PUTS: u64 = 31;

impl Exchange {
    pub(crate) fn check(&self, nodes: u32) -> Result<(), ConfigError> {
        if nodes < 2 {
            return refuse("puts", "expected at least two nodes");
        }
        if self.puts == 0 || self.outstanding == 0 {
            return refuse("puts", "expected at least 1, also of outstanding");
        }
        if self.bytes == 0 || self.bytes > 1 << 20 || !self.bytes.is_multiple_of(8) {
            return refuse("bytes", "expected a multiple of 8, up to 1 MiB");
        }
        if !(0.0..=1e9).contains(&self.interval_ns) || !(0.0..=1e9).contains(&self.check_at_us) {
            return refuse("interval_ns", "expected 0 to 1e9, also of check_at_us");
        }
        if u64::from(nodes) * u64::from(self.puts) * self.bytes > 1 << 38 {
            return refuse("puts", "expected at most 256 GiB of places at each node");
        }
        Ok(())
    }

    /// Memory of a process: a place for each put of each node, and behind them those from which its own leave.
    pub(crate) fn memory(&self, nodes: u32) -> u64 {
        self.source(nodes, self.outstanding)
    }

    /// Where a put lies at its destination.
    pub(crate) fn place(&self, from: u32, put: u32) -> u64 {
        self.number(from, put) * self.bytes
    }

    /// From where it leaves, which is one of so many places.
    pub(crate) fn source(&self, nodes: u32, slot: u32) -> u64 {
        (u64::from(nodes) * u64::from(self.puts) + u64::from(slot)) * self.bytes
    }

    fn number(&self, from: u32, put: u32) -> u64 {
        u64::from(from) * u64::from(self.puts) + u64::from(put)
    }

    /// What a put brings.
    pub(crate) fn data(&self, from: u32, put: u32) -> Vec<u8> {
        let mut stream = Stream::new(self.seed, PUTS + 1, self.number(from, put));
        // None of its words is that of memory to which nothing has come.
        (0..self.bytes / 8).flat_map(|_| (stream.draw() | 1).to_le_bytes()).collect()
    }

    /// A process' own choices.
    pub(crate) fn plan(&self, node: u32, nodes: u32) -> Plan {
        Plan {
            stream: Stream::new(self.seed, PUTS, node.into()),
            node,
            nodes,
            mean: self.interval_ns,
            due: 0.0,
        }
    }

    /// What came of a look at one put's place: nothing has come, all of it, or something else.
    fn look(&self, from: u32, put: u32, found: &[u8]) -> Option<bool> {
        if found.iter().all(|&byte| byte == 0) {
            return None;
        }
        Some(found == self.data(from, put))
    }

    pub(crate) fn measured(&self, notes: &Notes, second: f64) -> Measured {
        let all = |kind: u64| {
            notes.iter().flat_map(move |(node, _, notes)| {
                notes.iter().filter(move |n| n.of == kind).map(move |n| (*node, n.microticks))
            })
        };
        let nodes_of = |kind: u64| -> HashSet<u32> { all(kind).map(|(node, _)| node).collect() };
        // Who has failed tells nobody how its puts ended.
        let (alive, checked) = (nodes_of(RETURNED), nodes_of(CHECKED));
        let found: HashSet<u64> = all(FOUND).map(|(_, put)| put).collect();
        let of_alive = |kind: u64| all(kind).filter(|(node, _)| alive.contains(node)).map(|(_, put)| put);
        let issued = of_alive(ISSUED).count() as u64;
        let (completed, failed) = (of_alive(COMPLETED).count() as u64, of_alive(FAILED).count() as u64);
        let mut ends: HashMap<u64, u32> = HashMap::new();
        of_alive(COMPLETED).chain(of_alive(FAILED)).for_each(|put| *ends.entry(put).or_default() += 1);
        // Each ends once.
        let unaccounted = of_alive(ISSUED).filter(|put| ends.get(put) != Some(&1)).count() as u64;
        // Of what ended well the data must be there, where the node still is.
        let nodes = notes.iter().map(|(node, ..)| node + 1).max().unwrap_or(0);
        let missing = all(COMPLETED).filter(|&(node, put)| {
            let to = self.destination_of(node, (put - self.number(node, 0)) as u32, nodes);
            alive.contains(&node) && checked.contains(&to) && !found.contains(&put)
        });
        let missing = missing.count() as u64;
        let wrong = all(WRONG).count() as u64;
        let columns = [
            "nodes",
            "issued",
            "completed",
            "reported as failed",
            "unaccounted",
            "missing",
            "partly there",
            "ended at us",
        ];
        let ended = all(RETURNED).map(|(_, at)| at).max().unwrap_or(0) as f64 / second * 1e6;
        let counts = [alive.len() as u64, issued, completed, failed, unaccounted, missing, wrong];
        let mut row: Vec<f64> = counts.iter().map(|&count| count as f64).collect();
        row.push(ended);
        Measured {
            title: "Puts at random".into(),
            columns: columns.map(str::to_owned).to_vec(),
            rows: vec![row],
        }
    }

    /// To whom a put went, drawn again.
    fn destination_of(&self, from: u32, put: u32, nodes: u32) -> u32 {
        let mut plan = self.plan(from, nodes);
        (0..=put).map(|_| plan.next().0).last().expect("at least one")
    }
}

/// To whom a process puts, and when.
pub(crate) struct Plan {
    stream: Stream,
    node: u32,
    nodes: u32,
    mean: f64,
    due: f64,
}

impl Plan {
    /// The next put's destination, and the time from which it may go, ns.
    pub fn next(&mut self) -> (u32, f64) {
        self.due += self.mean * self.stream.exponential();
        let further = 1 + self.stream.below(u64::from(self.nodes) - 1) as u32;
        ((self.node + further) % self.nodes, self.due)
    }
}

/// A network interface as this program uses it.
pub(crate) trait Interface {
    fn node(&self) -> u32;
    fn nodes(&self) -> u32;
    /// The time, ns.
    fn now_ns(&self) -> f64;
    fn note(&self, of: u64, value: u64);
    fn now_microticks(&self) -> u64;
    /// Memory, by where it lies in the registered segment.
    fn store(&self, at: u64, bytes: &[u8]);
    fn load(&self, at: u64, bytes: usize) -> Vec<u8>;
    /// Waits for so long.
    async fn sleep_ns(&self, ns: f64);
    /// Puts memory here to memory there; its event will say `slot`.
    async fn put(&self, to: u32, local: u64, remote: u64, bytes: u64, slot: u32);
    /// Waits for the event of a put: which, and whether it ended well.
    async fn ended(&self) -> (u32, bool);
}

/// The program of a process.
pub(crate) async fn run(nic: impl Interface, c: Exchange) {
    let (node, nodes) = (nic.node(), nic.nodes());
    let mut plan = c.plan(node, nodes);
    let mut free: Vec<u32> = (0..c.outstanding.min(c.puts)).rev().collect();
    let mut under_way = vec![0; free.len()];
    let all = free.len();
    let mut issued = 0;
    while issued < c.puts || free.len() < all {
        if issued < c.puts
            && let Some(slot) = free.pop()
        {
            let (to, due) = plan.next();
            nic.sleep_ns(due - nic.now_ns()).await;
            let local = c.source(nodes, slot);
            nic.store(local, &c.data(node, issued));
            nic.put(to, local, c.place(node, issued), c.bytes, slot).await;
            nic.note(ISSUED, c.number(node, issued));
            under_way[slot as usize] = issued;
            issued += 1;
            continue;
        }
        let (slot, well) = nic.ended().await;
        nic.note(if well { COMPLETED } else { FAILED }, c.number(node, under_way[slot as usize]));
        free.push(slot);
    }
    nic.note(RETURNED, nic.now_microticks());
    if c.check_at_us > 0.0 {
        nic.sleep_ns(c.check_at_us * 1000.0 - nic.now_ns()).await;
        for from in (0..nodes).filter(|&from| from != node) {
            let mut plan = c.plan(from, nodes);
            for put in 0..c.puts {
                if plan.next().0 != node {
                    continue;
                }
                let found = nic.load(c.place(from, put), c.bytes as usize);
                match c.look(from, put, &found) {
                    Some(true) => nic.note(FOUND, c.number(from, put)),
                    Some(false) => nic.note(WRONG, c.number(from, put)),
                    None => {}
                }
            }
        }
        nic.note(CHECKED, nic.now_microticks());
    }
}
