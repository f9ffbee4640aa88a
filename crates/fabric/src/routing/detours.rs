//! Route tables of a dragonfly's group in which links or routers have failed ("it is necessary to route
//! around the problem").
//!
//! With all links working, a group is crossed dimension by dimension. After failures a route may need more
//! hops, in an order that no dimension order allows. So the routers of such a group are ranked, and every
//! route first goes down in rank and then up. Packets in the same leg of their routes therefore never wait
//! for each other in a cycle, since a link down waits for links further down or for links up, and a link up
//! only for links further up (up*/down* routing, Schroeder et al. 1991, "Autonet") **(ours: the paper says
//! that routes are computed, not how)**. Among these routes the tables hold the shortest.

use std::collections::VecDeque;

/// A router at the other end of a link of the group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Neighbour {
    pub dimension: usize,
    pub port: usize,
    pub router: u32,
}

/// The route tables of one group.
#[derive(Clone, Debug)]
pub(super) struct Detours {
    first: u32,
    members: usize,
    groups: usize,
    /// Rank of each member.
    rank: Vec<u16>,
    /// For packets that may still go down, and for those that may not: by router and the target's index in
    /// the group.
    local: [Vec<u64>; 2],
    /// The same by router and group.
    global: [Vec<u64>; 2],
}

/// Reachability of members over ports.
struct Graph<'a> {
    near: &'a [Vec<Neighbour>],
    rank: &'a [u16],
    first: u32,
}

impl Graph<'_> {
    /// The ports on shortest routes to any of the targets, by phase and member.
    fn ports(&self, targets: &[usize]) -> [Vec<u64>; 2] {
        let members = self.near.len();
        let mut distance = [vec![u32::MAX; members], vec![u32::MAX; members]];
        let mut queue = VecDeque::new();
        for &target in targets {
            for (phase, distances) in distance.iter_mut().enumerate() {
                distances[target] = 0;
                queue.push_back((target, phase));
            }
        }
        // Backwards: the routers that reach this one in a phase by one hop.
        while let Some((to, phase)) = queue.pop_front() {
            let next = distance[phase][to] + 1;
            for neighbour in &self.near[to] {
                let from = (neighbour.router - self.first) as usize;
                let is_up = self.rank[to] > self.rank[from];
                if usize::from(is_up) != phase {
                    continue;
                }
                for (before, distances) in distance.iter_mut().enumerate() {
                    if (before == 0 || is_up) && distances[from] == u32::MAX {
                        distances[from] = next;
                        queue.push_back((from, before));
                    }
                }
            }
        }
        let ports_of = |phase: usize, from: usize| {
            let here = distance[phase][from];
            let leads = |n: &&Neighbour| {
                let to = (n.router - self.first) as usize;
                let is_up = self.rank[to] > self.rank[from];
                (phase == 0 || is_up)
                    && distance[usize::from(is_up)][to] != u32::MAX
                    && distance[usize::from(is_up)][to] + 1 == here
            };
            self.near[from].iter().filter(leads).fold(0, |ports, n| ports | 1 << n.port)
        };
        [0, 1].map(|phase| (0..members).map(|from| ports_of(phase, from)).collect())
    }
}

impl Detours {
    /// The tables of the group that begins with router `first`: `near` has the working links of each member,
    /// `own` its ports to other groups, `coordinates` the members' coordinates in each dimension, `faults`
    /// the number of each member's failed links.
    pub fn new(
        first: u32,
        near: &[Vec<Neighbour>],
        own: &[u64],
        coordinates: &[Vec<u32>],
        faults: &[u32],
    ) -> Self {
        let members = near.len();
        let groups = own.len() / members;
        let rank = healthiest_first(coordinates, faults);
        let mut detours =
            Detours { first, members, groups, rank, local: [vec![], vec![]], global: [vec![], vec![]] };
        detours.fill(near, own);
        if !detours.joins_all(near) {
            // Any router with working links reaches all routers that can be reached.
            detours.rank = nearest_first(first, near, faults);
            detours.fill(near, own);
        }
        detours
    }

