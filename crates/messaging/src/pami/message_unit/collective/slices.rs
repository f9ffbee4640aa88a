//! Data in slices, so that the work of a node's processes and the network overlap, and what goes to the
//! network.

use super::Member;
use crate::device::MuDevice;
use crate::pami::device::Combine;
use crate::pami::message_unit::resources::COLLECTIVE_FIFOS;
use netloom_fabric::collective::{CollectiveHeader, Delivers, Flags, RouteKind};
use netloom_nic::message_unit::descriptor::{COLLECTIVE, Descriptor, Kind, Network};

/// Least length of a slice where the processes of a node share the work: the network carries it in 2.4 us,
/// which is several times what the master spends on its descriptor and its word for the others **(ours)**.
/// The first slices are summed before the network has anything to do, so shorter is better up to there.
const SLICE_B: u64 = 4 << 10;
/// Most slices of an operation, which is the number of its counters.
const SLICES_MAX: u64 = 128;

/// Data cut in slices.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slices {
    bytes: u64,
    each: u64,
}

impl Slices {
    /// The slices of an operation, in whole words of 8 B; one, if a single process does all the work.
    pub fn new(bytes: u64, members: usize) -> Self {
        let each =
            if members > 1 { bytes.div_ceil(SLICES_MAX).max(SLICE_B).next_multiple_of(512) } else { bytes };
        Slices { bytes, each: each.max(1) }
    }

    /// Their number.
    pub fn count(&self) -> usize {
        self.bytes.div_ceil(self.each) as usize
    }

    /// Offset and length of one.
    pub fn of(&self, slice: usize) -> (u64, u64) {
        let at = slice as u64 * self.each;
        (at, self.each.min(self.bytes - at))
    }
}

#[allow(non_snake_case)]
impl Member {
    /// The entry of the base address table for what the network brings.
    pub(super) fn base(&self) -> u16 {
        1 + u16::from(self.group.class)
    }

    /// The master prepares to receive the slices at a node's address.
    pub(super) fn expect(&self, slices: &Slices, target: u64) {
        self.device.set_base_address(self.base(), target);
        self.device.set_base_end(self.base(), target + slices.bytes);
        for slice in 0..slices.count() {
            self.device.set_counter(self.counter(slice), slices.of(slice).1);
        }
    }

    /// The header of this group's packets that combine words, which says how processes combine them, too.
    pub(super) fn header(&self, combine: Combine) -> CollectiveHeader {
        CollectiveHeader {
            class: self.group.class,
            kind: RouteKind::UserSubcomm,
            operation: combine.operation,
            word_B: combine.word_B,
            delivers: Delivers::AllReduce,
            chunks: 0,
            flags: Flags::default(),
        }
    }

    /// The master passes a slice, at a node's address, to the collective network.
    pub(super) fn inject(
        &self,
        slices: &Slices,
        slice: usize,
        payload: u64,
        combine: Combine,
        delivers: Delivers,
    ) {
        let (offset, length) = slices.of(slice);
        let (class, kind) = (self.group.class, RouteKind::UserSubcomm);
        let Combine { operation, word_B } = combine;
        let network = Network::Collective { class, kind, operation, word_B, delivers };
        let kind = Kind::DirectPut {
            base: self.base(),
            offset,
            counter_base: 0,
            counter_offset: self.counter(slice),
        };
        let descriptor = Descriptor { payload, length, map: COLLECTIVE, network, kind, prefetch_only: false };
        let fifo = COLLECTIVE_FIFOS + u16::from(class);
        // It holds the descriptors of several operations, which come one after the other.
        MuDevice::inject(&self.device, fifo, &descriptor).expect("an operation has few slices");
    }
}
