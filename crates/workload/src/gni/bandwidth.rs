//! Bandwidth of puts by size (Figure 12), in one or both directions, and of gets.

use super::{AT, BEGIN, END, Measurements, check_partner, refuse, set_up, span};
use crate::measured::{Measured, columns};
use netloom_fabric::config::ConfigError;
use netloom_messaging::gni::{Endpoint, Gni, Post, PostKind};
use netloom_nic::aries::Window;
use netloom_nic::aries::address::PageSize;
use netloom_node::process::{InCall, Outcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where gets put their data, behind what the other node reads.
const HERE: u64 = AT + (1 << 30);

/// Many puts or gets of one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[allow(non_snake_case)]
pub struct Bandwidth {
    /// The other node.
    pub to: u32,
    /// Data of a put or get.
    pub bytes: u64,
    /// Puts or gets of each process.
    pub puts: u32,
    /// Whether they are gets.
    pub gets: bool,
    /// Processes per node.
    pub processes: u32,
    /// Whether the other node does the same.
    pub both_ways: bool,
    /// Minimum size of those by the block transfer engine, bytes.
    pub block_from_B: u64,
    /// Those of a process that may be without their events; puts by FMA have none.
    pub outstanding: u32,
}

impl Default for Bandwidth {
    fn default() -> Self {
        Bandwidth {
            to: 4,
            bytes: 65_536,
            puts: 32,
            gets: false,
            processes: 1,
            both_ways: false,
            block_from_B: 4096,
            outstanding: 16,
        }
    }
}

impl Bandwidth {
    pub(super) fn check(&self, nodes: u32) -> Result<(), ConfigError> {
        check_partner(self.to, nodes)?;
        if !(1..=1 << 30).contains(&self.bytes) {
            return refuse("bytes", "expected 1 B to 1 GB");
        }
        if self.puts == 0 || self.outstanding == 0 {
            return refuse("puts", "expected at least 1, also for outstanding");
        }
        if !(1..=127).contains(&self.processes) {
            return refuse("processes", "expected 1 to 127, as many as a NIC has FMA descriptors");
        }
        Ok(())
    }

    pub(super) fn measured(&self, measurements: &Measurements, second: f64) -> Measured {
        let directions = if self.both_ways { 2 } else { 1 };
        let bytes = self.bytes * u64::from(self.puts) * u64::from(self.processes) * directions;
        let rate = bytes as f64 / span(measurements, second) / 1e9;
        Measured {
            title: if self.gets { "Get bandwidth" } else { "Put bandwidth" }.into(),
            columns: columns(&[("", "B")], &[("", "GB/s")]),
            rows: vec![vec![self.bytes as f64, rate]],
        }
    }
}

pub(super) async fn run(gni: Gni, config: Bandwidth) -> Outcome {
    let memory = set_up(&gni, 2 << 30, PageSize::HUGE)?;
    let other = match gni.place() {
        0 => config.to,
        place if place == config.to && config.both_ways => 0,
        _ => return Ok(()),
    };
    let queue = gni.cq_create(1 << 12);
    // A warm-up put, for anything that is fetched only once.
    let to = Endpoint::new(other, gni.process());
    let first = Post { queue: Some(queue), ..Post::new(PostKind::RdmaPut, AT, AT, memory, 64) };
    gni.post_rdma(to, first).await.in_call("post_rdma")?;
    gni.cq_wait_event(queue).await.in_call("cq_wait_event")?;
    let d = gni.descriptor();
    let window = Window { node: other, mdh: memory.mdh, is_virtual: true, ..Window::default() };
    gni.fma_open(d, window, None, 0).await.in_call("fma_open")?;
    gni.measure(BEGIN, gni.now());
    let by_fma = config.bytes < config.block_from_B;
    if by_fma && !config.gets {
        let data = vec![1; config.bytes as usize];
        // A put starts at its window's base: each costs a store to the descriptor.
        for _ in 0..config.puts {
            gni.compute_milliticks(gni.core().library_milliticks).await;
            gni.fma_set(d, window).await.in_call("fma_set")?;
            gni.fma_store(d, 0, &data).await.in_call("fma_store")?;
        }
        gni.fma_sync(d).await;
    } else {
        let (kind, local) = match (config.gets, by_fma) {
            (false, _) => (PostKind::RdmaPut, AT),
            (true, false) => (PostKind::RdmaGet, HERE),
            (true, true) => (PostKind::FmaGet, HERE),
        };
        let post = Post { queue: Some(queue), ..Post::new(kind, local, AT, memory, config.bytes) };
        let (mut posted, mut ended) = (0, 0);
        while ended < config.puts {
            if posted < config.puts && posted - ended < config.outstanding {
                match kind {
                    PostKind::FmaGet => gni.post_fma(to, post).await.in_call("post_fma")?,
                    _ => gni.post_rdma(to, post).await.in_call("post_rdma")?,
                }
                posted += 1;
            } else {
                gni.cq_wait_event(queue).await.in_call("cq_wait_event")?;
                ended += 1;
            }
        }
    }
    gni.measure(END, gni.now());
    Ok(())
}
