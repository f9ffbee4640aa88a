//! Reports of a block: its statistics, its waiting packets, and whether it is idle.

use super::TiledFamily;
use super::block::TiledBlock;
use super::build::Shape;
use super::failover::Failover;
use super::faults::{FaultCounts, FirstError};
use super::state::*;
use crate::host::Host;
use crate::router::bits::bits;
use crate::router::network::{Network, RouterBlock};
use crate::router::stall::{PossibleOutput, WaitingPacket};
use crate::router::statistics::{Recorder, Totals};
use netloom_engine::Time;
use serde::{Deserialize, Serialize};
use std::io;

/// Traffic of a tile's link, or of a processor tile's path to its nodes, since the statistics were restarted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TileCounts {
    /// Packets that started to leave.
    pub packets: u64,
    /// Their flits.
    pub flits: u64,
    /// Their transmission time, thousandths of a tick.
    pub busy_milliticks: u64,
}

impl<H: Host<TiledFamily>> RouterBlock for TiledBlock<H> {
    type Family = TiledFamily;
    type Host = H;
    type Shape = Shape;
    type Overseer = Failover;

    fn host(&self) -> &H {
        &self.host
    }

    fn host_mut(&mut self) -> &mut H {
        &mut self.host
    }

    fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    fn recorder_mut(&mut self) -> &mut Recorder {
        &mut self.recorder
    }

    fn packets(&self) -> usize {
        self.arena.len()
    }

    fn restart_counting(&mut self, _: Time) {
        self.recorder.totals = Totals::default();
        for output in &mut self.outputs {
            (output.packets, output.flits) = (0, 0);
        }
    }

    fn bytes(&self) -> (usize, usize) {
        let state = size_of_val(&*self.inputs)
            + size_of_val(&*self.switches)
            + size_of_val(&*self.outputs)
            + size_of_val(&*self.buses)
            + size_of_val(&*self.row_buffers)
            + size_of_val(&*self.column_buffers)
            + size_of_val(&*self.shares)
            + size_of_val(&*self.entries)
            + size_of_val(&*self.load)
            + size_of_val(&*self.injecting)
            + size_of_val(&*self.numbers)
            + self.faults.as_ref().map_or(0, |faults| faults.bytes());
        (state, self.arena.bytes() + self.calendar.bytes() + self.cells.capacity() * size_of::<Cell>())
    }

    fn store_shared(&self, to: &mut Vec<u8>) -> io::Result<()> {
        self.router_loads.store(to)?;
        self.link_loads.store(to)
    }

    fn load_shared(&self, from: &mut &[u8]) -> io::Result<()> {
        self.router_loads.load(from)?;
        self.link_loads.load(from)
    }

    fn waiting(&self) -> Vec<WaitingPacket> {
        let (k, mut list) = (&self.k, vec![]);
        let mut add = |router: usize, port: Option<usize>, slot: usize, packet: u32| {
            let cell = &self.cells[packet as usize];
            // A packet that has not entered yet has not been routed.
            let output = PossibleOutput { port: cell.out.into(), vc: cell.vc.into(), tokens: None };
            list.push(WaitingPacket {
                node: self.first + router as u32,
                port,
                slot,
                source: self.arena.get(packet).source,
                destination: vec![cell.header.destination()],
                chunks: cell.flits.into(),
                outputs: port.map(|_| output).into_iter().collect(),
            });
        };
        for router in 0..self.load.len() {
            for tile in 0..k.tiles {
                let at = router * k.tiles + tile;
                for vc in bits(self.inputs[at].waiting) {
                    add(router, Some(tile), vc, self.inputs[at].queues[vc].first().expect("a head"));
                }
                let firsts = |all: &[Buffer], each: usize| {
                    let own = &all[at * each..(at + 1) * each];
                    own.iter().filter_map(|b| b.queue.first()).collect::<Vec<_>>()
                };
                let rows = firsts(&self.row_buffers, k.columns * VCS);
                let columns = firsts(&self.column_buffers, k.rows * VCS);
                for packet in rows.into_iter().chain(columns) {
                    add(router, Some(tile), self.cells[packet as usize].vc.into(), packet);
                }
            }
            for (place, &packet) in self.injecting.iter().enumerate().filter(|(_, packet)| **packet != NONE) {
                let node = self.first_node + (place / self.fifos) as u32;
                if self.tables.wiring.home(node).0 == self.first + router as u32 {
                    add(router, None, place % self.fifos, packet);
                }
            }
        }
        list
    }

