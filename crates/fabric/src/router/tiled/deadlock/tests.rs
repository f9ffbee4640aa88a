//! The dependency checker on small networks of all kinds, with and without failures, beside a plainer one; and on whole groups of a
//! Cray XC.

use super::super::way::Via;
use super::*;
use crate::config::{
    Cabling, DragonflyConfig, FatTreeConfig, LinkClass, MinimalWays, RandomFailures, RouterTorusConfig,
    SwitchedTopology,
};
use std::collections::HashSet;

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
    for topology in
        [dragonfly(&[4], &[1], 2, 9), dragonfly(&[3, 2], &[1, 2], 2, 5), dragonfly(&[4, 3], &[1, 1], 1, 4)]
    {
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
            dead_ends(&config);
        }
    }
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
    for router in 0..tables.wiring.routers() {
        if router != home && !tables.wiring.nodes_at(router).is_empty() {
            for via in starts(tables, router, home) {
                left.push((router, None, header.with_via(via)));
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

fn dead_ends(config: &TiledConfig) {
    let tables = tables_of(config);
    let w = &tables.wiring;
    let legs = Legs::walk(&tables);
    let is_joined = |home: u32| {
        let others = w.routers_of(w.group(home)).filter(|&other| other != home);
        others.into_iter().any(|other| tables.ways(other, None, home, 0) != 0)
    };
    let joined = legs.dead_ends.iter().filter(|d| d.goal.1 || is_joined(d.goal.0)).count();
    let mut on = 0;
    for (&(router, level), change) in &legs.changes {
        if level == 2 + tables.constants.extra && !change.came.is_empty() {
            for home in (0..w.routers()).filter(|&home| is_joined(home) && home != router) {
                on += usize::from(tables.ways(router, None, home, 0) == 0);
            }
        }
    }
    let cut = (0..w.routers()).filter(|&r| !is_joined(r)).count();
    println!("dead ends {} of joined {joined}, not on {on}, cut {cut}", legs.dead_ends.len());
}

/// The graph of a plainer checker, which walks every packet by itself.
fn plain(tables: &Tables) -> HashMap<Channel, HashSet<Channel>> {
    let mut waits = HashMap::new();
    (0..tables.wiring.routers()).for_each(|home| walk_from(tables, home, &mut waits));
    waits
}

#[test]
fn what_packets_wait_for_one_by_one_is_all_there() {
    let mut configs: Vec<TiledConfig> = [
        dragonfly(&[4], &[1], 2, 9),
        dragonfly(&[3, 2], &[1, 2], 2, 5),
        SwitchedTopology::FatTree(FatTreeConfig { down: vec![2, 3, 4], up: vec![2, 3] }),
        SwitchedTopology::Torus(RouterTorusConfig {
            dims: vec![3, 4],
            nodes_per_router: 1,
            links_per_neighbour: vec![],
        }),
    ]
    .map(config)
    .to_vec();
    for vcs in [4, 5] {
        for config in &mut configs {
            (config.router.vcs, config.router.response_vcs) = (vcs, false);
            for links in [0.0, 0.1] {
                if matches!(config.topology, SwitchedTopology::Torus(_)) && links > 0.0 {
                    continue;
                }
                config.faults.random =
                    vec![RandomFailures { at_us: 1.0, links, degraded: 0.0, routers: 0, seed: Some(3) }];
                let tables = tables_of(config);
                let legs = Legs::walk(&tables);
                let (mut edges, mut more) =
                    (0, legs.waits.next.iter().flatten().map(|n| n.count_ones()).sum::<u32>());
                for (channel, next) in plain(&tables) {
                    let after: HashSet<usize> = legs.waits.after(legs.waits.index(channel)).collect();
                    for next in next {
                        assert!(
                            after.contains(&legs.waits.index(next)),
                            "{channel:?} {next:?} {:?}",
                            config.topology
                        );
                        edges += 1;
                    }
                }
                more -= edges;
                println!("{edges} edges, {more} more");
            }
        }
    }
}

#[test]
fn xc_timing() {
    for (groups, vcs) in [(2, 4), (2, 5), (3, 5), (6, 4)] {
        let mut config = TiledConfig::cray_xc(groups, 48 / (groups - 1));
        (config.router.vcs, config.router.response_vcs) = (vcs, false);
        for links in [0.0, 0.02] {
            config.faults.random =
                vec![RandomFailures { at_us: 1.0, links, degraded: 0.0, routers: 0, seed: Some(3) }];
            let begin = std::time::Instant::now();
            assert_eq!(ring_of_channels(&config).unwrap(), None);
            println!("{groups} {vcs} {links} {:?}", begin.elapsed());
            dead_ends(&config);
        }
    }
}
