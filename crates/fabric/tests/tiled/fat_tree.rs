//! Fat trees of tiled routers.

use super::traffic::{To, Traffic, run, throughput};
use netloom_fabric::config::{FatTreeConfig, LinkClass, SwitchedTopology, TiledConfig};
use netloom_fabric::router::tiled::Mode;

/// A tree with a flit a tick on every link.
fn tree(down: &[u32], up: &[u32]) -> TiledConfig {
    let mut config = TiledConfig::cray_xc(2, 1);
    config.topology = SwitchedTopology::FatTree(FatTreeConfig {
        down: down.to_vec(),
        up: up.to_vec(),
        link_classes: vec![],
    });
    let class = || LinkClass { latency_ticks: 20, flit_milliticks: 1000 };
    config.link = (1..down.len()).map(|level| (format!("up-{level}"), class())).collect();
    let r = &mut config.router;
    (r.rows, r.columns, r.nodes_per_share, r.tiles_per_share) = (4, 4, 1, 1);
    (r.vcs, r.response_vcs, r.bus_flits_per_tick) = (2, false, 2);
    (r.subswitch_flits, r.column_flits) = (64, 64);
    config
}

fn traffic(to: To, mode: Mode) -> Traffic {
    Traffic { to, mode, packets: 200, interval: 0.0, flits: 14, seed: 2 }
}

#[test]
fn everything_arrives_in_any_blocks() {
    let config = tree(&[4, 4, 4], &[4, 4]);
    for mode in [Mode::Adaptive0, Mode::Minimal, Mode::MinimalHash] {
        let expected = run(&config, traffic(To::Anybody, mode), 48, 1);
        assert_eq!(expected.hops.iter().max(), Some(&4), "up two levels and down again");
        for (block, threads) in [(5, 2), (16, 3)] {
            assert!(
                run(&config, traffic(To::Anybody, mode), block, threads).arrived == expected.arrived,
                "{mode:?}"
            );
        }
    }
}

#[test]
fn what_passes_the_top_is_what_the_taper_leaves() {
    // Every node sends to another quarter of the machine: with half of the links up, half of the rate.
    let far = To::Stretch { of: 16, further: 16 };
    let full = throughput(&tree(&[4, 4, 4], &[4, 4]), traffic(far, Mode::Adaptive0), (4000, 8000)).0;
    let half = throughput(&tree(&[4, 4, 4], &[2, 4]), traffic(far, Mode::Adaptive0), (4000, 8000)).0;
    println!("{full:.3} and {half:.3} of a flit per tick");
    assert!(full > 0.9 && (0.46..0.51).contains(&half), "{full} {half}");
}

#[test]
fn links_and_nodes_of_a_leaf_share_its_ports() {
    // Leaves have two links and four nodes, switches above them six links: six tiles are enough, five are
    // not.
    let mut config = tree(&[4, 6], &[2]);
    (config.router.rows, config.router.columns) = (2, 3);
    assert_eq!(config.check(), Ok(()));
    let all = run(&config, traffic(To::Anybody, Mode::Adaptive0), 8, 1);
    assert_eq!(all.hops.iter().max(), Some(&2), "up and down again");
    (config.router.rows, config.router.columns) = (1, 5);
    let message = config.check().expect_err("too few tiles").message;
    assert!(
        message.contains("6 links and 0 for nodes") || message.contains("2 links and 4 for nodes"),
        "{message}"
    );
}

#[test]
fn adaptive_paths_up_have_more_throughput_than_fixed_ones() {
    let far = To::Stretch { of: 16, further: 16 };
    let rate = |mode| throughput(&tree(&[4, 4, 4], &[4, 4]), traffic(far, mode), (4000, 8000)).0;
    let (adaptive, hashed) = (rate(Mode::Adaptive0), rate(Mode::MinimalHash));
    println!("{adaptive:.3} and {hashed:.3} of a flit per tick");
    assert!(adaptive > hashed, "{adaptive} {hashed}");
}
