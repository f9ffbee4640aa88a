//! Messages over the TH Express NIC, by libglex: short ones are mini-packets (the shared channel of
//! MPICH2-GLEX2; Pang et al., section 3.3); the data of longer ones is fetched by RDMA gets into the
//! receiver's buffer (its zero-copy rendezvous).

use super::packets::Placement;
use crate::device::{GlexDevice, Simulated};
use crate::glex::tree::{Tree, TreeOperation};
use crate::program::Collective;
use crate::transport::{ENVELOPE_B, Envelope, Event, Transport};
use netloom_nic::th::status::Refusal;
use netloom_nic::th::{Address, EventKind, Options, Request, Submission, Watch, Write, submission_of};
use netloom_node::thread::Thread;
use netloom_node::time::Microticks;
use smallvec::{SmallVec, smallvec};
use std::collections::VecDeque;
use std::sync::Arc;

/// The endpoints' key, and the capacities of their event and mini-packet queues.
const KEY: u16 = 7;
const ENTRIES: usize = 1 << 14;
/// Addresses of outgoing and incoming data, by request.
const AT: u64 = 1 << 32;
const BYTES: u64 = 1 << 39;
const OUT: u64 = AT;
const IN: u64 = AT + (1 << 38);
const BUFFER_B: u64 = 1 << 28;
const BUFFERS: u32 = 64;
/// Interval at which the library retries after a descriptor queue was full: no event reports free space.
const RETRY: Microticks = Microticks::of_ticks(300);

/// The endpoints of collective operations: their key, the capacity of their queues; the degree of the tree
/// **(ours)**, and the maximum size of a sum by NICs, bytes.
const COLLECTIVE_KEY: u16 = 8;
const COLLECTIVE_ENTRIES: usize = 64;
const DEGREE: u32 = 4;
const SUM_MAX_B: u64 = 48;

/// A collective operation in progress.
#[derive(Clone, Copy, Debug)]
enum Stage {
    /// In the barrier before it.
    Parting(TreeOperation, u64),
    Under(TreeOperation),
    /// Complete.
    Over,
}

/// A request to be submitted.
#[derive(Clone, Copy, Debug)]
enum Work {
    Message(u32, Envelope),
    Fetch { from: u32, remote: u32, bytes: u64, request: u32 },
}

/// A rank's messages on its TH Express NIC.
pub struct GlexTransport<D> {
    device: D,
    placement: Arc<Placement>,
    endpoint: u8,
    rank: u32,
    /// The endpoint for collective operations, this rank's position in their tree, and the operation in
    /// progress.
    collectives: u8,
    tree: Option<Tree>,
    stage: Option<Stage>,
    /// Requests for which the descriptor queue had no space.
    waiting: VecDeque<Work>,
}

impl<D: GlexDevice> GlexTransport<D> {
    /// For a process.
    pub fn new(device: D, placement: &Arc<Placement>, rank: u32) -> Self {
        GlexTransport {
            device,
            placement: Arc::clone(placement),
            endpoint: 0,
            rank,
            collectives: 0,
            tree: None,
            stage: None,
            waiting: VecDeque::new(),
        }
    }

    /// Posts the sequences of an operation of the tree.
    fn post(&mut self, operation: TreeOperation, bytes: u64) {
        let Some(tree) = &self.tree else { return };
        let mine = vec![0; bytes.next_multiple_of(8).max(8) as usize];
        let list = tree.sequences(operation, &mine);
        if let Err(refusal) =
            list.into_iter().try_for_each(|request| self.device.post(self.collectives, request))
        {
            self.device.fail("glex_post_list", format!("{refusal:?}"));
        }
        // The root of a broadcast gets no notification: it has the data.
        let reported = tree.parent.is_some() || operation != TreeOperation::Broadcast;
        self.stage = Some(if reported { Stage::Under(operation) } else { Stage::Over });
    }

    /// Advances the collective operation in progress. Returns whether it is complete.
    fn advance_collective(&mut self) -> bool {
        if self.stage.is_none() {
            return false;
        }
        let fail = |call: &str, refusal: Refusal| self.device.fail(call, format!("{refusal:?}"));
        let (events, mini_packets) = self.device.has_any(self.collectives);
        match self.stage {
            Some(Stage::Parting(operation, bytes)) if events => {
                if let Err(refusal) = self.device.poll_event(self.collectives) {
                    fail("glex_poll_event", refusal);
                }
                self.post(operation, bytes);
            }
            Some(Stage::Under(TreeOperation::Barrier)) if events => {
                if let Err(refusal) = self.device.poll_event(self.collectives) {
                    fail("glex_poll_event", refusal);
                }
                self.stage = Some(Stage::Over);
            }
            Some(Stage::Under(TreeOperation::Broadcast | TreeOperation::Sum)) if mini_packets => {
                if let Err(refusal) = self.device.poll_mini_packet(self.collectives) {
                    fail("glex_poll_mini_packet", refusal);
                }
                self.stage = Some(Stage::Over);
            }
            _ => {}
        }
        self.stage.take_if(|stage| matches!(stage, Stage::Over)).is_some()
    }

    /// Each process of a node has the virtual port with its own number, see [`Self::create_endpoint`].
    fn address(&self, rank: u32) -> Address {
        Address { node: self.placement.node(rank), vp: self.placement.process(rank), key: KEY }
    }

