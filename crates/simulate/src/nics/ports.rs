//! Ranks on networks of switches without a network interface: nodes put packets straight into the network.

use super::Ran;
use crate::driver::Driver;
use crate::processes::Processes;
use crate::programs::OnSwitches;
use netloom_engine::Time;
use netloom_fabric::config::TiledConfig;
use netloom_fabric::router::tiled::{Class, Mode, TiledFamily, TiledHeader};
use netloom_messaging::transports::packets::PacketFormat;
use netloom_nic::packet_port::PacketPort;
use netloom_node::nodes::Nodes;
use std::sync::Arc;

/// Packets of a network of switches.
struct FlitPackets {
    network: Arc<TiledConfig>,
    mode: Mode,
}

impl PacketFormat<TiledHeader> for FlitPackets {
    fn data_max(&self) -> u64 {
        self.network.packet.data_max_B.into()
    }

    fn header(&self, from: u32, to: u32, bytes: u32, draw: u64) -> TiledHeader {
        // Packets of a pair of nodes stay in order where their routing promises that: then their draw is the
        // same.
        let seed = if self.mode.is_in_order() { from.wrapping_mul(0x9e37_79b9) ^ to } else { draw as u32 };
        TiledHeader::new(to, self.network.packet.request_flits(bytes), Class::Request, self.mode, seed)
    }
}

/// Runs ranks; of any network of switches.
pub(super) fn ranks(on: &OnSwitches) -> Option<Ran> {
    let (ranks, study) = (on.ranks, on.ranks.study);
    let mode = study.study.traffic.routing.mode().expect("it was checked");
    let network = Arc::clone(&study.switched().config);
    let format: Arc<dyn PacketFormat<TiledHeader>> = Arc::new(FlitPackets { network, mode });
    Some(on.run(|numbers: &[u32]| {
        ranks.port_nodes(numbers, &format, (|_| vec![0], 1), |own, slot| own.on_ports(slot))
    }))
}

impl Driver for Nodes<PacketPort<TiledFamily>> {
    fn arrived_so_far(&self) -> (u64, u64) {
        (0, 0)
    }

    fn last(&self) -> Option<Time> {
        Some(Nodes::last(self))
    }

    fn add_to(&self, all: &mut Processes) {
        all.add(self);
    }
}
