//! The interface between the network and the nodes: the network pulls packets from hosts and delivers packets
//! to them.

use crate::packet::{Data, Header, Meta};
use netloom_engine::Time;

/// A family of networks as its hosts see it: the type of its packets, and the signals and events that only
/// this family has.
pub trait Family {
    /// The header of its packets.
    type Header: Copy + Send;

    /// Signals that its hosts may send in addition to [`Signals::fill`] and [`Signals::wake`].
    type Signal: Send;

    /// Events that it reports to its hosts through [`Host::event`].
    type Event;
}

/// The nodes' side of a block of a network of family `F`: NICs and the software that drives them, for all
/// nodes of one block. Nodes are identified by their number within the block.
///
/// The order of all calls for one node depends on simulated time and the node's ports alone, never on threads
/// or blocks.
pub trait Host<F: Family>: Send {
    /// Returns the next packet of an injection FIFO whose previous packet has left. Signals must be for this
    /// node.
    fn pull(
        &mut self,
        now: Time,
        node: u32,
        fifo: usize,
        signals: &mut Signals<F::Signal>,
    ) -> Pull<F::Header>;

    /// A packet has arrived completely in a reception FIFO.
    fn deliver(
        &mut self,
        now: Time,
        node: u32,
        delivery: &Delivery<F::Header>,
        signals: &mut Signals<F::Signal>,
    );

    /// A wake-up that the host requested with [`Signals::wake`].
    fn wake(&mut self, now: Time, node: u32, token: u32, signals: &mut Signals<F::Signal>);

    /// A node has failed: its host receives no further calls.
    fn died(&mut self, _now: Time, _node: u32) {}

    /// The network reports an event that only its family has.
    fn event(&mut self, _now: Time, _node: u32, _event: F::Event, _signals: &mut Signals<F::Signal>) {}

    /// [`Self::pull`] will be called soon: prefetch the memory that it needs. Must not change any state.
    fn prepare(&self, _node: u32, _fifo: usize) {}

    /// Whether its state is more than a core's caches hold beside the routers' even on a small machine:
    /// [`Self::prefetch`] is called.
    fn is_large(&self) -> bool {
        false
    }

    /// The nodes whose hosts are called next, in this order. What a call needs is found by pointers, so the host
    /// prefetches one step of it at each node. Must not change any state.
    fn prefetch(&self, _next: &[u32; CALLS_AHEAD]) {}
}

/// Number of next calls that [`Host::prefetch`] is told.
pub const CALLS_AHEAD: usize = 4;

/// Answer to [`Host::pull`].
#[derive(Clone, Copy, Debug)]
pub enum Pull<H = Header> {
    /// This packet.
    Packet(H, Meta),
    /// No packet before this time: pull again then.
    NotBefore(Time),
    /// No packet until the host signals one with [`Signals::fill`].
    Empty,
}

/// A packet that has reached its destination (or, if broadcast, one of its destinations).
#[derive(Clone, Copy, Debug)]
pub struct Delivery<'a, H = Header> {
    /// The receiver through which it arrived, which selects the reception FIFO of its group. For a collective
    /// packet the reception FIFO itself: 14 for the user's, 15 for the system's.
    pub port: usize,
    /// Its header on arrival.
    pub header: H,
    /// Metadata set by its sender.
    pub meta: Meta,
    /// Its payload; `None` stands for zeros, or for data that no component reads.
    pub data: Option<&'a Data>,
}

/// Requests of a host to the network: those that all networks serve, and signals `S` specific to one family.
pub struct Signals<S = Reception> {
    /// In the order in which they were made.
    pub requests: Vec<Request<S>>,
    /// The payload of the packet that is being pulled.
    data: Option<Data>,
}

impl<S> Default for Signals<S> {
    fn default() -> Self {
        Signals { requests: vec![], data: None }
    }
}

/// A request of a host to the network for one node.
pub enum Request<S> {
    /// See [`Signals::fill`].
    Fill {
        /// The node.
        node: u32,
        /// The injection FIFO.
        fifo: usize,
        /// When; immediately if that time is past.
        at: Time,
    },
    /// See [`Signals::wake`].
    Wake {
        /// The node.
        node: u32,
        /// When.
        at: Time,
        /// Identifies the wake-up to the host.
        token: u32,
    },
    /// A signal that only this family of networks has.
    Own {
        /// The node.
        node: u32,
        /// The signal.
        signal: S,
    },
}

/// Whether a reception FIFO has room for a full packet; all have at the start.
#[derive(Clone, Copy, Debug)]
pub struct Reception {
    /// The port that it belongs to.
    pub port: usize,
    /// Whether it is for high-priority packets.
    pub high: bool,
    /// Whether it has room.
    pub open: bool,
}

impl<S> Signals<S> {
    /// Whether there are no requests.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// An injection FIFO whose last answer was [`Pull::Empty`] may have a packet now.
    pub fn fill(&mut self, node: u32, fifo: usize) {
        self.fill_at(node, fifo, Time::ZERO);
    }

    /// Like [`Self::fill`], for a packet that may not leave before `at`.
    pub fn fill_at(&mut self, node: u32, fifo: usize, at: Time) {
        self.requests.push(Request::Fill { node, fifo, at });
    }

    /// Requests a call of [`Host::wake`] at this time, which must be later than now.
    pub fn wake(&mut self, node: u32, at: Time, token: u32) {
        self.requests.push(Request::Wake { node, at, token });
    }

    /// Sends a signal that only this family of networks has.
    pub fn own(&mut self, node: u32, signal: S) {
        self.requests.push(Request::Own { node, signal });
    }

    /// Attaches a payload to the packet that the current [`Host::pull`] returns. If it returns no packet, the
    /// network panics.
    pub fn attach(&mut self, data: Data) {
        self.data = Some(data);
    }

    /// The payload attached to the packet just pulled.
    #[inline]
    pub fn take_data(&mut self) -> Option<Data> {
        self.data.take()
    }

    /// Checks that no payload was attached without a packet.
    ///
    /// # Panics
    /// If one was.
    #[inline]
    pub fn refuse_data(&self, node: u32) {
        assert!(
            self.data.is_none(),
            "node {node} of its block: data is attached without a packet to carry it"
        );
    }
}

impl<S: From<Reception>> Signals<S> {
    /// Reports whether a reception FIFO has room for a full packet. All have at the start.
    pub fn reception(&mut self, node: u32, port: usize, high: bool, open: bool) {
        self.own(node, Reception { port, high, open }.into());
    }
}
