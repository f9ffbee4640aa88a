//! Puts, gets and atomic additions between random nodes, each with its own address and data, so that every
//! byte can be verified at the end: how many were issued, how many succeeded, how many were reported as
//! failed, and whether the reports are correct. The same on any network interface, which calls it like its
//! other programs.

mod tally;

use crate::ConfigError;
use crate::processes::refuse;
use netloom_engine::Stream;
use netloom_node::process::{Failure, Outcome};
use netloom_node::time::Microticks;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// The kind of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Puts data to a separate address at another node.
    Put,
    /// Gets data from another node to a separate local address.
    Get,
    /// Adds a number to a separate word at another node, which was 0, and fetches the old value.
    Atomic,
}

/// Random transactions: how many, of which kinds, and their timing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Exchange {
    /// Transactions of each process.
    #[serde(alias = "puts")]
    #[schemars(extend("x-aliases" = ["puts"]))]
    pub transactions: u32,
    /// The kinds of transactions: each transaction has one of these at random, with equal probability.
    pub kinds: Vec<Kind>,
    /// Data of a put or a get, bytes: a multiple of 8.
    pub bytes: u64,
    /// Mean time between a process' transactions, ns; 0: as fast as they go.
    pub interval_ns: f64,
    /// Maximum number of outstanding transactions of a process.
    pub outstanding: u32,
    /// When each process verifies the data that has arrived in its memory, us: after all transactions have
    /// ended. 0: never.
    pub check_at_us: f64,
    /// Whether each transaction has a connection, on interfaces that have such.
    pub connect: bool,
    /// How long a process waits for a get without a connection, us: a lost one is not reported.
    pub give_up_us: f64,
    /// Seed of the processes' choices.
    pub seed: u64,
}

impl Default for Exchange {
    fn default() -> Self {
        Exchange {
            transactions: 32,
            kinds: vec![Kind::Put],
            bytes: 1024,
            interval_ns: 0.0,
            outstanding: 8,
            check_at_us: 0.0,
            connect: true,
            give_up_us: 0.0,
            seed: 1,
        }
    }
}

/// Keys of measurements: the number of the transaction, and its outcome.
const COMPLETED: u64 = 1 << 33;
const FAILED: u64 = COMPLETED + 1;
const FOUND: u64 = COMPLETED + 2;
const PARTLY: u64 = COMPLETED + 3;
const RETURNED: u64 = COMPLETED + 4;
const ISSUED: u64 = COMPLETED + 5;
const CHECKED: u64 = COMPLETED + 6;
const WRONG: u64 = COMPLETED + 7;
const GIVEN_UP: u64 = COMPLETED + 8;

/// Random streams of a run: for a process's choices; for its transactions' data; for their kinds.
const CHOICES: u64 = 31;
const DATA: u64 = 32;
const KINDS: u64 = 33;
/// For the data at each node that others get.
const KNOWN: u64 = 34;

/// Initial value at the address of a fetched word; no word has this value.
const NOTHING_FETCHED: u64 = u64::MAX;

impl Exchange {
    pub(crate) fn check(&self, nodes: u32) -> Result<(), ConfigError> {
        if nodes < 2 {
            return refuse("transactions", "expected at least two nodes");
        }
        if self.transactions == 0 || self.outstanding == 0 {
            return refuse("transactions", "expected at least 1, also of outstanding");
        }
        if self.kinds.is_empty() {
            return refuse("kinds", "expected at least one of \"put\", \"get\" and \"atomic\"");
        }
        if self.bytes == 0 || self.bytes > 1 << 20 || !self.bytes.is_multiple_of(8) {
            return refuse("bytes", "expected a multiple of 8, up to 1 MiB");
        }
        if !(0.0..=1e9).contains(&self.interval_ns) || !(0.0..=1e9).contains(&self.check_at_us) {
            return refuse("interval_ns", "expected 0 to 1e9, also of check_at_us");
        }
        if !(0.0..=1e9).contains(&self.give_up_us) {
            return refuse("give_up_us", &format!("expected 0 to 1e9, found {}", self.give_up_us));
        }
        if u64::from(nodes) * u64::from(self.transactions) * self.bytes > 1 << 38 {
            return refuse("transactions", "expected at most 256 GiB of places at each node");
        }
        Ok(())
    }

