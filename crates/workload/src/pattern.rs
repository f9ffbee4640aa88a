//! Traffic patterns: who sends to whom.

use crate::config::{Over, WorkloadConfig};
use crate::permutation::Permutation;
use netloom_engine::Stream;
use netloom_fabric::config::ConfigError;
use netloom_fabric::topology::torus::{Coordinates, Torus};
use std::sync::Arc;

/// A pattern on a machine. Asked by node and number of the packet, so that nothing of it is stored a node.
#[derive(Clone, Debug)]
pub struct Pattern {
    torus: Torus,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Uniform,
    HotRegion {
        fraction: f64,
        low: Coordinates,
        lengths: [u32; 5],
    },
    /// Among the nodes that differ in these dimensions only; `rounds` packets for each pair, the last one of
    /// `last_chunks`.
    AllToAll {
        dims: Vec<usize>,
        members: u64,
        rounds: u64,
    },
    NearestNeighbour,
    Transpose,
    BitComplement,
    Tornado,
    Shift(Vec<u32>),
    Permutation(Arc<[u32]>),
}

impl Pattern {
    /// The pattern of a workload that is one and was checked against the torus, `payload` being the data of a full packet, bytes. Seeds of traffic go to
    /// [`Pattern::destination`].
    ///
    /// # Errors
    /// A permutation's file that cannot be read or is none, by line.
    pub fn new(config: &WorkloadConfig, torus: &Torus, payload: u32) -> Result<Option<Self>, ConfigError> {
        let kind = match config {
            WorkloadConfig::Uniform {} => Kind::Uniform,
            WorkloadConfig::HotRegion(hot) => {
                let mut low = Coordinates::default();
                hot.origin.iter().zip(&mut low).for_each(|(&x, low)| *low = x as u8);
                let mut lengths = [1; 5];
                hot.region.iter().zip(&mut lengths).for_each(|(&k, length)| *length = k);
                Kind::HotRegion { fraction: hot.fraction, low, lengths }
            }
            WorkloadConfig::AllToAll(all) => {
                let dims: Vec<usize> = match all.over {
                    Over::Machine => (0..torus.dimensions()).collect(),
                    _ => (0..torus.dimensions())
                        .filter(|&d| all.dims.contains(crate::config::letter(d)))
                        .collect(),
                };
                let members = dims.iter().map(|&d| u64::from(torus.length(d))).product();
                Kind::AllToAll { dims, members, rounds: all.bytes.map_or(1, |b| b.div_ceil(payload.into())) }
            }
            WorkloadConfig::NearestNeighbour {} => Kind::NearestNeighbour,
            WorkloadConfig::Transpose {} => Kind::Transpose,
            WorkloadConfig::BitComplement {} => Kind::BitComplement,
            WorkloadConfig::Tornado {} => Kind::Tornado,
            WorkloadConfig::Shift(shift) => Kind::Shift(
                shift
                    .by
                    .iter()
                    .enumerate()
                    .map(|(d, &by)| by.rem_euclid(torus.length(d) as i32) as u32)
                    .collect(),
            ),
            WorkloadConfig::Permutation(file) => {
                Kind::Permutation(read_permutation(&file.file, torus.nodes())?)
            }
            WorkloadConfig::RandomPermutation {}
            | WorkloadConfig::GroupShift(_)
            | WorkloadConfig::HotNode(_)
            | WorkloadConfig::Jobs(_)
            | WorkloadConfig::Packaging(_) => {
                unreachable!("a torus refused it")
            }
            WorkloadConfig::Skeleton(_)
            | WorkloadConfig::Trace(_)
            | WorkloadConfig::Spi(_)
            | WorkloadConfig::Gni(_)
            | WorkloadConfig::Glex(_) => {
                return Ok(None);
            }
        };
        Ok(Some(Pattern { torus: torus.clone(), kind }))
    }

    /// Packets that a node sends before the pattern begins anew; none where it has no end.
    pub fn period(&self, node: u32) -> Option<u64> {
        match &self.kind {
            Kind::AllToAll { members, rounds, .. } => Some((members - 1) * rounds),
            Kind::NearestNeighbour => Some(self.neighbours(node).count() as u64),
            _ => None,
        }
    }

    /// How many of a node's packets show every direction that it sends in: none of them, where chance decides.
    pub fn cycle(&self, node: u32) -> Option<u64> {
        match &self.kind {
            Kind::Uniform | Kind::HotRegion { .. } => None,
            _ => Some(self.period(node).unwrap_or(1)),
        }
    }

    /// What a node needs of its own to be asked: the order in which it takes its destinations.
    pub fn order(&self, seed: u64, node: u32) -> Option<Permutation> {
        match self.kind {
            Kind::AllToAll { members, .. } if members > 1 => {
                Some(Permutation::new(members - 1, seed, node.into()))
            }
            _ => None,
        }
    }

