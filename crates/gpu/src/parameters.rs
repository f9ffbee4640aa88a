//! Which machines and which traffic the kernel supports, and the constants that it is compiled for.

use crate::words::{BINS, FIFOS, PORTS, Words};
use netloom_fabric::config::{
    BubbleRule, ConfigError, DirectionChoice, Escape, EscapeOrder, HalfwayTie, TorusConfig,
};
use std::fmt::Write;

/// Bits of a destination in a packet's word; its directions come after them.
const HINTS: u32 = 20;
/// Points of the table of logarithms between 1 and 2, without the last.
const POINTS: u32 = 256;
/// Bits below the point of its numbers.
const LOGARITHM_BITS: i32 = 27;
/// Bits below the point of ticks between packets.
const INTERVAL_BITS: i32 = 8;
/// Invocations of a workgroup.
const WORKGROUP: u32 = 64;

/// What a study asks for that the kernel does not have: the key, and what it supports.
pub type Unsupported = ConfigError;

fn unsupported<T>(key: &str, message: impl Into<String>) -> Result<T, Unsupported> {
    Err(ConfigError { key: key.into(), message: message.into() })
}

/// Destinations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Any other node.
    Uniform,
    /// All others in turn, each node in an order of its own.
    AllToAll,
}

/// How much each node sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// Each FIFO always has a packet.
    Infinite,
    /// Open loop: packets of a node per tick.
    PerTick(f64),
}

/// Synthetic traffic: packets of one size, of normal priority.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Traffic {
    /// Destinations.
    pub pattern: Pattern,
    /// Load.
    pub load: Load,
    /// Size of a packet, chunks.
    pub chunks: u32,
    /// Whether packets take the escape order alone.
    pub is_static: bool,
}

/// A machine and its traffic, checked.
pub struct Parameters {
    /// Nodes.
    pub nodes: u32,
    /// Chunks of a packet.
    pub chunks: u32,
    /// Dynamic VCs.
    pub dynamic_vcs: u32,
    /// Capacity of a dynamic VC and of the escape VC, chunks.
    pub capacity: [u32; 2],
    /// Ticks of a packet and of a token-ack on a link.
    pub data_ticks: u32,
    pub ack_ticks: u32,
    /// Ticks until they count at the other end.
    pub hop_ticks: u32,
    pub token_ticks: u32,
    /// Mean ticks between two packets of a FIFO, in open loop.
    pub interval: Option<f64>,
    config: TorusConfig,
    traffic: Traffic,
}

impl Parameters {
    /// Those of a machine with some traffic.
    ///
    /// # Errors
    /// What the kernel does not support.
    pub fn new(config: &TorusConfig, traffic: Traffic) -> Result<Self, Unsupported> {
        config.check()?;
        check_machine(config)?;
        let (packet, link, router) = (&config.packet, &config.link, &config.router);
        let ack_ticks = packet.ack_wire_B() * link.ticks_per_byte;
        let escape_bytes = router.escape_vc_B.unwrap_or(router.vc_B);
        let parameters = Parameters {
            nodes: config.nodes() as u32,
            chunks: traffic.chunks,
            dynamic_vcs: router.dynamic_vcs,
            capacity: [router.vc_B, escape_bytes].map(|bytes| bytes / packet.chunk_B),
            data_ticks: packet.wire_B(traffic.chunks) * link.ticks_per_byte,
            ack_ticks,
            hop_ticks: link.hop_ticks(),
            token_ticks: ack_ticks + link.wire_ticks + link.receive_ticks + link.send_ticks,
            interval: match traffic.load {
                Load::Infinite => None,
                Load::PerTick(rate) => Some(f64::from(FIFOS) / rate),
            },
            config: config.clone(),
            traffic,
        };
        parameters.check()?;
        Ok(parameters)
    }

