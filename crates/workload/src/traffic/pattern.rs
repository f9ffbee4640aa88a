//! Traffic patterns: who sends to whom. What each means on which machine is told in `docs/workloads.md`; each is defined where its keys
//! are, in `config/kinds/`.

use super::jobs::Jobs;
use super::order::Order;
use crate::config::WorkloadConfig;
use crate::shape::{Coordinates, Shape};
use netloom_engine::Stream;
use netloom_fabric::config::ConfigError;
use std::fmt;
use std::sync::Arc;

/// The nodes that a pattern is for, and what it follows from besides its keys.
#[allow(non_snake_case)]
pub struct Among<'a> {
    /// The nodes of a machine or of a job.
    pub shape: &'a Shape,
    /// Data of a packet, bytes.
    pub payload_B: u32,
    /// What is random of the pattern itself follows from this.
    pub seed: u64,
}

/// Nodes among which a share of a node's packets goes.
pub type Share<'a> = &'a mut dyn FnMut(&mut dyn Iterator<Item = u32>, f64);

/// Who sends to whom among at least two nodes: a pattern as its own file defines it. It is asked by node and number of the packet, so
/// that nothing of it is stored per node, and once a packet, so that what long runs are made of is also done without a call ([`Fast`]).
pub trait Destinations: fmt::Debug + Send + Sync {
    /// The destination of a node's packet number `index`; none or the node itself if it sends nothing. `order` is the node's own, where
    /// nodes have such; `stream` gives what is random.
    fn destination(&self, node: u32, index: u64, order: Option<&Order>, stream: &mut Stream) -> Option<u32>;

    /// Whom a node sends to, and with which share of its packets. Nothing of jobs side by side, whose loads differ.
    fn shares(&self, node: u32, among: Share);

    /// Packets that a node sends before the pattern begins anew; none where it has no end.
    fn period(&self, _node: u32) -> Option<u64> {
        None
    }

    /// How many of a node's packets show every direction that it sends in: none of them, where chance decides.
    fn cycle(&self, node: u32) -> Option<u64> {
        Some(self.period(node).unwrap_or(1))
    }

    /// Whether nodes take their destinations in orders of their own.
    fn is_ordered(&self) -> bool {
        false
    }

    /// The order in which a node takes its destinations.
    fn order(&self, seed: u64, node: u32) -> Order {
        Order::new(1, seed, node.into())
    }

    /// Whether it is one of those that are done without a call.
    fn fast(&self) -> Option<Fast> {
        None
    }

    /// The jobs, if it is several side by side.
    fn jobs(&self) -> Option<&Jobs> {
        None
    }
}

/// The patterns that long runs are of.
#[derive(Clone, Copy, Debug)]
pub enum Fast {
    /// To any other node.
    Uniform,
    /// To each other node in turn, in the node's own order.
    AllToAll,
}

/// A pattern in which a node always sends to the same one.
struct ToOne<F>(F);

impl<F> fmt::Debug for ToOne<F> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("ToOne")
    }
}

impl<F: Fn(u32) -> u32 + Send + Sync> Destinations for ToOne<F> {
    fn destination(&self, node: u32, _: u64, _: Option<&Order>, _: &mut Stream) -> Option<u32> {
        Some((self.0)(node))
    }

    fn shares(&self, node: u32, among: Share) {
        among(&mut std::iter::once((self.0)(node)), 1.0);
    }
}

/// The pattern in which a node sends to the one that `to` names.
pub(crate) fn to_one(to: impl Fn(u32) -> u32 + Send + Sync + 'static) -> Arc<dyn Destinations> {
    Arc::new(ToOne(to))
}

/// The same, where `to` says it coordinate by coordinate: of a dimension and the node's coordinates, and taken round the ring.
pub(crate) fn to_coordinates(
    shape: &Shape,
    to: impl Fn(usize, &Coordinates) -> u32 + Send + Sync + 'static,
) -> Arc<dyn Destinations> {
    let shape = shape.clone();
    to_one(move |node| {
        let (from, mut at) = (shape.coordinates(node), Coordinates::default());
        shape.lengths().iter().enumerate().for_each(|(d, length)| at[d] = to(d, &from) % length);
        shape.node_at(at)
    })
}

/// A node drawn from all others of so many.
#[inline]
pub(crate) fn other(nodes: u32, node: u32, stream: &mut Stream) -> u32 {
    let nodes = u64::from(nodes);
    let to = u64::from(node) + 1 + stream.below(nodes - 1);
    (if to < nodes { to } else { to - nodes }) as u32
}

/// A pattern among the nodes of a machine or of a job.
#[derive(Clone, Debug)]
pub struct Pattern {
    shape: Shape,
    fast: Option<Fast>,
    of: Arc<dyn Destinations>,
}

