//! The model that says which transmissions are corrupted: on links like all others, and on those that are not.

use super::fibres::{Carried, Fibres};
use super::statistics::LinkErrors;
use crate::config::{Link, LinkFault, PacketFormat};
use crate::link::optical::{FIBRES, LANES};
use netloom_engine::{Stream, chance_threshold};

/// How a transmission of a data packet ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::router) enum Fate {
    Clean,
    /// The receiver sees it at the header, and takes none of the packet.
    BadHeader,
    /// The receiver sees it at the tail.
    BadTail,
    /// Damaged in such a way that no check sees it.
    Escaped,
}

impl Fate {
    /// Whether the receiver takes the packet for good.
    pub fn is_taken(self) -> bool {
        matches!(self, Fate::Clean | Fate::Escaped)
    }
}

/// Thresholds of a draw on a link with a rate of wrong bits: below the first the header is corrupted, below the other, by chunks,
/// something is.
pub(super) struct Chances {
    pub header: u64,
    pub packet: [u64; CHUNKS_MAX + 1],
    pub ack: u64,
}

/// Most chunks of a packet.
const CHUNKS_MAX: usize = 32;

/// That some of so many bits are corrupted.
fn any_of(bits: u32, rate: f64) -> f64 {
    -(f64::from(bits) * (-rate).ln_1p()).exp_m1()
}

impl Chances {
    /// Nothing for a link that corrupts nothing.
    pub fn new(rate: f64, packet: &PacketFormat) -> Option<Self> {
        let threshold = |bytes: u32| chance_threshold(any_of(8 * bytes, rate));
        (rate > 0.0).then(|| Chances {
            header: threshold(packet.header_B),
            packet: std::array::from_fn(|c| threshold(c as u32 * packet.chunk_B + packet.trailer_B)),
            ack: threshold(packet.ack_B),
        })
    }
}

/// A link that is not like all others.
pub(super) struct Special {
    pub chances: Option<Chances>,
    pub fibres: Option<Fibres>,
    /// Packets to come up to the one that is damaged without being seen; 0 for none.
    escape: u64,
}

impl Special {
    pub fn new(
        link: &Link,
        packet: &PacketFormat,
        named: &[&LinkFault],
        optical: bool,
        stream: Stream,
    ) -> Self {
        let rate = named.iter().find_map(|fault| fault.bit_error_rate).unwrap_or(link.bit_error_rate);
        let mut rates = [if optical { link.fibre_error_rate } else { 0.0 }; FIBRES];
        for (fibre, rate) in named.iter().filter_map(|fault| fault.fibre.zip(fault.fibre_error_rate)) {
            rates[fibre as usize] = rate;
        }
        let carries = rates.iter().any(|&rate| rate > 0.0);
        Special {
            chances: Chances::new(rate, packet),
            fibres: carries.then(|| Fibres::new(stream, rates, link.fibre_errors_max)),
            escape: named.iter().find_map(|fault| fault.escape).unwrap_or(0),
        }
    }

    /// What becomes of a data packet that had this fate without what is special.
    pub fn carry(
        &mut self,
        mut fate: Fate,
        chunks: u32,
        packet: &PacketFormat,
        counts: &mut LinkErrors,
    ) -> Fate {
        if let Some(fibres) = &mut self.fibres {
            let wrong = counts.note(&fibres.carry(packet.wire_B(chunks)));
            let header_words = u64::from(packet.header_B).div_ceil(LANES as u64);
            fate = match wrong {
                Some(word) if word < header_words => Fate::BadHeader,
                Some(_) if fate == Fate::Clean => Fate::BadTail,
                _ => fate,
            };
        }
        if fate == Fate::Clean && self.escape > 0 {
            self.escape -= 1;
            fate = if self.escape == 0 { Fate::Escaped } else { fate };
        }
        fate
    }
}

impl LinkErrors {
    /// Counts what a transmission over fibres came to. Returns the first word that was left wrong.
    pub(super) fn note(&mut self, carried: &Carried) -> Option<u64> {
        self.fibre_errors.iter_mut().zip(carried.errors).for_each(|(sum, errors)| *sum += errors);
        self.words_corrected += carried.corrected;
        self.fibres_replaced += u64::from(carried.replaces);
        carried.wrong
    }
}
