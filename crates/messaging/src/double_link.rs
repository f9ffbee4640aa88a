//! The two links between neighbours in dimension E of Blue Gene/Q, which has length two. IBM's PAMI fetches
//! long data from such a neighbour by two remote gets, half over each, in one public version of its Message
//! Unit device (`DmaModelBase.h`); in another that is switched off. The 3,481 MB/s that were measured
//! (`further.bgq_one_way`) take both links. The halves' packets have a fixed route there, and any here, which
//! is the same over one link.

use netloom_fabric::topology::torus::Torus;
use netloom_nic::message_unit::descriptor::{Descriptor, Kind, Network};

/// The least data that is divided: four packets, bytes.
pub const DIVIDED_MIN_B: u64 = 2048;
/// Dimension E.
const E: usize = 4;

/// The ports of a node's links in the minus and the plus direction, if the two nodes are neighbours in E and
/// both links work.
pub fn ports(torus: &Torus, from: u32, to: u32) -> Option<[u16; 2]> {
    let (a, b) = (torus.coordinates(from), torus.coordinates(to));
    let is_neighbour = (0..torus.dimensions()).all(|d| (d == E) == (a[d] != b[d]));
    let is_pair = torus.dimensions() > E && torus.length(E) == 2 && torus.wraps(E);
    let ports = [2 * E + 1, 2 * E];
    let works = is_neighbour && is_pair && ports.iter().all(|&port| !torus.is_dead(from, port));
    works.then(|| ports.map(|port| port as u16))
}

/// The two halves of an RDMA write, each over the link at one of these ports.
pub fn halves(put: &Descriptor, ports: [u16; 2]) -> [Descriptor; 2] {
    let first = put.length / 2;
    let parts = [(ports[0], 0, first), (ports[1], first, put.length - first)];
    parts.map(|(port, from, length)| {
        let mut half = Descriptor { payload: put.payload + from, length, map: 1 << port, ..put.clone() };
        if let Network::PointToPoint { hints, .. } = &mut half.network {
            *hints = Some(1 << port);
        }
        if let Kind::DirectPut { offset, .. } = &mut half.kind {
            *offset += from;
        }
        half
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use netloom_fabric::config::Topology;

    #[test]
    fn halves_make_the_whole() {
        let kind = Kind::DirectPut { base: 0, offset: 100, counter_base: 0, counter_offset: 8 };
        let network = Network::to(1);
        let put = Descriptor { payload: 7000, length: 5, map: 0x3ff, network, kind, prefetch_only: false };
        let got = halves(&put, [9, 8]).map(|half| {
            let Kind::DirectPut { offset, counter_offset: 8, .. } = half.kind else { panic!("{half:?}") };
            let Network::PointToPoint { hints: Some(hints), .. } = half.network else { panic!("{half:?}") };
            (half.payload, half.length, offset, half.map, hints)
        });
        assert_eq!(got, [(7000, 2, 100, 1 << 9, 1 << 9), (7002, 3, 102, 1 << 8, 1 << 8)]);
    }

    #[test]
    fn only_neighbours_in_e_have_two_links() {
        let with = |dims: &[u32]| Torus::new(&Topology { dims: dims.to_vec(), ..Topology::default() });
        let torus = with(&[2, 2, 4, 4, 2]);
        let [here, e, far] = [[1, 0, 2, 3, 0], [1, 0, 2, 3, 1], [1, 1, 2, 3, 1]].map(|at| torus.node(at));
        assert_eq!(ports(&torus, here, e), Some([9, 8]));
        assert_eq!((ports(&torus, here, far), ports(&torus, here, here)), (None, None));
        // Without the link that closes the ring there is only one.
        let open = Torus::new(&Topology {
            dims: vec![2, 2, 4, 4, 2],
            wrap: vec![true, true, true, true, false],
            ..Topology::default()
        });
        assert_eq!(ports(&open, here, e), None);
        // A ring of four has one link between neighbours.
        let longer = with(&[2, 2, 2, 2, 4]);
        assert_eq!(ports(&longer, 0, longer.neighbour(0, 8).unwrap()), None);
    }
}
