//! Reliable end-to-end connections (section 2.6): sender and receiver contexts, allocated from pools on the
//! chip for the duration of a transfer; set-up, rejection and retry; retransmission of corrupted and lost
//! packets.
//!
//! The protocol between contexts **(ours)**: a sender sends `Setup` and receives `Accept` or `Nack`; a
//! receiver sends `Done` when all packets have arrived, and frees its context at once. A packet for a context
//! that does not exist belongs to a completed transfer, and is answered by `Done`; an `Accept` for a transfer
//! that has ended is answered by `Release`.

use super::engine::Link;
use super::node::Common;
use super::packet::{Id, Kind, Packet};
use super::queue::ErrorKind;
use super::status::Status;
use super::{Action, Nic};
use netloom_node::time::Microticks;
use std::collections::BTreeSet;

/// State of an incoming transfer at a NIC.
#[derive(Default)]
pub struct Coming {
    /// Packets received, by sequence number if there is a connection; those of them that have been written.
    pub seen: BTreeSet<u32>,
    pub written: u32,
    /// The total number of packets, once the last has arrived.
    pub packets: Option<u32>,
    pub status: Status,
    /// Time of the last arrival.
    pub heard_at: Microticks,
}

impl Nic {
    /// Sends a packet of a connection, without data.
    fn send_control(
        &mut self,
        c: &Common,
        t: Microticks,
        to: u32,
        kind: Kind,
        id: Id,
        (sequence, status): (u32, Status),
    ) {
        let packet = Packet {
            kind,
            vp: 0,
            from_vp: 0,
            key: 0,
            address: 0,
            bytes: 0,
            id,
            sequence,
            is_last: false,
            is_connected: true,
            is_physical: false,
            event: None,
            interrupt: false,
            status,
        };
        self.send(c, t, to, packet, 0, None);
    }

    pub(super) fn answer(&mut self, c: &Common, t: Microticks, to: u32, kind: Kind, id: Id) {
        self.send_control(c, t, to, kind, id, (0, Status::Success));
    }

    pub(super) fn done(&mut self, c: &Common, t: Microticks, to: u32, id: Id, status: Status) {
        self.send_control(c, t, to, Kind::Done, id, (0, status));
    }

    /// Requests a transfer's connection.
    pub(super) fn ask_for_connection(&mut self, c: &Common, t: Microticks, id: Id) {
        let Some(to) = self.transfer_of(id).map(|transfer| transfer.descriptor.to.node) else { return };
        self.answer(c, t, to, Kind::Setup, id);
        self.arm_timeout(c, t, id);
    }

    /// A transfer without a timely answer repeats its request.
    pub(super) fn arm_timeout(&mut self, c: &Common, t: Microticks, id: Id) {
        let Some(transfer) = self.transfer_of(id) else { return };
        transfer.attempt += 1;
        let attempt = transfer.attempt;
        self.schedule
            .at(t + Microticks::of_milliticks(c.config.timeout_milliticks), Action::Timeout(id, attempt));
    }

    pub(super) fn timeout(&mut self, c: &Common, t: Microticks, id: Id, attempt: u32) {
        let Some(transfer) = self.transfer_of(id) else { return };
        if transfer.attempt != attempt {
            return;
        }
        let (link, to) = (transfer.link, transfer.descriptor.to.node);
        transfer.silent += 1;
        let gives_up = transfer.silent >= c.config.attempts_max;
        if gives_up {
            self.counters.timeouts += 1;
            // The other node may not respond at all; if it does, its context is free again.
            self.counters.given_up += 1;
            self.answer(c, t, to, Kind::Release, id);
            self.end_transfer(c, t, id, Status::NoAnswer);
            return self.fetch(c, t);
        }
        if link == Link::Connected {
            // It does not know which packets are missing.
            transfer.again = (0..transfer.packets).collect();
        }
        self.counters.timeouts += 1;
        match link {
            Link::Asked => self.ask_for_connection(c, t, id),
            _ => {
                self.arm_timeout(c, t, id);
                self.fetch(c, t);
            }
        }
    }

    /// A get has been sent: its data arrives over a connection of the other side. If that side gives up, this
    /// side is not notified; it waits for twice the time that the other would try **(ours)**.
    pub(super) fn await_answer(&mut self, c: &Common, t: Microticks, ticket: u32, from: (u32, u8)) {
        let patience =
            2 * u64::from(c.config.attempts_max) * Microticks::of_milliticks(c.config.timeout_milliticks);
        self.schedule.at(t + patience, Action::GetTimeout(ticket, from));
    }

