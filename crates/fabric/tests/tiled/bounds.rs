//! The field's dragonfly of 1,056 nodes (Kim, Dally, Scott, Abts 2008) beside the loads that its channels can
//! bear.
//!
//! Four nodes a router, eight routers a group, four global links a router, 33 groups, so that each two groups
//! share one link. A link carries a flit in two ticks, and the routers' buses are twice as fast. Input queues
//! cover the round trip of a global link for each VC.

use super::traffic::{To, Traffic, throughput};
use netloom_fabric::config::{
    Cabling, DragonflyConfig, LinkClass, SwitchedTopology, TiledConfig, VcDiscrimination,
};
use netloom_fabric::router::tiled::{Mode, channel_bound};

const FLIT_TICKS: u32 = 2;
/// When what is measured has become steady: without, and with queues that fill slowly, ticks.
const SOON: (u64, u64) = (2000, 4000);
const LATER: (u64, u64) = (10_000, 12_500);
/// Nodes of a group.
const GROUP: u32 = 32;
/// Global links of a router.
const H: u32 = 4;

fn kim() -> TiledConfig {
    let mut config = TiledConfig::cray_xc(2, 1);
    config.topology = SwitchedTopology::Dragonfly(DragonflyConfig {
        nodes_per_router: 4,
        group: vec![8],
        links_per_peer: vec![],
        global_ports: H,
        groups: 33,
        cabling: Cabling::Absolute,
        cabling_seed: 1,
        cables: None,
        last_group_chassis: None,
        cooling: None,
        link_classes: vec![],
    });
    let class = |latency_ticks| LinkClass { latency_ticks, flit_milliticks: 1000 * FLIT_TICKS };
    config.link = [("local".into(), class(20)), ("global".into(), class(200))].into();
    let r = &mut config.router;
    (r.rows, r.columns, r.nodes_per_share, r.tiles_per_share) = (4, 4, 1, 1);
    (r.vcs, r.response_vcs) = (5, false);
    (r.input_flits, r.input_reserved_flits, r.subswitch_flits, r.column_flits) = (1280, 256, 64, 64);
    (r.route_ticks, r.row_ticks, r.column_ticks, r.netlink_ticks) = (2, 2, 2, 2);
    r.netlink_flit_milliticks = 1000 * FLIT_TICKS;
    config
}

/// Accepted rate per node as a fraction of its link's bandwidth, if all nodes send as fast as possible to the
/// group so much further on.
fn accepted(mode: Mode, further: Option<u32>, span: (u64, u64)) -> f64 {
    let to = further.map_or(To::Anybody, |groups| To::Stretch { of: GROUP, further: groups * GROUP });
    let traffic = Traffic { to, mode, packets: 0, interval: 0.0, flits: 1, seed: 1 };
    let rate = throughput(&kim(), traffic, span).0 * f64::from(FLIT_TICKS);
    println!("{mode:?} to {further:?}: {rate:.3}");
    rate
}

/// Maximum injection rate as a fraction of a link's bandwidth, to all nodes or to the group `further` groups
/// on.
fn bound(mode: Mode, further: Option<u32>) -> f64 {
    let nodes = 33 * GROUP;
    let rates = |from: u32, add: &mut dyn FnMut(u32, f64)| match further {
        None => (0..nodes).filter(|&to| to != from).for_each(|to| add(to, 1.0 / f64::from(nodes - 1))),
        Some(groups) => {
            let group = (from / GROUP + groups) % 33;
            (0..GROUP).for_each(|to| add(group * GROUP + to, 1.0 / f64::from(GROUP)));
        }
    };
    channel_bound(&kim(), mode, rates).expect("a bound") * f64::from(FLIT_TICKS)
}

#[test]
fn bounds_are_those_worked_out_by_hand() {
    let near =
        |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 0.01, "{found} {expected}");
    near(bound(Mode::Minimal, Some(1)), 1.0 / f64::from(GROUP));
    near(bound(Mode::Minimal, None), 1.0);
    near(bound(Mode::ValiantGroup, Some(1)), 0.5 * 31.0 / 32.0);
    near(bound(Mode::ValiantGroup, Some(H)), 1.0 / (f64::from(H * GROUP) / 31.0 + 1.0));
    near(bound(Mode::Valiant, Some(1)), bound(Mode::Valiant, Some(H)));
}

#[test]
fn minimal_routes_share_one_link_between_two_groups() {
    assert!(accepted(Mode::Minimal, None, SOON) > 0.9, "uniform traffic loads all links alike");
    let bound = 1.0 / f64::from(GROUP);
    assert!((accepted(Mode::Minimal, Some(1), SOON) / bound - 1.0).abs() < 0.03);
}

