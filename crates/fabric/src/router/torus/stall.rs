//! A stall noticed and told: which packets wait, where, and for what.

use super::block::TorusBlock;
use super::slots::SLOTS;
use crate::host::Host;
use crate::packet::Header;

/// A packet that cannot move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingPacket {
    /// Node at which it waits, by the machine's number.
    pub node: u32,
    /// Receiver in which it stands, or none if it is the head of an injection FIFO.
    pub port: Option<usize>,
    /// VC in which it stands, or injection FIFO.
    pub slot: usize,
    /// Where it came from.
    pub source: u32,
    /// Coordinates of its destination.
    pub destination: [u8; 5],
    /// Its size, chunks.
    pub chunks: u32,
    /// Ports through which it may leave.
    pub ports: Vec<usize>,
    /// For each of them, the tokens that it sees for its VCs.
    pub tokens: Vec<Vec<u8>>,
}

/// Nothing will ever happen any more, but packets are in the network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StallReport {
    /// Packets in the network.
    pub under_way: i64,
    /// Those at the heads of VCs and injection FIFOs: the ones that wait for each other.
    pub waiting: Vec<WaitingPacket>,
}

impl<H: Host, const P: usize> TorusBlock<H, P> {
    /// All packets at the heads of this block's VCs and injection FIFOs, in the order of nodes.
    pub fn waiting(&self) -> Vec<WaitingPacket> {
        let mut list = vec![];
        for (n, node) in self.nodes.iter().enumerate() {
            let mut add = |port: Option<usize>, slot: usize, header: Header, packet: u32| {
                let ports: Vec<usize> = (0..P).filter(|p| header.hints() >> p & 1 != 0).collect();
                list.push(WaitingPacket {
                    node: self.numbers[n],
                    port,
                    slot,
                    source: self.shared.arena.get(packet).source,
                    destination: std::array::from_fn(|d| header.destination(d)),
                    chunks: header.chunks(),
                    tokens: ports
                        .iter()
                        .map(|&p| node.tokens[p].to_le_bytes()[..self.shared.tables.vcs].to_vec())
                        .collect(),
                    ports,
                });
            };
            for port in 0..P {
                for slot in (0..SLOTS).filter(|&slot| node.receivers[port].heads[slot] != 0) {
                    let entry = *self.shared.entry(n as u32, port, slot, node.receivers[port].first[slot]);
                    add(Some(port), slot, entry.header, entry.packet());
                }
            }
            for fifo in (0..self.shared.fifos).filter(|&f| self.shared.injection[n].heads[f] != 0) {
                let entry = self.shared.injecting[n * self.shared.fifos + fifo];
                add(None, fifo, entry.header, entry.packet());
            }
        }
        list
    }

    /// What is not as it must be when nothing is under way, in words; nothing if all is well: every token back, every VC,
    /// link and bus free.
    pub fn unrest(&self) -> Vec<String> {
        let mut found = vec![];
        if self.in_recovery() > 0 {
            found.push(format!("{} packets in retransmission FIFOs", self.in_recovery()));
        }
        for (n, node) in self.nodes.iter().enumerate() {
            for port in 0..P {
                if !self.has_link(n, port) {
                    continue;
                }
                let at = format!("node {} port {port}", self.numbers[n]);
                let tokens = node.tokens[port].to_le_bytes();
                if tokens != self.shared.tables.capacity {
                    found.push(format!("{at}: tokens {:?}", &tokens[..self.shared.tables.vcs]));
                }
                if node.receivers[port].count != [0; SLOTS]
                    || node.receivers[port].chunks != [0; SLOTS]
                    || node.receivers[port].heads != [0; SLOTS]
                {
                    found.push(format!("{at}: packets in VCs {:?}", node.receivers[port].count));
                }
                if node.open >> port & 1 == 0 || node.paths[port] != 0 || node.receivers[port].due != 0 {
                    found.push(format!("{at}: link, path or token-ack not at rest"));
                }
            }
        }
        found
    }
}
