//! Route tables of a dragonfly ("Aries Router", "Cray XC Routing"): for each router the outputs on minimal
//! routes to the routers of its own group and to the other groups. A packet follows them hop by hop; a
//! non-minimal packet first follows them to a randomly chosen router or group.
//!
//! Within a group a packet takes the dimensions in order, green before black **(ours: the paper gives the
//! number of hops, not their order)**. So the contents of a tile's tables depend on the tile: after a green
//! link only black and blue links remain, after a black link only blue ones.

use super::Target;
use super::detours::{Detours, Neighbour};
use crate::config::MinimalPaths;
use crate::topology::wiring::Wiring;

/// Maximum number of dimensions of a group.
pub const GROUP_DIMENSIONS_MAX: usize = 2;

/// The maxima over all routes that a packet may take.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LongestPath {
    /// Links of the longest route.
    pub hops: u32,
    /// Maximum number of links of each class on one route.
    pub by_class: Vec<u32>,
}

/// The route tables of all routers. Sets of outputs have one bit per port.
#[derive(Clone, Debug)]
pub struct DragonflyRoutes {
    /// Routers of a full group.
    group_routers: u32,
    groups: u32,
    /// Dimensions of a group.
    dimensions: usize,
    /// By router and the target's index in its group.
    local: Vec<u64>,
    /// By stage, router and group.
    global: [Vec<u64>; GROUP_DIMENSIONS_MAX + 1],
    /// By group, for groups with failures only.
    detours: Vec<Option<Box<Detours>>>,
    /// Whether each router belongs to the largest part of its group that failures have left connected.
    is_joined: Vec<bool>,
}

impl DragonflyRoutes {
    /// Fills the tables of groups with these dimensions. `works` returns whether the link at a router's port
    /// works.
    pub fn new(
        wiring: &Wiring,
        group: &[u32],
        policy: MinimalPaths,
        works: impl Fn(u32, usize) -> bool,
    ) -> Self {
        let (routers, groups) = (wiring.routers(), wiring.groups());
        let group_routers: u32 = group.iter().product();
        let dimensions = group.len();
        let coordinate = |router: u32, d: usize| {
            let place = router - wiring.routers_of(wiring.group(router)).start;
            place / group[..d].iter().product::<u32>() % group[d]
        };
        let mut local = vec![0; (routers * group_routers) as usize];
        // Outputs to a group without a hop inside this group.
        let mut own = vec![0u64; (routers * groups) as usize];
        // Neighbours in each dimension, with their ports.
        let mut near: Vec<Vec<Neighbour>> = vec![vec![]; routers as usize];
        // Number of failed links of each router within its group.
        let mut faults = vec![0; routers as usize];
        for router in 0..routers {
            for port in 0..wiring.ports() {
                let Some(end) = wiring.end(router, port) else { continue };
                let dimension = usize::from(end.class);
                if !works(router, port) {
                    faults[router as usize] += u32::from(dimension < dimensions);
                } else if dimension < dimensions {
                    near[router as usize].push(Neighbour { dimension, port, router: end.router });
                }
            }
        }
        let is_joined = joined(wiring, &near);
        for router in 0..routers {
            for port in 0..wiring.ports() {
                let Some(end) = wiring.end(router, port) else { continue };
                // A router that is cut off from its group has no route onwards.
                let leads_on = works(router, port) && is_joined[end.router as usize];
                if usize::from(end.class) >= dimensions && leads_on {
                    own[(router * groups + wiring.group(end.router)) as usize] |= 1 << port;
                }
            }
            let members = wiring.routers_of(wiring.group(router));
            for to in members.clone().filter(|&to| to != router) {
                let differs = (0..dimensions).find(|&d| coordinate(router, d) != coordinate(to, d));
                let d = differs.expect("another router");
                let ports = near[router as usize]
                    .iter()
                    .filter(|n| n.dimension == d && coordinate(n.router, d) == coordinate(to, d))
                    .fold(0u64, |ports, n| ports | 1 << n.port);
                local[(router * group_routers + (to - members.start)) as usize] = ports;
            }
        }
        let mut routes = DragonflyRoutes {
            group_routers,
            groups,
            dimensions,
            local,
            global: std::array::from_fn(|stage| if stage <= dimensions { own.clone() } else { vec![] }),
            detours: vec![],
            is_joined,
        };
        // Later stages, with fewer dimensions left, are filled first.
        for stage in (0..dimensions).rev() {
            routes.fill_global(stage, &own, &near, policy);
        }
        if faults.iter().any(|&failed| failed != 0) {
            let around = |group| {
                let of = wiring.routers_of(group);
                let members = of.start as usize..of.end as usize;
                if faults[members.clone()].iter().all(|&failed| failed == 0) {
                    return None;
                }
                let places =
                    of.clone().map(|router| (0..dimensions).map(|d| coordinate(router, d)).collect());
                let own = &own[members.start * groups as usize..members.end * groups as usize];
                let places: Vec<Vec<u32>> = places.collect();
                let (near, faults) = (&near[members.clone()], &faults[members]);
                Some(Box::new(Detours::new(of.start, near, own, &places, faults)))
            };
            routes.detours = (0..groups).map(around).collect();
        }
        routes
    }

