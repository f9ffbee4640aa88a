//! Blue Gene/Q's routers (Chen et al., "The IBM Blue Gene/Q Interconnection Network and Message Unit",
//! section II).

use super::{
    ConfigError, DirectionChoice, EscapeOrder, HalfwayTie, LETTERS, Link, Outline, PacketFormat, SoftError,
    Topology, VcOutline, default_ack_only, is_no_rate, refuse,
};
use crate::router::VcClass;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// Most queues of a VC.
pub const QUEUES_MAX: usize = 7;
/// Sets of zone masks: two header bits name one (section II.B).
pub const ZONES: usize = 4;

/// The router: receivers, senders and their arbiters (sections II.B and II.E).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(non_snake_case)]
pub struct QueuedRouter {
    /// A network cycle, in which arbiters act once.
    pub cycle_ticks: u32,
    /// Queues of each point-to-point VC, 1 to 7: packets in different ones do not block one another.
    pub queues: u32,
    /// Buffer of the dynamic VC, bytes. Its queues share it, and its tokens are chunks.
    pub dynamic_vc_B: u32,
    /// Packets that each of the other VCs holds, of whatever size: their tokens are packets. A queue holds
    /// one or, if there are fewer queues, several.
    pub slots: u32,
    /// The order in which deterministic and escaping packets go through the dimensions, a letter each:
    /// `"xyzuv"` for the paper's A to E. Left out: the longest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dimension_order: Option<String>,
    /// For each zone that a packet may name, sets of dimensions in the order in which dynamic packets go
    /// through them: `["xy", "zu", "v"]`. If omitted: as the machine's firmware sets them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zones: Option<Vec<Vec<String>>>,
    /// Paths from a receiver to the senders: packets that it can send at once, 1 to 4.
    pub paths: u32,
    /// How a dynamic packet chooses among the directions that it may take.
    pub direction_choice: DirectionChoice,
    /// Grants of a sender to packets already in the network after which one that is being injected comes
    /// first.
    pub through_per_injection: u32,
    /// The direction taken half-way around a ring.
    pub halfway_tie: HalfwayTie,
    /// Time of a link between two data packets, in which packets of the protocol may be sent.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub gap_ticks: u32,
    /// The central collective logic.
    pub collective: CollectiveLogic,
    /// Probability that a bit in a receiver's buffer changes in a tick.
    #[serde(default, skip_serializing_if = "is_no_rate")]
    pub soft_error_rate: f64,
    /// Soft errors at named places.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub soft_errors: Vec<SoftError>,
}

/// The central collective logic (sections II.C and II.E): what it adds to a hop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CollectiveLogic {
    /// Through up-tree, and through down-tree.
    pub central_ticks: u32,
    /// Up-tree: through the ALUs.
    pub combine_ticks: u32,
    /// Up-tree: through the floating-point units before and behind the ALUs.
    pub float_ticks: u32,
    /// Up-tree: from the end of a packet to the start of the next.
    pub gap_ticks: u32,
}

/// A Blue Gene/Q network: everything that the fabric needs to build it.
#[derive(Clone, Debug, PartialEq)]
pub struct QueuedConfig {
    /// Ticks per second; every other time is a whole number of them.
    pub ticks_per_second: u64,
    /// The shape.
    pub topology: Topology,
    /// The packets.
    pub packet: PacketFormat,
    /// The links.
    pub link: Link,
    /// The routers.
    pub router: QueuedRouter,
}

/// Dimensions named by letters, as a mask with a bit each; none if a letter is none of the machine's.
fn mask(letters: &str, dimensions: usize) -> Option<u32> {
    letters
        .chars()
        .try_fold(0u32, |mask, letter| Some(mask | 1 << LETTERS.find(letter).filter(|&d| d < dimensions)?))
}

