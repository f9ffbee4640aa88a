//! The block transfer engine ("Remote Memory Access"): transfers of up to 4 GB in packets of 64 B, four
//! transfers at a time, each a transaction of its own; puts, gets, and sends to posted receives; fences.

use super::fma::LINE_B;
use super::memory::Read;
use super::orb::{Notice, Outstanding, Then};
use super::packet::{Op, Request, Tag};
use super::status::Status;
use super::{Action, Common, Nic, Ready};
use netloom_fabric::packet::Data;
use netloom_fabric::router::tiled::Mode;
use netloom_node::time::Microticks;
use std::collections::VecDeque;

/// Transfers that a NIC executes at the same time.
pub const CHANNELS: usize = 4;
/// Maximum size of a transfer, bytes.
pub const TRANSFER_MAX_B: u64 = 1 << 32;

/// The type of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// A put.
    Put,
    /// A get.
    Get,
    /// A message for a posted receive.
    Send,
}

/// A block transfer's descriptor, and its progress.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// The process that posted it.
    pub process: u8,
    /// The protection tag of its job.
    pub ptag: u8,
    /// Its type.
    pub what: Move,
    /// The address on this side.
    pub local: u64,
    /// The remote virtual node.
    pub node: u32,
    /// The memory domain handle there; for a send, the process.
    pub mdh: u16,
    /// Whether the handle is virtual.
    pub is_virtual: bool,
    /// The offset in that memory.
    pub offset: u64,
    /// Its length.
    pub bytes: u64,
    /// How its packets are routed.
    pub mode: Mode,
    /// Starts only after all earlier transfers have ended.
    pub fence: bool,
    /// Where its completion is reported.
    pub notice: Notice,
    /// Bytes requested so far.
    pub done: u64,
}

impl Transfer {
    /// Size of its next packet: packets do not cross multiples of 64 B at the destination.
    fn next(&self) -> u32 {
        let inside = if self.what == Move::Send { 0 } else { (self.offset + self.done) % LINE_B };
        (LINE_B - inside).min(self.bytes - self.done) as u32
    }

    fn packets(&self) -> u32 {
        let inside = if self.what == Move::Send { 0 } else { self.offset % LINE_B };
        (inside + self.bytes).div_ceil(LINE_B) as u32
    }
}

/// A transfer on its channel.
struct Channel {
    transfer: Transfer,
    ssid: u16,
    node: u32,
}

/// Data of a packet being read from memory.
pub struct Block {
    pub process: u8,
    pub address: u64,
    pub bytes: u32,
    ready: Box<Ready>,
}

/// The engine.
#[derive(Default)]
pub struct Bte {
    waiting: VecDeque<Transfer>,
    channels: [Option<Channel>; CHANNELS],
    turn: usize,
    is_stepping: bool,
    /// Maximum number of channels in use so far.
    pub peak: usize,
}

impl Bte {
    fn taken(&self) -> usize {
        self.channels.iter().flatten().count()
    }
}

impl Nic {
    /// Reads a transfer's descriptor from the queue in memory.
    pub(super) fn fetch_transfer(&mut self, c: &Common, t: Microticks, transfer: Box<Transfer>) {
        self.read(c, t, Read::Descriptor(transfer));
    }

    /// Accepts a transfer.
    pub(super) fn post_transfer(&mut self, c: &Common, t: Microticks, transfer: Transfer) {
        self.bte.waiting.push_back(transfer);
        self.start_transfers(c, t);
    }

    /// Assigns channels to transfers, in order.
    pub(super) fn start_transfers(&mut self, c: &Common, t: Microticks) {
        while let Some(first) = self.bte.waiting.front() {
            let taken = self.bte.taken();
            if taken == CHANNELS || first.fence && taken > 0 || self.transactions.is_full() {
                return;
            }
            let transfer = self.bte.waiting.pop_front().expect("it is there");
            let ssid = self.transactions.open(transfer.notice).expect("one is free");
            let node = c.job(transfer.ptag).and_then(|job| job.node(transfer.node));
            let transaction = self.transactions.get(ssid);
            transaction.bytes = transfer.bytes;
            let Some(node) = node else {
                (transaction.status, transaction.closed) = (Status::NoSuchNode, true);
                self.finish(c, t, ssid);
                continue;
            };
            let slot = self.bte.channels.iter().position(Option::is_none).expect("one is free");
            transaction.channel = Some(slot as u8);
            self.bte.channels[slot] = Some(Channel { transfer, ssid, node });
            self.bte.peak = self.bte.peak.max(taken + 1);
            self.resume_stepping(t);
        }
    }

