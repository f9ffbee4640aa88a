//! Packets that arrive: messages, their data, and reports of targets.

use super::*;

impl<D: PamiDevice> Context<D> {
    // Most messages are immediate, and their path is short.
    #[inline(always)]
    pub(super) fn begin(
        &mut self,
        head: Head,
        payload: D::Payload,
        header_from: usize,
        header_bytes: usize,
        data_bytes: u64,
        is_whole: bool,
    ) -> Event<D::Payload> {
        self.device.spend(Step::Dispatch);
        let (dispatch, origin) = (head.dispatch(), head.origin());
        let has_long_header = head.kind() != Kind::Immediate && self.take_long_header(origin);
        let message = Message {
            dispatch,
            origin,
            payload,
            has_long_header,
            header_from,
            header_bytes,
            data_bytes,
            is_whole,
        };
        self.current = Some((head, message));
        Event::Message(message)
    }

    fn take_long_header(&mut self, origin: Endpoint) -> bool {
        let header = if self.headers.is_empty() { None } else { self.headers.remove(&origin) };
        let is_long = header.is_some();
        self.long_header = header.unwrap_or_default();
        is_long
    }

    /// The header of the message whose dispatch function runs, if it is long.
    pub fn long_header(&self) -> &[u8] {
        &self.long_header
    }

    /// The program has no dispatch function for the message yet. It waits in its packet, and what came after
    /// it waits behind it, until [`Self::resume`].
    pub fn postpone(&mut self) {
        self.is_postponed = true;
    }

    /// The program has another dispatch function: a message that was postponed begins again.
    pub fn resume(&mut self) {
        if std::mem::take(&mut self.is_postponed)
            && let Some((_, message)) = self.current
        {
            self.events.push_front(Event::Message(message));
        }
    }

    /// The program has taken all data of the message out of the packet.
    #[inline]
    pub fn consumed(&mut self) {
        if let Some((head, message)) = self.current.take() {
            if head.kind() == Kind::First {
                let request = integer(self.device.bytes(message.payload), 1);
                self.acknowledge(head.origin(), request, Outcome::Done);
            }
            self.device.release();
        }
    }

    /// The program has said where the data of the message goes.
    pub fn accept(&mut self, receive: Receive) {
        let Some((head, message)) = self.current.take() else { return };
        let bytes = self.device.bytes(message.payload);
        let from = message.header_from + message.header_bytes;
        let bytes_here = bytes.len();
        let here = bytes_here.saturating_sub(from) as u64;
        let mut arriving = Arriving { receive, bytes: message.data_bytes, arrived: 0, request: NO_REQUEST };
        match head.kind() {
            Kind::Announcement => {
                arriving.request = integer(bytes, 1);
                let remote = integer(bytes, 2);
                self.device.release();
                if receive.address == 0 {
                    self.finish(head.origin(), arriving, Outcome::Done)
                } else {
                    let local = Range { address: receive.address, bytes: arriving.bytes };
                    let purpose = Purpose::Receive(arriving);
                    let movement = Movement::new(purpose, head.origin(), &[(local, remote)]);
                    if self.is_paced(&movement) {
                        self.pace(movement);
                    } else {
                        self.movements.push_back(movement);
                    }
                }
            }
            kind => {
                if kind == Kind::First {
                    arriving.request = integer(bytes, 1);
                }
                if receive.address != 0 && here > 0 {
                    self.device.store(message.payload, from..bytes_here, receive.address);
                }
                arriving.arrived = here;
                self.device.release();
                self.progress(head.origin(), arriving);
            }
        }
    }

    /// More of an eager message has arrived.
    pub(super) fn progress(&mut self, from: Endpoint, arriving: Arriving) {
        if arriving.arrived < arriving.bytes {
            self.arriving.insert(from, arriving);
        } else {
            self.finish(from, arriving, Outcome::Done);
        }
    }

    pub(super) fn finish(&mut self, from: Endpoint, arriving: Arriving, outcome: Outcome) {
        self.acknowledge(from, arriving.request, outcome);
        self.events.push_back(Event::Received(arriving.receive.cookie, outcome));
    }

    pub(super) fn acknowledge(&mut self, to: Endpoint, request: u64, outcome: Outcome) {
        if request != NO_REQUEST {
            let head = self.head(Kind::Acknowledgement, 0, 0);
            let mut bytes = self.spare.packet();
            bytes.extend([request, u64::from(outcome != Outcome::Done)].map(u64::to_le_bytes).as_flattened());
            self.submit(to, Waiting::Packet { head, bytes });
        }
    }

    /// A packet other than an immediate one has arrived.
    pub(super) fn arrived(&mut self, head: Head, payload: D::Payload) -> Event<D::Payload> {
        let bytes = self.device.bytes(payload);
        let length = bytes.len();
        let [first, second] = [0, 1].map(|n| integer(bytes, n));
        let header_bytes = usize::from(head.header_bytes());
        match head.kind() {
            Kind::First => {
                let is_whole =
                    length >= FIRST_B + header_bytes && (length - FIRST_B - header_bytes) as u64 == first;
                return self.begin(head, payload, FIRST_B, header_bytes, first, is_whole);
            }
            Kind::Announcement => {
                return self.begin(head, payload, ANNOUNCEMENT_B, header_bytes, first, false);
            }
            Kind::Immediate => unreachable!("handled by poll"),
            Kind::Header => self.headers.entry(head.origin()).or_default().extend_from_slice(bytes),
            Kind::More => {
                if let Some(mut arriving) = self.arriving.remove(&head.origin()) {
                    let to = arriving.receive.address;
                    if to != 0 {
                        self.device.store(payload, 0..length, to + arriving.arrived);
                    }
                    arriving.arrived += length as u64;
                    self.device.release();
                    self.progress(head.origin(), arriving);
                    return self.next_event();
                }
            }
            Kind::Stream => self.streamed(payload),
            Kind::Store => self.store_pieces(head.origin(), payload),
            Kind::Load => self.load_pieces(head.origin(), payload),
            Kind::StreamRequest => {
                if let Some(&mut Request { to, data, .. }) = self.requests.get_mut(first) {
                    let (head, data) = (self.head(Kind::Stream, 0, 0), Pieces::new(&[data]));
                    self.submit(to, Waiting::Stream { head, receiver: second, data, request: first });
                }
            }
            Kind::Acknowledgement => {
                let outcome = if second == 0 { Outcome::Done } else { Outcome::Fault };
                self.target_reported(first, outcome);
            }
            Kind::Rmw => {
                let (request, rmw) = Rmw::of_integers([0, 1, 2, 3, 4].map(|n| integer(bytes, n)));
                self.device.release();
                return Event::Rmw { origin: head.origin(), request, rmw };
            }
            Kind::RmwResult => {
                if let Some(request) = self.requests.remove(first) {
                    self.events.push_back(Event::Fetched(request.cookie, second));
                }
            }
        }
        self.device.release();
        self.next_event()
    }

    /// The device has finished an operation.
    #[cold]
    pub(super) fn finished(&mut self, ticket: Ticket) -> Event<D::Payload> {
        match self.pending.remove(&ticket) {
            // A part of an operation, of which the last part reports the end.
            None => {}
            Some(Pending::Eager { cookie }) => self.events.push_back(Event::Sent(cookie, Outcome::Done)),
            Some(Pending::Movement(movement)) => self.moved(movement),
            Some(Pending::Paced { number, bytes }) => {
                self.paced_part(number, bytes);
                self.begin_paced();
            }
            Some(Pending::Collective { cookie }) => self.events.push_back(Event::Collected(cookie)),
        }
        self.next_event()
    }
}