impl QueuedConfig {
    /// Blue Gene/Q with the given dimensions; the same values as `machines/bgq.toml`, whose comments give
    /// each source.
    pub fn bluegene_q(dims: &[u32]) -> Self {
        QueuedConfig {
            ticks_per_second: 8_000_000_000,
            topology: Topology { dims: dims.to_vec(), ..Topology::default() },
            packet: PacketFormat {
                chunk_B: 32,
                chunks_max: 17,
                header_B: 12,
                software_header_B: 20,
                trailer_B: 8,
                ack_B: 8,
            },
            link: Link {
                ticks_per_byte: 4,
                wire_ticks: 192,
                receive_ticks: 48,
                arbitrate_ticks: 48,
                send_ticks: 32,
                trace_ticks: vec![43; 5],
                midplane: vec![4, 4, 4, 4, 2],
                link_chip_ticks: 1157,
                bit_error_rate: 0.0,
                retransmit_timeout_ticks: 16_000,
                ack_only_after_ticks: default_ack_only(),
                fibre_error_rate: 0.0,
                fibre_errors_max: None,
                faults: vec![],
            },
            router: QueuedRouter {
                cycle_ticks: 16,
                queues: 7,
                dynamic_vc_B: 4032,
                slots: 7,
                dimension_order: None,
                zones: None,
                paths: 2,
                direction_choice: DirectionChoice::Jsq,
                through_per_injection: 16,
                halfway_tie: HalfwayTie::Parity,
                gap_ticks: 96,
                collective: CollectiveLogic {
                    central_ticks: 48,
                    combine_ticks: 64,
                    float_ticks: 32,
                    gap_ticks: 176,
                },
                soft_error_rate: 0.0,
                soft_errors: vec![],
            },
        }
    }

    /// Hops of the longest minimal path in dimension `d`: the measure by which dimensions are longer or
    /// shorter.
    fn effective_length(&self, d: usize) -> u32 {
        let k = self.topology.dims[d];
        if self.topology.wraps(d) { k / 2 } else { k }
    }

    /// The dimensions in the order of deterministic routing. Left to itself the firmware sorts them by how
    /// far packets go, the longest first and a mesh before a torus.
    pub fn dimension_order(&self) -> Vec<usize> {
        if let Some(letters) = &self.router.dimension_order {
            return letters.chars().filter_map(|letter| LETTERS.find(letter)).collect();
        }
        let mut order: Vec<usize> = (0..self.topology.dims.len()).collect();
        order.sort_by_key(|&d| (Reverse(self.effective_length(d)), self.topology.wraps(d)));
        order
    }

    /// The sets of dimensions of each zone, in order, as masks with one bit per dimension: a packet goes
    /// through those of the first set that it still has hint bits for. By default the firmware makes zone 0
    /// the longest first, those of one length together; zone 1 all together; zone 2 one by one, in
    /// deterministic order; zone 3 like zone 2, but with the last dimension, E, in each set.
    pub fn zone_masks(&self) -> [Vec<u32>; ZONES] {
        let n = self.topology.dims.len();
        let every = (1 << n) - 1;
        if let Some(zones) = &self.router.zones {
            return std::array::from_fn(|zone| match zones.get(zone) {
                Some(sets) => sets.iter().map(|set| mask(set, n).unwrap_or(0)).collect(),
                None => vec![every],
            });
        }
        let order = self.dimension_order();
        let alike = order.chunk_by(|&a, &b| self.effective_length(a) == self.effective_length(b));
        let single = order.iter().map(|&d| 1 << d);
        [
            alike.map(|set| set.iter().fold(0, |mask, d| mask | 1 << d)).collect(),
            vec![every],
            single.clone().collect(),
            single.map(|mask| if n == 5 { mask | 1 << 4 } else { mask }).collect(),
        ]
    }

    /// The properties that the layers above need.
    pub fn outline(&self) -> Outline {
        let of_packets = self.router.slots * self.packet.chunks_max;
        let vcs = [
            ("dynamic VC", VcClass::Dynamic, self.router.dynamic_vc_B / self.packet.chunk_B),
            ("deterministic VC", VcClass::Escape, of_packets),
            ("high-priority VC", VcClass::High, of_packets),
            ("system VC", VcClass::High, of_packets),
            ("collective VC", VcClass::Collective, of_packets),
            ("subcommunicator VC", VcClass::Collective, of_packets),
        ];
        Outline {
            ticks_per_second: self.ticks_per_second,
            topology: self.topology.clone(),
            packet: self.packet.clone(),
            link: self.link.clone(),
            halfway_tie: self.router.halfway_tie,
            order: EscapeOrder::Dimension,
            vcs: vcs.map(|(name, class, chunks)| VcOutline { name: name.into(), class, chunks }).to_vec(),
            zones: ZONES,
        }
    }