    /// Whether a router is reachable from the others in its group, or from most of them.
    pub fn is_joined(&self, router: u32) -> bool {
        self.is_joined[router as usize]
    }

    /// Whether packets that enter a group from outside have a route on to another group.
    pub fn leads_on(&self, wiring: &Wiring, group: u32, to: u32) -> bool {
        // From any one of the routers at which they enter, and so from all.
        let anybody = wiring.routers_of(group).find(|&router| self.is_joined(router));
        anybody.is_some_and(|router| self.ports(wiring, router, Target::Group(to), 0) != 0)
    }

    /// The detours of a router's group, if it has failures.
    #[inline]
    fn detours(&self, wiring: &Wiring, router: u32) -> Option<&Detours> {
        if self.detours.is_empty() {
            return None;
        }
        self.detours[wiring.group(router) as usize].as_deref()
    }

    /// The stage of a packet after a link within a group: the number of dimensions completed, or the phase in
    /// the detours of a group with failures.
    #[inline]
    pub fn stage_after(&self, wiring: &Wiring, router: u32, port: usize, class: usize) -> usize {
        match self.detours(wiring, router) {
            None => class + 1,
            Some(detours) => detours.stage_after(router, wiring.end(router, port).expect("a link").router),
        }
    }

    /// Computes the outputs to other groups for packets that may still use the dimensions from `stage` on.
    fn fill_global(&mut self, stage: usize, own: &[u64], near: &[Vec<Neighbour>], policy: MinimalPaths) {
        let groups = self.groups as usize;
        for (router, near) in near.iter().enumerate() {
            for group in 0..groups {
                let here = own[router * groups + group];
                // At one hop from a global link, and at two.
                let (mut one, mut two) = (0u64, 0u64);
                for n in near.iter().filter(|n| n.dimension >= stage) {
                    let at = n.router as usize * groups + group;
                    if own[at] != 0 {
                        one |= 1 << n.port;
                    } else if self.global[n.dimension + 1][at] != 0 {
                        two |= 1 << n.port;
                    }
                }
                self.global[stage][router * groups + group] = match policy {
                    MinimalPaths::Any => here | one | two,
                    MinimalPaths::Nearest => {
                        [here, one, two].into_iter().find(|&ports| ports != 0).unwrap_or(0)
                    }
                };
            }
        }
    }

    /// The outputs on minimal routes from a router to another router or group, for a packet that has
    /// completed `stage` dimensions of the group on this leg.
    #[inline]
    pub fn ports(&self, wiring: &Wiring, router: u32, target: Target, stage: usize) -> u64 {
        let detours = self.detours(wiring, router);
        let group = match target {
            Target::Router(to) if wiring.group(to) == wiring.group(router) => {
                if let Some(detours) = detours {
                    return detours.to_router(router, to, stage);
                }
                let place = to - wiring.routers_of(wiring.group(to)).start;
                return self.local[(router * self.group_routers + place) as usize];
            }
            Target::Router(to) => wiring.group(to),
            Target::Group(group) => group,
        };
        match detours {
            None => self.global[stage][(router * self.groups + group) as usize],
            Some(detours) => detours.to_group(router, group, stage),
        }
    }

