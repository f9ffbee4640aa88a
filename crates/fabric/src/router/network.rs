//! The face of a network to the layers above, whatever its routers are: blocks of nodes, run and read out.

use super::errors::{Errors, LinkCrcs};
use super::partition::NOWHERE;
use super::port::Port;
use super::queued::{CounterMasks, PortCounters};
use super::stall::{StallReport, StoppedUnit, WaitingPacket};
use super::statistics::{LinkCounts, LinkErrors, Recorder, Totals, WindowRecord};
use crate::host::{Family, Host};
use crate::topology::io::IO_PORT;
use crate::topology::torus::Torus;
use netloom_engine::{Block, Progress, Reached, Simulation, Time};

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
    pub window: u64,
    /// Whether to find out which token-acks free a blocked packet (costs time).
    pub unblocking: bool,
    /// What the machine's own performance counters are programmed for, if they are on: of routers that have any.
    pub counters: Option<CounterMasks>,
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
            counters: None,
        }
    }
}

/// Routers that one thread simulates at a time, with the hosts of their nodes: what each family of routers has.
pub trait RouterBlock: Block + Sized {
    /// The family, as its hosts see it.
    type Family: Family;

    /// The nodes' side.
    type Host: Host<Self::Family>;

    /// What the network looks like from outside.
    type Shape;

    /// Who watches over it.
    type Overseer: Overseer<Self>;

    /// The nodes' side, to read it out.
    fn host(&self) -> &Self::Host;

    /// The nodes' side, to change it between windows.
    fn host_mut(&mut self) -> &mut Self::Host;

    /// The block's statistics.
    fn recorder(&self) -> &Recorder;

    /// The same, to be brought up to date.
    fn recorder_mut(&mut self) -> &mut Recorder;

    /// Windows of the series that have ended before `now`.
    fn windows(&mut self, now: Time) -> &[WindowRecord] {
        let recorder = self.recorder_mut();
        recorder.reach(now);
        &recorder.windows
    }

    /// Sums over all windows so far, the current one included.
    fn so_far(&self) -> WindowRecord {
        self.recorder().so_far()
    }

    /// Sums since counting began.
    fn totals(&self) -> &Totals {
        &self.recorder().totals
    }

    /// Packets in the network or at the heads of injection FIFOs.
    fn packets(&self) -> usize;

    /// Packets that have left their injection FIFO and are not yet delivered, less those that were injected in another
    /// block: only the sum over all blocks means something.
    fn under_way(&self) -> i64 {
        self.recorder().under_way
    }

    /// Begins counting anew at `now`, the time reached: links and totals; the series go on.
    fn restart_counting(&mut self, now: Time);

    /// Bytes of the network's state, and of what the packets in it need.
    fn bytes(&self) -> (usize, usize);

    /// All packets at the heads of this block's queues and injection FIFOs, in the order of nodes.
    fn waiting(&self) -> Vec<WaitingPacket>;

    /// What is not as it must be when nothing is under way, in words; nothing if all is well: every token back, every VC,
    /// link and bus free.
    fn unrest(&self) -> Vec<String>;
}

/// Who watches over a machine from outside, and changes it while all its blocks stand at the same time.
pub trait Overseer<B: RouterBlock> {
    /// When to act next, if at all.
    fn next_time(&self) -> Option<Time>;

    /// Whether something may happen again once it has acted, although nothing will happen before.
    fn holds(&self) -> bool;

    /// Acts. Everything before `now` has happened.
    fn act(&mut self, now: Time, simulation: &mut Simulation<B>);
}

/// Nobody does.
impl<B: RouterBlock> Overseer<B> for () {
    fn next_time(&self) -> Option<Time> {
        None
    }

    fn holds(&self) -> bool {
        false
    }

    fn act(&mut self, _: Time, _: &mut Simulation<B>) {}
}

/// Nodes of a torus, each with a router of its own.
pub trait NodeBlock: RouterBlock<Shape = Torus> {
    /// The machine's numbers of the block's nodes, in the block's order.
    fn numbers(&self) -> &[u32];

    /// The link of a node's port.
    fn port(&self, node: usize, port: usize) -> &Port;

    /// What there is where links corrupt bits.
    fn link_protection(&self) -> Option<&Errors>;

    /// Of what a node's link had begun when counting began, ticks that were still to go then.
    fn carried(&self, node: usize, port: usize) -> u32;

    /// Time that packets of so many chunks in all, and acknowledgements, take on a link.
    fn sending(&self, packets: u64, chunks: u64, acks: u64) -> u64;

    /// Traffic of a node's link from when counting began to `now`, the time reached.
    fn link(&self, node: usize, port: usize, now: Time) -> LinkCounts {
        let sending = |packets, chunks, acks| self.sending(packets, chunks, acks);
        self.port(node, port).counts(now, self.carried(node, port), sending)
    }

    /// Whether a port of a node has a link that works.
    fn has_link(&self, node: usize, port: usize) -> bool {
        self.port(node, port).neighbour != NOWHERE
    }

    /// What went wrong on a node's link since counting began.
    fn link_errors(&self, node: usize, port: usize) -> LinkErrors {
        self.link_protection().map_or(LinkErrors::default(), |e| e.counted(node, port))
    }

