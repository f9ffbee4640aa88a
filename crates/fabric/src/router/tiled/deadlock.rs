//! Whether packets could ever wait for each other in a ring: the graph of which channel (a link's VC) may wait for which, from the route
//! tables as they are filled (Dally and Seitz 1987).
//!
//! Every way that any packet may take is walked, whoever sends it to whom, by way of whomever, however it decides. A packet holds the
//! channel that it came by and waits for the next; where no channel can come to wait for itself, there is no deadlock.

use super::failover::around;
use super::header::{Class, Mode, TiledHeader};
use super::tables::Tables;
use super::way::Via;
use crate::config::{ConfigError, TiledConfig};
use crate::router::bits::bits;
use crate::routing::Routes;
use std::collections::{HashMap, HashSet};

/// A VC of a link: router and port that send, VC.
pub type Channel = (u32, usize, usize);

/// A ring of channels, each of which may wait for the next, if there is one; where the configuration lets links fail, by the tables that lead
/// around all of them. For networks of a few hundred routers: what is walked grows with
/// the third power of them.
///
/// # Errors
/// A configuration that cannot be built.
pub fn ring_of_channels(config: &TiledConfig) -> Result<Option<Vec<Channel>>, ConfigError> {
    config.check()?;
    let tables = tables_of(config);
    let mut waits: HashMap<Channel, HashSet<Channel>> = HashMap::new();
    for node in tables.wiring.routers_of(0).start..tables.wiring.routers() {
        walk_from(&tables, node, &mut waits);
    }
    Ok(find_ring(&waits))
}

/// The tables, around all that fails.
fn tables_of(config: &TiledConfig) -> Tables {
    let tables = Tables::new(config);
    let failures = config.faults.schedule(&tables.wiring, 1, config.ticks_per_second, 1);
    if failures.is_empty() { tables } else { around(&tables, &failures) }
}

/// Walks all ways of packets to the nodes of a router.
fn walk_from(tables: &Tables, home: u32, waits: &mut HashMap<Channel, HashSet<Channel>>) {
    let nodes = tables.wiring.nodes_at(home);
    if nodes.is_empty() {
        return;
    }
    // Where a packet may be, how, and by which channel it came.
    let mut seen: HashSet<(u32, Option<Channel>, u64)> = HashSet::new();
    let mut left = vec![];
    let header = TiledHeader::new(nodes.start, 1, Class::Request, Mode::Adaptive0, 0);
    let ugal = TiledHeader::new(nodes.start, 1, Class::Request, Mode::UgalL, 0);
    for router in 0..tables.wiring.routers() {
        if router != home && !tables.wiring.nodes_at(router).is_empty() {
            for via in starts(tables, router, home) {
                left.push((router, None, header.with_via(via)));
            }
            if tables.wiring.group(router) != tables.wiring.group(home) {
                left.push((router, None, tables.settled(ugal, None)));
            }
        }
    }
    while let Some((router, came, header)) = left.pop() {
        let header = tables.come_to(header, router);
        if header.via().is_none() && router == home {
            continue;
        }
        if !seen.insert((router, came, header.bits())) {
            continue;
        }
        for port in bits(tables.ways(router, header.via(), home, header.stage())) {
            let end = tables.wiring.end(router, port).expect("a link");
            let (after, vc) = tables.leave(header, (router, port), end.class.into());
            let channel = (router, port, vc);
            if let Some(came) = came {
                waits.entry(came).or_default().insert(channel);
            }
            left.push((end.router, Some(channel), after));
            // With a VC for it, a packet may change its mind at the next router of its first group.
            let first_group = tables.wiring.group(end.router) == tables.wiring.group(router);
            let may_change = tables.constants.extra == 1 && matches!(tables.routes, Routes::Dragonfly(_));
            if may_change && header.level() == 0 && header.via().is_none() && first_group {
                for via in starts(tables, end.router, home).into_iter().filter(Option::is_some) {
                    let again = header.with_via(via).at_level(1).at_stage(0);
                    left.push((end.router, Some(channel), again));
                }
            }
        }
    }
}

