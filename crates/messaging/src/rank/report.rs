//! What is known of a rank's time.

use super::Doing;
use crate::program::Collective;
use crate::timeline::{Activity, MessageEnd, RankTimeline, Waiting};
use crate::transport::Envelope;
use netloom_node::time::Microticks;
use serde::{Deserialize, Serialize};

/// A posted receive: source and tag; `None` matches any.
pub type Awaited = (Option<u32>, Option<u32>);

/// The results of a rank: where its time was spent, and its messages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankReport {
    /// When its program ended.
    pub ended_at: Option<Microticks>,
    /// Time in its own computation.
    pub compute: Microticks,
    /// Time in its library's instructions.
    pub software: Microticks,
    /// Time waiting for a partner that had not sent yet.
    pub partner: Microticks,
    /// Time waiting for messages in flight, up to their time on an otherwise empty machine.
    pub wire: Microticks,
    /// Additional time waiting for messages in flight.
    pub queueing: Microticks,
    /// Time blocked by the network interface while submitting commands, or until it had read the data.
    pub injection: Microticks,
    /// Messages sent.
    pub sent: u64,
    /// The source and tag of one that had arrived when the program ended, which did not receive it.
    pub unreceived: Option<(u32, u32)>,
    /// Messages received, and their data, bytes.
    pub messages: u64,
    /// See `messages`.
    pub message_bytes: u64,
    /// Messages sent by rendezvous.
    pub rendezvous: u64,
    /// Collective operations by hardware in which it has taken part.
    pub hardware_collectives: u64,
    /// The collective operation by hardware that it waits for.
    pub collective: Option<Collective>,
    /// The first receive that it waits for.
    pub waits_for: Option<Awaited>,
    /// The receiver of the first of its messages that has not been received.
    pub sends_to: Option<u32>,
    /// Its timeline, if one is recorded.
    pub timeline: Option<Box<RankTimeline>>,
}

impl RankReport {
    /// A message has come, or its data are taken: why the rank waited for that.
    pub(super) fn waited(&mut self, partner: Microticks, wire: Microticks, queueing: Microticks) {
        if let Some(timeline) = &mut self.timeline {
            timeline.waited(partner, wire, queueing);
        }
    }
}

/// Adds what a rank did since its last resumption to its timeline.
pub(super) fn note_step(
    timeline: &mut RankTimeline,
    doing: Doing,
    (since, now): (Microticks, Microticks),
    spent: Microticks,
    waiting: Waiting,
) {
    match doing {
        Doing::Computing(_) | Doing::Overlapping => timeline.step(since, now, Activity::Compute),
        Doing::Waiting => timeline.step(since, now, Activity::Wait(waiting)),
        Doing::Library => {
            let software = since + spent.min(now - since);
            timeline.step(since, software, Activity::Software);
            timeline.step(software, now, Activity::Injection);
        }
    }
}

/// An end of the message that an envelope stands for, or announces.
pub(super) fn end_of(peer: u32, envelope: &Envelope, (from, to): (Microticks, Microticks)) -> MessageEnd {
    MessageEnd { from, to, peer, number: envelope.sequence, tag: envelope.tag, bytes: envelope.bytes }
}