    fn unrest(&self) -> Vec<String> {
        let (k, mut found) = (&self.k, vec![]);
        for router in 0..self.load.len() {
            let number = self.first + router as u32;
            if self.faults.as_ref().is_some_and(|faults| faults.dead[router]) {
                continue;
            }
            if self.load[router] != 0 {
                found.push(format!("router {number}: a load of {} flits", self.load[router]));
            }
            for tile in 0..k.tiles {
                let at = router * k.tiles + tile;
                let place = format!("router {number} tile {tile}");
                if self.inputs[at].waiting != 0 || self.outputs[at].waiting != 0 {
                    found.push(format!("{place}: packets in queues"));
                }
                // Flits on the wire of a failed link return no credits.
                if self.is_dead(router as u32, tile) {
                    continue;
                }
                if self.outputs[at].room.in_all() != 0 || self.outputs[at].room.shared != k.shared {
                    found.push(format!("{place}: credits not back, {:?}", self.outputs[at].room.used));
                }
                if self.outputs[at].load != [0; VCS] {
                    found.push(format!("{place}: loads {:?}", self.outputs[at].load));
                }
            }
        }
        let r = &self.tables.config.router;
        if self.faults.as_ref().is_some_and(|faults| faults.dead.contains(&true)) {
            return found;
        }
        if self.inputs.iter().any(|input| input.room.iter().any(|&left| u32::from(left) != r.subswitch_flits))
        {
            found.push("sub-switches without their room".into());
        }
        if self.buses.iter().any(|bus| bus.room.iter().any(|&left| u32::from(left) != r.column_flits)) {
            found.push("column buffers without their room".into());
        }
        if self.entries.iter().any(|entry| entry.room.in_all() != 0) {
            found.push("processor tiles' input queues without their room".into());
        }
        if self.outputs.iter().any(|output| output.promised != 0)
            || self.buses.iter().any(|bus| bus.promised != 0)
            || self.entries.iter().any(|entry| entry.promised != [NOBODY; VCS])
        {
            found.push("room promised to packets that are no more".into());
        }
        found
    }
}

impl<H: Host<TiledFamily>> Network<TiledBlock<H>> {
    /// Counts of failures and errors so far.
    pub fn faults(&mut self) -> FaultCounts {
        let mut own = FaultCounts::default();
        self.blocks().filter_map(|b| b.faults.as_ref()).for_each(|faults| own.merge(&faults.counts));
        let mut sum = FaultCounts::default();
        self.gather(own).iter().for_each(|of| sum.merge(of));
        sum
    }

    /// The first error of each router, earliest first.
    pub fn first_errors(&mut self) -> Vec<FirstError> {
        let mut list: Vec<FirstError> = vec![];
        for faults in self.blocks().filter_map(|b| b.faults.as_ref()) {
            list.extend(faults.first.iter().flatten());
        }
        let mut list = self.gather_list(list);
        list.sort_unstable();
        list
    }

    /// What each tile has sent since counting began, as (router, tile, counts): links first, then what leads
    /// to nodes.
    pub fn tiles(&mut self) -> Vec<(u32, usize, TileCounts)> {
        let mut list = vec![];
        for block in self.blocks() {
            for (i, output) in block.outputs.iter().enumerate() {
                let (router, tile) = (block.first + (i / block.k.tiles) as u32, i % block.k.tiles);
                let of_nodes = block.k.ports_beside_nodes..block.k.tiles_of(block.k.shares).start;
                let is_link = block.is_link(router - block.first, tile);
                if output.to == NONE && (is_link || !of_nodes.contains(&tile)) {
                    continue;
                }
                let mut flit =
                    if is_link { block.k.flit[usize::from(output.class)] } else { block.k.netlink_flit };
                if let Some(faults) = block.faults.as_ref().filter(|_| is_link) {
                    flit = faults.flit(i, flit);
                }
                let counts = TileCounts {
                    packets: output.packets.into(),
                    flits: output.flits,
                    busy_milliticks: output.flits * flit,
                };
                list.push((router, tile, counts));
            }
        }
        self.gather_list(list)
    }
}
