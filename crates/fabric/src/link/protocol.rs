//! The link-level protocol of sections 2 and 3: sequence numbers, acknowledgements, a timeout,
//! retransmission.
//!
//! The paper names the parts (a sequence number in the header, token-ack and ack-only packets, retransmission
//! FIFOs, a timeout mechanism; "similar to that used in IBM SP interconnection networks as well as in the
//! HIPPI standard"). Their interaction is ours, and as simple as possible:
//!
//! - A sender keeps each packet until it is acknowledged. If the oldest one is not acknowledged in time, it
//!   resends all packets that it keeps, in order (go-back-n).
//! - A receiver accepts only the packet that is next in sequence, intact. It does not respond to packets
//!   after a lost one: the sender's timeout handles that. It acknowledges duplicates again; otherwise two
//!   ends that are both busy resending would never find an idle link for the acknowledgement that ends it.
//! - An acknowledgement carries the next packet expected, and tokens as counts since the start, so a lost or
//!   repeated one does no harm. News is sent at once; on an idle link the last acknowledgement is repeated at
//!   intervals, since it may have been lost.
//!
//! A link's two directions are independent except for this: each end acknowledges the packets that it
//! receives on the other direction, before its own packets.
//!
//! Both ends keep a CRC of all packets sent and received so far. If two matching CRCs differ at the end of a
//! run, a corrupted packet was accepted as intact ("like BG/L": Chen et al., section II.F).
//!
//! Blue Gene/Q has "a standard, similar to BG/L, link level protocol" (Chen et al., section II.F) with other
//! frames, so [`LinkEnd`] is generic over the [`Format`]; the default is BlueGene/L's.

use super::crc::crc64;
use super::frame::{self, DataFrame, Frame, FrameError, TokenAck, Unsendable, VCS};
use std::collections::VecDeque;
use std::marker::PhantomData;

/// Maximum number of unacknowledged packets: half of the sequence numbers.
pub const WINDOW: usize = 128;

/// The encoding of packets and acknowledgements on a link with `VCS` virtual channels.
pub trait Format<const VCS: usize>: Clone {
    /// Modulus of token counts, up to 256; the capacity of a VC is less.
    const COUNTS: u16;
    /// Why bytes are not a valid frame.
    type Corrupt;
    /// Why a packet cannot be sent on a link.
    type Unsendable;

    /// Checks that it can be sent on a link.
    ///
    /// # Errors
    /// The field that is invalid.
    fn check(&self) -> Result<(), Self::Unsendable>;
    /// The VC whose buffer it needs: below `VCS`.
    fn vc(&self) -> u8;
    /// The buffer space that it needs, tokens.
    fn chunks(&self) -> u8;
    /// The link's sequence number.
    fn sequence(&self) -> u8;
    /// Sets its sequence number.
    fn number(&mut self, sequence: u8);
    /// Its bytes on the wire.
    ///
    /// # Errors
    /// If it cannot be sent on a link.
    fn encode(&self) -> Result<Vec<u8>, Self::Unsendable>;
    /// The bytes of an acknowledgement: the number expected next, tokens returned since the start.
    fn acknowledgement(expected: u8, tokens: [u8; VCS]) -> Vec<u8>;
    /// Decodes bytes received from a link.
    ///
    /// # Errors
    /// Why they are not a valid frame.
    fn decode(bytes: &[u8]) -> Result<Incoming<Self, VCS>, Self::Corrupt>;
}

/// A frame received from a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incoming<P, const VCS: usize> {
    /// A packet.
    Packet(P),
    /// All packets before `expected` have been received; `tokens` have been returned since the start.
    Acknowledgement {
        /// The number expected next.
        expected: u8,
        /// Tokens of each VC, modulo [`Format::COUNTS`].
        tokens: [u8; VCS],
    },
}

impl Format<VCS> for DataFrame {
    const COUNTS: u16 = frame::COUNTS as u16;
    type Corrupt = FrameError;
    type Unsendable = Unsendable;

    fn check(&self) -> Result<(), Unsendable> {
        self.check()
    }

    fn vc(&self) -> u8 {
        self.vc
    }

    fn chunks(&self) -> u8 {
        self.chunks()
    }

    fn sequence(&self) -> u8 {
        self.sequence
    }

