//! Builds a machine: its nodes, block by block.

use super::TorusFamily;
use super::block::{Parts, TorusBlock};
use super::fetch::BURST;
use super::slots::RequestedSlots;
use super::state::*;
use super::tables::Tables;
use crate::config::{ConfigError, TorusConfig};
use crate::host::Host;
use crate::router::errors::Errors;
use crate::router::network::{BuildOptions, Built, Network};
use crate::router::partition::Partition;
use crate::router::statistics::Recorder;
use crate::topology::torus::Torus;
use netloom_engine::Stream;

/// Maximum number of nodes of a machine that is fastest without prefetching. Measured
/// (`docs/performance.md`).
const CACHED: u32 = 2_048;

/// A torus machine of nodes with `P` ports, and its hosts.
pub type TorusNetwork<H, const P: usize> = Network<TorusBlock<H, P>>;

impl<H: Host<TorusFamily>, const P: usize> Network<TorusBlock<H, P>> {
    /// Builds the machine. `host` is called once for each block with the machine's numbers of its nodes.
    ///
    /// # Errors
    /// An invalid or unsupported configuration.
    pub fn new(
        config: &TorusConfig,
        options: &BuildOptions,
        mut host: impl FnMut(&[u32]) -> H,
    ) -> Result<Self, ConfigError> {
        config.check()?;
        let refuse = |key: &str, message: String| ConfigError { key: key.into(), message };
        let torus = Torus::new(&config.topology);
        if torus.ports() > P {
            return Err(refuse(
                "topology.dims",
                format!("this router has {P} ports, the torus needs {}", torus.ports()),
            ));
        }
        if !(1..=16).contains(&options.injection_fifos) {
            return Err(refuse(
                "nic",
                format!("expected 1 to 16 injection FIFOs, found {}", options.injection_fifos),
            ));
        }
        let tables = Tables::new(config, options.smallest_chunks);
        let partition = Partition::new(torus, &options.block, options.blocks)?;
        let torus = &partition.torus;
        let mut blocks = vec![];
        let mut all_lanes = vec![];
        let own = options.own(partition.members.len());
        for (b, numbers) in partition.members.iter().enumerate().skip(own.start).take(own.len()) {
            let mut lanes: Vec<u32> = vec![];
            let nodes = numbers
                .iter()
                .enumerate()
                .map(|(here, &number)| {
                    let ports: [Port; P] = std::array::from_fn(|port| {
                        Port::new(partition.neighbour(b, number, port, &mut lanes))
                    });
                    let alive = (0..P).filter(|&p| ports[p].neighbour != NOWHERE).fold(0, |m, p| m | 1 << p);
                    Node { here: here as u32, ports, ..new_node(torus, &tables, number, alive, options.seed) }
                })
                .collect();
            all_lanes.push(lanes);
            let recorder = Recorder::new(options.window, options.unblocking);
            let host = host(numbers);
            let fifos = options.injection_fifos;
            let errors = Errors::new(&config.link, &config.packet, torus, options.seed, numbers, P);
            let (tables, numbers) = (tables.clone(), numbers.clone());
            let parts = Parts { tables, nodes, fifos, numbers, recorder, errors };
            let mut block = TorusBlock::new(parts, host);
            block.offer_all();
            if torus.nodes() > CACHED {
                (block.fetches, block.burst) = (true, BURST);
            }
            blocks.push(block);
        }
        let built = Built::of_nodes(blocks, all_lanes, tables.lookahead(), partition);
        Ok(Network::of(built, options))
    }
}

fn new_node<const P: usize>(torus: &Torus, tables: &Tables, number: u32, alive: u16, seed: u64) -> Node<P> {
    let coordinates = torus.coordinates(number);
    let dateline = (0..torus.ports()).filter(|&port| {
        let d = port / 2;
        let last = if port % 2 == 0 { torus.length(d) - 1 } else { 0 };
        u32::from(coordinates[d]) == last
    });
    Node {
        receivers: [Receiver::default(); P],
        ports: [Port::new(NOWHERE); P],
        here: 0,
        requested: RequestedSlots::NONE,
        entering: [0; P],
        // A dead port never has tokens (section 2).
        tokens: std::array::from_fn(|port| {
            if alive >> port & 1 != 0 { u64::from_le_bytes(tables.capacity) } else { 0 }
        }),
        bypass_vc: [0; P],
        occupied: [0; P],
        random: Stream::new(seed, 1, number.into()),
        open: alive,
        dynamic_ok: 0,
        reception_idle: [u16::MAX; 2],
        reception_full: [0; 2],
        any_ok: 0,
        bypassing: 0,
        stalled: 0,
        bypass_busy: 0,
        due: 0,
        refill: 0,
        injecting: 0,
        waiting: 0,
        waiting_high: 0,
        standing: 0,
        dateline: dateline.fold(0, |mask, port| mask | 1 << port),
        best: [0; P],
        paths: [0; P],
        events: 0,
        acting: 0,
        ahead: std::array::from_fn(|port| {
            let next = if port < torus.ports() { torus.neighbour(number, port) } else { None };
            next.map_or(0, |next| torus.coordinates(next)[port / 2])
        }),
    }
}

impl<H: Host<TorusFamily>, const P: usize> TorusBlock<H, P> {
    /// Recomputes the available directions and VCs of every link from its tokens.
    fn offer_all(&mut self) {
        for node in 0..self.nodes.len() {
            (0..P).for_each(|port| self.nodes[node].offer(&self.shared.tables, port));
        }
    }
}
