//! The reference's statistics over time: links by their traffic, VCs by their chunks, deliveries and hops.

use super::link::Carried;
use netloom_fabric::config::VCS_MAX;

/// Length of the separately counted periods, ticks.
pub const PERIOD_TICKS: u64 = 100;

/// Sums over all links and VCs of the machine during a time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    /// The time.
    pub ticks: u64,
    /// Link-ticks with a data packet.
    pub data: u64,
    /// Link-ticks with a token-ack.
    pub acks: u64,
    /// Chunk-ticks in each VC, of all receivers that have a link.
    pub chunks: [u64; VCS_MAX],
    /// Packets delivered.
    pub delivered: u64,
}

/// Means over a window.
#[derive(Clone, Copy, Debug)]
pub struct Means {
    /// Fraction of the links' time that carries data packets.
    pub data: f64,
    /// Fraction of the links' time that carries token-acks.
    pub acks: f64,
    /// Occupied chunks of a VC, by VC.
    pub chunks: [f64; VCS_MAX],
    /// Packets delivered per tick, all nodes.
    pub delivered: f64,
}

impl Means {
    /// Fraction of the links' time that is busy.
    pub fn utilization(&self) -> f64 {
        self.data + self.acks
    }
}

/// The counted state of a port in each tick.
pub trait Counted {
    /// Whether it has a link.
    fn is_linked(&self) -> bool;
    /// The packet on its link.
    fn carried(&self) -> Carried;
    /// Chunks in its receiver, by VC.
    fn chunks(&self) -> impl Iterator<Item = u32>;
}

/// The counts of a run.
pub struct Statistics {
    /// Links of the machine, each direction separately.
    pub links: u64,
    /// Ticks with a data packet and with a token-ack, of each node's port.
    pub busy: Vec<Vec<[u64; 2]>>,
    /// Sums of each period since the start.
    pub periods: Vec<Sums>,
    /// Grants of each VC.
    pub hops: [u64; VCS_MAX],
    /// Latencies of the delivered packets: number, sum, maximum.
    pub latency: (u64, u64, u64),
}

impl Statistics {
    /// For nodes with these ports, with nothing counted.
    pub fn new<'a, P: Counted + 'a>(nodes: impl Iterator<Item = &'a [P]> + Clone) -> Self {
        let links = nodes.clone().flatten().filter(|port| port.is_linked()).count();
        Statistics {
            links: links as u64,
            busy: nodes.map(|ports| vec![[0; 2]; ports.len()]).collect(),
            periods: Vec::new(),
            hops: [0; VCS_MAX],
            latency: (0, 0, 0),
        }
    }

    fn period(&mut self, now: u64) -> &mut Sums {
        let number = (now / PERIOD_TICKS) as usize;
        if self.periods.len() <= number {
            self.periods.resize_with(number + 1, Sums::default);
        }
        &mut self.periods[number]
    }

    /// Counts the state at the end of a tick.
    pub fn count<'a, P: Counted + 'a>(&mut self, now: u64, nodes: impl Iterator<Item = &'a [P]>) {
        let mut sums = Sums::default();
        for (ports, busy) in nodes.zip(&mut self.busy) {
            for (port, busy) in ports.iter().zip(busy) {
                let carried = port.carried();
                match carried {
                    Carried::Nothing => (),
                    Carried::Data => busy[0] += 1,
                    Carried::Ack => busy[1] += 1,
                }
                sums.data += u64::from(carried == Carried::Data);
                sums.acks += u64::from(carried == Carried::Ack);
                for (sum, chunks) in sums.chunks.iter_mut().zip(port.chunks()) {
                    *sum += u64::from(chunks);
                }
            }
        }
        let period = self.period(now);
        period.ticks += 1;
        period.data += sums.data;
        period.acks += sums.acks;
        for (sum, more) in period.chunks.iter_mut().zip(sums.chunks) {
            *sum += more;
        }
    }

    /// Counts a delivery.
    pub fn delivered(&mut self, now: u64, latency: u64) {
        self.period(now).delivered += 1;
        let (count, sum, highest) = self.latency;
        self.latency = (count + 1, sum + latency, highest.max(latency));
    }

    /// Means from tick `from` up to but excluding tick `to`, both rounded down to whole periods.
    pub fn means(&self, from: u64, to: u64) -> Means {
        let window = &self.periods[(from / PERIOD_TICKS) as usize..(to / PERIOD_TICKS) as usize];
        let sum = |f: &dyn Fn(&Sums) -> u64| window.iter().map(f).sum::<u64>() as f64;
        let ticks = sum(&|p| p.ticks);
        let link_ticks = ticks * self.links as f64;
        let mut chunks = [0.0; VCS_MAX];
        for (vc, mean) in chunks.iter_mut().enumerate() {
            *mean = sum(&|p| p.chunks[vc]) / link_ticks;
        }
        Means {
            data: sum(&|p| p.data) / link_ticks,
            acks: sum(&|p| p.acks) / link_ticks,
            chunks,
            delivered: sum(&|p| p.delivered) / ticks,
        }
    }
}
