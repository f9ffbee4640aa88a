//! The payload that software attaches to its packets arrives byte for byte, on either family of tori.

use netloom_engine::{Progress, Reached, Stream, Time};
use netloom_fabric::config::{Outline, QueuedConfig, TorusConfig};
use netloom_fabric::host::{Delivery, Pull};
use netloom_fabric::packet::{Header, Meta};
use netloom_fabric::router::queued::QueuedNetwork;
use netloom_fabric::router::torus::TorusNetwork;
use netloom_fabric::router::{BuildOptions, Network, NodeBlock};
use netloom_fabric::routing::hints;
use netloom_fabric::topology::torus::Torus;
use netloom_nic::config::FifoConfig;
use netloom_nic::fifo::{Calls, FifoNic, Software};

/// Packets of a node.
const PACKETS: u64 = 40;

/// The payload of the `n`-th packet of a node, for `chunks`; every fourth has none.
fn contents(source: u32, n: u64, chunks: u32) -> Option<Vec<u8>> {
    let mut bytes = Stream::new(5, source.into(), n);
    let size = chunks * 32 - 16 - (n % 3) as u32;
    (n % 4 != 3).then(|| (0..size).map(|_| bytes.draw() as u8).collect())
}

/// An arrived packet: time, receiver, sender, number, and payload.
type Arrival = (Time, u32, u32, u64, Option<Vec<u8>>);

/// Software whose nodes send to random others.
struct Sender {
    torus: Torus,
    network: Outline,
    numbers: Vec<u32>,
    sent: Vec<u64>,
    arrived: Vec<Arrival>,
}

impl Software for Sender {
    fn next(&mut self, now: Time, node: u32, lane: usize, calls: &mut Calls) -> Pull {
        let (own, n) = (self.numbers[node as usize], self.sent[node as usize]);
        if lane != 0 || n == PACKETS || self.network.topology.dead_nodes.contains(&self.at(own)) {
            return Pull::Empty;
        }
        self.sent[node as usize] += 1;
        let mut random = Stream::new(4, own.into(), n);
        let to = loop {
            let to = random.below(self.torus.nodes().into()) as u32;
            if to != own && !self.network.topology.dead_nodes.contains(&self.at(to)) {
                break to;
            }
        };
        let (from, to) = (self.torus.coordinates(own), self.torus.coordinates(to));
        let chunks = 1 + random.below(8) as u32;
        let hints = hints::minimal(&self.torus, from, to, self.network.halfway_tie);
        contents(own, n, chunks).into_iter().for_each(|bytes| calls.attach(bytes.into()));
        let meta = Meta { made: now, source: own, message: [n, 0], ..Meta::default() };
        Pull::Packet(Header::new(to, hints, chunks, 0), meta)
    }

    fn arrived(&mut self, now: Time, node: u32, delivery: &Delivery, _: &mut Calls) {
        let (source, n) = (delivery.meta.source, delivery.meta.message[0]);
        let data = delivery.data.map(|data| data.to_vec());
        assert_eq!(data, contents(source, n, delivery.header.chunks()), "packet {n} of node {source}");
        self.arrived.push((now, self.numbers[node as usize], source, n, data));
    }

    fn wake(&mut self, _: Time, _: u32, _: u32, _: &mut Calls) {}
}

impl Sender {
    fn at(&self, number: u32) -> Vec<u32> {
        self.torus.coordinates(number).iter().take(3).map(|&x| x.into()).collect()
    }
}

type Nic = FifoNic<Sender>;

fn nic(config: &FifoConfig, network: &Outline, numbers: &[u32]) -> Nic {
    let software = Sender {
        torus: Torus::new(&network.topology),
        network: network.clone(),
        numbers: numbers.to_vec(),
        sent: vec![0; numbers.len()],
        arrived: vec![],
    };
    FifoNic::new(config, network, numbers, software)
}

