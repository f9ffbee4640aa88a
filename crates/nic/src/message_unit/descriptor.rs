//! Descriptors: 64 B that describe a message (section III.C), and the part of them that each of its packets
//! carries in the 20 B of the unit's header.

pub use super::atomic::Atomic;
use super::common::Common;
use super::packet::{OFFSET, Put, Queued, SOFTWARE, UnitHeader};
use super::{BASE_ADDRESSES, DESCRIPTOR_B, INJECTION_FIFOS, NETWORK_FIFOS, RECEPTION_FIFOS};
use netloom_fabric::collective::header::WORDS;
use netloom_fabric::collective::{CLASS_ROUTES, CollectiveHeader, Delivers, Flags, Operation, RouteKind};
use netloom_fabric::packet::{Header, Meta};
use netloom_fabric::topology::io::IO_PORT;
use netloom_fabric::topology::torus::Torus;

/// Maximum data of a packet, bytes.
pub const PAYLOAD_MAX: u32 = 512;
/// Size of a chunk, bytes.
pub(super) const CHUNK: u32 = 32;

/// Network injection FIFOs that a message's packets may use, one bit each, by number: those of the ten
/// directions.
pub const ANY_DIRECTION: u16 = 0x3ff;
/// The system's FIFO.
pub const SYSTEM: u16 = 1 << 13;
/// The high-priority FIFO.
pub const HIGH_PRIORITY: u16 = 1 << 12;
/// The FIFOs for transfers within the node.
pub const LOCAL: u16 = 1 << 10 | 1 << 11;
/// The FIFO of the user's collective packets.
pub const COLLECTIVE: u16 = 1 << 14;
/// The FIFO of the system's collective packets.
pub const SYSTEM_COLLECTIVE: u16 = 1 << 15;

/// A message as described by software.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Address of its data in the sender's memory.
    pub payload: u64,
    /// Its length, bytes.
    pub length: u64,
    /// Network injection FIFOs that may carry its packets.
    pub map: u16,
    /// The network part of its packets' header.
    pub network: Network,
    /// The operation at its destination.
    pub kind: Kind,
    /// Whether its data is only fetched into the L2, and nothing is sent.
    pub prefetch_only: bool,
}

/// The network part of the packets' header: point-to-point, or a collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_snake_case)]
pub enum Network {
    /// To one node (section II.B).
    PointToPoint {
        /// The destination, by the machine's node number.
        destination: u32,
        /// Hint bits of its packets, one bit per port; `None`: the hardware sets them for the shorter
        /// direction in each dimension.
        hints: Option<u16>,
        /// Whether its packets use one fixed route, and so stay in order.
        deterministic: bool,
        /// The zone of its dynamic packets.
        zone: u8,
    },
    /// A system packet, on a fixed route (section II.B).
    System {
        /// The destination compute node, or the compute node whose IO node is the destination.
        destination: u32,
        /// The IO link that it takes.
        io: IoLink,
    },
    /// Along a class route, combined with the packets of other nodes (section II.C).
    Collective {
        /// The class route, 0 to 15.
        class: u8,
        /// The kind of the class route.
        kind: RouteKind,
        /// The operation on its words.
        operation: Operation,
        /// Word length, bytes.
        word_B: u32,
        /// The nodes that receive the result.
        delivers: Delivers,
    },
}

/// The IO link of a system packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoLink {
    /// None.
    None,
    /// That of its destination, an exit node.
    AtDestination,
    /// That of the sending IO node with this number: to the exit node at its other end.
    AtSource(u8),
}

impl Network {
    /// To a node, by any minimal route.
    pub fn to(destination: u32) -> Self {
        Network::PointToPoint { destination, hints: None, deterministic: false, zone: 0 }
    }

    /// To a node, by a fixed route that keeps packets in order.
    pub fn in_order(destination: u32) -> Self {
        Network::PointToPoint { destination, hints: None, deterministic: true, zone: 0 }
    }
}

