//! Runs of a study at one point, and what they measure, for judges.

use super::Bench;
use netloom_study::claims;
use netloom_study::diagnose::{Problem, SourceFile};
use netloom_study::resolve::{ResolvedStudy, resolve};
use netloom_study::result::RunResult;
use std::path::Path;

/// A run of a study at one point, with changes to it.
///
/// # Errors
/// A study with a mistake; what the simulator refuses; a run that did not come to its end.
fn run(
    bench: &Bench,
    (path, text): (&str, &str),
    sets: &[&str],
) -> Result<(ResolvedStudy, RunResult), Problem> {
    let mut sets: Vec<String> = sets.iter().map(|&s| s.into()).collect();
    sets.push("sweep={}".into());
    let study = resolve(SourceFile::new(path, text), Path::new("."), &sets)?;
    let result = bench.simulator.simulate(&study, bench.progress, bench.threads)?;
    if let (Some(why), false) = (&result.partial, bench.progress.stop()) {
        return Err(Problem::new(format!("{path}: {why}")));
    }
    Ok((study, result))
}

/// The rows that a study's program measured, at one point, with changes to the study.
///
/// # Errors
/// A study with a mistake; what the simulator refuses; a run that did not come to its end.
pub fn rows(bench: &Bench, study: (&str, &str), sets: &[&str]) -> Result<Vec<Vec<f64>>, Problem> {
    let (_, result) = run(bench, study, sets)?;
    Ok(result.measured.into_iter().next().map(|table| table.rows).unwrap_or_default())
}

/// Figures of one such run, by the names that claims have for them.
///
/// # Errors
/// The same, and a figure that the run does not have.
pub fn figures<const N: usize>(
    bench: &Bench,
    study: (&str, &str),
    sets: &[&str],
    names: [&str; N],
) -> Result<[f64; N], Problem> {
    let (resolved, result) = run(bench, study, sets)?;
    let mut figures = [f64::NAN; N];
    for (figure, name) in figures.iter_mut().zip(names) {
        let why = |why| Problem::new(format!("{}: {why}", study.0));
        *figure = claims::figure(&resolved, &result, name).map_err(why)?;
    }
    Ok(figures)
}
