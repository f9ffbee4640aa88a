//! The wiring of any switched topology (a dragonfly, a fat tree): routers, the links between them, and the
//! nodes at them. Routing reads nothing else, so it does not depend on the rule by which a machine was wired.

use std::collections::VecDeque;
use std::ops::Range;

/// Most ports for links that a router may have: a port's number is a byte.
pub const PORTS_MAX: usize = 256;

/// Stands for a router where nothing is connected.
const NOBODY: u32 = u32::MAX;

/// The far end of a link, and the link's class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The router there.
    pub router: u32,
    /// The port of that router in which the link ends.
    pub port: u8,
    /// The link's class, an index into [`Wiring::classes`].
    pub class: u8,
}

/// Routers, the links between them, and the nodes at them. Nodes are numbered by router, routers by group.
#[derive(Clone, Debug)]
pub struct Wiring {
    ports: usize,
    classes: Vec<String>,
    /// The far end of each port, by router and port.
    ends: Vec<End>,
    /// The first node of each router, and one past the last node of all.
    first_node: Vec<u32>,
    /// The router of each node.
    router_of: Vec<u32>,
    /// The first router of each group, and one past the last router of all.
    first_router: Vec<u32>,
    /// The group of each router.
    group_of: Vec<u32>,
    /// Where each router is, for people.
    places: Vec<Box<str>>,
    /// Ports that the links of a router that has nodes need.
    ports_beside_nodes: usize,
}

impl Wiring {
    /// Routers with `ports` ports, without links: `groups` has the routers of each group, `routers` the
    /// nodes and the place of each router in the order of their numbers.
    ///
    /// # Panics
    /// If routers have more than [`PORTS_MAX`] ports, or the groups are not made of all the routers.
    pub(super) fn new(
        ports: usize,
        classes: &[impl ToString],
        groups: impl IntoIterator<Item = u32>,
        routers: impl IntoIterator<Item = (u32, String)>,
    ) -> Self {
        assert!(ports <= PORTS_MAX, "{ports} ports of a router");
        let mut wiring = Wiring {
            ports,
            classes: classes.iter().map(ToString::to_string).collect(),
            ends: vec![],
            first_node: vec![0],
            router_of: vec![],
            first_router: vec![0],
            group_of: vec![],
            places: vec![],
            ports_beside_nodes: ports,
        };
        for (group, routers) in (0..).zip(groups) {
            wiring.group_of.extend((0..routers).map(|_| group));
            wiring.first_router.push(wiring.group_of.len() as u32);
        }
        for (router, (nodes, place)) in (0..).zip(routers) {
            wiring.router_of.extend((0..nodes).map(|_| router));
            wiring.first_node.push(wiring.router_of.len() as u32);
            wiring.places.push(place.into());
        }
        assert_eq!(wiring.places.len(), wiring.group_of.len(), "each router is in a group");
        wiring.ends = vec![End { router: NOBODY, port: 0, class: 0 }; wiring.places.len() * ports];
        wiring
    }

    /// Joins two ports, each a router and its port.
    ///
    /// # Panics
    /// If a port is taken, or both are the same: the topology's rule would be wrong.
    pub(super) fn connect(&mut self, a: (u32, usize), b: (u32, usize), class: u8) {
        for ((router, port), (other, other_port)) in [(a, b), (b, a)] {
            assert!(port < self.ports, "port {port} of router {router}");
            let end = &mut self.ends[router as usize * self.ports + port];
            assert_eq!(end.router, NOBODY, "port {port} of router {router} has a link already");
            *end = End { router: other, port: other_port as u8, class };
        }
    }

    /// Number of routers.
    pub fn routers(&self) -> u32 {
        self.group_of.len() as u32
    }

    /// Number of nodes.
    pub fn nodes(&self) -> u32 {
        self.router_of.len() as u32
    }

    /// Ports for links of a router, connected or not; ports of nodes are not among them.
    pub fn ports(&self) -> usize {
        self.ports
    }

    /// Ports that the links of a router need: as [`Self::ports`], or fewer where nodes may have the others.
    pub fn ports_of(&self, router: u32) -> usize {
        if self.nodes_at(router).is_empty() { self.ports } else { self.ports_beside_nodes }
    }

    /// Ports that the links of each router that has nodes need.
    pub fn ports_beside_nodes(&self) -> usize {
        self.ports_beside_nodes
    }

    /// Gives routers that have nodes fewer ports for links, the first ones.
    ///
    /// # Panics
    /// If one of the others has a link.
    pub(super) fn share_ports(&mut self, ports: usize) {
        self.ports_beside_nodes = ports;
        for router in 0..self.routers() {
            let taken = (self.ports_of(router)..self.ports).find(|&port| self.end(router, port).is_some());
            assert_eq!(taken, None, "router {router} has a link at a port for nodes");
        }
    }

    /// Names of the classes of links (`"local"`, `"global"`).
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// The far end of a port's link; none where nothing is connected.
    #[inline]
    pub fn end(&self, router: u32, port: usize) -> Option<End> {
        debug_assert!(port < self.ports);
        let end = self.ends[router as usize * self.ports + port];
        (end.router != NOBODY).then_some(end)
    }

