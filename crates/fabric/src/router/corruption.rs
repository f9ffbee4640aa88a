//! The error model: which transmissions are corrupted, on ordinary links and on links with their own
//! settings.

use super::fibres::{Carried, Fibres};
use super::statistics::LinkErrors;
use crate::config::{Link, LinkFault, PacketFormat};
use crate::link::optical::{FIBRES, LANES};
use borsh::{BorshDeserialize, BorshSerialize};
use netloom_engine::{Stream, chance_threshold};

/// The outcome of a data packet's transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::router) enum Outcome {
    Clean,
    /// The receiver detects an error in the header, and accepts nothing of the packet.
    BadHeader,
    /// The receiver detects an error at the tail.
    BadTail,
    /// Corrupted, and undetected by all checks.
    Escaped,
}

impl Outcome {
    /// Whether the receiver accepts the packet as intact.
    pub fn is_taken(self) -> bool {
        matches!(self, Outcome::Clean | Outcome::Escaped)
    }
}

/// Thresholds of a random draw on a link with a bit error rate: below the first the header is corrupted;
/// below the second, by chunks, any part of the packet.
#[derive(BorshSerialize, BorshDeserialize)]
pub(super) struct ErrorThresholds {
    pub header: u64,
    pub packet: [u64; CHUNKS_MAX + 1],
    pub ack: u64,
}

/// Maximum number of chunks of a packet.
const CHUNKS_MAX: usize = 32;

/// The probability that at least one of `bits` bits is corrupted.
fn any_of(bits: u32, rate: f64) -> f64 {
    -(f64::from(bits) * (-rate).ln_1p()).exp_m1()
}

impl ErrorThresholds {
    /// `None` for a link without errors.
    pub fn new(rate: f64, packet: &PacketFormat) -> Option<Self> {
        let threshold = |bytes: u32| chance_threshold(any_of(8 * bytes, rate));
        (rate > 0.0).then(|| ErrorThresholds {
            header: threshold(packet.header_B),
            packet: std::array::from_fn(|c| threshold(c as u32 * packet.chunk_B + packet.trailer_B)),
            ack: threshold(packet.ack_B),
        })
    }
}

/// A link with its own error settings.
#[derive(BorshSerialize, BorshDeserialize)]
pub(super) struct Special {
    pub thresholds: Option<ErrorThresholds>,
    pub fibres: Option<Fibres>,
    /// Packets up to the one with an undetected error; 0 for none.
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
            thresholds: ErrorThresholds::new(rate, packet),
            fibres: carries.then(|| Fibres::new(stream, rates, link.fibre_errors_max)),
            escape: named.iter().find_map(|fault| fault.escape).unwrap_or(0),
        }
    }

    /// The outcome for a data packet, given its outcome without the special settings.
    pub fn carry(
        &mut self,
        mut outcome: Outcome,
        chunks: u32,
        packet: &PacketFormat,
        counts: &mut LinkErrors,
    ) -> Outcome {
        if let Some(fibres) = &mut self.fibres {
            let wrong = counts.add_transmission(&fibres.carry(packet.wire_B(chunks)));
            let header_words = u64::from(packet.header_B).div_ceil(LANES as u64);
            outcome = match wrong {
                Some(word) if word < header_words => Outcome::BadHeader,
                Some(_) if outcome == Outcome::Clean => Outcome::BadTail,
                _ => outcome,
            };
        }
        if outcome == Outcome::Clean && self.escape > 0 {
            self.escape -= 1;
            outcome = if self.escape == 0 { Outcome::Escaped } else { outcome };
        }
        outcome
    }
}

impl LinkErrors {
    /// Counts the errors of a transmission over fibres. Returns the first word that was left wrong.
    pub(super) fn add_transmission(&mut self, carried: &Carried) -> Option<u64> {
        self.fibre_errors.iter_mut().zip(carried.errors).for_each(|(sum, errors)| *sum += errors);
        self.words_corrected += carried.corrected;
        self.fibres_replaced += u64::from(carried.replaces);
        carried.wrong
    }
}
