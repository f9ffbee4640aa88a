//! What the nodes have counted since the start, summed over them, and of each link.

use crate::parameters::Parameters;
use crate::words::{BINS, PORTS, Words};

/// Most VCs of a receiver.
pub const VCS_MAX: usize = 4;

/// Counts of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCount {
    /// Packets that began, by VC: the dynamic ones, then the escape VC.
    pub packets: [u64; VCS_MAX],
    /// Token-acks that began.
    pub acks: u64,
    /// Ticks spent sending, up to now.
    pub busy: u64,
}

/// A distribution: counts by bins of 1/8 of a power of two, sum, least and most.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distribution {
    /// Counts of the bins of `netloom_fabric::histogram`.
    pub bins: Vec<u64>,
    /// Sum of all values.
    pub sum: u64,
    /// The least value since the start or [`crate::Machine::restart_extremes`]; `u64::MAX` without any.
    pub least: u64,
    /// The greatest, likewise.
    pub greatest: u64,
}

/// All counts since the start of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets delivered.
    pub delivered: u64,
    /// Packets that have left their injection FIFO.
    pub injected: u64,
    /// Latency since creation, ticks.
    pub latency: Distribution,
    /// Latency since a packet left its injection FIFO, ticks.
    pub network_latency: Distribution,
    /// Chunk-ticks in the VCs of all receivers, by VC: sampled at the end of each window of the kernel.
    pub occupancy: Vec<u64>,
    /// The links, by node, then port. A port without link has none.
    pub links: Vec<LinkCount>,
}

/// The words of the device as they were read last: those that count have 32 bits and begin again from zero.
#[derive(Default)]
pub struct Reader {
    words: Vec<u32>,
    bins: Vec<u32>,
}

/// The increase of a word since it was read last.
fn more(now: &[u32], before: &[u32], at: usize) -> u64 {
    now[at].wrapping_sub(before.get(at).copied().unwrap_or(0)).into()
}

impl Reader {
    /// Adds what has been counted since the last reading: `words` are the first of each node's state, `bins`
    /// those of both distributions.
    pub fn add(
        &mut self,
        counts: &mut Counts,
        (of, names): (&Parameters, &Words),
        (words, bins): (Vec<u32>, Vec<u32>),
    ) {
        let nodes = of.nodes as usize;
        let place = |name: &str, offset: usize| (names.at(name) + offset) * nodes;
        let sum = |name: &str, offset: usize| {
            let from = place(name, offset);
            (from..from + nodes).map(|at| more(&words, &self.words, at)).sum::<u64>()
        };
        counts.delivered += sum("DELIVERED", 0);
        counts.injected += sum("INJECTIONS", 0);
        let vcs = of.dynamic_vcs as usize + 1;
        counts.occupancy.resize(vcs, 0);
        counts.occupancy.iter_mut().enumerate().for_each(|(vc, chunks)| *chunks += sum("OCCUPANCY", vc));
        let distributions = [
            (&mut counts.latency, ["LATENCY", "LATENCY_MIN", "LATENCY_MAX"], 0),
            (&mut counts.network_latency, ["NETWORK_LATENCY", "NETWORK_MIN", "NETWORK_MAX"], BINS as usize),
        ];
        for (of, [sum, least, most], first_bin) in distributions {
            let all = |name: &str| &words[place(name, 0)..place(name, 0) + nodes];
            let high = &words[place(sum, 1)..place(sum, 1) + nodes];
            of.sum =
                all(sum).iter().zip(high).map(|(&low, &high)| u64::from(high) << 32 | u64::from(low)).sum();
            of.least =
                all(least).iter().min().filter(|&&least| least != u32::MAX).map_or(u64::MAX, |&x| x.into());
            of.greatest = all(most).iter().max().map_or(0, |&x| x.into());
            of.bins.resize(BINS as usize, 0);
            for (bin, count) in of.bins.iter_mut().enumerate() {
                *count += more(&bins, &self.bins, first_bin + bin);
            }
        }
        counts.links.resize(nodes * PORTS as usize, LinkCount::default());
        for port in 0..PORTS as usize {
            let first = port * names.at("LINK_WORDS");
            let [acks, left] = ["LINK_ACKS", "LINK_LEFT"].map(|name| place("LINK", first + names.at(name)));
            for node in 0..nodes {
                let link = &mut counts.links[node * PORTS as usize + port];
                for (vc, packets) in link.packets[..vcs].iter_mut().enumerate() {
                    *packets += more(&words, &self.words, place("LINK", first + vc) + node);
                }
                link.acks += more(&words, &self.words, acks + node);
                let packets: u64 = link.packets.iter().sum();
                let sent = packets * u64::from(of.data_ticks) + link.acks * u64::from(of.ack_ticks);
                link.busy = sent - u64::from(words[left + node]);
            }
        }
        (self.words, self.bins) = (words, bins);
    }
}
