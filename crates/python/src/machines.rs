//! Machines listed, shown and described.

use crate::errors::{Kind, OrRaise};
use netloom_study::diagnose::Problem;
use netloom_study::machine::{self, BUILT_IN};
use netloom_study::resolve::load_machine;
use pyo3::prelude::*;
use std::path::Path;

/// The built-in machines: name, title, shape and nodes of each.
#[pyfunction]
pub fn machines(py: Python) -> PyResult<Vec<(String, String, String, u64)>> {
    let of = |name: &str| {
        let m = load_machine(name, &[])?;
        Ok((m.name().to_owned(), m.title().to_owned(), m.shape(), m.nodes()))
    };
    BUILT_IN.iter().map(|(name, _)| of(name)).collect::<Result<_, Problem>>().or_raise(py, Kind::Study)
}

/// The TOML text of a machine by name or path, and the same as JSON.
#[pyfunction]
pub fn machine_source(py: Python, name: &str) -> PyResult<(String, String)> {
    // Mistakes are reported in their place.
    let read = load_machine(name, &[]).and_then(|_| machine::machine_source(name, Path::new(".")));
    let source = read.or_raise(py, Kind::Study)?;
    let value: serde_json::Value = toml::from_str(&source.text).expect("it was read before");
    Ok((source.text.clone(), value.to_string()))
}

/// What a machine has, with changes, as JSON: `machine` and `facts`.
#[pyfunction]
pub fn machine_facts(py: Python, name: &str, sets: Vec<String>) -> PyResult<String> {
    let m = load_machine(name, &sets).or_raise(py, Kind::Study)?;
    Ok(serde_json::json!({ "machine": m, "facts": m.facts() }).to_string())
}
