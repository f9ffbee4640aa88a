//! Programs on simulated nodes: their messages cut into packets, put together again, and matched.
//!
//! The protocol is the simplest that is right, eager for every size: a message's packets leave in order as the injection
//! FIFOs take them, those of a few messages in turn; the network may deliver them in any order; a message counts as arrived when all of its packets and all
//! earlier messages between the two ranks have, and is then matched by source and tag. A send has finished when its last
//! packet has been handed to an injection FIFO. Software costs no time here, beyond what the programs compute.

use crate::matching::Matching;
use crate::program::{Issue, OpId, Operation, Program};
use netloom_engine::Time;
use netloom_fabric::config::Outline;
use netloom_fabric::host::{Delivery, Pull};
use netloom_fabric::packet::{Header, Meta};
use netloom_fabric::routing::hints;
use netloom_fabric::topology::torus::Torus;
use netloom_nic::fifo::{Calls, Software};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

/// What the ranks of a run share.
#[derive(Debug)]
pub struct Layout {
    network: Outline,
    torus: Torus,
    /// Node of each rank.
    nodes: Vec<u32>,
    /// Data of a full packet, bytes.
    payload: u64,
    /// Lanes that a node's packets go into, all in turn.
    lanes: Vec<usize>,
    /// STATIC, HIGH.
    flags: u16,
}

impl Layout {
    /// Ranks on these nodes; their packets have these header flags and go into these lanes of a node's interface.
    pub fn new(network: &Outline, nodes: &[u32], lanes: &[usize], flags: u16) -> Self {
        let packet = &network.packet;
        Layout {
            network: network.clone(),
            torus: Torus::new(&network.topology),
            nodes: nodes.to_vec(),
            payload: u64::from(
                packet.chunks_max * packet.chunk_B - packet.header_B - packet.software_header_B,
            ),
            lanes: lanes.to_vec(),
            flags,
        }
    }

    fn packets(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.payload).max(1)
    }

    fn ticks(&self, ns: u64) -> u64 {
        (u128::from(ns) * u128::from(self.network.ticks_per_second)).div_ceil(1_000_000_000) as u64
    }

    /// Header of packet `i` of a message.
    fn header(&self, from: u32, to: u32, bytes: u64, i: u64) -> Header {
        let packet = &self.network.packet;
        let data = (bytes - (i * self.payload).min(bytes)).min(self.payload) as u32;
        let chunks = (packet.header_B + packet.software_header_B + data).div_ceil(packet.chunk_B);
        let (from, to) = (self.torus.coordinates(from), self.torus.coordinates(to));
        let hints = hints::minimal(&self.torus, from, to, self.network.halfway_tie);
        Header::new(to, hints, chunks, self.flags)
    }
}

/// A message on its way out of a node.
struct Outgoing {
    op: OpId,
    to: u32,
    tag: u32,
    bytes: u64,
    sequence: u32,
    packets: u64,
    sent: u64,
}

/// A message that some packets of have arrived, or that waits for an earlier one.
struct Incoming {
    tag: u32,
    bytes: u64,
    missing: u64,
}

/// A rank and its node's messages.
struct RankState {
    program: Box<dyn Program>,
    rank: u32,
    /// Messages to be sent, in order. Packets are cut in turn from the first ones, as many as there are lanes, so that a
    /// message to one side does not keep the links to the others idle.
    outgoing: VecDeque<Outgoing>,
    /// Which of those is next.
    turn: usize,
    /// Messages sent to each rank so far.
    sequence_out: HashMap<u32, u32>,
    /// For each sending rank: the next message to be matched, and those not yet complete or too early.
    incoming: HashMap<u32, (u32, BTreeMap<u32, Incoming>)>,
    matching: Matching<OpId, u64>,
    finished_at: Option<Time>,
}

/// A receive that has been posted: source and tag, none for any.
pub type Awaited = (Option<u32>, Option<u32>);