    pub(super) fn get_timeout(&mut self, c: &Common, t: Microticks, ticket: u32, from: (u32, u8)) {
        if self.is_expected(ticket) {
            self.counters.given_up += 1;
            self.got(c, t, from, ticket, Status::NoAnswer);
        }
    }

    /// Another node requests a connection.
    pub(super) fn setup_arrived(&mut self, c: &Common, t: Microticks, from: u32, id: Id) {
        let has_it = self.receivers.contains_key(&(from, id));
        let is_full = |nic: &Nic| nic.receivers.len() >= c.config.receiver_contexts as usize;
        if !has_it && is_full(self) {
            // Senders that have been silent for longer than their own timeout are given up.
            let patience =
                u64::from(c.config.attempts_max) * Microticks::of_milliticks(c.config.timeout_milliticks);
            self.receivers.retain(|_, coming| coming.heard_at + patience > t);
        }
        if !has_it && is_full(self) {
            self.counters.refused += 1;
            return self.answer(c, t, from, Kind::Nack, id);
        }
        self.receivers.entry((from, id)).or_default().heard_at = t;
        self.counters.receivers_peak = self.counters.receivers_peak.max(self.receivers.len() as u32);
        self.answer(c, t, from, Kind::Accept, id);
    }

    /// A message of a receiver context has arrived.
    pub(super) fn answer_arrived(&mut self, c: &Common, t: Microticks, from: u32, packet: &Packet) {
        let id = packet.id;
        if let Some(transfer) = self.transfer_of(id).filter(|_| packet.kind != Kind::Release) {
            transfer.silent = 0;
        }
        match packet.kind {
            Kind::Accept => {
                let Some(transfer) = self.transfer_of(id) else {
                    return self.answer(c, t, from, Kind::Release, id);
                };
                if transfer.link != Link::Asked {
                    return;
                }
                transfer.link = Link::Connected;
                let ready = std::mem::take(&mut transfer.ready);
                self.arm_timeout(c, t, id);
                for (sequence, data) in ready {
                    self.send_data(c, t, id, sequence, data);
                }
                self.fetch(c, t);
            }
            Kind::Nack => {
                let Some(transfer) = self.transfer_of(id) else { return };
                transfer.attempt += 1;
                self.schedule.at(t + Microticks::of_milliticks(c.config.retry_milliticks), Action::Retry(id));
            }
            Kind::Done => {
                if self.transfer_of(id).is_some_and(|transfer| transfer.link == Link::Connected) {
                    self.end_transfer(c, t, id, packet.status);
                    self.fetch(c, t);
                }
            }
            Kind::Resend => {
                if let Some(transfer) = self.transfer_of(id) {
                    transfer.again.push_back(packet.sequence);
                    self.counters.resent += 1;
                    self.fetch(c, t);
                }
            }
            _ => {
                self.receivers.remove(&(from, id));
            }
        }
    }

    /// A packet of a connection has arrived; returns whether it is new and intact. Corrupted packets are
    /// requested again; lost ones go unnoticed.
    pub(super) fn is_new(
        &mut self,
        c: &Common,
        t: Microticks,
        (from, packet): (u32, &Packet),
        data: Option<&[u8]>,
        is_damaged: bool,
    ) -> bool {
        let Some(coming) = self.receivers.get_mut(&(from, packet.id)) else {
            self.done(c, t, from, packet.id, Status::Success);
            return false;
        };
        coming.heard_at = t;
        let is_damaged = is_damaged
            || c.config.corrupted_per_million > 0
                && (self.random.draw() % 1_000_000) < c.config.corrupted_per_million.into();
        if is_damaged {
            self.counters.corrupted += 1;
            self.save_error(c, t, (from, packet), data, ErrorKind::Crc);
            self.send_control(c, t, from, Kind::Resend, packet.id, (packet.sequence, Status::Success));
            return false;
        }
        coming.seen.insert(packet.sequence)
    }

    /// Whether a packet is lost in the network.
    pub(super) fn is_lost(&mut self, c: &Common, packet: &Packet) -> bool {
        let lost = c.config.lost_per_million > 0
            && (packet.is_connected || packet.kind == Kind::Setup)
            && (self.random.draw() % 1_000_000) < c.config.lost_per_million.into();
        self.counters.lost += u64::from(lost);
        lost
    }
}
