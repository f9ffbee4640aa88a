//! Dragonflies: routers in groups, all groups joined to all (Kim et al. 2008, section 3; Cray XC: Alverson et
//! al. 2012, "Dragonfly Implementation for the Cray XC Series"). Here are the links inside groups; those
//! between groups are in [`super::cabling`], the numbers of routers and ports in [`super::places`].
//!
//! A router's ports are those of the first dimension of its group, of the second, and its global ports. In a
//! dimension they are ordered by the peers' coordinates, its own left out, and links to the same peer lie
//! side by side.

use super::cabling;
use super::places::{Coordinates, coordinates, first_port, router};
use super::wiring::Wiring;
use crate::config::{Cabling, DragonflyConfig};

/// Routers, links and nodes of a dragonfly, of a checked configuration.
pub fn wiring(config: &DragonflyConfig) -> Wiring {
    let routers =
        (0..config.routers()).map(|r| (config.nodes_per_router, place(config, coordinates(config, r))));
    let groups = (0..config.groups).map(|g| config.chassis_of(g) * config.blades());
    let ports = (config.local_ports() + config.global_ports) as usize;
    let mut wiring = Wiring::new(ports, &config.classes(), groups, routers);
    for r in 0..config.routers() {
        let at = coordinates(config, r);
        join(&mut wiring, config, at, 0, config.blades(), at.blade, |blade| Coordinates { blade, ..at });
        if config.group.len() > 1 {
            let present = config.chassis_of(at.group);
            join(&mut wiring, config, at, 1, present, at.chassis, |chassis| Coordinates { chassis, ..at });
        }
    }
    let (global, class) = (first_port(config, config.group.len()), config.group.len() as u8);
    for ends in cabling::links(config) {
        let [a, b] = ends.map(|end| (router(config, end.router), global + end.port as usize));
        wiring.connect(a, b, class);
    }
    wiring
}

/// Joins a router with those of dimension `d` after it, of which `present` are there; `x` is its own
/// coordinate.
fn join(
    wiring: &mut Wiring,
    config: &DragonflyConfig,
    at: Coordinates,
    d: usize,
    present: u32,
    x: u32,
    with: impl Fn(u32) -> Coordinates,
) {
    let (first, links) = (first_port(config, d), config.links_in(d));
    for peer in x + 1..present {
        for link in 0..links {
            // To a router with a greater coordinate the own one is left out of the count before it; back it
            // is not.
            let there = first + ((peer - 1) * links + link) as usize;
            let back = first + (x * links + link) as usize;
            wiring.connect((router(config, at), there), (router(config, with(peer)), back), d as u8);
        }
    }
}

