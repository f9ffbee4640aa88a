//! Configuration of MPICH2-GLEX2's channels on TH Express NICs.

use netloom_fabric::config::ConfigError;
use netloom_nic::th::Submission;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which channel carries the messages between two ranks (Pang et al., section 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Channel {
    /// The shared channel: mini-packets, and for longer messages blocks that the receiver gets.
    #[default]
    Shared,
    /// Exclusive channels: puts into buffers at the receiver that belong to one sender. They are created at
    /// the first message between two ranks, as far as the receiver has buffers.
    Exclusive,
    /// The shared channel, and an exclusive one to each rank with which many messages are exchanged.
    Hybrid,
}

/// How descriptors get to the network interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DescriptorPath {
    /// Written by the processor, as far as there are such ports: eight per node.
    #[default]
    Pio,
    /// Fetched by the network interface.
    Dma,
}

impl DescriptorPath {
    /// The kind of port of it.
    pub fn submission(self) -> Submission {
        match self {
            DescriptorPath::Pio => Submission::Pio,
            DescriptorPath::Dma => Submission::Dma,
        }
    }
}

/// MPICH2-GLEX2's channels on TH Express NICs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[allow(non_snake_case)]
pub struct ChannelsConfig {
    /// Which channel carries the messages between two ranks.
    pub channel: Channel,
    /// How descriptors get to the network interface.
    pub path: DescriptorPath,
    /// Whether each operation sets up a reliable connection.
    pub connect: bool,
    /// A block of the shared channel, bytes: longer messages are divided.
    pub block_B: u32,
    /// Blocks of a rank for sending, and as many for receiving.
    pub blocks: u32,
    /// Entries of the mini-packet queue beyond those of each process's `messaging.credits`: a process that has
    /// none left is given more of them.
    pub pool: u32,
    /// Buffers of an exclusive channel, in either direction.
    pub ring_buffers: u32,
    /// Such a buffer with its envelope, bytes: longer messages are divided.
    pub ring_buffer_B: u32,
    /// Most exclusive channels of a rank.
    pub exclusive_max: u32,
    /// With `channel = "hybrid"`: messages to a rank before an exclusive channel to it is created.
    pub exclusive_after: u32,
    /// The library's instructions for a message by an exclusive channel, at either end, ns: beyond those of
    /// the shared channel.
    pub exclusive_ns: f64,
}

impl Default for ChannelsConfig {
    fn default() -> Self {
        ChannelsConfig {
            channel: Channel::Shared,
            path: DescriptorPath::Pio,
            connect: false,
            block_B: 8192,
            blocks: 64,
            pool: 1024,
            ring_buffers: 16,
            ring_buffer_B: 8192,
            exclusive_max: 16,
            exclusive_after: 64,
            exclusive_ns: 0.0,
        }
    }
}

impl ChannelsConfig {
    /// Refuses what cannot be.
    ///
    /// # Errors
    /// The first invalid value, with its key (`messaging.glex.…`) and what was expected.
    pub fn check(&self) -> Result<(), ConfigError> {
        let refuse =
            |key: &str, message: String| Err(ConfigError { key: format!("messaging.glex.{key}"), message });
        for (key, value, range) in [
            ("block_B", self.block_B, 64..=32_768),
            ("blocks", self.blocks, 1..=4096),
            ("pool", self.pool, 0..=8192),
            ("ring_buffers", self.ring_buffers, 1..=1024),
            ("ring_buffer_B", self.ring_buffer_B, 128..=32_768),
            ("exclusive_max", self.exclusive_max, 0..=1024),
            ("exclusive_after", self.exclusive_after, 0..=u32::MAX),
        ] {
            if !range.contains(&value) {
                let (least, most) = range.into_inner();
                return refuse(key, format!("expected {least} to {most}, found {value}"));
            }
        }
        if !(0.0..=1e9).contains(&self.exclusive_ns) {
            let found = self.exclusive_ns;
            return refuse("exclusive_ns", format!("expected a time from 0 to 1e9 ns, found {found}"));
        }
        Ok(())
    }
}
