//! Uniform random traffic of Blue Gene/Q's kinds of packets, as a list: at a fraction of the links' rate, or
//! saturated.

use crate::traffic::script::Packet;
use netloom_engine::Stream;
use netloom_fabric::config::QueuedConfig;
use netloom_fabric::packet::Header;
use netloom_fabric::topology::torus::Torus;

/// Injection FIFOs for normal packets; then come one for high priority and one for the system.
pub const FIFOS_NORMAL: usize = 10;

/// FIFOs for collective packets, for injection and reception: the user's and the system's.
pub const USER_COLLECTIVE: usize = 14;
/// See [`USER_COLLECTIVE`].
pub const SYSTEM_COLLECTIVE: usize = 15;

/// A full packet that names a zone.
pub fn dynamic(zone: u8) -> Packet {
    Packet { zone, ..Packet::default() }
}

/// A full deterministic packet.
pub fn deterministic() -> Packet {
    Packet { flags: Header::STATIC, ..Packet::default() }
}

/// A full packet of high priority.
pub fn high() -> Packet {
    Packet { flags: Header::HIGH, fifo: FIFOS_NORMAL, ..Packet::default() }
}

/// A full system packet.
pub fn system() -> Packet {
    Packet { system: true, fifo: FIFOS_NORMAL + 1, ..Packet::default() }
}

/// Traffic from every node to all others: kinds and sizes are equally likely.
#[derive(Clone)]
pub struct Load {
    /// Utilization of links by data packets; `None`: saturated, with all packets present from the start.
    pub fraction: Option<f64>,
    pub kinds: Vec<Packet>,
    pub chunks: Vec<u32>,
}

impl Load {
    /// Saturated with full packets.
    pub fn saturated(kinds: &[Packet]) -> Self {
        Load { fraction: None, kinds: kinds.to_vec(), chunks: vec![17] }
    }

    /// Full packets at a fraction of the links' rate.
    pub fn open(fraction: f64, kinds: &[Packet]) -> Self {
        Load { fraction: Some(fraction), ..Load::saturated(kinds) }
    }

    /// The same with packets of other sizes.
    pub fn of_sizes(self, chunks: &[u32]) -> Self {
        Load { chunks: chunks.to_vec(), ..self }
    }

    /// The packets of a number of cycles, created at whole cycles.
    pub fn packets(&self, config: &QueuedConfig, cycles: u64, seed: u64) -> Vec<Packet> {
        let torus = Torus::new(&config.topology);
        let nodes = torus.nodes();
        let cycle = u64::from(config.router.cycle_ticks);
        let interval = self.interval(config, &torus);
        let mut list = vec![];
        for source in 0..nodes {
            let mut stream = Stream::new(seed, 9, source.into());
            let mut at = 0.0;
            while at < cycles as f64 {
                let mut one_of = |n: usize| stream.below(n as u64) as usize;
                let kind = self.kinds[one_of(self.kinds.len())];
                list.push(Packet {
                    made: if self.fraction.is_some() { cycle * at as u64 } else { 0 },
                    source,
                    fifo: if kind.fifo == 0 { one_of(FIFOS_NORMAL) } else { kind.fifo },
                    destination: (source + 1 + one_of(nodes as usize - 1) as u32) % nodes,
                    chunks: self.chunks[one_of(self.chunks.len())],
                    ..kind
                });
                let step = if self.fraction.is_some() { stream.exponential() } else { 1.0 };
                at += interval * step;
            }
        }
        list
    }

    /// Cycles between a node's packets.
    fn interval(&self, config: &QueuedConfig, torus: &Torus) -> f64 {
        let (nodes, k) = (torus.nodes(), self.chunks.len() as f64);
        let hops = (1..nodes).map(|n| torus.distance(0, n)).sum::<u32>();
        let links = (0..torus.ports()).filter(|&port| torus.neighbour(0, port).is_some()).count();
        let bytes = self.chunks.iter().map(|&c| config.packet.wire_B(c)).sum::<u32>();
        let cycles = f64::from(bytes * config.link.ticks_per_byte) / k / f64::from(config.router.cycle_ticks);
        // Three times more than the capacity, for FIFOs are not served equally.
        cycles * f64::from(hops) / f64::from(nodes - 1) / (links as f64 * self.fraction.unwrap_or(3.0))
    }
}
