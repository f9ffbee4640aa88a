//! Requests at their destination: the network address is checked and translated, the request is executed, and
//! a response returned.

use super::errors::ErrorKind;
use super::message_table::Followed;
use super::node::{Event, EventKind, lock};
use super::packet::{Op, Request, Response};
use super::status::Status;
use super::system::SYSTEM;
use super::{Action, Common, MemoryWrite, Nic};
use crate::pcie::Direction;
use netloom_engine::Time;
use netloom_fabric::host::Delivery;
use netloom_fabric::packet::{Data, Meta};
use netloom_fabric::router::tiled::{Class, Mode, TiledHeader};
use netloom_node::time::Microticks;

/// An arrived packet that has not been processed.
pub struct Arrival {
    pub meta: Meta,
    mode: Mode,
    pub data: Option<Data>,
    /// Whether its CRC is wrong.
    pub is_damaged: bool,
}

/// A request that has arrived.
pub struct Arrived {
    pub request: Request,
    /// Its node.
    pub source: u32,
    pub mode: Mode,
    pub data: Option<Data>,
    /// Whether its CRC is wrong.
    pub is_damaged: bool,
}

/// A request with a translated address.
pub struct Located {
    pub arrival: Arrived,
    pub process: u8,
    pub address: u64,
    /// The queue for its event.
    pub queue: Option<u16>,
}

/// Maximum backlog of PCI-Express at which the NIC processes packets, bytes **(ours)**.
const BACKLOG_B: u64 = 1024;

impl Nic {
    /// A packet has arrived from the network.
    pub(super) fn arrived(&mut self, c: &Common, now: Time, delivery: &Delivery<TiledHeader>) {
        let class = usize::from(delivery.header.class() == Class::Response);
        let arrival = Arrival {
            meta: delivery.meta,
            mode: delivery.header.mode(),
            data: delivery.data.cloned(),
            is_damaged: delivery.header.is_damaged(),
        };
        if arrival.is_damaged {
            self.counters.damaged += 1;
            self.report(c, Microticks::at(now), ErrorKind::Damaged, Some(arrival.meta.source));
        }
        let limit = (class, c.config.input_packets);
        let after = Microticks::of_milliticks(c.config.in_milliticks);
        self.arrivals[class].push(now, after, arrival, limit, &mut self.asks);
        self.serve(c, Microticks::at(now), class, false);
    }

    /// Processes arrived packets at the rate of the data path and the host interface; `has_waited`: this was
    /// requested earlier, for this time.
    pub(super) fn serve(&mut self, c: &Common, t: Microticks, class: usize, mut has_waited: bool) {
        let slack = c.config.pcie.time(BACKLOG_B);
        while let Some((there, first)) = self.arrivals[class].first() {
            let path = there.max(self.arrivals_free[class]);
            // A get waits for the data path's reads too. If it did not, the reads of all arrived gets would be
            // before the next write, and two nodes that fetch from each other would read and write in turns.
            let is_get = class == 0 && first.meta.kind == Op::Get as u8;
            let reads = if is_get { self.read_free } else { Microticks::ZERO };
            let start = path.max(reads).max(self.pcie.free(Direction::Up).saturating_sub(slack));
            // The classes take turns: one that has waited until its time is next, even if the other has used
            // the host interface in the meantime.
            let is_next = std::mem::take(&mut has_waited) && path <= t;
            if start > t && !is_next {
                if self.arrivals[class].is_first_call(start) {
                    self.schedule.at(start, Action::Serve(class));
                }
                break;
            }
            // These are processed when there is space.
            if class == 0 && (self.responses.is_full() || self.amo.is_stalled()) {
                break;
            }
            let Arrival { meta, mode, data, is_damaged } = self.arrivals[class].pop().expect("it is there");
            if class == 0 {
                let request = Request::of(&meta);
                let bytes = match request.op {
                    Op::Put | Op::Send => request.bytes,
                    Op::Amo | Op::Join | Op::Result => data.as_ref().map_or(8, |d| d.len() as u32),
                    Op::Get | Op::Event | Op::Response => 0,
                };
                self.arrivals_free[class] = start.min(t) + c.config.passage(bytes);
                let arrived = Arrived { request, source: meta.source, mode, data, is_damaged };
                self.request_arrived(c, t, arrived);
            } else {
                let mut response = Response::of(&meta);
                self.arrivals_free[class] = start.min(t) + c.config.passage(response.bytes);
                if is_damaged {
                    response.status = Status::Corrupt;
                }
                self.response_arrived(c, t, response, data);
            }
        }
        self.arrivals[class].reopen((class, c.config.input_packets), &mut self.asks);
    }

    fn request_arrived(&mut self, c: &Common, t: Microticks, arrival: Arrived) {
        self.counters.served += 1;
        let r = arrival.request;
        if arrival.is_damaged {
            // "Data payload errors are reported directly to the user".
            return self.respond(c, t, &arrival, Status::Corrupt, false);
        }
        match r.op {
            Op::Join => {
                self.respond(c, t, &arrival, Status::Success, false);
                let (engine, child) = (usize::from(r.mdh), r.offset as usize);
                self.join(c, t, engine, Some(child), r.command, two_words(arrival.data.as_deref()));
            }
            Op::Result => {
                self.respond(c, t, &arrival, Status::Success, false);
                let status = Status::of(r.command);
                self.result_came(c, t, r.mdh.into(), two_words(arrival.data.as_deref()), status);
            }
            Op::Send => self.message_part(c, t, arrival),
            Op::Put | Op::Get | Op::Amo | Op::Event => {
                let writes = r.op != Op::Get;
                let found = {
                    let here = lock(&self.here);
                    here.domains.look_up(r.ptag, (r.mdh, r.is_virtual), r.offset, r.bytes, writes)
                };
                match found {
                    Err(status) => self.respond(c, t, &arrival, status, false),
                    Ok((segment, address)) => {
                        let (process, queue) = (segment.process, segment.queue);
                        let ready = self.translate(c, t, (process, address), segment.page);
                        let located = Located { arrival, process, address, queue };
                        if ready > t {
                            self.schedule.at(ready, Action::Commit(Box::new(located)));
                        } else {
                            self.commit(c, t, located);
                        }
                    }
                }
            }
            Op::Response => unreachable!("responses have a queue of their own"),
        }
    }

