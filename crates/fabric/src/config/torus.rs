//! BlueGene/L's routers and the variants that its authors studied (Blumrich et al., "Design and Analysis of
//! the BlueGene/L Torus Interconnection Network", sections 2 and 4).

use super::{
    ConfigError, EscapeOrder, HalfwayTie, Link, Outline, PacketFormat, Topology, VcOutline, default_ack_only,
    default_timeout, refuse,
};
use crate::router::VcClass;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most virtual channels of a receiver: four dynamic, two escape, one high-priority.
pub const VCS_MAX: usize = 7;

/// Which escape virtual channels keep the network free of deadlock (section 4, Virtual Channel Architecture).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Escape {
    /// One VC under the bubble rules of Puente et al.: BlueGene/L.
    Bubble,
    /// Two VCs, the lower before the dateline and the higher after it (Dally and Seitz). The dateline of each
    /// dimension lies between its highest coordinate and zero.
    Dateline,
}

/// How packets on the bubble VC are counted in tokens (section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BubbleRule {
    /// By their size: the rule as published in the bubble router's papers. Deadlocks with packets of mixed
    /// sizes.
    Published,
    /// Each as if it were full-sized: BlueGene/L's correction.
    Corrected,
}

/// How a packet chooses among the directions and VCs that it may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DirectionChoice {
    /// Join the shortest queue: most downstream tokens by four ranges, ties at random.
    Jsq,
    /// Any, at random.
    Random,
}

/// The router: receivers, senders and their arbiters (section 2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(non_snake_case)]
pub struct Router {
    /// Dynamic virtual channels of a receiver: 1 to 4.
    pub dynamic_vcs: u32,
    /// Buffer of each VC, bytes; a multiple of the chunk, at least two full packets.
    pub vc_B: u32,
    /// Buffer of each escape VC where it differs, bytes.
    #[serde(default)]
    pub escape_vc_B: Option<u32>,
    /// The escape architecture.
    pub escape: Escape,
    /// The order of escape and static routes.
    pub escape_order: EscapeOrder,
    /// How packets on the bubble VC are counted.
    pub bubble_rule: BubbleRule,
    /// Whether packets may pass through a receiver without entering its VC buffers.
    pub bypass: bool,
    /// Busses from a receiver to the senders: 1, 2 or 4.
    pub paths: u32,
    /// How a packet chooses its direction and VC.
    pub direction_choice: DirectionChoice,
    /// Fraction of a receiver's arbitration cycles that serve the longest queue; the rest choose at random.
    pub receiver_slq_fraction: f64,
    /// The same for the senders.
    pub sender_slq_fraction: f64,
    /// Fraction of a sender's cycles that prefer packets already in the network over those being injected.
    pub in_network_fraction: f64,
    /// The gap of one cycle in the receivers' arbitration that the authors' verification found (section 4).
    pub arbitration_gap: bool,
    /// The direction taken half-way around a ring.
    pub halfway_tie: HalfwayTie,
}

/// A torus network with token flow control: everything that the fabric needs to build it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TorusConfig {
    /// Ticks per second; every other time is a whole number of them.
    pub ticks_per_second: u64,
    /// The shape.
    pub topology: Topology,
    /// The packets.
    pub packet: PacketFormat,
    /// The links.
    pub link: Link,
    /// The routers.
    pub router: Router,
}

impl TorusConfig {
    /// BlueGene/L with the given dimensions; the same values as `machines/bgl.toml`, whose comments give each
    /// source.
    pub fn bluegene_l(dims: &[u32]) -> Self {
        TorusConfig {
            ticks_per_second: 175_000_000,
            topology: Topology {
                dims: dims.to_vec(),
                wrap: vec![],
                loopback: false,
                dead_nodes: vec![],
                dead_links: vec![],
                ..Topology::default()
            },
            packet: PacketFormat {
                chunk_B: 32,
                chunks_max: 8,
                header_B: 8,
                software_header_B: 8,
                trailer_B: 4,
                ack_B: 8,
            },
            link: Link {
                ticks_per_byte: 1,
                wire_ticks: 5,
                receive_ticks: 4,
                arbitrate_ticks: 4,
                send_ticks: 4,
                trace_ticks: vec![],
                midplane: vec![],
                link_chip_ticks: 0,
                bit_error_rate: 0.0,
                retransmit_timeout_ticks: default_timeout(),
                ack_only_after_ticks: default_ack_only(),
                fibre_error_rate: 0.0,
                fibre_errors_max: None,
                faults: vec![],
            },
            router: Router {
                dynamic_vcs: 2,
                vc_B: 1024,
                escape_vc_B: None,
                escape: Escape::Bubble,
                escape_order: EscapeOrder::Dimension,
                bubble_rule: BubbleRule::Corrected,
                bypass: true,
                paths: 2,
                direction_choice: DirectionChoice::Jsq,
                receiver_slq_fraction: 0.75,
                sender_slq_fraction: 0.75,
                in_network_fraction: 1.0,
                arbitration_gap: false,
                halfway_tie: HalfwayTie::Parity,
            },
        }
    }

