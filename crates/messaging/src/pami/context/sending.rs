//! Sends, puts, gets and atomic operations, and what waits for space at the device.

use super::*;
use std::ops::Bound::{Excluded, Unbounded};

/// Memory of what has waited before, so that what waits often needs no new memory.
#[derive(Debug, Default)]
pub(super) struct Spare {
    lists: Vec<VecDeque<Waiting>>,
    packets: Vec<Vec<u8>>,
}

impl Spare {
    const LISTS_MAX: usize = 8;
    const PACKETS_MAX: usize = 128;
    const PACKET_B_MAX: usize = 1024;

    fn keep_list(&mut self, list: VecDeque<Waiting>) {
        if self.lists.len() < Self::LISTS_MAX {
            self.lists.push(list);
        }
    }

    fn keep(&mut self, waited: Waiting) {
        if let Waiting::Packet { bytes, .. } = waited {
            self.keep_packet(bytes);
        }
    }

    pub fn keep_packet(&mut self, mut bytes: Vec<u8>) {
        if self.packets.len() < Self::PACKETS_MAX && bytes.capacity() <= Self::PACKET_B_MAX {
            bytes.clear();
            self.packets.push(bytes);
        }
    }

    /// Memory for a packet, empty.
    pub fn packet(&mut self) -> Vec<u8> {
        self.packets.pop().unwrap_or_default()
    }
}

impl<D: PamiDevice> Context<D> {
    pub(super) fn head(&self, kind: Kind, dispatch: u16, header_bytes: usize) -> Head {
        Head::new(kind, dispatch, header_bytes as u16, self.device.endpoint())
    }

    pub(super) fn check(&self, to: Endpoint, dispatch: u16, bytes: usize, max: usize) -> Result<(), Invalid> {
        if usize::from(dispatch) >= Head::DISPATCHES {
            return Err(Invalid::Dispatch);
        }
        if bytes > max {
            return Err(Invalid::Length { bytes, max });
        }
        if self.device.has(to) { Ok(()) } else { Err(Invalid::Endpoint) }
    }

    /// Sends header and data in one packet. Both may be reused at once. If there is no space, the packet
    /// waits in this context if `may_wait`; otherwise nothing is sent, and the result is `false`.
    ///
    /// # Errors
    /// If it is invalid.
    #[inline]
    pub fn send_immediate(
        &mut self,
        to: Endpoint,
        dispatch: u16,
        [header, data]: [&[u8]; 2],
        may_wait: bool,
    ) -> Result<bool, Invalid> {
        self.check(to, dispatch, header.len() + data.len(), self.immediate_max())?;
        self.device.spend(Step::Immediate);
        let head = self.head(Kind::Immediate, dispatch, header.len());
        // What waits for the same target goes first.
        if self.waiting.is_empty() && self.device.inject(to, head, [header, data]).is_ok() {
            return Ok(true);
        }
        Ok(self.send_later(to, head, [header, data], may_wait))
    }

    /// The same, also of more than one packet usually holds, if the path to the target carries it at once. If
    /// not, nothing is sent, and the result is `false`.
    ///
    /// # Errors
    /// If it is invalid.
    #[inline]
    pub fn send_whole(
        &mut self,
        to: Endpoint,
        dispatch: u16,
        [header, data]: [&[u8]; 2],
    ) -> Result<bool, Invalid> {
        self.check(to, dispatch, 0, 0)?;
        let is_free = self.waiting.is_empty() || !self.waiting.contains_key(&to);
        if !is_free || header.len() + data.len() > self.device.data_max(to) {
            return Ok(false);
        }
        self.device.spend(Step::Immediate);
        let head = self.head(Kind::Immediate, dispatch, header.len());
        Ok(self.device.inject(to, head, [header, data]).is_ok())
    }

    #[cold]
    fn send_later(&mut self, to: Endpoint, head: Head, parts: [&[u8]; 2], may_wait: bool) -> bool {
        if !self.waiting.contains_key(&to) && self.device.inject(to, head, parts).is_ok() {
            return true;
        }
        if may_wait {
            let mut bytes = self.spare.packet();
            parts.iter().for_each(|part| bytes.extend_from_slice(part));
            self.list_of(to).push_back(Waiting::Packet { head, bytes });
        }
        may_wait
    }

    /// Sends header and data of any length.
    ///
    /// # Errors
    /// If it is invalid.
    pub fn send(&mut self, send: Send) -> Result<(), Invalid> {
        self.send_by(send, None)
    }

    /// The same by rendezvous, whose receiver fetches the data, or not so: with an answer instead of the
    /// length from which data is fetched.
    ///
    /// # Errors
    /// If it is invalid.
    pub fn send_by(&mut self, send: Send, is_fetched: Option<bool>) -> Result<(), Invalid> {
        let Send { to, dispatch, mut header, data, cookie, is_acknowledged } = send;
        self.check(to, dispatch, header.len(), usize::MAX)?;
        self.device.spend(Step::Send);
        if header.len() > self.header_max() {
            for part in header.chunks(self.device.packet_max()) {
                let head = self.head(Kind::Header, dispatch, 0);
                self.submit(to, Waiting::Packet { head, bytes: part.to_vec() });
            }
            header = &[];
        }
        let is_fetched = is_fetched.unwrap_or(data.bytes >= self.limits.rendezvous_from_bytes);
        let is_rendezvous = data.bytes > 0 && is_fetched;
        let request = if is_rendezvous || is_acknowledged {
            self.requests.insert(Request { to, data, cookie, is_rendezvous, is_acknowledged })
        } else {
            NO_REQUEST
        };
        let waiting = if is_rendezvous {
            let mut bytes = integers([data.bytes, request, self.device.expose(data)]);
            bytes.extend_from_slice(header);
            Waiting::Packet { head: self.head(Kind::Announcement, dispatch, header.len()), bytes }
        } else {
            let mut start = self.spare.packet();
            start.extend_from_slice(&data.bytes.to_le_bytes());
            start.extend_from_slice(&request.to_le_bytes());
            start.extend_from_slice(header);
            let head = self.head(Kind::First, dispatch, header.len());
            Waiting::Eager { head, start: Some(start), data, sent: 0, cookie }
        };
        self.submit(to, waiting);
        Ok(())
    }