    fn number(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    fn encode(&self) -> Result<Vec<u8>, Unsendable> {
        self.encode()
    }

    fn acknowledgement(expected: u8, tokens: [u8; VCS]) -> Vec<u8> {
        TokenAck { expected, tokens }.encode().to_vec()
    }

    fn decode(bytes: &[u8]) -> Result<Incoming<Self, VCS>, FrameError> {
        Ok(match frame::decode(bytes)? {
            Frame::Data(packet) => Incoming::Packet(packet),
            Frame::TokenAck(TokenAck { expected, tokens }) => Incoming::Acknowledgement { expected, tokens },
        })
    }
}

/// Parameters that both ends share.
#[derive(Clone, Copy, Debug)]
pub struct LinkSettings<const VCS: usize = { frame::VCS }> {
    /// Capacity of each VC of a receiver, chunks: below [`Format::COUNTS`], so that token counts are
    /// unambiguous.
    pub capacity: [u8; VCS],
    /// Time from the end of a packet's transmission until it is resent, byte times.
    pub timeout: u64,
    /// After this number of ticks without an acknowledgement the last one is repeated.
    pub repeat: u64,
}

/// Why a packet cannot be accepted for sending now, or ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal<U = Unsendable> {
    /// Not enough tokens.
    #[error("{tokens} tokens on VC {vc}")]
    NoTokens {
        /// On this VC.
        vc: u8,
        /// Available tokens.
        tokens: u8,
    },
    /// Too many packets are unacknowledged.
    #[error("the retransmission FIFO is full")]
    Full,
    /// The packet is invalid.
    #[error(transparent)]
    Unsendable(U),
}

/// Why a received frame was ignored. The link continues as if it had not arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError<C = FrameError> {
    /// Corrupted.
    #[error(transparent)]
    Frame(C),
    /// Intact, but not next in sequence: resent without need, or after a lost packet.
    #[error("packet {found}, while {expected} is next")]
    OutOfSequence {
        /// The next in sequence.
        expected: u8,
        /// Its sequence number.
        found: u8,
    },
    /// It acknowledges packets that were not sent, or returns more tokens than the capacity.
    #[error("an acknowledgement of what was not sent")]
    Acknowledgement,
}

/// One end of a link.
#[derive(Debug)]
pub struct LinkEnd<P: Format<VCS> = DataFrame, const VCS: usize = { frame::VCS }> {
    settings: LinkSettings<VCS>,
    // Sender state.
    /// The packets as sent over the link: "a copy is stored in a retransmission FIFO".
    retransmission: VecDeque<Vec<u8>>,
    /// The number of them sent since the last timeout.
    sent: usize,
    next: u8,
    deadline: Option<u64>,
    tokens: [u8; VCS],
    /// The token counts of the last token-ack.
    counted: [u8; VCS],
    sent_crc: u64,
    // Receiver state.
    expected: u8,
    returned: [u8; VCS],
    /// Whether there is news to acknowledge.
    news: bool,
    acknowledged_at: u64,
    received_crc: u64,
    timeouts: u64,
    retransmitted: u64,
    /// All packets in the FIFO before this one have been sent at least once.
    reached: usize,
    format: PhantomData<P>,
}

impl<P: Format<VCS>, const VCS: usize> LinkEnd<P, VCS> {
    /// An end that has not sent or received anything yet.
    ///
    /// # Panics
    /// If the capacity of a VC exceeds the range of the format's counts.
    pub fn new(settings: LinkSettings<VCS>) -> Self {
        let counts = P::COUNTS;
        assert!(
            settings.capacity.iter().all(|&c| u16::from(c) < counts),
            "counts of tokens are modulo {counts}"
        );
        LinkEnd {
            settings,
            retransmission: VecDeque::new(),
            sent: 0,
            next: 0,
            deadline: None,
            tokens: settings.capacity,
            counted: [0; VCS],
            sent_crc: 0,
            expected: 0,
            returned: [0; VCS],
            news: false,
            acknowledged_at: 0,
            received_crc: 0,
            timeouts: 0,
            retransmitted: 0,
            reached: 0,
            format: PhantomData,
        }
    }

    /// Accepts a packet for sending, and sets its sequence number.
    ///
    /// # Errors
    /// If there are no tokens for it, or it is invalid.
    pub fn offer(&mut self, mut packet: P) -> Result<(), Refusal<P::Unsendable>> {
        packet.check().map_err(Refusal::Unsendable)?;
        let tokens = &mut self.tokens[usize::from(packet.vc())];
        if *tokens < packet.chunks() {
            return Err(Refusal::NoTokens { vc: packet.vc(), tokens: *tokens });
        }
        if self.retransmission.len() == WINDOW {
            return Err(Refusal::Full);
        }
        packet.number(self.next);
        let bytes = packet.encode().map_err(Refusal::Unsendable)?;
        *tokens -= packet.chunks();
        self.next = self.next.wrapping_add(1);
        self.sent_crc = crc64(self.sent_crc, &bytes);
        self.retransmission.push_back(bytes);
        Ok(())
    }