    /// Refuses what cannot be built.
    ///
    /// # Errors
    /// The first invalid value, with its key and what was expected.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.topology.check()?;
        self.packet.check(32)?;
        let n = self.topology.dims.len();
        self.link.check(&self.packet, n)?;
        self.link.check_faults(&self.topology)?;
        if !self.topology.dead_nodes.is_empty() || !self.topology.dead_links.is_empty() {
            let key = if self.topology.dead_nodes.is_empty() { "dead_links" } else { "dead_nodes" };
            return refuse(
                &format!("topology.{key}"),
                "expected none: routers of this family cannot route around them yet",
            );
        }
        if self.ticks_per_second == 0 {
            return refuse("ticks_per_second", "expected at least 1");
        }
        let r = &self.router;
        if !(1..=QUEUES_MAX as u32).contains(&r.queues) {
            return refuse("router.queues", format!("expected 1 to {QUEUES_MAX}, found {}", r.queues));
        }
        if !(1..=4).contains(&r.paths) {
            return refuse("router.paths", format!("expected 1 to 4, found {}", r.paths));
        }
        let (chunk, full) = (self.packet.chunk_B, self.packet.chunks_max);
        if !r.dynamic_vc_B.is_multiple_of(chunk) || !(full..=126).contains(&(r.dynamic_vc_B / chunk)) {
            let message = format!(
                "expected a multiple of {chunk} B from {} B (a full packet) to {} B, found {}",
                full * chunk,
                126 * chunk,
                r.dynamic_vc_B
            );
            return refuse("router.dynamic_vc_B", message);
        }
        // Packets enter a ring where two have room.
        if !(2..=126).contains(&r.slots) {
            return refuse("router.slots", format!("expected 2 to 126 packets, found {}", r.slots));
        }
        if !(1..=255).contains(&r.through_per_injection) {
            let message = format!("expected 1 to 255 grants, found {}", r.through_per_injection);
            return refuse("router.through_per_injection", message);
        }
        for (key, ticks) in [
            ("gap_ticks", r.gap_ticks),
            ("collective.central_ticks", r.collective.central_ticks),
            ("collective.combine_ticks", r.collective.combine_ticks),
            ("collective.float_ticks", r.collective.float_ticks),
            ("collective.gap_ticks", r.collective.gap_ticks),
        ] {
            if ticks > 1 << 20 {
                let message = format!("expected at most {} ticks, found {ticks}", 1 << 20);
                return refuse(&format!("router.{key}"), message);
            }
        }
        r.check_soft_errors(&self.topology)?;
        if r.cycle_ticks == 0 {
            return refuse("router.cycle_ticks", "expected at least 1 tick");
        }
        self.check_order()
    }

    fn check_order(&self) -> Result<(), ConfigError> {
        let n = self.topology.dims.len();
        let (every, letters) = ((1 << n) - 1, &LETTERS[..n]);
        if let Some(order) = &self.router.dimension_order
            && (order.len() != n || mask(order, n) != Some(every))
        {
            let message = format!("expected each letter of \"{letters}\" once, found \"{order}\"");
            return refuse("router.dimension_order", message);
        }
        let zones = self.router.zones.iter().flatten();
        if zones.clone().count() > ZONES {
            return refuse(
                "router.zones",
                format!("expected at most {ZONES} zones, found {}", zones.count()),
            );
        }
        for (zone, sets) in zones.enumerate() {
            let union = sets.iter().try_fold(0, |all, set| Some(all | mask(set, n)?));
            if union != Some(every) {
                let message = format!(
                    "expected sets of dimensions in which each letter of \"{letters}\" comes, found {sets:?} in zone \
                     {zone}: its packets could not arrive"
                );
                return refuse("router.zones", message);
            }
        }
        Ok(())
    }
}
