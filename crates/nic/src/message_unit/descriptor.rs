//! Descriptors: 64 B that tell a message (section III.C), and what of them each of its packets carries in the 20 B of the
//! unit's header.

pub use super::atomic::Atomic;
use super::common::Common;
use super::packet::{OFFSET, Put, Queued, SOFTWARE, UnitHeader};
use super::{BASE_ADDRESSES, DESCRIPTOR_B, INJECTION_FIFOS, NETWORK_FIFOS, RECEPTION_FIFOS};
use netloom_fabric::collective::header::WORDS;
use netloom_fabric::collective::{CLASS_ROUTES, CollectiveHeader, Delivers, Flags, Operation, RouteKind};
use netloom_fabric::packet::{Header, Meta};
use netloom_fabric::topology::io::IO_PORT;
use netloom_fabric::topology::torus::Torus;

/// Data that a packet carries at most, bytes.
pub const PAYLOAD_MAX: u32 = 512;
/// Bytes of a chunk.
pub(super) const CHUNK: u32 = 32;

/// Injection FIFOs that a message's packets may use: a bit each, by number. Those of the ten directions.
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

/// A message, as software describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Where its data begins in the sender's memory.
    pub payload: u64,
    /// Its length, bytes.
    pub length: u64,
    /// Network injection FIFOs that may carry its packets.
    pub map: u16,
    /// Where the network takes its packets.
    pub network: Network,
    /// What becomes of it at its destination.
    pub kind: Kind,
    /// Whether its data are only read into the L2, and nothing is sent.
    pub prefetch_only: bool,
}

/// The network's part of the packets' header: from point to point, or a collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_snake_case)]
pub enum Network {
    /// To one node (section II.B).
    PointToPoint {
        /// The node that it is for, by the machine's number.
        destination: u32,
        /// Hint bits of its packets, a bit a port; none: the hardware sets them for the shorter way round each dimension.
        hints: Option<u16>,
        /// Whether its packets keep to one way, and so to their order.
        deterministic: bool,
        /// The zone that its dynamic packets name.
        zone: u8,
    },
    /// The system's, on one way (section II.B).
    System {
        /// The compute node that it is for, or whose IO node it is for.
        destination: u32,
        /// What IO link it takes.
        io: IoLink,
    },
    /// Along a class route, combined with what others send (section II.C).
    Collective {
        /// The class route, 0 to 15.
        class: u8,
        /// What kind of class route that is.
        kind: RouteKind,
        /// What is done to its words.
        operation: Operation,
        /// Length of a word, bytes.
        word_B: u32,
        /// Who gets the result.
        delivers: Delivers,
    },
}

/// What IO link a packet of the system's takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoLink {
    /// None.
    None,
    /// That of its destination, an exit node.
    AtDestination,
    /// That of the IO node that sends it, by its number there: to the exit node at its other end.
    AtSource(u8),
}

impl Network {
    /// To a node, by any of the shorter ways.
    pub fn to(destination: u32) -> Self {
        Network::PointToPoint { destination, hints: None, deterministic: false, zone: 0 }
    }

    /// To a node, by one way that keeps packets in order.
    pub fn in_order(destination: u32) -> Self {
        Network::PointToPoint { destination, hints: None, deterministic: true, zone: 0 }
    }
}

/// What becomes of a message (section III.D).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An RDMA write: data goes to a place that the packet tells, and a counter is decremented by the bytes.
    DirectPut {
        /// Where the data goes: an entry of the destination's base address table, and bytes behind it.
        base: u16,
        /// Bytes behind it.
        offset: u64,
        /// Where the counter is, likewise.
        counter_base: u16,
        /// Bytes behind that.
        counter_offset: u64,
    },
    /// The same, but each word of 8 B is put to a word of the destination's memory by an operation of the L2 instead of
    /// overwriting it.
    AtomicPut {
        /// What is done with the word that is there.
        atomic: Atomic,
        /// Where the word is: an entry of the destination's base address table.
        base: u16,
        /// Bytes behind it.
        offset: u64,
        /// Where the counter is, likewise.
        counter_base: u16,
        /// Bytes behind that.
        counter_offset: u64,
    },
    /// Its packets go into a reception FIFO in memory, header and data, in the order in which they come.
    MemoryFifo {
        /// The reception FIFO at the destination, 0 to 271.
        fifo: u16,
        /// What its software tells that at the destination: the header's fourteen bytes for it, as a number.
        software: u128,
        /// Whether its last packet interrupts the destination's processor.
        interrupt: bool,
    },
    /// An RDMA read: its data are descriptors (see [`super::encoding`]), which the destination's unit puts into an injection FIFO there.
    RemoteGet {
        /// The injection FIFO at the destination, which must allow it.
        fifo: u16,
    },
}

impl Descriptor {
    /// What node `here` cannot send, in words; nothing if all is well.
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
                    return Some(format!("offsets beyond 37 bits: {offset} and {counter_offset}"));
                }
                let most = base.max(counter_base);
                (most >= BASE_ADDRESSES).then(|| {
                    format!("base address table entries {base} and {counter_base} of {BASE_ADDRESSES}")
                })
            }
            Kind::MemoryFifo { software, .. } if software >> SOFTWARE != 0 => {
                Some(format!("software's fourteen bytes: {software:#x} needs more"))
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
            Network::PointToPoint { zone, .. } if zone > 3 => Some(format!("zone {zone} of 0 to 3")),
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
                Some(format!("its {} B are no whole number of words of {word_B} B", self.length))
            }
            Network::Collective { .. } => None,
        }
    }

    /// The header of a packet of so many chunks from node `here`.
    pub(super) fn header(&self, chunks: u32, common: &Common, here: u32) -> Header {
        match self.network {
            Network::PointToPoint { destination, hints, deterministic, zone } => {
                let (to, shortest) = common.way(here, destination);
                let high = if self.map & HIGH_PRIORITY != 0 { Header::HIGH } else { 0 };
                let fixed = if deterministic { Header::STATIC } else { 0 };
                Header::new(to, hints.unwrap_or(shortest), chunks, high | fixed).in_zone(zone)
            }
            // The hardware sets hint bits of what comes from an IO node where it enters the torus: here they are set at once.
            Network::System { destination, io } => {
                let enters = match io {
                    IoLink::AtSource(link) => common.torus.exits(here)[usize::from(link)],
                    _ => here,
                };
                let (to, hints) = common.way(enters, destination);
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

/// The network FIFO of collective packets of a kind of class route.
pub fn collective_fifo(kind: RouteKind) -> u16 {
    if kind == RouteKind::System { SYSTEM_COLLECTIVE } else { COLLECTIVE }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netloom_fabric::config::{HalfwayTie, IoNodes, Topology};

    /// Two nodes, and an IO node behind the second.
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
    fn what_cannot_be_sent_is_told() {
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

    /// A packet from an IO node has the hint bits of where it enters the torus.
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
        // From 0 to 7 it is a hop by minus, from 6 a hop by plus.
        assert_eq!([0, 1].map(|link| hints(IoLink::AtSource(link))), [0b10, 0b01]);
    }

    #[test]
    fn what_takes_no_io_link_is_told() {
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
