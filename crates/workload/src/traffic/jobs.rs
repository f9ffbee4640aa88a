//! Jobs side by side: their nodes, and the destinations of each node.

use super::order::Order;
use super::pattern::{Destinations, Pattern, Share};
use crate::config::{JobsConfig, Placement};
use crate::shape::Shape;
use netloom_engine::Stream;
use netloom_fabric::config::ConfigError;

/// The random stream of a run for random placements.
const PLACEMENT: u64 = 14;

/// Stands for a node without a job.
const IDLE: u32 = u32::MAX;

/// The jobs of a machine.
#[derive(Clone, Debug)]
pub struct Jobs {
    /// The job of each node, and the node's index in it.
    of: Vec<(u32, u32)>,
    jobs: Vec<Job>,
}

/// A job.
#[derive(Clone, Debug)]
struct Job {
    /// Its nodes.
    nodes: Vec<u32>,
    /// Its pattern; `None` if programs determine the destinations.
    pattern: Option<Pattern>,
}

impl Jobs {
    /// Assigns each job its nodes, for a checked configuration. `payload_B` is as for [`Pattern::new`].
    ///
    /// # Errors
    /// A job with an invalid permutation file.
    #[allow(non_snake_case)]
    pub fn new(config: &JobsConfig, shape: &Shape, payload_B: u32, seed: u64) -> Result<Self, ConfigError> {
        let mut of = vec![(IDLE, 0); shape.nodes() as usize];
        let mut jobs = vec![];
        for (number, job) in (0..).zip(&config.jobs) {
            let mut stream = Stream::new(seed, PLACEMENT, u64::from(number));
            let free = |node: &u32| of[*node as usize].0 == IDLE;
            let order = order(job.placement.unwrap_or(config.placement), shape, &mut stream);
            let nodes: Vec<u32> = order.into_iter().filter(free).take(job.nodes as usize).collect();
            for (rank, &node) in (0..).zip(&nodes) {
                of[node as usize] = (number, rank);
            }
            let own = Shape::of_job(job.nodes);
            let pattern = Pattern::new(&job.workload, &own, payload_B, of_job(seed, number))?;
            jobs.push(Job { nodes, pattern });
        }
        Ok(Jobs { of, jobs })
    }

    /// The job of a node, if it has one.
    #[inline]
    pub fn of(&self, node: u32) -> Option<usize> {
        let job = self.of[node as usize].0;
        (job != IDLE).then_some(job as usize)
    }

    /// The nodes of a job.
    pub fn nodes(&self, job: usize) -> &[u32] {
        &self.jobs[job].nodes
    }

    /// The pattern of a job, if it has one.
    pub fn pattern(&self, job: usize) -> Option<&Pattern> {
        self.jobs[job].pattern.as_ref()
    }

    /// The patterns of all jobs that have one.
    pub fn patterns(&self) -> impl Iterator<Item = &Pattern> {
        self.jobs.iter().filter_map(|job| job.pattern.as_ref())
    }

    /// The pattern of a node's packets, and the node's index in its job.
    pub fn at(&self, node: u32) -> Option<(&Pattern, u32)> {
        let (_, rank) = self.of[node as usize];
        Some((self.pattern(self.of(node)?)?, rank))
    }

    /// The seed of a node's job.
    pub fn seed(&self, seed: u64, node: u32) -> u64 {
        of_job(seed, self.of[node as usize].0)
    }
}

impl Destinations for Jobs {
    fn destination(&self, from: u32, index: u64, order: Option<&Order>, stream: &mut Stream) -> Option<u32> {
        let (pattern, rank) = self.at(from)?;
        let to = pattern.destination(rank, index, order, stream)?;
        Some(self.nodes(self.of(from)?)[to as usize])
    }

    fn shares(&self, _: u32, _: Share) {}

    fn period(&self, node: u32) -> Option<u64> {
        self.at(node).and_then(|(pattern, rank)| pattern.period(rank))
    }

    fn cycle(&self, node: u32) -> Option<u64> {
        self.at(node).map_or(Some(1), |(pattern, rank)| pattern.cycle(rank))
    }

    fn is_ordered(&self) -> bool {
        self.patterns().any(Pattern::is_ordered)
    }

    fn order(&self, seed: u64, node: u32) -> Order {
        match self.at(node) {
            Some((pattern, rank)) => pattern.order(self.seed(seed, node), rank),
            None => Order::new(1, seed, node.into()),
        }
    }

    fn jobs(&self) -> Option<&Jobs> {
        Some(self)
    }
}

/// Two jobs with the same random pattern differ.
fn of_job(seed: u64, job: u32) -> u64 {
    seed ^ u64::from(job) << 32
}

