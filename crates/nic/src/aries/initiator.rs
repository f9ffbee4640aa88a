//! Responses at the initiator: their data is written to memory, and complete transactions generate an event.

use super::errors::ErrorKind;
use super::fma::Command;
use super::node::{Event, EventKind};
use super::orb::{Outstanding, Then};
use super::packet::{Response, Tag};
use super::status::Status;
use super::{Action, Common, MemoryWrite, Nic};
use netloom_fabric::packet::Data;
use netloom_node::time::Microticks;

/// A response with data to be written.
pub struct Deposit {
    what: Outstanding,
    response: Response,
    data: Option<Data>,
}

impl Nic {
    pub(super) fn response_arrived(
        &mut self,
        c: &Common,
        t: Microticks,
        response: Response,
        data: Option<Data>,
    ) {
        // Late responses have already been given up.
        let Some(what) = self.orb.remove(response.tag) else { return };
        self.counters.responses += 1;
        match what.then {
            Then::Store { process, address, bytes, .. } if response.status == Status::Success => {
                let ready = self.translate_local(c, t, process, address, bytes);
                let deposit = Deposit { what, response, data };
                if ready > t {
                    self.schedule.at(ready, Action::Deposit(Box::new(deposit)));
                } else {
                    self.deposit(c, t, deposit);
                }
            }
            _ => self.responded(c, t, &what, response),
        }
        self.has_room_again(c, t);
    }

    /// Writes the data of a response, and then the flag if one was requested.
    pub(super) fn deposit(&mut self, c: &Common, t: Microticks, deposit: Deposit) {
        let Deposit { what, response, data } = deposit;
        if let Then::Store { process, address, bytes, flag } = what.then {
            let data = data.map(|d| d[..bytes as usize].into());
            self.write(c, t, bytes, MemoryWrite::Data { process, address, bytes, data });
            if let Some((address, value)) = flag {
                let data = Some(value.to_le_bytes()[..].into());
                self.write(c, t, 8, MemoryWrite::Data { process, address, bytes: 8, data });
            }
        }
        self.responded(c, t, &what, response);
    }

    fn responded(&mut self, c: &Common, t: Microticks, what: &Outstanding, response: Response) {
        if let Some(descriptor) = what.descriptor {
            self.descriptors.of(descriptor).outstanding -= 1;
            self.sync_changed(c, t, descriptor);
        }
        if let Some(ssid) = what.transaction {
            let transaction = self.transactions.get(ssid);
            transaction.outstanding -= 1;
            transaction.status = transaction.status.and(response.status);
            transaction.event_missed |= response.event_missed;
            self.finish(c, t, ssid);
        }
    }

    /// The output request buffer has space again, and perhaps an SSID is free.
    fn has_room_again(&mut self, c: &Common, t: Microticks) {
        self.start_transfers(c, t);
        self.resume_stepping(t);
        self.feed(c, t);
    }

    /// Reports the completion of a transaction, if it is complete.
    pub(super) fn finish(&mut self, c: &Common, t: Microticks, ssid: u16) {
        let transaction = self.transactions.get(ssid);
        if !transaction.closed || transaction.outstanding > 0 {
            return;
        }
        if transaction.event_missed && transaction.status == Status::Success {
            transaction.event_missed = false;
            transaction.outstanding = 1;
            self.commands.push_back(Box::new(Command::AskEvent(ssid)));
            return;
        }
        let Some(done) = self.transactions.completed(ssid) else { return };
        if let Some(queue) = done.notice.queue {
            let (user, status, bytes) = (done.notice.user, done.status, done.bytes);
            self.write_event(c, t, queue, Event { kind: EventKind::Post, user, status, bytes });
        }
        if let Some(channel) = done.channel {
            self.channel_done(c, t, channel);
        }
    }

    /// Gives up requests without a response for too long.
    pub(super) fn sweep(&mut self, c: &Common, t: Microticks) {
        self.is_sweeping = false;
        let timeout = Microticks::of_milliticks(c.config.timeout_milliticks);
        let old: Vec<Tag> = self.orb.older_than((t + Microticks(1)).saturating_sub(timeout));
        for tag in old {
            if let Some(what) = self.orb.remove(tag) {
                self.counters.timeouts += 1;
                self.report(c, t, ErrorKind::Timeout, None);
                let response = Response { tag, status: Status::Timeout, event_missed: false, bytes: 0 };
                self.responded(c, t, &what, response);
            }
        }
        if self.orb.used() > 0 {
            self.is_sweeping = true;
            self.schedule.at(t + timeout / 4, Action::Sweep);
        }
        self.has_room_again(c, t);
    }
}