/// The operation of a message at its destination (section III.D).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An RDMA write: data goes to an address that the packet specifies, and a counter is decremented by the
    /// number of bytes.
    DirectPut {
        /// Entry of the destination's base address table for the data.
        base: u16,
        /// Offset from that entry's address, bytes.
        offset: u64,
        /// Entry for the counter.
        counter_base: u16,
        /// Offset from that entry's address, bytes.
        counter_offset: u64,
    },
    /// An RDMA write in which the L2 combines each word of 8 B with a word of the destination's memory
    /// instead of overwriting it.
    AtomicPut {
        /// The operation on the word in memory.
        atomic: Atomic,
        /// Entry of the destination's base address table for the word.
        base: u16,
        /// Offset from that entry's address, bytes.
        offset: u64,
        /// Entry for the counter.
        counter_base: u16,
        /// Offset from that entry's address, bytes.
        counter_offset: u64,
    },
    /// Its packets go to a reception FIFO in memory, header and data, in the order of arrival.
    MemoryFifo {
        /// The reception FIFO at the destination, 0 to 271.
        fifo: u16,
        /// Fourteen bytes of the header for the software at the destination, as a number.
        software: u128,
        /// Whether its last packet interrupts the destination's processor.
        interrupt: bool,
    },
    /// An RDMA read: its data is descriptors (see [`super::encoding`]), which the destination's unit puts
    /// into an injection FIFO there.
    RemoteGet {
        /// The injection FIFO at the destination, which must allow it.
        fifo: u16,
    },
}

impl Descriptor {
    /// Why node `here` cannot send it; `None` if it can.
    pub fn problem(&self, torus: &Torus, here: u32) -> Option<String> {
        if self.map == 0 || u32::from(self.map) >> NETWORK_FIFOS != 0 {
            return Some("its map names no injection FIFO".into());
        }
        self.problem_of_network(torus, here).or_else(|| self.problem_of_kind())
    }

    fn problem_of_kind(&self) -> Option<String> {
        match self.kind {
            Kind::DirectPut { .. } | Kind::AtomicPut { .. } if self.length == 0 => {
                Some("an RDMA write of no bytes".into())
            }
            Kind::AtomicPut { .. } if self.length != 8 => {
                Some(format!("an atomic operation of {} B: it takes one word of 8 B", self.length))
            }
            Kind::DirectPut { base, offset, counter_base, counter_offset }
            | Kind::AtomicPut { base, offset, counter_base, counter_offset, .. } => {
                if offset + self.length > 1 << OFFSET || counter_offset >= 1 << OFFSET {
                    return Some(format!("offsets of more than 37 bits: {offset} and {counter_offset}"));
                }
                let most = base.max(counter_base);
                (most >= BASE_ADDRESSES).then(|| {
                    format!("base address table entries {base} and {counter_base} of {BASE_ADDRESSES}")
                })
            }
            Kind::MemoryFifo { software, .. } if software >> SOFTWARE != 0 => {
                Some(format!("software's fourteen bytes: {software:#x} does not fit"))
            }
            Kind::MemoryFifo { fifo, .. } => {
                (fifo >= RECEPTION_FIFOS).then(|| format!("reception FIFO {fifo} of {RECEPTION_FIFOS}"))
            }
            Kind::RemoteGet { .. } if self.length == 0 || !self.length.is_multiple_of(DESCRIPTOR_B) => {
                Some(format!("a remote get of {} B: descriptors are of {DESCRIPTOR_B} B", self.length))
            }
            Kind::RemoteGet { fifo } => {
                (fifo >= INJECTION_FIFOS).then(|| format!("injection FIFO {fifo} of {INJECTION_FIFOS}"))
            }
        }
    }