    /// The first processes of a node get the ports whose descriptors the processor writes, the others those
    /// whose descriptors the NIC fetches: ports are taken in order, so each has the number of its process.
    fn create_endpoint(&self) -> Result<u8, Refusal> {
        let own = self.placement.process(self.rank);
        let endpoint = self.device.create_endpoint(submission_of(own), KEY, ENTRIES)?;
        if endpoint == own { Ok(endpoint) } else { Err(Refusal::NotOwned) }
    }

    fn submit(&self, work: Work) -> Result<(), Refusal> {
        let endpoint = self.endpoint;
        match work {
            Work::Message(to, envelope) => {
                let mut data = envelope.to_bytes().to_vec();
                data.resize(
                    ENVELOPE_B + if envelope.carries_data() { envelope.bytes as usize } else { 0 },
                    0,
                );
                self.device.post(endpoint, Request::mini_packet(&[self.address(to)], &data))
            }
            Work::Fetch { from, remote, bytes, request } => {
                let place = |base: u64, request: u32| base + u64::from(request % BUFFERS) * BUFFER_B;
                let places = (place(IN, request), place(OUT, remote), bytes);
                let options = Options { local_event: Some(request), ..Options::default() };
                self.device.post(endpoint, Request::get(self.address(from), places).with(options))
            }
        }
    }

    fn start_all(&mut self) {
        while let Some(&work) = self.waiting.front() {
            match self.submit(work) {
                Ok(()) => drop(self.waiting.pop_front()),
                Err(Refusal::QueueFull) => return,
                Err(refusal) => {
                    self.device.fail("glex", format!("{refusal:?}"));
                    return;
                }
            }
        }
    }
}

impl<D: GlexDevice + Simulated<Command = Write, Watch = Watch>> Transport for GlexTransport<D> {
    type Command = Write;
    type Watch = Watch;

    fn thread(&self) -> &Thread<Write, Watch> {
        self.device.thread()
    }

    fn start(&mut self) {
        let made = self.create_endpoint().and_then(|endpoint| {
            self.endpoint = endpoint;
            self.device.register(endpoint, AT, BYTES)?;
            if !self.placement.has_collectives() {
                return Ok(());
            }
            self.collectives =
                self.device.create_endpoint(Submission::Dma, COLLECTIVE_KEY, COLLECTIVE_ENTRIES)?;
            let ranks = self.placement.nodes().len() as u32;
            let address =
                |rank| Address { node: self.placement.node(rank), vp: self.collectives, key: COLLECTIVE_KEY };
            self.tree = Some(Tree::regular(self.rank, ranks, DEGREE, address));
            Ok(())
        });
        if let Err(refusal) = made {
            self.device.fail("glex_create_endpoint", format!("{refusal:?}"));
        }
    }

    fn eager_max_bytes(&self) -> u64 {
        self.device.mini_packet_max_bytes() - ENVELOPE_B as u64
    }

    fn fetches(&self) -> bool {
        true
    }

    fn send(&mut self, to: u32, envelope: Envelope) {
        self.waiting.push_back(Work::Message(to, envelope));
        self.start_all();
    }

    fn fetch(&mut self, from: u32, remote: u32, bytes: u64, request: u32) {
        self.waiting.push_back(Work::Fetch { from, remote, bytes, request });
        self.start_all();
    }

    fn collective_max_bytes(&self, what: Collective) -> Option<u64> {
        let most = match what {
            Collective::Barrier => 0,
            Collective::Broadcast | Collective::Allreduce => SUM_MAX_B,
            Collective::Reduce => return None,
        };
        self.placement.has_collectives().then_some(most)
    }

    /// By sequences of descriptors (section 2.5). A barrier separates each operation from the one before it
    /// (section 4.7).
    fn collective(&mut self, what: Collective, bytes: u64) {
        self.post(TreeOperation::Barrier, 0);
        let operation = match what {
            Collective::Barrier => return,
            Collective::Broadcast => TreeOperation::Broadcast,
            Collective::Allreduce => TreeOperation::Sum,
            Collective::Reduce => unreachable!("it is not supported"),
        };
        self.stage = Some(Stage::Parting(operation, bytes));
    }

    fn advance(&mut self) -> Option<Event> {
        if self.advance_collective() {
            return Some(Event::Collected);
        }
        let (events, mini_packets) = self.device.has_any(self.endpoint);
        let fail = |call: &str, refusal: Refusal| self.device.fail(call, format!("{refusal:?}"));
        if events {
            match self.device.poll_event(self.endpoint) {
                Ok(event) if event.kind == EventKind::Local => {
                    return Some(Event::Fetched { request: event.user });
                }
                // The notification that another node has read this side's memory.
                Ok(_) => {}
                Err(refusal) => fail("glex_poll_event", refusal),
            }
        }
        if mini_packets {
            match self.device.poll_mini_packet(self.endpoint) {
                Ok(mini) => {
                    let from = self.placement.rank(mini.from.0, mini.from.1)?;
                    return Some(Event::Arrived { from, envelope: Envelope::of_bytes(&mini.data) });
                }
                Err(refusal) => fail("glex_poll_mini_packet", refusal),
            }
        }
        self.start_all();
        None
    }

    fn watches(&self) -> (SmallVec<[Watch; 2]>, Option<Microticks>) {
        let most = (!self.waiting.is_empty()).then_some(RETRY);
        let mut any: SmallVec<[Watch; 2]> =
            smallvec![Watch::Events(self.endpoint), Watch::MiniPackets(self.endpoint)];
        if self.stage.is_some() {
            any.extend([Watch::Events(self.collectives), Watch::MiniPackets(self.collectives)]);
        }
        (any, most)
    }

    fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }
}
