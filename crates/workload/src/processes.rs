//! Common parts of the benchmarks on network interfaces: checks, and access to the processes' measurements.

use crate::ConfigError;
use netloom_node::process::Measurement;
use std::collections::HashMap;

/// The measurements of each process: node, process, values.
pub type Measurements = [(u32, u32, Vec<Measurement>)];

/// Rejects a value of a key.
pub(crate) fn refuse<T>(key: &str, message: &str) -> Result<T, ConfigError> {
    Err(ConfigError { key: key.into(), message: message.into() })
}

/// Checks that the machine has this partner.
pub(crate) fn check_partner(to: u32, nodes: u32) -> Result<(), ConfigError> {
    if to == 0 || to >= nodes {
        return Err(ConfigError {
            key: "to".into(),
            message: format!("expected a node other than 0 of {nodes}, found {to}"),
        });
    }
    Ok(())
}

/// The values of a kind, in order.
pub(crate) fn of(measurements: &Measurements, kind: u64) -> impl Iterator<Item = f64> {
    let all = measurements.iter().flat_map(|(_, _, measurements)| measurements);
    all.filter(move |n| n.key == kind).map(|n| n.value as f64)
}

/// Time from the first measurement of a kind to the last of another, seconds; `second` has the microticks per
/// second.
pub(crate) fn span(measurements: &Measurements, (begin, end): (u64, u64), second: f64) -> f64 {
    let first = of(measurements, begin).fold(f64::INFINITY, f64::min);
    (of(measurements, end).fold(0.0, f64::max) - first) / second
}

/// The times of the ranks' marks ([`crate::program::Operation::Mark`]).
pub struct Marks {
    at: Vec<HashMap<u64, f64>>,
}

impl Marks {
    /// From marks as (rank, key, time), with `second` units of time per second.
    pub fn new(ranks: u32, marks: impl IntoIterator<Item = (u32, u64, u64)>, second: f64) -> Marks {
        let mut at = vec![HashMap::new(); ranks as usize];
        for (rank, key, time) in marks {
            at[rank as usize].insert(key, time as f64 / second);
        }
        Marks { at }
    }

    /// The time of a rank's mark, seconds; NaN if it has not set it.
    pub fn seconds(&self, rank: u32, key: u64) -> f64 {
        self.at[rank as usize].get(&key).copied().unwrap_or(f64::NAN)
    }
}