    /// A transfer is complete.
    pub(super) fn channel_done(&mut self, c: &Common, t: Microticks, channel: u8) {
        self.bte.channels[usize::from(channel)] = None;
        self.start_transfers(c, t);
    }

    /// Packets may be created again.
    pub(super) fn resume_stepping(&mut self, t: Microticks) {
        let has_more = |ch: &Channel| ch.transfer.done < ch.transfer.bytes;
        if !self.bte.is_stepping && self.orb.has_room() && self.bte.channels.iter().flatten().any(has_more) {
            self.bte.is_stepping = true;
            self.schedule.at(self.read_free.max(t), Action::Step);
        }
    }

    /// Creates the next packet, from the channels in turn.
    pub(super) fn step(&mut self, c: &Common, t: Microticks) {
        self.bte.is_stepping = false;
        if !self.orb.has_room() {
            return;
        }
        let has_more =
            |ch: &Option<Channel>| ch.as_ref().is_some_and(|ch| ch.transfer.done < ch.transfer.bytes);
        let order = (1..=CHANNELS).map(|i| (self.bte.turn + i) % CHANNELS);
        let Some(slot) = order.into_iter().find(|&slot| has_more(&self.bte.channels[slot])) else { return };
        self.bte.turn = slot;
        let Some(Channel { transfer, ssid, node }) = &mut self.bte.channels[slot] else { return };
        let (bytes, packets) = (transfer.next(), transfer.packets());
        let (process, address) = (transfer.process, transfer.local + transfer.done);
        let what = transfer.what;
        let (op, offset, then) = match what {
            Move::Put => (Op::Put, transfer.offset + transfer.done, Then::Count),
            Move::Send => (Op::Send, transfer.done, Then::Count),
            Move::Get => (
                Op::Get,
                transfer.offset + transfer.done,
                Then::Store { process, address, bytes, flag: None },
            ),
        };
        transfer.done += u64::from(bytes);
        let request = Request {
            op,
            command: 0,
            ptag: transfer.ptag,
            mdh: transfer.mdh,
            is_virtual: transfer.is_virtual,
            offset,
            bytes,
            tag: Tag::default(),
            ssid: *ssid,
            event: transfer.notice.remote.is_some() && what == Move::Put,
            packets,
            user: transfer.notice.remote.unwrap_or(0),
        };
        let (node, mode, ssid) = (*node, transfer.mode, *ssid);
        let transaction = self.transactions.get(ssid);
        transaction.outstanding += 1;
        transaction.closed |= transfer.done == transfer.bytes;
        let outstanding = Outstanding { transaction: Some(ssid), then, issued_at: t, descriptor: None };
        let tag = Some(self.orb.insert(outstanding));
        let ready = Ready { request, node, mode, data: None, tag, outstanding };
        if what == Move::Get {
            self.read_free = self.read_free.max(t) + c.config.passage(0);
            self.ready.push_back(ready);
            self.feed(c, t);
        } else {
            let at = self.translate_local(c, t, process, address, bytes);
            let block = Block { process, address, bytes, ready: Box::new(ready) };
            if at > t {
                self.schedule.at(at, Action::Block(Box::new(block)));
            } else {
                self.read(c, t, Read::Block(block));
            }
        }
        self.resume_stepping(t);
    }

    /// The data of a packet has arrived.
    pub(super) fn block_read(&mut self, c: &Common, t: Microticks, block: Block, data: Option<Data>) {
        let mut ready = *block.ready;
        ready.data = data;
        self.ready.push_back(ready);
        self.feed(c, t);
    }
}