    /// Executes a request.
    pub(super) fn commit(&mut self, c: &Common, t: Microticks, mut located: Located) {
        let r = located.arrival.request;
        match r.op {
            Op::Get => self.read(c, t, super::memory::Read::Answer(located)),
            Op::Amo => self.atomic(c, t, located),
            Op::Event => {
                let key = (located.arrival.source, r.ssid);
                self.table.forget(key);
                self.remote_event(c, t, located.queue, &r);
                self.respond(c, t, &located.arrival, Status::Success, false);
            }
            _ => {
                let (process, address) = (located.process, located.address);
                let data = located.arrival.data.take();
                let start =
                    self.write(c, t, r.bytes, MemoryWrite::Data { process, address, bytes: r.bytes, data });
                let missed = self.count(c, t, &located);
                self.respond(c, start, &located.arrival, Status::Success, missed);
            }
        }
    }

    /// Counts a packet of a sequence that is to generate an event; returns whether it could not be tracked.
    pub(super) fn count(&mut self, c: &Common, t: Microticks, located: &Located) -> bool {
        let r = &located.arrival.request;
        if !r.event {
            return false;
        }
        let key = (located.arrival.source, r.ssid);
        let followed = self.table.follow(key, r.packets, c.config.message_table_entries as usize);
        if followed == Followed::Complete {
            self.remote_event(c, t, located.queue, r);
        }
        followed == Followed::Missed
    }

    fn remote_event(&mut self, c: &Common, t: Microticks, queue: Option<u16>, r: &Request) {
        let Some(queue) = queue else { return };
        let event = Event { kind: EventKind::Remote, user: r.user.into(), status: Status::Success, bytes: 0 };
        self.write_event(c, t, queue, event);
    }

    pub(super) fn write_event(&mut self, c: &Common, t: Microticks, queue: u16, event: Event) {
        self.write(c, t, EVENT_B, MemoryWrite::Event { queue, event });
    }

    /// A part of a message for a posted receive.
    fn message_part(&mut self, c: &Common, t: Microticks, mut arrival: Arrived) {
        let r = arrival.request;
        let process = r.mdh as u8;
        let find = || {
            let mut here = lock(&self.here);
            let is_member = if process == SYSTEM {
                here.open_system_queue();
                here.attached.values().any(|&ptag| ptag == r.ptag)
            } else {
                here.attached.get(&process) == Some(&r.ptag)
            };
            here.receives.get_mut(&process).filter(|_| is_member)?.pop_front()
        };
        let end = r.offset + u64::from(r.bytes);
        let (sequence, is_last) = self.table.message((arrival.source, r.ssid), r.packets, end, find);
        let mut start = t;
        if let Some(receive) = sequence.receive {
            if sequence.status == Status::Success {
                let (address, data) = (receive.address + r.offset, arrival.data.take());
                // (ours): the receive's pages were translated when it was posted.
                start =
                    self.write(c, t, r.bytes, MemoryWrite::Data { process, address, bytes: r.bytes, data });
            }
            if let Some(queue) = receive.queue.filter(|_| is_last) {
                let (user, status, bytes) = (receive.user, sequence.status, sequence.bytes);
                self.write_event(c, t, queue, Event { kind: EventKind::Receive, user, status, bytes });
            }
        }
        self.respond(c, start, &arrival, sequence.status, false);
    }

    /// The data for a get has arrived from memory.
    pub(super) fn answer(&mut self, c: &Common, t: Microticks, located: &Located, data: Option<Data>) {
        let bytes = located.arrival.request.bytes;
        self.respond_with(c, t, &located.arrival, (Status::Success, false), bytes, data);
    }

    pub(super) fn respond(
        &mut self,
        c: &Common,
        t: Microticks,
        arrival: &Arrived,
        status: Status,
        missed: bool,
    ) {
        self.respond_with(c, t, arrival, (status, missed), 0, None);
    }

    /// Returns a response.
    pub(super) fn respond_with(
        &mut self,
        c: &Common,
        t: Microticks,
        arrival: &Arrived,
        (status, event_missed): (Status, bool),
        bytes: u32,
        data: Option<Data>,
    ) {
        if status != Status::Success && !arrival.is_damaged {
            self.report(c, t, ErrorKind::Refused(status), Some(arrival.source));
        }
        let response = Response { tag: arrival.request.tag, status, event_missed, bytes };
        let meta = response.to_meta(self.number, Self::tick(t));
        let route = (arrival.source, Class::Response, arrival.mode);
        self.send(c, t, route, (c.packet.response_flits(bytes), bytes), meta, data);
    }
}

/// Size of an event as written to memory, bytes **(ours)**.
const EVENT_B: u32 = 16;

/// Two words of a packet's data.
pub(super) fn two_words(data: Option<&[u8]>) -> [u64; 2] {
    let word = |i: usize| {
        let bytes = data.and_then(|d| d.get(8 * i..8 * i + 8));
        bytes.map_or(0, |b| u64::from_le_bytes(b.try_into().expect("eight bytes")))
    };
    [word(0), word(1)]
}
