//! The cables between the groups of a Cray XC (Alverson et al. 2012, "Dragonfly Implementation for the Cray
//! XC Series" and "Cray XC Series Configuration"): a bundle of cables for each pair of groups.
//!
//! The backplane of a chassis takes the global links of each pair of blades, ten per blade, to five
//! connectors. A cable joins two connectors and has four links: two from each blade of the pair, at either
//! end **(inferred: with six groups and bundles of 48 cables each router is directly connected to all other
//! groups, and a bundle then has as many cables as a group has pairs of blades)**. Links run straight through
//! a cable: the n-th at one end is the n-th at the other **(ours)**.
//!
//! The paper does not assign cables to connectors. Here a group's connectors have an order and take the
//! bundles in the order of the groups at their far ends, so that no cable moves when groups are added (Figure
//! 16). In that order the cabinet changes fastest, then the chassis within a cabinet, then the pair of
//! blades, and the connector within a pair last. So a bundle is spread evenly over cabinets, chassis and
//! blades; and if its cables are a multiple of a group's chassis, or cabinets, the n-th cable is in the same
//! chassis, or cabinet, at both ends. A last group that grows by chassis or cabinets therefore has the share
//! of each bundle that belongs to its chassis or cabinets, and its cables stay in place as it grows
//! **(ours)**.

use super::places::{Coordinates, GlobalEnd, slot};
use crate::config::DragonflyConfig;

/// Links of a cable.
pub const LINKS_PER_CABLE: u32 = 4;

/// A connector on the backplane of a chassis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Connector {
    /// The group.
    pub group: u32,
    /// The chassis in the group.
    pub chassis: u32,
    /// The pair of blades in the chassis: blades `2 pair` and `2 pair + 1`.
    pub pair: u32,
    /// Index of the connector within the pair.
    pub number: u32,
}

impl Connector {
    /// The port behind link `link` of this connector's cable: the two blades of the pair alternate.
    fn end(self, link: u32) -> GlobalEnd {
        let router =
            Coordinates { group: self.group, chassis: self.chassis, blade: 2 * self.pair + link % 2 };
        GlobalEnd { router, port: 2 * self.number + link / 2 }
    }
}

/// The chassis of a group in the order in which connectors are assigned: the first of each cabinet, then the
/// second of each, and so on.
fn chassis_order(config: &DragonflyConfig) -> Vec<u32> {
    let per_cabinet = config.cooling().chassis_per_cabinet();
    let mut order: Vec<u32> = (0..config.chassis()).collect();
    order.sort_by_key(|chassis| (chassis % per_cabinet, chassis / per_cabinet));
    order
}

/// The connectors of the bundle from one group to another in a machine with full groups only.
fn bundle(
    config: &DragonflyConfig,
    order: &[u32],
    group: u32,
    other: u32,
) -> impl Iterator<Item = Connector> + use<> {
    let (chassis, pairs) = (config.chassis(), config.blades() / 2);
    let order = order.to_vec();
    let cables = config.cables.unwrap_or(0);
    let first = slot(group, other) * cables;
    (first..first + cables).map(move |nth| Connector {
        group,
        chassis: order[(nth % chassis) as usize],
        pair: nth / chassis % pairs,
        number: nth / chassis / pairs,
    })
}

/// The cables between two groups, by their ends: those of the bundle with both chassis present.
fn cables_of<'a>(
    config: &'a DragonflyConfig,
    order: &'a [u32],
    group: u32,
    other: u32,
) -> impl Iterator<Item = [Connector; 2]> + 'a {
    bundle(config, order, group, other)
        .zip(bundle(config, order, other, group))
        .map(|(a, b)| [a, b])
        .filter(|ends| ends.iter().all(|end| end.chassis < config.chassis_of(end.group)))
}

/// Number of cables between two groups.
pub fn cables_between(config: &DragonflyConfig, group: u32, other: u32) -> u32 {
    cables_of(config, &chassis_order(config), group, other).count() as u32
}

/// All cables between groups, by their ends; the end in the lower-numbered group comes first.
pub fn cables(config: &DragonflyConfig) -> Vec<[Connector; 2]> {
    let order = chassis_order(config);
    let pairs = (0..config.groups).flat_map(|i| (i + 1..config.groups).map(move |j| (i, j)));
    pairs.flat_map(|(i, j)| cables_of(config, &order, i, j)).collect()
}

/// All global links, by their ends.
pub fn links(config: &DragonflyConfig) -> Vec<[GlobalEnd; 2]> {
    let each = |[a, b]: [Connector; 2]| (0..LINKS_PER_CABLE).map(move |link| [a.end(link), b.end(link)]);
    cables(config).into_iter().flat_map(each).collect()
}

#[cfg(test)]
mod tests {
    use super::super::wiring::Wiring;
    use super::super::wiring::tests::{check, links_between_groups};
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn xc(groups: u32, cables: u32) -> DragonflyConfig {
        let config = DragonflyConfig::cray_xc(groups, cables);
        assert_eq!(config.check(), Ok(()));
        config
    }

    /// Maximum and minimum number of the bundle's cables in any of `places` places.
    fn spread(bundle: &[Connector], places: u32, place: impl Fn(&Connector) -> u32) -> (usize, usize) {
        let count = |p| bundle.iter().filter(|c| place(c) == p).count();
        ((0..places).map(count).max().expect("a place"), (0..places).map(count).min().expect("a place"))
    }

