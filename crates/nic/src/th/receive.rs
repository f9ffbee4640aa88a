//! Packets at their destination: their keys and addresses are checked, their data is written to memory or to
//! the mini-packet queue, and both sides are notified (sections 2.3, 2.4 and 2.7).

use super::checker::PAGE_B;
use super::connection::Coming;
use super::descriptor::{Address, Descriptor, Operation, Options};
use super::engine::Ended;
use super::node::{Common, Event, EventKind, MiniPacket, lock};
use super::packet::{Kind, Packet};
use super::queue::ErrorKind;
use super::sequence::Step;
use super::status::Status;
use super::{Action, MemoryWrite, Nic};
use crate::pcie::Direction;
use netloom_engine::Time;
use netloom_fabric::host::Delivery;
use netloom_fabric::packet::Data;
use netloom_fabric::router::tiled::{Class, TiledHeader};
use netloom_node::time::Microticks;
use std::collections::VecDeque;

/// An arrived packet.
pub struct Arrival {
    pub from: u32,
    pub packet: Packet,
    pub data: Option<Data>,
    /// Whether its user-level CRC is wrong.
    pub is_damaged: bool,
}

/// Maximum backlog of PCI-Express at which the NIC processes packets, bytes **(ours)**.
const BACKLOG_B: u64 = 1024;

impl Nic {
    /// A packet has arrived from the network.
    pub(super) fn arrived(&mut self, c: &Common, now: Time, delivery: &Delivery<TiledHeader>) {
        let class = usize::from(delivery.header.class() == Class::Response);
        let arrival = Arrival {
            from: delivery.meta.source,
            packet: Packet::of(&delivery.meta),
            data: delivery.data.cloned(),
            is_damaged: delivery.header.is_damaged(),
        };
        let limit = (class, c.config.input_packets);
        let after = Microticks::of_milliticks(c.config.in_milliticks);
        self.arrivals[class].push(now, after, arrival, limit, &mut self.asks);
        self.serve(c, Microticks::at(now), class);
    }

    /// Processes arrived packets at the rate of the host interface.
    pub(super) fn serve(&mut self, c: &Common, t: Microticks, class: usize) {
        let slack = c.config.pcie.time(BACKLOG_B);
        while let Some((there, _)) = self.arrivals[class].first() {
            let start = match class {
                0 => there.max(self.pcie.free(Direction::Up).saturating_sub(slack)),
                _ => there,
            };
            if start > t {
                if self.arrivals[class].is_first_call(start) {
                    self.schedule.at(start, Action::Serve(class));
                }
                break;
            }
            let arrival = self.arrivals[class].pop().expect("it is there");
            self.look_at(c, t, arrival);
        }
        self.arrivals[class].reopen((class, c.config.input_packets), &mut self.asks);
    }

    fn look_at(&mut self, c: &Common, t: Microticks, arrival: Arrival) {
        let (from, packet) = (arrival.from, arrival.packet);
        if self.is_lost(c, &packet) {
            return;
        }
        // For a packet of a connection the sender is notified; any other packet, including messages between
        // contexts, is dropped.
        if arrival.is_damaged
            && (!packet.is_connected || packet.kind == Kind::Setup || packet.kind.is_answer())
        {
            self.counters.corrupted += 1;
            return self.save_error(c, t, (from, &packet), arrival.data.as_deref(), ErrorKind::Crc);
        }
        if packet.kind == Kind::Setup {
            return self.setup_arrived(c, t, from, packet.id);
        }
        if packet.kind.is_answer() {
            return self.answer_arrived(c, t, from, &packet);
        }
        if packet.is_connected
            && !self.is_new(c, t, (from, &packet), arrival.data.as_deref(), arrival.is_damaged)
        {
            return;
        }
        let status = self.verdict(&packet);
        let ready = match packet.kind {
            Kind::Get => t,
            kind if kind.is_mini() => t + Microticks::of_milliticks(c.config.translate_milliticks),
            _ if status != Status::Success => t,
            _ => self.translate(c, t, packet.vp, (packet.address, packet.bytes), packet.is_physical),
        };
        self.schedule.at(ready, Action::Commit(Box::new(arrival), status));
    }

    /// Whether a packet's operation is allowed.
    fn verdict(&self, packet: &Packet) -> Status {
        let mut here = lock(&self.here);
        match here.port(packet.vp) {
            Some(port) if port.config.key == packet.key => {}
            _ => return Status::Key,
        }
        let is_data = matches!(packet.kind, Kind::Put | Kind::Answer) && !packet.is_physical;
        let (address, bytes) = (packet.address, packet.bytes.into());
        if is_data && !here.checker.allows(packet.vp, packet.key, address, bytes, true) {
            return Status::Memory;
        }
        Status::Success
    }

