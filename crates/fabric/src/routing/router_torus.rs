//! Routes of a torus of routers: dimension order, x first, in the shorter direction of each ring, or either
//! if both are equally long.
//!
//! In each ring a packet changes VC where it crosses the dateline, between the last router and the first
//! (Dally and Seitz 1987), so that packets never wait for each other around the ring; dimensions are taken in
//! order, so that they never wait for each other across rings.

use crate::config::RouterTorusConfig;
use crate::topology::router_torus::{coordinate, first_port};

/// The route tables of all routers: their coordinates.
#[derive(Clone, Debug)]
pub struct RouterTorusRoutes {
    dims: Vec<u8>,
    /// Coordinates of each router.
    at: Vec<[u8; RouterTorusConfig::DIMENSIONS_MAX]>,
    /// Ports in the plus and the minus direction of each dimension, one bit each.
    ports: Vec<[u64; 2]>,
}

impl RouterTorusRoutes {
    /// Fills the tables.
    pub fn new(config: &RouterTorusConfig) -> Self {
        let dimensions = config.dims.len();
        let at = |router| {
            std::array::from_fn(|d| if d < dimensions { coordinate(config, router, d) as u8 } else { 0 })
        };
        let ports = |d: usize| {
            let (first, links) = (first_port(config, d), config.links_in(d));
            let side = ((1u128 << links) - 1) as u64;
            [side << first, side << (first + links as usize)]
        };
        RouterTorusRoutes {
            dims: config.dims.iter().map(|&length| length as u8).collect(),
            at: (0..config.routers()).map(at).collect(),
            ports: (0..dimensions).map(ports).collect(),
        }
    }

    /// The outputs on routes from one router to another, one bit per port; 0 to itself.
    #[inline]
    pub fn ports(&self, from: u32, to: u32) -> u64 {
        let (from, to) = (&self.at[from as usize], &self.at[to as usize]);
        let Some(d) = (0..self.dims.len()).find(|&d| from[d] != to[d]) else { return 0 };
        let length = self.dims[d];
        let plus = if to[d] > from[d] { to[d] - from[d] } else { length - (from[d] - to[d]) };
        let [up, down] = self.ports[d];
        match plus.cmp(&(length - plus)) {
            std::cmp::Ordering::Less => up,
            std::cmp::Ordering::Equal => up | down,
            std::cmp::Ordering::Greater => down,
        }
    }

    /// Whether the link at a router's port, of dimension `d`, crosses the dateline.
    #[inline]
    pub fn crosses(&self, router: u32, port: usize, d: usize) -> bool {
        let to_plus = self.ports[d][0] >> port & 1 != 0;
        self.at[router as usize][d] == if to_plus { self.dims[d] - 1 } else { 0 }
    }

    /// Memory of the tables, bytes.
    pub fn bytes(&self) -> usize {
        self.at.capacity() * size_of::<[u8; RouterTorusConfig::DIMENSIONS_MAX]>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::router_torus::wiring;

    #[test]
    fn ways_are_as_short_as_can_be() {
        let config = RouterTorusConfig {
            dims: vec![5, 4, 2],
            nodes_per_router: 1,
            links_per_neighbour: vec![1, 2, 1],
            link_classes: vec![],
        };
        let (wiring, routes) = (wiring(&config), RouterTorusRoutes::new(&config));
        for (from, to) in (0..40).flat_map(|from| (0..40).map(move |to| (from, to))) {
            let distance: u32 = (0..3)
                .map(|d| coordinate(&config, from, d).abs_diff(coordinate(&config, to, d)))
                .zip(&config.dims)
                .map(|(apart, length)| apart.min(length - apart))
                .sum();
            for first in [true, false] {
                let (mut at, mut hops) = (from, 0);
                while at != to {
                    let ports = routes.ports(at, to);
                    let port = if first { ports.trailing_zeros() } else { 63 - ports.leading_zeros() };
                    at = wiring.end(at, port as usize).expect("a link").router;
                    hops += 1;
                }
                assert_eq!(hops, distance, "{from} to {to}");
            }
        }
    }

    #[test]
    fn the_dateline_is_between_the_last_router_and_the_first() {
        let config = RouterTorusConfig {
            dims: vec![5, 3],
            nodes_per_router: 1,
            links_per_neighbour: vec![],
            link_classes: vec![],
        };
        let routes = RouterTorusRoutes::new(&config);
        let crossing: Vec<(u32, usize)> = (0..15)
            .flat_map(|router| (0..4).map(move |port| (router, port)))
            .filter(|&(router, port)| routes.crosses(router, port, port / 2))
            .collect();
        let x = [(4, 0), (9, 0), (14, 0), (0, 1), (5, 1), (10, 1)];
        let y = [(10, 2), (11, 2), (12, 2), (13, 2), (14, 2), (0, 3), (1, 3), (2, 3), (3, 3), (4, 3)];
        assert!(crossing.len() == 16 && x.iter().chain(&y).all(|link| crossing.contains(link)));
    }
}
