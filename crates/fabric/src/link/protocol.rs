//! The link-level protocol of sections 2 and 3: sequence numbers, acknowledgements, a timeout, retransmission.
//!
//! The paper names the parts (a sequence number in the header, token-ack and ack-only packets, retransmission FIFOs, a
//! timeout mechanism; "similar to that used in IBM SP interconnection networks as well as in the HIPPI standard"). How they
//! play together is ours, and as simple as can be:
//!
//! - A sender keeps each packet until it is acknowledged. If the oldest one has not been in time, it sends all that it
//!   keeps again, in order (go-back-n).
//! - A receiver accepts the packet that is next in sequence, intact, and nothing else. To what comes after a lost packet it
//!   answers nothing: the sender's timeout does. What comes a second time it acknowledges again: else two ends that are
//!   both busy sending again would never find an idle link for the acknowledgement that ends it.
//! - An acknowledgement names the next packet expected, and tokens as counts since the start: one that is lost, or comes
//!   twice, does no harm. What is new goes at once; on an idle link the last one is repeated now and then, since
//!   it may have been lost.
//!
//! A link's two directions are independent but for this: what one end receives, it acknowledges on the other direction,
//! before its own packets.
//!
//! Both ends keep a CRC of all packets sent, or received, so far. If at the end of a run two that belong together differ, a
//! corrupted packet has been taken for intact ("like BG/L": Chen et al., section II.F).
//!
//! Blue Gene/Q has "a standard, similar to BG/L, link level protocol" (Chen et al., section II.F), with other frames: so [`LinkEnd`]
//! is for any [`Format`], BlueGene/L's if none is named.

use super::crc::crc64;
use super::frame::{self, DataFrame, Frame, FrameError, TokenAck, Unsendable, VCS};
use std::collections::VecDeque;
use std::marker::PhantomData;

/// Packets that may be unacknowledged: half of the sequence numbers.
pub const WINDOW: usize = 128;

/// How packets and acknowledgements look on a link with so many VCs.
pub trait Format<const VCS: usize>: Clone {
    /// Values of a count of tokens, up to 256: room of a VC is less.
    const COUNTS: u16;
    /// Why bytes are not a frame.
    type Corrupt;
    /// Why a packet cannot be put on a link.
    type Unsendable;

    /// Whether it can be put on a link.
    ///
    /// # Errors
    /// What does not fit.
    fn check(&self) -> Result<(), Self::Unsendable>;
    /// Which VC's room it needs: below `VCS`.
    fn vc(&self) -> u8;
    /// How much room: tokens.
    fn chunks(&self) -> u8;
    /// The link's number of it.
    fn sequence(&self) -> u8;
    /// Gives it a number.
    fn number(&mut self, sequence: u8);
    /// Its bytes on the wire.
    ///
    /// # Errors
    /// If it cannot be put on a link.
    fn encode(&self) -> Result<Vec<u8>, Self::Unsendable>;
    /// The bytes of an acknowledgement: the number expected next, tokens returned since the start.
    fn acknowledgement(expected: u8, tokens: [u8; VCS]) -> Vec<u8>;
    /// Reads what a link has brought.
    ///
    /// # Errors
    /// What is wrong with it.
    fn decode(bytes: &[u8]) -> Result<Incoming<Self, VCS>, Self::Corrupt>;
}

/// What a link has brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incoming<P, const VCS: usize> {
    /// A packet.
    Packet(P),
    /// All packets before this number have been received, and so many tokens returned since the start.
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

/// What both ends agree on.
#[derive(Clone, Copy, Debug)]
pub struct LinkSettings<const VCS: usize = { frame::VCS }> {
    /// Room of each VC of a receiver, chunks: below [`Format::COUNTS`], or counts of tokens would be ambiguous.
    pub capacity: [u8; VCS],
    /// From the end of a packet's transmission until it is sent again, ticks of a byte.
    pub timeout: u64,
    /// After this many ticks without any acknowledgement the last one is repeated.
    pub repeat: u64,
}

