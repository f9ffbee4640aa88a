//! Collective operations by messages or by the machine's hardware, and a program that consists of them. By
//! messages with the algorithms of MPI libraries (Thakur, Rabenseifner and Gropp, "Optimization of Collective
//! Communication Operations in MPICH", 2005).
//!
//! Messages have only sizes, so an algorithm here determines the sizes, partners and order of messages, and
//! the computations in between.

use super::{Rank, exchange};
use crate::ConfigError;
use crate::program::{Collective as ByHardware, HardwareCollectives};
use netloom_engine::Stream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Collective operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// No rank continues before all have entered.
    Barrier,
    /// Rank 0's data to all.
    Broadcast,
    /// The sum of all ranks' data to rank 0.
    Reduce,
    /// The sum of all ranks' data to all.
    Allreduce,
    /// Each rank's data to all.
    Allgather,
    /// A block of each rank to each other.
    AllToAll,
    /// The same with blocks of different lengths.
    AllToAllV,
}

/// Algorithms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// By the machine's hardware, where its library takes that by itself: on Blue Gene/Q barrier, broadcast,
    /// reduce and allreduce, if the ranks fill a box of nodes; on Cray XC barrier, and allreduce of a word; on
    /// TH Express-2 barrier. Otherwise by messages.
    #[default]
    BySize,
    /// By messages, by the size of the data, with MPICH's cut-offs.
    Messages,
    /// Barrier: in each round to a rank twice as far.
    Dissemination,
    /// Broadcast, reduce: a tree in which each rank has up to `radix` - 1 children a level (2: binomial).
    Tree,
    /// Broadcast: a part of the data to each rank, then all parts to all.
    ScatterAllgather,
    /// Allreduce, allgather: with a partner twice as far in each round.
    RecursiveDoubling,
    /// Allreduce, allgather: parts go once around a ring.
    Ring,
    /// Allreduce: sums of halves of halves of the data, which then double again.
    Rabenseifner,
    /// Allgather, all-to-all: in each round to a rank twice as far, for any number of ranks.
    Bruck,
    /// All-to-all: with one partner after the other.
    Pairwise,
    /// All-to-all: with all at once.
    Linear,
    /// Barrier, broadcast, reduce, allreduce: by the machine's own hardware.
    Hardware,
}

use Algorithm::*;

/// The random stream for lengths of blocks.
const BLOCKS: u64 = 16;

/// A program that repeats one collective operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[allow(non_snake_case)]
pub struct Collective {
    /// The operation.
    pub operation: Operation,
    /// How it is done.
    pub algorithm: Algorithm,
    /// Ranks.
    pub ranks: u32,
    /// Data of a rank, bytes; of an all-to-all the data for each other rank.
    pub bytes: u64,
    /// All-to-all-v: how far the lengths of blocks are from `bytes`, as a fraction of it, at most; 0.5: half
    /// to one and a half times as much.
    pub spread: f64,
    /// Children of a rank and level of a tree, plus one.
    pub radix: u32,
    /// How fast a rank adds up data, GB/s. If omitted: in no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum_GB_per_s: Option<f64>,
    /// Computed before each operation, ns.
    pub compute_ns: u64,
    /// Operations, one after the other.
    pub iterations: u32,
}

impl Default for Collective {
    /// Ten sums of a double over 64 ranks.
    fn default() -> Self {
        Collective {
            operation: Operation::Allreduce,
            algorithm: BySize,
            ranks: 64,
            bytes: 8,
            spread: 0.5,
            radix: 2,
            sum_GB_per_s: None,
            compute_ns: 0,
            iterations: 10,
        }
    }
}