    /// Starts an atomic operation on a target's memory; [`Event::Fetched`] reports its end.
    ///
    /// # Errors
    /// If there is no such endpoint.
    pub fn rmw(&mut self, to: Endpoint, rmw: Rmw, cookie: u64) -> Result<(), Invalid> {
        self.check(to, 0, 0, 0)?;
        let data = Range { address: 0, bytes: 0 };
        let request = Request { to, data, cookie, is_rendezvous: false, is_acknowledged: true };
        let request = self.requests.insert(request);
        let head = self.head(Kind::Rmw, 0, 0);
        self.submit(to, Waiting::Packet { head, bytes: integers(rmw.to_integers(request)) });
        Ok(())
    }

    /// Begins a collective operation of one of the device's groups; [`Event::Collected`] reports its end.
    pub fn collective(&mut self, group: usize, operation: Collective, cookie: u64) {
        self.device.spend(Step::Collective);
        if matches!(operation, Collective::Allreduce { .. } | Collective::Reduce { .. }) {
            self.device.spend(Step::Reduction);
        }
        let ticket = self.device.collective(group, operation);
        self.pending.insert(ticket, Pending::Collective { cookie });
    }

    /// Reports the old value of an atomic operation to who asked.
    pub fn answer_rmw(&mut self, to: Endpoint, request: u64, old: u64) {
        let head = self.head(Kind::RmwResult, 0, 0);
        self.submit(to, Waiting::Packet { head, bytes: integers([request, old]) });
    }

    /// What waits for a target.
    fn list_of(&mut self, to: Endpoint) -> &mut VecDeque<Waiting> {
        self.waiting.entry(to).or_insert_with(|| self.spare.lists.pop().unwrap_or_default())
    }

    pub(super) fn submit(&mut self, to: Endpoint, mut waiting: Waiting) {
        // What waits for the same target goes first.
        if !self.waiting.contains_key(&to) && self.inject(to, &mut waiting).is_ok() {
            return self.spare.keep(waiting);
        }
        self.list_of(to).push_back(waiting);
        self.inject_waiting(to);
    }

    /// Sends what waits for a target, as far as there is space.
    pub(super) fn inject_waiting(&mut self, to: Endpoint) {
        let Some(mut list) = self.waiting.remove(&to) else { return };
        while let Some(first) = list.front_mut() {
            if self.inject(to, first).is_err() {
                self.waiting.insert(to, list);
                return;
            }
            list.pop_front().into_iter().for_each(|sent| self.spare.keep(sent));
        }
        self.spare.keep_list(list);
    }

    /// Sends all packets of one operation.
    fn inject(&mut self, to: Endpoint, waiting: &mut Waiting) -> Result<(), Full> {
        match waiting {
            Waiting::Packet { head, bytes } => self.device.inject(to, *head, [bytes, &[]]),
            Waiting::Eager { head, start, data, sent, cookie } => {
                if let Some(bytes) = start {
                    let room = (self.device.data_max(to) - bytes.len()) as u64;
                    let part = data.bytes.min(room);
                    self.device.inject_memory(to, *head, bytes, data.part(0, part))?;
                    start.take().into_iter().for_each(|bytes| self.spare.keep_packet(bytes));
                    *sent = part;
                }
                let more = Head::new(Kind::More, head.dispatch(), 0, head.origin());
                let mut last = Begun::Done;
                while *sent < data.bytes {
                    let rest = data.part(*sent, data.bytes - *sent);
                    let (part, begun) = self.device.inject_data(to, more, rest)?;
                    *sent += part;
                    last = begun;
                }
                match last {
                    Begun::Done => self.events.push_back(Event::Sent(*cookie, Outcome::Done)),
                    Begun::Later(ticket) => {
                        self.pending.insert(ticket, Pending::Eager { cookie: *cookie });
                    }
                }
                Ok(())
            }
            Waiting::Stream { head, receiver, data, request } => {
                self.inject_stream(to, *head, *receiver, data)?;
                self.buffers_are_free(*request);
                Ok(())
            }
            Waiting::Store { head, pieces, request } => {
                self.inject_stores(to, *head, *request, pieces)?;
                self.buffers_are_free(*request);
                Ok(())
            }
        }
    }

    /// All data of a request has been sent; the target's acknowledgement reports the rest.
    fn buffers_are_free(&mut self, request: u64) {
        if let Some(request) = self.requests.get_mut(request) {
            request.is_rendezvous = false;
            self.events.push_back(Event::Sent(request.cookie, Outcome::Done));
        }
    }

    #[cold]
    pub(super) fn retry(&mut self) {
        let mut next = self.waiting.keys().next().copied();
        while let Some(to) = next {
            self.inject_waiting(to);
            next = self.waiting.range((Excluded(to), Unbounded)).next().map(|(&to, _)| to);
        }
    }

    pub(super) fn target_reported(&mut self, request: u64, outcome: Outcome) {
        let Some(request) = self.requests.remove(request) else { return };
        if request.is_rendezvous {
            self.events.push_back(Event::Sent(request.cookie, outcome));
        }
        if request.is_acknowledged {
            self.events.push_back(Event::Completed(request.cookie, outcome));
        }
    }
}
