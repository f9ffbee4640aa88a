//! The deadlock check on small networks of all kinds, with and without failures, against a simpler checker;
//! and on whole groups of a Cray XC.

use super::super::route::Via;
use super::*;
use crate::config::{
    Cabling, DragonflyConfig, Failure, FatTreeConfig, LinkClass, MinimalPaths, RandomFailures,
    RouterTorusConfig, SwitchedTopology,
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
        link_classes: vec![],
    })
}

#[test]
fn no_packets_of_a_dragonfly_wait_for_each_other() {
    for topology in
        [dragonfly(&[4], &[1], 2, 9), dragonfly(&[3, 2], &[1, 2], 2, 5), dragonfly(&[4, 3], &[1, 1], 1, 4)]
    {
        for paths in [MinimalPaths::Nearest, MinimalPaths::Any] {
            for (vcs, reported) in
                [(4, VcDiscrimination::Off), (5, VcDiscrimination::Off), (4, VcDiscrimination::Always)]
            {
                let mut config = config(topology.clone());
                config.routing.minimal_paths = paths;
                config.routing.vc_discrimination = reported;
                (config.router.vcs, config.router.response_vcs) = (vcs, false);
                assert_eq!(ring_of_channels(&config).unwrap(), None, "{topology:?} {paths:?} {vcs} VCs");
            }
        }
    }
}

/// The same with any failures; and a packet that has a route at all, directly or through an intermediate that
/// has one, never reaches a dead end.
#[test]
fn nor_around_failures() {
    for topology in [dragonfly(&[4], &[1], 2, 9), dragonfly(&[4, 3], &[1, 2], 2, 4)] {
        for seed in 0..12 {
            let mut config = config(topology.clone());
            let (links, routers) = [(0.02, 0), (0.1, 1), (0.25, 2)][seed as usize % 3];
            config.faults.random =
                vec![RandomFailures { at_us: 1.0, links, degraded: 0.0, routers, seed: Some(seed) }];
            assert_eq!(ring_of_channels(&config).unwrap(), None, "{topology:?} {seed}");
            assert_eq!(dead_ends(&config), vec![], "{topology:?} {seed}");
        }
    }
}

#[test]
fn nor_do_those_of_a_fat_tree() {
    let tree = FatTreeConfig { down: vec![2, 3, 4], up: vec![2, 3], link_classes: vec![] };
    assert_eq!(ring_of_channels(&config(SwitchedTopology::FatTree(tree))).unwrap(), None);
}

#[test]
fn nor_do_those_of_a_torus() {
    for (dims, links, vcs) in
        [(vec![5, 4], vec![], 4), (vec![3, 2, 4], vec![1, 2, 1], 5), (vec![7], vec![], 4)]
    {
        let torus =
            RouterTorusConfig { dims, nodes_per_router: 1, links_per_neighbour: links, link_classes: vec![] };
        let mut config = config(SwitchedTopology::Torus(torus));
        (config.router.vcs, config.router.response_vcs) = (vcs, false);
        assert_eq!(ring_of_channels(&config).unwrap(), None, "{:?}", config.topology);
    }
}