    /// Whether any transaction may be of a kind.
    pub(crate) fn has(&self, kind: Kind) -> bool {
        self.kinds.contains(&kind)
    }

    /// Memory of a process: a place for each transaction of each node, the sources of its own puts, and the
    /// data that others get.
    pub(crate) fn memory(&self, nodes: u32) -> u64 {
        self.known(nodes, if self.has(Kind::Get) { self.transactions } else { 0 })
    }

    /// The address of a transaction's data: at its destination or, for fetched data, locally.
    pub(crate) fn place(&self, from: u32, n: u32) -> u64 {
        self.number(from, n) * self.bytes
    }

    /// The source address of a put, in one of the slots.
    pub(crate) fn source(&self, nodes: u32, slot: u32) -> u64 {
        (u64::from(nodes) * u64::from(self.transactions) + u64::from(slot)) * self.bytes
    }

    /// The address that every process's `n`-th get reads.
    pub(crate) fn known(&self, nodes: u32, n: u32) -> u64 {
        self.source(nodes, self.outstanding) + u64::from(n) * self.bytes
    }

    fn number(&self, from: u32, n: u32) -> u64 {
        u64::from(from) * u64::from(self.transactions) + u64::from(n)
    }

    /// Words that all differ from those of untouched memory.
    fn words(&self, purpose: u64, node: u32, n: u32, bytes: u64) -> Vec<u8> {
        let mut stream = Stream::new(self.seed, purpose, self.number(node, n));
        (0..bytes / 8).flat_map(|_| (stream.draw() | 1).to_le_bytes()).collect()
    }

    /// The data of a put.
    pub(crate) fn data(&self, from: u32, n: u32) -> Vec<u8> {
        self.words(DATA, from, n, self.bytes)
    }

    /// The addend of an atomic operation.
    pub(crate) fn addend(&self, from: u32, n: u32) -> u64 {
        u64::from_le_bytes(self.words(DATA, from, n, 8).try_into().expect("a word"))
    }

    /// The data at a node that others get.
    pub(crate) fn known_data(&self, node: u32, n: u32) -> Vec<u8> {
        self.words(KNOWN, node, n, self.bytes)
    }

    /// A process's own choices.
    pub(crate) fn plan(&self, node: u32, nodes: u32) -> Plan<'_> {
        Plan {
            stream: Stream::new(self.seed, CHOICES, node.into()),
            // A separate stream: partners and times do not depend on the kinds.
            kinds_stream: Stream::new(self.seed, KINDS, node.into()),
            kinds: &self.kinds,
            node,
            nodes,
            mean: self.interval_ns,
            due: 0.0,
        }
    }
}

/// Classifies the contents of a place: a measurement key, if anything has arrived. Data that arrives in
/// packets may be partial, but in whole words.
fn seen(found: &[u8], expected: &[u8]) -> Option<u64> {
    if found == expected {
        return Some(FOUND);
    }
    let mut words = found.chunks(8).zip(expected.chunks(8));
    let is_nothing = |word: &[u8]| word.iter().all(|&byte| byte == 0);
    if words.any(|(found, expected)| found != expected && !is_nothing(found)) {
        return Some(WRONG);
    }
    (!is_nothing(found)).then_some(PARTLY)
}

/// A process's sequence of transactions: kinds, partners and times.
pub(crate) struct Plan<'a> {
    stream: Stream,
    kinds_stream: Stream,
    kinds: &'a [Kind],
    node: u32,
    nodes: u32,
    mean: f64,
    due: f64,
}

/// A drawn transaction.
#[derive(Clone, Copy)]
pub(crate) struct Drawn {
    pub to: u32,
    pub kind: Kind,
    /// The earliest time at which it may be issued, ns.
    pub due: f64,
}

impl Plan<'_> {
    /// The next transaction.
    pub fn next(&mut self) -> Drawn {
        self.due += self.mean * self.stream.exponential();
        let further = 1 + self.stream.below(u64::from(self.nodes) - 1) as u32;
        let kind = self.kinds[self.kinds_stream.below(self.kinds.len() as u64) as usize];
        Drawn { to: (self.node + further) % self.nodes, kind, due: self.due }
    }
}

/// The addresses of a transaction's data, local and remote, and its length.
#[derive(Clone, Copy)]
pub(crate) struct Places {
    pub local: u64,
    pub remote: u64,
    pub bytes: u64,
}

