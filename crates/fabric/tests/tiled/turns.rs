//! Long packets with an endless flow of short ones, wherever packets wait for space in turn: each sender gets
//! its turns, even if each piece of freed space would suffice for the others.

use super::tiles::two_routers;
use netloom_engine::{Progress, Time};
use netloom_fabric::config::{SwitchedTopology, TiledConfig};
use netloom_fabric::host::{Delivery, Host, Pull, Signals};
use netloom_fabric::packet::Meta;
use netloom_fabric::router::tiled::{Class, Mode, TiledFamily, TiledHeader, TiledNetwork};
use netloom_fabric::router::{BuildOptions, RouterBlock};

const LONG: u32 = 14;
const SHORT: u32 = 1;

/// A node that sends packets of this many flits to another without end.
#[derive(Clone, Copy)]
struct Flow {
    from: u32,
    to: u32,
    flits: u32,
    class: Class,
}

/// A flow of requests.
fn flow(from: u32, to: u32, flits: u32) -> Flow {
    Flow { from, to, flits, class: Class::Request }
}

/// Arrivals of a node's packets: number, the last one's time, the maximum interval.
#[derive(Clone, Copy, Default, Debug)]
struct Came {
    packets: u64,
    last: u64,
    longest: u64,
}

struct Senders {
    first: u32,
    flows: Vec<Flow>,
    came: Vec<Came>,
    /// A node that accepts one request per interval of ticks.
    slow: Option<(u32, u64)>,
}

impl Host<TiledFamily> for Senders {
    fn pull(&mut self, now: Time, node: u32, fifo: usize, _: &mut Signals) -> Pull<TiledHeader> {
        let own = self.first + node;
        let Some(flow) = self.flows.iter().find(|flow| flow.from == own).filter(|_| fifo == 0) else {
            return Pull::Empty;
        };
        let header = TiledHeader::new(flow.to, flow.flits, flow.class, Mode::Minimal, 0);
        Pull::Packet(header, Meta { made: now, source: own, ..Meta::default() })
    }

    fn deliver(&mut self, now: Time, node: u32, delivery: &Delivery<TiledHeader>, signals: &mut Signals) {
        let came = &mut self.came[delivery.meta.source as usize];
        let longest = came.longest.max(now.ticks() - came.last);
        *came = Came { packets: came.packets + 1, last: now.ticks(), longest };
        if let Some((_, ticks)) = self.slow.filter(|slow| slow.0 == self.first + node) {
            signals.reception(node, 0, false, false);
            signals.wake(node, now + ticks, 0);
        }
    }

    fn wake(&mut self, _: Time, node: u32, _: u32, signals: &mut Signals) {
        signals.reception(node, 0, false, true);
    }
}

/// Arrivals up to a time, from each node.
fn run(config: &TiledConfig, flows: &[Flow], slow: Option<(u32, u64)>, until: u64) -> Vec<Came> {
    let options = BuildOptions { injection_fifos: 1, block: vec![2], ..BuildOptions::default() };
    let nodes = config.topology.wiring().nodes() as usize;
    let mut network = TiledNetwork::new(config, &options, |numbers| Senders {
        first: numbers[0],
        flows: flows.to_vec(),
        came: vec![Came::default(); nodes],
        slow,
    })
    .expect("a network");
    network.run_until(Time::at(until), 1, &Progress::default());
    let block = network.blocks().next().expect("one block");
    let mut came = block.host().came.clone();
    came.iter_mut().for_each(|came| came.longest = came.longest.max(until - came.last));
    came
}

/// Long packets of one node and short ones of others alternate; and none waits for longer than `wait`.
fn take_turns(config: &TiledConfig, flows: &[Flow], wait: u64) {
    let came = run(config, flows, None, 40_000);
    let long = came[flows[0].from as usize];
    println!("{:?}", flows.iter().map(|flow| came[flow.from as usize]).collect::<Vec<_>>());
    assert!(long.longest < wait, "a long packet waited for {} ticks", long.longest);
    for flow in &flows[1..] {
        let other = came[flow.from as usize];
        assert!(long.packets.abs_diff(other.packets) < 50 + other.packets / 50, "{long:?} beside {other:?}");
    }
}