impl Collective {
    /// The algorithms of its operation.
    fn algorithms(&self) -> &'static [Algorithm] {
        match self.operation {
            Operation::Barrier => &[Dissemination, Hardware],
            Operation::Broadcast => &[Tree, ScatterAllgather, Hardware],
            Operation::Reduce => &[Tree, Hardware],
            Operation::Allreduce => &[RecursiveDoubling, Rabenseifner, Ring, Hardware],
            Operation::Allgather => &[RecursiveDoubling, Bruck, Ring],
            Operation::AllToAll => &[Bruck, Linear, Pairwise],
            Operation::AllToAllV => &[Linear, Pairwise],
        }
    }

    /// Its operation as hardware may do it, and the data, bytes; `None` if no hardware does.
    fn by_hardware(&self) -> Option<(ByHardware, u64)> {
        match self.operation {
            Operation::Barrier => Some((ByHardware::Barrier, 0)),
            Operation::Broadcast => Some((ByHardware::Broadcast, self.bytes)),
            Operation::Reduce => Some((ByHardware::Reduce, self.bytes)),
            Operation::Allreduce => Some((ByHardware::Allreduce, self.bytes)),
            Operation::Allgather | Operation::AllToAll | Operation::AllToAllV => None,
        }
    }

    /// The selected algorithm, of ranks whose library executes these operations by hardware unless an
    /// algorithm is named.
    pub fn chosen(&self, hardware: HardwareCollectives) -> Algorithm {
        match self.algorithm {
            BySize if self.by_hardware().is_some_and(|(what, bytes)| hardware.include(what, bytes)) => {
                Hardware
            }
            BySize | Messages => self.by_messages(),
            named => named,
        }
    }

    /// The algorithm by messages for the size of the data.
    fn by_messages(&self) -> Algorithm {
        let (ranks, bytes) = (u64::from(self.ranks), self.bytes);
        match self.operation {
            Operation::Barrier => Dissemination,
            Operation::Broadcast if bytes >= 12_288 && ranks >= 8 => ScatterAllgather,
            Operation::Broadcast | Operation::Reduce => Tree,
            Operation::Allreduce if bytes <= 2048 => RecursiveDoubling,
            Operation::Allreduce => Rabenseifner,
            Operation::Allgather if bytes * ranks >= 81_920 => Ring,
            Operation::Allgather if ranks.is_power_of_two() => RecursiveDoubling,
            Operation::Allgather => Bruck,
            Operation::AllToAll if bytes <= 256 => Bruck,
            Operation::AllToAll if bytes <= 32_768 => Linear,
            Operation::AllToAll => Pairwise,
            Operation::AllToAllV => Linear,
        }
    }

    /// Size of a block from one rank to another, bytes: for an all-to-all-v drawn from the numbers of both.
    fn block(&self, from: u32, to: u32) -> u64 {
        if self.operation != Operation::AllToAllV {
            return self.bytes;
        }
        let unit = Stream::new(u64::from(from), BLOCKS, to.into()).unit();
        (self.bytes as f64 * (1.0 + self.spread * (2.0 * unit - 1.0))).round() as u64
    }

    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Checks the values.
    ///
    /// # Errors
    /// The first invalid value.
    pub fn check(&self) -> Result<(), ConfigError> {
        let refuse = |key: &str, message: String| Err(ConfigError { key: key.into(), message });
        if self.ranks == 0 {
            return refuse("ranks", "expected at least 1, found 0".into());
        }
        if ![BySize, Messages].contains(&self.algorithm) && !self.algorithms().contains(&self.algorithm) {
            let all: Vec<String> = self.algorithms().iter().map(|a| format!("\"{}\"", word(a))).collect();
            return refuse(
                "algorithm",
                format!(
                    "expected \"by-size\", \"messages\" or {} for \"{}\", found \"{}\"",
                    all.join(", "),
                    word(&self.operation),
                    word(&self.algorithm)
                ),
            );
        }
        if self.algorithm == RecursiveDoubling
            && self.operation == Operation::Allgather
            && !self.ranks.is_power_of_two()
        {
            let message = format!("expected a power of two for \"recursive-doubling\", found {}", self.ranks);
            return refuse("ranks", message);
        }
        if !(0.0..=1.0).contains(&self.spread) {
            return refuse("spread", format!("expected a fraction from 0 to 1, found {}", self.spread));
        }
        if self.radix < 2 {
            return refuse("radix", format!("expected at least 2, found {}", self.radix));
        }
        match self.sum_GB_per_s {
            Some(rate) if !(rate.is_finite() && rate > 0.0) => {
                refuse("sum_GB_per_s", format!("expected a rate above 0, found {rate}"))
            }
            _ => Ok(()),
        }
    }
}