/// By way of whom a packet at a router may go, at first.
fn starts(tables: &Tables, router: u32, home: u32) -> Vec<Via> {
    let w = &tables.wiring;
    let mut list = vec![None];
    if !matches!(tables.routes, Routes::FatTree(_)) {
        let local = w.group(router) == w.group(home);
        let routers = if local { w.routers_of(w.group(home)) } else { 0..w.routers() };
        list.extend(routers.filter(|&via| via != router && via != home).map(|via| Some((via, false))));
        if !local {
            let groups = (0..w.groups()).filter(|&g| g != w.group(router) && g != w.group(home));
            list.extend(groups.map(|group| Some((group, true))));
        }
    }
    list
}

/// A ring in a graph, found by walking it in depth.
fn find_ring(waits: &HashMap<Channel, HashSet<Channel>>) -> Option<Vec<Channel>> {
    let mut done: HashSet<Channel> = HashSet::new();
    let mut starts: Vec<&Channel> = waits.keys().collect();
    starts.sort_unstable();
    for &start in starts {
        let mut path: Vec<Channel> = vec![];
        let mut on_path: HashSet<Channel> = HashSet::new();
        let mut stack = vec![(start, false)];
        while let Some((channel, left)) = stack.pop() {
            if left {
                path.pop();
                on_path.remove(&channel);
                done.insert(channel);
            } else if on_path.contains(&channel) {
                let from = path.iter().position(|&c| c == channel).expect("it is on the path");
                return Some(path[from..].to_vec());
            } else if !done.contains(&channel) {
                path.push(channel);
                on_path.insert(channel);
                stack.push((channel, true));
                let mut next: Vec<Channel> = waits.get(&channel).into_iter().flatten().copied().collect();
                next.sort_unstable();
                stack.extend(next.into_iter().map(|c| (c, false)));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{
        Cabling, DragonflyConfig, FatTreeConfig, LinkClass, MinimalWays, RandomFailures, RouterTorusConfig,
        SwitchedTopology,
    };

    fn config(topology: SwitchedTopology) -> TiledConfig {
        let mut config = TiledConfig::cray_xc(2, 1);
        for class in topology.wiring().classes() {
            config.link.insert(class.clone(), LinkClass { latency_ticks: 20, flit_milliticks: 1000 });
        }
        config.topology = topology;
        (config.router.rows, config.router.columns) = (8, 8);
        (config.router.nodes_per_share, config.router.tiles_per_share) = (1, 1);
        config
    }

    fn dragonfly(group: &[u32], links: &[u32], global_ports: u32, groups: u32) -> SwitchedTopology {
        SwitchedTopology::Dragonfly(DragonflyConfig {
            nodes_per_router: 1,
            group: group.to_vec(),
            links_per_peer: links.to_vec(),
            global_ports,
            groups,
            cabling: Cabling::Relative,
            cabling_seed: 0,
            cables: None,
            last_group_chassis: None,
            cooling: None,
        })
    }

    #[test]
    fn no_packets_of_a_dragonfly_wait_for_each_other() {
        for topology in [
            dragonfly(&[4], &[1], 2, 9),
            dragonfly(&[3, 2], &[1, 2], 2, 5),
            dragonfly(&[4, 3], &[1, 1], 1, 4),
        ] {
            for ways in [MinimalWays::Nearest, MinimalWays::Any] {
                for vcs in [4, 5] {
                    let mut config = config(topology.clone());
                    config.routing.minimal_ways = ways;
                    (config.router.vcs, config.router.response_vcs) = (vcs, false);
                    assert_eq!(ring_of_channels(&config).unwrap(), None, "{topology:?} {ways:?} {vcs} VCs");
                }
            }
        }
    }

    /// Nor around any failures; and whoever has a way at all, directly or by a root that has one, never comes to a dead end.
    #[test]
    fn nor_around_failures() {
        for topology in [dragonfly(&[4], &[1], 2, 9), dragonfly(&[4, 3], &[1, 2], 2, 4)] {
            for seed in 0..12 {
                let mut config = config(topology.clone());
                let (links, routers) = [(0.02, 0), (0.1, 1), (0.25, 2)][seed as usize % 3];
                config.faults.random =
                    vec![RandomFailures { at_us: 1.0, links, degraded: 0.0, routers, seed: Some(seed) }];
                assert_eq!(ring_of_channels(&config).unwrap(), None, "{topology:?} {seed}");
                if seed % 3 < 2 {
                    assert_eq!(dead_ends(&config), vec![], "{topology:?} {seed}");
                }
            }
        }
    }

    /// Where packets come to that then have no way: router, header and destination. Routers that have lost all links of their group are left out.
    fn dead_ends(config: &TiledConfig) -> Vec<(u32, TiledHeader, u32)> {
        let tables = tables_of(config);
        let w = &tables.wiring;
        let mut found = vec![];
        let is_joined = |home: u32| {
            let others = w.routers_of(w.group(home)).filter(|&other| other != home);
            others.into_iter().any(|other| tables.ways(other, None, home, 0) != 0)
        };
        for home in (0..w.routers()).filter(|&home| is_joined(home)) {
            let header = TiledHeader::new(w.nodes_at(home).start, 1, Class::Request, Mode::Adaptive0, 0);
            let mut seen = HashSet::new();
            let mut left = vec![];
            for router in (0..w.routers()).filter(|&router| router != home) {
                for via in starts(&tables, router, home).into_iter().filter(|via| !via.is_some_and(|v| v.1)) {
                    let leads = via.is_none_or(|(root, _)| tables.ways(root, None, home, 0) != 0);
                    if leads && tables.ways(router, via, home, 0) != 0 {
                        left.push((router, header.with_via(via)));
                    }
                }
            }
            while let Some((router, header)) = left.pop() {
                let header = tables.come_to(header, router);
                if header.via().is_none() && router == home || !seen.insert((router, header.bits())) {
                    continue;
                }
                let ways = tables.ways(router, header.via(), home, header.stage());
                if ways == 0 {
                    found.push((router, header, home));
                }
                for port in bits(ways) {
                    let end = w.end(router, port).expect("a link");
                    left.push((end.router, tables.leave(header, (router, port), end.class.into()).0));
                }
            }
        }
        found
    }

    #[test]
    fn nor_do_those_of_a_fat_tree() {
        let tree = FatTreeConfig { down: vec![2, 3, 4], up: vec![2, 3] };
        assert_eq!(ring_of_channels(&config(SwitchedTopology::FatTree(tree))).unwrap(), None);
    }

    #[test]
    fn nor_do_those_of_a_torus() {
        for (dims, links, vcs) in
            [(vec![5, 4], vec![], 4), (vec![3, 2, 4], vec![1, 2, 1], 5), (vec![7], vec![], 4)]
        {
            let torus = RouterTorusConfig { dims, nodes_per_router: 1, links_per_neighbour: links };
            let mut config = config(SwitchedTopology::Torus(torus));
            (config.router.vcs, config.router.response_vcs) = (vcs, false);
            assert_eq!(ring_of_channels(&config).unwrap(), None, "{:?}", config.topology);
        }
    }

    #[test]
    fn a_ring_is_found_where_there_is_one() {
        let channel = |n: u32| (n, 0, 0);
        let waits = |edges: &[(u32, u32)]| {
            let mut waits: HashMap<Channel, HashSet<Channel>> = HashMap::new();
            edges.iter().for_each(|&(a, b)| {
                waits.entry(channel(a)).or_default().insert(channel(b));
            });
            waits
        };
        assert_eq!(find_ring(&waits(&[(0, 1), (1, 2), (0, 2), (3, 2)])), None);
        assert_eq!(
            find_ring(&waits(&[(0, 1), (1, 2), (2, 3), (3, 1)])),
            Some([1, 2, 3].map(channel).to_vec())
        );
    }
}
