//! A context: the protocols of its sends and receives, and their progress (section III.E).
//!
//! - **Immediate**: header and data in one packet, copied when the call is made.
//! - **Eager**: packets over the device's queue, in order.
//! - **Rendezvous**: an announcement in a packet; the receiver reads the data from the sender's memory, a piece
//!   at a time, and acknowledges. Where the device cannot read it, the receiver asks the sender to stream it.
//!
//! Between two endpoints, messages are announced in the order of their sends, because each destination's packets
//! pass through one list of what waits for space; the data of a rendezvous arrives when it may.
//!
//! Nothing here calls the program. [`Context::poll`] returns what the program must be told, one event after the
//! other, so that its callbacks may use the context.

use super::Endpoint;
use super::device::{Full, PamiDevice, Range, Remote, Transfer};
use super::packet::{Head, Kind, NO_REQUEST, integer, integers};
use super::rmw::Rmw;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Protocol limits of a context.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Data of this length and more is sent by rendezvous, bytes.
    pub rendezvous_from_bytes: u64,
    /// Data that a receiver reads per poll, bytes: other messages make progress in between.
    pub piece_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        // Natively two copies of 4 KiB through a queue take as long as one by the kernel; measured by
        // `netloom bench messaging`.
        Limits { rendezvous_from_bytes: 4096, piece_bytes: 1 << 20 }
    }
}

/// Result of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Done.
    Done,
    /// The other task has ended.
    Gone,
    /// The other task has no such memory.
    Fault,
}

impl Outcome {
    fn of(moved: Result<(), Remote>) -> Self {
        match moved {
            Ok(()) => Outcome::Done,
            Err(Remote::Gone) => Outcome::Gone,
            Err(Remote::Fault | Remote::Unsupported) => Outcome::Fault,
        }
    }
}

/// What the program must be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<P> {
    /// A message begins: its dispatch function must be called, then [`Context::accept`] or
    /// [`Context::consumed`].
    Message(Message<P>),
    /// The buffers of a send may be reused.
    Sent(u64, Outcome),
    /// The target of a send has all data, or a put, get or atomic operation is done.
    Completed(u64, Outcome),
    /// All data of a message has arrived.
    Received(u64, Outcome),
    /// Nothing: a packet or a piece of data was processed.
    Progress,
    /// An atomic operation is done and fetched this value.
    Fetched(u64, u64),
    /// An atomic operation on this task's memory: the program's memory is changed by its owner, who then calls
    /// [`Context::answer_rmw`].
    Rmw {
        /// Who asks.
        origin: Endpoint,
        /// Its request.
        request: u64,
        /// The operation.
        rmw: Rmw,
    },
}

/// The begin of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<P> {
    /// Identifier of its dispatch function.
    pub dispatch: u16,
    /// The sender.
    pub origin: Endpoint,
    /// The packet; the header starts at `header_from`, unless it is long.
    pub payload: P,
    /// Whether the header came before, in packets of its own: see [`Context::long_header`].
    pub has_long_header: bool,
    /// Where the header starts in the packet.
    pub header_from: usize,
    /// Length of the header, bytes.
    pub header_bytes: usize,
    /// Length of all data, bytes.
    pub data_bytes: u64,
    /// Whether all data is in this packet, after the header.
    pub is_whole: bool,
}

/// Where the data of a message goes.
#[derive(Clone, Copy, Debug)]
pub struct Receive {
    /// Memory for at least the message's data; 0 if the data is not wanted.
    pub address: u64,
    /// The program's number for it, reported by [`Event::Received`].
    pub cookie: u64,
}

/// A send.
#[derive(Clone, Copy, Debug)]
pub struct Send<'a> {
    /// The target.
    pub to: Endpoint,
    /// Identifier of its dispatch function.
    pub dispatch: u16,
    /// The header.
    pub header: &'a [u8],
    /// The data, which stays as it is until [`Event::Sent`].
    pub data: Range,
    /// The program's number for it, reported by [`Event::Sent`].
    pub cookie: u64,
    /// Whether [`Event::Completed`] is to report that the target has all data.
    pub is_acknowledged: bool,
}

