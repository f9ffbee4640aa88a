//! Tori of routers: dimension order, with one VC up to a ring's dateline and another after it.

use super::compare;
use super::models::{Comparison, fabric};
use super::reference_tiled::Spec;
use netloom_fabric::config::{LinkClass, RouterTorusConfig, SwitchedTopology, TiledConfig};

/// A torus with rings of odd lengths, so that there is one minimal route.
fn torus(dims: &[u32], nodes_per_router: u32, flit_milliticks: u32) -> TiledConfig {
    let mut config = TiledConfig::cray_xc(2, 1);
    let torus = RouterTorusConfig {
        dims: dims.to_vec(),
        nodes_per_router,
        links_per_neighbour: vec![],
        link_classes: vec![],
    };
    let class = || LinkClass { latency_ticks: 20, flit_milliticks };
    config.link = torus.classes().into_iter().map(|name| (name, class())).collect();
    config.topology = SwitchedTopology::Torus(torus);
    let r = &mut config.router;
    (r.rows, r.columns, r.nodes_per_share, r.tiles_per_share) = (4, 3, 1, 1);
    config
}

#[test]
fn rings_agree() {
    for interval in [100.0, 0.0] {
        compare(&torus(&[5], 3, 1000), 120, interval);
    }
}

#[test]
fn tori_agree() {
    // Two dimensions of different lengths, then three; below saturation, and all at once.
    for (dims, nodes) in [(&[5, 3][..], 2), (&[3, 3, 3], 1)] {
        for (flit, interval) in [(1000, 60.0), (1111, 30.0), (1111, 0.0)] {
            compare(&torus(dims, nodes, flit), 80, interval);
        }
    }
}

/// Space for one packet per VC: the VC of each packet matters.
#[test]
fn tori_of_small_queues_agree() {
    for dims in [&[7][..], &[5, 3]] {
        let mut config = torus(dims, 2, 1000);
        (config.router.input_flits, config.router.input_reserved_flits) = (8 * 20, 20);
        let mut comparison = Comparison::default();
        for seed in 1..=6 {
            comparison.add(&config, 80, 0.0, seed);
        }
        // Links with a flit per tick: nothing is random.
        comparison.each_within(0.001);
    }
}

/// Half-way around a ring of even length both directions are minimal: a packet takes one of them, and both
/// are used.
#[test]
fn both_equally_long_directions_are_taken() {
    let script: Vec<_> =
        (0..200).map(|i| Spec { at: 40 * i, from: 0, to: 2, flits: 5, response: false }).collect();
    let carried = fabric(&torus(&[4], 1, 1000), &script, 1).carried;
    let from_first: Vec<u64> = carried.iter().filter(|c| c.0 == 0).map(|c| c.2).collect();
    assert_eq!(from_first.iter().sum::<u64>(), 1000);
    assert!(from_first.iter().all(|&flits| flits.abs_diff(500) < 150), "{from_first:?}");
}
