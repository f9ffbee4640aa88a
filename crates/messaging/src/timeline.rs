//! The timeline of a rank, if requested: the steps of its program, the messages that it sent, and
//! those that it received.

use crate::program::Collective;
use crate::rank::Awaited;
use netloom_node::time::Microticks;
use serde::{Deserialize, Serialize};

/// The activity of a rank during a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Activity {
    /// Its program computed.
    Compute,
    /// Its library executed instructions.
    Software,
    /// The network interface took commands or data from it.
    Injection,
    /// It waited.
    Wait(Waiting),
}

/// The object of a rank's wait, and the parts of its duration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// The first receive that had been posted.
    pub receive: Option<Awaited>,
    /// The receiver of the first message that had not been received.
    pub send_to: Option<u32>,
    /// The collective operation by hardware that had begun.
    pub collective: Option<Collective>,
    /// The part before its partner had sent.
    pub partner: Microticks,
    /// The part that messages take on an otherwise empty machine.
    pub wire: Microticks,
    /// The additional time of messages.
    pub queueing: Microticks,
}

/// A step of a rank's program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// When it began.
    pub from: Microticks,
    /// When it ended.
    pub to: Microticks,
    /// Its kind.
    pub activity: Activity,
}

/// One end of a message: a call that sends, or a receive that completes. The n-th message from one rank to
/// another has the same number at both ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageEnd {
    /// When the call of a send began, or when a receive was matched.
    pub from: Microticks,
    /// When the call of a send returned, or when a receive completed.
    pub to: Microticks,
    /// The rank at the other end.
    pub peer: u32,
    /// Its number among the messages from its sender to its receiver.
    pub number: u32,
    /// Its tag.
    pub tag: u32,
    /// Its length.
    pub bytes: u64,
}

/// The activities of a rank during a span of time, up to a number of entries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankTimeline {
    /// Entries that end before are omitted.
    pub from: Microticks,
    /// Entries that begin then or later are omitted.
    pub to: Microticks,
    /// Most entries that are kept.
    pub entries_max: usize,
    /// Entries that were not kept.
    pub dropped: u64,
    /// Its steps.
    pub steps: Vec<Step>,
    /// The messages that it sent.
    pub sends: Vec<MessageEnd>,
    /// The messages that it received.
    pub receives: Vec<MessageEnd>,
    /// The waits whose reason is not known yet: the message that ends them has not come.
    open_waits: Vec<usize>,
}

impl RankTimeline {
    /// An empty one of a span of time.
    pub fn new(from: Microticks, to: Microticks, entries_max: usize) -> Self {
        RankTimeline { from, to, entries_max, ..RankTimeline::default() }
    }

    /// Whether an entry is kept.
    fn keeps(&mut self, from: Microticks, to: Microticks) -> bool {
        if to < self.from || from >= self.to {
            return false;
        }
        let is_room = self.steps.len() + self.sends.len() + self.receives.len() < self.entries_max;
        self.dropped += u64::from(!is_room);
        is_room
    }

    /// A step has ended. Steps that take no time are left out; a wait is extended if the last step was a wait
    /// for the same message.
    pub(crate) fn step(&mut self, from: Microticks, to: Microticks, activity: Activity) {
        if from == to {
            return;
        }
        let is_wait = matches!(activity, Activity::Wait(_));
        let last = self.steps.len().checked_sub(1);
        if is_wait
            && let Some(last) = last.filter(|last| self.open_waits.last() == Some(last))
            && self.steps[last].to == from
        {
            self.steps[last].to = to;
        } else if self.keeps(from, to) {
            if is_wait {
                self.open_waits.push(self.steps.len());
            }
            self.steps.push(Step { from, to, activity });
        }
    }

    /// Why the waits since the last message took as long as they did: first for the partner, then for the
    /// wire and queues.
    pub(crate) fn waited(&mut self, mut partner: Microticks, wire: Microticks, queueing: Microticks) {
        let in_flight = wire + queueing;
        for place in self.open_waits.drain(..) {
            let step = &mut self.steps[place];
            let Activity::Wait(waiting) = &mut step.activity else { continue };
            let took = step.to - step.from;
            waiting.partner = took.min(partner);
            partner = partner.saturating_sub(took);
            let rest = took - waiting.partner;
            let share = wire.0 as f64 / (in_flight.0 as f64).max(1.0);
            waiting.wire =
                if in_flight.is_zero() { in_flight } else { Microticks::of_f64(rest.0 as f64 * share) };
            waiting.queueing =
                if in_flight.is_zero() { in_flight } else { rest.saturating_sub(waiting.wire) };
        }
    }

    pub(crate) fn sent(&mut self, end: MessageEnd) {
        if self.keeps(end.from, end.to) {
            self.sends.push(end);
        }
    }

    pub(crate) fn received(&mut self, end: MessageEnd) {
        if self.keeps(end.from, end.to) {
            self.receives.push(end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(microticks: u64) -> Microticks {
        Microticks(microticks)
    }

    #[test]
    fn a_wait_that_is_interrupted_is_one_step() {
        let mut timeline = RankTimeline::new(at(0), at(100), 10);
        let wait = || Activity::Wait(Waiting { send_to: Some(3), ..Waiting::default() });
        timeline.step(at(0), at(10), Activity::Compute);
        timeline.step(at(10), at(20), wait());
        timeline.step(at(20), at(20), Activity::Software);
        timeline.step(at(20), at(30), wait());
        timeline.waited(at(5), at(15), at(0));
        // A message has come: the next wait is another.
        timeline.step(at(30), at(40), wait());
        let steps: Vec<_> = timeline.steps.iter().map(|step| (step.from.0, step.to.0)).collect();
        assert_eq!(steps, [(0, 10), (10, 30), (30, 40)]);
        let Activity::Wait(waiting) = &timeline.steps[1].activity else { panic!("a wait") };
        assert_eq!((waiting.partner, waiting.wire, waiting.send_to), (at(5), at(15), Some(3)));
    }

    #[test]
    fn the_reasons_of_a_wait_are_spread_over_its_parts() {
        let mut timeline = RankTimeline::new(at(0), at(100), 10);
        timeline.step(at(0), at(10), Activity::Wait(Waiting::default()));
        timeline.step(at(10), at(12), Activity::Software);
        timeline.step(at(12), at(22), Activity::Wait(Waiting::default()));
        timeline.waited(at(14), at(3), at(3));
        let parts = timeline.steps.iter().filter_map(|step| match &step.activity {
            Activity::Wait(w) => Some((w.partner.0, w.wire.0, w.queueing.0)),
            _ => None,
        });
        assert_eq!(parts.collect::<Vec<_>>(), [(10, 0, 0), (4, 3, 3)]);
    }

    #[test]
    fn only_the_span_and_no_more_than_its_limit() {
        let mut timeline = RankTimeline::new(at(50), at(100), 2);
        for begin in [0, 40, 60, 80, 100] {
            timeline.step(at(begin), at(begin + 15), Activity::Compute);
        }
        assert_eq!(timeline.steps.iter().map(|step| step.from.0).collect::<Vec<_>>(), [40, 60]);
        assert_eq!(timeline.dropped, 1);
    }
}