/// Node 8 of the other router is slower than the link to it, so that the queue at the link's other end is
/// full.
fn full_link() -> TiledConfig {
    let mut config = two_routers();
    config.router.netlink_flit_milliticks = 1000;
    config
}

#[test]
fn at_a_full_link() {
    // Nodes 0 and 3 are in different rows.
    take_turns(&full_link(), &[flow(0, 8, LONG), flow(3, 8, SHORT)], 1500);
    take_turns(&full_link(), &[flow(3, 8, LONG), flow(0, 8, SHORT), flow(6, 8, SHORT)], 1500);
}

#[test]
fn before_a_full_column_buffer() {
    // Nodes 2 and 3 are in one row: their packets meet in its sub-switch, before a column buffer of one long
    // packet.
    let mut config = full_link();
    config.router.column_flits = LONG;
    take_turns(&config, &[flow(2, 8, LONG), flow(3, 8, SHORT)], 1500);
    take_turns(&config, &[flow(3, 8, LONG), flow(2, 8, SHORT), flow(4, 8, SHORT)], 1500);
}

#[test]
fn at_a_full_processor_tile() {
    // Two nodes share a tile.
    let mut config = full_link();
    (config.router.nodes_per_share, config.router.tiles_per_share) = (2, 1);
    take_turns(&config, &[flow(0, 8, LONG), flow(1, 8, SHORT)], 1500);
    // With two such tiles.
    config.router.tiles_per_share = 2;
    config.router.rows = 4;
    take_turns(&config, &[flow(0, 8, LONG), flow(1, 8, SHORT)], 1500);
}

/// Packets of other VCs do not wait for a long one.
#[test]
fn other_vcs_pass() {
    let mut config = full_link();
    config.router.response_vcs = true;
    // Two nodes behind a tile each: one accepts hardly any requests, so that long and short ones are stalled
    // at the link most of the time.
    let flows = [flow(0, 8, LONG), flow(3, 8, SHORT), Flow { class: Class::Response, ..flow(6, 9, LONG) }];
    let came = run(&config, &flows, Some((8, 2000)), 400_000);
    println!("{:?}", [came[0], came[3], came[6]]);
    let alone = run(&config, &flows[2..], None, 400_000)[6].packets;
    assert!(came[6].packets > alone * 9 / 10, "{} of {alone}", came[6].packets);
    assert!(came[0].packets.abs_diff(came[3].packets) < 20, "{:?} {:?}", came[0], came[3]);
}

/// A node that accepts a packet at intervals takes those of all rows in turn, also if packets for its
/// neighbour pass in between.
#[test]
fn at_a_node_that_takes_packets_now_and_then() {
    // Nodes 12 and 13 share a tile of the other router. Packets arrive at it from four rows, for 12 from the
    // second and the fourth.
    let mut config = full_link();
    let SwitchedTopology::Dragonfly(topology) = &mut config.topology else { panic!("two routers") };
    topology.nodes_per_router = 12;
    (config.router.nodes_per_share, config.router.tiles_per_share) = (2, 1);
    (config.router.rows, config.router.columns) = (4, 2);
    config.router.netlink_ticks = 1;
    let flows = [flow(0, 13, LONG), flow(14, 12, LONG), flow(18, 13, LONG), flow(22, 12, LONG)];
    for ticks in (20..400).step_by(7) {
        let came = run(&config, &flows, Some((12, ticks)), 50_000);
        println!("{ticks} {:?}", flows.map(|flow| came[flow.from as usize].packets));
        let [one, other] = [came[14].packets, came[22].packets];
        assert!(
            one > 0 && one.abs_diff(other) < 10,
            "{one} and {other} of a node that takes one in {ticks} ticks"
        );
    }
}
