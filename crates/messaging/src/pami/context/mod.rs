//! A context: the protocols of its sends and receives, and their progress (section III.E).
//!
//! - **Immediate**: header and data in one packet, copied when the call is made.
//! - **Eager**: packets over the device's queue, in order.
//! - **Rendezvous**: an announcement in a packet; the receiver reads the data from the sender's memory, a
//!   piece at a time, and acknowledges; from far away in small parts ([`Pacing`]). Where the device cannot
//!   read it, the receiver asks the sender to stream it.
//! - **One-sided** ([`Rma`]): the device moves the data, if it reaches the target's memory; otherwise packets
//!   carry it, with as many short pieces in each as it holds.
//!
//! Between two endpoints, messages are announced in the order of their sends, because each destination's
//! packets pass through one list of what waits for space; the data of a rendezvous arrives when it may.
//!
//! Nothing here calls the program. [`Context::poll`] returns what the program must be told, one event after
//! the other, so that its callbacks may use the context.

mod event;
mod one_sided;
mod pacing;
mod packing;
mod receiving;
mod sending;
mod unfinished;

use super::device::{
    Arrival, Begun, Collective, Full, Next, PamiDevice, Piece, Range, Remote, Step, Ticket, Transfer,
};
use super::packet::{Head, Kind, NO_REQUEST, integer, integers};
use super::rmw::Rmw;
use super::{Endpoint, Map};
use crate::slab::Slab;
use one_sided::{Movement, Purpose};
use pacing::Paced;
use packing::Pieces;
use sending::Spare;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub use event::{Event, Invalid, Message, Outcome, Receive, Rma, Send};
pub use pacing::{Pacing, distance};

/// Protocol limits of a context.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Data of this length and more is sent by rendezvous, bytes.
    pub rendezvous_from_bytes: u64,
    /// Data of a rendezvous, put or get that the device moves at once, bytes: other messages make progress in
    /// between.
    pub piece_bytes: u64,
    /// How the data of a rendezvous, and of gets, is paced that comes from far away.
    pub pacing: Option<Pacing>,
}

impl Default for Limits {
    fn default() -> Self {
        // Natively two copies of 4 KiB through a queue take as long as one by the kernel; measured by
        // `netloom bench messaging`.
        Limits { rendezvous_from_bytes: 4096, piece_bytes: 1 << 20, pacing: None }
    }
}

/// What waits for space at the device.
#[derive(Debug)]
enum Waiting {
    /// A packet as it is.
    Packet { head: Head, bytes: Vec<u8> },
    /// The rest of an eager send: the first `sent` bytes have gone.
    Eager { head: Head, start: Option<Vec<u8>>, data: Range, sent: u64, cookie: u64 },
    /// The rest of a stream for a receiver's request.
    Stream { head: Head, receiver: u64, data: Pieces<Range>, request: u64 },
    /// The rest of a put.
    Store { head: Head, pieces: Pieces<Piece>, request: u64 },
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

/// Data that is streamed to this context.
#[derive(Debug)]
struct Streamed {
    from: Endpoint,
    arriving: Arriving,
    /// Where it goes, if it has several places.
    places: Pieces<Range>,
}

/// What the device is to finish.
#[derive(Clone, Debug)]
enum Pending {
    /// The reading of the data of an eager send.
    Eager { cookie: u64 },
    /// A part of a movement.
    Movement(Movement),
    /// A part of a paced get, by its number.
    Paced { number: u64, bytes: u64 },
    /// A collective operation.
    Collective { cookie: u64 },
}

/// A context over its device.
#[derive(Debug)]
pub struct Context<D: PamiDevice> {
    device: D,
    limits: Limits,
    events: VecDeque<Event<D::Payload>>,
    /// Packets without space, by destination, in order.
    waiting: BTreeMap<Endpoint, VecDeque<Waiting>>,
    spare: Spare,
    requests: Slab<Request>,
    /// Eager messages of which packets are missing, by sender.
    arriving: Map<Endpoint, Arriving>,
    /// Messages that are streamed to this context, by request.
    streams: Slab<Streamed>,
    /// What the device moves, a part at a time.
    movements: VecDeque<Movement>,
    paced: Paced,
    pending: Map<Ticket, Pending>,
    /// Targets of puts that nobody knows to be complete there.
    unflushed: BTreeSet<Endpoint>,
    fences: Vec<u64>,
    /// Parts of long headers, by sender, and that of the message whose dispatch function runs.
    headers: Map<Endpoint, Vec<u8>>,
    long_header: Vec<u8>,
    /// The message whose dispatch function runs.
    current: Option<(Head, Message<D::Payload>)>,
    /// Whether that function does not exist yet.
    is_postponed: bool,
}

/// Integers before the header of a first packet and of an announcement.
const FIRST_B: usize = 16;
const ANNOUNCEMENT_B: usize = 24;

impl<D: PamiDevice> Context<D> {
    /// Most bytes of header and data of an immediate send.
    #[inline]
    pub fn immediate_max(&self) -> usize {
        self.device.packet_max()
    }