/// Traverses all routes of packets to the nodes of a router.
fn walk_from(tables: &Tables, home: u32, waits: &mut HashMap<Channel, HashSet<Channel>>) {
    let nodes = tables.wiring.nodes_at(home);
    if nodes.is_empty() {
        return;
    }
    // The position of a packet: router, the channel on which it arrived, header.
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
        for port in bits(tables.minimal_ports(router, header.via(), home, header.stage())) {
            let end = tables.wiring.end(router, port).expect("a link");
            let (after, vc) = tables.leave(header, (router, port), end.class.into());
            let channel = (router, port, vc);
            if let Some(came) = came {
                waits.entry(came).or_default().insert(channel);
            }
            left.push((end.router, Some(channel), after));
            // With a VC for it, a packet may reconsider its route at the next router of its first group.
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

/// The intermediates that a packet at a router may initially choose.
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

/// Routers and goals of packets without a route onwards. None may lead to routers that are cut off from their
/// group.
fn dead_ends(config: &TiledConfig) -> Vec<(u32, Goal)> {
    let tables = tables_of(config);
    let (w, legs) = (&tables.wiring, Legs::walk(&tables));
    let is_joined = |router: u32| match &tables.routes {
        Routes::Dragonfly(routes) => routes.is_joined(router),
        Routes::FatTree(_) | Routes::Torus(_) => true,
    };
    let within = legs.dead_ends.iter().copied().filter(|(_, goal)| goal.1 || is_joined(goal.0));
    let mut found: Vec<(u32, Goal)> = within.collect();
    // A packet in transit through a group may have entered at any router that has a link to another group.
    for (&(at, level), change) in &legs.changes {
        let by = w.group(at);
        let is_there = level == 2 + tables.constants.extra && !change.came.is_empty();
        let homes = (0..w.routers()).filter(|&home| is_there && w.group(home) != by && is_joined(home));
        let lost = homes.filter(|&home| {
            tables.leads_on((by, true), home) && tables.minimal_ports(at, None, home, 0) == 0
        });
        found.extend(lost.map(|home| (at, (home, false))));
    }
    found
}

/// The graph of a simpler checker, which follows every packet separately.
fn plain(tables: &Tables) -> HashMap<Channel, HashSet<Channel>> {
    let mut waits = HashMap::new();
    (0..tables.wiring.routers()).for_each(|home| walk_from(tables, home, &mut waits));
    waits
}

/// No edge is missing; tables in which legs never turn back get no additional edges.
#[test]
fn what_packets_wait_for_one_by_one_is_all_there() {
    let tree = FatTreeConfig { down: vec![2, 3, 4], up: vec![2, 3], link_classes: vec![] };
    let torus = RouterTorusConfig {
        dims: vec![3, 4],
        nodes_per_router: 1,
        links_per_neighbour: vec![],
        link_classes: vec![],
    };
    for (topology, links) in [
        (dragonfly(&[4], &[1], 2, 9), 0.0),
        (dragonfly(&[4], &[1], 2, 9), 0.1),
        (dragonfly(&[3, 2], &[1, 2], 2, 5), 0.0),
        (dragonfly(&[3, 2], &[1, 2], 2, 5), 0.1),
        (SwitchedTopology::FatTree(tree.clone()), 0.0),
        (SwitchedTopology::FatTree(tree), 0.1),
        (SwitchedTopology::Torus(torus), 0.0),
    ] {
        let mut config = config(topology);
        config.faults.random =
            vec![RandomFailures { at_us: 1.0, links, degraded: 0.0, routers: 0, seed: Some(3) }];
        for vcs in [4, 5] {
            (config.router.vcs, config.router.response_vcs) = (vcs, false);
            let tables = tables_of(&config);
            let waits = Legs::walk(&tables).waits;
            let mut edges = 0;
            for (channel, next) in plain(&tables) {
                let after: HashSet<Channel> =
                    waits.after(waits.index(channel)).map(|index| waits.channel(index)).collect();
                assert!(next.is_subset(&after), "{channel:?}: {next:?} and {after:?}");
                edges += next.len();
            }
            let all: usize = waits.next.iter().flatten().map(|ports| ports.count_ones() as usize).sum();
            println!("{edges} of {all} edges");
            assert!(all - edges <= edges / 4, "{edges} of {all}");
        }
    }
}

/// A Cray XC with groups of 96 routers and all routes of every routing mode: with four VCs, and with the
/// fifth that PAR needs.
#[test]
fn nor_do_those_of_whole_groups_of_a_cray_xc() {
    let check = |groups: u32, cables: u32, vcs: u32, paths: MinimalPaths| {
        let mut config = TiledConfig::cray_xc(groups, cables);
        config.routing.minimal_paths = paths;
        (config.router.vcs, config.router.response_vcs) = (vcs, false);
        assert_eq!(ring_of_channels(&config).unwrap(), None, "{groups} groups, {vcs} VCs");
        for (seed, links, routers) in [(1, 0.01, 3), (2, 0.02, 0), (3, 0.1, 5), (4, 0.3, 20)] {
            config.faults.random =
                vec![RandomFailures { at_us: 1.0, links, degraded: 0.0, routers, seed: Some(seed) }];
            let what = format!("{groups} groups, {vcs} VCs, {links} of the links, {routers} routers");
            assert_eq!(ring_of_channels(&config).unwrap(), None, "{what}");
            assert_eq!(dead_ends(&config), vec![], "{what}");
        }
    };
    // At the same time: it is the longest test, and would leave a core idle at the end.
    std::thread::scope(|scope| {
        for (vcs, paths) in [(4, MinimalPaths::Nearest), (5, MinimalPaths::Any)] {
            let check = &check;
            scope.spawn(move || {
                for (groups, cables) in [(1, 0), (2, 48), (3, 12), (6, 8)] {
                    check(groups, cables, vcs, paths);
                }
            });
        }
    });
}

/// A router of an XC that has lost its links within its group, but not those to other groups: no packet is
/// routed to it.
#[test]
fn no_route_leads_to_a_router_that_is_cut_off() {
    let mut config = TiledConfig::cray_xc(2, 48);
    let wiring = config.topology.wiring();
    let cut = 17;
    let is_local = |port: &usize| wiring.end(cut, *port).is_some_and(|end| end.class < 2);
    let failures = (0..wiring.ports()).filter(is_local);
    config.faults.failures = failures
        .map(|port| Failure { at_us: 1.0, router: cut, port: Some(port as u32), lanes: None })
        .collect();
    assert_eq!(ring_of_channels(&config).unwrap(), None);
    assert_eq!(dead_ends(&config), vec![]);
    let (tables, other) = (tables_of(&config), wiring.routers_of(1).start);
    assert!(tables.minimal_ports(cut, None, other, 0) != 0, "it still has links to the other group");
    assert!(!tables.leads_on((cut, false), other) && tables.leads_on((cut + 1, false), other));
    for router in wiring.routers_of(1) {
        let leads_there = |port: usize| wiring.end(router, port).is_some_and(|end| end.router == cut);
        assert!(!bits(tables.minimal_ports(router, None, 0, 0)).any(leads_there), "from {router}");
    }
}

#[test]
fn a_ring_is_found_where_there_is_one() {
    let torus = RouterTorusConfig {
        dims: vec![4],
        nodes_per_router: 1,
        links_per_neighbour: vec![],
        link_classes: vec![],
    };
    let wiring = config(SwitchedTopology::Torus(torus)).topology.wiring();
    // Around a cycle of four routers: from each the port that leads to the next.
    let port = |from: u32, to: u32| {
        let leads = |port: &usize| wiring.end(from, *port).is_some_and(|end| end.router == to);
        (0..wiring.ports()).find(leads).expect("neighbours")
    };
    let channel = |from: u32| (from, port(from, (from + 1) % 4), 0);
    let waits = |round: u32| {
        let next = vec![Outputs::default(); wiring.routers() as usize * wiring.ports() * VCS];
        let mut waits = Waits { wiring: &wiring, next };
        for from in 0..round {
            let index = waits.index(channel(from));
            waits.next[index][0] |= 1 << channel((from + 1) % 4).1;
        }
        waits.ring()
    };
    assert_eq!(waits(3), None);
    assert_eq!(waits(4), Some([0, 1, 2, 3].map(channel).to_vec()));
}
