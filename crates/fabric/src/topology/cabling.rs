//! Global cabling of a dragonfly: which global port of a group connects to which port of another (Kim et al.
//! 2008, section 3.1, leave it open; "absolute" and "relative" are named by Camarero, Vallejo and Beivide
//! 2014 and by Hastings et al. 2015). For Cray XC's cables see [`super::bundles`].
//!
//! A group's global ports are numbered router by router. With fewer groups than ports allow, the ports are
//! divided equally: each round of ports leads to every other group once, and the remaining ports of an
//! incomplete round have no link (ours).

use super::bundles;
use super::places::{GlobalEnd, coordinates, slot};
use crate::config::{Cabling, DragonflyConfig};
use netloom_engine::Stream;

/// The random stream of the machine from which random cabling is drawn.
const CABLING: u64 = 10;

/// All global links, by their ends.
pub fn links(config: &DragonflyConfig) -> Vec<[GlobalEnd; 2]> {
    match config.cabling {
        Cabling::Bundles => bundles::links(config),
        Cabling::Absolute => arranged(config, slot, |_, port| port),
        Cabling::Relative => {
            let groups = config.groups;
            arranged(config, |group, other| (other + groups - group) % groups - 1, |_, port| port)
        }
        Cabling::Random => {
            let orders: Vec<_> = (0..config.groups).map(|group| shuffled(config, group)).collect();
            arranged(config, slot, |group, port| orders[group as usize][port as usize])
        }
    }
}

/// Global links of a dragonfly in which group `i` uses the port for `j` at `slot(i, j)` of each round; `port`
/// maps it to the port number.
fn arranged(
    config: &DragonflyConfig,
    slot: impl Fn(u32, u32) -> u32,
    port: impl Fn(u32, u32) -> u32,
) -> Vec<[GlobalEnd; 2]> {
    let others = config.groups - 1;
    if others == 0 {
        return vec![];
    }
    let rounds = config.routers_per_group() * config.global_ports / others;
    let end = |group: u32, other: u32, round: u32| {
        let port = port(group, round * others + slot(group, other));
        let router = group * config.routers_per_group() + port / config.global_ports;
        GlobalEnd { router: coordinates(config, router), port: port % config.global_ports }
    };
    let mut links = Vec::new();
    for i in 0..config.groups {
        for j in i + 1..config.groups {
            links.extend((0..rounds).map(|round| [end(i, j, round), end(j, i, round)]));
        }
    }
    links
}

/// The global ports of a group in random order. All orders are equally likely, and since every group has one,
/// so are all matchings that join each pair of groups equally often.
fn shuffled(config: &DragonflyConfig, group: u32) -> Vec<u32> {
    let mut stream = Stream::new(config.cabling_seed, CABLING, group.into());
    let mut order: Vec<u32> = (0..config.routers_per_group() * config.global_ports).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, stream.below(last as u64 + 1) as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(cabling: Cabling, groups: u32) -> DragonflyConfig {
        DragonflyConfig {
            nodes_per_router: 4,
            group: vec![8],
            links_per_peer: vec![],
            global_ports: 4,
            groups,
            cabling,
            cabling_seed: 1,
            cables: None,
            last_group_chassis: None,
            cooling: None,
            link_classes: vec![],
        }
    }

    /// For each group, the target group of each of its ports.
    fn targets(config: &DragonflyConfig) -> Vec<Vec<Option<u32>>> {
        let ports = config.routers_per_group() * config.global_ports;
        let mut targets = vec![vec![None; ports as usize]; config.groups as usize];
        for [a, b] in links(config) {
            for (from, to) in [(a, b), (b, a)] {
                let port = from.router.blade * config.global_ports + from.port;
                let target = &mut targets[from.router.group as usize][port as usize];
                assert_eq!(target.replace(to.router.group), None, "a port has one link");
            }
        }
        targets
    }

    #[test]
    fn absolute_ports_lead_to_groups_in_their_order() {
        let targets = targets(&config(Cabling::Absolute, 33));
        for (i, row) in (0..).zip(&targets) {
            let expected: Vec<_> = (0..33).filter(|&j| j != i).map(Some).collect();
            assert_eq!(*row, expected);
        }
    }

    #[test]
    fn relative_ports_lead_to_the_groups_that_follow() {
        for (groups, rounds) in [(33, 1), (9, 4)] {
            let targets = targets(&config(Cabling::Relative, groups));
            for (i, row) in (0..).zip(&targets) {
                let round = (0..groups - 1).map(|k| Some((i + k + 1) % groups));
                let expected: Vec<_> = round.cycle().take((rounds * (groups - 1)) as usize).collect();
                assert_eq!(*row, expected);
            }
        }
    }

    #[test]
    fn random_cabling_is_its_seed_s() {
        let one = config(Cabling::Random, 33);
        let other = DragonflyConfig { cabling_seed: 2, ..one.clone() };
        assert_eq!(links(&one), links(&one));
        assert_ne!(links(&one), links(&other));
        assert_ne!(targets(&one), targets(&config(Cabling::Absolute, 33)));
    }

    /// 32 ports for nine other groups: three each, with five left over.
    #[test]
    fn ports_are_shared_out_equally() {
        for cabling in [Cabling::Absolute, Cabling::Relative, Cabling::Random] {
            for (group, row) in (0..).zip(targets(&config(cabling, 10))) {
                for other in (0..10).filter(|&other| other != group) {
                    assert_eq!(row.iter().filter(|&&t| t == Some(other)).count(), 3, "{cabling:?}");
                }
                assert_eq!(row.iter().filter(|t| t.is_none()).count(), 5);
            }
        }
    }
}