    fn check(&self) -> Result<(), Unsupported> {
        if !(1..=self.config.packet.chunks_max).contains(&self.chunks) {
            return unsupported("traffic.packet_chunks", format!("found {} chunks", self.chunks));
        }
        // A count of tokens has a byte, and the ring of a VC's packets a byte for each number.
        if let Some(chunks) = self.capacity.iter().find(|&&chunks| chunks > 255) {
            return unsupported("router.vc_B", format!("at most 255 chunks on a GPU, found {chunks}"));
        }
        if self.data_ticks < self.hop_ticks {
            return unsupported(
                "link.wire_ns",
                "a packet must take longer on a link than its first bit to the next node, on a GPU",
            );
        }
        // An exponential draw is up to 23 times the mean.
        let most = f64::from(1 << (32 - 5 - INTERVAL_BITS));
        match self.interval {
            Some(interval) if !(interval > 0.0 && interval < most) => unsupported(
                "traffic.load",
                format!(
                    "expected up to {most} ticks between two packets of a FIFO on a GPU, found {interval}"
                ),
            ),
            _ => Ok(()),
        }
    }

    /// Ticks that a node goes through without its neighbours.
    pub fn window(&self) -> u32 {
        self.hop_ticks.min(self.token_ticks)
    }

    /// Workgroups of a dispatch.
    pub fn workgroups(&self) -> u32 {
        self.nodes.div_ceil(WORKGROUP)
    }

    /// Most token-acks that begin on a link in a window.
    pub fn acks_in_window(&self) -> u32 {
        self.window().div_ceil(self.ack_ticks)
    }

    /// Most token-acks that are on their way over a link: those that have begun, and those of a window before
    /// they are due.
    pub fn acks_in_flight(&self) -> u32 {
        self.token_ticks.div_ceil(self.ack_ticks) + self.acks_in_window()
    }

    /// Packets of a VC.
    pub fn slots(&self) -> u32 {
        self.capacity[0].max(self.capacity[1]) / self.chunks
    }

    /// Bits of each half of a number of the orders of destinations.
    pub fn order_bits(&self) -> u32 {
        (32 - self.nodes.saturating_sub(2).leading_zeros()).div_ceil(2).max(1)
    }

    /// The constants of the kernel.
    pub fn constants(&self, words: &Words) -> String {
        let (config, router, traffic) = (&self.config, &self.config.router, &self.traffic);
        let mut text = words.constants();
        let bubble_tokens = match router.bubble_rule {
            BubbleRule::Corrected => config.packet.chunks_max,
            BubbleRule::Published => self.chunks,
        };
        let interval = self.interval.map_or(0, |ticks| (ticks * 2f64.powi(INTERVAL_BITS)).round() as u32);
        let numbers = [
            ("NODES", self.nodes),
            ("PORTS", PORTS),
            ("FIFOS", FIFOS),
            ("BINS", BINS),
            ("HINTS", HINTS),
            ("WORKGROUP", WORKGROUP),
            ("WINDOW", self.window()),
            ("SLOTS", self.slots()),
            ("MAIL_ACKS", crate::words::MAIL_ACKS),
            ("CHUNKS", self.chunks),
            ("CHUNKS_MAX", config.packet.chunks_max),
            ("BUBBLE_TOKENS", bubble_tokens),
            ("DYNAMIC_VCS", self.dynamic_vcs),
            ("VC_CHUNKS", self.capacity[0]),
            ("ESCAPE_CHUNKS", self.capacity[1]),
            ("PATHS", router.paths),
            ("DATA_TICKS", self.data_ticks),
            ("ACK_TICKS", self.ack_ticks),
            ("HOP_TICKS", self.hop_ticks),
            ("TOKEN_TICKS", self.token_ticks),
            ("RECEIVER_SLQ", threshold(router.receiver_slq_fraction)),
            ("SENDER_SLQ", threshold(router.sender_slq_fraction)),
            ("IN_NETWORK", threshold(router.in_network_fraction)),
            ("INTERVAL", interval),
            ("ORDER_BITS", self.order_bits()),
            // Flags of words.
            ("PRESENT", 1),
            ("WAITING", 2),
            ("AFTER_TOKENS", 4),
            ("MOVING", 1 << 16),
            ("DATA_PACKET", 1),
            ("TOKEN_ACK", 2),
            // Not a port, nor the opposite of one.
            ("NO_PORT", 64),
            ("LN_2", std::f64::consts::LN_2.mul_add(2f64.powi(LOGARITHM_BITS), 0.5) as u32),
        ];
        for (name, number) in numbers {
            let _ = writeln!(text, "const {name}: u32 = {number}u;");
        }
        let flags = [
            ("HAS_BYPASS", router.bypass),
            ("BY_TOKENS", router.direction_choice == DirectionChoice::Jsq),
            ("PLUS_FIRST", router.escape_order == EscapeOrder::Direction),
            ("TIES_PLUS", router.halfway_tie == HalfwayTie::Plus),
            ("IS_STATIC", traffic.is_static),
            ("ALL_TO_ALL", traffic.pattern == Pattern::AllToAll),
            ("OPEN_LOOP", self.interval.is_some()),
        ];
        for (name, flag) in flags {
            let _ = writeln!(text, "const {name}: bool = {flag};");
        }
        let dims = lengths(config);
        let strides = [1, dims[0], dims[0] * dims[1]];
        let wraps = [0, 1, 2].map(|d| config.topology.wraps(d));
        for (name, of, values) in [
            ("LENGTHS", "u32", list(&dims)),
            ("STRIDES", "u32", list(&strides)),
            ("WRAPS", "bool", list(&wraps)),
        ] {
            let _ = writeln!(text, "const {name}: vec3<{of}> = vec3<{of}>({values});");
        }
        text
    }
}