    fn neighbours(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        (0..self.torus.ports()).filter_map(move |port| self.torus.neighbour(node, port))
    }

    /// The destination of a node's packet number `index`, none if the node sends nothing. `order` is the node's own;
    /// `stream` gives what is random.
    #[inline]
    pub fn destination(
        &self,
        node: u32,
        index: u64,
        order: Option<&Permutation>,
        stream: &mut Stream,
    ) -> Option<u32> {
        // The patterns that long runs are of, without a call.
        match &self.kind {
            Kind::Uniform if self.torus.nodes() > 1 => Some(self.other(node, stream)),
            Kind::AllToAll { dims, members, .. } if dims.len() == self.torus.dimensions() && *members > 1 => {
                // Every node is a member, in the order of their numbers.
                let to = u64::from(node) + all_to_all_step(index, *members, order);
                Some((if to < *members { to } else { to - members }) as u32)
            }
            _ => self.destination_of_rare(node, index, order, stream),
        }
    }

    /// A node drawn from all others.
    #[inline]
    fn other(&self, node: u32, stream: &mut Stream) -> u32 {
        let nodes = u64::from(self.torus.nodes());
        let to = u64::from(node) + 1 + stream.below(nodes - 1);
        (if to < nodes { to } else { to - nodes }) as u32
    }

    /// [`Pattern::destination`] of any pattern.
    fn destination_of_rare(
        &self,
        node: u32,
        index: u64,
        order: Option<&Permutation>,
        stream: &mut Stream,
    ) -> Option<u32> {
        let torus = &self.torus;
        let here = || torus.coordinates(node);
        let mapped = |f: &dyn Fn(usize, u32) -> u32| {
            let c = here();
            let mut to = Coordinates::default();
            (0..torus.dimensions()).for_each(|d| to[d] = (f(d, c[d].into()) % torus.length(d)) as u8);
            Some(torus.node(to)).filter(|&to| to != node)
        };
        match &self.kind {
            _ if torus.nodes() == 1 => None,
            Kind::Uniform => Some(self.other(node, stream)),
            Kind::HotRegion { fraction, low, lengths } => {
                if stream.unit() >= *fraction {
                    return Some(self.other(node, stream));
                }
                let mut to = Coordinates::default();
                loop {
                    (0..5).for_each(|d| to[d] = low[d] + stream.below(lengths[d].into()) as u8);
                    let to = torus.node(to);
                    if to != node || lengths.iter().all(|&k| k == 1) {
                        return Some(to).filter(|&to| to != node);
                    }
                }
            }
            Kind::AllToAll { dims, members, .. } => {
                if *members == 1 {
                    return None;
                }
                let step = all_to_all_step(index, *members, order);
                // The node's place among the members, and the member `step` places on.
                let mut c = here();
                let own = dims.iter().rev().fold(0, |n, &d| n * u64::from(torus.length(d)) + u64::from(c[d]));
                let mut to = (own + step) % members;
                for &d in dims {
                    c[d] = (to % u64::from(torus.length(d))) as u8;
                    to /= u64::from(torus.length(d));
                }
                Some(torus.node(c))
            }
            Kind::NearestNeighbour => {
                let count = self.neighbours(node).count() as u64;
                self.neighbours(node).nth((index % count.max(1)) as usize).filter(|&to| to != node)
            }
            Kind::Transpose => {
                let (c, n) = (here(), torus.dimensions());
                mapped(&|d, _| c[(d + 1) % n].into())
            }
            Kind::BitComplement => mapped(&|d, x| torus.length(d) - 1 - x),
            Kind::Tornado => mapped(&|d, x| x + torus.length(d).div_ceil(2) - 1),
            Kind::Shift(by) => mapped(&|d, x| x + by[d]),
            Kind::Permutation(to) => Some(to[node as usize]).filter(|&to| to != node),
        }
    }

    /// Mean over nodes and packets of the hops in each dimension, from a sample where the pattern is random. A node that
    /// sends nothing counts with zero.
    pub fn mean_hops(&self, seed: u64) -> Vec<f64> {
        let nodes = self.torus.nodes();
        let draws = (200_000 / u64::from(nodes)).clamp(1, 64);
        let mut sum = vec![0u64; self.torus.dimensions()];
        for node in 0..nodes {
            let mut stream = Stream::new(seed, 5, node.into());
            let order = self.order(seed, node);
            for draw in 0..draws {
                let index = self.period(node).map_or(draw, |period| draw * period / draws);
                let Some(to) = self.destination(node, index, order.as_ref(), &mut stream) else { continue };
                let (a, b) = (self.torus.coordinates(node), self.torus.coordinates(to));
                for (d, sum) in sum.iter_mut().enumerate() {
                    let direct = u32::from(a[d].abs_diff(b[d]));
                    let round = self.torus.length(d) - direct;
                    *sum += u64::from(if self.torus.wraps(d) { direct.min(round) } else { direct });
                }
            }
        }
        sum.iter().map(|&s| s as f64 / (draws * u64::from(nodes)) as f64).collect()
    }
}

