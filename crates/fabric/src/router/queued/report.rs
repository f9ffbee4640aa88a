//! Reports of a block: its statistics, its waiting packets, and whether it is idle.

use super::QueuedFamily;
use super::block::QueuedBlock;
use super::central::vc_of;
use super::counters::PortCounters;
use super::state::*;
use crate::collective::CollectiveHeader;
use crate::config::DIMENSIONS_MAX;
use crate::host::Host;
use crate::packet::Header;
use crate::router::bits::bits;
use crate::router::errors::Errors;
use crate::router::network::{NodeBlock, RouterBlock};
use crate::router::port::Port;
use crate::router::stall::{PossibleOutput, StoppedUnit, WaitingPacket};
use crate::router::statistics::{LinkErrors, Recorder};
use crate::topology::torus::Torus;
use netloom_engine::Time;

impl<H: Host<QueuedFamily>> RouterBlock for QueuedBlock<H> {
    type Family = QueuedFamily;
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
        self.shared.counters.iter_mut().for_each(|counters| counters.restart(now));
        self.shared.soft.iter_mut().for_each(|soft| soft.corrected.fill([0; PORTS]));
    }

    fn bytes(&self) -> (usize, usize) {
        let (errors, packets) = self.shared.common.bytes();
        let state =
            size_of_val(&*self.nodes) + size_of_val(&*self.shared.injecting) + size_of_val(&*self.numbers);
        (state + errors, packets + self.shared.cells.capacity() * size_of::<Cell>())
    }

    fn waiting(&self) -> Vec<WaitingPacket> {
        let mut list = vec![];
        for (here, n) in self.nodes.iter().enumerate() {
            let mut add = |port: Option<usize>, slot: usize, packet: u32, head: Option<Head>| {
                let header: Header = self.shared.cells[packet as usize].header;
                let route = CollectiveHeader::unpack(header)
                    .and_then(|h| n.central.as_ref()?.routes[usize::from(h.class)]);
                let outputs: Vec<(usize, usize)> = match (route, head) {
                    (Some(route), _) => {
                        route.output.map(|port| (port.into(), vc_of(route.kind))).into_iter().collect()
                    }
                    (None, Some(head)) => head.outputs(),
                    (None, None) => vec![],
                };
                list.push(WaitingPacket {
                    node: self.numbers[here],
                    port,
                    slot,
                    source: self.shared.common.arena.get(packet).source,
                    destination: (0..DIMENSIONS_MAX).map(|d| header.destination(d).into()).collect(),
                    chunks: header.chunks(),
                    outputs: outputs
                        .into_iter()
                        .map(|(port, vc)| PossibleOutput { port, vc, tokens: Some(n.tokens[port][vc]) })
                        .collect(),
                });
            };
            for (port, r) in n.receivers.iter().enumerate() {
                for slot in (0..SLOTS).filter(|slot| n.standing[port] >> slot & 1 != 0) {
                    add(Some(port), slot / SLOTS_OF_VC, r.queues[slot].first, Some(r.heads[slot]));
                }
            }
            for fifo in bits(n.waiting | n.contributing) {
                let packet = self.shared.injecting[here * self.shared.common.fifos + fifo];
                add(None, fifo, packet, Some(n.heads[fifo]));
            }
            if let Some(central) = &n.central {
                for (vc, port, _) in central.heads(&self.shared.cells) {
                    add(Some(port), vc, central.queues[vc - VCS][port][0], None);
                }
            }
        }
        list
    }

    fn unrest(&self) -> Vec<String> {
        let mut found = vec![];
        found.extend(self.shared.common.errors.as_ref().and_then(|e| e.unrest()));
        for (here, n) in self.nodes.iter().enumerate() {
            if n.central.as_ref().is_some_and(|central| !central.is_idle()) {
                found.push(format!("node {}: collective logic not idle", self.numbers[here]));
            }
            if n.barrier_updates != 0 || n.interrupts.as_ref().is_some_and(|i| i.lost != 0) {
                found.push(format!("node {}: unsent barrier packets", self.numbers[here]));
            }
            for port in (0..PORTS).filter(|&port| self.has_link(here, port)) {
                let at = format!("node {} port {port}", self.numbers[here]);
                if n.tokens[port] != self.shared.tables.capacity {
                    found.push(format!("{at}: tokens {:?}", n.tokens[port]));
                }
                if n.receivers[port].count != [0; SLOTS] || n.standing[port] != 0 {
                    found.push(format!("{at}: packets in queues {:?}", n.receivers[port].count));
                }
                if n.open >> port & 1 == 0 || n.paths[port] != 0 || n.receivers[port].due != 0 {
                    found.push(format!("{at}: link, path or token-ack not idle"));
                }
            }
        }
        found
    }
}

impl<H: Host<QueuedFamily>> NodeBlock for QueuedBlock<H> {
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

    fn counters(&self, node: usize, port: usize, now: Time) -> Option<PortCounters> {
        Some(self.shared.counters.as_ref()?.read(node, port, now))
    }

    fn link_errors(&self, node: usize, port: usize) -> LinkErrors {
        let s = &self.shared;
        let mut sum = s.common.errors.as_ref().map_or(LinkErrors::default(), |e| e.counted(node, port));
        sum.soft_corrected += s.soft.as_ref().map_or(0, |soft| soft.corrected[node][port]);
        sum
    }

    fn errors(&self) -> LinkErrors {
        let s = &self.shared;
        let mut sum = s.common.errors.as_ref().map_or(LinkErrors::default(), |e| e.sum());
        sum.soft_corrected += s.soft.iter().flat_map(|soft| soft.corrected.iter().flatten()).sum::<u64>();
        sum
    }

    fn stopped(&self) -> &[StoppedUnit] {
        self.shared.soft.as_ref().map_or(&[], |soft| &soft.stopped)
    }
}
