//! What programs on network interfaces of machines of switches measure, for judges.

use super::Bench;
use netloom_study::diagnose::{Problem, SourceFile};
use netloom_study::resolve::resolve;
use std::path::Path;

/// The rows that a study's program measured, at one point, with changes to the study.
///
/// # Errors
/// A study with a mistake; what the simulator refuses; a run that did not come to its end.
pub fn rows(bench: &Bench, (path, text): (&str, &str), sets: &[&str]) -> Result<Vec<Vec<f64>>, Problem> {
    let mut sets: Vec<String> = sets.iter().map(|&s| s.into()).collect();
    sets.push("sweep={}".into());
    let study = resolve(SourceFile::new(path, text), Path::new("."), &sets)?;
    let result = bench.simulator.simulate(&study, bench.progress, bench.threads)?;
    if let (Some(why), false) = (&result.partial, bench.progress.stop()) {
        return Err(Problem::new(format!("{path}: {why}")));
    }
    Ok(result.measured.into_iter().next().map(|table| table.rows).unwrap_or_default())
}
