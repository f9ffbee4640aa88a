//! The header of a packet in flits, as a router sees it: its destination, its routing mode, and its progress.

use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Serialize};

/// Message class. Requests and responses have separate VCs, so that a response never waits for a request
/// ("Aries Router").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A request to the destination.
    Request,
    /// A response to a request.
    Response,
}

/// The routing mode of a packet: the routing control in its header ("Cray XC Routing"), and alternatives from
/// the literature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Mode {
    /// The candidate with the lowest load, with one of four biases.
    #[default]
    Adaptive0,
    /// See [`Mode::Adaptive0`].
    Adaptive1,
    /// See [`Mode::Adaptive0`].
    Adaptive2,
    /// See [`Mode::Adaptive0`].
    Adaptive3,
    /// One fixed minimal path for each pair of nodes, by a hash: packets stay in order.
    MinimalHash,
    /// One fixed non-minimal path for each pair of nodes, by a hash.
    NonminimalHash,
    /// A minimal path at random.
    Minimal,
    /// Through a random router anywhere in the system.
    Valiant,
    /// Through a random group.
    ValiantGroup,
    /// Minimal or through a random group, by the queues of this router (Kim et al. 2008).
    UgalL,
    /// The same, by the queues of the global links themselves.
    UgalG,
    /// Like UGAL-L, but decided again at each router of the first group (Jiang et al. 2009).
    Par,
}

impl Mode {
    const ALL: [Mode; 12] = [
        Mode::Adaptive0,
        Mode::Adaptive1,
        Mode::Adaptive2,
        Mode::Adaptive3,
        Mode::MinimalHash,
        Mode::NonminimalHash,
        Mode::Minimal,
        Mode::Valiant,
        Mode::ValiantGroup,
        Mode::UgalL,
        Mode::UgalG,
        Mode::Par,
    ];

    /// Whether it uses one path for each pair of nodes.
    pub fn is_in_order(self) -> bool {
        matches!(self, Mode::MinimalHash | Mode::NonminimalHash)
    }
}

/// A packet's header, two words. It travels with the packet by value.
///
/// | bits | meaning |
/// |---|---|
/// | 0..20 | destination, a node |
/// | 20..36 | intermediate router or group, all ones for none |
/// | 36 | the intermediate is a group |
/// | 37..43 | flits |
/// | 43 | a response |
/// | 44..48 | mode |
/// | 48..51 | level: number of completed legs, which determines its VC |
/// | 51 | decided between minimal and non-minimal |
/// | 52..56 | stage: number of completed dimensions of a group; on a torus the last dimension, and whether it crossed the dateline |
/// | 56 | corrupted, as its CRC shows |
/// | 57 | minimal, on separate VCs |
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize,
)]
pub struct TiledHeader {
    word: u64,
    /// Seed of its random choices.
    pub seed: u32,
}

impl TiledHeader {
    /// Maximum number of nodes of a network.
    pub const NODES_MAX: u32 = 1 << 20;
    /// Maximum number of routers of a network.
    pub const ROUTERS_MAX: u32 = 0xffff;
    const VIA: u32 = 20;
    const NONE: u64 = 0xffff;
    const VIA_GROUP: u64 = 1 << 36;
    const FLITS: u32 = 37;
    const RESPONSE: u64 = 1 << 43;
    const MODE: u32 = 44;
    const LEVEL: u32 = 48;
    const DECIDED: u64 = 1 << 51;
    const STAGE: u32 = 52;
    const DAMAGED: u64 = 1 << 56;
    const APART: u64 = 1 << 57;

    /// A packet of `flits` to a node. `seed` determines its random choices: packets that are to take
    /// different paths need different seeds.
    pub fn new(destination: u32, flits: u32, class: Class, mode: Mode, seed: u32) -> Self {
        debug_assert!(destination < Self::NODES_MAX && (1..64).contains(&flits));
        let response = if class == Class::Response { Self::RESPONSE } else { 0 };
        let word = u64::from(destination)
            | Self::NONE << Self::VIA
            | u64::from(flits) << Self::FLITS
            | response
            | (mode as u64) << Self::MODE;
        TiledHeader { word, seed }
    }

    /// All fields except the seed.
    pub(super) fn bits(self) -> u64 {
        self.word
    }

    /// Its destination node.
    #[inline]
    pub fn destination(self) -> u32 {
        self.word as u32 % Self::NODES_MAX
    }

    /// Its size, flits.
    #[inline]
    pub fn flits(self) -> u32 {
        (self.word >> Self::FLITS) as u32 % 64
    }

