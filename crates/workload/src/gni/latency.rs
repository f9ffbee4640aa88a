//! Latencies by size (Figure 11): half a ping-pong of puts that the other side detects in its memory, gets
//! until their flag is set, and puts until they have completed.

use super::{AT, Measurements, check_partner, of, refuse, set_up};
use crate::measured::{Measured, columns};
use netloom_fabric::config::ConfigError;
use netloom_messaging::gni::Gni;
use netloom_nic::aries::Window;
use netloom_nic::aries::address::PageSize;
use netloom_node::process::{InCall, Outcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Puts and gets between node 0 and another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[allow(non_snake_case)]
pub struct Latency {
    /// The other node.
    pub to: u32,
    /// Sizes, multiples of 8 B.
    pub sizes_B: Vec<u64>,
    /// Times that are measured, after one that is not.
    pub rounds: u32,
}

impl Default for Latency {
    fn default() -> Self {
        Latency { to: 4, sizes_B: vec![8, 16, 32, 64, 128, 256, 512, 1024], rounds: 8 }
    }
}

/// What is measured for each size.
const PUT: u64 = 0;
const GET: u64 = 1;
const COMPLETION: u64 = 2;

/// The mark of a measurement for the size with this index.
fn mark(size: usize, what: u64) -> u64 {
    3 * size as u64 + what
}

/// The destination of gets, and their flag.
const HERE: u64 = AT + (1 << 20);
const FLAG: u64 = AT + (2 << 20);

impl Latency {
    pub(super) fn check(&self, nodes: u32) -> Result<(), ConfigError> {
        check_partner(self.to, nodes)?;
        if self.sizes_B.is_empty() || self.sizes_B.iter().any(|&b| b == 0 || b % 8 != 0 || b > 1 << 20) {
            return refuse("sizes_B", "expected multiples of 8 B, at most 1 MB");
        }
        if !(1..=120).contains(&self.rounds) {
            return refuse("rounds", "expected 1 to 120");
        }
        Ok(())
    }

    pub(super) fn measured(&self, measurements: &Measurements, second: f64) -> Measured {
        let mean = |kind: u64| {
            let all: Vec<f64> = of(measurements, kind).collect();
            all.iter().sum::<f64>() / all.len() as f64 / second * 1e9
        };
        let row = |(i, &bytes): (usize, &u64)| {
            [bytes as f64].into_iter().chain([PUT, GET, COMPLETION].map(|what| mean(mark(i, what)))).collect()
        };
        Measured {
            title: "Latency".into(),
            columns: columns(&[("", "B")], &[("put", "ns"), ("get", "ns"), ("put completion", "ns")]),
            rows: self.sizes_B.iter().enumerate().map(row).collect(),
        }
    }
}

/// A put of `bytes` to the start of the other's memory: one word by a launch, more through the window.
async fn put(gni: &Gni, to: u32, bytes: u64, value: u8) -> Outcome {
    let d = gni.descriptor();
    if bytes == 8 {
        gni.launch_put(d, to, 0, u64::from_le_bytes([value; 8])).await;
    } else {
        gni.compute_milliticks(gni.core().library_milliticks).await;
        gni.fma_store(d, 0, &vec![value; bytes as usize]).await.in_call("fma_store")?;
    }
    Ok(())
}

pub(super) async fn run(gni: Gni, config: Latency) -> Outcome {
    let memory = set_up(&gni, 4 << 20, PageSize::HUGE)?;
    let place = gni.place();
    let other = match place {
        0 => config.to,
        _ if place == config.to => 0,
        _ => return Ok(()),
    };
    let d = gni.descriptor();
    let window = Window { node: other, mdh: memory.mdh, is_virtual: true, ..Window::default() };
    gni.fma_set(d, window).await.in_call("fma_set")?;
    let mut value = 0u8;
    for (i, &bytes) in config.sizes_B.iter().enumerate() {
        for round in 0..=config.rounds {
            value = value % 250 + 1;
            let begin = gni.now();
            if place == 0 {
                put(&gni, other, bytes, value).await?;
            }
            gni.wait_memory(AT, bytes, |b| b.iter().all(|&b| b == value)).await;
            if place != 0 {
                put(&gni, other, bytes, value).await?;
            } else if round > 0 {
                gni.measure(mark(i, PUT), (gni.now() - begin) / 2);
            }
            gni.fma_sync(d).await;
        }
        if place != 0 {
            continue;
        }
        // Gets of several lines have a flag for each, all of which must be set.
        let lines = bytes.div_ceil(64);
        for round in 0..=config.rounds {
            let begin = gni.now();
            if bytes == 8 {
                gni.launch_get(d, other, 0, HERE, Some((FLAG, u64::from(round) + 1))).await;
                gni.wait_memory(FLAG, 8, |b| b[0] == round as u8 + 1).await;
            } else {
                gni.compute_milliticks(gni.core().library_milliticks).await;
                for line in 0..lines {
                    let (at, here) = (line * 64, HERE + line * 64);
                    let flag = Some((FLAG + 8 * line, u64::from(round) + 1));
                    let count = (bytes - at).min(64);
                    gni.fma_fetch(d, at, count, here, flag).await.in_call("fma_fetch")?;
                }
                let all = |b: &[u8]| b.chunks(8).all(|b| b[0] == round as u8 + 1);
                gni.wait_memory(FLAG, 8 * lines, all).await;
            }
            if round > 0 {
                gni.measure(mark(i, GET), gni.now() - begin);
            }
            gni.store(FLAG, &vec![0; 8 * lines as usize]);
        }
    }
    // The other node's program has ended, and its interface still takes what comes.
    for (i, &bytes) in config.sizes_B.iter().enumerate().filter(|_| place == 0) {
        for round in 0..=config.rounds {
            let begin = gni.now();
            put(&gni, other, bytes, value).await?;
            gni.fma_sync(d).await;
            if round > 0 {
                gni.measure(mark(i, COMPLETION), gni.now() - begin);
            }
        }
    }
    Ok(())
}
