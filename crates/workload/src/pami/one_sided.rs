//! Bandwidth of one-sided operations: a task reads another's memory by `PAMI_Rget` and writes it by
//! `PAMI_Rput`, one operation after the other, as in PAMI's own tests.

use super::{MESSAGE, next_message, refuse, values};
use crate::measured::{Measured, columns};
use crate::processes::Measurements;
use netloom_fabric::config::ConfigError;
use netloom_messaging::pami::Endpoint;
use netloom_messaging::pami::context::{Event, Rma};
use netloom_messaging::pami::device::{PamiDevice, Range, Transfer};
use netloom_messaging::pami::task::Task;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Gets and puts between two tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OneSided {
    /// The node of the other task; this one is node 0.
    pub to: u32,
    /// Data of an operation, bytes.
    pub bytes: u64,
    /// Measured gets, and measured puts, after a warm-up of one each.
    pub rounds: u32,
}

impl Default for OneSided {
    fn default() -> Self {
        OneSided { to: 1, bytes: 1 << 20, rounds: 2 }
    }
}

/// The maximum size of an operation, bytes.
const LONGEST: u64 = 1 << 30;

impl OneSided {
    pub(super) fn check(&self, nodes: u32) -> Result<(), ConfigError> {
        if !(1..nodes).contains(&self.to) {
            return refuse("to", &format!("expected a node other than 0 of {nodes}, found {}", self.to));
        }
        if !(1..=LONGEST).contains(&self.bytes) {
            return refuse("bytes", &format!("expected 1 B to 1 GiB, found {} B", self.bytes));
        }
        if self.rounds == 0 {
            return refuse("rounds", "expected at least 1");
        }
        Ok(())
    }
}

pub(super) async fn run(mut task: Task, config: OneSided) {
    let memory = task.allocate(config.bytes);
    let other = Endpoint::new(1 - task.number(), 0).expect("two tasks");
    if task.number() == 1 {
        // Where its memory is, which the other takes as a memory region.
        let address = memory.address.to_le_bytes();
        task.context().send_immediate(other, MESSAGE, [&[], &address], true).expect("a valid send");
        task.done().await;
        // Until the other has finished.
        next_message(&mut task).await;
        task.done().await;
        return;
    }
    let remote = await_address(&mut task).await;
    for way in [Transfer::Get, Transfer::Put] {
        for round in 0..=config.rounds {
            task.done().await;
            let begin = task.now();
            transfer(&mut task, way, other, (memory, remote)).await;
            task.done().await;
            if round > 0 {
                task.measure(key(way), task.now() - begin);
            }
        }
    }
    task.context().send_immediate(other, MESSAGE, [&[], &[]], true).expect("a valid send");
    task.done().await;
}

/// The address that the other's message holds.
async fn await_address(task: &mut Task) -> u64 {
    loop {
        if let Event::Message(message) = task.event().await {
            // The packet that was polled.
            let bytes = &task.context().device().bytes(())[message.header_from..];
            let address = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"));
            task.context().consumed();
            return address;
        }
    }
}

/// A get, or a put until all its data is at the target.
async fn transfer(task: &mut Task, way: Transfer, with: Endpoint, piece: (Range, u64)) {
    let rma = Rma {
        way,
        with,
        pieces: &[piece],
        is_exposed: true,
        prefers_packets: false,
        cookie: 0,
        is_acknowledged: true,
    };
    task.context().rma(rma).expect("a valid operation");
    loop {
        match task.event().await {
            Event::Received(..) if way == Transfer::Get => return,
            Event::Completed(..) if way == Transfer::Put => return,
            _ => {}
        }
    }
}

fn key(way: Transfer) -> u64 {
    u64::from(way == Transfer::Put)
}

pub(super) fn measured(config: &OneSided, measurements: &Measurements, tick_ns: f64) -> Measured {
    let rate = |way| {
        let times = values(measurements, key(way));
        config.bytes as f64 * times.len() as f64 / (times.iter().sum::<f64>() * tick_ns) * 1e3
    };
    Measured {
        title: "Bandwidth of gets and puts".into(),
        columns: columns(&[("data", "B")], &[("PAMI_Rget", "MB/s"), ("PAMI_Rput", "MB/s")]),
        rows: vec![vec![config.bytes as f64, rate(Transfer::Get), rate(Transfer::Put)]],
    }
}
