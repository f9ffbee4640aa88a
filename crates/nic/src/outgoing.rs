//! Requests of the NICs of switched networks to the fabric, and outgoing packets.

use netloom_engine::Time;
use netloom_fabric::host::{Pull, Signals};
use netloom_fabric::packet::{Data, Meta};
use netloom_fabric::router::tiled::TiledHeader;
use netloom_node::time::Microticks;
use std::collections::VecDeque;

/// Packets that wait for the network, each with the earliest time at which it may leave.
pub(crate) type Outgoing = VecDeque<(Microticks, TiledHeader, Meta, Option<Data>)>;

/// Requests of a NIC to the fabric.
#[derive(Default)]
pub(crate) struct Requests {
    /// The time from which an injection FIFO that was empty has a packet: requests, responses.
    pub fills: [Option<Time>; 2],
    /// Classes of packets that it starts or stops accepting.
    pub opens: Vec<(usize, bool)>,
}

impl Requests {
    /// Passes them to the fabric for a node.
    pub fn signal(&mut self, node: u32, signals: &mut Signals) {
        for (fifo, fill) in self.fills.iter_mut().enumerate() {
            if let Some(at) = fill.take() {
                signals.fill_at(node, fifo, at);
            }
        }
        for (class, open) in self.opens.drain(..) {
            signals.reception(node, 0, class == 1, open);
        }
    }
}

/// The next packet for the network, with its data; if there is none, records that the network waits.
pub(crate) fn pull(
    outgoing: &mut Outgoing,
    network_waits: &mut bool,
    now: Time,
    signals: &mut Signals,
) -> Pull<TiledHeader> {
    match outgoing.front() {
        None => {
            *network_waits = true;
            Pull::Empty
        }
        Some(&(ready, ..)) if ready > Microticks::at(now) => Pull::NotBefore(ready.tick_up()),
        Some(_) => {
            let (_, header, meta, data) = outgoing.pop_front().expect("it is there");
            data.into_iter().for_each(|data| signals.attach(data));
            Pull::Packet(header, meta)
        }
    }
}
