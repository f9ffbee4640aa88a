//! The RDMA engine (section 2.4) converts descriptors taken from their ports to packets. Data is fetched from
//! memory while a connection is set up (section 2.6), and sent once it exists.

use super::checker::PAGE_B;
use super::descriptor::{Descriptor, Operation, Options};
use super::node::{Common, Event, EventKind, FailedRequest, MiniPacket, lock, place};
use super::packet::{Id, Kind, Packet};
use super::queue::EVENT_B;
use super::status::Status;
use super::{Action, MemoryWrite, Nic};
use crate::pcie::{Direction, at_host};
use netloom_fabric::packet::Data;
use netloom_node::time::Microticks;
use std::collections::VecDeque;

/// The state of a transfer's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// Not needed.
    Connectless,
    /// Requested.
    Asked,
    /// Established.
    Connected,
}

/// A descriptor in execution. With a connection, this is its sender context.
pub struct Transfer {
    pub descriptor: Descriptor,
    pub link: Link,
    /// Total number of packets, number with requested data, and number sent.
    pub packets: u32,
    pub asked: u32,
    pub sent: u32,
    /// Packets to be retransmitted.
    pub again: VecDeque<u32>,
    /// Packets that wait for the connection.
    pub ready: VecDeque<(u32, Option<Data>)>,
    /// The attempt that a timeout belongs to.
    pub attempt: u32,
    /// Attempts since the last response of the other side.
    pub silent: u32,
    /// The number that identifies a get's data.
    pub ticket: u32,
}

/// A get whose data has not arrived.
pub struct Expected {
    pub vp: u8,
    pub event: Option<u32>,
    pub interrupt: bool,
}

/// The ports to notify of the end of an operation, and how.
#[derive(Clone, Copy)]
pub struct Ended {
    pub event: bool,
    pub interrupt: bool,
    pub from: (u32, u8),
}

/// The data of a packet being read from the host's memory.
pub struct Read {
    pub id: Id,
    pub sequence: u32,
    pub at: u64,
    pub bytes: u32,
}

impl Nic {
    /// Allocates a transfer with a new number.
    pub(super) fn new_transfer(&mut self, descriptor: Descriptor) -> Id {
        let d = &descriptor;
        let connect = d.options.connect;
        if d.operation != Operation::Answer {
            *self.in_flight.entry(d.vp).or_default() += 1;
        }
        if d.operation == Operation::Get {
            self.ticket = self.ticket.wrapping_add(1);
            let Options { local_event: event, local_interrupt: interrupt, .. } = d.options;
            self.expected.insert(self.ticket, Expected { vp: d.vp, event, interrupt });
        }
        let ticket = self.ticket;
        let number =
            (0..=u16::MAX).find(|n| !self.transfers.contains_key(n)).expect("few transfers at a time");
        let use_ = self.uses.entry(number).or_default();
        *use_ = use_.wrapping_add(1);
        let id = Id { number, use_: *use_ };
        self.senders += u32::from(connect);
        self.counters.senders_peak = self.counters.senders_peak.max(self.senders);
        let transfer = Transfer {
            descriptor,
            link: if connect { Link::Asked } else { Link::Connectless },
            packets: 0,
            asked: 0,
            sent: 0,
            again: VecDeque::new(),
            ready: VecDeque::new(),
            attempt: 0,
            silent: 0,
            ticket,
        };
        self.transfers.insert(number, transfer);
        id
    }

    /// The transfer of a response, if it still exists.
    pub(super) fn transfer_of(&mut self, id: Id) -> Option<&mut Transfer> {
        if self.uses.get(&id.number) != Some(&id.use_) {
            return None;
        }
        self.transfers.get_mut(&id.number)
    }

    /// A descriptor has been decoded: its keys are checked, and its connection is requested.
    pub(super) fn begin(&mut self, c: &Common, t: Microticks, id: Id) {
        let most = u64::from(c.packet.data_max_B);
        let number = self.number;
        let Some(transfer) = self.transfer_of(id) else { return };
        let d = &transfer.descriptor;
        if let Operation::Nothing | Operation::Deliver(_) = d.operation {
            let (vp, from) = (d.vp, (number, d.vp));
            let reported = match &d.operation {
                Operation::Deliver(data) => {
                    let data = data.to_vec();
                    self.queue_mini_packet(c, t, vp, MiniPacket { from, data })
                }
                _ => Status::Success,
            };
            return self.end_transfer(c, t, id, reported);
        }
        transfer.packets = match d.operation {
            Operation::Put | Operation::Answer => d.bytes.div_ceil(most).max(1) as u32,
            _ => 1,
        };
        let (vp, local, bytes) = (d.vp, d.local, d.bytes);
        let checked = match d.operation {
            Operation::Put | Operation::Answer => Some(false),
            Operation::Get => Some(true),
            _ => None,
        };
        if let Some(write) = checked
            && !d.options.physical
        {
            let mut here = lock(&self.here);
            let key = here.port(vp).map(|port| port.config.key);
            if !key.is_some_and(|key| here.checker.allows(vp, key, local, bytes, write)) {
                drop(here);
                return self.end_transfer(c, t, id, Status::Memory);
            }
        }
        if self.transfers[&id.number].link == Link::Asked {
            self.ask_for_connection(c, t, id);
        }
        self.fetch(c, t);
    }