    fn problem_of_network(&self, torus: &Torus, here: u32) -> Option<String> {
        let (collective, nodes) = (COLLECTIVE | SYSTEM_COLLECTIVE, torus.nodes());
        let is_io_node = torus.is_io_node(here);
        match self.network {
            Network::System { .. } if self.map != SYSTEM => {
                Some("its map must name the system's FIFO, and no other".into())
            }
            Network::System { destination, .. } if destination >= nodes => {
                Some(format!("its destination {destination} is no compute node of {nodes}"))
            }
            Network::System { destination, io: IoLink::AtDestination }
                if !torus.is_io_link(destination, IO_PORT) =>
            {
                Some(format!("its destination {destination} has no IO link"))
            }
            Network::System { io: IoLink::AtSource(link), .. }
                if !is_io_node || usize::from(link) >= torus.exits(here).len() =>
            {
                Some(format!("node {here} has no IO link {link} of an IO node's"))
            }
            Network::System { io: IoLink::AtSource(_), .. } => None,
            Network::System { .. } | Network::PointToPoint { .. } if is_io_node => {
                Some("IO nodes send over their IO links only".into())
            }
            Network::System { .. } => None,
            Network::PointToPoint { .. } if self.map & SYSTEM != 0 => {
                Some("its map names the system's FIFO, its header a user's VC".into())
            }
            Network::PointToPoint { destination, .. } if destination >= nodes => {
                Some(format!("its destination {destination} is no node of {nodes}"))
            }
            Network::PointToPoint { zone, .. } if zone > 3 => Some(format!("zone {zone}: expected 0 to 3")),
            Network::PointToPoint { .. } if self.map & collective != 0 => {
                Some("its map names a collective injection FIFO, its header a node".into())
            }
            Network::PointToPoint { .. } => None,
            Network::Collective { class, .. } if usize::from(class) >= CLASS_ROUTES => {
                Some(format!("class route {class} of {CLASS_ROUTES}"))
            }
            Network::Collective { kind, .. } if self.map != collective_fifo(kind) => Some(format!(
                "its map must name the collective FIFO of a class route of kind {kind:?}, and no other"
            )),
            Network::Collective { operation, word_B, .. } if operation.is_double() && word_B != 8 => {
                Some(format!("doubles have words of 8 B, not {word_B}"))
            }
            Network::Collective { word_B, .. } if !WORDS.contains(&word_B) || !word_B.is_power_of_two() => {
                Some(format!("words of {word_B} B: expected a power of two from 4 to 512"))
            }
            Network::Collective { word_B, .. } if !self.length.is_multiple_of(word_B.into()) => {
                Some(format!("its length of {} B is no whole number of words of {word_B} B", self.length))
            }
            Network::Collective { .. } => None,
        }
    }

    /// The header of a packet of `chunks` from node `here`.
    pub(super) fn header(&self, chunks: u32, common: &Common, here: u32) -> Header {
        match self.network {
            Network::PointToPoint { destination, hints, deterministic, zone } => {
                let (to, shortest) = common.route(here, destination);
                let high = if self.map & HIGH_PRIORITY != 0 { Header::HIGH } else { 0 };
                let fixed = if deterministic { Header::STATIC } else { 0 };
                Header::new(to, hints.unwrap_or(shortest), chunks, high | fixed).in_zone(zone)
            }
            // For packets from an IO node the hardware sets hint bits where they enter the torus: here they
            // are set at once.
            Network::System { destination, io } => {
                let enters = match io {
                    IoLink::AtSource(link) => common.torus.exits(here)[usize::from(link)],
                    _ => here,
                };
                let (to, hints) = common.route(enters, destination);
                let header = Header::new(to, hints, chunks, Header::STATIC);
                match io {
                    IoLink::None => header.of_system(),
                    IoLink::AtDestination => header.to_io(),
                    IoLink::AtSource(link) => header.from_io(link.into()),
                }
            }
            Network::Collective { class, kind, operation, word_B, delivers } => {
                CollectiveHeader { class, kind, operation, word_B, delivers, chunks, flags: Flags::default() }
                    .pack()
            }
        }
    }