/// The programs of a block's nodes.
pub struct Programs {
    layout: Arc<Layout>,
    /// By node of the block; none where no rank runs.
    ranks: Vec<Option<RankState>>,
    issue: Issue,
    /// Programs not yet done.
    running: usize,
    /// Messages matched, and their bytes.
    pub messages: u64,
    /// Payload that arrived, bytes.
    pub payload_bytes: u64,
    /// Packets that arrived.
    pub delivered: u64,
}

/// Wake-up that starts a rank's program.
const START: u32 = 1 << 30;
/// Wake-up for a message that a rank sent to itself.
const TO_SELF: u32 = (1 << 30) + 1;

impl Programs {
    /// The programs for the nodes of a block. `program` gives the program of each rank that runs on one of them.
    pub fn new(
        layout: &Arc<Layout>,
        numbers: &[u32],
        mut program: impl FnMut(u32) -> Box<dyn Program>,
    ) -> Self {
        let mut ranks: Vec<Option<RankState>> = numbers.iter().map(|_| None).collect();
        let mut place = HashMap::new();
        for (i, &n) in numbers.iter().enumerate() {
            place.insert(n, i);
        }
        let mut running = 0;
        for (rank, node) in layout.nodes.iter().enumerate() {
            if let Some(&i) = place.get(node) {
                running += 1;
                ranks[i] = Some(RankState {
                    program: program(rank as u32),
                    rank: rank as u32,
                    outgoing: VecDeque::new(),
                    turn: 0,
                    sequence_out: HashMap::new(),
                    incoming: HashMap::new(),
                    matching: Matching::new(),
                    finished_at: None,
                });
            }
        }
        Programs {
            layout: Arc::clone(layout),
            ranks,
            issue: Issue::new(),
            running,
            messages: 0,
            payload_bytes: 0,
            delivered: 0,
        }
    }

    /// Programs that have not ended.
    pub fn running(&self) -> usize {
        self.running
    }

    /// When each rank's program ended, ticks: by rank, for those of this block.
    pub fn finished(&self) -> impl Iterator<Item = (u32, Option<Time>)> + '_ {
        self.ranks.iter().flatten().map(|r| (r.rank, r.finished_at))
    }

    /// Ranks that wait, each with what it waits for: the receives that it has posted, as (source, tag).
    pub fn waiting(&self) -> Vec<(u32, Vec<Awaited>)> {
        let stuck = self.ranks.iter().flatten().filter(|r| r.finished_at.is_none());
        stuck.map(|r| (r.rank, r.matching.posted().map(|p| (p.0, p.1)).collect())).collect()
    }

    fn rank(&mut self, node: u32) -> &mut RankState {
        self.ranks[node as usize].as_mut().expect("only nodes with a rank have programs")
    }

    /// Does what a program has just issued; follows up what that finishes at once.
    fn perform(&mut self, now: Time, node: u32, calls: &mut Calls) {
        let mut finished = VecDeque::new();
        loop {
            let mut issue = std::mem::take(&mut self.issue);
            let layout = Arc::clone(&self.layout);
            let state = self.rank(node);
            for (op, operation) in issue.drain() {
                match operation {
                    Operation::Compute { ns, .. } => match layout.ticks(ns) {
                        0 => finished.push_back(op),
                        ticks => calls.wake(node, now + ticks, op.0),
                    },
                    Operation::Send { to, bytes, tag } => {
                        let sequence = state.sequence_out.entry(to).or_insert(0);
                        let message = Outgoing {
                            op,
                            to,
                            tag,
                            bytes,
                            sequence: *sequence,
                            packets: layout.packets(bytes),
                            sent: 0,
                        };
                        *sequence += 1;
                        if to == state.rank {
                            finished.push_back(op);
                            let incoming = Incoming { tag, bytes, missing: 0 };
                            let rank = state.rank;
                            state.incoming.entry(rank).or_default().1.insert(message.sequence, incoming);
                            calls.wake(node, now + 1, TO_SELF);
                        } else {
                            state.outgoing.push_back(message);
                            layout.lanes.iter().for_each(|&lane| calls.ready(node, lane));
                        }
                    }
                    Operation::Receive { from, tag, .. } => {
                        if state.matching.post(from, tag, op).is_some() {
                            finished.push_back(op);
                        }
                    }
                }
            }
            self.issue = issue;
            let Some(op) = finished.pop_front() else { break };
            let mut issue = std::mem::take(&mut self.issue);
            self.rank(node).program.finished(op, &mut issue);
            self.issue = issue;
        }
        self.note_end(now, node);
    }

    fn finish(&mut self, now: Time, node: u32, op: OpId, calls: &mut Calls) {
        let mut issue = std::mem::take(&mut self.issue);
        self.rank(node).program.finished(op, &mut issue);
        self.issue = issue;
        self.perform(now, node, calls);
    }

    fn note_end(&mut self, now: Time, node: u32) {
        let state = self.rank(node);
        if state.finished_at.is_none() && state.program.is_done() {
            state.finished_at = Some(now);
            self.running -= 1;
        }
    }

    /// Matches the messages from a rank that have become complete in their order.
    fn accept(&mut self, now: Time, node: u32, source: u32, calls: &mut Calls) {
        loop {
            let state = self.rank(node);
            let (next, waiting) = state.incoming.entry(source).or_default();
            if waiting.get(next).is_none_or(|m| m.missing > 0) {
                return;
            }
            let message = waiting.remove(next).expect("just seen");
            *next += 1;
            let matched = state.matching.arrive(source, message.tag, message.bytes);
            self.messages += 1;
            self.payload_bytes += message.bytes;
            if let Some(op) = matched {
                self.finish(now, node, op, calls);
            }
        }
    }
}

