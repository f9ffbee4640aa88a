//! Traffic patterns: the destinations of each node's packets. `docs/workloads.md` describes each pattern on
//! each machine; each is defined with its keys, in `config/kinds/`.

use super::jobs::Jobs;
use super::order::Order;
use crate::config::WorkloadConfig;
use crate::shape::{Coordinates, Shape};
use netloom_engine::Stream;
use netloom_fabric::config::ConfigError;
use std::fmt;
use std::sync::Arc;

/// The nodes of a pattern, and its parameters besides its keys.
#[allow(non_snake_case)]
pub struct Among<'a> {
    /// The nodes of a machine or of a job.
    pub shape: &'a Shape,
    /// Data of a packet, bytes.
    pub payload_B: u32,
    /// The seed of the pattern's own random choices.
    pub seed: u64,
}

/// Accepts nodes that share a fraction of a node's packets.
pub type Share<'a> = &'a mut dyn FnMut(&mut dyn Iterator<Item = u32>, f64);

/// The destinations among at least two nodes, as defined in a pattern's own file. It is called with node and
/// packet number, so that nothing is stored per node; as it is called for each packet, the patterns of long
/// runs also have a form without a call ([`Fast`]).
pub trait Destinations: fmt::Debug + Send + Sync {
    /// The destination of a node's packet number `index`; `None` or the node itself if it sends nothing.
    /// `order` is the node's own, for ordered patterns; `stream` is for random choices.
    fn destination(&self, node: u32, index: u64, order: Option<&Order>, stream: &mut Stream) -> Option<u32>;

    /// The destinations of a node, with the fraction of its packets for each. None for jobs side by side,
    /// whose loads differ.
    fn shares(&self, node: u32, among: Share);

    /// Packets that a node sends before the pattern repeats; `None` if it has no end.
    fn period(&self, _node: u32) -> Option<u64> {
        None
    }

    /// The number of a node's packets that cover all directions in which it sends; `None` for random
    /// patterns.
    fn cycle(&self, node: u32) -> Option<u64> {
        Some(self.period(node).unwrap_or(1))
    }

    /// Whether each node has its own order of destinations.
    fn is_ordered(&self) -> bool {
        false
    }

    /// The order of a node's destinations.
    fn order(&self, seed: u64, node: u32) -> Order {
        Order::new(1, seed, node.into())
    }

    /// The form without a call, if it has one.
    fn fast(&self) -> Option<Fast> {
        None
    }

    /// The jobs, if there are several side by side.
    fn jobs(&self) -> Option<&Jobs> {
        None
    }
}

/// The patterns of long runs, which are evaluated without a call.
#[derive(Clone, Copy, Debug)]
pub enum Fast {
    /// To a random other node.
    Uniform,
    /// To each other node in turn, in the node's own order.
    AllToAll,
}

/// A pattern with a single destination per node.
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

/// The pattern in which a node sends to the one that `to` returns.
pub(crate) fn to_one(to: impl Fn(u32) -> u32 + Send + Sync + 'static) -> Arc<dyn Destinations> {
    Arc::new(ToOne(to))
}

/// The same with `to` by coordinate: it is called with a dimension and the node's coordinates, and its result
/// wraps around the ring.
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

/// A random node among all others.
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
    /// The pattern of a workload that was checked against the machine, if it is one; `payload_B` is the data
    /// of a packet, bytes. The pattern's own random choices follow from the seed; those for each packet come
    /// from the stream passed to [`Pattern::destination`].
    ///
    /// # Errors
    /// A permutation file that cannot be read or is invalid, with the line.
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

    /// The nodes of the pattern.
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

    /// The destination of a node's packet number `index`; `None` if the node sends nothing. `order` is the
    /// node's own, for ordered patterns; `stream` is for random choices.
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

    /// The destinations of a node, with the fraction of its packets for each. None for jobs side by side,
    /// whose loads differ.
    pub fn shares(&self, from: u32, add: &mut dyn FnMut(u32, f64)) {
        self.of.shares(from, &mut |to, share| {
            let to: Vec<u32> = to.filter(|&to| to != from).collect();
            to.iter().for_each(|&node| add(node, share / to.len() as f64));
        });
    }

    /// Mean hops in each dimension over nodes and packets, from a sample if the pattern is random. A node
    /// that sends nothing counts as zero.
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

/// The distance from a node to its destination, among the members of its all-to-all.
#[inline]
pub(crate) fn all_to_all_step(index: u64, members: u64, order: Option<&Order>) -> u64 {
    let others = members - 1;
    // Most runs end within the first round, and a division is slow.
    let i = if index < others { index } else { index % others };
    1 + order.map_or(i, |o| o.at(i))
}

/// The destination of a node's packet in an all-to-all of all nodes.
#[inline]
pub(crate) fn next_of_all(node: u32, index: u64, nodes: u32, order: Option<&Order>) -> u32 {
    let nodes = u64::from(nodes);
    let to = u64::from(node) + all_to_all_step(index, nodes, order);
    (if to < nodes { to } else { to - nodes }) as u32
}

/// A shift among `length` as a forward shift.
pub(crate) fn forward(by: i32, length: u32) -> u32 {
    i64::from(by).rem_euclid(i64::from(length)) as u32
}

#[cfg(test)]
mod tests;
