//! Who sends to whom on a machine of switches.

use super::jobs::Jobs;
use crate::config::WorkloadConfig;
use crate::pattern::read_permutation;
use netloom_engine::Stream;
use netloom_fabric::config::ConfigError;
use netloom_fabric::topology::wiring::Wiring;
use std::ops::Range;
use std::sync::Arc;

/// What a random permutation is drawn for, among the streams of a run.
const PERMUTATION: u64 = 11;

/// Who sends to whom.
#[derive(Clone, Debug)]
pub struct Destinations {
    nodes: u32,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Uniform,
    /// To a node so much further on.
    Shift(u32),
    /// To one other.
    Fixed(Arc<[u32]>),
    /// To any of these nodes, by the sender's group.
    Groups {
        of: Arc<[u32]>,
        to: Arc<[Range<u32>]>,
    },
    HotNode {
        node: u32,
        fraction: f64,
    },
    /// Each to nodes of its own job.
    Jobs(Arc<Jobs>),
}

impl Destinations {
    /// Of a workload that was checked against the machine.
    ///
    /// # Errors
    /// A permutation's file that cannot be read or is none, by line; a workload that is no pattern of such a machine.
    pub fn new(config: &WorkloadConfig, wiring: &Wiring, seed: u64) -> Result<Self, ConfigError> {
        config.check_switched(wiring)?;
        let nodes = wiring.nodes();
        let kind = match config {
            WorkloadConfig::Permutation(file) => Kind::Fixed(read_permutation(&file.file, nodes)?),
            WorkloadConfig::GroupShift(s) => {
                let groups = wiring.groups();
                let nodes_of = |group: u32| {
                    let routers = wiring.routers_of(group);
                    wiring.nodes_at(routers.start).start..wiring.nodes_at(routers.end - 1).end
                };
                let by = further(s.by, groups);
                Kind::Groups {
                    of: (0..nodes).map(|node| wiring.group(wiring.home(node).0)).collect(),
                    to: (0..groups).map(|group| nodes_of((group + by) % groups)).collect(),
                }
            }
            WorkloadConfig::Jobs(jobs) => Kind::Jobs(Arc::new(Jobs::new(jobs, wiring, seed)?)),
            _ => return Self::among(config, nodes, seed),
        };
        Ok(Destinations { nodes, kind })
    }

    /// Of a pattern among so many nodes, whatever their places.
    ///
    /// # Errors
    /// None of a pattern that was checked against the number of nodes.
    pub fn among(config: &WorkloadConfig, nodes: u32, seed: u64) -> Result<Self, ConfigError> {
        let kind = match config {
            WorkloadConfig::Shift(s) => Kind::Shift(further(s.by[0], nodes)),
            WorkloadConfig::RandomPermutation {} => Kind::Fixed(one_circle(nodes, seed)),
            WorkloadConfig::HotNode(h) => Kind::HotNode { node: h.node, fraction: h.fraction },
            _ => Kind::Uniform,
        };
        Ok(Destinations { nodes, kind })
    }

    /// The jobs, if there are several side by side.
    pub fn jobs(&self) -> Option<&Arc<Jobs>> {
        match &self.kind {
            Kind::Jobs(jobs) => Some(jobs),
            _ => None,
        }
    }

    /// The destination of a node's next packet; none if it sends none.
    #[inline]
    pub fn draw(&self, from: u32, stream: &mut Stream) -> Option<u32> {
        match &self.kind {
            Kind::Uniform => Some(self.anybody(from, stream)),
            Kind::Shift(by) => Some((from + by) % self.nodes),
            Kind::Fixed(to) => Some(to[from as usize]).filter(|&to| to != from),
            Kind::Groups { of, to } => {
                let among = &to[of[from as usize] as usize];
                Some(among.start + stream.below(u64::from(among.end - among.start)) as u32)
            }
            Kind::Jobs(jobs) => jobs.draw(from, stream),
            Kind::HotNode { node, fraction } => {
                let hot = stream.unit() < *fraction;
                match hot {
                    true => Some(*node).filter(|node| *node != from),
                    false => Some(self.anybody(from, stream)),
                }
            }
        }
    }

    /// Whom a node sends to, and with which share of its packets. None of jobs side by side, whose loads differ.
    pub fn shares(&self, from: u32, tell: &mut dyn FnMut(u32, f64)) {
        let others = f64::from(self.nodes) - 1.0;
        let anybody = |share: f64, tell: &mut dyn FnMut(u32, f64)| {
            (0..self.nodes).filter(|&to| to != from).for_each(|to| tell(to, share / others));
        };
        match &self.kind {
            Kind::Uniform => anybody(1.0, tell),
            Kind::Shift(by) => tell((from + by) % self.nodes, 1.0),
            Kind::Fixed(to) if to[from as usize] == from => {}
            Kind::Fixed(to) => tell(to[from as usize], 1.0),
            Kind::Groups { of, to } => {
                let among = &to[of[from as usize] as usize];
                among.clone().for_each(|to| tell(to, 1.0 / f64::from(among.end - among.start)));
            }
            Kind::HotNode { node, fraction } => {
                anybody(1.0 - fraction, tell);
                if *node != from {
                    tell(*node, *fraction);
                }
            }
            Kind::Jobs(_) => {}
        }
    }

    fn anybody(&self, from: u32, stream: &mut Stream) -> u32 {
        (from + 1 + stream.below(u64::from(self.nodes) - 1) as u32) % self.nodes
    }
}

/// A shift among so many as one forward.
fn further(by: i32, among: u32) -> u32 {
    i64::from(by).rem_euclid(i64::from(among)) as u32
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{GroupShift, HotNode, Shift};
    use netloom_fabric::config::DragonflyConfig;

    fn wiring() -> Wiring {
        DragonflyConfig { last_group_chassis: Some(2), ..DragonflyConfig::cray_xc(3, 12) }.wiring()
    }

    fn of(config: &WorkloadConfig) -> Destinations {
        Destinations::new(config, &wiring(), 7).expect("fits")
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
    fn groups_send_to_the_nodes_of_another() {
        let (shift, wiring) = (of(&WorkloadConfig::GroupShift(GroupShift { by: -1 })), wiring());
        let mut stream = Stream::new(1, 0, 0);
        for from in (0..896).step_by(13) {
            let to = shift.draw(from, &mut stream).expect("one");
            let group = |node| wiring.group(wiring.home(node).0);
            assert_eq!((group(from) + 2) % 3, group(to));
        }
        // The last group has 128 nodes, and they are all drawn.
        let drawn: std::collections::HashSet<_> =
            (0..3000).filter_map(|_| shift.draw(5, &mut stream)).collect();
        assert_eq!(drawn.len(), 128);
    }

    #[test]
    fn nobody_sends_to_itself() {
        let mut stream = Stream::new(1, 0, 0);
        let hot = of(&WorkloadConfig::HotNode(HotNode { node: 9, fraction: 1.0 }));
        assert_eq!((hot.draw(9, &mut stream), hot.draw(8, &mut stream)), (None, Some(9)));
        let shift = of(&WorkloadConfig::Shift(Shift { by: vec![-1] }));
        assert_eq!(shift.draw(0, &mut stream), Some(895));
        let uniform = of(&WorkloadConfig::Uniform {});
        assert!((0..5000).all(|_| uniform.draw(4, &mut stream).is_some_and(|to| to != 4 && to < 896)));
    }
}