/// Error: a send is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// There is no such endpoint.
    #[error("there is no such endpoint")]
    Endpoint,
    /// Header and data are too long.
    #[error("{bytes} B are more than {max} B")]
    Length {
        /// Their length.
        bytes: usize,
        /// The maximum.
        max: usize,
    },
    /// The identifier is too great.
    #[error("dispatch identifiers end at {}", Head::DISPATCHES - 1)]
    Dispatch,
}

/// What waits for space at the device.
#[derive(Debug)]
enum Waiting {
    /// A packet as it is.
    Packet { head: Head, bytes: Vec<u8> },
    /// The rest of an eager send: the first `sent` bytes have gone.
    Eager { head: Head, start: Option<Vec<u8>>, data: Range, sent: u64, cookie: u64 },
    /// The rest of a stream for a receiver's request.
    Stream { head: Head, receiver: u64, data: Range, sent: u64, request: u64 },
    /// The rest of a put.
    Store { head: Head, remote: u64, data: Range, sent: u64, request: u64 },
}

/// A send whose target will report.
#[derive(Clone, Copy, Debug)]
struct Request {
    to: Endpoint,
    data: Range,
    cookie: u64,
    /// Whether the buffers are in use until then.
    is_rendezvous: bool,
    is_acknowledged: bool,
}

/// A message of which data is missing.
#[derive(Clone, Copy, Debug)]
struct Arriving {
    receive: Receive,
    bytes: u64,
    arrived: u64,
    /// The sender's request, if it is to be acknowledged.
    request: u64,
}

/// Data to be read from a sender's memory.
#[derive(Clone, Copy, Debug)]
struct Fetch {
    from: Endpoint,
    remote: u64,
    arriving: Arriving,
}

/// A context over its device.
#[derive(Debug)]
pub struct Context<D: PamiDevice> {
    device: D,
    limits: Limits,
    events: VecDeque<Event<D::Payload>>,
    /// Packets without space, by destination, in order.
    waiting: BTreeMap<Endpoint, VecDeque<Waiting>>,
    requests: Slab<Request>,
    /// Eager messages of which packets are missing, by sender.
    arriving: HashMap<Endpoint, Arriving>,
    /// Messages that are streamed to this context, by request.
    streams: Slab<(Endpoint, Arriving)>,
    fetches: VecDeque<Fetch>,
    fences: Vec<u64>,
    /// Parts of long headers, by sender, and that of the message whose dispatch function runs.
    headers: HashMap<Endpoint, Vec<u8>>,
    long_header: Vec<u8>,
    /// The message whose dispatch function runs.
    current: Option<(Head, Message<D::Payload>)>,
}

/// Values with numbers that are reused.
#[derive(Debug)]
struct Slab<T> {
    values: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab { values: vec![], free: vec![] }
    }
}

impl<T> Slab<T> {
    fn insert(&mut self, value: T) -> u64 {
        if let Some(at) = self.free.pop() {
            self.values[at as usize] = Some(value);
            return u64::from(at);
        }
        self.values.push(Some(value));
        self.values.len() as u64 - 1
    }

    fn get_mut(&mut self, at: u64) -> Option<&mut T> {
        self.values.get_mut(usize::try_from(at).ok()?)?.as_mut()
    }

    fn remove(&mut self, at: u64) -> Option<T> {
        let value = self.values.get_mut(usize::try_from(at).ok()?)?.take();
        if value.is_some() {
            self.free.push(at as u32);
        }
        value
    }

    fn is_empty(&self) -> bool {
        self.free.len() == self.values.len()
    }
}

/// Integers before the header of a first packet and of an announcement.
const FIRST_B: usize = 16;
const ANNOUNCEMENT_B: usize = 24;
/// Integers before the data of a put.
const STORE_B: usize = 16;

