//! What a study may set of a token-flow-controlled torus: BlueGene/L's network and the variants that its authors
//! studied (Blumrich et al., "Design and Analysis of the BlueGene/L Torus Interconnection Network").
//!
//! These are plain values as a machine file gives them; [`TorusConfig::check`] says what is impossible. Nothing here
//! is used on the path of a packet: a block derives its own compact tables from it when the machine is built.

use serde::{Deserialize, Serialize};

/// Most dimensions that a torus may have (Blue Gene/Q has five).
pub const DIMENSIONS_MAX: usize = 5;
/// Longest dimension: coordinates are bytes, as packet headers carry them.
pub const LENGTH_MAX: u32 = 256;
/// Most virtual channels of a receiver: four dynamic, two escape, one high-priority.
pub const VCS_MAX: usize = 7;

/// The shape of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// Nodes along each dimension, x first.
    pub dims: Vec<u32>,
    /// Whether each dimension closes into a ring (torus) or is open (mesh). Empty: all are rings.
    #[serde(default)]
    pub wrap: Vec<bool>,
    /// Nodes that are out of order, by coordinates. Ports towards them never offer tokens (section 2).
    #[serde(default)]
    pub dead_nodes: Vec<Vec<u32>>,
    /// Links that are out of order, in both directions, as node and direction (`"+x"`).
    #[serde(default)]
    pub dead_links: Vec<DeadLink>,
}

/// A link that is out of order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeadLink {
    /// Coordinates of the node at one end.
    pub node: Vec<u32>,
    /// Direction of the link seen from there: `+` or `-` and the dimension's letter (x, y, z, u, v).
    pub direction: String,
}

/// Packets and their sizes, bytes (section 2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(non_snake_case)]
pub struct PacketFormat {
    /// The unit of flow control.
    pub chunk_B: u32,
    /// Chunks of a full packet.
    pub chunks_max: u32,
    /// Link-level and routing header, part of the first chunk.
    pub header_B: u32,
    /// What software puts before its data in each packet, part of the first chunk.
    pub software_header_B: u32,
    /// CRC and valid indicator, appended to the chunks on the wire.
    pub trailer_B: u32,
    /// An ack-only or token-ack packet, to which the trailer is appended like to any packet.
    pub ack_B: u32,
}

impl PacketFormat {
    /// Bytes of a data packet of so many chunks on a link.
    #[allow(non_snake_case)]
    pub fn wire_B(&self, chunks: u32) -> u32 {
        chunks * self.chunk_B + self.trailer_B
    }

    /// Bytes of an ack-only or token-ack packet on a link.
    #[allow(non_snake_case)]
    pub fn ack_wire_B(&self) -> u32 {
        self.ack_B + self.trailer_B
    }
}

/// One hop's time from its parts, and the rate of a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(non_snake_case)]
pub struct Link {
    /// Ticks that one byte takes on a link.
    pub ticks_per_byte: u32,
    /// SerDes and wire, ticks.
    pub wire_ticks: u32,
    /// Network logic of the receiving unit: deserialised header to arbitration request, ticks.
    pub receive_ticks: u32,
    /// The pipelined arbitration, ticks.
    pub arbitrate_ticks: u32,
    /// Network logic of the sending unit: grant to first bit, ticks.
    pub send_ticks: u32,
    /// Probability that a transmitted bit is corrupted.
    #[serde(default)]
    pub bit_error_rate: f64,
    /// A sender that has no acknowledgement after this many ticks sends again (section 2).
    #[serde(default = "default_timeout")]
    pub retransmit_timeout_ticks: u32,
    /// A receiver whose link back was idle this long after a packet sends an ack-only packet (section 3), ticks.
    /// Only where bits are corrupted: elsewhere nothing depends on it.
    #[serde(default = "default_ack_only")]
    pub ack_only_after_ticks: u32,
}

fn default_timeout() -> u32 {
    8192
}
fn default_ack_only() -> u32 {
    2048
}

impl Link {
    /// From the first bit on one link to the earliest first bit on the next, ticks: the hop.
    pub fn hop_ticks(&self) -> u32 {
        self.wire_ticks + self.receive_ticks + self.arbitrate_ticks + self.send_ticks
    }
}

/// Which escape virtual channels keep the network free of deadlock (section 4, Virtual Channel Architecture).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Escape {
    /// One VC under the bubble rules of Puente et al.: BlueGene/L.
    Bubble,
    /// Two VCs, the lower before the dateline and the higher after it (Dally and Seitz). The dateline of each
    /// dimension lies between its highest coordinate and zero.
    Dateline,
}

/// The order in which escape and statically routed packets use their directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EscapeOrder {
    /// x first, then y, then z.
    Dimension,
    /// x+, y+, z+, x-, y-, z-.
    Direction,
}

/// How packets on the bubble VC are counted in tokens (section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BubbleRule {
    /// By their size: the rule as published in the bubble router's papers. Deadlocks with packets of mixed sizes.
    Published,
    /// Each as if it were full-sized: BlueGene/L's correction.
    Corrected,
}

/// How a packet chooses among the directions and VCs that it may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DirectionChoice {
    /// Join the shortest queue: most downstream tokens by four ranges, ties at random.
    Jsq,
    /// Any, at random.
    Random,
}

/// Which side a packet takes where both ways round a ring are equally far (section 2: the registers of the hardware).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HalfwayTie {
    /// Nodes alternate by the parity of their coordinates' sum.
    Parity,
    /// All take the plus side, which costs 6% of the capacity of a 32-ring.
    Plus,
}

/// The router: receivers, senders and their arbiters (section 2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// The side taken half-way round a ring.
    pub halfway_tie: HalfwayTie,
}

