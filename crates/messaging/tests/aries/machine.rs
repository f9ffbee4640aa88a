//! Aries NICs on a small network of tiled routers, run to the end of their programs.

use netloom_engine::{Progress, Reached, Time};
use netloom_fabric::config::{SwitchedTopology, TiledConfig};
use netloom_fabric::router::tiled::{TiledBlock, TiledNetwork};
use netloom_fabric::router::{BuildOptions, RouterBlock};
use netloom_messaging::gni::{self, Gni};
use netloom_nic::aries::address::Job;
use netloom_nic::aries::config::AriesConfig;
use netloom_nic::aries::{AriesNics, NicCounters};
use netloom_node::process::Measurement;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A machine for programs.
#[derive(Clone)]
pub struct Machine {
    pub network: TiledConfig,
    pub nic: AriesConfig,
    pub jobs: Vec<Job>,
    pub processes: u32,
    pub dead: Vec<u32>,
    pub block: u32,
    pub threads: usize,
}

/// The results of a run.
pub struct Outcome {
    /// By node and process.
    pub measurements: BTreeMap<(u32, u32), Vec<Measurement>>,
    pub counters: BTreeMap<u32, NicCounters>,
}

/// The ptag and cookie of the job on all nodes.
pub const PTAG: u8 = 7;
pub const COOKIE: u32 = 42;

/// This number of routers in a chassis, with a process on each node.
pub fn chassis(routers: u32) -> Machine {
    let mut network = TiledConfig::cray_xc(1, 1);
    let SwitchedTopology::Dragonfly(shape) = &mut network.topology else { unreachable!() };
    (shape.group, shape.cables) = (vec![routers, 1], None);
    let nodes = 4 * routers;
    Machine {
        network,
        nic: AriesConfig::cray_xc(),
        jobs: vec![Job::new(PTAG, COOKIE, 0..nodes)],
        processes: 1,
        dead: vec![],
        block: routers,
        threads: 1,
    }
}

/// Runs a program on all processes to its end.
pub fn run(machine: &Machine, program: impl Fn(Gni) -> Task) -> Outcome {
    let options = BuildOptions { injection_fifos: 2, block: vec![machine.block], ..BuildOptions::default() };
    let jobs: Arc<[Job]> = machine.jobs.clone().into();
    let mut network = TiledNetwork::new(&machine.network, &options, |numbers| {
        let (m, dead) = (machine, machine.dead.iter().copied());
        gni::nics(&m.nic, &m.network, &jobs, numbers, m.processes, 1, &program).with_dead(dead)
    })
    .expect("buildable");
    let reached = network.run_until(Time::at(1 << 40), machine.threads, &Progress::default());
    assert_eq!((reached, network.stall(), network.unrest()), (Reached::Idle, None, vec![]));
    let mut outcome = Outcome { measurements: BTreeMap::new(), counters: BTreeMap::new() };
    for block in network.blocks() {
        let block: &mut TiledBlock<AriesNics> = block;
        let host = block.host();
        assert_eq!(host.unfinished().collect::<Vec<_>>(), []);
        outcome
            .measurements
            .extend(host.measurements().map(|(node, process, measurements)| ((node, process), measurements)));
        outcome.counters.extend(host.counters());
    }
    outcome
}

/// A process's measurements of a kind, ns.
pub fn ns(outcome: &Outcome, node: u32, process: u32, of: u64) -> Vec<f64> {
    let measurements = outcome.measurements[&(node, process)].iter().filter(|n| n.key == of);
    measurements.map(|n| n.value as f64 / 875e3).collect()
}
