//! Tori of routers shared by several nodes (two on Cray's Gemini): the wiring of their ports.
//!
//! Routers are numbered along x first. The ports of a dimension are consecutive: its links in the plus
//! direction, then those in the minus direction.

use super::wiring::Wiring;
use crate::config::RouterTorusConfig;

/// A router's coordinate in a dimension.
pub fn coordinate(config: &RouterTorusConfig, router: u32, d: usize) -> u32 {
    router / stride(config, d) % config.dims[d]
}

/// The difference between the numbers of two neighbours in a dimension.
fn stride(config: &RouterTorusConfig, d: usize) -> u32 {
    config.dims[..d].iter().product()
}

/// The first port of a dimension: plus links come before minus links.
pub fn first_port(config: &RouterTorusConfig, d: usize) -> usize {
    (0..d).map(|d| 2 * config.links_in(d) as usize).sum()
}

/// Routers, links and nodes of a checked configuration. Each dimension is a link class.
pub fn wiring(config: &RouterTorusConfig) -> Wiring {
    let dimensions = config.dims.len();
    let place = |router| {
        let at: Vec<String> = (0..dimensions).map(|d| coordinate(config, router, d).to_string()).collect();
        (config.nodes_per_router, format!("router ({})", at.join(", ")))
    };
    let ports = first_port(config, dimensions);
    let routers = (0..config.routers()).map(place);
    let mut wiring = Wiring::new(ports, &config.classes(), [config.routers()], routers);
    for router in 0..config.routers() {
        for d in 0..dimensions {
            let (length, at) = (config.dims[d], coordinate(config, router, d));
            let next = router - at * stride(config, d) + (at + 1) % length * stride(config, d);
            let (plus, links) = (first_port(config, d), config.links_in(d) as usize);
            for link in 0..links {
                wiring.connect((router, plus + link), (next, plus + links + link), d as u8);
            }
        }
    }
    wiring
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::wiring::tests::check;

    #[test]
    fn neighbours_are_a_step_apart() {
        let config = RouterTorusConfig {
            dims: vec![4, 2, 3],
            nodes_per_router: 2,
            links_per_neighbour: vec![2, 1, 1],
            link_classes: vec![],
        };
        assert_eq!(config.check(), Ok(()));
        let wiring = wiring(&config);
        check(&wiring);
        assert_eq!((wiring.routers(), wiring.nodes(), wiring.ports()), (24, 48, 8));
        assert_eq!(
            (wiring.classes(), wiring.place(23)),
            (&["x", "y", "z"].map(String::from)[..], "router (3, 1, 2)")
        );
        for router in 0..24 {
            let at = |router| [0, 1, 2].map(|d| coordinate(&config, router, d));
            for port in 0..8 {
                let end = wiring.end(router, port).expect("every port has a link");
                let (here, there) = (at(router), at(end.router));
                for d in 0..3 {
                    let step = match port as i64 - first_port(&config, d) as i64 {
                        _ if d != usize::from(end.class) => 0,
                        port if port < i64::from(config.links_in(d)) => 1,
                        _ => config.dims[d] - 1,
                    };
                    assert_eq!((here[d] + step) % config.dims[d], there[d], "{here:?} by port {port}");
                }
            }
        }
    }
}
