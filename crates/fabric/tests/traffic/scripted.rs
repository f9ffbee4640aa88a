//! Nodes of Blue Gene/Q's routers that each send the packets of a script, through the injection FIFOs that it
//! names; and runs of them.

use netloom_engine::{Progress, Reached, Time};
use netloom_fabric::collective::ClassRoute;
use netloom_fabric::config::QueuedConfig;
use netloom_fabric::host::{Delivery, Host, Pull, Signals};
use netloom_fabric::packet::{Data, Header, Meta};
use netloom_fabric::router::queued::{QueuedFamily, QueuedNetwork, QueuedSignal};
use netloom_fabric::router::{BuildOptions, RouterBlock};
use std::collections::{BTreeMap, VecDeque};

/// The packets that a node sends through each injection FIFO.
pub type Sends = BTreeMap<usize, VecDeque<(Header, Option<Data>)>>;

/// The same, and its class routes.
#[derive(Clone, Default)]
pub struct Script {
    pub routes: Vec<(usize, ClassRoute)>,
    pub sends: Sends,
}

/// Arrivals: node, reception FIFO, header, data, time.
pub type Arrival = (u32, usize, Header, Option<Data>, u64);

pub struct Scripted {
    numbers: Vec<u32>,
    scripts: Vec<Option<Script>>,
    sends: Vec<Sends>,
    pub arrived: Vec<Arrival>,
}

impl Host<QueuedFamily> for Scripted {
    fn pull(&mut self, _: Time, node: u32, fifo: usize, signals: &mut Signals<QueuedSignal>) -> Pull {
        if let Some(script) = self.scripts[node as usize].take() {
            for (class, route) in script.routes {
                signals.class_route(node, class, Some(route));
            }
            self.sends[node as usize] = script.sends;
        }
        let next = self.sends[node as usize].get_mut(&fifo).and_then(VecDeque::pop_front);
        let Some((header, data)) = next else { return Pull::Empty };
        data.into_iter().for_each(|data| signals.attach(data));
        Pull::Packet(header, Meta { source: self.numbers[node as usize], ..Meta::default() })
    }

    fn deliver(&mut self, now: Time, node: u32, d: &Delivery, _: &mut Signals<QueuedSignal>) {
        self.arrived.push((self.numbers[node as usize], d.port, d.header, d.data.cloned(), now.ticks()));
    }

    fn wake(&mut self, _: Time, _: u32, _: u32, _: &mut Signals<QueuedSignal>) {}
}

impl Scripted {
    /// For some of a machine's nodes, by their numbers.
    pub fn new(scripts: &[Script], numbers: &[u32]) -> Self {
        Scripted {
            numbers: numbers.into(),
            scripts: numbers.iter().map(|&n| Some(scripts[n as usize].clone())).collect(),
            sends: vec![BTreeMap::new(); numbers.len()],
            arrived: vec![],
        }
    }
}

/// A machine whose nodes follow scripts.
pub fn build(config: &QueuedConfig, scripts: &[Script], block: &[u32]) -> QueuedNetwork<Scripted> {
    let options = BuildOptions { block: block.into(), injection_fifos: 16, ..BuildOptions::default() };
    QueuedNetwork::new(config, &options, |numbers| Scripted::new(scripts, numbers)).expect("buildable")
}

/// Runs it to the end; all that arrived, by node and time.
pub fn finish(network: &mut QueuedNetwork<Scripted>, threads: usize) -> Vec<Arrival> {
    assert_eq!(network.run_until(Time::at(1 << 40), threads, &Progress::default()), Reached::Idle);
    assert_eq!((network.stall(), network.unrest()), (None, vec![]));
    assert_eq!(network.crc_mismatches(), vec![]);
    assert_eq!(network.blocks().map(|b| b.packets()).sum::<usize>(), 0);
    let mut arrived: Vec<_> =
        network.blocks().flat_map(|b| std::mem::take(&mut b.host_mut().arrived)).collect();
    arrived.sort_by_key(|a| (a.0, a.4, a.1));
    arrived
}

/// Both.
pub fn run(config: &QueuedConfig, scripts: &[Script], block: &[u32], threads: usize) -> Vec<Arrival> {
    finish(&mut build(config, scripts, block), threads)
}
