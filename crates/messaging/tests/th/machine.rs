//! TH Express NICs below one switch, run to the end of their programs.

use netloom_engine::{Progress, Reached, Time};
use netloom_fabric::config::TiledConfig;
use netloom_fabric::router::tiled::{TiledBlock, TiledNetwork};
use netloom_fabric::router::{BuildOptions, RouterBlock};
use netloom_messaging::glex::{self, Glex};
use netloom_nic::th::config::ThConfig;
use netloom_nic::th::{Address, NicCounters, ThNics};
use netloom_node::process::Measurement;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;

pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The results of a run.
#[derive(PartialEq, Eq, Debug)]
pub struct Outcome {
    /// By node and process.
    pub measurements: BTreeMap<(u32, u32), Vec<Measurement>>,
    pub counters: BTreeMap<u32, NicCounters>,
}

/// A key of all ports in these tests.
pub const KEY: u16 = 77;
pub const AT: u64 = 0x10_0000;

/// The endpoint of that number on a node.
pub fn port(node: u32, vp: u8) -> Address {
    Address { node, vp, key: KEY }
}

/// Bytes that differ by position.
pub fn bytes(count: u64) -> Vec<u8> {
    (0..count).map(|i| (i * 7 + i / 256 + count) as u8).collect()
}

/// Runs a program on all nodes of two frames to its end.
pub fn run_on(nic: &ThConfig, block: u32, threads: usize, program: impl Fn(Glex) -> Task) -> Outcome {
    let config = TiledConfig::th_express_2(2);
    let options = BuildOptions { injection_fifos: 2, block: vec![block], ..BuildOptions::default() };
    let mut network =
        TiledNetwork::new(&config, &options, |numbers| glex::nics(nic, &config, numbers, 1, 1, &program))
            .expect("buildable");
    let reached = network.run_until(Time::at(1 << 40), threads, &Progress::default());
    assert_eq!((reached, network.stall(), network.unrest()), (Reached::Idle, None, vec![]));
    let mut outcome = Outcome { measurements: BTreeMap::new(), counters: BTreeMap::new() };
    for block in network.blocks() {
        let block: &mut TiledBlock<ThNics> = block;
        let host = block.host();
        assert_eq!(host.unfinished().collect::<Vec<_>>(), []);
        outcome
            .measurements
            .extend(host.measurements().map(|(node, process, measurements)| ((node, process), measurements)));
        outcome.counters.extend(host.counters());
    }
    outcome
}

/// The same in one block.
pub fn run(nic: &ThConfig, program: impl Fn(Glex) -> Task) -> Outcome {
    run_on(nic, 15, 1, program)
}