    /// Nodes of the machine, dead ones included.
    pub fn nodes(&self) -> usize {
        self.topology.nodes()
    }

    /// The properties that the layers above need.
    pub fn outline(&self) -> Outline {
        let r = &self.router;
        let dynamic = (0..r.dynamic_vcs).map(|vc| (format!("dynamic VC {vc}"), VcClass::Dynamic, r.vc_B));
        let escape_bytes = r.escape_vc_B.unwrap_or(r.vc_B);
        let escape = match r.escape {
            Escape::Bubble => &["escape VC"][..],
            Escape::Dateline => &["escape VC lower", "escape VC upper"],
        };
        let escape = escape.iter().map(|&name| (name.to_owned(), VcClass::Escape, escape_bytes));
        let high = [("high-priority VC".to_owned(), VcClass::High, r.vc_B)];
        let vcs = dynamic.chain(escape).chain(high);
        Outline {
            ticks_per_second: self.ticks_per_second,
            topology: self.topology.clone(),
            packet: self.packet.clone(),
            link: self.link.clone(),
            halfway_tie: r.halfway_tie,
            order: r.escape_order,
            vcs: vcs
                .map(|(name, class, bytes)| VcOutline { name, class, chunks: bytes / self.packet.chunk_B })
                .collect(),
            zones: 0,
        }
    }

    /// Escape VCs of a receiver.
    pub fn escape_vcs(&self) -> usize {
        match self.router.escape {
            Escape::Bubble => 1,
            Escape::Dateline => 2,
        }
    }

    /// Virtual channels of a receiver: dynamic, then escape, then high-priority.
    pub fn vcs(&self) -> usize {
        self.router.dynamic_vcs as usize + self.escape_vcs() + 1
    }

    /// Refuses what cannot be built.
    ///
    /// # Errors
    /// The first invalid value, with its key and what was expected.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.topology.check()?;
        if !self.topology.partitions.is_empty() {
            return refuse(
                "topology.partitions",
                "expected none: these machines have no link chips to cut them",
            );
        }
        if self.topology.io.is_some() {
            return refuse("topology.io", "expected none: nodes of these machines have no IO links");
        }
        self.packet.check(16)?;
        self.link.check(&self.packet, self.topology.dims.len())?;
        self.link.check_faults(&self.topology)?;
        let (p, l) = (&self.packet, &self.link);
        if !l.trace_ticks.is_empty() || l.link_chip_ticks != 0 {
            return refuse(
                "link.trace_ticks",
                "expected nothing: routers of this family have wires of one length",
            );
        }
        if self.ticks_per_second == 0 {
            return refuse("ticks_per_second", "expected at least 1");
        }
        let r = &self.router;
        if !(1..=4).contains(&r.dynamic_vcs) {
            return refuse("router.dynamic_vcs", format!("expected 1 to 4, found {}", r.dynamic_vcs));
        }
        if !(1..=4).contains(&r.paths) {
            return refuse("router.paths", format!("expected 1 to 4, found {}", r.paths));
        }
        for (key, bytes, packets) in [
            // The high-priority VC is a bubble VC of this size: a packet enters it where two have room.
            ("router.vc_B", r.vc_B, 2),
            (
                "router.escape_vc_B",
                r.escape_vc_B.unwrap_or(r.vc_B),
                if r.escape == Escape::Bubble { 2 } else { 1 },
            ),
        ] {
            let full = p.chunk_B * p.chunks_max * packets;
            if bytes < full || bytes % p.chunk_B != 0 || bytes / p.chunk_B > 120 {
                return refuse(
                    key,
                    format!(
                        "expected a multiple of {} B from {full} B ({}) to {} B, found {bytes}",
                        p.chunk_B,
                        if packets == 1 { "one full packet" } else { "two full packets" },
                        120 * p.chunk_B
                    ),
                );
            }
        }
        for (key, f) in [
            ("router.receiver_slq_fraction", r.receiver_slq_fraction),
            ("router.sender_slq_fraction", r.sender_slq_fraction),
            ("router.in_network_fraction", r.in_network_fraction),
        ] {
            if !(0.0..=1.0).contains(&f) {
                return refuse(key, format!("expected a fraction from 0 to 1, found {f}"));
            }
        }
        Ok(())
    }
}
