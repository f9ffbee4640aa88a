//! Message rate (Kumar et al., section V and Figure 5): each process of a reference node sends short messages
//! to a peer on a neighbouring node; the neighbours take turns, so that the messages are spread over the
//! links.

use super::{MESSAGE, next_message, refuse, values};
use crate::measured::{Measured, columns};
use crate::processes::Measurements;
use netloom_fabric::config::ConfigError;
use netloom_messaging::pami::Endpoint;
use netloom_messaging::pami::task::Task;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A message-rate benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MessageRate {
    /// Processes of a node.
    pub processes: u32,
    /// Messages of each process.
    pub messages: u32,
    /// Data of a message, bytes.
    pub bytes: u64,
}

impl Default for MessageRate {
    fn default() -> Self {
        MessageRate { processes: 32, messages: 500, bytes: 0 }
    }
}

impl MessageRate {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if !(1..=64).contains(&self.processes) {
            return refuse("processes", "expected 1 to 64");
        }
        if !(1..=1_000_000).contains(&self.messages) {
            return refuse("messages", "expected 1 to 1,000,000");
        }
        if self.bytes > 512 {
            return refuse("bytes", "expected 0 to 512 bytes, which an immediate send takes");
        }
        Ok(())
    }
}

/// Begin and end of a process's sends.
const BEGIN: u64 = 0;
const END: u64 = 1;

pub(super) async fn run(mut task: Task, config: MessageRate, nodes: u32) {
    let (processes, number) = (config.processes, task.number());
    let data = vec![0; config.bytes as usize];
    let peer_of = |task: u32| (1 + task % (nodes - 1)) * processes + task;
    if number < processes {
        let to = Endpoint::new(peer_of(number), 0).expect("few tasks");
        task.measure(BEGIN, task.now());
        for _ in 0..config.messages {
            task.context().send_immediate(to, MESSAGE, [&[], &data], true).expect("a valid send");
            task.done().await;
        }
        // The peer answers when it has all.
        next_message(&mut task).await;
        task.done().await;
        task.measure(END, task.now());
    } else if (0..processes).any(|other| peer_of(other) == number) {
        let mut from = 0;
        for _ in 0..config.messages {
            from = next_message(&mut task).await;
        }
        let to = Endpoint::new(from, 0).expect("few tasks");
        task.context().send_immediate(to, MESSAGE, [&[], &[]], true).expect("a valid send");
        task.done().await;
    }
}

pub(super) fn measured(config: &MessageRate, measurements: &Measurements, tick_ns: f64) -> Measured {
    let begin = values(measurements, BEGIN).into_iter().fold(f64::INFINITY, f64::min);
    let end = values(measurements, END).into_iter().fold(0.0, f64::max);
    let sent = f64::from(config.processes) * f64::from(config.messages);
    let rate = sent / ((end - begin) * tick_ns) * 1e3;
    Measured {
        title: "Message rate of a node".into(),
        columns: columns(&[("processes", "")], &[("rate", "million/s")]),
        rows: vec![vec![f64::from(config.processes), rate]],
    }
}