    /// The packet with the data from byte `from` on, without hint bits and destination.
    pub(super) fn packet(&self, from: u64) -> (u32, Meta) {
        let valid = (self.length - from).min(PAYLOAD_MAX.into()) as u32;
        let is_last = from + u64::from(valid) == self.length;
        let header = match self.kind {
            Kind::DirectPut { base, offset, counter_base, counter_offset } => {
                let offset = offset + from;
                UnitHeader::Put(Put { base, offset, counter_base, counter_offset, valid, atomic: None })
            }
            Kind::AtomicPut { atomic, base, offset, counter_base, counter_offset } => {
                let atomic = Some(atomic);
                UnitHeader::Put(Put { base, offset, counter_base, counter_offset, valid, atomic })
            }
            Kind::MemoryFifo { fifo, software, interrupt } => UnitHeader::MemoryFifo(Queued {
                fifo,
                software,
                offset: from,
                interrupt: interrupt && is_last,
            }),
            Kind::RemoteGet { fifo } => UnitHeader::RemoteGet { fifo, bytes: valid },
        };
        (1 + valid.div_ceil(CHUNK), header.meta())
    }
}

/// The network FIFO of collective packets for a kind of class route.
pub fn collective_fifo(kind: RouteKind) -> u16 {
    if kind == RouteKind::System { SYSTEM_COLLECTIVE } else { COLLECTIVE }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netloom_fabric::config::{HalfwayTie, IoNodes, Topology};

    /// Two nodes, and an IO node connected to the second.
    fn torus() -> Torus {
        let io = IoNodes { pset: vec![2], exits: vec![vec![1]] };
        Torus::new(&Topology { dims: vec![2], io: Some(io), ..Topology::default() })
    }

    #[test]
    fn a_message_is_cut_into_full_packets_and_a_rest() {
        let kind = Kind::DirectPut { base: 1, offset: 64, counter_base: 2, counter_offset: 8 };
        let message = Descriptor {
            payload: 0,
            length: 1100,
            map: 1,
            network: Network::in_order(3),
            kind,
            prefetch_only: false,
        };
        let packets: Vec<(u32, u64, u32)> = [0, 512, 1024]
            .map(|from| {
                let (chunks, meta) = message.packet(from);
                let UnitHeader::Put(put) = UnitHeader::of(&meta) else { panic!("a put") };
                (chunks, put.offset, put.valid)
            })
            .into();
        assert_eq!(packets, [(17, 64, 512), (17, 576, 512), (4, 1088, 76)]);
    }

    #[test]
    fn invalid_descriptors_are_reported() {
        let kind = Kind::DirectPut { base: 0, offset: 0, counter_base: 0, counter_offset: 0 };
        let fine =
            Descriptor { payload: 0, length: 8, map: 1, network: Network::to(1), kind, prefetch_only: false };
        assert_eq!(fine.problem(&torus(), 0), None);
        let wrong = |change: fn(&mut Descriptor)| {
            let mut message = fine.clone();
            change(&mut message);
            message.problem(&torus(), 0).expect("wrong")
        };
        assert!(wrong(|d| d.network = Network::to(2)).contains("no node"));
        assert!(wrong(|d| d.length = 0).contains("no bytes"));
        assert!(wrong(|d| d.map = 0).contains("no injection FIFO"));
        assert!(wrong(|d| d.kind = Kind::RemoteGet { fifo: 0 }).contains("64 B"));
        let long = Kind::MemoryFifo { fifo: 0, software: 1 << 112, interrupt: false };
        assert!(
            Descriptor { kind: long, ..fine.clone() }
                .problem(&torus(), 0)
                .expect("wrong")
                .contains("fourteen")
        );
        let far = Kind::MemoryFifo { fifo: 272, software: 0, interrupt: false };
        assert!(
            Descriptor { kind: far, ..fine.clone() }
                .problem(&torus(), 0)
                .expect("wrong")
                .contains("272 of 272")
        );
        let (base, counter_base) = (0, 0);
        let add = Kind::AtomicPut { atomic: Atomic::Add, base, offset: 0, counter_base, counter_offset: 0 };
        assert!(
            Descriptor { kind: add, length: 16, ..fine.clone() }
                .problem(&torus(), 0)
                .expect("wrong")
                .contains("one word")
        );
        assert!(wrong(|d| d.map = COLLECTIVE).contains("its header a node"));
        let sum = |word, operation| Network::Collective {
            class: 3,
            kind: RouteKind::UserSubcomm,
            operation,
            word_B: word,
            delivers: Delivers::AllReduce,
        };
        let collective =
            Descriptor { map: COLLECTIVE, network: sum(8, Operation::AddDouble), ..fine.clone() };
        assert_eq!(collective.problem(&torus(), 0), None);
        let wrong_sum =
            |network, map| Descriptor { map, network, ..fine.clone() }.problem(&torus(), 0).expect("wrong");
        assert!(wrong_sum(sum(4, Operation::AddDouble), COLLECTIVE).contains("8 B"));
        assert!(wrong_sum(sum(16, Operation::Or), COLLECTIVE).contains("no whole number"));
        assert!(wrong_sum(sum(12, Operation::Or), COLLECTIVE).contains("power of two"));
        assert!(wrong_sum(sum(8, Operation::Or), SYSTEM_COLLECTIVE).contains("UserSubcomm"));
        let far = Kind::DirectPut { base: 0, offset: 1 << 37, counter_base: 0, counter_offset: 0 };
        assert!(
            Descriptor { kind: far, ..fine.clone() }.problem(&torus(), 0).expect("wrong").contains("37 bits")
        );
    }

    /// A packet from an IO node has the hint bits for its entry point to the torus.
    #[test]
    fn ways_begin_where_a_packet_enters() {
        let io = IoNodes { pset: vec![8], exits: vec![vec![0], vec![6]] };
        let torus = Torus::new(&Topology { dims: vec![8], io: Some(io), ..Topology::default() });
        let common = Common {
            torus: torus.into(),
            tie: HalfwayTie::Plus,
            processes: 1,
            config: crate::message_unit::memory::tests::config(),
        };
        let hints = |io| {
            let network = Network::System { destination: 7, io };
            let kind = Kind::MemoryFifo { fifo: 0, software: 0, interrupt: false };
            let d = Descriptor { payload: 0, length: 8, map: SYSTEM, network, kind, prefetch_only: false };
            assert_eq!(d.problem(&common.torus, 8), None);
            d.header(2, &common, 8).hints()
        };
        // From 0 to 7 it is one hop in minus, from 6 one hop in plus.
        assert_eq!([0, 1].map(|link| hints(IoLink::AtSource(link))), [0b10, 0b01]);
    }

    #[test]
    fn messages_without_an_io_link_are_reported() {
        let kind = Kind::MemoryFifo { fifo: 0, software: 0, interrupt: false };
        let of =
            |map, network| Descriptor { payload: 0, length: 8, map, network, kind, prefetch_only: false };
        let system = |destination, io| of(SYSTEM, Network::System { destination, io });
        let problem = |d: Descriptor, here| d.problem(&torus(), here);
        for (fine, here) in [
            (system(0, IoLink::None), 1),
            (system(1, IoLink::AtDestination), 0),
            (system(0, IoLink::AtSource(0)), 2),
        ] {
            assert_eq!(problem(fine, here), None);
        }
        let wrong = |d, here| problem(d, here).expect("wrong");
        assert!(wrong(system(0, IoLink::AtDestination), 1).contains("0 has no IO link"));
        assert!(wrong(system(2, IoLink::None), 1).contains("no compute node of 2"));
        assert!(wrong(system(0, IoLink::AtSource(0)), 1).contains("node 1 has no IO link"));
        assert!(wrong(system(0, IoLink::AtSource(1)), 2).contains("node 2 has no IO link 1"));
        assert!(wrong(system(0, IoLink::None), 2).contains("IO links only"));
        assert!(wrong(of(1, Network::to(1)), 2).contains("IO links only"));
        assert!(
            wrong(of(1, Network::System { destination: 1, io: IoLink::None }), 0).contains("system's FIFO")
        );
        assert!(wrong(of(SYSTEM, Network::to(1)), 0).contains("a user's VC"));
    }
}