/// The name of a value in a study: that of its variant.
pub(crate) fn word(variant: &impl std::fmt::Debug) -> String {
    let mut word = String::new();
    for c in format!("{variant:?}").chars() {
        if c.is_uppercase() && !word.is_empty() {
            word.push('-');
        }
        word.extend(c.to_lowercase());
    }
    word
}

/// A rank within an operation.
struct Group<'a, R> {
    rank: &'a R,
    me: u32,
    ranks: u32,
    /// Distinguishes the messages of this operation from those of the previous one.
    tag: u32,
    radix: u32,
    /// Time to sum a byte, ns.
    sum_ns_per_byte: f64,
}

impl<R: Rank> Group<'_, R> {
    async fn send(&self, to: u32, bytes: u64) {
        self.rank.send(to, self.tag, bytes).await;
    }

    async fn receive(&self, from: u32, bytes: u64) {
        self.rank.recv(Some(from), Some(self.tag), bytes).await;
    }

    /// Sends to one rank while it receives from another.
    async fn exchange(&self, to: u32, sent: u64, from: u32, received: u64) {
        let request = self.rank.irecv(Some(from), Some(self.tag), received);
        self.send(to, sent).await;
        self.rank.wait(request).await;
    }

    async fn sum(&self, bytes: u64) {
        let ns = (self.sum_ns_per_byte * bytes as f64).round() as u64;
        if ns > 0 {
            self.rank.compute(ns).await;
        }
    }

    /// The rank at this distance around the ring.
    fn after(&self, distance: u32) -> u32 {
        ((u64::from(self.me) + u64::from(distance)) % u64::from(self.ranks)) as u32
    }

    fn before(&self, distance: u32) -> u32 {
        self.after(self.ranks - distance % self.ranks)
    }

    /// The length of a part of `bytes`, divided into one part per rank.
    fn part(&self, bytes: u64, number: u32) -> u64 {
        let ranks = u64::from(self.ranks);
        bytes / ranks + u64::from(u64::from(number) < bytes % ranks)
    }

    /// The length of `count` parts from a part on, without wrapping around.
    fn parts(&self, bytes: u64, from: u32, count: u32) -> u64 {
        (from..(from + count).min(self.ranks)).map(|number| self.part(bytes, number)).sum()
    }

    async fn dissemination(&self) {
        let mut distance = 1;
        while distance < self.ranks {
            self.exchange(self.after(distance), 0, self.before(distance), 0).await;
            distance *= 2;
        }
    }

    /// Parent and children of this rank in the tree of rank 0, the children with the largest subtrees first.
    fn tree(&self) -> (Option<u32>, Vec<u32>) {
        let mut level = 1;
        while level < self.ranks && (self.me / level).is_multiple_of(self.radix) {
            level *= self.radix;
        }
        let parent = (self.me > 0).then(|| self.me - self.me / level % self.radix * level);
        let mut children = vec![];
        while level > 1 {
            level /= self.radix;
            children.extend((1..self.radix).map(|n| self.me + n * level).filter(|&child| child < self.ranks));
        }
        (parent, children)
    }

    async fn broadcast(&self, bytes: u64) {
        let (parent, children) = self.tree();
        if let Some(parent) = parent {
            self.receive(parent, bytes).await;
        }
        for child in children {
            self.send(child, bytes).await;
        }
    }

    async fn reduce(&self, bytes: u64) {
        let (parent, children) = self.tree();
        // The smallest subtrees are ready first.
        for child in children.into_iter().rev() {
            self.receive(child, bytes).await;
            self.sum(bytes).await;
        }
        if let Some(parent) = parent {
            self.send(parent, bytes).await;
        }
    }

    /// A part of rank 0's data to each rank along a binomial tree, then all parts around a ring.
    async fn scatter_allgather(&self, bytes: u64) {
        let mut span = self.ranks.next_power_of_two();
        while span > 1 {
            let half = span / 2;
            if self.me.is_multiple_of(span) && self.me + half < self.ranks {
                self.send(self.me + half, self.parts(bytes, self.me + half, half)).await;
            } else if self.me % span == half {
                self.receive(self.me - half, self.parts(bytes, self.me, half)).await;
            }
            span = half;
        }
        self.ring_allgather(|number| self.part(bytes, number)).await;
    }

    /// Parts go once around a ring: in each round a rank forwards the part that it received last.
    async fn ring_allgather(&self, part: impl Fn(u32) -> u64 + Send) {
        for round in 0..self.ranks - 1 {
            let (sent, received) = (self.before(round), self.before(round + 1));
            self.exchange(self.after(1), part(sent), self.before(1), part(received)).await;
        }
    }

    /// Runs an algorithm for powers of two among any number of ranks: those beyond the power of two first
    /// send their data to a neighbour, and get the result from it at the end.
    async fn among_a_power_of_two<F>(&self, bytes: u64, algorithm: impl FnOnce(u32, u32) -> F + Send)
    where
        F: Future<Output = ()> + Send,
    {
        let power = 1 << self.ranks.ilog2();
        let extra = self.ranks - power;
        if self.me < 2 * extra && self.me.is_multiple_of(2) {
            self.send(self.me + 1, bytes).await;
            self.receive(self.me + 1, bytes).await;
            return;
        }
        let folded = self.me < 2 * extra;
        if folded {
            self.receive(self.me - 1, bytes).await;
            self.sum(bytes).await;
        }
        let number = if folded { self.me / 2 } else { self.me - extra };
        algorithm(number, power).await;
        if folded {
            self.send(self.me - 1, bytes).await;
        }
    }

    /// The rank with a number among those of [`Self::among_a_power_of_two`].
    fn of_power(&self, number: u32, power: u32) -> u32 {
        let extra = self.ranks - power;
        if number < extra { 2 * number + 1 } else { number + extra }
    }

    async fn allreduce_by_doubling(&self, bytes: u64) {
        let double = |number: u32, power: u32| async move {
            let mut distance = 1;
            while distance < power {
                let partner = self.of_power(number ^ distance, power);
                self.exchange(partner, bytes, partner, bytes).await;
                self.sum(bytes).await;
                distance *= 2;
            }
        };
        self.among_a_power_of_two(bytes, double).await;
    }

    /// Sums of ever smaller halves, which are then combined again.
    async fn rabenseifner(&self, bytes: u64) {
        let halve = |number: u32, power: u32| async move {
            let (mut distance, mut own) = (power / 2, bytes);
            let mut lengths = vec![];
            while distance > 0 {
                let partner = self.of_power(number ^ distance, power);
                let (low, high) = (own / 2, own - own / 2);
                let (kept, sent) = if number & distance == 0 { (low, high) } else { (high, low) };
                self.exchange(partner, sent, partner, kept).await;
                self.sum(kept).await;
                lengths.push((distance, kept, sent));
                (own, distance) = (kept, distance / 2);
            }
            for (distance, kept, sent) in lengths.into_iter().rev() {
                let partner = self.of_power(number ^ distance, power);
                self.exchange(partner, kept, partner, sent).await;
            }
        };
        self.among_a_power_of_two(bytes, halve).await;
    }

    async fn ring_allreduce(&self, bytes: u64) {
        for round in 0..self.ranks - 1 {
            let (sent, received) = (self.before(round), self.before(round + 1));
            let (sent, received) = (self.part(bytes, sent), self.part(bytes, received));
            self.exchange(self.after(1), sent, self.before(1), received).await;
            self.sum(received).await;
        }
        // Each rank has the whole sum of the part after its own.
        self.ring_allgather(|number| self.part(bytes, (number + 1) % self.ranks)).await;
    }

    async fn allgather_by_doubling(&self, bytes: u64) {
        let mut distance = 1;
        while distance < self.ranks {
            let (partner, held) = (self.me ^ distance, bytes * u64::from(distance));
            self.exchange(partner, held, partner, held).await;
            distance *= 2;
        }
    }

    async fn bruck_allgather(&self, bytes: u64) {
        let mut distance = 1;
        while distance < self.ranks {
            let blocks = bytes * u64::from(distance.min(self.ranks - distance));
            self.exchange(self.before(distance), blocks, self.after(distance), blocks).await;
            distance *= 2;
        }
    }

    /// In each round the blocks whose distance has that bit move by that distance.
    async fn bruck_all_to_all(&self, bytes: u64) {
        let mut distance = 1;
        while distance < self.ranks {
            let blocks = (1..self.ranks).filter(|block| block & distance != 0).count() as u64;
            self.exchange(self.after(distance), blocks * bytes, self.before(distance), blocks * bytes).await;
            distance *= 2;
        }
    }

    async fn pairwise(&self, block: impl Fn(u32, u32) -> Option<u64> + Send) {
        for distance in 1..self.ranks {
            let (to, from) = (self.after(distance), self.before(distance));
            let received =
                block(from, self.me).map(|bytes| self.rank.irecv(Some(from), Some(self.tag), bytes));
            if let Some(bytes) = block(self.me, to) {
                self.send(to, bytes).await;
            }
            if let Some(request) = received {
                self.rank.wait(request).await;
            }
        }
    }
}

