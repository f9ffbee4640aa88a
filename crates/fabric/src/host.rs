//! What stands above the network at each node: the fabric pulls packets from it and delivers packets to it.

use crate::collective::ClassRoute;
use crate::packet::{Data, Header, Meta};
use netloom_engine::Time;

/// The nodes' side of a block of the network: NICs and what drives them, for all nodes of one block. Nodes are named by
/// their number within the block. `H` is the header of their network's packets.
///
/// All calls for one node come in an order that depends on simulated time and the node's ports alone, never on threads or
/// blocks.
pub trait Host<H = Header>: Send {
    /// The next packet of an injection FIFO, whose last one has left. Signals must be for this node.
    fn pull(&mut self, now: Time, node: u32, fifo: usize, signals: &mut Signals) -> Pull<H>;

    /// A packet has arrived whole in a reception FIFO.
    fn deliver(&mut self, now: Time, node: u32, delivery: &Delivery<H>, signals: &mut Signals);

    /// A time for which the host asked with [`Signals::wake`].
    fn wake(&mut self, now: Time, node: u32, token: u32, signals: &mut Signals);

    /// A node has failed: it is not asked for anything any more.
    fn died(&mut self, _now: Time, _node: u32) {}

    /// The OR of what all nodes say of some barrier class has changed: that of all sixteen, four bits each, the first class lowest.
    fn interrupted(&mut self, _now: Time, _node: u32, _status: u64, _signals: &mut Signals) {}

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

/// What a host asks of the fabric.
#[derive(Default)]
pub struct Signals {
    pub(crate) list: Vec<Signal>,
    /// What the packet carries that is being pulled.
    pub(crate) data: Option<Data>,
}

/// One thing that a host asks of the fabric.
pub(crate) enum Signal {
    Fill { node: u32, fifo: usize },
    Wake { node: u32, at: Time, token: u32 },
    Reception { node: u32, port: usize, high: bool, open: bool },
    ClassRoute { node: u32, class: usize, route: Option<ClassRoute> },
    Barrier { node: u32, class: usize, route: Option<ClassRoute>, start: u64 },
    Say { node: u32, class: usize, says: u64 },
}

impl Signals {
    /// Takes out what may be asked on any network: for whoever stands between a host and the fabric. Returns the packets that there may
    /// be (node, injection FIFO), and the times at which to wake the host (node, time, token).
    pub fn take_common(&mut self) -> (Vec<(u32, usize)>, Vec<(u32, Time, u32)>) {
        let (mut fills, mut wakes) = (vec![], vec![]);
        self.list.retain(|signal| match *signal {
            Signal::Fill { node, fifo } => {
                fills.push((node, fifo));
                false
            }
            Signal::Wake { node, at, token } => {
                wakes.push((node, at, token));
                false
            }
            _ => true,
        });
        (fills, wakes)
    }

    /// Whether nothing is asked.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// There may be a packet now for an injection FIFO whose last answer was [`Pull::Empty`].
    pub fn fill(&mut self, node: u32, fifo: usize) {
        self.list.push(Signal::Fill { node, fifo });
    }

    /// Call [`Host::wake`] at this time, later than now.
    pub fn wake(&mut self, node: u32, at: Time, token: u32) {
        self.list.push(Signal::Wake { node, at, token });
    }

    /// The packet that [`Host::pull`] now answers with carries this. Only networks whose packets carry data keep it.
    pub fn attach(&mut self, data: Data) {
        self.data = Some(data);
    }

    /// Sets a node's registers of a class route, 0 to 15, or clears them: while no packet of it is under way. Networks without
    /// collectives refuse it.
    pub fn class_route(&mut self, node: u32, class: usize, route: Option<ClassRoute>) {
        self.list.push(Signal::ClassRoute { node, class, route });
    }

    /// Sets a node's registers of a barrier class, 0 to 15, or clears them; `start` are the three bits that all nodes of the class say
    /// at first, and know that the others say.
    pub fn barrier_class(&mut self, node: u32, class: usize, route: Option<ClassRoute>, start: u64) {
        self.list.push(Signal::Barrier { node, class, route, start });
    }

    /// What a node says of a barrier class from now on, three bits. Everybody learns the OR of what all say by [`Host::interrupted`].
    pub fn say(&mut self, node: u32, class: usize, says: u64) {
        self.list.push(Signal::Say { node, class, says });
    }

    /// A reception FIFO has room for a full packet, or no longer has. All have at the start.
    pub fn reception(&mut self, node: u32, port: usize, high: bool, open: bool) {
        self.list.push(Signal::Reception { node, port, high, open });
    }
}
