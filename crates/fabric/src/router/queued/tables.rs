//! Constants that a block derives once from the configuration, for the path of a packet.

use super::state::*;
use crate::config::{DirectionChoice, QueuedConfig, ZONES};
use crate::packet::Header;
use crate::topology::io::{IO_NODE_PORTS, IO_PORT};

/// Maximum number of dimension sets of a zone.
const SETS: usize = 5;

/// Constants of a network, in the form that its blocks use. Times in ticks, sizes in chunks.
#[derive(Clone)]
pub(super) struct Tables {
    /// Time of a data packet on a link, by chunks.
    pub wire: [u64; 33],
    /// Time of a token-ack on a link.
    pub ack: u64,
    /// From a packet's start on a link to its arrival at the next arbiters, excluding the wire delay of its
    /// dimension.
    pub hop: u64,
    /// From a token-ack's end on a link to the update of the token counts at the other end, excluding the
    /// same.
    pub token_delay: u64,
    /// The minimum wire delay that any link adds to these.
    pub wires_min: u64,
    /// A cycle: arbiters act once per cycle.
    pub cycle: u64,
    /// Delays of the central collective logic: through up-tree or down-tree; through the ALUs; through the
    /// floating-point units before and after them; and from a packet's end to the next one's start.
    pub central: u64,
    pub combine: u64,
    pub float: u64,
    pub combine_gap: u64,
    /// From the end of a data packet on a link to the start of the next.
    pub gap: u64,
    /// Queues per VC.
    pub queues: usize,
    /// Tokens of each VC: chunks for the dynamic VC, packets for the others.
    pub capacity: [u8; ALL_VCS],
    /// Tokens of a full packet.
    pub full: [u8; ALL_VCS],
    /// Paths of a receiver to the senders.
    pub paths: u8,
    /// Grants to packets in the network after which a packet at injection has priority.
    pub through: u8,
    /// Whether packets join the shortest queue downstream.
    pub jsq: bool,
    /// By hint bits, the direction of deterministic routing.
    first: Box<[u8; 1024]>,
    /// By zone, the directions of each of its sets of dimensions, in order; 0 after the last.
    zones: [[u16; SETS]; ZONES],
}

/// Both directions of each dimension in a mask.
fn directions(dimensions: u32) -> u16 {
    (0..5).filter(|d| dimensions >> d & 1 != 0).fold(0, |mask, d| mask | 3 << (2 * d))
}

impl Tables {
    pub fn new(config: &QueuedConfig) -> Self {
        let (packet, link, router) = (&config.packet, &config.link, &config.router);
        let per_byte = u64::from(link.ticks_per_byte);
        let slots = router.slots as u8;
        let order = config.dimension_order();
        let first = |hints: u16| {
            let of = |&d: &usize| (2 * d..2 * d + 2).find(|port| hints >> port & 1 != 0);
            order.iter().find_map(of).unwrap_or(LOCAL) as u8
        };
        let zone_masks = config.zone_masks();
        let lengths = (0..config.topology.dims.len()).filter(|&d| config.topology.dims[d] > 1);
        let io = config.topology.io.iter().map(|_| link.io_hop_ticks() - link.hop_ticks());
        let wires = lengths.map(|d| link.trace_ticks.get(d).copied().unwrap_or(0)).chain(io).min();
        Tables {
            wire: std::array::from_fn(|c| u64::from(packet.wire_B(c as u32)) * per_byte),
            ack: u64::from(packet.ack_wire_B()) * per_byte,
            hop: u64::from(link.hop_ticks()),
            token_delay: u64::from(link.wire_ticks + link.receive_ticks + link.send_ticks),
            wires_min: wires.unwrap_or(0).into(),
            cycle: router.cycle_ticks.into(),
            central: router.collective.central_ticks.into(),
            combine: router.collective.combine_ticks.into(),
            float: router.collective.float_ticks.into(),
            combine_gap: router.collective.gap_ticks.into(),
            gap: router.gap_ticks.into(),
            queues: router.queues as usize,
            capacity: [(router.dynamic_vc_B / packet.chunk_B) as u8, slots, slots, slots, slots, slots],
            full: [packet.chunks_max as u8, 1, 1, 1, 1, 1],
            paths: router.paths as u8,
            through: router.through_per_injection as u8,
            jsq: router.direction_choice == DirectionChoice::Jsq,
            first: Box::new(std::array::from_fn(|hints| first(hints as u16))),
            zones: std::array::from_fn(|zone| {
                let masks = &zone_masks[zone];
                std::array::from_fn(|set| masks.get(set).map_or(0, |&mask| directions(mask)))
            }),
        }
    }

    /// Tokens that a packet of `chunks` takes and returns on a VC. On VCs other than the dynamic one packets
    /// are counted instead of chunks, which is the corrected bubble rule of BlueGene/L.
    #[inline]
    pub fn cost(&self, vc: usize, chunks: u8) -> u8 {
        if vc == DYNAMIC { chunks } else { 1 }
    }

    /// Extracts the fields of a packet that arbitration needs.
    #[inline]
    pub fn head(&self, header: Header, ticket: u8) -> Head {
        let flags = header.head();
        let vc = fixed_vc(header);
        let is_ordered = vc != DETERMINISTIC || flags & Header::STATIC != 0;
        let hints = header.hints();
        let dynamic = if is_ordered { 0 } else { self.zone(hints, header.zone()) };
        let fixed = (self.fixed(header, hints), vc);
        let mut head = Head::new(dynamic, fixed, is_ordered, flags & Header::DEPOSIT != 0);
        head.ticket = ticket;
        head
    }

    /// The direction of deterministic routing. A packet leaves an IO node over the link that it names; at its
    /// exit node it continues to the IO node.
    #[inline]
    fn fixed(&self, header: Header, hints: u16) -> u8 {
        if !header.is_system() {
            return self.first[hints as usize];
        }
        match header.by_io_link() {
            Some(link) => IO_NODE_PORTS[link] as u8,
            None if hints == 0 && header.is_to_io() => IO_PORT as u8,
            None => self.first[hints as usize],
        }
    }

    /// Directions of the first set in a zone that has any of the hinted ones.
    #[inline]
    fn zone(&self, hints: u16, zone: usize) -> u16 {
        self.zones[zone].iter().map(|set| hints & set).find(|&left| left != 0).unwrap_or(0)
    }

    /// Time that packets with `chunks` in total, and acknowledgements, occupy a link.
    pub fn sending(&self, packets: u64, chunks: u64, acks: u64) -> u64 {
        packets * self.wire[0] + chunks * (self.wire[1] - self.wire[0]) + acks * self.ack
    }

    /// The minimum time in which a node can affect another.
    pub fn lookahead(&self) -> u64 {
        self.wires_min + self.hop.min(self.ack + self.token_delay)
    }
}