/// Performs a collective operation. `number` distinguishes its messages from those of others among the same
/// ranks; `block` returns the size of a rank's block for another in an all-to-all, bytes.
pub async fn perform<R: Rank>(
    rank: &R,
    config: &Collective,
    number: u32,
    block: impl Fn(u32, u32) -> u64 + Send + Sync,
) {
    let (me, ranks, bytes) = (rank.rank(), rank.ranks(), config.bytes);
    let sum_ns_per_byte = config.sum_GB_per_s.map_or(0.0, |rate| 1.0 / rate);
    let group = Group { rank, me, ranks, tag: number, radix: config.radix, sum_ns_per_byte };
    if ranks == 1 {
        return;
    }
    // Both ranks of a pair know the length of a block: with blocks of different lengths, empty ones are not
    // sent, as in MPICH.
    let block = |from, to| {
        Some(block(from, to)).filter(|&bytes| bytes > 0 || config.operation != Operation::AllToAllV)
    };
    let chosen = config.chosen(rank.hardware());
    if chosen == Hardware
        && let Some((what, bytes)) = config.by_hardware()
    {
        return rank.collective(what, bytes).await;
    }
    match (config.operation, chosen) {
        (Operation::Barrier, _) => group.dissemination().await,
        (Operation::Broadcast, ScatterAllgather) => group.scatter_allgather(bytes).await,
        (Operation::Broadcast, _) => group.broadcast(bytes).await,
        (Operation::Reduce, _) => group.reduce(bytes).await,
        (Operation::Allreduce, Rabenseifner) => group.rabenseifner(bytes).await,
        (Operation::Allreduce, Ring) => group.ring_allreduce(bytes).await,
        (Operation::Allreduce, _) => group.allreduce_by_doubling(bytes).await,
        (Operation::Allgather, Ring) => group.ring_allgather(|_| bytes).await,
        (Operation::Allgather, Bruck) => group.bruck_allgather(bytes).await,
        (Operation::Allgather, _) => group.allgather_by_doubling(bytes).await,
        (Operation::AllToAll, Bruck) => group.bruck_all_to_all(bytes).await,
        (Operation::AllToAll | Operation::AllToAllV, Linear) => {
            exchange::all_to_all(rank, ranks, me, |m| m, number, block).await;
        }
        (Operation::AllToAll | Operation::AllToAllV, _) => group.pairwise(block).await,
    }
}

/// The program.
pub async fn run<R: Rank>(rank: R, config: Arc<Collective>) {
    for number in 0..config.iterations {
        if config.compute_ns > 0 {
            rank.compute(config.compute_ns).await;
        }
        perform(&rank, &config, number, |from, to| config.block(from, to)).await;
    }
}

#[cfg(test)]
mod tests;
