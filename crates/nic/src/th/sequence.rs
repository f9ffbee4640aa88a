//! Sequences of descriptors triggered by a control packet, with the swap of addresses, ports and data
//! (section 2.5).
//!
//! Their form in a port's queue follows the public header `glex.h` (Xie, 2012), which has flags for the start
//! of a sequence, the number of control packets that it waits for, and the fields to be swapped. The first
//! descriptor of a sequence waits at the head of its port's queue until this number of control packets has
//! arrived at the port, and consumes them. The descriptors of the sequence swap in the data of the last
//! packet that carried any. A control packet that arrives before its sequence is buffered **(ours: up to the
//! port's limit; a further one is lost, and reported to a connection's sender)**. The header's in-network
//! sums are modelled for words of 64 bits.

use super::Nic;
use super::descriptor::{Address, Descriptor, Operation, Options};
use super::node::{Common, PORTS, Port, lock};
use super::packet::Packet;
use super::queue::ErrorKind;
use super::status::Status;
use netloom_node::time::Microticks;
use std::collections::VecDeque;

/// The fields that a descriptor takes from the control packet that triggered its sequence. An invalid
/// address, or a port that does not exist, is not swapped in **(ours)**.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swap {
    /// The remote address: the first word of [`swap_address`].
    pub address: bool,
    /// The port: its second word.
    pub port: bool,
    /// The data of a mini-packet, a control packet or an immediate put, as a whole.
    pub data: bool,
}

/// The data of a control packet that makes a descriptor put to, or get from, an address at a port.
pub fn swap_address(address: u64, at: Address) -> [u8; 16] {
    let port = u64::from(at.node) | u64::from(at.vp) << 32 | u64::from(at.key) << 40;
    let mut words = [0; 16];
    words[..8].copy_from_slice(&address.to_le_bytes());
    words[8..].copy_from_slice(&port.to_le_bytes());
    words
}

/// The reduction of a control packet with those that it waited for, by words of 64 bits. All data consists of
/// little-endian words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// Sum of floating-point numbers, in the order of arrival.
    SumFloat,
    /// Sum of integers, modulo 2^64.
    Sum,
    /// Maximum or minimum of floating-point numbers; of signed integers; of unsigned integers.
    MaxFloat,
    /// See `MaxFloat`.
    MinFloat,
    /// See `MaxFloat`.
    MaxSigned,
    /// See `MaxFloat`.
    MinSigned,
    /// See `MaxFloat`.
    MaxUnsigned,
    /// See `MaxFloat`.
    MinUnsigned,
    /// Bitwise.
    And,
    /// See `And`.
    Or,
    /// See `And`.
    Xor,
}

/// Maximum number of words that are reduced at once (`glex.h`).
pub const REDUCED_WORDS: usize = 6;

impl Reduction {
    fn of_words(self, a: u64, b: u64) -> u64 {
        let float = |f: fn(f64, f64) -> f64| f(f64::from_bits(a), f64::from_bits(b)).to_bits();
        let signed = |f: fn(i64, i64) -> i64| f(a.cast_signed(), b.cast_signed()).cast_unsigned();
        match self {
            Reduction::SumFloat => float(|a, b| a + b),
            Reduction::Sum => a.wrapping_add(b),
            Reduction::MaxFloat => float(f64::max),
            Reduction::MinFloat => float(f64::min),
            Reduction::MaxSigned => signed(i64::max),
            Reduction::MinSigned => signed(i64::min),
            Reduction::MaxUnsigned => a.max(b),
            Reduction::MinUnsigned => a.min(b),
            Reduction::And => a & b,
            Reduction::Or => a | b,
            Reduction::Xor => a ^ b,
        }
    }

    /// Reduces arrived data into local data. Words that did not arrive leave the local ones unchanged.
    fn fold(self, here: &mut [u8], came: &[u8]) {
        for (a, b) in here.chunks_exact_mut(8).zip(came.chunks_exact(8)) {
            let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
            let folded = self.of_words(word(a), word(b));
            a.copy_from_slice(&folded.to_le_bytes());
        }
    }
}

/// The role of a descriptor in a sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// For the first of a sequence: the number of control packets that it waits for.
    pub after: Option<u32>,
    /// The fields that it takes from the control packet.
    pub swap: Swap,
    /// The reduction of the control packets.
    pub reduction: Option<Reduction>,
}

