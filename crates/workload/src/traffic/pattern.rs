//! Traffic patterns: who sends to whom. What each means on which machine is told in `docs/workloads.md`.

use super::jobs::Jobs;
use super::order::Order;
use super::permutation::{one_circle, read_permutation};
use crate::config::{Over, WorkloadConfig, letter};
use crate::shape::{Coordinates, Shape};
use netloom_engine::Stream;
use netloom_fabric::config::ConfigError;
use std::sync::Arc;

/// A pattern among the nodes of a machine or of a job. Asked by node and number of the packet, so that nothing of it is stored per
/// node.
#[derive(Clone, Debug)]
pub struct Pattern {
    shape: Shape,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Uniform,
    HotRegion {
        fraction: f64,
        low: Coordinates,
        lengths: Coordinates,
    },
    HotNode {
        fraction: f64,
        node: u32,
    },
    /// Among all nodes; `rounds` packets for each pair.
    AllToAll {
        rounds: u64,
    },
    /// The same among the nodes that differ in these dimensions only.
    AllToAllAlong {
        dims: Vec<usize>,
        members: u64,
        rounds: u64,
    },
    NearestNeighbour,
    /// The coordinates turned by one place.
    TurnedCoordinates,
    /// Row and column of the node's number in a square of this side.
    Transpose(u32),
    BitComplement,
    /// Further on by this in each dimension.
    Shift(Coordinates),
    Permutation(Arc<[u32]>),
    /// To any node of the group that many further on.
    GroupShift(u32),
    Jobs(Arc<Jobs>),
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
        let (nodes, lengths) = (shape.nodes(), shape.lengths());
        let each = |f: &dyn Fn(usize, u32) -> u32| {
            let mut all = Coordinates::default();
            lengths.iter().enumerate().for_each(|(d, &length)| all[d] = f(d, length));
            all
        };
        let kind = match config {
            WorkloadConfig::Uniform {} => Kind::Uniform,
            WorkloadConfig::HotRegion(hot) => {
                let low = each(&|d, _| hot.origin.get(d).copied().unwrap_or(0));
                let mut lengths = [1; 5];
                lengths[..hot.region.len()].copy_from_slice(&hot.region);
                Kind::HotRegion { fraction: hot.fraction, low, lengths }
            }
            WorkloadConfig::HotNode(hot) => Kind::HotNode { fraction: hot.fraction, node: hot.node },
            WorkloadConfig::AllToAll(all) => {
                let rounds = all.bytes.map_or(1, |bytes| bytes.div_ceil(payload_B.max(1).into()));
                let dims: Vec<usize> = (0..lengths.len()).filter(|&d| all.dims.contains(letter(d))).collect();
                match all.over {
                    Over::Machine => Kind::AllToAll { rounds },
                    _ if dims.len() == lengths.len() => Kind::AllToAll { rounds },
                    _ => {
                        let members = dims.iter().map(|&d| u64::from(lengths[d])).product();
                        Kind::AllToAllAlong { dims, members, rounds }
                    }
                }
            }
            WorkloadConfig::NearestNeighbour {} => Kind::NearestNeighbour,
            WorkloadConfig::Transpose {} if shape.torus().is_some() => Kind::TurnedCoordinates,
            WorkloadConfig::Transpose {} => Kind::Transpose(nodes.isqrt()),
            WorkloadConfig::BitComplement {} => Kind::BitComplement,
            WorkloadConfig::Tornado {} => match half_the_groups(shape) {
                None => Kind::Shift(each(&|_, length| length.div_ceil(2) - 1)),
                Some(by) => Kind::Shift(each(&|_, _| by)),
            },
            WorkloadConfig::Shift(shift) => Kind::Shift(each(&|d, length| forward(shift.by[d], length))),
            WorkloadConfig::Permutation(file) => Kind::Permutation(read_permutation(&file.file, nodes)?),
            WorkloadConfig::RandomPermutation {} => Kind::Permutation(one_circle(nodes, seed)),
            WorkloadConfig::GroupShift(shift) => Kind::GroupShift(forward(shift.by, shape.groups())),
            WorkloadConfig::Jobs(jobs) => Kind::Jobs(Arc::new(Jobs::new(jobs, shape, payload_B, seed)?)),
            WorkloadConfig::Packaging(_)
            | WorkloadConfig::Skeleton(_)
            | WorkloadConfig::PointToPoint(_)
            | WorkloadConfig::Trace(_)
            | WorkloadConfig::Spi(_)
            | WorkloadConfig::Gni(_)
            | WorkloadConfig::Glex(_) => return Ok(None),
        };
        Ok(Some(Pattern { shape: shape.clone(), kind }))
    }

    /// The nodes among which it is.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The jobs, if there are several side by side.
    pub fn jobs(&self) -> Option<&Jobs> {
        match &self.kind {
            Kind::Jobs(jobs) => Some(jobs),
            _ => None,
        }
    }

    /// Packets that a node sends before the pattern begins anew; none where it has no end.
    pub fn period(&self, node: u32) -> Option<u64> {
        match &self.kind {
            Kind::AllToAll { rounds } => Some(u64::from(self.shape.nodes() - 1) * rounds),
            Kind::AllToAllAlong { members, rounds, .. } => Some((members - 1) * rounds),
            Kind::NearestNeighbour => Some(self.shape.neighbours(node).count() as u64),
            Kind::Jobs(jobs) => jobs.at(node).and_then(|(pattern, rank)| pattern.period(rank)),
            _ => None,
        }
    }

    /// How many of a node's packets show every direction that it sends in: none of them, where chance decides.
    pub fn cycle(&self, node: u32) -> Option<u64> {
        match &self.kind {
            Kind::Uniform | Kind::HotRegion { .. } | Kind::HotNode { .. } | Kind::GroupShift(_) => None,
            Kind::Jobs(jobs) => jobs.at(node).map_or(Some(1), |(pattern, rank)| pattern.cycle(rank)),
            _ => Some(self.period(node).unwrap_or(1)),
        }
    }

    /// Whether nodes take their destinations in orders of their own.
    pub fn is_ordered(&self) -> bool {
        match &self.kind {
            Kind::AllToAll { .. } | Kind::AllToAllAlong { .. } => true,
            Kind::Jobs(jobs) => jobs.patterns().any(Pattern::is_ordered),
            _ => false,
        }
    }

    /// The order in which a node takes its destinations.
    pub fn order(&self, seed: u64, node: u32) -> Order {
        match &self.kind {
            Kind::AllToAll { .. } => Order::new((self.shape.nodes() - 1).into(), seed, node.into()),
            Kind::AllToAllAlong { members, .. } => Order::new(members - 1, seed, node.into()),
            Kind::Jobs(jobs) => match jobs.at(node) {
                Some((pattern, rank)) => pattern.order(jobs.seed(seed, node), rank),
                None => Order::new(1, seed, node.into()),
            },
            _ => Order::new(1, seed, node.into()),
        }
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
        // The patterns that long runs are of, without a call.
        let nodes = u64::from(self.shape.nodes());
        match &self.kind {
            Kind::Uniform if nodes > 1 => Some(self.other(node, stream)),
            Kind::AllToAll { .. } if nodes > 1 => {
                let to = u64::from(node) + all_to_all_step(index, nodes, order);
                Some((if to < nodes { to } else { to - nodes }) as u32)
            }
            _ => self.destination_of_rare(node, index, order, stream),
        }
    }

    /// A node drawn from all others.
    #[inline]
    fn other(&self, node: u32, stream: &mut Stream) -> u32 {
        let nodes = u64::from(self.shape.nodes());
        let to = u64::from(node) + 1 + stream.below(nodes - 1);
        (if to < nodes { to } else { to - nodes }) as u32
    }

    /// [`Pattern::destination`] of any pattern.
    fn destination_of_rare(
        &self,
        node: u32,
        index: u64,
        order: Option<&Order>,
        stream: &mut Stream,
    ) -> Option<u32> {
        let shape = &self.shape;
        if shape.nodes() == 1 {
            return None;
        }
        let mapped = |f: &dyn Fn(usize, &Coordinates) -> u32| {
            let (at, mut to) = (shape.coordinates(node), Coordinates::default());
            shape.lengths().iter().enumerate().for_each(|(d, length)| to[d] = f(d, &at) % length);
            shape.node_at(to)
        };
        let to = match &self.kind {
            Kind::Uniform => self.other(node, stream),
            Kind::HotRegion { fraction, .. } | Kind::HotNode { fraction, .. }
                if stream.unit() >= *fraction =>
            {
                self.other(node, stream)
            }
            // The hot node itself sends to the others, if it sends anything but to itself.
            Kind::HotNode { node: hot, fraction } if *hot == node && *fraction < 1.0 => {
                self.other(node, stream)
            }
            Kind::HotNode { node: hot, .. } => *hot,
            Kind::HotRegion { low, lengths, .. } => loop {
                let at = std::array::from_fn(|d| low[d] + stream.below(lengths[d].into()) as u32);
                let to = shape.node_at(at);
                if to != node || lengths.iter().all(|&length| length == 1) {
                    break to;
                }
            },
            Kind::AllToAll { .. } => unreachable!("it is among those without a call"),
            Kind::AllToAllAlong { members: 1, .. } => return None,
            Kind::AllToAllAlong { dims, members, .. } => {
                let step = all_to_all_step(index, *members, order);
                // The node's place among the members, and the member `step` places on.
                let mut at = shape.coordinates(node);
                let length = |d: usize| u64::from(shape.lengths()[d]);
                let own = dims.iter().rev().fold(0, |n, &d| n * length(d) + u64::from(at[d]));
                let mut to = (own + step) % members;
                for &d in dims {
                    at[d] = (to % length(d)) as u32;
                    to /= length(d);
                }
                shape.node_at(at)
            }
            Kind::NearestNeighbour => {
                let count = shape.neighbours(node).count().max(1);
                shape.neighbours(node).nth((index % count as u64) as usize)?
            }
            Kind::TurnedCoordinates => mapped(&|d, at| at[(d + 1) % shape.dimensions()]),
            Kind::Transpose(side) => node % side * side + node / side,
            Kind::BitComplement => mapped(&|d, at| shape.lengths()[d] - 1 - at[d]),
            Kind::Shift(by) => mapped(&|d, at| at[d] + by[d]),
            Kind::Permutation(to) => to[node as usize],
            Kind::GroupShift(by) => {
                let among = shape.nodes_of_group((shape.group(node) + by) % shape.groups());
                among.start + stream.below(u64::from(among.end - among.start)) as u32
            }
            Kind::Jobs(jobs) => return jobs.destination(node, index, order, stream),
        };
        Some(to).filter(|&to| to != node)
    }

    /// Whom a node sends to, and with which share of its packets. None of jobs side by side, whose loads differ.
    pub fn shares(&self, from: u32, tell: &mut dyn FnMut(u32, f64)) {
        let nodes = self.shape.nodes();
        let mut among = |to: &mut dyn Iterator<Item = u32>, share: f64| {
            let to: Vec<u32> = to.filter(|&to| to != from).collect();
            to.iter().for_each(|&node| tell(node, share / to.len() as f64));
        };
        match &self.kind {
            Kind::Uniform | Kind::AllToAll { .. } => among(&mut (0..nodes), 1.0),
            Kind::HotNode { fraction, node } if *node == from && *fraction < 1.0 => {
                among(&mut (0..nodes), 1.0)
            }
            Kind::HotNode { fraction, node } => {
                among(&mut (0..nodes), 1.0 - fraction);
                among(&mut std::iter::once(*node), *fraction);
            }
            Kind::HotRegion { fraction, low, lengths } => {
                among(&mut (0..nodes), 1.0 - fraction);
                let inside = |node: &u32| {
                    let at = self.shape.coordinates(*node);
                    (0..at.len()).all(|d| (low[d]..low[d] + lengths[d]).contains(&at[d]))
                };
                among(&mut (0..nodes).filter(inside), *fraction);
            }
            Kind::AllToAllAlong { .. } | Kind::Jobs(_) => {}
            Kind::NearestNeighbour => among(&mut self.shape.neighbours(from), 1.0),
            Kind::GroupShift(by) => {
                let group = (self.shape.group(from) + by) % self.shape.groups();
                among(&mut self.shape.nodes_of_group(group), 1.0);
            }
            Kind::TurnedCoordinates
            | Kind::Transpose(_)
            | Kind::BitComplement
            | Kind::Shift(_)
            | Kind::Permutation(_) => {
                // Nothing is drawn.
                let to = self.destination(from, 0, None, &mut Stream::new(0, 0, 0));
                among(&mut to.into_iter(), 1.0);
            }
        }
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
fn all_to_all_step(index: u64, members: u64, order: Option<&Order>) -> u64 {
    let others = members - 1;
    // Most runs end within the first round, and a division is long.
    let i = if index < others { index } else { index % others };
    1 + order.map_or(i, |o| o.at(i))
}

/// A shift among `length` as one forward.
fn forward(by: i32, length: u32) -> u32 {
    i64::from(by).rem_euclid(i64::from(length)) as u32
}

/// How much greater the destination's number is in a tornado on a machine without dimensions: half of the groups on, to the node in the
/// same place there; half of the nodes where groups differ in size or are one. None on a torus.
fn half_the_groups(shape: &Shape) -> Option<u32> {
    if shape.torus().is_some() {
        return None;
    }
    let (nodes, groups) = (shape.nodes(), shape.groups().max(1));
    let equal = (0..shape.groups()).all(|group| shape.nodes_of_group(group).len() as u32 == nodes / groups);
    Some(if equal && groups > 1 { groups / 2 * (nodes / groups) } else { nodes / 2 })
}

#[cfg(test)]
mod tests;