    /// Requests data of the transfers in turn, up to the limit of outstanding reads.
    pub(super) fn fetch(&mut self, c: &Common, t: Microticks) {
        let most = c.packet.data_max_B;
        while self.reads + self.requests.len() < c.config.packets as usize {
            let room = c.config.packets as usize;
            let wants = |transfer: &Transfer| {
                (transfer.asked < transfer.packets && transfer.ready.len() < room)
                    || !transfer.again.is_empty()
            };
            let turn = self.read_turn;
            let mut numbers = self.transfers.range(turn..).chain(self.transfers.range(..turn));
            let Some(number) = numbers.find(|(_, tr)| wants(tr)).map(|(&n, _)| n) else { return };
            self.read_turn = number.wrapping_add(1);
            let id = Id { number, use_: self.uses[&number] };
            let transfer = self.transfers.get_mut(&number).expect("it was found");
            let sequence = transfer.again.pop_front().unwrap_or_else(|| {
                transfer.asked += 1;
                transfer.asked - 1
            });
            let d = &transfer.descriptor;
            match &d.operation {
                Operation::Immediate(data) | Operation::Mini(data) | Operation::Control(data, _) => {
                    let data = Some(data.clone());
                    self.have(c, t, id, sequence, data);
                }
                Operation::Get => {
                    let words = [d.local, d.bytes, transfer.ticket.into()];
                    let key = lock(&self.here).port(d.vp).map_or(0, |port| port.config.key);
                    let words = words.into_iter().chain([u64::from(key)]);
                    let data: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
                    self.have(c, t, id, sequence, Some(data.into()));
                }
                Operation::Nothing | Operation::Deliver(_) => {}
                Operation::Put | Operation::Answer => {
                    let offset = u64::from(sequence) * u64::from(most);
                    let (vp, at, physical) = (d.vp, d.local + offset, d.options.physical);
                    let bytes = (d.bytes - offset).min(most.into()) as u32;
                    self.reads += 1;
                    let ready = self.translate(c, t, vp, (at, bytes), physical);
                    self.schedule.at(ready, Action::Read(Box::new(Read { id, sequence, at, bytes })));
                }
            }
        }
    }

    /// A packet's address has been translated: its data is requested from the host.
    pub(super) fn read(&mut self, c: &Common, t: Microticks, read: Box<Read>) {
        let mut end = t;
        for _ in 0..read.bytes.div_ceil(c.config.pcie_request_max_B).max(1) {
            end = self.pcie.send(&c.config.pcie, Direction::Up, t, 0).1;
        }
        self.schedule.at(end + at_host(&c.config.pcie), Action::AtHost(read));
    }

    /// The host's memory has it; it is queued for the return transfer.
    pub(super) fn at_host(&mut self, c: &Common, t: Microticks, read: Box<Read>) {
        let end = self.transfer(c, Direction::Down, t, read.bytes);
        self.schedule
            .at(end + Microticks::of_milliticks(c.config.pcie.crossing_milliticks), Action::ReadDone(read));
    }

    pub(super) fn read_done(&mut self, c: &Common, t: Microticks, read: &Read) {
        self.reads -= 1;
        if let Some(vp) = self.transfer_of(read.id).map(|transfer| transfer.descriptor.vp) {
            let mut here = lock(&self.here);
            let process = here.port(vp).map_or(0, |port| port.process);
            let data = here.contents.load(place(process, read.at), read.bytes as usize);
            drop(here);
            self.have(c, t, read.id, read.sequence, data);
        }
        self.fetch(c, t);
    }

    /// A packet's data has arrived: the packet is sent, or waits for the connection.
    fn have(&mut self, c: &Common, t: Microticks, id: Id, sequence: u32, data: Option<Data>) {
        let Some(transfer) = self.transfer_of(id) else { return };
        if transfer.link == Link::Asked {
            transfer.ready.push_back((sequence, data));
        } else {
            self.send_data(c, t, id, sequence, data);
        }
    }

