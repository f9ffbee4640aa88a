//! Latency (Kumar et al., section V and Table 1): half of a message's way to and fro between neighbours, sent
//! by `PAMI_Send_immediate` and by `PAMI_Send`.

use super::{MESSAGE, TURN, next_message, refuse, values};
use crate::measured::{Measured, columns};
use crate::processes::Measurements;
use netloom_fabric::config::ConfigError;
use netloom_messaging::pami::Endpoint;
use netloom_messaging::pami::context::Send;
use netloom_messaging::pami::device::Range;
use netloom_messaging::pami::task::Task;
use netloom_node::time::Microticks;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A latency benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Latency {
    /// Data of a message, bytes.
    pub bytes: u64,
    /// Times to and fro that are measured, after one that is not.
    pub rounds: u32,
}

impl Default for Latency {
    fn default() -> Self {
        Latency { bytes: 0, rounds: 20 }
    }
}

impl Latency {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if self.bytes > 512 {
            return refuse("bytes", "expected 0 to 512 bytes, which an immediate send takes");
        }
        if self.rounds == 0 {
            return refuse("rounds", "expected at least 1");
        }
        Ok(())
    }
}

async fn send(task: &mut Task, is_immediate: bool, data: Range) {
    let to = Endpoint::new(1 - task.number(), 0).expect("two tasks");
    let bytes = task.load(data);
    if is_immediate {
        let sent = task.context().send_immediate(to, MESSAGE, [&[], &bytes], true);
        sent.expect("a valid send");
    } else {
        let send = Send { to, dispatch: MESSAGE, header: &[], data, cookie: 0, is_acknowledged: false };
        task.context().send(send).expect("a valid send");
    }
}

pub(super) async fn run(mut task: Task, config: Latency) {
    let data = task.allocate(config.bytes.max(1));
    let data = Range { bytes: config.bytes, ..data };
    for is_immediate in [true, false] {
        for round in 0..=config.rounds {
            task.done().await;
            // The partner's polls meet the messages at any time of their turn, as they do on hardware.
            if task.number() == 0 {
                task.compute(Microticks::of_ticks(u64::from(round * TURN / (config.rounds + 1)))).await;
            }
            let begin = task.now();
            if task.number() == 0 {
                send(&mut task, is_immediate, data).await;
                next_message(&mut task).await;
                task.done().await;
                if round > 0 {
                    task.measure(u64::from(is_immediate), task.now() - begin);
                }
            } else {
                next_message(&mut task).await;
                send(&mut task, is_immediate, data).await;
            }
        }
    }
    task.done().await;
}

pub(super) fn measured(config: &Latency, measurements: &Measurements, tick_ns: f64) -> Measured {
    let half = |is_immediate: bool| {
        let rounds = values(measurements, u64::from(is_immediate));
        rounds.iter().sum::<f64>() / rounds.len().max(1) as f64 / 2.0 * tick_ns / 1e3
    };
    Measured {
        title: "Half round trip".into(),
        columns: columns(&[("data", "B")], &[("PAMI_Send_immediate", "us"), ("PAMI_Send", "us")]),
        rows: vec![vec![config.bytes as f64, half(true), half(false)]],
    }
}
