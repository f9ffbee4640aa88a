//! The interface of a network to the layers above, whatever its routers: its blocks of nodes, how to run
//! them, and their results.

use super::errors::{Errors, LinkCrcs};
use super::partition::{NOWHERE, Partition};
use super::port::Port;
use super::queued::{CounterMasks, PortCounters};
use super::stall::{StallReport, StoppedUnit, WaitingPacket};
use super::statistics::{LinkCounts, LinkErrors, Recorder, Totals, WindowRecord};
use crate::collective::ByteOrder;
use crate::host::{Family, Host};
use crate::topology::io::IO_PORT;
use crate::topology::torus::Torus;
use netloom_engine::checkpoint::State;
use netloom_engine::{Block, Peers, Progress, Reached, SharedState, Simulation, Time, own_blocks};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// Options of a run that are not properties of the machine.
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// Seed of all random choices.
    pub seed: u64,
    /// Maximum number of nodes of a block along each dimension; empty for the measured optimum. Results do
    /// not depend on it.
    pub block: Vec<u32>,
    /// Fewest blocks, as far as the nodes allow: one for each thread of the run, or more. Results do not
    /// depend on it.
    pub blocks: usize,
    /// Minimum number of chunks of any packet in the run: bounds the memory of VCs.
    pub smallest_chunks: u32,
    /// Injection FIFOs per node, 1 to 16.
    pub injection_fifos: usize,
    /// Window length of time series, ticks.
    pub window: u64,
    /// Whether to count the token-acks that free a blocked packet (slower).
    pub unblocking: bool,
    /// Masks of the machine's own performance counters, if they are on; for routers that have them.
    pub counters: Option<CounterMasks>,
    /// The byte order of the nodes' memory, for routers that combine words.
    pub byte_order: ByteOrder,
    /// The processes that simulate the machine, if there are several. Each builds and simulates its share of
    /// the blocks; all call the functions of [`Network`] in the same order. Results do not depend on them.
    pub peers: Option<Arc<dyn Peers>>,
    /// What these processes tell each other besides, for their hosts.
    pub shared_state: Option<Arc<dyn SharedState>>,
}

impl BuildOptions {
    /// The blocks of this process, of `blocks` in all.
    pub(super) fn own(&self, blocks: usize) -> Range<usize> {
        self.peers.as_ref().map_or(0..blocks, |peers| own_blocks(blocks, peers.rank(), peers.count()))
    }
}

impl Default for BuildOptions {
    fn default() -> Self {
        BuildOptions {
            seed: 1,
            block: vec![],
            blocks: 1,
            smallest_chunks: 8,
            injection_fifos: 8,
            window: 10_000,
            unblocking: false,
            counters: None,
            byte_order: ByteOrder::Big,
            peers: None,
            shared_state: None,
        }
    }
}

/// Routers that one thread simulates at a time, with the hosts of their nodes. Each family of routers
/// implements it.
pub trait RouterBlock: Block + State + Sized {
    /// The family, as its hosts see it.
    type Family: Family;

    /// The hosts of its nodes.
    type Host: Host<Self::Family>;

    /// The topology.
    type Shape;

    /// The overseer.
    type Overseer: Overseer<Self>;

    /// The hosts, for reading results.
    fn host(&self) -> &Self::Host;

    /// The hosts, for changes between windows.
    fn host_mut(&mut self) -> &mut Self::Host;

    /// The block's statistics.
    fn recorder(&self) -> &Recorder;

    /// The block's statistics, for updating.
    fn recorder_mut(&mut self) -> &mut Recorder;

    /// Windows of the time series that ended before `now`.
    fn windows(&mut self, now: Time) -> &[WindowRecord] {
        let recorder = self.recorder_mut();
        recorder.reach(now);
        &recorder.windows
    }

    /// Sums over all windows so far, including the current one.
    fn so_far(&self) -> WindowRecord {
        self.recorder().so_far()
    }

    /// Sums since the statistics were restarted.
    fn totals(&self) -> &Totals {
        &self.recorder().totals
    }

    /// Packets in the network or at the heads of injection FIFOs.
    fn packets(&self) -> usize;

    /// Packets injected in this block and not yet delivered, minus those delivered here but injected
    /// elsewhere: only the sum over all blocks is meaningful.
    fn in_flight(&self) -> i64 {
        self.recorder().in_flight
    }