/// How many places after a node its destination is, among the members of its all-to-all.
#[inline]
fn all_to_all_step(index: u64, members: u64, order: Option<&Permutation>) -> u64 {
    let others = members - 1;
    // Most runs end within the first round, and a division is long.
    let i = if index < others { index } else { index % others };
    1 + order.map_or(i, |o| o.at(i))
}

/// Reads a permutation: the destination of each node, one number a line; `#` begins a comment.
pub(crate) fn read_permutation(file: &str, nodes: u32) -> Result<Arc<[u32]>, ConfigError> {
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
    use crate::config::{AllToAll, HotRegion, Shift};
    use netloom_fabric::config::TorusConfig;

    fn pattern(config: WorkloadConfig, dims: &[u32]) -> Pattern {
        let torus = Torus::new(&TorusConfig::bluegene_l(dims).topology);
        Pattern::new(&config, &torus, 240).expect("readable").expect("a pattern")
    }

    #[test]
    fn an_all_to_all_reaches_everybody_once_a_round() {
        for (over, dims, members) in [(Over::Machine, "", 24), (Over::Planes, "xz", 8), (Over::Lines, "y", 3)]
        {
            let config = AllToAll { over, dims: dims.into(), bytes: Some(500) };
            let p = pattern(WorkloadConfig::AllToAll(config), &[2, 3, 4]);
            for node in 0..24 {
                assert_eq!(p.period(node), Some((members - 1) * 3));
                let order = p.order(7, node);
                let mut stream = Stream::new(1, 0, 0);
                let mut to: Vec<u32> = (0..(members - 1) * 3)
                    .map(|i| p.destination(node, i, order.as_ref(), &mut stream).expect("a destination"))
                    .collect();
                to.sort_unstable();
                assert!(to.chunks(3).all(|c| c[0] == c[2] && c[0] != node));
                to.dedup();
                assert_eq!(to.len() as u64, members - 1);
                let (own, at) = (p.torus.coordinates(node), |n| p.torus.coordinates(n));
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
        let p = pattern(WorkloadConfig::HotRegion(hot), &[8, 8, 8]);
        let mut stream = Stream::new(1, 0, 0);
        let n = 100_000;
        let inside = (0..n)
            .filter(|&i| {
                let c = p.torus.coordinates(p.destination(500, i, None, &mut stream).expect("one"));
                (2..6).contains(&c[0]) && c[1] < 4 && c[2] < 4
            })
            .count();
        let expected = 0.25 + 0.75 * 0.125;
        assert!((inside as f64 / n as f64 - expected).abs() < 0.005, "{inside}");
    }

    #[test]
    fn fixed_patterns() {
        let mut stream = Stream::new(1, 0, 0);
        let mut to = |config, dims: &[u32], from: [u8; 5]| {
            let p = pattern(config, dims);
            p.destination(p.torus.node(from), 0, None, &mut stream).map(|n| p.torus.coordinates(n))
        };
        assert_eq!(to(WorkloadConfig::Transpose {}, &[4, 4, 4], [1, 2, 3, 0, 0]), Some([2, 3, 1, 0, 0]));
        assert_eq!(to(WorkloadConfig::Transpose {}, &[4, 4], [2, 2, 0, 0, 0]), None);
        assert_eq!(to(WorkloadConfig::BitComplement {}, &[4, 8], [1, 2, 0, 0, 0]), Some([2, 5, 0, 0, 0]));
        assert_eq!(to(WorkloadConfig::Tornado {}, &[8, 5], [7, 3, 0, 0, 0]), Some([2, 0, 0, 0, 0]));
        let shift = WorkloadConfig::Shift(Shift { by: vec![-1, 9] });
        assert_eq!(to(shift, &[4, 8], [0, 0, 0, 0, 0]), Some([3, 1, 0, 0, 0]));
    }

    #[test]
    fn mean_hops_of_uniform_traffic() {
        let hops = pattern(WorkloadConfig::Uniform {}, &[8, 8, 4]).mean_hops(1);
        for (h, k) in hops.iter().zip([8.0, 8.0, 4.0]) {
            assert!((h / (k / 4.0 * 256.0 / 255.0) - 1.0).abs() < 0.02, "{hops:?}");
        }
    }
}
