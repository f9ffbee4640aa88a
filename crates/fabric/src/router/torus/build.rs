//! Building a machine: nodes into blocks, blocks joined by lanes; and running it.

use super::block::{Parts, TorusBlock};
use super::errors::{Errors, LinkErrors};
use super::fetch::BURST;
use super::slots::Wishes;
use super::stall::StallReport;
use super::state::*;
use super::statistics::{LinkCounts, Recorder, Totals, WindowRecord};
use super::tables::Tables;
use crate::config::{ConfigError, TorusConfig};
use crate::host::Host;
use crate::topology::torus::Torus;
use netloom_engine::{Progress, Reached, Simulation, Stream, Time};

/// What a run may choose that is not the machine's.
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// Seed of all random choices.
    pub seed: u64,
    /// Most nodes of a block, along each dimension; empty for the measured best. The outcome does not depend on it.
    pub block: Vec<u32>,
    /// Least chunks of any packet that will be sent: bounds the memory of VCs.
    pub smallest_chunks: u32,
    /// Injection FIFOs of a node, 1 to 16.
    pub injection_fifos: usize,
    /// Length of the series' windows, ticks.
    pub window: Time,
    /// Whether to find out which token-acks free a blocked packet (costs time).
    pub unblocking: bool,
}

impl Default for BuildOptions {
    fn default() -> Self {
        BuildOptions {
            seed: 1,
            block: vec![],
            smallest_chunks: 8,
            injection_fifos: 8,
            window: 10_000,
            unblocking: false,
        }
    }
}

/// Nodes of a machine that is fastest without fetching memory ahead. Measured (`docs/performance.md`).
const CACHED: u32 = 2_048;

/// A torus machine of nodes with `P` ports, and its hosts.
pub struct TorusNetwork<H: Host, const P: usize> {
    simulation: Simulation<TorusBlock<H, P>>,
    torus: Torus,
    /// Block and place of each node.
    places: Vec<(u32, u32)>,
}

/// Boxes of at most `block` nodes a dimension that cover the torus.
fn boxes(torus: &Torus, block: &[u32]) -> Vec<([u32; 5], [u32; 5])> {
    let side = |d: usize| block.get(d).copied().unwrap_or(torus.length(d)).clamp(1, torus.length(d));
    let mut list = vec![([0; 5], [0; 5])];
    for d in 0..5 {
        list = list
            .into_iter()
            .flat_map(|(low, high)| {
                (0..torus.length(d).div_ceil(side(d))).map(move |i| {
                    let (mut low, mut high) = (low, high);
                    low[d] = i * side(d);
                    high[d] = ((i + 1) * side(d)).min(torus.length(d));
                    (low, high)
                })
            })
            .collect();
    }
    // The first dimension fastest, as nodes are numbered.
    list.sort_by_key(|b| [b.0[4], b.0[3], b.0[2], b.0[1], b.0[0]]);
    list
}

fn nodes_of(torus: &Torus, (low, high): ([u32; 5], [u32; 5])) -> Vec<u32> {
    let mut list = vec![];
    for e in low[4]..high[4] {
        for d in low[3]..high[3] {
            for c in low[2]..high[2] {
                for b in low[1]..high[1] {
                    for a in low[0]..high[0] {
                        list.push(torus.node([a as u8, b as u8, c as u8, d as u8, e as u8]));
                    }
                }
            }
        }
    }
    list
}

/// Sides of a block where the study gives none. Measured (`docs/performance.md`): of up to 2,048 nodes, whose arrays fill
/// huge pages while what a tick touches still fits a core's cache, but at least four blocks to a machine that is large
/// enough for several threads.
fn usual_block(torus: &Torus) -> Vec<u32> {
    let most = if torus.nodes() <= 512 { 512 } else { (torus.nodes() / 4).clamp(256, 2048) };
    let mut sides = vec![1; torus.dimensions()];
    loop {
        // Twice as long in the shortest direction that can still grow.
        let growing = (0..sides.len()).filter(|&d| sides[d] < torus.length(d)).min_by_key(|&d| sides[d]);
        let Some(d) = growing else { return sides };
        let side = (2 * sides[d]).min(torus.length(d));
        if sides.iter().product::<u32>() / sides[d] * side > most {
            return sides;
        }
        sides[d] = side;
    }
}