    /// Restarts the statistics of links and totals at `now`, the current time; time series continue.
    fn restart_counting(&mut self, now: Time);

    /// Memory of the network's state, and of the packets in it, bytes.
    fn bytes(&self) -> (usize, usize);

    /// Writes what the blocks of all processes have in common, for a checkpoint.
    ///
    /// # Errors
    /// If there is no memory for it.
    fn store_shared(&self, _to: &mut Vec<u8>) -> io::Result<()> {
        Ok(())
    }

    /// Reads it.
    ///
    /// # Errors
    /// If it is not that of such blocks.
    fn load_shared(&self, _from: &mut &[u8]) -> io::Result<()> {
        Ok(())
    }

    /// All packets at the heads of this block's queues and injection FIFOs, by node.
    fn waiting(&self) -> Vec<WaitingPacket>;

    /// Describes everything that is not idle when no packet is in flight; empty if all is idle: all tokens
    /// returned, all VCs, links and buses free.
    fn unrest(&self) -> Vec<String>;
}

/// Observes and changes a machine from outside, while all its blocks are stopped at the same time.
pub trait Overseer<B: RouterBlock> {
    /// The next time to act, if any.
    fn next_time(&self) -> Option<Time>;

    /// Whether its action may cause new events although none are pending.
    fn holds(&self) -> bool;

    /// Acts. All events before `now` have been applied.
    fn act(&mut self, now: Time, simulation: &mut Simulation<B>);

    /// Writes what it knows, for a checkpoint.
    ///
    /// # Errors
    /// If there is no memory for it.
    fn store(&self, _to: &mut Vec<u8>) -> io::Result<()> {
        Ok(())
    }

    /// Reads it.
    ///
    /// # Errors
    /// If it is not that of such an overseer.
    fn load(&mut self, _from: &mut &[u8], _simulation: &mut Simulation<B>) -> io::Result<()> {
        Ok(())
    }
}

/// No overseer.
impl<B: RouterBlock> Overseer<B> for () {
    fn next_time(&self) -> Option<Time> {
        None
    }

    fn holds(&self) -> bool {
        false
    }

    fn act(&mut self, _: Time, _: &mut Simulation<B>) {}
}

/// The nodes of a torus, each with a router of its own.
pub trait NodeBlock: RouterBlock<Shape = Torus> {
    /// The machine's numbers of the block's nodes, in block order.
    fn numbers(&self) -> &[u32];

    /// The link of a node's port.
    fn port(&self, node: usize, port: usize) -> &Port;

    /// The state of links with bit errors, if any.
    fn link_protection(&self) -> Option<&Errors>;

    /// Ticks that remained, when the statistics were restarted, of a transmission on a node's link.
    fn carried(&self, node: usize, port: usize) -> u32;

    /// Time that packets with `chunks` in total, and acknowledgements, occupy a link.
    fn sending(&self, packets: u64, chunks: u64, acks: u64) -> u64;

    /// Traffic of a node's link from the restart of the statistics to `now`, the current time.
    fn link(&self, node: usize, port: usize, now: Time) -> LinkCounts {
        let sending = |packets, chunks, acks| self.sending(packets, chunks, acks);
        self.port(node, port).counts(now, self.carried(node, port), sending)
    }

    /// Whether a port of a node has a working link.
    fn has_link(&self, node: usize, port: usize) -> bool {
        self.port(node, port).neighbour != NOWHERE
    }

    /// Errors of a node's link since the statistics were restarted.
    fn link_errors(&self, node: usize, port: usize) -> LinkErrors {
        self.link_protection().map_or(LinkErrors::default(), |e| e.counted(node, port))
    }

    /// CRCs of all packets that a node's port has sent and received since the start; `None` if no link has
    /// errors.
    fn crcs(&self, node: usize, port: usize) -> Option<LinkCrcs> {
        Some(self.link_protection()?.crcs(node, port))
    }

    /// Errors of all links of the block since the statistics were restarted.
    fn errors(&self) -> LinkErrors {
        self.link_protection().map_or(LinkErrors::default(), |e| e.sum())
    }

    /// Units that have stopped to keep an error from propagating.
    fn stopped(&self) -> &[StoppedUnit] {
        &[]
    }