impl Pattern {
    /// The pattern of a workload that was checked against the machine, if it is one; `payload_B` is the data of a packet, bytes. What is
    /// random of the pattern itself follows from the seed; what is drawn packet by packet comes from the stream of
    /// [`Pattern::destination`].
    ///
    /// # Errors
    /// A permutation's file that cannot be read or is none, by line.
    #[allow(non_snake_case)]
    pub fn new(
        config: &WorkloadConfig,
        shape: &Shape,
        payload_B: u32,
        seed: u64,
    ) -> Result<Option<Self>, ConfigError> {
        let of = config.destinations(&Among { shape, payload_B, seed })?;
        Ok(of.map(|of| Pattern { shape: shape.clone(), fast: of.fast().filter(|_| shape.nodes() > 1), of }))
    }

    /// The nodes among which it is.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The jobs, if there are several side by side.
    pub fn jobs(&self) -> Option<&Jobs> {
        self.of.jobs()
    }

    /// See [`Destinations::period`].
    pub fn period(&self, node: u32) -> Option<u64> {
        self.of.period(node)
    }

    /// See [`Destinations::cycle`].
    pub fn cycle(&self, node: u32) -> Option<u64> {
        self.of.cycle(node)
    }

    /// See [`Destinations::is_ordered`].
    pub fn is_ordered(&self) -> bool {
        self.of.is_ordered()
    }

    /// See [`Destinations::order`].
    pub fn order(&self, seed: u64, node: u32) -> Order {
        self.of.order(seed, node)
    }

    /// The destination of a node's packet number `index`, none if the node sends nothing. `order` is the node's own, where nodes have
    /// such; `stream` gives what is random.
    #[inline]
    pub fn destination(
        &self,
        node: u32,
        index: u64,
        order: Option<&Order>,
        stream: &mut Stream,
    ) -> Option<u32> {
        match self.fast {
            Some(Fast::Uniform) => Some(other(self.shape.nodes(), node, stream)),
            Some(Fast::AllToAll) => Some(next_of_all(node, index, self.shape.nodes(), order)),
            None if self.shape.nodes() == 1 => None,
            None => self.of.destination(node, index, order, stream).filter(|&to| to != node),
        }
    }

    /// Whom a node sends to, and with which share of its packets. None of jobs side by side, whose loads differ.
    pub fn shares(&self, from: u32, tell: &mut dyn FnMut(u32, f64)) {
        self.of.shares(from, &mut |to, share| {
            let to: Vec<u32> = to.filter(|&to| to != from).collect();
            to.iter().for_each(|&node| tell(node, share / to.len() as f64));
        });
    }

    /// Mean over nodes and packets of the hops in each dimension, from a sample where the pattern is random. A node that
    /// sends nothing counts with zero.
    pub fn mean_hops(&self, seed: u64) -> Vec<f64> {
        let nodes = self.shape.nodes();
        let draws = (200_000 / u64::from(nodes)).clamp(1, 64);
        let mut sum = vec![0u64; self.shape.dimensions()];
        for node in 0..nodes {
            let mut stream = Stream::new(seed, 5, node.into());
            let order = self.is_ordered().then(|| self.order(seed, node));
            for draw in 0..draws {
                let index = self.period(node).map_or(draw, |period| draw * period / draws);
                let Some(to) = self.destination(node, index, order.as_ref(), &mut stream) else { continue };
                for (d, sum) in sum.iter_mut().enumerate() {
                    *sum += u64::from(self.shape.distance(node, to, d));
                }
            }
        }
        sum.iter().map(|&s| s as f64 / (draws * u64::from(nodes)) as f64).collect()
    }
}

/// How many places after a node its destination is, among the members of its all-to-all.
#[inline]
pub(crate) fn all_to_all_step(index: u64, members: u64, order: Option<&Order>) -> u64 {
    let others = members - 1;
    // Most runs end within the first round, and a division is long.
    let i = if index < others { index } else { index % others };
    1 + order.map_or(i, |o| o.at(i))
}

/// The destination of a node's packet in an all-to-all of all of so many nodes.
#[inline]
pub(crate) fn next_of_all(node: u32, index: u64, nodes: u32, order: Option<&Order>) -> u32 {
    let nodes = u64::from(nodes);
    let to = u64::from(node) + all_to_all_step(index, nodes, order);
    (if to < nodes { to } else { to - nodes }) as u32
}

/// A shift among `length` as one forward.
pub(crate) fn forward(by: i32, length: u32) -> u32 {
    i64::from(by).rem_euclid(i64::from(length)) as u32
}

#[cfg(test)]
mod tests;