    /// Sends a packet of a transfer. Without a connection the transfer ends with its last packet.
    pub(super) fn send_data(&mut self, c: &Common, t: Microticks, id: Id, sequence: u32, data: Option<Data>) {
        let most = u64::from(c.packet.data_max_B);
        let Some(transfer) = self.transfer_of(id) else { return };
        transfer.sent += 1;
        let all = transfer.sent >= transfer.packets;
        let (d, link) = (&transfer.descriptor, transfer.link);
        let offset = u64::from(sequence) * most;
        let (kind, bytes, carried) = match &d.operation {
            Operation::Put | Operation::Answer => {
                let bytes = (d.bytes - offset).min(most) as u32;
                let kind = if d.operation == Operation::Put { Kind::Put } else { Kind::Answer };
                (kind, bytes, bytes)
            }
            Operation::Immediate(data) => (Kind::Put, data.len() as u32, data.len() as u32),
            Operation::Mini(data) => (Kind::Mini, data.len() as u32, c.config.mini_packet_B),
            Operation::Control(data, delivers) => {
                let kind = if *delivers { Kind::ControlMini } else { Kind::Control };
                (kind, data.len() as u32, c.config.mini_packet_B)
            }
            Operation::Get | Operation::Nothing | Operation::Deliver(_) => (Kind::Get, 32, 32),
        };
        let packet = Packet {
            kind,
            vp: d.to.vp,
            from_vp: d.vp,
            key: d.to.key,
            address: d.remote + offset,
            bytes,
            id,
            sequence,
            is_last: sequence + 1 == transfer.packets,
            is_connected: link == Link::Connected,
            is_physical: d.options.physical,
            event: d.options.remote_event,
            interrupt: d.options.remote_interrupt,
            status: Status::Success,
        };
        let to = d.to.node;
        self.send(c, t, to, packet, carried, data);
        if all && link == Link::Connected {
            self.arm_timeout(c, t, id);
        } else if all {
            self.end_transfer(c, t, id, Status::Success);
        }
    }

    /// A transfer has ended: its context is freed, and the initiator is notified. For a successful get, the
    /// arrival of the data does that.
    pub(super) fn end_transfer(&mut self, c: &Common, t: Microticks, id: Id, status: Status) {
        let Some(transfer) = self.transfers.remove(&id.number) else { return };
        let d = transfer.descriptor;
        if d.options.connect {
            self.senders -= 1;
        }
        let is_answer = d.operation == Operation::Answer;
        if !is_answer {
            if d.operation == Operation::Get {
                if status == Status::Success {
                    if d.options.connect {
                        self.await_answer(c, t, transfer.ticket, (d.to.node, d.to.vp));
                    }
                    return self.feed(c, t);
                }
                self.expected.remove(&transfer.ticket);
            }
            self.one_less(d.vp);
        }
        let kind = if is_answer { EventKind::Remote } else { EventKind::Local };
        if status != Status::Success {
            let failed = FailedRequest { to: d.to, status, event: d.options.local_event };
            self.write(c, t, EVENT_B, MemoryWrite::Failed(d.vp, failed));
        }
        let Options { local_event: event, local_interrupt: interrupt, .. } = d.options;
        let from = if is_answer { (d.to.node, d.to.vp) } else { (self.number, d.vp) };
        let ended = Ended { event: event.is_some(), interrupt, from };
        self.report_end(c, t, d.vp, ended, Event { kind, user: event.unwrap_or(0), status });
        self.feed(c, t);
    }

    /// An operation of a port has ended.
    fn one_less(&mut self, vp: u8) {
        if let Some(count) = self.in_flight.get_mut(&vp) {
            *count -= 1;
        }
    }

    /// Whether a get's data is still expected.
    pub(super) fn is_expected(&self, ticket: u32) -> bool {
        self.expected.contains_key(&ticket)
    }

    /// All data of a get has arrived, or could not be written, or will not arrive.
    pub(super) fn got(&mut self, c: &Common, t: Microticks, from: (u32, u8), ticket: u32, status: Status) {
        let Some(Expected { vp, event, interrupt }) = self.expected.remove(&ticket) else { return };
        self.one_less(vp);
        let ended = Ended { event: event.is_some(), interrupt, from };
        self.report_end(c, t, vp, ended, Event { kind: EventKind::Local, user: event.unwrap_or(0), status });
        self.feed(c, t);
    }

    /// When the address of these bytes has been checked and translated.
    pub(super) fn translate(
        &mut self,
        c: &Common,
        t: Microticks,
        vp: u8,
        (address, bytes): (u64, u32),
        physical: bool,
    ) -> Microticks {
        if physical {
            return t;
        }
        let config = &c.config;
        let start = self.checker_free.max(t);
        self.checker_free = start + Microticks::of_milliticks(config.check_milliticks);
        let known = start + Microticks::of_milliticks(config.translate_milliticks);
        if config.is_buffer {
            return known;
        }
        let shape = ((config.cache_entries / config.cache_ways).max(1), config.cache_ways);
        let (first, last) = (address / PAGE_B, (address + u64::from(bytes.max(1)) - 1) / PAGE_B);
        let mut at = known;
        for page in first..=last {
            let pcie = &mut self.pcie;
            // The table is in host memory; a line of it is read.
            let fetch = || {
                let (_, end) = pcie.send(&config.pcie, Direction::Up, t, 0);
                let there = end.max(known) + at_host(&config.pcie);
                let back = config.pcie.time(u64::from(64 + config.pcie.overhead_B));
                there + back + Microticks::of_milliticks(config.pcie.crossing_milliticks)
            };
            at = at.max(lock(&self.here).atc.translate((vp, page), known, shape, fetch));
        }
        at
    }
}