impl<D: PamiDevice> Context<D> {
    /// Most bytes of header and data of an immediate send.
    pub const IMMEDIATE_MAX: usize = D::PACKET_MAX;
    /// Most bytes of a header that travels with data; longer ones have packets of their own.
    pub const HEADER_MAX: usize = D::PACKET_MAX - ANNOUNCEMENT_B;

    /// A context over a device.
    pub fn new(device: D, limits: Limits) -> Self {
        Context {
            device,
            limits,
            events: VecDeque::new(),
            waiting: BTreeMap::new(),
            requests: Slab::default(),
            arriving: HashMap::new(),
            streams: Slab::default(),
            fetches: VecDeque::new(),
            fences: vec![],
            headers: HashMap::new(),
            long_header: vec![],
            current: None,
        }
    }

    /// Its device.
    #[inline]
    pub fn device(&self) -> &D {
        &self.device
    }

    /// The same, to be changed.
    pub fn device_mut(&mut self) -> &mut D {
        &mut self.device
    }

    fn head(&self, kind: Kind, dispatch: u16, header_bytes: usize) -> Head {
        Head { kind, dispatch, header_bytes: header_bytes as u16, origin: self.device.endpoint() }
    }

    fn check(&self, to: Endpoint, dispatch: u16, bytes: usize, max: usize) -> Result<(), Invalid> {
        if usize::from(dispatch) >= Head::DISPATCHES {
            return Err(Invalid::Dispatch);
        }
        if bytes > max {
            return Err(Invalid::Length { bytes, max });
        }
        if self.device.has(to) { Ok(()) } else { Err(Invalid::Endpoint) }
    }

