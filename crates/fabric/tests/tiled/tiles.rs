//! The stages of a router, each made the bottleneck in turn.

use super::traffic::{To, Traffic, throughput};
use netloom_fabric::config::{Cabling, DragonflyConfig, LinkClass, SwitchedTopology, TiledConfig};
use netloom_fabric::router::tiled::Mode;

const FLITS: u32 = 8;

/// Two routers with a link between them, eight nodes each: tile 0 is the link's, tile 1 that of the first
/// node and so on, in three rows and columns. Nodes accept and inject four flits per tick, buses carry one.
pub fn two_routers() -> TiledConfig {
    let mut config = TiledConfig::cray_xc(2, 1);
    config.topology = SwitchedTopology::Dragonfly(DragonflyConfig {
        nodes_per_router: 8,
        group: vec![2],
        links_per_peer: vec![],
        global_ports: 0,
        groups: 1,
        cabling: Cabling::Absolute,
        cabling_seed: 0,
        cables: None,
        last_group_chassis: None,
        cooling: None,
        link_classes: vec![],
    });
    let class = LinkClass { latency_ticks: 50, flit_milliticks: 250 };
    config.link = [("local".into(), class.clone()), ("global".into(), class)].into();
    let r = &mut config.router;
    (r.rows, r.columns, r.nodes_per_share, r.tiles_per_share) = (3, 3, 1, 1);
    (r.vcs, r.response_vcs) = (4, false);
    (r.subswitch_flits, r.column_flits) = (64, 64);
    r.netlink_flit_milliticks = 250;
    config
}

/// The node at a tile of the first router.
fn at(tile: u32) -> u64 {
    1 << (tile - 1)
}

/// Flits that all nodes together receive in a tick.
fn rate(config: &TiledConfig, from: u64, to: u64) -> f64 {
    let traffic = Traffic {
        to: To::These { from, to },
        mode: Mode::Minimal,
        packets: 0,
        interval: 0.0,
        flits: FLITS,
        seed: 1,
    };
    let nodes = f64::from(config.topology.wiring().nodes());
    let found = throughput(config, traffic, (2000, 42_000)).0 * nodes;
    println!("{found:.3} flits per tick");
    found
}

fn near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 0.03, "{found:.3} flits per tick, expected {expected}");
}

#[test]
fn a_row_bus_carries_what_one_input_sends() {
    let mut config = two_routers();
    // One node to three columns.
    near(rate(&config, at(1), at(3) | at(4) | at(5)), 1.0);
    config.router.bus_flits_per_tick = 2;
    near(rate(&config, at(1), at(3) | at(4) | at(5)), 2.0);
}

#[test]
fn a_column_bus_carries_what_a_row_sends_to_an_output() {
    let config = two_routers();
    // Three nodes of one row to one: they share the bus from their row's sub-switch.
    near(rate(&config, at(3) | at(4) | at(5), at(8)), 1.0);
    // Three of different rows have a bus each.
    near(rate(&config, at(1) | at(4) | at(7), at(8)), 3.0);
}

#[test]
fn a_column_buffer_empties_no_faster_than_its_output() {
    let mut config = two_routers();
    config.router.netlink_flit_milliticks = 500;
    near(rate(&config, at(1) | at(4) | at(7), at(8)), 2.0);
    // The same over the link to the other router: node 8 is its first.
    config.router.netlink_flit_milliticks = 250;
    config.link.get_mut("local").unwrap().flit_milliticks = 1250;
    near(rate(&config, at(1) | at(4) | at(7), 0xff << 8), 0.8);
}

#[test]
fn room_in_a_stage_bounds_what_passes_it() {
    // Of a queue of 14 flits the next packet needs two that the first has left: it does so after the path
    // to it, in two ticks, and the stage before it learns of the room a tick later.
    let mut config = two_routers();
    (config.router.subswitch_flits, config.router.row_ticks) = (14, 30);
    near(rate(&config, at(1), at(8)), f64::from(FLITS) / 32.0);
    let mut config = two_routers();
    (config.router.column_flits, config.router.column_ticks) = (14, 40);
    near(rate(&config, at(1), at(8)), f64::from(FLITS) / 42.0);
    // An input queue with `room` flits for its VC: a round trip of the link, and the path to the row bus.
    let mut config = two_routers();
    let (room, latency, route) = (32, 200, config.router.route_ticks);
    (config.router.input_flits, config.router.input_reserved_flits) = (4 * room, room);
    config.link.get_mut("local").unwrap().latency_ticks = latency;
    near(rate(&config, at(1), 1 << 8), f64::from(room) / f64::from(2 * latency + route));
}

#[test]
fn one_vc_alone_has_a_long_link_for_itself() {
    // Little is reserved for each VC; what they share covers the round trip.
    let mut config = two_routers();
    config.link.get_mut("local").unwrap().latency_ticks = 200;
    config.link.get_mut("local").unwrap().flit_milliticks = 1000;
    near(rate(&config, at(1) | at(4), 1 << 8 | 1 << 11), 1.0);
}

#[test]
fn a_node_may_have_more_than_its_share_of_processor_tiles() {
    // As in a Cray XC, nodes 0 and 1 share four tiles of one flit per tick each, and other blades send.
    let mut config = TiledConfig::cray_xc(1, 1);
    config.router.bus_flits_per_tick = 2;
    let others = 0x00ff_ffff_ffff_ff00;
    let gather = rate(&config, others, 1);
    assert!(gather > 3.5, "alone it has all four: {gather:.2} flits per tick");
    near(rate(&config, others, 0b11), gather);
}
