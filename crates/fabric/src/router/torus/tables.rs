//! Constants that a block derives once from the configuration, for the path of a packet.

use super::state::LINE;
use crate::config::{BubbleRule, DirectionChoice, Escape, EscapeOrder, TorusConfig};
use netloom_engine::chance_threshold;

/// Maximum number of dynamic VCs.
const DYNAMIC: usize = 4;
/// JSQ's ranges of tokens: four, from 1; and 0 for less than a full packet's.
const RANGES: usize = 5;

/// Constants of a network, in the form that its blocks use. Times in ticks, sizes in chunks.
#[derive(Clone)]
pub(super) struct Tables {
    /// Time of a data packet on a link, by chunks.
    pub wire: [u64; 17],
    /// Time of a token-ack on a link.
    pub ack: u64,
    /// From a packet's start on a link to its arrival at the next arbiters.
    pub hop: u64,
    /// From a token-ack's end on a link to the change of the token counts at the other end.
    pub token_delay: u64,
    /// Chunks of a full packet.
    pub full: u8,
    /// Number of dynamic VCs, which have the lowest numbers.
    pub dynamic: usize,
    /// The first escape VC.
    pub escape: usize,
    /// The high-priority VC.
    pub high: usize,
    /// Total number of VCs.
    pub vcs: usize,
    /// Capacity of each VC.
    pub capacity: [u8; 8],
    pub bubble: bool,
    /// By VC and chunks, the tokens that a packet takes and returns: a full packet's on the bubble VCs under
    /// the corrected rule.
    cost: [[u8; 17]; 8],
    pub order: EscapeOrder,
    /// A full packet's tokens in each byte of a word.
    pub full_bytes: u64,
    /// For each dynamic VC and number of tokens, JSQ's range as a digit of an index into `offers`.
    ranges: [[u16; 128]; DYNAMIC],
    /// By the ranges of all dynamic VCs, the available VCs: the best range in the upper four bits, the VCs in
    /// that range in the lower; 0 if none.
    offers: [u8; RANGES.pow(DYNAMIC as u32)],
    /// SLQ's range of a number of chunks, by VC.
    pub fullness: [[u8; 129]; 8],
    pub receiver_slq: u64,
    pub sender_slq: u64,
    pub in_network: u64,
    pub gap: bool,
    pub bypass: bool,
    pub paths: u8,
    /// Places in a VC's ring of packets, and the cache lines that they take.
    pub places: usize,
    pub lines: usize,
    /// The class of each VC: 0 for dynamic, 1 for escape, 2 for high-priority.
    pub class: [u8; 8],
}

impl Tables {
    /// `smallest` is the minimum number of chunks of any packet in the run: it bounds the packets in a VC.
    pub fn new(config: &TorusConfig, smallest: u32) -> Self {
        let (packet, link, router) = (&config.packet, &config.link, &config.router);
        let per_byte = u64::from(link.ticks_per_byte);
        let dynamic = router.dynamic_vcs as usize;
        let vcs = config.vcs();
        let mut capacity = [0u8; 8];
        for (vc, room) in capacity.iter_mut().enumerate().take(vcs) {
            let is_escape = (dynamic..vcs - 1).contains(&vc);
            let bytes = if is_escape { router.escape_vc_B.unwrap_or(router.vc_B) } else { router.vc_B };
            *room = (bytes / packet.chunk_B) as u8;
        }
        let most = u32::from(*capacity.iter().max().expect("eight VCs"));
        let bubble = router.escape == Escape::Bubble;
        let corrected = router.bubble_rule == BubbleRule::Corrected;
        let is_bubble = |vc: usize| vc == vcs - 1 || bubble && (dynamic..vcs).contains(&vc);
        let range = |tokens: u32| match router.direction_choice {
            _ if tokens < packet.chunks_max => 0,
            DirectionChoice::Jsq => 1 + ((tokens - 1) * 4 / u32::from(capacity[0])).min(3),
            DirectionChoice::Random => 1,
        };
        Tables {
            wire: std::array::from_fn(|c| u64::from(packet.wire_B(c as u32)) * per_byte),
            ack: u64::from(packet.ack_wire_B()) * per_byte,
            hop: u64::from(link.hop_ticks()),
            token_delay: u64::from(link.wire_ticks + link.receive_ticks + link.send_ticks),
            full: packet.chunks_max as u8,
            dynamic,
            escape: dynamic,
            high: vcs - 1,
            vcs,
            capacity,
            bubble,
            cost: std::array::from_fn(|vc| {
                let counts_full = corrected && is_bubble(vc);
                std::array::from_fn(|chunks| if counts_full { packet.chunks_max as u8 } else { chunks as u8 })
            }),
            order: router.escape_order,
            full_bytes: u64::from(packet.chunks_max) * 0x0101_0101_0101_0101,
            ranges: std::array::from_fn(|vc| {
                let digit = RANGES.pow(vc as u32) as u16;
                std::array::from_fn(
                    |tokens| {
                        if vc < dynamic { digit * range(tokens as u32) as u16 } else { 0 }
                    },
                )
            }),
            offers: std::array::from_fn(|ranges| {
                let of = |vc: usize| ranges / RANGES.pow(vc as u32) % RANGES;
                let best = (0..DYNAMIC).map(of).max().unwrap_or(0);
                let vcs =
                    (0..DYNAMIC).filter(|&vc| best > 0 && of(vc) == best).fold(0, |vcs, vc| vcs | 1 << vc);
                (best as u8) << 4 | vcs
            }),
            fullness: std::array::from_fn(|vc| {
                std::array::from_fn(|c| (c as u32 * 4 / (u32::from(capacity[vc]) + 1)).min(3) as u8)
            }),
            receiver_slq: chance_threshold(router.receiver_slq_fraction),
            sender_slq: chance_threshold(router.sender_slq_fraction),
            in_network: chance_threshold(router.in_network_fraction),
            gap: router.arbitration_gap,
            bypass: router.bypass,
            paths: router.paths as u8,
            places: (most / smallest.clamp(1, most)) as usize,
            lines: ((most / smallest.clamp(1, most)) as usize).div_ceil(LINE),
            class: std::array::from_fn(|vc| u8::from(vc >= dynamic) + u8::from(vc >= vcs - 1)),
        }
    }

    /// Tokens that a packet of `chunks` takes and returns on a VC.
    #[inline]
    pub fn cost(&self, vc: usize, chunks: u8) -> u8 {
        self.cost[vc][chunks as usize]
    }

    /// The VCs available to dynamic packets given a link's tokens: see `offers`.
    #[inline]
    pub fn offer(&self, tokens: u64) -> u8 {
        let (mut place, mut left) = (0, tokens);
        for ranges in &self.ranges[..self.dynamic] {
            place += ranges[left as usize % 128];
            left >>= 8;
        }
        self.offers[place as usize]
    }

    /// Time that packets with `chunks` in total, and acknowledgements, occupy a link.
    pub fn sending(&self, packets: u64, chunks: u64, acks: u64) -> u64 {
        packets * self.wire[0] + chunks * (self.wire[1] - self.wire[0]) + acks * self.ack
    }

    /// The minimum time in which a node can affect another.
    pub fn lookahead(&self) -> u64 {
        self.hop.min(self.ack + self.token_delay)
    }
}
