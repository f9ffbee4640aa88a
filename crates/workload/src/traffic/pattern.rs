//! Traffic patterns: who sends to whom. What each means on which machine is told in `docs/workloads.md`.

use super::jobs::Jobs;
use super::order::Order;
use crate::config::{Over, WorkloadConfig, letter};
use crate::shape::{Coordinates, Shape};
use netloom_engine::Stream;
use netloom_fabric::config::ConfigError;
use std::sync::Arc;

/// What a random permutation is drawn from, among the streams of a run.
const PERMUTATION: u64 = 11;

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
            Kind::HotNode { node, .. } => *node,
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

/// A permutation without fixed points: all nodes in one circle, by Sattolo's shuffle.
fn one_circle(nodes: u32, seed: u64) -> Arc<[u32]> {
    let mut stream = Stream::new(seed, PERMUTATION, 0);
    let mut to: Vec<u32> = (0..nodes).collect();
    for last in (1..to.len()).rev() {
        to.swap(last, stream.below(last as u64) as usize);
    }
    to.into()
}

/// Reads a permutation: the destination of each node, one number a line; `#` begins a comment.
fn read_permutation(file: &str, nodes: u32) -> Result<Arc<[u32]>, ConfigError> {
    let refuse = |message: String| ConfigError { key: "workload.file".into(), message };
    let text = std::fs::read_to_string(file).map_err(|e| refuse(format!("{file}: {e}")))?;
    let mut to = vec![];
    let mut by = vec![0; nodes as usize];
    for (i, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let at = i + 1;
        let number = line.parse::<u32>().ok().filter(|&n| n < nodes).ok_or_else(|| {
            refuse(format!("{file}:{at}: expected a node from 0 to {}, found \"{line}\"", nodes - 1))
        })?;
        if by[number as usize] != 0 {
            return Err(refuse(format!(
                "{file}:{at}: node {number} was a destination in line {} already",
                by[number as usize]
            )));
        }
        by[number as usize] = at;
        to.push(number);
    }
    if to.len() != nodes as usize {
        return Err(refuse(format!(
            "{file}: expected {nodes} destinations, one for each node, found {}",
            to.len()
        )));
    }
    Ok(to.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{AllToAll, GroupShift, HotNode, HotRegion, Shift};
    use netloom_fabric::config::{DragonflyConfig, FatTreeConfig, SwitchedTopology, TorusConfig};
    use netloom_fabric::topology::torus::Torus;
    use proptest::prelude::*;

    fn torus(dims: &[u32]) -> Shape {
        Shape::of_torus(&Torus::new(&TorusConfig::bluegene_l(dims).topology))
    }

    /// Three groups of 384, 384 and 128 nodes.
    fn dragonfly() -> Shape {
        let config = DragonflyConfig { last_group_chassis: Some(2), ..DragonflyConfig::cray_xc(3, 12) };
        Shape::of_switches(&Arc::new(config.wiring()))
    }

    /// 144 leaves' nodes: a square.
    fn fat_tree() -> Shape {
        let tree = FatTreeConfig { down: vec![6, 4, 6], up: vec![2, 2] };
        Shape::of_switches(&Arc::new(SwitchedTopology::FatTree(tree).wiring()))
    }

    fn pattern(config: &WorkloadConfig, shape: &Shape) -> Pattern {
        config.check(shape).expect("fits");
        Pattern::new(config, shape, 240, 7).expect("readable").expect("a pattern")
    }

    /// Every pattern, for machines of so many dimensions.
    fn all(dimensions: usize) -> Vec<WorkloadConfig> {
        let region = HotRegion { fraction: 0.5, region: vec![2; dimensions], origin: vec![] };
        vec![
            WorkloadConfig::Uniform {},
            WorkloadConfig::HotRegion(region),
            WorkloadConfig::AllToAll(AllToAll::default()),
            WorkloadConfig::NearestNeighbour {},
            WorkloadConfig::Transpose {},
            WorkloadConfig::BitComplement {},
            WorkloadConfig::Tornado {},
            WorkloadConfig::Shift(Shift { by: vec![1; dimensions] }),
            WorkloadConfig::RandomPermutation {},
            WorkloadConfig::GroupShift(GroupShift { by: 1 }),
            WorkloadConfig::HotNode(HotNode { node: 1, fraction: 0.5 }),
        ]
    }

    /// Each pattern that fits: nobody sends to itself or to nobody, shares say what is drawn, permutations are such.
    fn hold(shape: &Shape) {
        for config in all(shape.dimensions()).iter().filter(|config| config.check(shape).is_ok()) {
            let (p, kind) = (pattern(config, shape), config.kind());
            let mut reached = vec![0; shape.nodes() as usize];
            for node in 0..shape.nodes() {
                let (mut stream, order) = (Stream::new(3, 0, node.into()), p.order(7, node));
                let mut shares = std::collections::BTreeMap::new();
                p.shares(node, &mut |to, share| *shares.entry(to).or_insert(0.0) += share);
                let sum: f64 = shares.values().sum();
                for index in 0..20 {
                    let to = p.destination(node, index, Some(&order), &mut stream);
                    let Some(to) = to else { continue };
                    assert!(to < shape.nodes() && to != node, "{kind}: {node} to {to}");
                    assert!(shares.contains_key(&to), "{kind}: {node} to {to} has no share");
                    reached[to as usize] += u32::from(index == 0);
                }
                assert!(shares.is_empty() || (sum - 1.0).abs() < 1e-9 || kind == "hot-node", "{kind}: {sum}");
            }
            let fixed = ["transpose", "bit-complement", "tornado", "shift", "random-permutation"];
            assert!(!fixed.contains(&kind) || reached.iter().all(|&n| n <= 1), "{kind} is no permutation");
        }
    }

    #[test]
    fn every_pattern_holds_on_every_machine() {
        for shape in [torus(&[4, 4, 4]), torus(&[5, 3]), torus(&[8]), torus(&[2, 3, 2, 2, 2])] {
            hold(&shape);
        }
        hold(&dragonfly());
        hold(&fat_tree());
        let kinds = |shape: &Shape| {
            let refused = |config: &WorkloadConfig| config.check(shape).is_err();
            all(shape.dimensions())
                .iter()
                .filter(|c| refused(c))
                .map(WorkloadConfig::kind)
                .collect::<Vec<_>>()
        };
        assert_eq!(kinds(&torus(&[4, 4, 4])), Vec::<&str>::new());
        // 896 nodes are no square; the levels of a fat tree are no groups.
        assert_eq!(kinds(&dragonfly()), ["transpose"]);
        assert_eq!(kinds(&fat_tree()), ["group-shift"]);
        assert_eq!(kinds(&Shape::of_job(36)), ["group-shift"]);
    }

    proptest! {
        #[test]
        fn every_pattern_holds_among_any_nodes(nodes in 2u32..70, dims in proptest::collection::vec(1u32..6, 1..4)) {
            hold(&Shape::of_job(nodes));
            hold(&torus(&dims));
        }
    }

    #[test]
    fn an_all_to_all_reaches_everybody_once_a_round() {
        for (over, dims, members) in [(Over::Machine, "", 24), (Over::Planes, "xz", 8), (Over::Lines, "y", 3)]
        {
            let config = AllToAll { over, dims: dims.into(), bytes: Some(500) };
            let shape = torus(&[2, 3, 4]);
            let p = pattern(&WorkloadConfig::AllToAll(config), &shape);
            for node in 0..24 {
                assert_eq!(p.period(node), Some((members - 1) * 3));
                let order = p.order(7, node);
                let mut stream = Stream::new(1, 0, 0);
                let mut to: Vec<u32> = (0..(members - 1) * 3)
                    .map(|i| p.destination(node, i, Some(&order), &mut stream).expect("a destination"))
                    .collect();
                to.sort_unstable();
                assert!(to.chunks(3).all(|c| c[0] == c[2] && c[0] != node));
                to.dedup();
                assert_eq!(to.len() as u64, members - 1);
                let (own, at) = (shape.coordinates(node), |n| shape.coordinates(n));
                let kept: Vec<usize> = match over {
                    Over::Machine => vec![],
                    Over::Planes => vec![1],
                    Over::Lines => vec![0, 2],
                };
                assert!(to.iter().all(|&n| kept.iter().all(|&d| at(n)[d] == own[d])));
            }
        }
    }

    #[test]
    fn the_hot_region_gets_its_share() {
        let hot = HotRegion { fraction: 0.25, region: vec![4, 4, 4], origin: vec![2, 0, 0] };
        let shape = torus(&[8, 8, 8]);
        let p = pattern(&WorkloadConfig::HotRegion(hot), &shape);
        let mut stream = Stream::new(1, 0, 0);
        let n = 100_000;
        let inside = (0..n)
            .filter(|&i| {
                let c = shape.coordinates(p.destination(500, i, None, &mut stream).expect("one"));
                (2..6).contains(&c[0]) && c[1] < 4 && c[2] < 4
            })
            .count();
        let expected = 0.25 + 0.75 * 0.125;
        assert!((inside as f64 / n as f64 - expected).abs() < 0.005, "{inside}");
    }

    #[test]
    fn fixed_patterns_on_tori() {
        let mut stream = Stream::new(1, 0, 0);
        let mut to = |config: WorkloadConfig, dims: &[u32], from: Coordinates| {
            let shape = torus(dims);
            let to = pattern(&config, &shape).destination(shape.node_at(from), 0, None, &mut stream);
            to.map(|n| shape.coordinates(n))
        };
        assert_eq!(to(WorkloadConfig::Transpose {}, &[4, 4, 4], [1, 2, 3, 0, 0]), Some([2, 3, 1, 0, 0]));
        assert_eq!(to(WorkloadConfig::Transpose {}, &[4, 4], [2, 2, 0, 0, 0]), None);
        assert_eq!(to(WorkloadConfig::BitComplement {}, &[4, 8], [1, 2, 0, 0, 0]), Some([2, 5, 0, 0, 0]));
        assert_eq!(to(WorkloadConfig::Tornado {}, &[8, 5], [7, 3, 0, 0, 0]), Some([2, 0, 0, 0, 0]));
        let shift = WorkloadConfig::Shift(Shift { by: vec![-1, 9] });
        assert_eq!(to(shift, &[4, 8], [0, 0, 0, 0, 0]), Some([3, 1, 0, 0, 0]));
    }

    #[test]
    fn fixed_patterns_on_switches() {
        let to = |config: &WorkloadConfig, shape: &Shape, from| {
            pattern(config, shape).destination(from, 0, None, &mut Stream::new(1, 0, 0))
        };
        let (tree, xc) = (fat_tree(), dragonfly());
        // Row 3, column 5 of 12 by 12; the diagonal sends nothing.
        assert_eq!(to(&WorkloadConfig::Transpose {}, &tree, 3 * 12 + 5), Some(5 * 12 + 3));
        assert_eq!(to(&WorkloadConfig::Transpose {}, &tree, 13), None);
        assert_eq!(to(&WorkloadConfig::BitComplement {}, &tree, 10), Some(133));
        assert_eq!(to(&WorkloadConfig::Tornado {}, &tree, 100), Some(28));
        // Groups of different sizes.
        assert_eq!(to(&WorkloadConfig::Tornado {}, &xc, 3), Some(3 + 448));
        // Five equal ones: two of them on, to the same place.
        let five = Shape::of_switches(&Arc::new(DragonflyConfig::cray_xc(5, 12).wiring()));
        assert_eq!(to(&WorkloadConfig::Tornado {}, &five, 4 * 384 + 7), Some(384 + 7));
        let neighbours = |index| {
            let p = pattern(&WorkloadConfig::NearestNeighbour {}, &tree);
            p.destination(0, index, None, &mut Stream::new(1, 0, 0))
        };
        assert_eq!((neighbours(0), neighbours(1), neighbours(2)), (Some(1), Some(143), Some(1)));
        let shift = WorkloadConfig::Shift(Shift { by: vec![-1] });
        assert_eq!(to(&shift, &xc, 0), Some(895));
    }

    #[test]
    fn groups_send_to_the_nodes_of_another() {
        let mut stream = Stream::new(1, 0, 0);
        for (shape, by, groups) in [(dragonfly(), -1, 3), (torus(&[4, 4, 6]), 2, 6)] {
            let shift = pattern(&WorkloadConfig::GroupShift(GroupShift { by }), &shape);
            for from in 0..shape.nodes() {
                let to = shift.destination(from, 0, None, &mut stream).expect("one");
                assert_eq!((shape.group(from) as i32 + by).rem_euclid(groups), shape.group(to) as i32);
            }
        }
        // The last group of the dragonfly has 128 nodes, and they are all drawn.
        let shift = pattern(&WorkloadConfig::GroupShift(GroupShift { by: -1 }), &dragonfly());
        let drawn: std::collections::HashSet<_> =
            (0..3000).filter_map(|i| shift.destination(5, i, None, &mut stream)).collect();
        assert_eq!(drawn.len(), 128);
    }

    #[test]
    fn a_hot_node_does_not_send_to_itself() {
        let hot = pattern(&WorkloadConfig::HotNode(HotNode { node: 9, fraction: 1.0 }), &dragonfly());
        let mut stream = Stream::new(1, 0, 0);
        let mut to = |from| hot.destination(from, 0, None, &mut stream);
        assert_eq!((to(9), to(8)), (None, Some(9)));
    }

    #[test]
    fn a_random_permutation_moves_everybody() {
        let to = one_circle(896, 3);
        let mut seen = to.to_vec();
        seen.sort_unstable();
        assert!(seen.iter().copied().eq(0..896) && to.iter().enumerate().all(|(i, &to)| i as u32 != to));
        assert_ne!(to, one_circle(896, 4));
    }

    #[test]
    fn mean_hops_of_uniform_traffic() {
        let hops = pattern(&WorkloadConfig::Uniform {}, &torus(&[8, 8, 4])).mean_hops(1);
        for (h, k) in hops.iter().zip([8.0, 8.0, 4.0]) {
            assert!((h / (k / 4.0 * 256.0 / 255.0) - 1.0).abs() < 0.02, "{hops:?}");
        }
    }
}
