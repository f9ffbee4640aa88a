//! FIFOs in memory (sections III.C and III.D): circular buffers with start, size, head and tail. A node has
//! 544 for injection and 272 for reception; unused ones take no memory.

use super::DESCRIPTOR_B;
use super::descriptor::Descriptor;
use netloom_engine::Time;
use netloom_fabric::packet::Data;
use std::collections::VecDeque;

/// Priority: system, user high-priority, user (section III.C).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// User.
    #[default]
    User,
    /// User, high priority.
    UserHigh,
    /// System.
    System,
}

impl Priority {
    /// All priorities, lowest first.
    pub const ALL: [Priority; 3] = [Priority::User, Priority::UserHigh, Priority::System];
}

/// Settings of an injection FIFO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_snake_case)]
pub struct InjectionFifo {
    /// Start address: a multiple of 64.
    pub start: u64,
    /// Length, bytes: a multiple of 64, at least 128, of which space for one descriptor stays free; for
    /// remote gets at least 576.
    pub size_B: u64,
    /// Priority of its descriptors.
    pub priority: Priority,
    /// Whether packets of remote gets may add descriptors.
    pub remote_get: bool,
    /// Free space above which an interrupt is raised, bytes.
    pub threshold_B: Option<u64>,
}

/// Settings of a reception FIFO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_snake_case)]
pub struct ReceptionFifo {
    /// Start address: a multiple of 32.
    pub start: u64,
    /// Its length, bytes: a multiple of 32, at least 576.
    pub size_B: u64,
    /// Free space below which an interrupt is raised, bytes.
    pub threshold_B: Option<u64>,
}

/// Default location of FIFOs that have not been set up, apart from all data, and their length.
const USUAL_START: u64 = 1 << 40;
const USUAL_B: u64 = 1 << 16;
const USUAL_RECEPTION_B: u64 = 1 << 20;

impl InjectionFifo {
    /// The default settings of the FIFO with this number.
    pub fn usual(number: u16) -> Self {
        InjectionFifo {
            start: USUAL_START + u64::from(number) * USUAL_B,
            size_B: USUAL_B,
            priority: Priority::User,
            remote_get: false,
            threshold_B: None,
        }
    }

    fn problem(&self) -> Option<String> {
        let least = if self.remote_get { 512 + DESCRIPTOR_B } else { 2 * DESCRIPTOR_B };
        problem_of_ring(self.start, self.size_B, DESCRIPTOR_B, least)
    }
}

impl ReceptionFifo {
    pub(super) fn usual(number: u16) -> Self {
        let start = USUAL_START + 544 * USUAL_B + u64::from(number) * USUAL_RECEPTION_B;
        ReceptionFifo { start, size_B: USUAL_RECEPTION_B, threshold_B: None }
    }

    fn problem(&self) -> Option<String> {
        problem_of_ring(self.start, self.size_B, 32, 544 + 32)
    }
}

fn problem_of_ring(start: u64, size: u64, unit: u64, least: u64) -> Option<String> {
    if !start.is_multiple_of(unit) {
        return Some(format!("start: expected a multiple of {unit}, found {start:#x}"));
    }
    let fits = size.is_multiple_of(unit) && size >= least;
    (!fits).then(|| format!("size: expected a multiple of {unit} B of at least {least} B, found {size} B"))
}

/// The state of an injection FIFO.
#[allow(non_snake_case)]
pub(super) struct Injection {
    pub settings: InjectionFifo,
    /// Descriptors from its head to software's tail.
    pub descriptors: VecDeque<Descriptor>,
    /// The number of them before the unit's view of the tail.
    pub visible: usize,
    /// The first of them, if it has been fetched.
    pub active: Option<Active>,
    /// Whether it is being fetched.
    pub fetching: bool,
    /// Descriptors whose messages have been fully injected: the head.
    pub injected: u64,
    /// Bytes of descriptors that packets of remote gets are storing.
    pub coming_B: u64,
}

/// A descriptor on the chip: the bytes that engines have taken, and the packets in progress.
#[derive(Default)]
pub(super) struct Active {
    pub taken: u64,
    pub building: u32,
    /// Data of its next packets that was read from a process's memory together with that of an earlier one,
    /// and the place of the first byte in the message.
    pub ahead: Option<(u64, Data)>,
}

#[allow(non_snake_case)]
impl Injection {
    pub fn new(settings: InjectionFifo) -> Self {
        Injection {
            settings,
            descriptors: VecDeque::new(),
            visible: 0,
            active: None,
            fetching: false,
            injected: 0,
            coming_B: 0,
        }
    }