/// The operations of a network interface that this program uses.
pub(crate) trait Interface {
    fn node(&self) -> u32;
    fn nodes(&self) -> u32;
    /// The current time, ns.
    fn now_ns(&self) -> f64;
    fn measure(&self, of: u64, value: u64);
    fn now(&self) -> Microticks;
    /// Memory, by offset in the registered segment.
    fn store(&self, at: u64, bytes: &[u8]);
    fn load(&self, at: u64, bytes: usize) -> Vec<u8>;
    /// Waits for this long.
    async fn sleep_ns(&self, ns: f64);
    /// Puts local memory to remote memory; its event has the data `id`, as have those of the others.
    async fn put(&self, to: u32, places: Places, id: u32) -> Outcome;
    /// Gets remote memory to local memory.
    async fn get(&self, to: u32, places: Places, id: u32) -> Outcome;
    /// Adds to a remote word, and fetches its old value to local memory.
    async fn add(&self, to: u32, places: Places, addend: u64, id: u32) -> Outcome;
    /// Waits for the event of a transaction: its number, and whether it succeeded.
    async fn ended(&self) -> Result<(u32, bool), Failure>;
    /// The same with a time limit.
    async fn ended_within(&self, ns: f64) -> Result<Option<(u32, bool)>, Failure>;
    /// Whether this side is notified if a get is lost.
    fn tells_of_gets(&self) -> bool;
}

/// An outstanding transaction.
struct InFlight {
    slot: u32,
    kind: Kind,
    to: u32,
    /// Time at which it is given up, ns.
    until: Option<f64>,
}

/// The state of a process.
struct Process<'a, I> {
    nic: I,
    c: &'a Exchange,
    /// Free source slots of puts.
    free: Vec<u32>,
    in_flight: HashMap<u32, InFlight>,
    /// Gets that did not succeed, with their targets.
    not_got: Vec<(u32, u32)>,
}

/// The program of a process.
pub(crate) async fn run(nic: impl Interface, c: Exchange) -> Outcome {
    let (node, nodes) = (nic.node(), nic.nodes());
    if c.has(Kind::Get) {
        (0..c.transactions).for_each(|n| nic.store(c.known(nodes, n), &c.known_data(node, n)));
    }
    let mut plan = c.plan(node, nodes);
    let free: Vec<u32> = (0..c.outstanding.min(c.transactions)).rev().collect();
    let mut process = Process { nic, c: &c, free, in_flight: HashMap::new(), not_got: vec![] };
    let mut issued = 0;
    while issued < c.transactions || !process.in_flight.is_empty() {
        if issued < c.transactions
            && let Some(slot) = process.free.pop()
        {
            process.issue(issued, plan.next(), slot).await?;
            issued += 1;
        } else {
            process.one_ends().await?;
        }
    }
    let Process { nic, not_got, .. } = process;
    nic.measure(RETURNED, nic.now().into());
    if c.check_at_us > 0.0 {
        nic.sleep_ns(c.check_at_us * 1000.0 - nic.now_ns()).await;
        look(&nic, &c, &not_got);
        nic.measure(CHECKED, nic.now().into());
    }
    Ok(())
}

