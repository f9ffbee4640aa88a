//! Neighbours (Kumar et al., section V and Table 3): a reference node and its neighbours, each on another
//! link, send messages to each other, all at once; eager, whose packets a processor copies out of the
//! reception FIFO, and by rendezvous, whose data the Message Unit writes.

use super::{Job, MESSAGE, next_message, refuse, values};
use crate::measured::{Measured, columns};
use crate::processes::Measurements;
use netloom_fabric::config::ConfigError;
use netloom_messaging::pami::Endpoint;
use netloom_messaging::pami::context::{Event, Limits, Receive, Send};
use netloom_messaging::pami::device::Range;
use netloom_messaging::pami::task::Task;
use netloom_messaging::spi::Spi;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// An exchange with the neighbours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Neighbours {
    /// Data of a message, bytes.
    pub bytes: u64,
    /// Numbers of neighbours: one figure for each.
    pub neighbours: Vec<u32>,
    /// Messages to and from each that are measured.
    pub messages: u32,
}

impl Default for Neighbours {
    fn default() -> Self {
        Neighbours { bytes: 1 << 20, neighbours: vec![1, 2, 4, 10], messages: 2 }
    }
}

impl Neighbours {
    pub(crate) fn check(&self, dims: &[u32]) -> Result<(), ConfigError> {
        let links: u32 = dims.iter().map(|&k| k.saturating_sub(1).min(2)).sum();
        if self.neighbours.is_empty() || self.neighbours.iter().any(|n| !(1..=links).contains(n)) {
            let message =
                format!("expected numbers from 1 to {links}, which are the neighbours of a node here");
            return Err(ConfigError { key: "neighbours".into(), message });
        }
        if !(1..=1 << 26).contains(&self.bytes) {
            return refuse("bytes", "expected 1 byte to 64 MiB");
        }
        if !(1..=1000).contains(&self.messages) {
            return refuse("messages", "expected 1 to 1000");
        }
        Ok(())
    }

    fn key(place: usize, is_rendezvous: bool) -> u64 {
        2 * place as u64 + u64::from(is_rendezvous)
    }
}

pub(super) async fn run(spi: Spi, job: Job, config: Neighbours) {
    let mut task = job.task(&spi);
    let most = config.neighbours.iter().copied().max().unwrap_or(0);
    let (out, into) = (task.allocate(config.bytes), task.allocate(config.bytes * u64::from(most)));
    let mut synchronised = BTreeSet::new();
    for (place, &count) in config.neighbours.iter().enumerate() {
        for is_rendezvous in [false, true] {
            let rendezvous_from_bytes = if is_rendezvous { 1 } else { u64::MAX };
            task.context().set_limits(Limits { rendezvous_from_bytes, ..job.limits });
            // A message of no data to and fro: all begin together.
            let others: Vec<u32> = if task.number() == 0 { (1..=count).collect() } else { vec![0] };
            if task.number() > count {
                continue;
            }
            synchronise(&mut task, &others, &mut synchronised).await;
            let begin = task.now();
            exchange(&mut task, &config, &others, (out, into), &mut synchronised).await;
            task.done().await;
            if task.number() == 0 {
                task.measure(Neighbours::key(place, is_rendezvous), task.now() - begin);
            }
        }
    }
}

/// Waits for a message of no data from each; `early` are those whose has come already.
async fn synchronise(task: &mut Task, others: &[u32], early: &mut BTreeSet<u32>) {
    let send = |task: &mut Task| {
        for &other in others {
            let to = Endpoint::new(other, 0).expect("few tasks");
            let sent = task.context().send_immediate(to, MESSAGE, [&[], &[]], true);
            sent.expect("a valid send");
        }
    };
    if task.number() > 0 {
        send(task);
    }
    while !others.iter().all(|other| early.contains(other)) {
        early.insert(next_message(task).await);
    }
    early.retain(|other| !others.contains(other));
    if task.number() == 0 {
        send(task);
    }
    task.done().await;
}

/// Sends and receives all messages.
async fn exchange(
    task: &mut Task,
    config: &Neighbours,
    others: &[u32],
    (out, into): (Range, Range),
    early: &mut BTreeSet<u32>,
) {
    let all = others.len() as u32 * config.messages;
    for _ in 0..config.messages {
        for &other in others {
            let to = Endpoint::new(other, 0).expect("few tasks");
            let send =
                Send { to, dispatch: MESSAGE, header: &[], data: out, cookie: 0, is_acknowledged: false };
            task.context().send(send).expect("a valid send");
        }
    }
    let (mut sent, mut received) = (0, 0);
    while sent < all || received < all {
        match task.event().await {
            // A neighbour that waits for its turn.
            Event::Message(message) if message.data_bytes == 0 => {
                task.context().consumed();
                early.insert(message.origin.task());
            }
            Event::Message(message) => {
                let from = message.origin.task();
                let place = others.iter().position(|&other| other == from).unwrap_or(0);
                let address = into.address + place as u64 * config.bytes;
                task.context().accept(Receive { address, cookie: 0 });
            }
            Event::Sent(..) => sent += 1,
            Event::Received(..) => received += 1,
            _ => {}
        }
    }
}

pub(super) fn measured(config: &Neighbours, measurements: &Measurements, tick_ns: f64) -> Measured {
    let rows = config.neighbours.iter().enumerate().map(|(place, &count)| {
        let rate = |is_rendezvous| {
            let ticks: f64 = values(measurements, Neighbours::key(place, is_rendezvous)).iter().sum();
            // There and back.
            let bytes = 2.0 * f64::from(count) * f64::from(config.messages) * config.bytes as f64;
            bytes / (ticks * tick_ns) * 1e3
        };
        vec![f64::from(count), rate(false), rate(true)]
    });
    Measured {
        title: "Sent and received by a node and its neighbours".into(),
        columns: columns(&[("neighbours", "")], &[("eager", "MB/s"), ("rendezvous", "MB/s")]),
        rows: rows.collect(),
    }
}
