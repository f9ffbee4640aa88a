//! What benchmarks on network interfaces have in common, whatever the interface: what they refuse, and the figures that their processes
//! noted.

use crate::ConfigError;
use netloom_node::process::Measurement;
use std::collections::HashMap;

/// What each process noted: node, process, figures.
pub type Measurements = [(u32, u32, Vec<Measurement>)];

/// Refuses a value of a key.
pub(crate) fn refuse<T>(key: &str, message: &str) -> Result<T, ConfigError> {
    Err(ConfigError { key: key.into(), message: message.into() })
}

/// Refuses a partner that the machine has not.
pub(crate) fn check_partner(to: u32, nodes: u32) -> Result<(), ConfigError> {
    if to == 0 || to >= nodes {
        return Err(ConfigError {
            key: "to".into(),
            message: format!("expected a node other than 0 of {nodes}, found {to}"),
        });
    }
    Ok(())
}

/// The figures of a kind that were noted, in order.
pub(crate) fn of(measurements: &Measurements, kind: u64) -> impl Iterator<Item = f64> {
    let all = measurements.iter().flat_map(|(_, _, measurements)| measurements);
    all.filter(move |n| n.key == kind).map(|n| n.value as f64)
}

/// From the first of the measurements of a kind to the last of another, seconds, of which one has so many microticks.
pub(crate) fn span(measurements: &Measurements, (begin, end): (u64, u64), second: f64) -> f64 {
    let first = of(measurements, begin).fold(f64::INFINITY, f64::min);
    (of(measurements, end).fold(0.0, f64::max) - first) / second
}

/// When the ranks of a program set their marks ([`crate::program::Operation::Mark`]).
pub struct Marks {
    at: Vec<HashMap<u64, f64>>,
}

impl Marks {
    /// Of marks as (rank, key, time), of so many ranks; a second is so many units of time.
    pub fn new(ranks: u32, marks: impl IntoIterator<Item = (u32, u64, u64)>, second: f64) -> Marks {
        let mut at = vec![HashMap::new(); ranks as usize];
        for (rank, key, time) in marks {
            at[rank as usize].insert(key, time as f64 / second);
        }
        Marks { at }
    }

    /// When a rank set a mark, seconds; not a number where it has not.
    pub fn seconds(&self, rank: u32, key: u64) -> f64 {
        self.at[rank as usize].get(&key).copied().unwrap_or(f64::NAN)
    }
}