    /// The maxima over all routes of a packet to a target, if every router may choose any output: hops, and
    /// links of each class on one route. `None` if there is no route.
    pub fn longest(&self, wiring: &Wiring, from: u32, target: Target) -> Option<LongestPath> {
        let mut longest = LongestPath { hops: 0, by_class: vec![0; wiring.classes().len()] };
        let mut links = vec![];
        self.walk(wiring, (from, 0), target, &mut links, &mut longest).then_some(longest)
    }

    /// Continues from a router and stage through every output; returns whether each router had one.
    fn walk(
        &self,
        wiring: &Wiring,
        (at, stage): (u32, usize),
        target: Target,
        links: &mut Vec<u8>,
        longest: &mut LongestPath,
    ) -> bool {
        let there = match target {
            Target::Router(to) => at == to,
            Target::Group(group) => wiring.group(at) == group,
        };
        if there {
            longest.hops = longest.hops.max(links.len() as u32);
            for (class, most) in longest.by_class.iter_mut().enumerate() {
                *most = (*most).max(links.iter().filter(|&&c| usize::from(c) == class).count() as u32);
            }
            return true;
        }
        let mut ports = self.ports(wiring, at, target, stage);
        let mut goes_on = ports != 0;
        while ports != 0 {
            let port = ports.trailing_zeros() as usize;
            let end = wiring.end(at, port).expect("tables lead over links");
            ports &= ports - 1;
            let class = usize::from(end.class);
            let is_local = class < self.dimensions;
            let stage = if is_local { self.stage_after(wiring, at, port, class) } else { 0 };
            links.push(end.class);
            goes_on &= self.walk(wiring, (end.router, stage), target, links, longest);
            links.pop();
        }
        goes_on
    }

    /// Dimensions of a group: links of at least this class are global.
    #[inline]
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Memory of the tables, bytes.
    pub fn bytes(&self) -> usize {
        let detours = self.detours.iter().flatten().map(|detours| detours.bytes()).sum::<usize>();
        let tables = self.local.capacity() + self.global.iter().map(Vec::capacity).sum::<usize>();
        8 * tables + detours + self.is_joined.capacity()
    }
}

/// Whether each router belongs to the largest connected part of its group: `near` has its working links
/// there.
fn joined(wiring: &Wiring, near: &[Vec<Neighbour>]) -> Vec<bool> {
    let (mut is_joined, mut seen) = (vec![false; near.len()], vec![false; near.len()]);
    for group in 0..wiring.groups() {
        let mut most = vec![];
        for router in wiring.routers_of(group) {
            let mut part = vec![];
            let mut left = vec![router];
            while let Some(router) = left.pop() {
                if !std::mem::replace(&mut seen[router as usize], true) {
                    part.push(router);
                    left.extend(near[router as usize].iter().map(|n| n.router));
                }
            }
            if part.len() > most.len() {
                most = part;
            }
        }
        most.into_iter().for_each(|router| is_joined[router as usize] = true);
    }
    is_joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{DragonflyConfig, TiledConfig};

    /// With few cables between each two groups, a minimal route to another group may begin and end with a
    /// green and a black link: five links in total. With a cable in every chassis the black links are not
    /// needed, and if every router has a link to every group, the route has three links. Within a group it
    /// has one green and one black link.
    #[test]
    fn ways_of_a_cray_xc() {
        let policy = TiledConfig::cray_xc(2, 1).routing.minimal_paths;
        for (cables, most) in [(1, 5), (12, 4), (48, 3)] {
            let config = DragonflyConfig::cray_xc(6, cables);
            let wiring = config.wiring();
            let routes = DragonflyRoutes::new(&wiring, &config.group, policy, |_, _| true);
            let mut hops = 0;
            for to in (0..wiring.routers()).step_by(5) {
                let maxima = routes.longest(&wiring, 40, Target::Router(to)).expect("a route");
                if wiring.group(to) == wiring.group(40) {
                    assert!(maxima.by_class[0] <= 1 && maxima.by_class[1] <= 1 && maxima.by_class[2] == 0);
                } else {
                    assert_eq!(maxima.by_class[2], 1);
                    hops = hops.max(maxima.hops);
                }
            }
            assert_eq!(hops, most, "{cables} cables");
        }
    }
}
