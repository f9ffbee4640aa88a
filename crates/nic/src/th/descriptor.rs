//! Descriptors: what programs submit to a virtual port (sections 2.2 and 2.4).

use super::config::ThConfig;
use super::sequence::Step;
use netloom_fabric::packet::Data;
use std::collections::VecDeque;

/// A virtual port, as others name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// Its node.
    pub node: u32,
    /// Its number there.
    pub vp: u8,
    /// Its key.
    pub key: u16,
}

/// How an operation is carried out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The event that the local port is to have at the end.
    pub local_event: Option<u32>,
    /// The event that the remote port is to have at the end.
    pub remote_event: Option<u32>,
    /// Whether a reliable connection is set up for it.
    pub connect: bool,
    /// Whether addresses are physical, and neither checked nor translated: for the kernel, whose buffers are contiguous.
    pub physical: bool,
    /// Whether it waits until all that was submitted to the port before it has ended: what needs no connection, with its last packet in
    /// the pipeline; what has one, and a get, with its data in memory.
    pub fence: bool,
    /// Whether its end interrupts this node's system software, and that of the other (section 2.7).
    pub local_interrupt: bool,
    /// See `local_interrupt`.
    pub remote_interrupt: bool,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A put of data that is in the descriptor.
    Immediate(Data),
    /// A put of data in memory.
    Put,
    /// A mini-packet.
    Mini(Data),
    /// A get.
    Get,
    /// A control packet; whether its data is to be a mini-packet too.
    Control(Data, bool),
    /// Only its event.
    Nothing,
    /// A mini-packet for the port itself.
    Tell(Data),
    /// The answer to a get, which the NIC submits to itself.
    Answer,
}

/// What each further child takes in a collective descriptor **(ours)**: node, port and key.
const CHILD_B: u32 = 8;

/// A descriptor.
#[derive(Clone, Debug)]
pub struct Descriptor {
    /// The port that it was submitted to.
    pub vp: u8,
    /// What is to be done.
    pub operation: Operation,
    /// The other port.
    pub to: Address,
    /// Of a collective descriptor: for whom it is used again, one after another (section 2.5).
    pub more: VecDeque<Address>,
    /// The address on this side.
    pub local: u64,
    /// The address on the other.
    pub remote: u64,
    /// Bytes of a put or get.
    pub bytes: u64,
    /// How it is carried out.
    pub options: Options,
    /// What it is in a sequence, if it is in one.
    pub step: Step,
}

impl Descriptor {
    /// Its length in a queue, bytes: an immediate put has its data in it, and a mini-packet's is always as long.
    pub fn length(&self, c: &ThConfig) -> u32 {
        c.descriptor_B
            + CHILD_B * self.more.len() as u32
            + match &self.operation {
                Operation::Immediate(data) => data.len() as u32,
                Operation::Mini(_) | Operation::Control(..) | Operation::Tell(_) => c.mini_packet_B,
                Operation::Put | Operation::Get | Operation::Nothing | Operation::Answer => 0,
            }
    }
}
