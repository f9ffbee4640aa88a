//! Figures of a torus in closed form.

use super::TorusMachine;
use serde::Serialize;

impl TorusMachine {
    /// Figures of the machine that need no run.
    pub fn facts(&self) -> TorusFacts {
        let torus = self.network().outline();
        let dims = &self.topology.dims;
        let nodes = torus.nodes() as u64;
        let ns_per_tick = 1e9 / self.ticks_per_second as f64;
        let link_mb_per_s = self.ticks_per_second as f64 / f64::from(self.link.ticks_per_byte) / 1e6;
        // Links per dimension in each direction: a ring of one node has none, an open line one fewer than
        // nodes. A ring of two nodes has two links per direction, one on either side.
        let links_of = |d: usize| {
            let k = u64::from(dims[d]);
            match (k, torus.wraps(d)) {
                (1, _) => 0,
                (_, true) => nodes * 2,
                (_, false) => nodes / k * (k - 1) * 2,
            }
        };
        let links = (0..dims.len()).map(links_of).sum();
        // Cut the longest dimension in two; both directions counted.
        let cut = (0..dims.len()).max_by_key(|&d| dims[d]).unwrap_or(0);
        let crossing = match dims[cut] {
            1 => 0,
            k => nodes / u64::from(k) * 2 * if torus.wraps(cut) { 2 } else { 1 },
        };
        // Uniform traffic crosses each dimension by a mean distance; the dimension with the most hops to a
        // link is full first, and the others are busy in proportion.
        let hops: Vec<f64> = (0..dims.len()).map(|d| mean_distance(dims[d], torus.wraps(d))).collect();
        let load: Vec<f64> = (0..dims.len())
            .filter(|&d| links_of(d) > 0)
            .map(|d| hops[d] * nodes as f64 / links_of(d) as f64)
            .collect();
        let total: f64 = hops.iter().sum::<f64>() * nodes as f64;
        let worst = load.iter().copied().fold(0.0, f64::max);
        let peak = if worst > 0.0 { total / links as f64 / worst } else { 0.0 };
        let p = &self.packet;
        let full = f64::from(p.chunk_B * p.chunks_max);
        let payload = full - f64::from(p.header_B + p.software_header_B);
        // A token-ack goes back for each packet; every link carries as many as it carries packets.
        let payload_share = payload / (full + f64::from(p.trailer_B + p.ack_wire_B()));
        // The longest minimal path in a dimension, from wherever it crosses the most cables.
        let farthest = |d: usize| {
            let k = dims[d];
            let (hops, starts) = if torus.wraps(d) { (k / 2, 0..k) } else { (k - 1, 0..1) };
            let distance =
                |from: u32| (from..from + hops).map(|x| self.link.hop_ticks_of(d, x % k, k, false)).sum();
            starts.map(distance).max().unwrap_or(0)
        };
        let longest: u32 = (0..dims.len()).map(farthest).sum();
        let short = p.wire_B(2.min(p.chunks_max)) * self.link.ticks_per_byte;
        TorusFacts {
            nodes,
            links,
            farthest_ns: f64::from(longest + short) * ns_per_tick,
            link_mb_per_s,
            hop_ns: f64::from(self.link.hop_ticks()) * ns_per_tick,
            mean_hops: hops.iter().sum(),
            diameter_hops: (0..dims.len())
                .map(|d| if torus.wraps(d) { dims[d] / 2 } else { dims[d] - 1 })
                .sum(),
            bisection_links: crossing,
            bisection_gb_per_s: crossing as f64 * link_mb_per_s / 1e3,
            virtual_channels: torus.vcs.len() as u32,
            buffer_kb_per_node: f64::from(2 * dims.len() as u32 * p.chunk_B)
                * torus.vcs.iter().map(|vc| f64::from(vc.chunks)).sum::<f64>()
                / 1024.0,
            payload_of_full_packet_b: payload as u32,
            peak_all_to_all_link_utilization: peak,
            peak_all_to_all_payload_utilization: peak * payload_share,
        }
    }
}

/// Mean distance between two nodes at random of a ring or line of `k`, hops (a node may be its own partner).
fn mean_distance(k: u32, ring: bool) -> f64 {
    let even = k.is_multiple_of(2);
    let k = f64::from(k);
    match ring {
        true if even => k / 4.0,
        true => (k * k - 1.0) / (4.0 * k),
        false => (k * k - 1.0) / (3.0 * k),
    }
}

/// Figures of a torus in closed form.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TorusFacts {
    /// Nodes.
    pub nodes: u64,
    /// Links, each direction counted.
    pub links: u64,
    /// Raw rate of a link in one direction, MB/s.
    pub link_mb_per_s: f64,
    /// Time of one hop, first bit to first bit, ns.
    pub hop_ns: f64,
    /// Time of a packet of two chunks in the network between the nodes that are farthest apart, without load,
    /// ns.
    pub farthest_ns: f64,
    /// Mean distance between nodes at random, hops.
    pub mean_hops: f64,
    /// Greatest distance, hops.
    pub diameter_hops: u32,
    /// Links across a cut through the middle of the longest dimension, both directions counted.
    pub bisection_links: u64,
    /// Raw bandwidth across that cut, both directions, GB/s.
    pub bisection_gb_per_s: f64,
    /// Virtual channels of a receiver.
    pub virtual_channels: u32,
    /// Buffers of all virtual channels of a node, KiB.
    pub buffer_kb_per_node: f64,
    /// Data that a full packet carries, bytes.
    pub payload_of_full_packet_b: u32,
    /// Highest mean link utilization that an all-to-all can reach, fraction.
    pub peak_all_to_all_link_utilization: f64,
    /// The share of it that is payload in full packets, each answered by one acknowledgement packet,
    /// fraction.
    pub peak_all_to_all_payload_utilization: f64,
}
