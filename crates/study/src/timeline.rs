//! The timeline of a run: what is asked of it, and what was found.

use crate::study::Study;
use netloom_fabric::config::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Nodes of a timeline if a study names none.
const NODES: u32 = 8;

/// A timeline of what some nodes do: the steps of their programs, their messages, and their packets. It is
/// written as `timeline.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TimelineConfig {
    /// The nodes. If omitted: the first eight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Vec<u32>>,
    /// The begin of the timeline, us.
    pub from_us: f64,
    /// The end of the timeline, us. If omitted: the end of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_us: Option<f64>,
    /// Most events of a node, of each kind: steps and messages, packets that it receives.
    pub node_events_max: u32,
}

impl Default for TimelineConfig {
    fn default() -> Self {
        TimelineConfig { nodes: None, from_us: 0.0, to_us: None, node_events_max: 20_000 }
    }
}

impl TimelineConfig {
    /// The nodes that are shown of a machine of `nodes` nodes, in rising order.
    pub fn nodes(&self, count: u32) -> Vec<u32> {
        let mut nodes = self.nodes.clone().unwrap_or_else(|| (0..count.min(NODES)).collect());
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// Refuses what cannot be.
    ///
    /// # Errors
    /// The first invalid value, with its key (`timeline.…`) and what was expected.
    pub(crate) fn check(study: &Study, count: u64) -> Result<(), ConfigError> {
        let Some(timeline) = &study.timeline else { return Ok(()) };
        let refuse =
            |key: &str, message: String| Err(ConfigError { key: format!("timeline.{key}"), message });
        if timeline.nodes.as_ref().is_some_and(Vec::is_empty) {
            return refuse("nodes", "expected at least one node".into());
        }
        if let Some(node) = timeline.nodes.iter().flatten().find(|&&node| u64::from(node) >= count) {
            return refuse("nodes", format!("expected nodes below {count}, found {node}"));
        }
        let from = timeline.from_us;
        if !(from.is_finite() && from >= 0.0) {
            return refuse("from_us", format!("expected a time of 0 us or more, found {from}"));
        }
        if let Some(to) = timeline.to_us.filter(|&to| !(to.is_finite() && to > from)) {
            return refuse("to_us", format!("expected a time after the begin, {from} us, found {to}"));
        }
        if timeline.node_events_max == 0 {
            return refuse("node_events_max", "expected at least 1 event".into());
        }
        Ok(())
    }
}

/// The timeline of some nodes. Times are in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// Each node, in rising order.
    pub nodes: Vec<NodeTimeline>,
    /// The packets that these nodes received, or sent, by the time at which they arrived.
    pub packets: Vec<PacketSpan>,
    /// Events that were left out, because a node had as many as are kept.
    pub dropped: u64,
}

/// The timeline of a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeTimeline {
    /// The node.
    pub node: u32,
    /// Its rank, if it has one.
    pub rank: Option<u32>,
    /// The steps of the rank's program, one after the other.
    pub steps: Vec<StepSpan>,
    /// The messages that the rank sent.
    pub sends: Vec<MessageSpan>,
    /// The messages that it received.
    pub receives: Vec<MessageSpan>,
}

/// A step of a rank's program.
#[derive(Clone, Debug, PartialEq)]
pub struct StepSpan {
    /// When it began.
    pub from_ns: f64,
    /// When it ended.
    pub to_ns: f64,
    /// Its kind.
    pub activity: Activity,
}

/// The activity of a rank during a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Activity {
    /// Its program computed.
    Compute,
    /// Its messaging library executed instructions.
    Software,
    /// The network interface took commands or data from it.
    Injection,
    /// It waited.
    Wait {
        /// For what.
        awaited: String,
        /// The part before its partner had sent.
        partner_ns: f64,
        /// The part that messages take on an otherwise empty machine.
        wire_ns: f64,
        /// The additional time of messages.
        queueing_ns: f64,
    },
}

/// One end of a message: the call that sends it, or the receive that completes.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageSpan {
    /// When the call of a send began, or when a receive was matched.
    pub from_ns: f64,
    /// When the call of a send returned, or when a receive completed.
    pub to_ns: f64,
    /// The rank at the other end.
    pub peer: u32,
    /// Its number among the messages from its sender to its receiver.
    pub number: u32,
    /// Its tag.
    pub tag: u32,
    /// Its length.
    pub bytes: u64,
}

/// A packet in transit from its injection FIFO to its reception FIFO.
#[derive(Clone, Debug, PartialEq)]
pub struct PacketSpan {
    /// When it left its injection FIFO.
    pub from_ns: f64,
    /// When its last byte had arrived.
    pub to_ns: f64,
    /// When its sender made it.
    pub made_ns: f64,
    /// The node that sent it.
    pub source: u32,
    /// The node that received it.
    pub destination: u32,
    /// Its length in the network's unit: chunks of a torus, flits of a network of switches.
    pub length: u32,
}