/// A port's state of control packets.
#[derive(Default)]
pub struct Control {
    /// Control packets not yet consumed by a sequence.
    arrived: VecDeque<Vec<u8>>,
    /// The data that the current sequence swaps in.
    data: Vec<u8>,
}

/// An operation for a list of requests.
#[derive(Clone, Debug)]
pub struct Request {
    /// The operation.
    pub operation: Operation,
    /// The remote ports: several for a collective descriptor.
    pub to: Vec<Address>,
    /// The local address.
    pub local: u64,
    /// The remote address.
    pub remote: u64,
    /// Size of a put or get, bytes.
    pub bytes: u64,
    /// Its options.
    pub options: Options,
    /// Its role in a sequence.
    pub step: Step,
}

impl Request {
    fn new(operation: Operation, to: &[Address], (local, remote, bytes): (u64, u64, u64)) -> Self {
        let (options, step) = (Options::default(), Step::default());
        Request { operation, to: to.to_vec(), local, remote, bytes, options, step }
    }

    /// Puts `bytes` from a local to a remote address; for more than one port: a collective descriptor.
    pub fn put(to: &[Address], (local, remote, bytes): (u64, u64, u64)) -> Self {
        Request::new(Operation::Put, to, (local, remote, bytes))
    }

    /// Gets `bytes`.
    pub fn get(to: Address, (local, remote, bytes): (u64, u64, u64)) -> Self {
        Request::new(Operation::Get, &[to], (local, remote, bytes))
    }

    /// Puts data in the descriptor itself; for more than one port: a collective descriptor.
    pub fn put_immediate(to: &[Address], remote: u64, data: &[u8]) -> Self {
        Request::new(Operation::Immediate(data.into()), to, (0, remote, data.len() as u64))
    }

    /// A mini-packet; for more than one port: a collective descriptor.
    pub fn mini_packet(to: &[Address], data: &[u8]) -> Self {
        Request::new(Operation::Mini(data.into()), to, (0, 0, 0))
    }

    /// A control packet; for more than one port: a collective descriptor.
    pub fn control(to: &[Address], data: &[u8]) -> Self {
        Request::new(Operation::Control(data.into(), false), to, (0, 0, 0))
    }

    /// A control packet that also delivers a mini-packet to the remote program.
    pub fn control_and_mini_packet(to: &[Address], data: &[u8]) -> Self {
        Request::new(Operation::Control(data.into(), true), to, (0, 0, 0))
    }

    /// Only a local event or interrupt: reports the progress of a sequence.
    pub fn nothing() -> Self {
        Request::new(Operation::Nothing, &[], (0, 0, 0))
    }

    /// A mini-packet of the port to itself: the data that a sequence swapped in, or summed.
    pub fn deliver(data: &[u8]) -> Self {
        Request::new(Operation::Deliver(data.into()), &[], (0, 0, 0))
    }

    /// The same with these options.
    pub fn with(self, options: Options) -> Self {
        Request { options, ..self }
    }

    /// The same as the first of a sequence that this number of control packets triggers.
    pub fn after(mut self, control_packets: u32) -> Self {
        self.step.after = Some(control_packets);
        self
    }

    /// The same with these fields swapped in.
    pub fn swap(mut self, swap: Swap) -> Self {
        self.step.swap = swap;
        self
    }

    /// The same, with its data reduced with that of the control packets that triggered it. Later descriptors
    /// swap in the result.
    pub fn reduce(mut self, reduction: Reduction) -> Self {
        self.step.reduction = Some(reduction);
        self
    }
}

impl Descriptor {
    /// Its own data.
    fn data_mut(&mut self) -> Option<&mut netloom_fabric::packet::Data> {
        match &mut self.operation {
            Operation::Immediate(data)
            | Operation::Mini(data)
            | Operation::Control(data, _)
            | Operation::Deliver(data) => Some(data),
            _ => None,
        }
    }

