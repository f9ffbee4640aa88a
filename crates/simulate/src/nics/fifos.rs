//! Ranks on tori without a network interface of their own: software puts packets into the injection FIFOs.

use super::Ran;
use crate::family::RouterFamily;
use crate::programs::OnTorus;
use netloom_fabric::config::{ConfigError, Outline};
use netloom_fabric::packet::Header;
use netloom_fabric::routing::hints;
use netloom_fabric::topology::torus::Torus;
use netloom_messaging::transports::packets::PacketFormat;
use netloom_nic::fifo::FifoNic;
use netloom_nic::packet_port::OnFifos;
use netloom_workload::config::{Priority, Routing};
use std::sync::Arc;

/// Packets of a torus.
struct TorusPackets {
    network: Outline,
    torus: Torus,
    flags: u16,
}

impl PacketFormat<Header> for TorusPackets {
    fn data_max(&self) -> u64 {
        let p = &self.network.packet;
        u64::from(p.chunks_max * p.chunk_B - p.header_B - p.software_header_B)
    }

    fn header(&self, from: u32, to: u32, bytes: u32, _: u64) -> Header {
        let p = &self.network.packet;
        let chunks = (p.header_B + p.software_header_B + bytes).div_ceil(p.chunk_B);
        let (from, to) = (self.torus.coordinates(from), self.torus.coordinates(to));
        let hints = hints::minimal(&self.torus, from, to, self.network.halfway_tie);
        Header::new(to, hints, chunks, self.flags)
    }
}

/// Runs ranks; of any torus.
pub(super) fn ranks<F: RouterFamily>(family: &F, on: &OnTorus) -> Option<Ran> {
    let (ranks, study) = (on.ranks, on.ranks.study);
    let (network, nic, s) = (study.torus(), &study.torus_machine().nic, &study.study);
    let high = s.traffic.priority == Priority::High;
    let (normal, all) = (nic.injection_normal as usize, (nic.injection_normal + nic.injection_high) as usize);
    // Of a set of FIFOs.
    let lanes = |set: u8| -> Vec<usize> {
        let first = usize::from(set) * all;
        match (nic.injection_fifo_B.is_some(), high) {
            (true, _) => vec![2 * usize::from(set) + usize::from(high)],
            (false, false) => (first..first + normal).collect(),
            (false, true) => (first + normal..first + all).collect(),
        }
    };
    if lanes(0).is_empty() {
        let message = "high priority needs nic.injection_high of at least 1".into();
        return Some(Err(study.impossible(ConfigError { key: "traffic.priority".into(), message })));
    }
    let flags = if high { Header::HIGH } else { 0 }
        | if s.traffic.routing == Routing::Static { Header::STATIC } else { 0 };
    let torus = Torus::new(&network.topology);
    let format: Arc<dyn PacketFormat<Header>> =
        Arc::new(TorusPackets { network: network.clone(), torus, flags });
    let nics = |numbers: &[u32]| {
        FifoNic::new(
            nic,
            network,
            numbers,
            OnFifos::new(
                ranks.port_nodes(numbers, &format, (lanes, nic.sets() as u8), |own, slot| own.on_fifos(slot)),
            ),
        )
    };
    Some(on.run(family, FifoNic::<OnFifos>::injection_fifos(nic), nics))
}