impl Software for Programs {
    fn next(&mut self, now: Time, node: u32, lane: usize, calls: &mut Calls) -> Pull {
        if now == 0 && lane == self.layout.lanes[0] && self.ranks[node as usize].is_some() {
            // The first that is heard of a node: its program starts a tick later.
            calls.wake(node, 1, START);
        }
        let layout = Arc::clone(&self.layout);
        if !layout.lanes.contains(&lane) {
            return Pull::Empty;
        }
        let Some(state) = &mut self.ranks[node as usize] else { return Pull::Empty };
        let active = state.outgoing.len().min(layout.lanes.len());
        if active == 0 {
            return Pull::Empty;
        }
        let at = state.turn % active;
        state.turn = (at + 1) % layout.lanes.len();
        let message = &mut state.outgoing[at];
        let (from, to) = (layout.nodes[state.rank as usize], layout.nodes[message.to as usize]);
        let header = layout.header(from, to, message.bytes, message.sent);
        message.sent += 1;
        let meta = Meta {
            made: now,
            source: state.rank,
            message: [u64::from(message.sequence) << 32 | u64::from(message.tag), message.bytes],
            ..Meta::default()
        };
        if message.sent == message.packets {
            let op = message.op;
            state.outgoing.remove(at);
            self.finish(now, node, op, calls);
        }
        Pull::Packet(header, meta)
    }

    fn arrived(&mut self, now: Time, node: u32, delivery: &Delivery, calls: &mut Calls) {
        self.delivered += 1;
        let meta = &delivery.meta;
        let (sequence, tag, bytes) =
            ((meta.message[0] >> 32) as u32, meta.message[0] as u32, meta.message[1]);
        let packets = self.layout.packets(bytes);
        let (_, waiting) = self.rank(node).incoming.entry(meta.source).or_default();
        let message = waiting.entry(sequence).or_insert(Incoming { tag, bytes, missing: packets });
        message.missing -= 1;
        if message.missing == 0 {
            self.accept(now, node, meta.source, calls);
        }
    }

    fn wake(&mut self, now: Time, node: u32, token: u32, calls: &mut Calls) {
        match token {
            START => {
                let mut issue = std::mem::take(&mut self.issue);
                self.rank(node).program.start(&mut issue);
                self.issue = issue;
                self.perform(now, node, calls);
            }
            TO_SELF => {
                let rank = self.rank(node).rank;
                self.accept(now, node, rank, calls);
            }
            op => self.finish(now, node, OpId(op), calls),
        }
    }
}
