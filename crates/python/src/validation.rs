//! Published figures beside simulated ones.

use crate::errors::{Kind, OrRaise};
use crate::runs::SIMULATOR;
use crate::watch::{Listener, Watch, watched};
use netloom_study::diagnose::Problem;
use netloom_study::run::threads_here;
use netloom_validate::Observer;
use netloom_validate::judges::{Bench, judges};
use netloom_validate::published::Entry;
use pyo3::prelude::*;

/// Shows what is judged.
struct Shown<'a>(&'a Watch);

impl Observer for Shown<'_> {
    fn begins(&mut self, table: &str) {
        self.0.set_text(&format!("judging {table}"));
    }

    fn judged(&mut self, table: &str, _: &[Entry], seconds: f64, _: &[&str]) -> Result<(), Problem> {
        self.0.set_text(&format!("{table} took {seconds:.0} s"));
        Ok(())
    }
}

/// Compares published figures with simulated ones: the entries as JSON, and the exception that stopped it, if
/// one did. `what` is a paper, a table or an entry; all if omitted.
#[pyfunction]
#[pyo3(signature = (what, quick, threads, progress))]
pub fn validate(
    py: Python,
    what: Option<String>,
    quick: bool,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, Option<PyErr>)> {
    let threads = threads.unwrap_or_else(threads_here);
    let listener = Listener { callable: progress, us_per_tick: 0.0 };
    let (entries, stopped) = watched(py, &listener, move |watch| {
        let bench = Bench { simulator: &SIMULATOR, progress: watch, threads, quick };
        netloom_validate::run(&judges(), what.as_deref(), &bench, &mut Shown(watch))
    })?;
    let entries = entries.or_raise(py, Kind::Study)?;
    let json = serde_json::to_string(&entries).expect("entries are plain data");
    Ok((json, stopped))
}
