//! Builds a machine: its nodes, block by block.

use super::QueuedFamily;
use super::block::QueuedBlock;
use super::counters::Counters;
use super::soft::SoftErrors;
use super::state::*;
use super::tables::Tables;
use crate::config::{ConfigError, DIMENSIONS_MAX, QueuedConfig};
use crate::host::Host;
use crate::router::errors::Errors;
use crate::router::network::{BuildOptions, Built, Network};
use crate::router::partition::Partition;
use crate::router::port::Port;
use crate::router::statistics::Recorder;
use crate::topology::torus::Torus;
use netloom_engine::{Stream, Time};

/// A machine of these routers, and its hosts.
pub type QueuedNetwork<H> = Network<QueuedBlock<H>>;

impl<H: Host<QueuedFamily>> Network<QueuedBlock<H>> {
    /// Builds the machine. `host` is called once for each block with the machine's numbers of its nodes.
    ///
    /// # Errors
    /// An invalid or unsupported configuration.
    pub fn new(
        config: &QueuedConfig,
        options: &BuildOptions,
        mut host: impl FnMut(&[u32]) -> H,
    ) -> Result<Self, ConfigError> {
        config.check()?;
        if !(1..=16).contains(&options.injection_fifos) {
            let message = format!("expected 1 to 16 injection FIFOs, found {}", options.injection_fifos);
            return Err(ConfigError { key: "nic".into(), message });
        }
        let tables = Tables::new(config);
        let partition = Partition::new(Torus::new(&config.topology), &options.block, options.blocks)?;
        let (mut blocks, mut all_lanes) = (vec![], vec![]);
        let own = options.own(partition.members.len());
        for (b, numbers) in partition.members.iter().enumerate().skip(own.start).take(own.len()) {
            let mut lanes = vec![];
            let nodes = (0..numbers.len())
                .map(|here| {
                    let ports = std::array::from_fn(|port| {
                        Port::new(partition.neighbour(b, numbers[here], port, &mut lanes))
                    });
                    new_node(
                        config,
                        &partition.torus,
                        &tables,
                        (here as u32, numbers[here]),
                        ports,
                        options.seed,
                    )
                })
                .collect();
            all_lanes.push(lanes);
            let recorder = Recorder::new(options.window, false);
            let host = host(numbers);
            let fifos = options.injection_fifos;
            let mut block = QueuedBlock::new(tables.clone(), nodes, fifos, numbers.clone(), recorder, host);
            block.offer_all();
            block.shared.counters =
                options.counters.map(|masks| Box::new(Counters::new(masks, numbers.len())));
            block.shared.byte_order = options.byte_order;
            block.shared.common.errors =
                Errors::new(&config.link, &config.packet, &partition.torus, options.seed, numbers, PORTS);
            block.shared.soft = SoftErrors::new(config, &partition.torus, options.seed, numbers);
            blocks.push(block);
        }
        let built = Built::of_nodes(blocks, all_lanes, tables.lookahead(), partition);
        Ok(Network::of(built, options))
    }
}

fn new_node(
    config: &QueuedConfig,
    torus: &Torus,
    tables: &Tables,
    (here, number): (u32, u32),
    ports: [Port; PORTS],
    seed: u64,
) -> Node {
    // IO nodes have coordinates that are not any packet's destination.
    let at = if torus.is_io_node(number) { [u8::MAX; DIMENSIONS_MAX] } else { torus.coordinates(number) };
    let alive = |port: usize| ports[port].neighbour != NOWHERE;
    let is_io = |port: usize| torus.is_io_link(number, port);
    let open = (0..PORTS).filter(|&port| alive(port)).fold(LOCALLY, |mask, port| mask | 1 << port);
    let base = config.link.hop_ticks();
    Node {
        random: Stream::new(seed, 1, number.into()),
        here,
        open,
        room_one: [0; ALL_VCS],
        room_two: [0; ALL_VCS],
        claimed: 0,
        booked: 0,
        asking: 0,
        due: 0,
        refill: 0,
        waiting: 0,
        injecting: 0,
        stopped: 0,
        contributing: 0,
        reception_idle: u16::MAX,
        reception_full: 0,
        retries: false,
        paths: [0; PORTS],
        events: 0,
        settled: false,
        without_path: 0,
        wanted: [0; PORTS + 1],
        standing: [0; PORTS],
        through: [0; PORTS],
        ready_at: [Time::ZERO; PORTS],
        central: None,
        interrupts: None,
        barrier_updates: 0,
        at,
        number,
        tokens: std::array::from_fn(|port| if alive(port) { tables.capacity } else { [0; ALL_VCS] }),
        ahead: std::array::from_fn(|port| match torus.link(number, port) {
            Some((next, _)) if alive(port) && !is_io(port) => torus.coordinates(next)[port / 2],
            _ => 0,
        }),
        far: std::array::from_fn(|port| torus.link(number, port).map_or(0, |(_, there)| there as u8)),
        io_links: (0..PORTS).filter(|&port| is_io(port)).fold(0, |mask, port| mask | 1 << port),
        wires: std::array::from_fn(|port| {
            let d = port / 2;
            if !alive(port) {
                return 0;
            }
            if is_io(port) {
                return config.link.io_hop_ticks() - base;
            }
            config.link.hop_ticks_of(d, at[d].into(), torus.length(d), port % 2 == 1) - base
        }),
        heads: [Head::default(); 16],
        ports,
        receivers: std::array::from_fn(|_| Receiver::default()),
    }
}

impl<H: Host<QueuedFamily>> QueuedBlock<H> {
    /// Records the number of packets for which every VC has space.
    fn offer_all(&mut self) {
        for n in &mut self.nodes {
            for port in 0..PORTS {
                (0..ALL_VCS).for_each(|vc| self.shared.offer(n, port, vc));
            }
        }
    }
}