    /// Sends header and data in one packet. Both may be reused at once. If there is no space, the packet waits
    /// in this context if `may_wait`; otherwise nothing is sent, and the result is `false`.
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
        self.check(to, dispatch, header.len() + data.len(), Self::IMMEDIATE_MAX)?;
        let head = self.head(Kind::Immediate, dispatch, header.len());
        // What waits for the same target goes first.
        if self.waiting.is_empty() && self.device.inject(to, head, [header, data]).is_ok() {
            return Ok(true);
        }
        Ok(self.send_later(to, head, [header, data], may_wait))
    }

    #[cold]
    fn send_later(&mut self, to: Endpoint, head: Head, parts: [&[u8]; 2], may_wait: bool) -> bool {
        if !self.waiting.contains_key(&to) && self.device.inject(to, head, parts).is_ok() {
            return true;
        }
        if may_wait {
            let waiting = Waiting::Packet { head, bytes: parts.concat() };
            self.waiting.entry(to).or_default().push_back(waiting);
        }
        may_wait
    }

    /// Sends header and data of any length.
    ///
    /// # Errors
    /// If it is invalid.
    pub fn send(&mut self, send: Send) -> Result<(), Invalid> {
        let Send { to, dispatch, mut header, data, cookie, is_acknowledged } = send;
        self.check(to, dispatch, header.len(), usize::MAX)?;
        if header.len() > Self::HEADER_MAX {
            for part in header.chunks(D::PACKET_MAX) {
                let head = self.head(Kind::Header, dispatch, 0);
                self.submit(to, Waiting::Packet { head, bytes: part.to_vec() });
            }
            header = &[];
        }
        let is_rendezvous = data.bytes > 0 && data.bytes >= self.limits.rendezvous_from_bytes;
        let request = if is_rendezvous || is_acknowledged {
            self.requests.insert(Request { to, data, cookie, is_rendezvous, is_acknowledged })
        } else {
            NO_REQUEST
        };
        let waiting = if is_rendezvous {
            let mut bytes = integers([data.bytes, request, data.address]);
            bytes.extend_from_slice(header);
            Waiting::Packet { head: self.head(Kind::Announcement, dispatch, header.len()), bytes }
        } else {
            let mut start = integers([data.bytes, request]);
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

    /// Reports the old value of an atomic operation to who asked.
    pub fn answer_rmw(&mut self, to: Endpoint, request: u64, old: u64) {
        let head = self.head(Kind::RmwResult, 0, 0);
        self.submit(to, Waiting::Packet { head, bytes: integers([request, old]) });
    }

    /// Writes data into a target's memory; [`Event::Sent`] reports that the local buffer is free,
    /// [`Event::Completed`] that the data is there.
    ///
    /// # Errors
    /// If there is no such endpoint.
    pub fn put(&mut self, to: Endpoint, data: Range, remote: u64, cookie: u64) -> Result<(), Invalid> {
        self.check(to, 0, 0, 0)?;
        match self.device.transfer(Transfer::Put, to, data, remote) {
            Err(Remote::Unsupported) => {
                let request = Request { to, data, cookie, is_rendezvous: true, is_acknowledged: true };
                let request = self.requests.insert(request);
                let head = self.head(Kind::Store, 0, 0);
                self.submit(to, Waiting::Store { head, remote, data, sent: 0, request });
            }
            moved => {
                let outcome = Outcome::of(moved);
                self.events.extend([Event::Sent(cookie, outcome), Event::Completed(cookie, outcome)]);
            }
        }
        Ok(())
    }

    /// Reads data from a target's memory; [`Event::Received`] reports that it is there.
    ///
    /// # Errors
    /// If there is no such endpoint.
    pub fn get(&mut self, from: Endpoint, local: Range, remote: u64, cookie: u64) -> Result<(), Invalid> {
        self.check(from, 0, 0, 0)?;
        match self.device.transfer(Transfer::Get, from, local, remote) {
            Err(Remote::Unsupported) => {
                let receive = Receive { address: local.address, cookie };
                let arriving = Arriving { receive, bytes: local.bytes, arrived: 0, request: NO_REQUEST };
                let stream = self.streams.insert((from, arriving));
                let head = self.head(Kind::Load, 0, 0);
                let bytes = integers([remote, local.bytes, stream]);
                self.submit(from, Waiting::Packet { head, bytes });
            }
            moved => self.events.push_back(Event::Received(cookie, Outcome::of(moved))),
        }
        Ok(())
    }

    fn submit(&mut self, to: Endpoint, waiting: Waiting) {
        self.waiting.entry(to).or_default().push_back(waiting);
        self.inject_waiting(to);
    }

    /// Sends what waits for a target, as far as there is space.
    fn inject_waiting(&mut self, to: Endpoint) {
        let Some(mut list) = self.waiting.remove(&to) else { return };
        while let Some(first) = list.front_mut() {
            if self.inject(to, first).is_err() {
                self.waiting.insert(to, list);
                return;
            }
            list.pop_front();
        }
    }

    /// Sends all packets of one operation.
    fn inject(&mut self, to: Endpoint, waiting: &mut Waiting) -> Result<(), Full> {
        match waiting {
            Waiting::Packet { head, bytes } => self.device.inject(to, *head, [bytes, &[]]),
            Waiting::Eager { head, start, data, sent, cookie } => {
                if let Some(bytes) = start {
                    let room = (D::PACKET_MAX - bytes.len()) as u64;
                    let part = data.bytes.min(room);
                    self.device.inject_memory(to, *head, bytes, data.part(0, part))?;
                    (*start, *sent) = (None, part);
                }
                let more = Head { kind: Kind::More, header_bytes: 0, ..*head };
                while *sent < data.bytes {
                    let part = (data.bytes - *sent).min(D::PACKET_MAX as u64);
                    self.device.inject_memory(to, more, &[], data.part(*sent, part))?;
                    *sent += part;
                }
                self.events.push_back(Event::Sent(*cookie, Outcome::Done));
                Ok(())
            }
            Waiting::Stream { head, receiver, data, sent, request } => {
                let start = receiver.to_le_bytes();
                while *sent < data.bytes {
                    let part = (data.bytes - *sent).min((D::PACKET_MAX - start.len()) as u64);
                    self.device.inject_memory(to, *head, &start, data.part(*sent, part))?;
                    *sent += part;
                }
                self.buffers_are_free(*request);
                Ok(())
            }
            Waiting::Store { head, remote, data, sent, request } => {
                while *sent < data.bytes {
                    let part = (data.bytes - *sent).min((D::PACKET_MAX - STORE_B) as u64);
                    let is_last = *sent + part == data.bytes;
                    let start = integers([*remote + *sent, if is_last { *request } else { NO_REQUEST }]);
                    self.device.inject_memory(to, *head, &start, data.part(*sent, part))?;
                    *sent += part;
                }
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

    /// Makes a step of progress and returns what the program must be told, if anything.
    #[inline]
    pub fn poll(&mut self) -> Option<Event<D::Payload>> {
        if let Some(event) = self.events.pop_front() {
            return Some(event);
        }
        if !self.waiting.is_empty() {
            self.retry();
        }
        if !self.fences.is_empty() {
            self.pass_fences();
        }
        if let Some((head, payload)) = self.device.poll() {
            if head.kind == Kind::Immediate {
                let length = self.device.bytes(payload).len();
                let header_bytes = usize::from(head.header_bytes).min(length);
                let data_bytes = (length - header_bytes) as u64;
                return Some(self.begin(head, payload, 0, header_bytes, data_bytes, true));
            }
            return Some(self.arrived(head, payload));
        }
        if self.fetches.is_empty() { self.events.pop_front() } else { self.fetch() }
    }

    /// Whether nothing is left to do unless a packet arrives.
    pub fn is_idle(&self) -> bool {
        self.events.is_empty() && self.waiting.is_empty() && self.fetches.is_empty()
    }

    /// [`Event::Sent`] will report that all operations so far are complete at their targets.
    pub fn fence(&mut self, cookie: u64) {
        self.fences.push(cookie);
        self.pass_fences();
    }

    /// Fences wait until nothing is under way, also of what was started after them.
    fn pass_fences(&mut self) {
        if !self.fences.is_empty() && self.requests.is_empty() && self.waiting.is_empty() {
            let passed = self.fences.drain(..).map(|cookie| Event::Sent(cookie, Outcome::Done));
            self.events.extend(passed);
        }
    }

    #[cold]
    fn retry(&mut self) {
        let targets: Vec<Endpoint> = self.waiting.keys().copied().collect();
        targets.into_iter().for_each(|to| self.inject_waiting(to));
    }

    #[inline]
    fn begin(
        &mut self,
        head: Head,
        payload: D::Payload,
        header_from: usize,
        header_bytes: usize,
        data_bytes: u64,
        is_whole: bool,
    ) -> Event<D::Payload> {
        let (dispatch, origin) = (head.dispatch, head.origin);
        let has_long_header = head.kind != Kind::Immediate && self.take_long_header(origin);
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

    /// The program has taken all data of the message out of the packet.
    #[inline]
    pub fn consumed(&mut self) {
        if let Some((head, message)) = self.current.take() {
            if head.kind == Kind::First {
                let request = integer(self.device.bytes(message.payload), 1);
                self.acknowledge(head.origin, request, Outcome::Done);
            }
            self.device.release();
        }
    }

    /// The program has said where the data of the message goes.
    pub fn accept(&mut self, receive: Receive) {
        let Some((head, message)) = self.current.take() else { return };
        let bytes = self.device.bytes(message.payload);
        let from = message.header_from + message.header_bytes;
        let here = bytes.len().saturating_sub(from) as u64;
        let mut arriving = Arriving { receive, bytes: message.data_bytes, arrived: 0, request: NO_REQUEST };
        match head.kind {
            Kind::Announcement => {
                arriving.request = integer(bytes, 1);
                let remote = integer(bytes, 2);
                self.device.release();
                let fetch = Fetch { from: head.origin, remote, arriving };
                if receive.address == 0 {
                    self.finish(head.origin, arriving, Outcome::Done)
                } else {
                    self.fetches.push_back(fetch)
                }
            }
            kind => {
                if kind == Kind::First {
                    arriving.request = integer(bytes, 1);
                }
                if receive.address != 0 && here > 0 {
                    self.device.store(message.payload, from, receive.address);
                }
                arriving.arrived = here;
                self.device.release();
                self.progress(head.origin, arriving);
            }
        }
    }

    /// More of an eager message has arrived.
    fn progress(&mut self, from: Endpoint, arriving: Arriving) {
        if arriving.arrived < arriving.bytes {
            self.arriving.insert(from, arriving);
        } else {
            self.finish(from, arriving, Outcome::Done);
        }
    }

    fn finish(&mut self, from: Endpoint, arriving: Arriving, outcome: Outcome) {
        self.acknowledge(from, arriving.request, outcome);
        self.events.push_back(Event::Received(arriving.receive.cookie, outcome));
    }

    fn acknowledge(&mut self, to: Endpoint, request: u64, outcome: Outcome) {
        if request != NO_REQUEST {
            let head = self.head(Kind::Acknowledgement, 0, 0);
            let bytes = integers([request, u64::from(outcome != Outcome::Done)]);
            self.submit(to, Waiting::Packet { head, bytes });
        }
    }

    /// A packet other than an immediate one has arrived.
    fn arrived(&mut self, head: Head, payload: D::Payload) -> Event<D::Payload> {
        let bytes = self.device.bytes(payload);
        let length = bytes.len();
        let [first, second] = [0, 1].map(|n| integer(bytes, n));
        let header_bytes = usize::from(head.header_bytes);
        match head.kind {
            Kind::First => {
                let is_whole =
                    length >= FIRST_B + header_bytes && (length - FIRST_B - header_bytes) as u64 == first;
                return self.begin(head, payload, FIRST_B, header_bytes, first, is_whole);
            }
            Kind::Announcement => {
                return self.begin(head, payload, ANNOUNCEMENT_B, header_bytes, first, false);
            }
            Kind::Immediate => unreachable!("handled by poll"),
            Kind::Header => self.headers.entry(head.origin).or_default().extend_from_slice(bytes),
            Kind::More => {
                if let Some(mut arriving) = self.arriving.remove(&head.origin) {
                    let to = arriving.receive.address;
                    if to != 0 {
                        self.device.store(payload, 0, to + arriving.arrived);
                    }
                    arriving.arrived += length as u64;
                    self.device.release();
                    self.progress(head.origin, arriving);
                    return self.next_event();
                }
            }
            Kind::Stream => {
                if let Some((from, arriving)) = self.streams.get_mut(first) {
                    self.device.store(payload, 8, arriving.receive.address + arriving.arrived);
                    arriving.arrived += length as u64 - 8;
                    let (from, arriving) = (*from, *arriving);
                    if arriving.arrived >= arriving.bytes {
                        self.streams.remove(first);
                        self.finish(from, arriving, Outcome::Done);
                    }
                }
            }
            Kind::Store => {
                self.device.store(payload, STORE_B, first);
                self.acknowledge(head.origin, second, Outcome::Done);
            }
            Kind::Load => {
                let (data, receiver) = (Range { address: first, bytes: second }, integer(bytes, 2));
                let stream = self.head(Kind::Stream, 0, 0);
                let waiting = Waiting::Stream { head: stream, receiver, data, sent: 0, request: NO_REQUEST };
                self.submit(head.origin, waiting);
            }
            Kind::StreamRequest => {
                if let Some(&mut Request { to, data, .. }) = self.requests.get_mut(first) {
                    let head = self.head(Kind::Stream, 0, 0);
                    self.submit(
                        to,
                        Waiting::Stream { head, receiver: second, data, sent: 0, request: first },
                    );
                }
            }
            Kind::Acknowledgement => {
                let outcome = if second == 0 { Outcome::Done } else { Outcome::Fault };
                self.target_reported(first, outcome);
            }
            Kind::Rmw => {
                let (request, rmw) = Rmw::of_integers([0, 1, 2, 3, 4].map(|n| integer(bytes, n)));
                self.device.release();
                return Event::Rmw { origin: head.origin, request, rmw };
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

    /// Something was processed: the first event, if there is one.
    fn next_event(&mut self) -> Event<D::Payload> {
        self.events.pop_front().unwrap_or(Event::Progress)
    }

    fn target_reported(&mut self, request: u64, outcome: Outcome) {
        let Some(request) = self.requests.remove(request) else { return };
        if request.is_rendezvous {
            self.events.push_back(Event::Sent(request.cookie, outcome));
        }
        if request.is_acknowledged {
            self.events.push_back(Event::Completed(request.cookie, outcome));
        }
    }

    /// Reads a piece of the data that the first sender announced.
    fn fetch(&mut self) -> Option<Event<D::Payload>> {
        let mut fetch = self.fetches.pop_front()?;
        let Arriving { receive, bytes, arrived, request } = fetch.arriving;
        let piece = (bytes - arrived).min(self.limits.piece_bytes);
        let local = Range { address: receive.address + arrived, bytes: piece };
        let moved = self.device.transfer(Transfer::Get, fetch.from, local, fetch.remote + arrived);
        match moved {
            Ok(()) => {
                fetch.arriving.arrived += piece;
                if fetch.arriving.arrived < bytes {
                    self.fetches.push_back(fetch);
                } else {
                    self.finish(fetch.from, fetch.arriving, Outcome::Done);
                }
            }
            Err(Remote::Unsupported) => {
                fetch.arriving.arrived = 0;
                let own = self.streams.insert((fetch.from, fetch.arriving));
                let head = self.head(Kind::StreamRequest, 0, 0);
                let bytes = integers([request, own]);
                self.submit(fetch.from, Waiting::Packet { head, bytes });
            }
            gone => self.finish(fetch.from, fetch.arriving, Outcome::of(gone)),
        }
        Some(self.next_event())
    }

    /// Tasks have ended before they left the job: what waits for them is over.
    pub fn report_gone(&mut self) {
        let device = &self.device;
        let is_gone = |endpoint: &Endpoint| device.is_gone(endpoint.task());
        let dropped: Vec<Endpoint> = self.waiting.keys().filter(|to| is_gone(to)).copied().collect();
        let lost: Vec<u64> = (0..self.requests.values.len() as u64)
            .filter(|&n| self.requests.values[n as usize].as_ref().is_some_and(|r| is_gone(&r.to)))
            .collect();
        let cut: Vec<Endpoint> = self.arriving.keys().filter(|from| is_gone(from)).copied().collect();
        for to in dropped {
            for waiting in self.waiting.remove(&to).unwrap_or_default() {
                if let Waiting::Eager { cookie, .. } = waiting {
                    self.events.push_back(Event::Sent(cookie, Outcome::Gone));
                }
            }
        }
        lost.into_iter().for_each(|request| self.target_reported(request, Outcome::Gone));
        let mut cut: Vec<Arriving> = cut.iter().filter_map(|from| self.arriving.remove(from)).collect();
        for n in 0..self.streams.values.len() as u64 {
            if self.streams.get_mut(n).is_some_and(|(from, _)| self.device.is_gone(from.task())) {
                cut.extend(self.streams.remove(n).map(|(_, arriving)| arriving));
            }
        }
        let over = cut.iter().map(|arriving| Event::Received(arriving.receive.cookie, Outcome::Gone));
        self.events.extend(over);
    }
}