/// A router's place for people: of Cray XC the blade's name, cabinet and row, chassis and slot (`c1-0c2s7`;
/// all cabinets stand in one row **(ours)**).
fn place(config: &DragonflyConfig, at: Coordinates) -> String {
    let Coordinates { group, chassis, blade } = at;
    if config.cabling == Cabling::Bundles {
        let cabinet_chassis = config.cooling().chassis_per_cabinet();
        let cabinet = group * config.chassis().div_ceil(cabinet_chassis) + chassis / cabinet_chassis;
        return format!("c{cabinet}-0c{}s{blade}", chassis % cabinet_chassis);
    }
    match config.group.len() {
        1 => format!("group {group} router {blade}"),
        _ => format!("group {group} row {chassis} router {blade}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::wiring::tests::check;
    use super::*;
    use proptest::prelude::*;
    use std::time::Instant;

    fn general(
        p: u32,
        group: &[u32],
        links: &[u32],
        h: u32,
        groups: u32,
        cabling: Cabling,
    ) -> DragonflyConfig {
        DragonflyConfig {
            nodes_per_router: p,
            group: group.to_vec(),
            links_per_peer: links.to_vec(),
            global_ports: h,
            groups,
            cabling,
            cabling_seed: 7,
            cables: None,
            last_group_chassis: None,
            cooling: None,
            link_classes: vec![],
        }
    }

    proptest! {
        #[test]
        fn links_are_symmetric_and_routers_keep_their_numbers(
            p in 1u32..4, a in 1u32..7, second in 0u32..4, links in 1u32..4, h in 1u32..5, groups in 1u32..12, kind in 0..3usize
        ) {
            let (group, links) = if second == 0 { (vec![a], vec![links]) } else { (vec![a, second], vec![1, links]) };
            let cabling = [Cabling::Absolute, Cabling::Relative, Cabling::Random][kind];
            let config = general(p, &group, &links, h, groups, cabling);
            prop_assume!(config.check().is_ok());
            let wiring = config.wiring();
            check(&wiring);
            prop_assert_eq!((wiring.routers(), wiring.nodes()), (config.routers(), config.nodes()));
            for r in 0..wiring.routers() {
                prop_assert_eq!(router(&config, coordinates(&config, r)), r);
                prop_assert_eq!(coordinates(&config, r).group, wiring.group(r));
            }
        }
    }

    /// "Each Aries is connected to each of the other 15 Aries in the chassis"; "three links from each Aries
    /// to its peer in each of the other chassis".
    #[test]
    fn a_cray_xc_group() {
        let config = DragonflyConfig::cray_xc(2, 240);
        let wiring = config.wiring();
        check(&wiring);
        assert_eq!((wiring.routers(), wiring.nodes(), wiring.ports()), (192, 768, 40));
        assert_eq!(wiring.classes(), ["green", "black", "blue"]);
        for r in 0..wiring.routers() {
            let at = coordinates(&config, r);
            for (port, end) in (0..40).map(|p| (p, wiring.end(r, p).expect("all are connected"))) {
                let other = coordinates(&config, end.router);
                let (class, expected) = match port {
                    0..15 => {
                        let blade = port as u32 + u32::from(port as u32 >= at.blade);
                        (0, Coordinates { blade, ..at })
                    }
                    15..30 => {
                        let chassis = (port as u32 - 15) / 3;
                        (1, Coordinates { chassis: chassis + u32::from(chassis >= at.chassis), ..at })
                    }
                    _ => (2, Coordinates { group: 1 - at.group, ..other }),
                };
                assert_eq!((usize::from(end.class), other), (class, expected));
            }
        }
        assert_eq!(wiring.place(0), "c0-0c0s0");
        assert_eq!(wiring.place(96 + 4 * 16 + 9), "c3-0c1s9");
    }

    #[test]
    fn the_largest_cray_xc_is_built_at_once() {
        let config = DragonflyConfig::cray_xc(241, 1);
        assert_eq!(config.check(), Ok(()));
        let start = Instant::now();
        let wiring = config.wiring();
        assert!(start.elapsed().as_secs_f64() < 1.0, "it took {:?}", start.elapsed());
        assert_eq!((wiring.routers(), wiring.nodes()), (23_136, 92_544));
    }

    #[test]
    fn a_last_group_of_some_chassis() {
        let mut config = DragonflyConfig::cray_xc(3, 12);
        config.last_group_chassis = Some(2);
        assert_eq!(config.check(), Ok(()));
        let wiring = config.wiring();
        check(&wiring);
        assert_eq!((wiring.routers(), wiring.nodes()), (224, 896));
        assert_eq!(wiring.routers_of(2), 192..224);
        // One of the five peers along the column is present.
        let black = (15..30).filter(|&p| wiring.end(200, p).is_some()).count();
        assert_eq!(black, 3);
    }

    /// Every cabling of the dragonfly of Kim et al.'s simulations.
    #[test]
    fn a_general_dragonfly_of_1056_nodes() {
        for cabling in [Cabling::Absolute, Cabling::Relative, Cabling::Random] {
            let config = general(4, &[8], &[], 4, 33, cabling);
            assert_eq!(config.check(), Ok(()));
            let wiring = config.wiring();
            check(&wiring);
            assert_eq!((wiring.nodes(), wiring.ports()), (1056, 11));
            assert_eq!(wiring.classes(), ["local", "global"]);
            let links = super::super::wiring::tests::links_between_groups(&wiring);
            for (i, row) in links.iter().enumerate() {
                for (j, &n) in row.iter().enumerate() {
                    assert_eq!(n, if i == j { 8 * 7 } else { 1 }, "{cabling:?}: groups {i} and {j}");
                }
            }
        }
    }
}