    /// Most bytes of a header that travels with data; longer ones have packets of their own.
    pub(super) fn header_max(&self) -> usize {
        self.device.packet_max() - ANNOUNCEMENT_B
    }

    /// A context over a device.
    pub fn new(device: D, limits: Limits) -> Self {
        Context {
            device,
            limits,
            events: VecDeque::new(),
            waiting: BTreeMap::new(),
            spare: Spare::default(),
            requests: Slab::default(),
            arriving: Map::default(),
            streams: Slab::default(),
            movements: VecDeque::new(),
            paced: Paced::default(),
            pending: Map::default(),
            unflushed: BTreeSet::new(),
            fences: vec![],
            headers: Map::default(),
            long_header: vec![],
            current: None,
            is_postponed: false,
        }
    }

    /// Changes the limits of sends that follow.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
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

    /// What comes next, if it can be told without doing it: the short way of short messages, for which
    /// nothing need be kept. Its caller handles a message at once and then releases it ([`Self::release`]),
    /// or calls [`Self::poll`].
    #[inline(always)]
    pub fn peek(&mut self) -> Next<D::Payload> {
        let has_other = !self.is_idle() || !self.fences.is_empty() || self.is_postponed;
        if has_other { Next::Other } else { self.device.peek() }
    }

    /// The same after a message: there may be more elsewhere if it returns [`Next::Nothing`], so that who
    /// answers the message does not wait for a look at all sources.
    #[inline(always)]
    pub fn peek_more(&mut self) -> Next<D::Payload> {
        let has_other = !self.is_idle() || !self.fences.is_empty() || self.is_postponed;
        if has_other { Next::Other } else { self.device.peek_more() }
    }

    /// The message that [`Self::peek`] told is done.
    #[inline(always)]
    pub fn release(&mut self) {
        self.device.release();
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
        if !self.is_postponed
            && let Some(arrival) = self.device.poll()
        {
            let (head, payload) = match arrival {
                Arrival::Packet(head, payload) => (head, payload),
                Arrival::Finished(ticket) => return Some(self.finished(ticket)),
            };
            self.device.spend(Step::Packet);
            if head.kind() == Kind::Immediate {
                let length = self.device.bytes(payload).len();
                let header_bytes = usize::from(head.header_bytes()).min(length);
                let data_bytes = (length - header_bytes) as u64;
                return Some(self.begin(head, payload, 0, header_bytes, data_bytes, true));
            }
            return Some(self.arrived(head, payload));
        }
        let has_none = self.movements.is_empty() && !self.paced.is_blocked;
        if has_none { self.events.pop_front() } else { self.move_next() }
    }

    /// Whether nothing is left to do unless a packet arrives.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.events.is_empty()
            && self.waiting.is_empty()
            && self.movements.is_empty()
            && !self.paced.is_blocked
    }

    /// Something was processed: the first event, if there is one.
    fn next_event(&mut self) -> Event<D::Payload> {
        self.events.pop_front().unwrap_or(Event::Progress)
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
            if self.streams.get_mut(n).is_some_and(|stream| self.device.is_gone(stream.from.task())) {
                cut.extend(self.streams.remove(n).map(|stream| stream.arriving));
            }
        }
        let over = cut.iter().map(|arriving| Event::Received(arriving.receive.cookie, Outcome::Gone));
        self.events.extend(over);
    }
}