    /// A packet's address has been translated: it is executed.
    pub(super) fn commit(&mut self, c: &Common, t: Microticks, arrival: Arrival, mut status: Status) {
        let Arrival { from, packet, data, .. } = arrival;
        match packet.kind {
            _ if status != Status::Success => self.refused(c, t, (from, &packet), data.as_deref(), status),
            Kind::Control => status = self.control_arrived(c, t, (from, &packet), data.as_deref()),
            Kind::Mini | Kind::ControlMini => {
                if packet.kind == Kind::ControlMini {
                    status = self.control_arrived(c, t, (from, &packet), data.as_deref());
                }
                let data = data.as_deref().unwrap_or(&[])[..packet.bytes as usize].to_vec();
                let mini = MiniPacket { from: (from, packet.from_vp), data: data.clone() };
                let queued = self.queue_mini_packet(c, t, packet.vp, mini);
                if queued != Status::Success {
                    status = queued;
                    self.save_error(c, t, (from, &packet), Some(&data), ErrorKind::Refused(status));
                }
            }
            Kind::Get => status = self.get_arrived(c, t, from, &packet, data.as_deref()),
            _ => {
                let process = lock(&self.here).port(packet.vp).map_or(0, |port| port.process);
                let (address, bytes) = (packet.address, packet.bytes);
                self.write(c, t, bytes, MemoryWrite::Data { process, address, bytes, data });
            }
        }
        self.count(c, t, from, &packet, status);
    }

    /// A packet is rejected: it is counted, and saved if requested.
    fn refused(
        &mut self,
        c: &Common,
        t: Microticks,
        packet: (u32, &Packet),
        data: Option<&[u8]>,
        status: Status,
    ) {
        self.counters.errors += 1;
        self.save_error(c, t, packet, data, ErrorKind::Refused(status));
    }

    /// Another packet of a transfer has been written; after the last one both sides are notified.
    fn count(&mut self, c: &Common, t: Microticks, from: u32, packet: &Packet, status: Status) {
        let at = (from, packet.id);
        let table = if packet.is_connected { &mut self.receivers } else { &mut self.coming };
        let is_single = packet.is_last && packet.sequence == 0;
        let coming = match packet.is_connected {
            true => table.get_mut(&at),
            false if is_single => None,
            false => Some(table.entry(at).or_default()),
        };
        let mut single = Coming::default();
        let coming = coming.unwrap_or(&mut single);
        coming.written += 1;
        if packet.is_last {
            coming.packets = Some(packet.sequence + 1);
        }
        if coming.status == Status::Success {
            coming.status = status;
        }
        let status = coming.status;
        if coming.packets != Some(coming.written) {
            return;
        }
        table.remove(&at);
        if packet.is_connected {
            self.done(c, t, from, packet.id, status);
        }
        let from = (from, packet.from_vp);
        if packet.kind == Kind::Answer {
            return packet.event.into_iter().for_each(|ticket| self.got(c, t, from, ticket, status));
        }
        // Without permission, the local port is not notified. For a get the end of its response does so.
        if packet.kind != Kind::Get && status == Status::Success {
            let ended = Ended { event: packet.event.is_some(), interrupt: packet.interrupt, from };
            let user = packet.event.unwrap_or(0);
            self.report_end(c, t, packet.vp, ended, Event { kind: EventKind::Remote, user, status });
        }
    }

    /// Another node requests data: the NIC submits a transfer back to itself.
    fn get_arrived(
        &mut self,
        c: &Common,
        t: Microticks,
        from: u32,
        packet: &Packet,
        data: Option<&[u8]>,
    ) -> Status {
        let Some(data) = data else { return Status::Memory };
        let word = |n: usize| u64::from_le_bytes(data[8 * n..8 * n + 8].try_into().expect("eight bytes"));
        let (remote, bytes, ticket, key) = (word(0), word(1), word(2) as u32, word(3) as u16);
        let may = packet.is_physical
            || lock(&self.here).checker.allows(packet.vp, packet.key, packet.address, bytes, false);
        if !may || packet.address + bytes > 1 << 36 << PAGE_B.ilog2() {
            self.refused(c, t, (from, packet), Some(data), Status::Memory);
            return Status::Memory;
        }
        self.answers.push_back(Descriptor {
            vp: packet.vp,
            operation: Operation::Answer,
            to: Address { node: from, vp: packet.from_vp, key },
            more: VecDeque::new(),
            local: packet.address,
            remote,
            bytes,
            options: Options {
                local_event: packet.event,
                remote_event: Some(ticket),
                connect: packet.is_connected,
                physical: packet.is_physical,
                local_interrupt: packet.interrupt,
                ..Options::default()
            },
            step: Step::default(),
        });
        self.feed(c, t);
        Status::Success
    }
}
