//! Tori of tiled routers.

use super::traffic::{To, Traffic, run, throughput};
use netloom_fabric::config::{LinkClass, RouterTorusConfig, SwitchedTopology, TiledConfig};
use netloom_fabric::router::tiled::{Mode, channel_bound};

/// A torus with a flit a tick on every link.
fn torus(dims: &[u32], nodes_per_router: u32) -> TiledConfig {
    let mut config = TiledConfig::cray_xc(2, 1);
    let torus = RouterTorusConfig {
        dims: dims.to_vec(),
        nodes_per_router,
        links_per_neighbour: vec![],
        link_classes: vec![],
    };
    let class = || LinkClass { latency_ticks: 20, flit_milliticks: 1000 };
    config.link = torus.classes().into_iter().map(|name| (name, class())).collect();
    config.topology = SwitchedTopology::Torus(torus);
    let r = &mut config.router;
    (r.rows, r.columns, r.nodes_per_share, r.tiles_per_share) = (4, 4, 1, 1);
    (r.vcs, r.response_vcs, r.bus_flits_per_tick) = (4, false, 2);
    (r.subswitch_flits, r.column_flits) = (64, 64);
    config
}

fn traffic(to: To, mode: Mode) -> Traffic {
    Traffic { to, mode, packets: 100, interval: 0.0, flits: 14, seed: 2 }
}

#[test]
fn everything_arrives_in_any_blocks() {
    let config = torus(&[4, 3, 2], 2);
    for mode in [
        Mode::Adaptive0,
        Mode::Minimal,
        Mode::Valiant,
        Mode::NonminimalHash,
        Mode::UgalL,
        Mode::UgalG,
        Mode::Par,
    ] {
        let expected = run(&config, traffic(To::Anybody, mode), 48, 1);
        for (block, threads) in [(5, 2), (16, 3)] {
            assert!(
                run(&config, traffic(To::Anybody, mode), block, threads).arrived == expected.arrived,
                "{mode:?}"
            );
        }
    }
    let minimal = run(&config, traffic(To::Anybody, Mode::Minimal), 48, 1);
    assert_eq!(minimal.hops.iter().max(), Some(&4), "half-way around each ring");
}

#[test]
fn a_tornado_fills_one_direction() {
    // Every node sends three routers further on: each link to the plus side carries the packets of three,
    // those to the minus side none. Through a random router a packet takes two hops to each side on
    // average: one flit in two ticks.
    let further = To::Stretch { of: 1, further: 3 };
    let rate = |mode, offered: f64| {
        let load = Traffic { packets: 0, interval: 5.0 / offered, flits: 5, ..traffic(further, mode) };
        throughput(&torus(&[8], 1), load, (4000, 12_000)).0
    };
    let bound =
        |mode| channel_bound(&torus(&[8], 1), mode, |from, add| add((from + 3) % 8, 1.0)).expect("a bound");
    assert!(
        (bound(Mode::Minimal) * 3.0 - 1.0).abs() < 1e-9 && (bound(Mode::Valiant) * 2.0 - 1.0).abs() < 1e-9
    );
    assert_eq!(channel_bound(&torus(&[8], 1), Mode::UgalL, |_, _| {}), None, "it follows loads");
    let (below, above) = (rate(Mode::Minimal, 0.28), rate(Mode::Minimal, 0.4));
    let valiant = rate(Mode::Valiant, 0.4);
    println!("{below:.3} and {above:.3} minimally, {valiant:.3} non-minimally");
    assert!((below / 0.28 - 1.0).abs() < 0.05, "{below}");
    assert!(above < 1.0 / 3.0, "{above}");
    assert!((valiant / 0.4 - 1.0).abs() < 0.05, "{valiant}");
}