    fn fill(&mut self, near: &[Vec<Neighbour>], own: &[u64]) {
        let graph = Graph { near, rank: &self.rank, first: self.first };
        let (members, groups) = (self.members, self.groups);
        self.local = [0, 1].map(|_| vec![0; members * members]);
        self.global = [0, 1].map(|_| vec![0; members * groups]);
        for target in 0..members {
            let ports = graph.ports(&[target]);
            for (phase, ports) in ports.iter().enumerate() {
                for (from, &ports) in ports.iter().enumerate().filter(|(from, _)| *from != target) {
                    self.local[phase][from * members + target] = ports;
                }
            }
        }
        for group in 0..groups {
            let gates: Vec<usize> = (0..members).filter(|&m| own[m * groups + group] != 0).collect();
            let ports = graph.ports(&gates);
            for (phase, ports) in ports.iter().enumerate() {
                for from in 0..members {
                    let here = own[from * groups + group];
                    self.global[phase][from * groups + group] = if here != 0 { here } else { ports[from] };
                }
            }
        }
    }

    /// Whether each router with any link in this group has a route to every other.
    fn joins_all(&self, near: &[Vec<Neighbour>]) -> bool {
        let alive: Vec<usize> = (0..self.members).filter(|&m| !near[m].is_empty()).collect();
        let has_route = |from: usize, to: usize| from == to || self.local[0][from * self.members + to] != 0;
        alive.iter().all(|&from| alive.iter().all(|&to| has_route(from, to)))
    }

    /// The ports on routes from a router to one in its group.
    pub fn to_router(&self, router: u32, to: u32, stage: usize) -> u64 {
        let (from, to) = ((router - self.first) as usize, (to - self.first) as usize);
        self.local[stage.min(1)][from * self.members + to]
    }

    /// The ports on routes from a router to a group.
    pub fn to_group(&self, router: u32, group: u32, stage: usize) -> u64 {
        self.global[stage.min(1)][(router - self.first) as usize * self.groups + group as usize]
    }

    /// The stage of a packet after a hop: after a hop up it only goes up.
    pub fn stage_after(&self, from: u32, to: u32) -> usize {
        let rank = |router: u32| self.rank[(router - self.first) as usize];
        usize::from(rank(to) > rank(from))
    }

    pub fn bytes(&self) -> usize {
        let tables = self.local.iter().chain(&self.global);
        tables.map(|table| 8 * table.capacity()).sum::<usize>() + 2 * self.rank.capacity()
    }
}

/// Ranks by coordinates, with the lines with the fewest failures first: any two routers that differ in
/// several dimensions keep a route of minimum length, through at least one corner.
fn healthiest_first(coordinates: &[Vec<u32>], faults: &[u32]) -> Vec<u16> {
    let dimensions = coordinates.first().map_or(0, Vec::len);
    let mut keys = vec![vec![]; coordinates.len()];
    for d in 0..dimensions {
        let length = coordinates.iter().map(|at| at[d] + 1).max().unwrap_or(0) as usize;
        let mut sums = vec![0; length];
        for (at, faults) in coordinates.iter().zip(faults) {
            sums[at[d] as usize] += faults;
        }
        let mut lines: Vec<usize> = (0..length).collect();
        lines.sort_by_key(|&line| sums[line]);
        for (key, at) in keys.iter_mut().zip(coordinates) {
            key.push(lines.iter().position(|&line| line == at[d] as usize));
        }
    }
    let mut members: Vec<usize> = (0..keys.len()).collect();
    members.sort_by(|&a, &b| keys[a].cmp(&keys[b]));
    ranks(&members)
}

/// Ranks by distance from the router with the fewest failures.
fn nearest_first(first: u32, near: &[Vec<Neighbour>], faults: &[u32]) -> Vec<u16> {
    let mut order = vec![];
    let mut seen = vec![false; near.len()];
    let mut roots: Vec<usize> = (0..near.len()).collect();
    roots.sort_by_key(|&m| faults[m]);
    for root in roots {
        let mut queue = VecDeque::from([root]);
        while let Some(member) = queue.pop_front() {
            if std::mem::replace(&mut seen[member], true) {
                continue;
            }
            order.push(member);
            queue.extend(near[member].iter().map(|n| (n.router - first) as usize));
        }
    }
    ranks(&order)
}

/// Converts members in rank order to the rank of each member.
fn ranks(order: &[usize]) -> Vec<u16> {
    let mut rank = vec![0; order.len()];
    order.iter().enumerate().for_each(|(place, &member)| rank[member] = place as u16);
    rank
}