fn arrivals<B: NodeBlock<Host = Nic>>(mut network: Network<B>, threads: usize, nodes: u64) -> Vec<Arrival> {
    assert_eq!(network.run_until(Time::at(5_000_000), threads, &Progress::default()), Reached::Idle);
    assert_eq!(network.stall(), None);
    let mut all: Vec<_> =
        network.blocks().flat_map(|b| std::mem::take(&mut b.host_mut().software_mut().arrived)).collect();
    all.sort_unstable();
    assert_eq!(all.len() as u64, nodes * PACKETS);
    all
}

fn options(config: &FifoConfig, block: &[u32]) -> BuildOptions {
    BuildOptions {
        block: block.to_vec(),
        smallest_chunks: 1,
        injection_fifos: Nic::injection_fifos(config),
        ..BuildOptions::default()
    }
}

/// Infinite FIFOs, finite ones that software drains at a rate, and ones with a window.
fn interfaces() -> [FifoConfig; 3] {
    let finite = FifoConfig {
        injection_fifo_B: Some(1024),
        reception_fifo_B: Some(1024),
        drain_bytes_per_tick: Some(0.5),
        ..FifoConfig::default()
    };
    [FifoConfig::default(), finite, FifoConfig { window_packets: Some(3), ..FifoConfig::default() }]
}

#[test]
fn data_arrives_byte_for_byte_on_bluegene_l() {
    let change: [fn(&mut TorusConfig); 3] = [
        |_| (),
        // Relays, and links with bit errors.
        |config| config.topology.dead_nodes = vec![vec![1, 1, 1], vec![1, 2, 1]],
        |config| config.link.bit_error_rate = 1e-5,
    ];
    for change in change {
        let mut config = TorusConfig::bluegene_l(&[4, 4, 4]);
        change(&mut config);
        let nodes = 64 - config.topology.dead_nodes.len() as u64;
        for fifos in interfaces() {
            let run = |threads, block: &[u32]| {
                let host = |numbers: &[u32]| nic(&fifos, &config.outline(), numbers);
                let network = TorusNetwork::<_, 6>::new(&config, &options(&fifos, block), host);
                arrivals(network.expect("buildable"), threads, nodes)
            };
            let expected = run(1, &[4, 4, 4]);
            assert!(run(1, &[2, 2, 4]) == expected);
            assert!(run(2, &[2, 2, 4]) == expected);
        }
    }
}

#[test]
fn data_arrives_byte_for_byte_on_queued_routers() {
    let config = QueuedConfig::bluegene_q(&[4, 4, 2, 1, 1]);
    for fifos in interfaces() {
        let run = |threads, block: &[u32]| {
            let host = |numbers: &[u32]| nic(&fifos, &config.outline(), numbers);
            let network = QueuedNetwork::new(&config, &options(&fifos, block), host);
            arrivals(network.expect("buildable"), threads, 32)
        };
        let expected = run(1, &[4, 4, 2, 1, 1]);
        assert!(run(2, &[2, 2, 2, 1, 1]) == expected);
    }
}

/// Software that attaches a payload without a packet.
struct Careless;

impl Software for Careless {
    fn next(&mut self, _: Time, _: u32, _: usize, calls: &mut Calls) -> Pull {
        calls.attach([1, 2, 3].into());
        Pull::Empty
    }

    fn arrived(&mut self, _: Time, _: u32, _: &Delivery, _: &mut Calls) {}

    fn wake(&mut self, _: Time, _: u32, _: u32, _: &mut Calls) {}
}

#[test]
#[should_panic(expected = "without a packet to carry it")]
fn data_without_a_packet_are_refused() {
    let config = TorusConfig::bluegene_l(&[2, 2, 2]);
    let fifos = FifoConfig::default();
    let host = |numbers: &[u32]| FifoNic::new(&fifos, &config.outline(), numbers, Careless);
    let mut network = TorusNetwork::<_, 6>::new(&config, &options(&fifos, &[]), host).expect("buildable");
    network.run_until(Time::at(1000), 1, &Progress::default());
}