    /// The router of a node, and which of the router's nodes it is.
    #[inline]
    pub fn home(&self, node: u32) -> (u32, usize) {
        let router = self.router_of[node as usize];
        (router, (node - self.first_node[router as usize]) as usize)
    }

    /// The nodes of a router; their numbers are consecutive.
    pub fn nodes_at(&self, router: u32) -> Range<u32> {
        self.first_node[router as usize]..self.first_node[router as usize + 1]
    }

    /// Number of groups.
    pub fn groups(&self) -> u32 {
        self.first_router.len() as u32 - 1
    }

    /// The group of a router.
    #[inline]
    pub fn group(&self, router: u32) -> u32 {
        self.group_of[router as usize]
    }

    /// The routers of a group; their numbers are consecutive.
    pub fn routers_of(&self, group: u32) -> Range<u32> {
        self.first_router[group as usize]..self.first_router[group as usize + 1]
    }

    /// Minimum number of links from a router to each router; 255 if there are more, or no path.
    pub fn links_from(&self, router: u32) -> Box<[u8]> {
        let mut links = vec![u8::MAX; self.routers() as usize];
        links[router as usize] = 0;
        let mut seen = VecDeque::from([router]);
        while let Some(router) = seen.pop_front() {
            let far = links[router as usize].saturating_add(1);
            for end in (0..self.ports()).filter_map(|port| self.end(router, port)) {
                let known = &mut links[end.router as usize];
                if far < *known {
                    *known = far;
                    seen.push_back(end.router);
                }
            }
        }
        links.into()
    }

    /// Where a router is, for people (`"c1-0c2s7"`, `"group 3 router 7"`).
    pub fn place(&self, router: u32) -> &str {
        &self.places[router as usize]
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Checks that links, nodes and groups are consistent; any topology's wiring must pass.
    pub(in crate::topology) fn check(wiring: &Wiring) {
        for router in 0..wiring.routers() {
            for port in 0..wiring.ports() {
                let Some(end) = wiring.end(router, port) else { continue };
                assert_ne!(end.router, router, "no link leads back to where it starts");
                assert!(usize::from(end.class) < wiring.classes().len());
                let back = wiring.end(end.router, end.port.into()).expect("a link has two ends");
                assert_eq!((back.router, usize::from(back.port), back.class), (router, port, end.class));
            }
            for (slot, node) in wiring.nodes_at(router).enumerate() {
                assert_eq!(wiring.home(node), (router, slot));
            }
            assert!(wiring.routers_of(wiring.group(router)).contains(&router));
        }
        let nodes: usize = (0..wiring.routers()).map(|r| wiring.nodes_at(r).len()).sum();
        assert_eq!(nodes, wiring.nodes() as usize);
        let routers: usize = (0..wiring.groups()).map(|g| wiring.routers_of(g).len()).sum();
        assert_eq!(routers, wiring.routers() as usize);
    }

    /// Links of a class between each two groups, both orders.
    pub(in crate::topology) fn links_between_groups(wiring: &Wiring) -> Vec<Vec<u32>> {
        let groups = wiring.groups() as usize;
        let mut links = vec![vec![0; groups]; groups];
        for router in 0..wiring.routers() {
            for end in (0..wiring.ports()).filter_map(|p| wiring.end(router, p)) {
                links[wiring.group(router) as usize][wiring.group(end.router) as usize] += 1;
            }
        }
        links
    }

    fn three() -> Wiring {
        let routers = [(2, "a".to_string()), (0, "b".to_string()), (3, "c".to_string())];
        Wiring::new(2, &["one", "other"], [2, 1], routers)
    }

    #[test]
    fn links_are_listed_at_both_ends() {
        let mut wiring = three();
        wiring.connect((0, 1), (2, 0), 1);
        wiring.connect((1, 0), (0, 0), 0);
        check(&wiring);
        assert_eq!(wiring.end(0, 1), Some(End { router: 2, port: 0, class: 1 }));
        assert_eq!(wiring.end(1, 1), None);
        assert_eq!((wiring.nodes(), wiring.home(2), wiring.nodes_at(1)), (5, (2, 0), 2..2));
        assert_eq!((wiring.groups(), wiring.group(2), wiring.place(2)), (2, 1, "c"));
        assert_eq!(links_between_groups(&wiring), [[2, 1], [1, 0]]);
    }

    #[test]
    #[should_panic(expected = "has a link already")]
    fn a_port_takes_one_link() {
        let mut wiring = three();
        wiring.connect((0, 1), (2, 0), 1);
        wiring.connect((1, 0), (2, 0), 1);
    }

    #[test]
    fn links_are_counted() {
        let wiring = crate::config::TiledConfig::cray_xc(2, 1).topology.wiring();
        let first = wiring.home(0).0;
        let links = wiring.links_from(first);
        assert_eq!(links[first as usize], 0);
        // In the group: one link along a row or a column, two otherwise.
        assert!(wiring.routers_of(0).all(|router| links[router as usize] <= 2));
        let far = wiring.routers_of(1).map(|router| links[router as usize]);
        assert!(far.clone().all(|links| links >= 1) && far.max() <= Some(5));
        // As many there as back.
        assert!((0..wiring.routers()).all(|r| wiring.links_from(r)[first as usize] == links[r as usize]));
    }
}
