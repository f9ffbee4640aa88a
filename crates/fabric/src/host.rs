//! What stands above the network at each node: the fabric pulls packets from it and delivers packets to it.

use crate::packet::{Data, Header, Meta};
use netloom_engine::Time;

/// A family of networks as its hosts see it: what its packets are, and what it and its hosts say to each other beyond what all do.
pub trait Family {
    /// The header of its packets.
    type Header: Copy + Send;

    /// What its hosts may ask for besides [`Signals::fill`] and [`Signals::wake`].
    type Signal: Send;

    /// What it reports to its hosts by [`Host::event`].
    type Event;
}

/// The nodes' side of a block of a network of family `F`: NICs and what drives them, for all nodes of one block. Nodes are named by
/// their number within the block.
///
/// All calls for one node come in an order that depends on simulated time and the node's ports alone, never on threads or
/// blocks.
pub trait Host<F: Family>: Send {
    /// The next packet of an injection FIFO, whose last one has left. Signals must be for this node.
    fn pull(
        &mut self,
        now: Time,
        node: u32,
        fifo: usize,
        signals: &mut Signals<F::Signal>,
    ) -> Pull<F::Header>;

    /// A packet has arrived whole in a reception FIFO.
    fn deliver(
        &mut self,
        now: Time,
        node: u32,
        delivery: &Delivery<F::Header>,
        signals: &mut Signals<F::Signal>,
    );

    /// A time for which the host asked with [`Signals::wake`].
    fn wake(&mut self, now: Time, node: u32, token: u32, signals: &mut Signals<F::Signal>);

    /// A node has failed: it is not asked for anything any more.
    fn died(&mut self, _now: Time, _node: u32) {}

    /// The network reports something that only its family does.
    fn event(&mut self, _now: Time, _node: u32, _event: F::Event, _signals: &mut Signals<F::Signal>) {}

    /// [`Self::pull`] will be called soon: memory that it needs may be fetched ahead. Changes nothing.
    fn prepare(&self, _node: u32, _fifo: usize) {}
}

/// Answer to [`Host::pull`].
#[derive(Clone, Copy, Debug)]
pub enum Pull<H = Header> {
    /// This packet.
    Packet(H, Meta),
    /// None before this time: ask again then.
    NotBefore(Time),
    /// None until the host signals one with [`Signals::fill`].
    Empty,
}

/// A packet that has reached its destination (or, being broadcast, one of them).
#[derive(Clone, Copy, Debug)]
pub struct Delivery<'a, H = Header> {
    /// Receiver through which it came, and so the reception FIFO of its group. Of a collective packet: its reception FIFO, 14 for the
    /// user's and 15 for the system's.
    pub port: usize,
    /// Its header as it arrived.
    pub header: H,
    /// What its sender said of it.
    pub meta: Meta,
    /// What it carries; none is zeros, or nothing that anybody looks at.
    pub data: Option<&'a Data>,
}

/// What a host asks of the fabric: what all networks do, and signals `S` of its family alone.
pub struct Signals<S = Reception> {
    /// In the order in which it was asked.
    pub requests: Vec<Request<S>>,
    /// What the packet carries that is being pulled.
    data: Option<Data>,
}

impl<S> Default for Signals<S> {
    fn default() -> Self {
        Signals { requests: vec![], data: None }
    }
}

/// One thing that a host asks of the fabric for a node.
pub enum Request<S> {
    /// See [`Signals::fill`].
    Fill {
        /// The node.
        node: u32,
        /// The injection FIFO.
        fifo: usize,
        /// When; at once, if that is past.
        at: Time,
    },
    /// See [`Signals::wake`].
    Wake {
        /// The node.
        node: u32,
        /// When.
        at: Time,
        /// What the host knows it by.
        token: u32,
    },
    /// What only this family of networks does.
    Own {
        /// The node.
        node: u32,
        /// What.
        signal: S,
    },
}

/// Whether a reception FIFO has room for a full packet; all have at the start.
#[derive(Clone, Copy, Debug)]
pub struct Reception {
    /// The port to which it belongs.
    pub port: usize,
    /// Whether it is for packets of high priority.
    pub high: bool,
    /// Whether it has room.
    pub open: bool,
}

impl<S> Signals<S> {
    /// Whether nothing is asked.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// There may be a packet now for an injection FIFO whose last answer was [`Pull::Empty`].
    pub fn fill(&mut self, node: u32, fifo: usize) {
        self.fill_at(node, fifo, Time::ZERO);
    }

    /// The same of a packet that may not leave before this time.
    pub fn fill_at(&mut self, node: u32, fifo: usize, at: Time) {
        self.requests.push(Request::Fill { node, fifo, at });
    }

    /// Call [`Host::wake`] at this time, later than now.
    pub fn wake(&mut self, node: u32, at: Time, token: u32) {
        self.requests.push(Request::Wake { node, at, token });
    }

    /// Asks for what only this family of networks does.
    pub fn own(&mut self, node: u32, signal: S) {
        self.requests.push(Request::Own { node, signal });
    }

    /// The packet that [`Host::pull`] now answers with carries this. The network refuses it, and ends the run, where no packet goes with
    /// it.
    pub fn attach(&mut self, data: Data) {
        self.data = Some(data);
    }

    /// What was attached to the packet that has just been pulled.
    #[inline]
    pub fn take_data(&mut self) -> Option<Data> {
        self.data.take()
    }

    /// Makes sure that nothing was attached to no packet.
    ///
    /// # Panics
    /// If something was.
    #[inline]
    pub fn refuse_data(&self, node: u32) {
        assert!(
            self.data.is_none(),
            "node {node} of its block: data is attached, and no packet is there to carry it"
        );
    }
}

impl<S: From<Reception>> Signals<S> {
    /// A reception FIFO has room for a full packet, or no longer has. All have at the start.
    pub fn reception(&mut self, node: u32, port: usize, high: bool, open: bool) {
        self.own(node, Reception { port, high, open }.into());
    }
}