    /// The machine's own performance counters of a port at `now`, since the statistics were restarted; `None`
    /// if there are none or they are off.
    fn counters(&self, _node: usize, _port: usize, _now: Time) -> Option<PortCounters> {
        None
    }
}

/// A machine that is built.
pub(super) struct Built<B: RouterBlock> {
    /// The blocks of this process, each with its destination blocks in the order of its lanes.
    pub own: Vec<B>,
    pub lanes: Vec<Vec<u32>>,
    /// Blocks in all.
    pub blocks: usize,
    pub lookahead: u64,
    pub shape: B::Shape,
    /// Block and index of each router.
    pub places: Vec<(u32, u32)>,
    pub overseer: B::Overseer,
    /// What blocks read of one another besides messages.
    pub shared_state: Option<Arc<dyn SharedState>>,
}

impl<B: RouterBlock<Shape = Torus, Overseer = ()>> Built<B> {
    /// Nodes of a torus.
    pub fn of_nodes(own: Vec<B>, lanes: Vec<Vec<u32>>, lookahead: u64, partition: Partition) -> Self {
        let Partition { torus: shape, members, places } = partition;
        Built {
            own,
            lanes,
            blocks: members.len(),
            lookahead,
            shape,
            places,
            overseer: (),
            shared_state: None,
        }
    }
}

/// A network of router blocks.
pub struct Network<B: RouterBlock> {
    pub(super) simulation: Simulation<B>,
    shape: B::Shape,
    /// Block and index of each router, or of each node if every node has its own router.
    places: Vec<(u32, u32)>,
    pub(super) overseer: B::Overseer,
}

impl<B: RouterBlock> Network<B> {
    pub(super) fn of(built: Built<B>, options: &BuildOptions) -> Self {
        let Built { own, lanes, blocks, lookahead, shape, places, overseer, shared_state } = built;
        let simulation = match &options.peers {
            None => Simulation::new(own, lanes, lookahead),
            Some(peers) => {
                let shared_states =
                    [shared_state, options.shared_state.clone()].into_iter().flatten().collect();
                Simulation::of_process(Arc::clone(peers), blocks, own, lanes, lookahead, shared_states)
            }
        };
        Network { simulation, shape, places, overseer }
    }

    /// A value of each process that simulates it: see [`Simulation::gather`].
    pub fn gather<T: Serialize + DeserializeOwned>(&self, own: T) -> Vec<T> {
        self.simulation.gather(own)
    }

    /// See [`Simulation::collect`].
    pub fn collect(&self, own: Vec<u8>) -> Vec<Vec<u8>> {
        self.simulation.collect(own)
    }

    /// The lists of all processes, one after the other.
    pub(super) fn gather_list<T: Serialize + DeserializeOwned>(&self, own: Vec<T>) -> Vec<T> {
        self.gather(own).into_iter().flatten().collect()
    }

    /// The overseer.
    pub fn overseer(&self) -> &B::Overseer {
        &self.overseer
    }

    /// The topology.
    pub fn shape(&self) -> &B::Shape {
        &self.shape
    }

    /// Current time.
    pub fn now(&self) -> Time {
        self.simulation.now()
    }

    /// See [`Simulation::spare_threads`].
    pub fn spare_threads(&mut self) {
        self.simulation.spare_threads();
    }

    /// Applies all events before `until`.
    pub fn run_until(&mut self, until: Time, threads: usize, progress: &Progress) -> Reached {
        loop {
            let acts = self.overseer.next_time().filter(|&at| at < until);
            let reached = self.simulation.run_until(acts.unwrap_or(until), threads, progress);
            let goes_on = match reached {
                Reached::Time => true,
                Reached::Idle => self.overseer.holds(),
                Reached::Stopped => false,
            };
            match acts {
                Some(at) if goes_on => self.overseer.act(at, &mut self.simulation),
                _ => return reached,
            }
        }
    }

    /// The blocks of this process: all, unless others simulate some.
    pub fn blocks(&mut self) -> impl Iterator<Item = &mut B> {
        self.simulation.blocks()
    }