impl<I: Interface> Process<'_, I> {
    async fn issue(&mut self, n: u32, Drawn { to, kind, due }: Drawn, slot: u32) -> Outcome {
        let (nic, c) = (&self.nic, self.c);
        let (node, nodes) = (nic.node(), nic.nodes());
        nic.sleep_ns(due - nic.now_ns()).await;
        let own = c.place(node, n);
        match kind {
            Kind::Put => {
                let local = c.source(nodes, slot);
                nic.store(local, &c.data(node, n));
                nic.put(to, Places { local, remote: own, bytes: c.bytes }, n).await?;
            }
            Kind::Get => {
                nic.get(to, Places { local: own, remote: c.known(nodes, n), bytes: c.bytes }, n).await?;
            }
            Kind::Atomic => {
                nic.store(own, &NOTHING_FETCHED.to_le_bytes());
                nic.add(to, Places { local: own, remote: own, bytes: 8 }, c.addend(node, n), n).await?;
            }
        }
        nic.measure(ISSUED, c.number(node, n));
        let is_silent = kind == Kind::Get && !nic.tells_of_gets();
        let until = is_silent.then(|| nic.now_ns() + c.give_up_us * 1000.0);
        self.in_flight.insert(n, InFlight { slot, kind, to, until });
        Ok(())
    }

    /// Waits until a transaction has ended, or is given up.
    async fn one_ends(&mut self) -> Outcome {
        let given_up = self.in_flight.iter().filter_map(|(&n, one)| Some((one.until?, n)));
        let first = given_up.min_by(|a, b| a.partial_cmp(b).expect("times"));
        let ended = match first {
            None => Some(self.nic.ended().await?),
            Some((until, _)) => self.nic.ended_within((until - self.nic.now_ns()).max(0.0)).await?,
        };
        let (n, note) = match (ended, first) {
            (Some((n, well)), _) => (n, if well { COMPLETED } else { FAILED }),
            (None, Some((_, n))) => (n, GIVEN_UP),
            (None, None) => unreachable!("without an end it waits for an event"),
        };
        // An event after it has been given up is ignored.
        let Some(InFlight { slot, kind, to, .. }) = self.in_flight.remove(&n) else { return Ok(()) };
        let (nic, c) = (&self.nic, self.c);
        let (place, number) = (c.place(nic.node(), n), c.number(nic.node(), n));
        nic.measure(note, number);
        match (kind, note) {
            (Kind::Get, COMPLETED) => {
                // Checked at once: data that arrives later is too late.
                let found = nic.load(place, c.bytes as usize);
                seen(&found, &c.known_data(to, n)).into_iter().for_each(|of| nic.measure(of, number));
            }
            (Kind::Get, _) => self.not_got.push((n, to)),
            (Kind::Atomic, COMPLETED) if nic.load(place, 8) != [0; 8] => nic.measure(WRONG, number),
            _ => {}
        }
        self.free.push(slot);
        Ok(())
    }
}

/// Verifies all data that has arrived in a process's memory, and that of the gets that did not succeed.
fn look(nic: &impl Interface, c: &Exchange, not_got: &[(u32, u32)]) {
    let (node, nodes) = (nic.node(), nic.nodes());
    for from in (0..nodes).filter(|&from| from != node) {
        let mut plan = c.plan(from, nodes);
        for n in 0..c.transactions {
            let drawn = plan.next();
            if drawn.to != node || drawn.kind == Kind::Get {
                continue;
            }
            let expected = match drawn.kind {
                Kind::Atomic => c.addend(from, n).to_le_bytes().to_vec(),
                _ => c.data(from, n),
            };
            let found = nic.load(c.place(from, n), expected.len());
            seen(&found, &expected).into_iter().for_each(|of| nic.measure(of, c.number(from, n)));
        }
    }
    for &(n, to) in not_got {
        let found = nic.load(c.place(node, n), c.bytes as usize);
        seen(&found, &c.known_data(to, n)).into_iter().for_each(|of| nic.measure(of, c.number(node, n)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_distinguishes_complete_none_partial_and_unexpected_data() {
        let words = |words: [u64; 3]| words.map(u64::to_le_bytes).concat();
        let expected = words([5, 7, 9]);
        let of = |found: [u64; 3]| seen(&words(found), &expected);
        assert_eq!((of([5, 7, 9]), of([0, 0, 0])), (Some(FOUND), None));
        assert_eq!((of([5, 0, 9]), of([0, 0, 9])), (Some(PARTLY), Some(PARTLY)));
        assert_eq!((of([7, 5, 9]), of([5, 7, 1]), of([10, 0, 0])), (Some(WRONG), Some(WRONG), Some(WRONG)));
    }

    /// Otherwise two runs with different kinds would issue their transactions at different times.
    #[test]
    fn what_is_drawn_does_not_change_with_whom() {
        let all = [Kind::Put, Kind::Get, Kind::Atomic];
        let (one, mixed) = (Exchange::default(), Exchange { kinds: all.to_vec(), ..Exchange::default() });
        let (mut a, mut b) = (one.plan(3, 16), mixed.plan(3, 16));
        let mut kinds = vec![];
        for _ in 0..60 {
            let (a, b) = (a.next(), b.next());
            assert_eq!((a.to, a.due, a.kind), (b.to, b.due, Kind::Put));
            kinds.push(b.kind);
        }
        assert!(all.iter().all(|kind| kinds.iter().filter(|k| *k == kind).count() > 8), "{kinds:?}");
    }
}
