//! The cores of a node, and their hardware threads, which share a core's issue slots.

use crate::process::ProcessId;
use crate::time::Microticks;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Configuration of a node's cores. Processes are distributed over the cores first, and only then over
/// hardware threads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CoresConfig {
    /// CPUs per node. The first is the closest to the network interface.
    pub cpus: u32,
    /// Cores per CPU.
    pub per_cpu: u32,
    /// Hardware threads per core that run at full speed together. More threads share its issue slots equally.
    pub full_speed_threads: u32,
}

impl CoresConfig {
    /// Its values with their keys and limits.
    pub fn limits(&self) -> [(&'static str, u64, u64, u64); 3] {
        [
            ("cores.cpus", self.cpus.into(), 1, 64),
            ("cores.per_cpu", self.per_cpu.into(), 1, 1 << 10),
            ("cores.full_speed_threads", self.full_speed_threads.into(), 1, 64),
        ]
    }

    /// Number of cores of the node.
    pub fn count(&self) -> usize {
        (self.cpus * self.per_cpu) as usize
    }

    /// The CPU on which a process runs.
    pub fn cpu(&self, process: ProcessId) -> u32 {
        u32::from(process) / self.per_cpu % self.cpus
    }

    /// The duration of a software step on one of `threads` threads that share a core when it starts; alone it
    /// would take `alone`.
    pub fn shared(&self, alone: Microticks, threads: usize) -> Microticks {
        let (threads, at_full_speed) = (threads as u64, u64::from(self.full_speed_threads));
        if threads <= at_full_speed { alone } else { alone * threads / at_full_speed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_a_core_get_equal_parts() {
        let cores = CoresConfig { cpus: 2, per_cpu: 8, full_speed_threads: 2 };
        assert_eq!((cores.count(), [0, 7, 8, 15, 16].map(|p| cores.cpu(p))), (16, [0, 0, 1, 1, 0]));
        let time = Microticks(100);
        assert_eq!([1, 2, 3, 4].map(|threads| cores.shared(time, threads).0), [100, 100, 150, 200]);
    }
}
