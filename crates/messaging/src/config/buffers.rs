//! Configuration of Cray MPI's buffers on Aries NICs.

use netloom_fabric::config::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How MPI on Aries NICs sends eager messages: short ones into mailboxes, others through registered buffers
/// at either end. Defaults are Cray MPI's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[allow(non_snake_case)]
pub struct BuffersConfig {
    /// Data of the longest short message, which is put into a mailbox, bytes. If omitted: 8152 up to 512
    /// processes, 2008 up to 1024, 472 up to 16,384, and 216 for more of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub short_max_B: Option<u32>,
    /// Buffers of a process for sending, and as many for receiving.
    pub buffers: u32,
    /// Such a buffer, bytes: longer messages are divided.
    pub buffer_B: u32,
    /// Longest get by FMA, bytes: longer ones by the block transfer engine.
    pub fma_max_B: u32,
}

impl Default for BuffersConfig {
    fn default() -> Self {
        BuffersConfig { short_max_B: None, buffers: 64, buffer_B: 32_768, fma_max_B: 1024 }
    }
}

impl BuffersConfig {
    /// Refuses what cannot be.
    ///
    /// # Errors
    /// The first invalid value, with its key (`messaging.gni.…`) and what was expected.
    pub fn check(&self) -> Result<(), ConfigError> {
        for (key, value, range) in [
            ("short_max_B", self.short_max_B.unwrap_or(64), 64..=65_536),
            ("buffers", self.buffers, 1..=4096),
            ("buffer_B", self.buffer_B, 64..=32_768),
            ("fma_max_B", self.fma_max_B, 0..=65_536),
        ] {
            if !range.contains(&value) {
                let (key, (least, most)) = (format!("messaging.gni.{key}"), range.into_inner());
                return Err(ConfigError {
                    key,
                    message: format!("expected {least} to {most}, found {value}"),
                });
            }
        }
        Ok(())
    }
}