/// All nodes, in the order of their allocation to a job.
fn order(placement: Placement, shape: &Shape, stream: &mut Stream) -> Vec<u32> {
    match placement {
        Placement::Contiguous => (0..shape.nodes()).collect(),
        Placement::RandomNodes => shuffled((0..shape.nodes()).collect(), stream),
        Placement::RandomRouters => {
            let routers = shuffled((0..shape.routers()).collect(), stream);
            routers.into_iter().flat_map(|router| shape.nodes_of_router(router)).collect()
        }
        Placement::RoundRobin => {
            let with_nodes = |among: Vec<std::ops::Range<u32>>| -> Vec<std::ops::Range<u32>> {
                among.into_iter().filter(|nodes| !nodes.is_empty()).collect()
            };
            let mut among = with_nodes((0..shape.groups()).map(|g| shape.nodes_of_group(g)).collect());
            if among.len() == 1 {
                among = with_nodes((0..shape.routers()).map(|r| shape.nodes_of_router(r)).collect());
            }
            let most = among.iter().map(ExactSizeIterator::len).max().unwrap_or(0);
            (0..most).flat_map(|i| among.iter().filter_map(move |nodes| nodes.clone().nth(i))).collect()
        }
    }
}

/// A list in random order (Fisher-Yates shuffle).
fn shuffled(mut list: Vec<u32>, stream: &mut Stream) -> Vec<u32> {
    for last in (1..list.len()).rev() {
        list.swap(last, stream.below(last as u64 + 1) as usize);
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{JobConfig, Shift, WorkloadConfig};
    use netloom_fabric::config::{DragonflyConfig, FatTreeConfig, SwitchedTopology};
    use netloom_fabric::topology::wiring::Wiring;
    use std::collections::HashSet;
    use std::sync::Arc;

    /// Two jobs of eighty nodes in which each node sends to its successor.
    fn jobs(placement: Placement, wiring: &Wiring) -> Jobs {
        let shape = Shape::of_switches(&Arc::new(wiring.clone()));
        let job = JobConfig {
            name: String::new(),
            nodes: 80,
            placement: None,
            load: None,
            workload: Box::new(WorkloadConfig::Shift(Shift { by: vec![1] })),
        };
        let config = JobsConfig { placement, alone: true, jobs: vec![job.clone(), job] };
        WorkloadConfig::Jobs(config.clone()).check(&shape).expect("fits");
        Jobs::new(&config, &shape, 64, 3).expect("fits")
    }

    #[test]
    fn every_job_has_its_nodes_and_sends_among_them() {
        let wiring = DragonflyConfig::cray_xc(3, 12).wiring();
        for placement in
            [Placement::Contiguous, Placement::RandomNodes, Placement::RandomRouters, Placement::RoundRobin]
        {
            let jobs = jobs(placement, &wiring);
            let mut seen = HashSet::new();
            for job in 0..2 {
                assert_eq!(jobs.nodes(job).len(), 80);
                let mut stream = Stream::new(1, 0, 0);
                for (i, &node) in jobs.nodes(job).iter().enumerate() {
                    assert!(seen.insert(node) && jobs.of(node) == Some(job), "{placement:?}");
                    assert_eq!(
                        jobs.destination(node, 0, None, &mut stream),
                        Some(jobs.nodes(job)[(i + 1) % 80])
                    );
                }
            }
            assert_eq!((0..wiring.nodes()).filter(|&node| jobs.of(node).is_none()).count(), 1152 - 160);
        }
    }

    #[test]
    fn placements_take_what_they_say() {
        let wiring = DragonflyConfig::cray_xc(3, 12).wiring();
        let group = |node: u32| wiring.group(wiring.home(node).0);
        assert_eq!(jobs(Placement::Contiguous, &wiring).nodes(1), (80..160).collect::<Vec<_>>());
        let in_turn = jobs(Placement::RoundRobin, &wiring);
        assert!(in_turn.nodes(0).iter().enumerate().all(|(i, &node)| group(node) == i as u32 % 3));
        let routers: HashSet<u32> =
            jobs(Placement::RandomRouters, &wiring).nodes(0).iter().map(|&n| wiring.home(n).0).collect();
        assert_eq!(routers.len(), 20, "four nodes of each");
        // The leaves of a fat tree in turn, since all of its nodes are on one level.
        let tree = SwitchedTopology::FatTree(FatTreeConfig {
            down: vec![8, 4, 5],
            up: vec![2, 2],
            link_classes: vec![],
        })
        .wiring();
        let leaves: Vec<u32> =
            jobs(Placement::RoundRobin, &tree).nodes(0)[..5].iter().map(|&n| tree.home(n).0).collect();
        assert_eq!(leaves, [0, 1, 2, 3, 4]);
    }
}
