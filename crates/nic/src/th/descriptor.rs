//! Descriptors, which programs submit to a virtual port (sections 2.2 and 2.4).

use super::config::ThConfig;
use super::sequence::Step;
use netloom_fabric::packet::Data;
use std::collections::VecDeque;

/// The address of a virtual port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// Its node.
    pub node: u32,
    /// Its number there.
    pub vp: u8,
    /// Its key.
    pub key: u16,
}

/// Options of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The event for the local port on completion.
    pub local_event: Option<u32>,
    /// The event for the remote port on completion.
    pub remote_event: Option<u32>,
    /// Whether a reliable connection is set up for it.
    pub connect: bool,
    /// Whether addresses are physical, and neither checked nor translated: for the kernel, whose buffers are
    /// contiguous.
    pub physical: bool,
    /// Whether it waits until all earlier operations of the port have ended: those without a connection when
    /// their last packet is in the pipeline; those with one, and gets, when their data is in memory.
    pub fence: bool,
    /// Whether its completion interrupts the system software of this node, and of the other (section 2.7).
    pub local_interrupt: bool,
    /// See `local_interrupt`.
    pub remote_interrupt: bool,
}

/// The operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A put of data in the descriptor.
    Immediate(Data),
    /// A put of data in memory.
    Put,
    /// A mini-packet.
    Mini(Data),
    /// A get.
    Get,
    /// A control packet; whether its data also forms a mini-packet.
    Control(Data, bool),
    /// Only an event.
    Nothing,
    /// A mini-packet to the port itself.
    Deliver(Data),
    /// The response to a get, which the NIC submits to itself.
    Answer,
}

/// Size of each further child in a collective descriptor, bytes **(ours)**: node, port and key.
const CHILD_B: u32 = 8;

/// A descriptor.
#[derive(Clone, Debug)]
pub struct Descriptor {
    /// The port that it is submitted to.
    pub vp: u8,
    /// The operation.
    pub operation: Operation,
    /// The remote port.
    pub to: Address,
    /// For a collective descriptor: the further targets for which it is reused, one after another (section
    /// 2.5).
    pub more: VecDeque<Address>,
    /// The local address.
    pub local: u64,
    /// The remote address.
    pub remote: u64,
    /// Size of a put or get, bytes.
    pub bytes: u64,
    /// Its options.
    pub options: Options,
    /// Its role in a sequence, if any.
    pub step: Step,
}

impl Descriptor {
    /// Its length in a queue, bytes: an immediate put contains its data, and a mini-packet's descriptor has a
    /// fixed length.
    pub fn length(&self, c: &ThConfig) -> u32 {
        c.descriptor_B
            + CHILD_B * self.more.len() as u32
            + match &self.operation {
                Operation::Immediate(data) => data.len() as u32,
                Operation::Mini(_) | Operation::Control(..) | Operation::Deliver(_) => c.mini_packet_B,
                Operation::Put | Operation::Get | Operation::Nothing | Operation::Answer => 0,
            }
    }
}