/// Aries' adaptive modes, whatever their bias: if all of a group's packets want one link, most take
/// non-minimal routes; if no other node sends, hardly any of the packets with the strongest minimal bias do.
#[test]
fn adaptive_routes_avoid_a_link_that_all_want() {
    let config = crate::small();
    let found = |mode, interval| {
        // Eight nodes of a group to those of the next.
        let to = To::Stretch { of: 8, further: 8 };
        let traffic = Traffic { to, mode, packets: 0, interval, flits: 14, seed: 1 };
        throughput(&config, traffic, (4000, 12_000))
    };
    // A flit in 1.111 ticks for eight nodes.
    let link = 0.9 / 8.0;
    assert!((found(Mode::Minimal, 0.0).0 / link - 1.0).abs() < 0.03);
    let alone = found(Mode::Minimal, 20_000.0).1;
    for mode in [Mode::Adaptive0, Mode::Adaptive1, Mode::Adaptive2, Mode::Adaptive3] {
        let ((rate, _), (_, latency)) = (found(mode, 0.0), found(mode, 20_000.0));
        println!("{mode:?}: {:.2} times the link's rate; {latency:.0} and {alone:.0} ticks", rate / link);
        assert!(rate > 2.0 * link, "{mode:?}: {rate}");
    }
    assert!(found(Mode::Adaptive0, 20_000.0).1 < 1.1 * alone);
}

#[test]
#[ignore = "slow: see CONTRIBUTING.md"]
fn through_a_group_every_packet_takes_two_global_links() {
    let found = accepted(Mode::ValiantGroup, Some(1), LATER);
    assert!((0.45..0.51).contains(&found), "{found}");
    // All packets that enter the group at random from one of four groups continue over one local link: 4 x
    // 32/31 of a group's packets, and half of a node's load twice for what begins and ends in the group.
    let bound = 1.0 / (f64::from(H * GROUP) / 31.0 + 1.0);
    let found = accepted(Mode::ValiantGroup, Some(H), LATER);
    assert!((found / bound - 1.0).abs() < 0.1, "{found} for {bound}");
}

#[test]
#[ignore = "slow: see CONTRIBUTING.md"]
fn through_a_router_no_group_is_worse_than_another() {
    let long = std::env::var("NETLOOM_LONG").is_ok_and(|v| v == "1");
    for further in if long { vec![H, 1] } else { vec![H] } {
        let found = accepted(Mode::Valiant, Some(further), LATER);
        assert!((0.45..0.51).contains(&found), "{found} to the group {further} further on");
    }
}

/// Kim et al.'s Figure 16: with local queues alone a packet takes the minimal path until all queues before
/// the full link have filled, so that at a light load latency is twice what it need be. Credits held back by
/// as much as they are late report it sooner.
#[test]
fn local_queues_learn_late_that_a_link_is_full() {
    let latency = |mode, credit_round_trip| {
        let mut config = kim();
        config.routing.credit_round_trip = credit_round_trip;
        let to = To::Stretch { of: GROUP, further: GROUP };
        let interval = f64::from(FLIT_TICKS) / 0.1;
        let traffic = Traffic { to, mode, packets: 0, interval, flits: 1, seed: 1 };
        throughput(&config, traffic, (6000, 9000)).1
    };
    let global = latency(Mode::UgalG, false);
    let local = latency(Mode::UgalL, false);
    let cured = latency(Mode::UgalL, true);
    println!("UGAL-G {global:.0}, UGAL-L {local:.0}, with credit round trips {cured:.0} ticks");
    assert!(local > 1.7 * global, "the hump");
    assert!(cured < 1.35 * global, "its cure");
}

/// Kim et al.'s UGAL-L VC and UGAL-L VC H: by the queues of all VCs together a packet cannot distinguish a
/// minimal path from another that begins with the same link. By those of its own VC alone, uniform traffic
/// takes needless detours; by those only where the first link is the same, neither happens.
#[test]
#[ignore = "slow: see CONTRIBUTING.md"]
fn queues_by_vc_distinguish_paths_that_begin_with_the_same_link() {
    let throughput = |reported, further: Option<u32>, load: f64| {
        let mut config = kim();
        config.routing.vc_discrimination = reported;
        let to = further.map_or(To::Anybody, |groups| To::Stretch { of: GROUP, further: groups * GROUP });
        let interval = f64::from(FLIT_TICKS) / load;
        let traffic = Traffic { to, mode: Mode::UgalL, packets: 0, interval, flits: 1, seed: 1 };
        let (rate, latency) = throughput(&config, traffic, (4000, 5500));
        let rate = rate * f64::from(FLIT_TICKS);
        println!("{reported:?} to {further:?} at {load}: {rate:.3} in {latency:.0} ticks");
        rate
    };
    assert!(throughput(VcDiscrimination::Off, Some(1), 0.5) < 0.475, "what UGAL-L loses");
    assert!(throughput(VcDiscrimination::SameOutput, Some(1), 0.5) > 0.49, "its cure");
    assert!(throughput(VcDiscrimination::Always, None, 0.8) < 0.6, "what it costs uniform traffic");
    assert!(throughput(VcDiscrimination::SameOutput, None, 0.8) > 0.74, "and where it does not");
}
