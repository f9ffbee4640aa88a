//! Partitions of one machine: traffic in one neither reaches nor affects another.

use netloom_engine::{Progress, Reached, Stream, Time};
use netloom_fabric::config::QueuedConfig;
use netloom_fabric::host::{Delivery, Family, Host, Pull, Signals};
use netloom_fabric::packet::{Header, Meta};
use netloom_fabric::router::queued::QueuedNetwork;
use netloom_fabric::router::{BuildOptions, RouterBlock};
use netloom_fabric::routing::hints;
use netloom_fabric::topology::partitions::Partition;
use netloom_fabric::topology::torus::Torus;
use std::collections::VecDeque;

/// Sends its list of packets; records arrivals: node, source, time.
struct Scripted {
    numbers: Vec<u32>,
    sends: Vec<VecDeque<Header>>,
    arrived: Vec<(u32, u32, u64)>,
}

impl<F: Family<Header = Header>> Host<F> for Scripted {
    fn pull(&mut self, _: Time, node: u32, fifo: usize, _: &mut Signals<F::Signal>) -> Pull {
        let next = (fifo == 0).then(|| self.sends[node as usize].pop_front()).flatten();
        let source = self.numbers[node as usize];
        next.map_or(Pull::Empty, |header| Pull::Packet(header, Meta { source, ..Meta::default() }))
    }

    fn deliver(&mut self, now: Time, node: u32, d: &Delivery, _: &mut Signals<F::Signal>) {
        self.arrived.push((self.numbers[node as usize], d.meta.source, now.ticks()));
    }

    fn wake(&mut self, _: Time, _: u32, _: u32, _: &mut Signals<F::Signal>) {}
}

/// A machine of 8x4x4x1x2 in three partitions: a torus in x and one that is a line there would need eight and
/// more; here 4, 4 of 8.
fn config() -> QueuedConfig {
    let mut config = QueuedConfig::bluegene_q(&[12, 4, 4, 1, 2]);
    let cut =
        |at: u32, length: u32| Partition { at: vec![at, 0, 0, 0, 0], lengths: vec![length, 4, 4, 1, 2] };
    // One midplane, which closes; two, which do not.
    config.topology.partitions = vec![cut(0, 4), cut(4, 8)];
    config.link.link_chip_ticks = 1157;
    config
}

fn run(
    config: &QueuedConfig,
    sends: impl Fn(u32) -> Vec<Header>,
    until: u64,
) -> (Vec<(u32, u32, u64)>, Reached) {
    let options = BuildOptions { injection_fifos: 1, block: vec![3, 4, 4, 1, 1], ..BuildOptions::default() };
    let mut network = QueuedNetwork::new(config, &options, |numbers| Scripted {
        numbers: numbers.into(),
        sends: numbers.iter().map(|&n| sends(n).into()).collect(),
        arrived: vec![],
    })
    .expect("buildable");
    let reached = network.run_until(Time::at(until), 1, &Progress::default());
    let mut arrived: Vec<_> =
        network.blocks().flat_map(|b| std::mem::take(&mut b.host_mut().arrived)).collect();
    arrived.sort_unstable();
    (arrived, reached)
}

/// Random packets of a node within its partition.
fn within(config: &QueuedConfig, torus: &Torus, node: u32, count: usize) -> Vec<Header> {
    let mut random = Stream::new(2, 2, node.into());
    let at = torus.coordinates(node);
    let home = torus.partition(at).expect("all are in one");
    let to = std::iter::repeat_with(|| torus.coordinates(random.below(torus.nodes().into()) as u32));
    let inside: Vec<_> = to.filter(|to| home.contains(to) && *to != at).take(count).collect();
    let tie = config.router.halfway_tie;
    inside.into_iter().map(|to| Header::new(to, hints::minimal(torus, at, to, tie), 17, 0)).collect()
}

/// All packets within partitions arrive, on routes that never leave them; one midplane is a torus, two are a
/// mesh.
#[test]
fn partitions_work_by_themselves() {
    let config = config();
    let torus = Torus::new(&config.topology);
    let (arrived, reached) = run(&config, |n| within(&config, &torus, n, 40), 1 << 40);
    assert_eq!((arrived.len(), reached), (384 * 40, Reached::Idle));
    // Around the ring of a midplane; not around the two.
    let node = |x| torus.node([x, 0, 0, 0, 0]);
    assert_eq!(
        [node(0), node(4), node(11)].map(|n| torus.neighbour(n, 1)),
        [Some(node(3)), None, Some(node(10))]
    );
    assert_eq!([node(3), node(11)].map(|n| torus.neighbour(n, 0)), [Some(node(0)), None]);
    // The other direction does not exist: packets between the ends of the line traverse all of it.
    let far = hints::minimal(&torus, [4, 0, 0, 0, 0], [11, 0, 0, 0, 0], config.router.halfway_tie);
    assert_eq!(far, 1);
}

/// Traffic in one partition does not change an event in another.
#[test]
fn partitions_do_not_disturb_one_another() {
    let config = config();
    let torus = Torus::new(&config.topology);
    let in_first = |n: u32| torus.coordinates(n)[0] < 4;
    let first =
        |arrived: Vec<(u32, u32, u64)>| -> Vec<_> { arrived.into_iter().filter(|a| in_first(a.0)).collect() };
    let alone =
        run(&config, |n| if in_first(n) { within(&config, &torus, n, 30) } else { vec![] }, 1 << 40).0;
    let both = run(&config, |n| within(&config, &torus, n, if in_first(n) { 30 } else { 200 }), 1 << 40).0;
    assert_eq!(first(both), alone);
}

/// Packets for another partition never arrive there, whatever their hint bits.
#[test]
fn packets_cannot_leave() {
    let config = config();
    let torus = Torus::new(&config.topology);
    for source in [[0, 0, 0, 0, 0], [3, 1, 2, 0, 1], [4, 0, 0, 0, 0], [11, 3, 3, 0, 1], [7, 2, 0, 0, 0]] {
        let outside = |to: &u32| {
            let home = torus.partition(source).expect("in one");
            !home.contains(&torus.coordinates(*to))
        };
        let others: Vec<u32> = (0..torus.nodes()).filter(outside).collect();
        let send = |n: u32| -> Vec<Header> {
            if n != torus.node(source) {
                return vec![];
            }
            let to = |to: &u32| torus.coordinates(*to);
            let by_itself = others.iter().step_by(17).map(to).map(|to| {
                Header::new(to, hints::minimal(&torus, source, to, config.router.halfway_tie), 2, 0)
            });
            let forced = others
                .iter()
                .step_by(23)
                .map(to)
                .flat_map(|to| [1, 2].map(|x| Header::new(to, x, 2, Header::STATIC)));
            by_itself.chain(forced).collect()
        };
        let (arrived, _) = run(&config, send, 4_000_000);
        assert!(arrived.is_empty(), "{source:?} reached {arrived:?}");
    }
}