    /// Consumes its control packets, and swaps in their data.
    fn set_off(&mut self, c: &Common, node: u32, port: &mut Port) {
        let Step { after, swap, reduction } = std::mem::take(&mut self.step);
        let control = &mut port.control;
        if let Some(after) = after {
            let taken: Vec<_> = control.arrived.drain(..after as usize).collect();
            if let (Some(reduction), Some(data)) = (reduction, self.data_mut()) {
                let mut sum = data.to_vec();
                taken.iter().for_each(|came| reduction.fold(&mut sum, came));
                *data = sum.as_slice().into();
                control.data = sum;
            } else if let Some(came) = taken.into_iter().rev().find(|came| !came.is_empty()) {
                control.data = came;
            }
        }
        let word = |n: usize| -> Option<u64> {
            let bytes = control.data.get(8 * n..8 * n + 8)?;
            Some(u64::from_le_bytes(bytes.try_into().expect("eight bytes")))
        };
        let is_address = |address: &u64| address.checked_add(self.bytes).is_some_and(|end| end <= 1 << 48);
        if let Some(address) = word(0).filter(|a| swap.address && is_address(a)) {
            self.remote = address;
        }
        let to = word(1).map(|w| Address { node: w as u32, vp: (w >> 32) as u8, key: (w >> 40) as u16 });
        if let Some(to) = to.filter(|to| swap.port && to.node < c.nodes && to.node != node && to.vp < PORTS) {
            self.to = to;
        }
        if swap.data {
            let most = match self.operation {
                Operation::Immediate(_) => c.config.immediate_max_B,
                _ => c.config.mini_packet_B,
            };
            let came = &control.data[..control.data.len().min(most as usize)];
            if let Some(data) = self.data_mut().filter(|_| !came.is_empty()) {
                *data = came.into();
                if matches!(self.operation, Operation::Immediate(_)) {
                    self.bytes = came.len() as u64;
                }
            }
        }
    }
}

impl Nic {
    /// Whether the descriptor at the head of a port's queue may be taken: the control packets that it waits
    /// for have arrived.
    pub(super) fn is_ready(&self, vp: u8) -> bool {
        let Some(first) = self.buffers.get(&vp).and_then(VecDeque::front) else { return false };
        let waits = first.options.fence && self.in_flight.get(&vp).is_some_and(|&count| count > 0);
        let is_set_off = first.step.after.is_none_or(|after| {
            lock(&self.here).port(vp).is_none_or(|port| port.control.arrived.len() >= after as usize)
        });
        !waits && is_set_off
    }

    /// The descriptor at the head of a port's queue is used for the first time, or again.
    pub(super) fn set_off(&mut self, c: &Common, vp: u8) {
        let Some(first) = self.buffers.get_mut(&vp).and_then(VecDeque::front_mut) else { return };
        first.options.fence = false;
        if first.step != Step::default()
            && let Some(port) = lock(&self.here).port(vp)
        {
            first.set_off(c, self.number, port);
        }
    }

    /// A control packet has arrived at a port.
    pub(super) fn control_arrived(
        &mut self,
        c: &Common,
        t: Microticks,
        (from, packet): (u32, &Packet),
        data: Option<&[u8]>,
    ) -> Status {
        let data = &data.unwrap_or(&[])[..packet.bytes as usize];
        let had_room = {
            let mut here = lock(&self.here);
            let Some(port) = here.port(packet.vp) else { return Status::Key };
            let arrived = &mut port.control.arrived;
            let has_room = arrived.len() < c.config.control_packets as usize;
            if has_room {
                arrived.push_back(data.to_vec());
            }
            has_room
        };
        if !had_room {
            self.counters.overflows += 1;
            self.save_error(c, t, (from, packet), Some(data), ErrorKind::Refused(Status::QueueFull));
            return Status::QueueFull;
        }
        self.feed(c, t);
        Status::Success
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_reduced() {
        let float = |x: f64| x.to_bits();
        let signed = |x: i64| x.cast_unsigned();
        for (reduction, a, b, expected) in [
            (Reduction::SumFloat, float(1.5), float(-0.25), float(1.25)),
            (Reduction::Sum, signed(-3), 1, signed(-2)),
            (Reduction::MaxFloat, float(-1.0), float(-2.0), float(-1.0)),
            (Reduction::MinFloat, float(-1.0), float(-2.0), float(-2.0)),
            (Reduction::MaxSigned, signed(-1), 1, 1),
            (Reduction::MinSigned, signed(-1), 1, signed(-1)),
            (Reduction::MaxUnsigned, u64::MAX, 1, u64::MAX),
            (Reduction::MinUnsigned, u64::MAX, 1, 1),
            (Reduction::And, 6, 3, 2),
            (Reduction::Or, 6, 3, 7),
            (Reduction::Xor, 6, 3, 5),
        ] {
            let mut here = [7u64.to_le_bytes(), a.to_le_bytes()].concat();
            reduction.fold(&mut here, &[7u64.to_le_bytes(), b.to_le_bytes()].concat());
            assert_eq!(here[8..], expected.to_le_bytes(), "{reduction:?}");
        }
    }
}
