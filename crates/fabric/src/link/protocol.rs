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

use super::frame::{COUNTS, DataFrame, Frame, FrameError, TokenAck, Unsendable, VCS, decode};
use netloom_engine::Time;
use std::collections::VecDeque;

/// Packets that may be unacknowledged: half of the sequence numbers.
pub const WINDOW: usize = 128;

/// What both ends agree on.
#[derive(Clone, Copy, Debug)]
pub struct LinkSettings {
    /// Room of each VC of a receiver, chunks: below 64, or counts of tokens would be ambiguous.
    pub capacity: [u8; VCS],
    /// From the end of a packet's transmission until it is sent again, ticks of a byte.
    pub timeout: Time,
    /// After this many ticks without any acknowledgement the last one is repeated.
    pub repeat: Time,
}

/// Why a packet cannot be taken for sending now, or ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
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
    Unsendable(#[from] Unsendable),
}

/// Why what came over the link was not taken. The link goes on as if it had not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// Corrupted.
    #[error(transparent)]
    Frame(#[from] FrameError),
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
pub struct LinkEnd {
    settings: LinkSettings,
    // As a sender.
    retransmission: VecDeque<DataFrame>,
    /// How many of them have been sent since the last timeout.
    sent: usize,
    next: u8,
    deadline: Option<Time>,
    tokens: [u8; VCS],
    /// The counts of the last token-ack.
    counted: [u8; VCS],
    // As a receiver.
    expected: u8,
    returned: [u8; VCS],
    /// Whether there is something new to acknowledge.
    news: bool,
    acknowledged_at: Time,
    timeouts: u64,
}

impl LinkEnd {
    /// An end with nothing sent or received yet.
    ///
    /// # Panics
    /// If a VC has 64 chunks of room or more.
    pub fn new(settings: LinkSettings) -> Self {
        assert!(settings.capacity.iter().all(|&c| c < COUNTS), "counts of tokens are modulo {COUNTS}");
        LinkEnd {
            settings,
            retransmission: VecDeque::new(),
            sent: 0,
            next: 0,
            deadline: None,
            tokens: settings.capacity,
            counted: [0; VCS],
            expected: 0,
            returned: [0; VCS],
            news: false,
            acknowledged_at: 0,
            timeouts: 0,
        }
    }

    /// Takes a packet for sending; its sequence number is set here.
    ///
    /// # Errors
    /// If there are no tokens for it, or it is no packet.
    pub fn offer(&mut self, mut packet: DataFrame) -> Result<(), Refusal> {
        packet.check()?;
        let tokens = &mut self.tokens[usize::from(packet.vc)];
        if *tokens < packet.chunks() {
            return Err(Refusal::NoTokens { vc: packet.vc, tokens: *tokens });
        }
        if self.retransmission.len() == WINDOW {
            return Err(Refusal::Full);
        }
        *tokens -= packet.chunks();
        packet.sequence = self.next;
        self.next = self.next.wrapping_add(1);
        self.retransmission.push_back(packet);
        Ok(())
    }

    /// What goes onto the link, which is free now.
    pub fn transmit(&mut self, now: Time) -> Option<Vec<u8>> {
        if self.deadline.is_some_and(|at| at <= now) {
            self.timeouts += 1;
            (self.sent, self.deadline) = (0, None);
        }
        let idle = self.sent == self.retransmission.len();
        if self.news || idle && now >= self.acknowledged_at + self.settings.repeat {
            (self.news, self.acknowledged_at) = (false, now);
            return Some(TokenAck { expected: self.expected, tokens: self.returned }.encode().to_vec());
        }
        let bytes = self.retransmission.get(self.sent)?.encode().expect("checked when it was taken");
        self.sent += 1;
        self.deadline.get_or_insert(now + bytes.len() as Time + self.settings.timeout);
        Some(bytes)
    }

    /// Takes what the link has brought: a packet that is now this node's, or (`None`) an acknowledgement.
    ///
    /// # Errors
    /// Why it is ignored.
    pub fn receive(&mut self, bytes: &[u8], now: Time) -> Result<Option<DataFrame>, LinkError> {
        match decode(bytes)? {
            Frame::Data(packet) if packet.sequence == self.expected => {
                self.expected = self.expected.wrapping_add(1);
                self.news = true;
                Ok(Some(packet))
            }
            Frame::Data(packet) => {
                // One of those before the expected one, or of those after it.
                let again = usize::from(self.expected.wrapping_sub(packet.sequence)) <= WINDOW;
                self.news |= again;
                Err(LinkError::OutOfSequence { expected: self.expected, found: packet.sequence })
            }
            Frame::TokenAck(ack) => self.acknowledged(&ack, now).map(|()| None),
        }
    }

    fn acknowledged(&mut self, ack: &TokenAck, now: Time) -> Result<(), LinkError> {
        let oldest = self.next.wrapping_sub(self.retransmission.len() as u8);
        let received = usize::from(ack.expected.wrapping_sub(oldest));
        let tokens: [u8; VCS] = std::array::from_fn(|vc| {
            self.tokens[vc] + (ack.tokens[vc].wrapping_sub(self.counted[vc])) % COUNTS
        });
        let too_many = (0..VCS).any(|vc| tokens[vc] > self.settings.capacity[vc]);
        if received > self.retransmission.len() || too_many {
            return Err(LinkError::Acknowledgement);
        }
        (self.tokens, self.counted) = (tokens, ack.tokens);
        if received > 0 {
            self.retransmission.drain(..received);
            // Some of these may have been about to be sent again.
            self.sent = self.sent.saturating_sub(received);
            self.deadline = (self.sent > 0).then(|| now + self.settings.timeout);
        }
        Ok(())
    }

    /// Room has become free in a VC: its tokens return.
    pub fn free(&mut self, vc: u8, chunks: u8) {
        let count = &mut self.returned[usize::from(vc)];
        *count = (*count + chunks) % COUNTS;
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
}