impl<H: Host, const P: usize> TorusNetwork<H, P> {
    /// Builds the machine. `host` is called once for each block with the machine's numbers of its nodes.
    ///
    /// # Errors
    /// What the configuration asks for and cannot be.
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
        let block = if options.block.is_empty() { usual_block(&torus) } else { options.block.clone() };
        let boxes = boxes(&torus, &block);
        let members: Vec<Vec<u32>> = boxes.iter().map(|&b| nodes_of(&torus, b)).collect();
        if let Some(large) = members.iter().find(|m| m.len() > BLOCK_MAX) {
            return Err(refuse(
                "block",
                format!("expected at most {BLOCK_MAX} nodes, found {}", large.len()),
            ));
        }
        let mut places = vec![(0, 0); torus.nodes() as usize];
        for (b, nodes) in members.iter().enumerate() {
            for (i, &node) in nodes.iter().enumerate() {
                places[node as usize] = (b as u32, i as u32);
            }
        }
        let mut blocks = vec![];
        let mut all_lanes = vec![];
        for (b, numbers) in members.into_iter().enumerate() {
            let mut lanes: Vec<u32> = vec![];
            let nodes = numbers
                .iter()
                .enumerate()
                .map(|(here, &number)| {
                    let mut alive = 0u16;
                    let ports = std::array::from_fn(|port| {
                        let dead = port >= torus.ports() || torus.is_dead(number, port);
                        let neighbour = if dead { None } else { torus.neighbour(number, port) };
                        alive |= u16::from(neighbour.is_some()) << port;
                        let neighbour = neighbour.map_or(NOWHERE, |n| {
                            let (block, place) = places[n as usize];
                            if block as usize == b {
                                return place;
                            }
                            let lane = lanes.iter().position(|&l| l == block).unwrap_or_else(|| {
                                lanes.push(block);
                                lanes.len() - 1
                            });
                            assert!(lane < 1 << 11, "a block has few neighbours");
                            REMOTE | (lane as u32) << 20 | place
                        });
                        Port::new(neighbour)
                    });
                    Node {
                        here: here as u32,
                        ports,
                        ..new_node(&torus, &tables, number, alive, options.seed)
                    }
                })
                .collect();
            all_lanes.push(lanes);
            let recorder = Recorder::new(options.window, options.unblocking);
            let host = host(&numbers);
            let fifos = options.injection_fifos;
            let errors = Errors::new(config, options.seed, &numbers, P);
            let tables = tables.clone();
            let parts = Parts { tables, nodes, fifos, numbers, recorder, errors };
            let mut block = TorusBlock::new(parts, host);
            block.offer_all();
            if torus.nodes() > CACHED {
                (block.fetches, block.burst) = (true, BURST);
            }
            blocks.push(block);
        }
        let lookahead = tables.lookahead();
        Ok(TorusNetwork { simulation: Simulation::new(blocks, all_lanes, lookahead), torus, places })
    }

    /// The shape.
    pub fn torus(&self) -> &Torus {
        &self.torus
    }

    /// Time reached, ticks.
    pub fn now(&self) -> Time {
        self.simulation.now()
    }

    /// Applies all events before `until`.
    pub fn run_until(&mut self, until: Time, threads: usize, progress: &Progress) -> Reached {
        self.simulation.run_until(until, threads, progress)
    }

    /// The blocks.
    pub fn blocks(&mut self) -> impl Iterator<Item = &mut TorusBlock<H, P>> {
        self.simulation.blocks()
    }

    /// The windows of the series that have ended, of the whole machine.
    pub fn windows(&mut self) -> Vec<WindowRecord> {
        let now = self.now();
        let mut sum: Vec<WindowRecord> = vec![];
        for block in self.simulation.blocks() {
            let windows = block.windows(now);
            sum.resize_with(sum.len().max(windows.len()), WindowRecord::default);
            sum.iter_mut().zip(windows).for_each(|(sum, window)| sum.merge(window));
        }
        sum
    }

    /// Sums over the whole run so far, of the whole machine.
    pub fn so_far(&mut self) -> WindowRecord {
        let mut sum = WindowRecord::default();
        self.simulation.blocks().for_each(|b| sum.merge(&b.so_far()));
        sum
    }

    /// Sums over the whole machine since counting began.
    pub fn totals(&mut self) -> Totals {
        let mut sum = Totals::default();
        self.simulation.blocks().for_each(|b| sum.merge(b.totals()));
        sum
    }

    /// Begins counting anew: links and totals.
    pub fn restart_counting(&mut self) {
        let now = self.now();
        self.simulation.blocks().for_each(|b| b.restart_counting(now));
    }

    /// Traffic of each link that works, as (node, port, counts), in the order of nodes.
    pub fn links(&mut self) -> Vec<(u32, usize, LinkCounts)> {
        let (ports, now) = (self.torus.ports(), self.now());
        let mut list = vec![];
        for block in self.simulation.blocks() {
            for node in 0..block.numbers().len() {
                let number = block.numbers()[node];
                let links = (0..ports).filter(|&p| block.has_link(node, p));
                list.extend(links.map(|p| (number, p, block.link(node, p, now))));
            }
        }
        list.sort_unstable_by_key(|l| (l.0, l.1));
        list
    }

    /// What went wrong on each link that works, as (node, port, counts), in the order of nodes.
    pub fn link_errors(&mut self) -> Vec<(u32, usize, LinkErrors)> {
        let links: Vec<_> = self.links().iter().map(|&(node, port, _)| (node, port)).collect();
        let blocks: Vec<_> = self.simulation.blocks().collect();
        let counts = |(number, port): (u32, usize)| {
            let (block, node) = self.places[number as usize];
            (number, port, blocks[block as usize].link_errors(node as usize, port))
        };
        links.into_iter().map(counts).collect()
    }

    /// What went wrong on all links since counting began.
    pub fn errors(&mut self) -> LinkErrors {
        let mut sum = LinkErrors::default();
        self.simulation.blocks().for_each(|b| sum.merge(&b.errors()));
        sum
    }

    /// Packets that are in the network.
    pub fn under_way(&mut self) -> i64 {
        self.simulation.blocks().map(|b| b.under_way()).sum()
    }

    /// Bytes of the network's state, and of the packets in it.
    pub fn bytes(&mut self) -> (usize, usize) {
        self.simulation.blocks().map(|b| b.bytes()).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
    }

    /// If nothing will ever happen and packets are in the network, or wait to enter it: who waits for what.
    pub fn stall(&mut self) -> Option<StallReport> {
        if self.simulation.next_time().is_some() {
            return None;
        }
        let under_way = self.under_way();
        let waiting: Vec<_> = self.simulation.blocks().flat_map(|b| b.waiting()).collect();
        (under_way != 0 || !waiting.is_empty()).then_some(StallReport { under_way, waiting })
    }

    /// What is not at rest although nothing is under way; see [`TorusBlock::unrest`].
    pub fn unrest(&mut self) -> Vec<String> {
        self.simulation.blocks().flat_map(|b| b.unrest()).collect()
    }

    /// Block and place within it of a node.
    pub fn place(&self, node: u32) -> (u32, u32) {
        self.places[node as usize]
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
        wishes: Wishes::NONE,
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

impl<H: Host, const P: usize> TorusBlock<H, P> {
    /// Recomputes what every link's tokens allow.
    fn offer_all(&mut self) {
        for node in 0..self.nodes.len() {
            (0..P).for_each(|port| self.nodes[node].offer(&self.shared.tables, port));
        }
    }
}