    /// The completed windows of the time series, for the whole machine.
    pub fn windows(&mut self) -> Vec<WindowRecord> {
        let now = self.now();
        let mut sum: Vec<WindowRecord> = vec![];
        for block in self.simulation.blocks() {
            let windows = block.windows(now);
            sum.resize_with(sum.len().max(windows.len()), WindowRecord::default);
            sum.iter_mut().zip(windows).for_each(|(sum, window)| sum.merge(window));
        }
        let mut all = self.gather(sum).into_iter();
        let mut sum = all.next().unwrap_or_default();
        for windows in all {
            sum.resize_with(sum.len().max(windows.len()), WindowRecord::default);
            sum.iter_mut().zip(&windows).for_each(|(sum, window)| sum.merge(window));
        }
        sum
    }

    /// Makes the windows of the time series twice as long, those of the past too: now, at the end of one with
    /// an even number.
    ///
    /// # Panics
    /// If no such window ends now.
    pub fn widen_windows(&mut self) {
        let now = self.now();
        self.simulation.blocks().for_each(|block| block.recorder_mut().widen(now));
    }

    /// Sums over the whole run so far, for the whole machine.
    pub fn so_far(&mut self) -> WindowRecord {
        let mut own = WindowRecord::default();
        self.simulation.blocks().for_each(|b| own.merge(&b.so_far()));
        let mut sum = WindowRecord::default();
        self.gather(own).iter().for_each(|of| sum.merge(of));
        sum
    }

    /// Sums over the whole machine since the statistics were restarted.
    pub fn totals(&mut self) -> Totals {
        let mut own = Totals::default();
        self.simulation.blocks().for_each(|b| own.merge(b.totals()));
        let mut sum = Totals::default();
        self.gather(own).iter().for_each(|of| sum.merge(of));
        sum
    }

    /// Restarts the statistics of links and totals.
    pub fn restart_counting(&mut self) {
        let now = self.now();
        self.simulation.blocks().for_each(|b| b.restart_counting(now));
    }

    /// Packets in the network.
    pub fn in_flight(&mut self) -> i64 {
        let own: i64 = self.simulation.blocks().map(|b| b.in_flight()).sum();
        self.gather(own).into_iter().sum()
    }

    /// Memory of the network's state, and of the packets in it, bytes.
    pub fn bytes(&mut self) -> (usize, usize) {
        let sum = |a: (usize, usize), b: (usize, usize)| (a.0 + b.0, a.1 + b.1);
        let own = self.simulation.blocks().map(|b| b.bytes()).fold((0, 0), sum);
        self.gather(own).into_iter().fold((0, 0), sum)
    }

    /// If no event is pending but packets are in the network, or wait to enter it: which packets wait for
    /// which resources.
    pub fn stall(&mut self) -> Option<StallReport> {
        if self.simulation.next_time().is_some() {
            return None;
        }
        let in_flight = self.in_flight();
        let waiting = self.simulation.blocks().flat_map(|b| b.waiting()).collect();
        let waiting = self.gather_list(waiting);
        (in_flight != 0 || !waiting.is_empty()).then_some(StallReport { in_flight, waiting })
    }

    /// Everything that is not idle although no packet is in flight; see [`RouterBlock::unrest`].
    pub fn unrest(&mut self) -> Vec<String> {
        let own = self.simulation.blocks().flat_map(|b| b.unrest()).collect();
        self.gather_list(own)
    }

    /// Block and index of a router, or of a node if every node has its own router.
    pub fn place(&self, node: u32) -> (u32, u32) {
        self.places[node as usize]
    }
}

impl<B: NodeBlock> Network<B> {
    /// The topology.
    pub fn torus(&self) -> &Torus {
        &self.shape
    }

    /// Traffic of each working torus link, as (node, port, counts), by node.
    pub fn links(&mut self) -> Vec<(u32, usize, LinkCounts)> {
        let (ports, nodes) = (self.shape.ports(), self.shape.nodes());
        self.links_of(|node, port| node < nodes && port < ports)
    }

    /// The same for each IO link.
    pub fn io_links(&mut self) -> Vec<(u32, usize, LinkCounts)> {
        let torus = self.shape.clone();
        self.links_of(|node, port| torus.is_io_link(node, port))
    }

    /// Node and port of each working link, IO links last.
    fn all_links(&mut self) -> Vec<(u32, usize)> {
        let all = [self.links(), self.io_links()];
        all.iter().flatten().map(|&(node, port, _)| (node, port)).collect()
    }