    #[test]
    fn a_connector_takes_one_cable_and_a_pair_of_blades_has_ten_links_each() {
        for (groups, cables) in [(2, 240), (6, 12), (6, 48), (8, 34), (16, 16), (41, 6), (241, 1)] {
            let config = xc(groups, cables);
            let all = super::cables(&config);
            assert_eq!(all.len() as u32, cables * groups * (groups - 1) / 2);
            let connectors: HashSet<_> = all.iter().flatten().collect();
            assert_eq!(connectors.len(), 2 * all.len());
            assert!(all.iter().flatten().all(|c| c.chassis < 6 && c.pair < 8 && c.number < 5));
            let wiring = config.wiring();
            check(&wiring);
            for (i, row) in links_between_groups(&wiring).iter().enumerate() {
                assert!(row.iter().enumerate().all(|(j, &links)| i == j || links == 4 * cables));
            }
        }
    }

    proptest! {
        /// Smaller systems of the same kind, with any dimensions: a port has one link, and every two groups
        /// share a cable.
        #[test]
        fn other_sizes_are_wired_by_the_same_rule(
            half in 1u32..4, chassis in 1u32..7, ports in 1u32..4, groups in 1u32..9, cables in 1u32..9, missing in 0u32..6
        ) {
            let config = DragonflyConfig {
                group: vec![2 * half, chassis],
                global_ports: 2 * ports,
                last_group_chassis: Some(chassis.saturating_sub(missing)),
                ..DragonflyConfig::cray_xc(groups, cables)
            };
            prop_assume!(config.check().is_ok());
            let wiring = config.wiring();
            check(&wiring);
            prop_assert_eq!(wiring.nodes(), config.nodes());
            for [a, b] in super::cables(&config) {
                if cables.is_multiple_of(chassis) {
                    prop_assert_eq!(a.chassis, b.chassis);
                }
            }
            for (i, row) in links_between_groups(&wiring).iter().enumerate() {
                prop_assert!(row.iter().enumerate().all(|(j, &links)| i == j || links > 0));
            }
        }
    }

    /// 241 groups of 384 nodes, each pair joined by exactly one cable.
    #[test]
    fn the_largest_system() {
        let config = xc(241, 1);
        let mut pairs = HashSet::new();
        for [a, b] in super::cables(&config) {
            assert!(pairs.insert((a.group, b.group)));
        }
        assert_eq!(pairs.len(), 241 * 240 / 2);
    }

    #[test]
    fn a_bundle_is_spread_evenly() {
        for (groups, cables) in [(6, 12), (6, 48), (8, 12), (8, 34), (11, 24), (14, 18), (41, 6), (33, 2)] {
            let config = xc(groups, cables);
            let order = chassis_order(&config);
            for (group, other) in [(0, 1), (0, groups - 1), (groups - 1, 0), (1, 3), (groups / 2, 0)] {
                let bundle: Vec<_> = bundle(&config, &order, group, other).collect();
                let even = |places: u32, (most, fewest): (usize, usize)| {
                    assert!(
                        most - fewest <= usize::from(!cables.is_multiple_of(places)),
                        "{cables} on {places}"
                    );
                };
                even(2, spread(&bundle, 2, |c| c.chassis / 3));
                even(6, spread(&bundle, 6, |c| c.chassis));
                for chassis in 0..6 {
                    let there: Vec<_> = bundle.iter().copied().filter(|c| c.chassis == chassis).collect();
                    let (most, fewest) = spread(&there, 8, |c| c.pair);
                    assert!(most - fewest <= 1);
                }
            }
        }
    }

    #[test]
    fn a_last_group_has_its_chassis_share_of_each_bundle() {
        for chassis in 1..=6 {
            let mut config = xc(6, 12);
            config.last_group_chassis = Some(chassis);
            for group in 0..5 {
                assert_eq!(cables_between(&config, group, 5), 2 * chassis);
                assert_eq!(cables_between(&config, 5, group), 2 * chassis);
            }
            assert_eq!(cables_between(&config, 0, 4), 12);
            check(&config.wiring());
        }
        // A cabinet has one cable of a bundle of two.
        let mut config = xc(20, 2);
        config.last_group_chassis = Some(3);
        assert!((0..19).all(|group| cables_between(&config, group, 19) == 1));
    }

    fn distances(wiring: &Wiring, from: u32) -> Vec<u32> {
        let mut distances = vec![u32::MAX; wiring.routers() as usize];
        distances[from as usize] = 0;
        let mut reached = vec![from];
        let mut next = 0;
        while let Some(&router) = reached.get(next) {
            next += 1;
            for end in (0..wiring.ports()).filter_map(|port| wiring.end(router, port)) {
                if distances[end.router as usize] == u32::MAX {
                    distances[end.router as usize] = distances[router as usize] + 1;
                    reached.push(end.router);
                }
            }
        }
        distances
    }

    /// "In a full bandwidth system with six groups and 48 cables from each group to each of the other groups,
    /// each Aries will be directly connected to all of the other groups, reducing the minimal path length to
    /// three."
    #[test]
    fn six_groups_of_48_cables_are_three_links_apart() {
        let wiring = xc(6, 48).wiring();
        for router in 0..wiring.routers() {
            for other in (0..6).filter(|&group| group != wiring.group(router)) {
                let direct =
                    |port: &usize| wiring.end(router, *port).is_some_and(|e| wiring.group(e.router) == other);
                assert_eq!((30..40).filter(direct).count(), 2);
            }
        }
        for from in (0..wiring.routers()).step_by(7) {
            assert_eq!(distances(&wiring, from).iter().max(), Some(&3));
        }
        // In a partial network some routers are farther apart.
        let partial = xc(6, 12).wiring();
        assert!(distances(&partial, 0).iter().any(|&d| (4..=5).contains(&d)));
    }
}
