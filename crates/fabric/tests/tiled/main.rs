//! Tiled routers: what must hold of any network of them under any traffic.

#[path = "../agreement_tiled/mod.rs"]
mod agreement_tiled;
mod bounds;
mod fat_tree;
mod faults;
mod tiles;
mod torus;
mod traffic;
mod turns;

use netloom_fabric::config::{Cabling, DragonflyConfig, SwitchedTopology, TiledConfig};
use netloom_fabric::router::tiled::Mode;
use traffic::{Outcome, To, Traffic, run};

/// A dragonfly small enough for many runs.
fn small() -> TiledConfig {
    let mut config = TiledConfig::cray_xc(2, 1);
    config.topology = SwitchedTopology::Dragonfly(DragonflyConfig {
        nodes_per_router: 2,
        group: vec![4],
        links_per_peer: vec![],
        global_ports: 2,
        groups: 9,
        cabling: Cabling::Absolute,
        cabling_seed: 0,
        cables: None,
        last_group_chassis: None,
        cooling: None,
        link_classes: vec![],
    });
    let class = config.link["green"].clone();
    config.link = [("local".into(), class.clone()), ("global".into(), class)].into();
    (config.router.rows, config.router.columns) = (3, 3);
    (config.router.nodes_per_share, config.router.tiles_per_share) = (1, 1);
    config
}

fn modes(config: &TiledConfig) -> Vec<Mode> {
    let all = [
        Mode::Adaptive0,
        Mode::Adaptive2,
        Mode::MinimalHash,
        Mode::NonminimalHash,
        Mode::Minimal,
        Mode::Valiant,
        Mode::ValiantGroup,
        Mode::UgalL,
        Mode::UgalG,
        Mode::Par,
    ];
    all.into_iter().filter(|&m| m != Mode::Par || config.router.vcs > 4).collect()
}

#[test]
fn everything_arrives_once_whatever_the_routing() {
    for par in [false, true] {
        let mut config = small();
        if par {
            (config.router.vcs, config.router.response_vcs) = (5, false);
        }
        for mode in modes(&config) {
            for to in [To::Anybody, To::Stretch { of: 8, further: 8 }] {
                let traffic = Traffic { to, mode, packets: 300, interval: 0.0, flits: 14, seed: 3 };
                let Outcome { arrived, ended, .. } = run(&config, traffic, 4, 1);
                for node in &arrived {
                    let mut seen: Vec<_> = node.iter().map(|a| (a.0, a.1)).collect();
                    seen.sort_unstable();
                    seen.dedup();
                    assert_eq!(seen.len(), node.len(), "a packet twice");
                    if mode.is_in_order() {
                        let mut last = std::collections::HashMap::new();
                        for &(source, number, _) in node {
                            let before = last.insert(source, number);
                            assert!(before.is_none_or(|b| b < number), "{mode:?} out of order");
                        }
                    }
                }
                println!("{mode:?} {ended}");
            }
        }
    }
}

#[test]
fn blocks_and_threads_do_not_matter() {
    let mut config = small();
    (config.router.vcs, config.router.response_vcs) = (5, false);
    for mode in modes(&config) {
        let traffic = Traffic {
            to: To::Stretch { of: 8, further: 8 },
            mode,
            packets: 100,
            interval: 30.0,
            flits: 9,
            seed: 5,
        };
        let expected = run(&config, traffic, 36, 1);
        for (block, threads) in [(4, 1), (4, 2), (1, 3), (7, 2)] {
            let found = run(&config, traffic, block, threads);
            assert!(found.arrived == expected.arrived, "{mode:?} in blocks of {block} on {threads} threads");
        }
    }
}

#[test]
fn an_xc_delivers() {
    let config = TiledConfig::cray_xc(3, 6);
    for mode in [Mode::Adaptive0, Mode::Valiant, Mode::Minimal, Mode::NonminimalHash] {
        let traffic = Traffic { to: To::Anybody, mode, packets: 30, interval: 0.0, flits: 14, seed: 1 };
        let o = run(&config, traffic, 96, 2);
        let most = o.hops.iter().max();
        println!("{mode:?}: ended {} hops up to {most:?} latency {:.1}", o.ended, o.mean_latency);
    }
}