    fn links_of(&mut self, wanted: impl Fn(u32, usize) -> bool) -> Vec<(u32, usize, LinkCounts)> {
        let now = self.now();
        let mut list = vec![];
        for block in self.simulation.blocks() {
            for node in 0..block.numbers().len() {
                let number = block.numbers()[node];
                let links = (0..=IO_PORT).filter(|&p| wanted(number, p) && block.has_link(node, p));
                list.extend(links.map(|p| (number, p, block.link(node, p, now))));
            }
        }
        let mut list = self.gather_list(list);
        list.sort_unstable_by_key(|l| (l.0, l.1));
        list
    }

    /// The machine's own performance counters of each working link, as (node, port, counts), by node; empty
    /// if there are none or they are off.
    pub fn counters(&mut self) -> Vec<(u32, usize, PortCounters)> {
        let (torus, now) = (self.shape.clone(), self.now());
        let mut list = vec![];
        for block in self.simulation.blocks() {
            for node in (0..block.numbers().len()).filter(|&node| !torus.is_io_node(block.numbers()[node])) {
                let ports = torus.ports();
                let of = |port| Some((block.numbers()[node], port, block.counters(node, port, now)?));
                list.extend((0..ports).filter(|&p| block.has_link(node, p)).filter_map(of));
            }
        }
        let mut list = self.gather_list(list);
        list.sort_unstable_by_key(|l| (l.0, l.1));
        list
    }

    /// Something of each working link, IO links last, as (node, port, it), by node.
    fn of_links<T: Serialize + DeserializeOwned>(
        &mut self,
        of: impl Fn(&B, usize, usize) -> T,
    ) -> Vec<(u32, usize, T)> {
        let links = self.all_links();
        let own = self.simulation.numbers();
        let blocks: Vec<_> = self.simulation.blocks().collect();
        let found = links.iter().filter_map(|&(number, port)| {
            let (block, node) = self.places[number as usize];
            let is_own = own.contains(&(block as usize));
            is_own.then(|| (number, port, of(blocks[block as usize - own.start], node as usize, port)))
        });
        let found = found.collect();
        let all = self.gather_list(found);
        let mut by_link: HashMap<_, T> = all.into_iter().map(|(n, port, it)| ((n, port), it)).collect();
        let take = |(n, port)| by_link.remove(&(n, port)).map(|it| (n, port, it));
        links.into_iter().filter_map(take).collect()
    }

    /// Errors of each working link, IO links last, as (node, port, counts), by node.
    pub fn link_errors(&mut self) -> Vec<(u32, usize, LinkErrors)> {
        self.of_links(|block, node, port| block.link_errors(node, port))
    }

    /// Links, by sending node and port, whose CRCs of sent and received packets differ: for user packets, or
    /// (`true`) system packets. Call it at the end, when no packet is in flight.
    pub fn crc_mismatches(&mut self) -> Vec<(u32, usize, bool)> {
        let all = self.of_links(|block, node, port| block.crcs(node, port));
        let crcs: HashMap<_, _> = all.iter().filter_map(|&(n, p, crcs)| Some(((n, p), crcs?))).collect();
        let mut found = vec![];
        for (node, port, sender) in all {
            let receiver = self.shape.link(node, port).and_then(|end| crcs.get(&end));
            if let Some((sender, receiver)) = sender.zip(receiver) {
                let differs = |class: &usize| sender.sent[*class] != receiver.received[*class];
                found.extend((0..2).filter(differs).map(|class| (node, port, class == 1)));
            }
        }
        found
    }

    /// Errors of all links since the statistics were restarted.
    pub fn errors(&mut self) -> LinkErrors {
        let mut own = LinkErrors::default();
        self.simulation.blocks().for_each(|b| own.merge(&b.errors()));
        let mut sum = LinkErrors::default();
        self.gather(own).iter().for_each(|of| sum.merge(of));
        sum
    }

    /// Units that have stopped to keep an error from propagating, earliest first.
    pub fn stopped(&mut self) -> Vec<StoppedUnit> {
        let own = self.simulation.blocks().flat_map(|b| b.stopped().to_vec()).collect();
        let mut list = self.gather_list(own);
        list.sort_unstable();
        list
    }
}