/// A torus network with token flow control: everything that the fabric needs to build it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TorusConfig {
    /// Ticks a second; every other time is a whole number of them.
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

/// What is wrong with a configuration: the key, and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {message}")]
pub struct ConfigError {
    /// Dotted path of the offending key, as in a machine file (`router.paths`).
    pub key: String,
    /// What was expected there.
    pub message: String,
}

fn refuse<T>(key: &str, message: impl Into<String>) -> Result<T, ConfigError> {
    Err(ConfigError { key: key.into(), message: message.into() })
}

impl TorusConfig {
    /// BlueGene/L with the given dimensions; the same values as `machines/bgl.toml`, whose comments give each source.
    pub fn bluegene_l(dims: &[u32]) -> Self {
        TorusConfig {
            ticks_per_second: 175_000_000,
            topology: Topology { dims: dims.to_vec(), wrap: vec![], dead_nodes: vec![], dead_links: vec![] },
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
                bit_error_rate: 0.0,
                retransmit_timeout_ticks: default_timeout(),
                ack_only_after_ticks: default_ack_only(),
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
        self.topology.dims.iter().map(|&k| k as usize).product()
    }

    /// Whether dimension `d` closes into a ring.
    pub fn wraps(&self, d: usize) -> bool {
        self.topology.wrap.get(d).copied().unwrap_or(true)
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
    /// The first impossible value, with its key and what was expected.
    pub fn check(&self) -> Result<(), ConfigError> {
        let t = &self.topology;
        let n = t.dims.len();
        if n == 0 || n > DIMENSIONS_MAX {
            return refuse("topology.dims", format!("expected 1 to {DIMENSIONS_MAX} dimensions, found {n}"));
        }
        if let Some(k) = t.dims.iter().find(|&&k| k == 0 || k > LENGTH_MAX) {
            return refuse("topology.dims", format!("expected lengths of 1 to {LENGTH_MAX}, found {k}"));
        }
        if !t.wrap.is_empty() && t.wrap.len() != n {
            return refuse(
                "topology.wrap",
                format!("expected one value for each of the {n} dimensions, found {}", t.wrap.len()),
            );
        }
        for node in t.dead_nodes.iter().chain(t.dead_links.iter().map(|l| &l.node)) {
            if node.len() != n || node.iter().zip(&t.dims).any(|(c, k)| c >= k) {
                return refuse(
                    "topology.dead_nodes",
                    format!("expected coordinates inside {:?}, found {node:?}", t.dims),
                );
            }
        }
        for link in &t.dead_links {
            if parse_direction(&link.direction, n).is_none() {
                return refuse(
                    "topology.dead_links",
                    format!("expected a direction such as \"+x\" or \"-y\", found \"{}\"", link.direction),
                );
            }
        }
        let (p, l) = (&self.packet, &self.link);
        for (key, value, most) in [
            ("packet.chunk_B", p.chunk_B, 4096),
            ("packet.header_B", p.header_B, 65_536),
            ("packet.software_header_B", p.software_header_B, 65_536),
            ("packet.trailer_B", p.trailer_B, 4096),
            ("packet.ack_B", p.ack_B, 4096),
            ("link.ticks_per_byte", l.ticks_per_byte, 1000),
            ("link.wire_ticks", l.wire_ticks, 1_000_000),
            ("link.receive_ticks", l.receive_ticks, 1_000_000),
            ("link.arbitrate_ticks", l.arbitrate_ticks, 1_000_000),
            ("link.send_ticks", l.send_ticks, 1_000_000),
        ] {
            if value > most {
                return refuse(key, format!("expected at most {most}, found {value}"));
            }
        }
        if p.chunk_B == 0 {
            return refuse("packet.chunk_B", "expected at least 1 byte");
        }
        if !(1..=16).contains(&p.chunks_max) {
            return refuse("packet.chunks_max", format!("expected 1 to 16 chunks, found {}", p.chunks_max));
        }
        if p.header_B + p.software_header_B >= p.chunk_B * p.chunks_max {
            return refuse("packet.header_B", "headers leave no room for data in a full packet");
        }
        if p.ack_B == 0 {
            return refuse("packet.ack_B", "expected at least 1 byte: tokens return in packets");
        }
        if l.ticks_per_byte == 0 {
            return refuse("link.ticks_per_byte", "expected at least 1 tick");
        }
        if l.hop_ticks() == 0 {
            return refuse("link.wire_ticks", "a hop must take at least one tick");
        }
        if !(0.0..1.0).contains(&l.bit_error_rate) {
            return refuse("link.bit_error_rate", "expected a probability, 0 up to but not 1");
        }
        // Else packets would be sent again that have got through, or before the last of the first sending is gone.
        let full = (p.chunk_B * p.chunks_max + p.trailer_B) * l.ticks_per_byte;
        let enough = u64::from(l.ack_only_after_ticks) + u64::from(3 * full + 2 * l.hop_ticks());
        if l.bit_error_rate > 0.0 && u64::from(l.retransmit_timeout_ticks) < enough {
            return refuse(
                "link.retransmit_timeout_ticks",
                format!(
                    "expected at least {enough}: three full packets and two hops more than ack_only_after_ticks"
                ),
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

/// Reads a direction such as `"+x"` or `"-z"` as a port number: `2 * dimension`, plus one for minus.
pub fn parse_direction(text: &str, dimensions: usize) -> Option<usize> {
    let mut letters = text.chars();
    let minus = match letters.next()? {
        '+' => 0,
        '-' => 1,
        _ => return None,
    };
    let letter = letters.next()?;
    let dimension = "xyzuv".find(letter)?;
    (letters.next().is_none() && dimension < dimensions).then_some(2 * dimension + minus)
}