/// Why a packet cannot be taken for sending now, or ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal<U = Unsendable> {
    /// The other end has no room known to be free.
    #[error("{tokens} tokens on VC {vc}")]
    NoTokens {
        /// On this VC.
        vc: u8,
        /// What is there.
        tokens: u8,
    },
    /// Too much is unacknowledged.
    #[error("the retransmission FIFO is full")]
    Full,
    /// It is no packet.
    #[error(transparent)]
    Unsendable(U),
}

/// Why what came over the link was not taken. The link goes on as if it had not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError<C = FrameError> {
    /// Corrupted.
    #[error(transparent)]
    Frame(C),
    /// Intact, but not the one that is next: sent again without need, or after one that was lost.
    #[error("packet {found}, while {expected} is next")]
    OutOfSequence {
        /// The next in sequence.
        expected: u8,
        /// What came.
        found: u8,
    },
    /// An acknowledgement of what was not sent, or of more room than there is.
    #[error("an acknowledgement of what was not sent")]
    Acknowledgement,
}

/// One end of a link.
#[derive(Debug)]
pub struct LinkEnd<P: Format<VCS> = DataFrame, const VCS: usize = { frame::VCS }> {
    settings: LinkSettings<VCS>,
    // As a sender.
    /// The packets as they go over the link: "a copy is stored in a retransmission FIFO".
    retransmission: VecDeque<Vec<u8>>,
    /// How many of them have been sent since the last timeout.
    sent: usize,
    next: u8,
    deadline: Option<u64>,
    tokens: [u8; VCS],
    /// The counts of the last token-ack.
    counted: [u8; VCS],
    sent_crc: u64,
    // As a receiver.
    expected: u8,
    returned: [u8; VCS],
    /// Whether there is something new to acknowledge.
    news: bool,
    acknowledged_at: u64,
    received_crc: u64,
    timeouts: u64,
    retransmitted: u64,
    /// The packet before this one in the FIFO has been on the link at least once.
    reached: usize,
    format: PhantomData<P>,
}

impl<P: Format<VCS>, const VCS: usize> LinkEnd<P, VCS> {
    /// An end with nothing sent or received yet.
    ///
    /// # Panics
    /// If a VC has more room than the format's counts can tell.
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

    /// Takes a packet for sending; its sequence number is set here.
    ///
    /// # Errors
    /// If there are no tokens for it, or it is no packet.
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

    /// What goes onto the link, which is free now.
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

    /// Takes what the link has brought: a packet that is now this node's, or (`None`) an acknowledgement.
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
                // One of those before the expected one, or of those after it.
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
            // Some of these may have been about to be sent again.
            self.sent = self.sent.saturating_sub(received);
            self.reached = self.reached.saturating_sub(received);
            self.deadline = (self.sent > 0).then(|| now + self.settings.timeout);
        }
        Ok(())
    }

    /// Room has become free in a VC: its tokens return.
    pub fn free(&mut self, vc: u8, chunks: u8) {
        let count = &mut self.returned[usize::from(vc)];
        *count = ((u16::from(*count) + u16::from(chunks)) % P::COUNTS) as u8;
        self.news = true;
    }

    /// Packets that are not acknowledged.
    pub fn unacknowledged(&self) -> usize {
        self.retransmission.len()
    }

    /// Room at the other end that is known to be free.
    pub fn tokens(&self) -> [u8; VCS] {
        self.tokens
    }

    /// How often it has sent everything again.
    pub fn timeouts(&self) -> u64 {
        self.timeouts
    }

    /// Packets sent that had been sent before.
    pub fn retransmitted(&self) -> u64 {
        self.retransmitted
    }

    /// CRC of the bytes of all packets taken for sending, each once. At rest it is the other end's [`LinkEnd::received_crc`],
    /// unless a corrupted packet was taken for intact.
    pub fn sent_crc(&self) -> u64 {
        self.sent_crc
    }

    /// CRC of the bytes of all packets received.
    pub fn received_crc(&self) -> u64 {
        self.received_crc
    }
}
