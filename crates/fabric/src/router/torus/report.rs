//! Reports of a block: its statistics, its waiting packets, and whether it is idle.

use super::TorusFamily;
use super::block::TorusBlock;
use super::slots::SLOTS;
use crate::config::DIMENSIONS_MAX;
use crate::host::Host;
use crate::packet::Header;
use crate::router::errors::Errors;
use crate::router::network::{NodeBlock, RouterBlock};
use crate::router::port::Port;
use crate::router::stall::WaitingPacket;
use crate::router::statistics::Recorder;
use crate::topology::torus::Torus;
use netloom_engine::Time;

impl<H: Host<TorusFamily>, const P: usize> RouterBlock for TorusBlock<H, P> {
    type Family = TorusFamily;
    type Host = H;
    type Shape = Torus;
    type Overseer = ();

    fn host(&self) -> &H {
        &self.shared.common.host
    }

    fn host_mut(&mut self) -> &mut H {
        &mut self.shared.common.host
    }

    fn recorder(&self) -> &Recorder {
        &self.shared.common.recorder
    }

    fn recorder_mut(&mut self) -> &mut Recorder {
        &mut self.shared.common.recorder
    }

    fn packets(&self) -> usize {
        self.shared.common.arena.len()
    }

    fn restart_counting(&mut self, now: Time) {
        self.carried =
            self.nodes.iter_mut().map(|n| n.ports.each_mut().map(|port| port.restart(now))).collect();
        self.shared.common.restart_counting();
    }

    fn bytes(&self) -> (usize, usize) {
        let (errors, packets) = self.shared.common.bytes();
        let state = size_of_val(&*self.nodes)
            + size_of_val(&*self.shared.rings)
            + size_of_val(&*self.shared.injection)
            + size_of_val(&*self.shared.injecting)
            + size_of_val(&*self.numbers)
            + size_of_val(&*self.shared.standing);
        (state + errors, packets)
    }

    fn waiting(&self) -> Vec<WaitingPacket> {
        let mut list = vec![];
        for (n, node) in self.nodes.iter().enumerate() {
            let mut add = |port: Option<usize>, slot: usize, header: Header, packet: u32| {
                list.push(WaitingPacket {
                    node: self.numbers[n],
                    port,
                    slot,
                    source: self.shared.common.arena.get(packet).source,
                    destination: (0..DIMENSIONS_MAX).map(|d| header.destination(d).into()).collect(),
                    chunks: header.chunks(),
                    outputs: node.outputs(&self.shared.tables, self.shared.head(header)),
                });
            };
            for port in 0..P {
                for slot in (0..SLOTS).filter(|&slot| node.receivers[port].heads[slot] != 0) {
                    let entry = *self.shared.entry(n as u32, port, slot, node.receivers[port].first[slot]);
                    add(Some(port), slot, entry.header, entry.packet());
                }
            }
            for fifo in (0..self.shared.common.fifos).filter(|&f| self.shared.injection[n].heads[f] != 0) {
                let entry = self.shared.injecting[n * self.shared.common.fifos + fifo];
                add(None, fifo, entry.header, entry.packet());
            }
        }
        list
    }

    fn unrest(&self) -> Vec<String> {
        let mut found = vec![];
        found.extend(self.shared.common.errors.as_ref().and_then(|e| e.unrest()));
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
                    found.push(format!("{at}: link, path or token-ack not idle"));
                }
            }
        }
        found
    }
}

impl<H: Host<TorusFamily>, const P: usize> NodeBlock for TorusBlock<H, P> {
    fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    fn port(&self, node: usize, port: usize) -> &Port {
        &self.nodes[node].ports[port]
    }

    fn link_protection(&self) -> Option<&Errors> {
        self.shared.common.errors.as_deref()
    }

    fn carried(&self, node: usize, port: usize) -> u32 {
        self.carried.get(node).map_or(0, |ports| ports[port])
    }

    fn sending(&self, packets: u64, chunks: u64, acks: u64) -> u64 {
        self.shared.tables.sending(packets, chunks, acks)
    }
}