    /// Whether it is a response.
    #[inline]
    pub fn class(self) -> Class {
        if self.word & Self::RESPONSE != 0 { Class::Response } else { Class::Request }
    }

    /// Its routing mode.
    #[inline]
    pub fn mode(self) -> Mode {
        Mode::ALL[(self.word >> Self::MODE) as usize % 16]
    }

    /// Its intermediate router, or group (`true`).
    #[inline]
    pub fn via(self) -> Option<(u32, bool)> {
        let via = self.word >> Self::VIA & Self::NONE;
        (via != Self::NONE).then_some((via as u32, self.word & Self::VIA_GROUP != 0))
    }

    #[inline]
    pub(super) fn with_via(self, via: Option<(u32, bool)>) -> Self {
        let rest = self.word & !(Self::NONE << Self::VIA | Self::VIA_GROUP);
        let bits = match via {
            None => Self::NONE << Self::VIA,
            Some((to, group)) => u64::from(to) << Self::VIA | if group { Self::VIA_GROUP } else { 0 },
        };
        TiledHeader { word: rest | bits, ..self }
    }

    /// The number of completed legs of its route.
    #[inline]
    pub fn level(self) -> u32 {
        (self.word >> Self::LEVEL) as u32 % 8
    }

    #[inline]
    pub(super) fn at_level(self, level: u32) -> Self {
        debug_assert!(level < 8);
        TiledHeader { word: self.word & !(7 << Self::LEVEL) | u64::from(level) << Self::LEVEL, ..self }
    }

    /// Whether it has decided between a minimal and a non-minimal route.
    #[inline]
    pub(super) fn is_decided(self) -> bool {
        self.word & Self::DECIDED != 0
    }

    #[inline]
    pub(super) fn decided(self) -> Self {
        TiledHeader { word: self.word | Self::DECIDED, ..self }
    }

    /// Whether it is corrupted, as the CRC at its destination shows.
    #[inline]
    pub fn is_damaged(self) -> bool {
        self.word & Self::DAMAGED != 0
    }

    #[inline]
    pub(super) fn damaged(self) -> Self {
        TiledHeader { word: self.word | Self::DAMAGED, ..self }
    }

    /// Puts it on its last leg from the start, like a minimal packet with separate queues.
    #[inline]
    pub(super) fn apart(self, level: u32) -> Self {
        let header = self.at_level(level);
        TiledHeader { word: header.word | Self::APART, ..header }
    }

    /// Whether a packet that has arrived at its destination took a minimal route: `between_groups` means that
    /// its source is in another group, `vcs` is the number of VCs of its class.
    pub fn went_minimally(self, between_groups: bool, vcs: u32) -> bool {
        // A global link ends a leg, and so does the intermediate router or group. If PAR may reconsider, the
        // first group counts as two legs.
        let is_apart = self.word & Self::APART != 0;
        is_apart || self.level() == if between_groups { 1 + u32::from(vcs > 4) } else { 0 }
    }

    /// The number of completed dimensions of the group on this leg. On a torus 0 at the start, then 1 plus
    /// twice the last dimension, plus 1 if it crossed that dimension's dateline.
    #[inline]
    pub fn stage(self) -> usize {
        (self.word >> Self::STAGE) as usize % 16
    }

    #[inline]
    pub(super) fn at_stage(self, stage: usize) -> Self {
        TiledHeader { word: self.word & !(15 << Self::STAGE) | (stage as u64) << Self::STAGE, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_do_not_overlap() {
        for mode in Mode::ALL {
            let h = TiledHeader::new(0xf_ffff, 63, Class::Response, mode, 7);
            assert_eq!(
                (h.destination(), h.flits(), h.class(), h.mode()),
                (0xf_ffff, 63, Class::Response, mode)
            );
            assert_eq!((h.via(), h.level(), h.stage(), h.is_decided()), (None, 0, 0, false));
            let h = h.with_via(Some((23_135, true))).at_level(7).at_stage(3).decided();
            assert_eq!((h.via(), h.level(), h.stage(), h.is_decided()), (Some((23_135, true)), 7, 3, true));
            let h = h.with_via(None).at_level(1).at_stage(0);
            assert_eq!((h.via(), h.level(), h.stage(), h.is_decided()), (None, 1, 0, true));
            assert_eq!(
                (h.destination(), h.flits(), h.class(), h.mode()),
                (0xf_ffff, 63, Class::Response, mode)
            );
        }
    }
}