    /// Free space for descriptors, bytes.
    pub fn free_B(&self) -> u64 {
        self.settings.size_B - DESCRIPTOR_B - self.descriptors_B()
    }

    /// Size of its descriptors, including those that remote gets are storing, bytes.
    pub fn descriptors_B(&self) -> u64 {
        self.coming_B + DESCRIPTOR_B * self.descriptors.len() as u64
    }

    /// The descriptors of a remote get have been stored: the tail advances past them.
    pub fn put(&mut self, descriptors: Vec<Descriptor>) {
        self.coming_B -= DESCRIPTOR_B * descriptors.len() as u64;
        for descriptor in descriptors {
            self.descriptors.insert(self.visible, descriptor);
            self.visible += 1;
        }
    }

    /// Address of its first descriptor.
    pub fn head_address(&self) -> u64 {
        self.address(self.injected)
    }

    /// Address of the next descriptor.
    pub fn tail_address(&self) -> u64 {
        self.address(self.injected + self.descriptors.len() as u64)
    }

    fn address(&self, descriptor: u64) -> u64 {
        self.settings.start + descriptor * DESCRIPTOR_B % self.settings.size_B
    }
}

/// A packet in a reception FIFO.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The node that sent it.
    pub source: u32,
    /// When its unit made it.
    pub made: Time,
    /// Software's bytes of its header.
    pub software: u128,
    /// Offset of its data in the message, bytes.
    pub offset: u64,
    /// Chunks of 32 B of data; the last may be padded with zeros.
    pub chunks: u32,
    /// The data, if the sender has stored any.
    pub data: Option<Data>,
}

impl Packet {
    /// Its length in memory, header and data, bytes.
    pub fn length(&self) -> u64 {
        32 * (1 + u64::from(self.chunks))
    }
}

/// The state of a reception FIFO. Engines reserve space at the shadow tail; software's tail follows in the
/// same order, once everything before it has been stored.
pub(super) struct Reception {
    pub settings: ReceptionFifo,
    /// Packets from the head to the shadow tail; for each, whether it has been stored.
    packets: VecDeque<(Packet, bool)>,
    /// The sequence number of the first of them, and the number of them before the regular tail.
    first: u64,
    committed: usize,
    /// Offset of the next packet from the start of the buffer, bytes; and the bytes in use.
    shadow: u64,
    taken: u64,
}

/// A place in a reception FIFO: its address, and its sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub address: u64,
    pub sequence: u64,
}

#[allow(non_snake_case)]
impl Reception {
    pub fn new(settings: ReceptionFifo) -> Self {
        Reception { settings, packets: VecDeque::new(), first: 0, committed: 0, shadow: 0, taken: 0 }
    }

    /// Free space for packets, bytes: 32 B stay free, to distinguish a full buffer from an empty one.
    pub fn free_B(&self) -> u64 {
        self.settings.size_B - 32 - self.taken
    }

    /// Address of the next packet, if there is space for `bytes`.
    pub fn room_for(&self, bytes: u64) -> Option<u64> {
        (bytes <= self.free_B()).then_some(self.settings.start + self.shadow)
    }

    /// Reserves space for a packet at the shadow tail, which advances past it. There must be
    /// [space](Self::room_for).
    pub fn reserve(&mut self, packet: Packet) -> Place {
        let length = packet.length();
        debug_assert!(length <= self.free_B(), "asked before");
        let place = Place {
            address: self.settings.start + self.shadow,
            sequence: self.first + self.packets.len() as u64,
        };
        self.shadow = (self.shadow + length) % self.settings.size_B;
        self.taken += length;
        self.packets.push_back((packet, false));
        place
    }

    /// A packet has been stored: the tail advances to the first packet that has not been. Returns the number
    /// of packets passed.
    pub fn commit(&mut self, place: Place) -> usize {
        self.packets[(place.sequence - self.first) as usize].1 = true;
        let before = self.committed;
        while self.packets.get(self.committed).is_some_and(|(_, stored)| *stored) {
            self.committed += 1;
        }
        self.committed - before
    }

    /// Size of its packets, including those being stored, bytes.
    pub fn packets_B(&self) -> u64 {
        self.taken
    }

    /// Number of packets visible to software.
    pub fn packets(&self) -> usize {
        self.committed
    }

    /// Software takes the first packet and advances the head past it.
    pub fn take(&mut self) -> Option<Packet> {
        if self.committed == 0 {
            return None;
        }
        self.committed -= 1;
        self.first += 1;
        let (packet, _) = self.packets.pop_front()?;
        self.taken -= packet.length();
        Some(packet)
    }
}

