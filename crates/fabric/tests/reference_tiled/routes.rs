//! Routes of packets: a table if there is a single route, coordinates on a torus. Every router has one route
//! to each other.

use netloom_fabric::config::SwitchedTopology;
use netloom_fabric::topology::wiring::Wiring;
use std::collections::VecDeque;

pub enum Routes {
    /// The port from each router to each other with nodes.
    Table(Vec<Vec<usize>>),
    /// A torus with these numbers of routers along each dimension: the port in each direction of each
    /// dimension.
    Torus { dims: Vec<u32>, ports: Vec<Vec<[usize; 2]>> },
}

impl Routes {
    pub fn new(topology: &SwitchedTopology, wiring: &Wiring) -> Self {
        let SwitchedTopology::Torus(torus) = topology else { return Routes::Table(table(wiring)) };
        let dims = torus.dims.clone();
        // Without equally long routes or parallel links.
        assert!(dims.iter().all(|length| length % 2 == 1) && torus.links_per_neighbour.is_empty());
        let ports = (0..wiring.routers()).map(|router| sides(&dims, wiring, router)).collect();
        Routes::Torus { dims, ports }
    }

    /// The port by which a packet leaves a router for another, and the VC of its class there, which came by
    /// `came`: a port and such a VC, none from a node.
    pub fn next(&self, from: usize, to: usize, came: Option<(usize, usize)>) -> (usize, usize) {
        let (dims, ports) = match self {
            Routes::Table(table) => return (table[from][to], 0),
            Routes::Torus { dims, ports } => (dims, &ports[from]),
        };
        let (here, there) = (place(dims, from as u32), place(dims, to as u32));
        let d = (0..dims.len()).find(|&d| here[d] != there[d]).expect("it is not there yet");
        let up = (there[d] + dims[d] - here[d]) % dims[d];
        let side = usize::from(2 * up > dims[d]);
        // The dateline is between a ring's last router and its first. After it a packet uses the second VC
        // for the rest of the ring.
        let is_at_line = here[d] == if side == 0 { dims[d] - 1 } else { 0 };
        let is_beyond = came.is_some_and(|(port, vc)| ports[d].contains(&port) && vc == 1);
        (ports[d][side], usize::from(is_at_line || is_beyond))
    }
}

/// A router's coordinates on a torus.
fn place(dims: &[u32], mut router: u32) -> Vec<u32> {
    let mut place = vec![];
    for length in dims {
        place.push(router % length);
        router /= length;
    }
    place
}

/// The ports of a router in the plus and the minus direction of each dimension.
fn sides(dims: &[u32], wiring: &Wiring, router: u32) -> Vec<[usize; 2]> {
    let here = place(dims, router);
    let port = |d: usize, step: u32| {
        let mut there = here.clone();
        there[d] = (here[d] + step) % dims[d];
        let is_to = |&port: &usize| wiring.end(router, port).is_some_and(|e| place(dims, e.router) == there);
        (0..wiring.ports()).find(is_to).expect("a neighbour")
    };
    (0..dims.len()).map(|d| [port(d, 1), port(d, dims[d] - 1)]).collect()
}

/// The port on the minimal route from each router to each with nodes; asserts that there is no other.
fn table(wiring: &Wiring) -> Vec<Vec<usize>> {
    let routers = wiring.routers();
    let mut ports = vec![vec![usize::MAX; routers as usize]; routers as usize];
    for to in (0..routers).filter(|&r| !wiring.nodes_at(r).is_empty()) {
        let mut far = vec![u32::MAX; routers as usize];
        far[to as usize] = 0;
        let mut border = VecDeque::from([to]);
        while let Some(at) = border.pop_front() {
            for end in (0..wiring.ports()).filter_map(|p| wiring.end(at, p)) {
                if far[end.router as usize] == u32::MAX {
                    far[end.router as usize] = far[at as usize] + 1;
                    border.push_back(end.router);
                }
            }
        }
        for from in (0..routers).filter(|&from| from != to) {
            let nearer = |&p: &usize| {
                wiring.end(from, p).is_some_and(|e| far[e.router as usize] + 1 == far[from as usize])
            };
            let mut found = (0..wiring.ports()).filter(nearer);
            ports[from as usize][to as usize] = found.next().expect("a route");
            assert!(found.next().is_none(), "one route only");
        }
    }
    ports
}