fn list<T: std::fmt::Display>(values: &[T]) -> String {
    values.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

/// The natural logarithms of 1 to 2, in units of 2^-[`LOGARITHM_BITS`].
pub fn logarithms() -> Vec<u32> {
    let of = |point| (1.0 + f64::from(point) / f64::from(POINTS)).ln();
    (0..=POINTS).map(|point| of(point).mul_add(2f64.powi(LOGARITHM_BITS), 0.5) as u32).collect()
}

/// A probability in units of 2^-32.
fn threshold(probability: f64) -> u32 {
    (probability * 2f64.powi(32)).round().min(f64::from(u32::MAX)) as u32
}

/// The lengths of three dimensions.
fn lengths(config: &TorusConfig) -> [u32; 3] {
    [0, 1, 2].map(|d| config.topology.dims.get(d).copied().unwrap_or(1))
}

/// Refuses a machine that the kernel does not model.
fn check_machine(config: &TorusConfig) -> Result<(), Unsupported> {
    let (topology, link, router) = (&config.topology, &config.link, &config.router);
    if topology.dims.len() > 3 {
        return unsupported("topology.dims", "a GPU simulates up to three dimensions");
    }
    let nodes = config.nodes();
    if !(2..1 << HINTS).contains(&nodes) {
        return unsupported(
            "topology.dims",
            format!("a GPU simulates 2 to {} nodes, found {nodes}", (1 << HINTS) - 1),
        );
    }
    if !topology.dead_nodes.is_empty() || !topology.dead_links.is_empty() || !topology.partitions.is_empty() {
        return unsupported("topology.dead_nodes", "a GPU simulates machines without failures or partitions");
    }
    if topology.loopback {
        return unsupported("topology.loopback", "a GPU does not simulate links back to the same node");
    }
    if link.bit_error_rate > 0.0 || link.fibre_error_rate > 0.0 || !link.faults.is_empty() {
        return unsupported("link.bit_error_rate", "a GPU simulates links without errors");
    }
    if !link.trace_ticks.is_empty() || link.link_chip_ticks > 0 {
        return unsupported("link.trace_ns", "a GPU simulates links of one length");
    }
    if router.escape != Escape::Bubble {
        return unsupported("router.escape", "a GPU simulates the bubble alone");
    }
    if router.dynamic_vcs > 3 {
        return unsupported("router.dynamic_vcs", "a GPU simulates up to three");
    }
    if router.arbitration_gap {
        return unsupported("router.arbitration_gap", "a GPU simulates arbiters without it");
    }
    Ok(())
}