/// Checks a new injection FIFO of a node against the existing ones.
pub(super) fn check_injection<'a>(
    number: u16,
    new: &InjectionFifo,
    others: impl Iterator<Item = (u16, &'a InjectionFifo)>,
) -> Option<String> {
    new.problem()
        .or_else(|| overlap(number, new.start, new.size_B, others.map(|(n, f)| (n, f.start, f.size_B))))
}

/// Checks a new reception FIFO of a node against the existing ones.
pub(super) fn check_reception<'a>(
    number: u16,
    new: &ReceptionFifo,
    others: impl Iterator<Item = (u16, &'a ReceptionFifo)>,
) -> Option<String> {
    new.problem()
        .or_else(|| overlap(number, new.start, new.size_B, others.map(|(n, f)| (n, f.start, f.size_B))))
}

fn overlap(
    number: u16,
    start: u64,
    size: u64,
    mut others: impl Iterator<Item = (u16, u64, u64)>,
) -> Option<String> {
    let meets = |&(n, s, z): &(u16, u64, u64)| n != number && s < start + size && start < s + z;
    let (other, at, long) = others.find(meets)?;
    Some(format!("start: {start:#x} and {size} B overlap FIFO {other}, of {long} B at {at:#x}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packet(number: u64, chunks: u32) -> Packet {
        Packet { source: 0, made: Time::ZERO, software: number.into(), offset: 0, chunks, data: None }
    }

    proptest! {
        /// In whatever order engines store packets, software sees them in the order of their places, only
        /// when stored, and places never overlap.
        #[test]
        fn the_tail_is_always_right(steps in proptest::collection::vec((0u8..3, 0usize..8, 0u32..17), 1..200)) {
            let mut fifo = Reception::new(ReceptionFifo { start: 4096, size_B: 2048, threshold_B: None });
            let (mut storing, mut next, mut seen): (Vec<(Place, u64)>, u64, u64) = (vec![], 0, 0);
            let mut lying: VecDeque<(u64, u64)> = VecDeque::new();
            let mut stored = std::collections::BTreeSet::new();
            for (step, pick, chunks) in steps {
                match step {
                    0 => if fifo.room_for(packet(next, chunks).length()).is_some() {
                        let place = fifo.reserve(packet(next, chunks));
                        let length = packet(next, chunks).length();
                        let bytes = |(at, long): (u64, u64)| (0..long / 32).map(move |i| (at - 4096 + 32 * i) % 2048);
                        for &other in &lying {
                            let other: Vec<u64> = bytes(other).collect();
                            prop_assert!(bytes((place.address, length)).all(|b| !other.contains(&b)));
                        }
                        lying.push_back((place.address, length));
                        storing.push((place, next));
                        next += 1;
                    },
                    1 if !storing.is_empty() => {
                        let (place, number) = storing.swap_remove(pick % storing.len());
                        fifo.commit(place);
                        stored.insert(number);
                    }
                    _ => {
                        prop_assert_eq!(fifo.packets() > 0, stored.contains(&seen));
                        if let Some(packet) = fifo.take() {
                            prop_assert_eq!(packet.software, u128::from(seen));
                            seen += 1;
                            lying.pop_front();
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn invalid_settings_are_reported() {
        let fine = InjectionFifo { start: 1024, ..InjectionFifo::usual(0) };
        assert_eq!(check_injection(0, &fine, [].into_iter()), None);
        let reported =
            |new: InjectionFifo| check_injection(1, &new, [(0, &fine)].into_iter()).expect("wrong");
        assert!(reported(InjectionFifo { start: 1000, ..fine }).contains("start"));
        assert!(reported(InjectionFifo { size_B: 100, ..fine }).contains("size"));
        assert!(reported(InjectionFifo { size_B: 128, remote_get: true, ..fine }).contains("576"));
        assert!(reported(InjectionFifo { start: 1024 + USUAL_B - 64, ..fine }).contains("overlap FIFO 0"));
        let fine = ReceptionFifo::usual(3);
        assert!(
            check_reception(4, &fine, [(3, &fine)].into_iter()).expect("wrong").contains("overlap FIFO 3")
        );
        assert_eq!(check_reception(3, &fine, [(3, &fine)].into_iter()), None);
        assert!(
            check_reception(3, &ReceptionFifo { size_B: 544, ..fine }, [].into_iter())
                .expect("small")
                .contains("576")
        );
    }
}