    /// CRCs of all that a node's port has sent and received since the start; nothing where no link has errors.
    fn crcs(&self, node: usize, port: usize) -> Option<LinkCrcs> {
        Some(self.link_protection()?.crcs(node, port))
    }

    /// What went wrong on all links of the block since counting began.
    fn errors(&self) -> LinkErrors {
        self.link_protection().map_or(LinkErrors::default(), |e| e.sum())
    }

    /// Units that have stopped rather than let anything wrong out.
    fn stopped(&self) -> &[StoppedUnit] {
        &[]
    }

    /// What the machine's own performance counters of a port say at `now`, since counting began; none where there are none, or off.
    fn counters(&self, _node: usize, _port: usize, _now: Time) -> Option<PortCounters> {
        None
    }
}

/// A machine of blocks of routers.
pub struct Network<B: RouterBlock> {
    simulation: Simulation<B>,
    shape: B::Shape,
    /// Block and place of each router, or of each node where every node has one.
    places: Vec<(u32, u32)>,
    overseer: B::Overseer,
}

impl<B: RouterBlock> Network<B> {
    /// From its blocks, each with the blocks to which it sends, in the order of its lanes.
    pub(super) fn of(
        blocks: Vec<B>,
        lanes: Vec<Vec<u32>>,
        lookahead: u64,
        shape: B::Shape,
        places: Vec<(u32, u32)>,
        overseer: B::Overseer,
    ) -> Self {
        Network { simulation: Simulation::new(blocks, lanes, lookahead), shape, places, overseer }
    }

    /// Who watches over it.
    pub fn overseer(&self) -> &B::Overseer {
        &self.overseer
    }

    /// The shape.
    pub fn shape(&self) -> &B::Shape {
        &self.shape
    }

    /// Time reached.
    pub fn now(&self) -> Time {
        self.simulation.now()
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

    /// The blocks.
    pub fn blocks(&mut self) -> impl Iterator<Item = &mut B> {
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

    /// What is not at rest although nothing is under way; see [`RouterBlock::unrest`].
    pub fn unrest(&mut self) -> Vec<String> {
        self.simulation.blocks().flat_map(|b| b.unrest()).collect()
    }

    /// Block and place within it of a router, or of a node where every node has one.
    pub fn place(&self, node: u32) -> (u32, u32) {
        self.places[node as usize]
    }
}

impl<B: NodeBlock> Network<B> {
    /// The shape.
    pub fn torus(&self) -> &Torus {
        &self.shape
    }

    /// Traffic of each link of the torus that works, as (node, port, counts), in the order of nodes.
    pub fn links(&mut self) -> Vec<(u32, usize, LinkCounts)> {
        let (ports, nodes) = (self.shape.ports(), self.shape.nodes());
        self.links_of(|node, port| node < nodes && port < ports)
    }

    /// The same of each IO link.
    pub fn io_links(&mut self) -> Vec<(u32, usize, LinkCounts)> {
        let torus = self.shape.clone();
        self.links_of(|node, port| torus.is_io_link(node, port))
    }

    /// Node and port of each link that works, IO links behind the others.
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
        list.sort_unstable_by_key(|l| (l.0, l.1));
        list
    }

    /// What the machine's own performance counters say of each link that works, as (node, port, counts), in the order of nodes; empty where
    /// there are none, or off.
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
        list.sort_unstable_by_key(|l| (l.0, l.1));
        list
    }

    /// What went wrong on each link that works, IO links behind the others, as (node, port, counts), in the order of nodes.
    pub fn link_errors(&mut self) -> Vec<(u32, usize, LinkErrors)> {
        let links = self.all_links();
        let blocks: Vec<_> = self.simulation.blocks().collect();
        let counts = |(number, port): (u32, usize)| {
            let (block, node) = self.places[number as usize];
            (number, port, blocks[block as usize].link_errors(node as usize, port))
        };
        links.into_iter().map(counts).collect()
    }

    /// Links, as node and port that sends, whose CRCs of all packets sent and of all received do not agree: of users' packets, or
    /// (`true`) of the system's. To be asked at the end, when nothing is on its way.
    pub fn crc_mismatches(&mut self) -> Vec<(u32, usize, bool)> {
        let links = self.all_links();
        let blocks: Vec<_> = self.simulation.blocks().collect();
        let crcs = |number: u32, port: usize| {
            let (block, node) = self.places[number as usize];
            blocks[block as usize].crcs(node as usize, port)
        };
        let mut found = vec![];
        for (node, port) in links {
            let ends =
                crcs(node, port).zip(self.shape.link(node, port).and_then(|(n, there)| crcs(n, there)));
            if let Some((sender, receiver)) = ends {
                let differs = |class: &usize| sender.sent[*class] != receiver.received[*class];
                found.extend((0..2).filter(differs).map(|class| (node, port, class == 1)));
            }
        }
        found
    }

    /// What went wrong on all links since counting began.
    pub fn errors(&mut self) -> LinkErrors {
        let mut sum = LinkErrors::default();
        self.simulation.blocks().for_each(|b| sum.merge(&b.errors()));
        sum
    }

    /// Units that have stopped rather than let anything wrong out, the first first.
    pub fn stopped(&mut self) -> Vec<StoppedUnit> {
        let mut list: Vec<_> = self.simulation.blocks().flat_map(|b| b.stopped().to_vec()).collect();
        list.sort_unstable();
        list
    }
}