    /// The next frame to send, called when the link is idle.
    pub fn transmit(&mut self, now: u64) -> Option<Vec<u8>> {
        if self.deadline.is_some_and(|at| at <= now) {
            self.timeouts += 1;
            (self.sent, self.deadline) = (0, None);
        }
        let idle = self.sent == self.retransmission.len();
        if self.news || idle && now >= self.acknowledged_at + self.settings.repeat {
            (self.news, self.acknowledged_at) = (false, now);
            return Some(P::acknowledgement(self.expected, self.returned));
        }
        let bytes = self.retransmission.get(self.sent)?.clone();
        self.retransmitted += u64::from(self.sent < self.reached);
        self.sent += 1;
        self.reached = self.reached.max(self.sent);
        self.deadline.get_or_insert(now + bytes.len() as u64 + self.settings.timeout);
        Some(bytes)
    }

    /// Processes a received frame: returns the packet if it was accepted, or `None` for an acknowledgement.
    ///
    /// # Errors
    /// Why it is ignored.
    pub fn receive(&mut self, bytes: &[u8], now: u64) -> Result<Option<P>, LinkError<P::Corrupt>> {
        match P::decode(bytes).map_err(LinkError::Frame)? {
            Incoming::Packet(packet) if packet.sequence() == self.expected => {
                self.expected = self.expected.wrapping_add(1);
                self.news = true;
                self.received_crc = crc64(self.received_crc, bytes);
                Ok(Some(packet))
            }
            Incoming::Packet(packet) => {
                // Either before the expected one, or after it.
                let again = usize::from(self.expected.wrapping_sub(packet.sequence())) <= WINDOW;
                self.news |= again;
                Err(LinkError::OutOfSequence { expected: self.expected, found: packet.sequence() })
            }
            Incoming::Acknowledgement { expected, tokens } => {
                self.acknowledged(expected, tokens, now).map(|()| None)
            }
        }
    }

    fn acknowledged(
        &mut self,
        expected: u8,
        counts: [u8; VCS],
        now: u64,
    ) -> Result<(), LinkError<P::Corrupt>> {
        let oldest = self.next.wrapping_sub(self.retransmission.len() as u8);
        let received = usize::from(expected.wrapping_sub(oldest));
        let tokens: [u16; VCS] = std::array::from_fn(|vc| {
            let new = u16::from(counts[vc].wrapping_sub(self.counted[vc])) % P::COUNTS;
            u16::from(self.tokens[vc]) + new
        });
        let too_many = (0..VCS).any(|vc| tokens[vc] > self.settings.capacity[vc].into());
        if received > self.retransmission.len() || too_many {
            return Err(LinkError::Acknowledgement);
        }
        (self.tokens, self.counted) = (tokens.map(|n| n as u8), counts);
        if received > 0 {
            self.retransmission.drain(..received);
            // Some of these may have been waiting to be resent.
            self.sent = self.sent.saturating_sub(received);
            self.reached = self.reached.saturating_sub(received);
            self.deadline = (self.sent > 0).then(|| now + self.settings.timeout);
        }
        Ok(())
    }

    /// Buffer space of a VC has become free: its tokens are returned.
    pub fn free(&mut self, vc: u8, chunks: u8) {
        let count = &mut self.returned[usize::from(vc)];
        *count = ((u16::from(*count) + u16::from(chunks)) % P::COUNTS) as u8;
        self.news = true;
    }

    /// Number of unacknowledged packets.
    pub fn unacknowledged(&self) -> usize {
        self.retransmission.len()
    }

    /// Tokens available for each VC.
    pub fn tokens(&self) -> [u8; VCS] {
        self.tokens
    }

    /// Number of timeouts, each of which resends all kept packets.
    pub fn timeouts(&self) -> u64 {
        self.timeouts
    }

    /// Number of packets resent.
    pub fn retransmitted(&self) -> u64 {
        self.retransmitted
    }

    /// CRC of the bytes of all packets accepted for sending, each once. When the link is idle it equals the
    /// other end's [`LinkEnd::received_crc`], unless a corrupted packet was accepted as intact.
    pub fn sent_crc(&self) -> u64 {
        self.sent_crc
    }

    /// CRC of the bytes of all packets received.
    pub fn received_crc(&self) -> u64 {
        self.received_crc
    }
}
