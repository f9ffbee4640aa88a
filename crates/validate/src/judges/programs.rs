//! Runs of a study at some points, and what they measure, for judges.

use super::Bench;
use netloom_study::claims;
use netloom_study::diagnose::{Problem, SourceFile};
use netloom_study::resolve::{ResolvedStudy, resolve};
use netloom_study::result::RunResult;
use netloom_study::sweep::{NoStore, Point, run_all};
use std::path::Path;

/// Runs of a study, each with changes to it, side by side: two runs on a thread each take less time than one
/// after the other on two. `None` for what did not run because the judge was stopped.
///
/// # Errors
/// A study with a mistake; what the simulator refuses; a run that did not come to its end.
fn run<S: AsRef<str>>(
    bench: &Bench,
    (path, text): (&str, &str),
    points: &[Vec<S>],
) -> Result<Vec<Option<(ResolvedStudy, RunResult)>>, Problem> {
    let point = |sets: &Vec<S>| {
        let mut sets: Vec<String> = sets.iter().map(|set| set.as_ref().into()).collect();
        sets.push("sweep={}".into());
        let study = resolve(SourceFile::new(path, text), Path::new("."), &sets)?;
        Ok(Point { name: sets.join(","), values: vec![], study })
    };
    let points = points.iter().map(point).collect::<Result<Vec<Point>, Problem>>()?;
    let Some(first) = points.first().map(|point| point.study.clone()) else { return Ok(vec![]) };
    let (outcomes, halt) = run_all(&first, points, bench.simulator, &NoStore, bench.progress, bench.threads)?;
    if let Some(halt) = halt {
        return Err(halt.problem);
    }
    let mut runs = vec![];
    for outcome in outcomes {
        if let (Some(why), false) =
            (outcome.result.as_ref().and_then(|result| result.partial.as_ref()), bench.progress.stop())
        {
            return Err(Problem::new(format!("{path}: {why}")));
        }
        runs.push(outcome.result.map(|result| (outcome.point.study, result)));
    }
    Ok(runs)
}

/// The rows that a study's program measured in each of some runs, which have changes to the study. Those that
/// take longest come first.
///
/// # Errors
/// A study with a mistake; what the simulator refuses; a run that did not come to its end.
pub fn rows_of_each<S: AsRef<str>>(
    bench: &Bench,
    study: (&str, &str),
    points: &[Vec<S>],
) -> Result<Vec<Vec<Vec<f64>>>, Problem> {
    let rows = |(_, result): (_, RunResult)| result.measured.into_iter().next().map(|table| table.rows);
    let runs = run(bench, study, points)?.into_iter();
    Ok(runs.map(|run| run.and_then(rows).unwrap_or_default()).collect())
}

/// The same of one run.
///
/// # Errors
/// The same.
pub fn rows(bench: &Bench, study: (&str, &str), sets: &[&str]) -> Result<Vec<Vec<f64>>, Problem> {
    Ok(rows_of_each(bench, study, &[sets.to_vec()])?.remove(0))
}

/// Figures of each of some runs, by the names that claims have for them. Those that take longest come first.
///
/// # Errors
/// The same, and a figure that a run does not have.
pub fn figures_of_each<const N: usize, S: AsRef<str>>(
    bench: &Bench,
    study: (&str, &str),
    points: &[Vec<S>],
    names: [&str; N],
) -> Result<Vec<[f64; N]>, Problem> {
    let figures = |run: Option<(ResolvedStudy, RunResult)>| {
        let mut figures = [f64::NAN; N];
        if let Some((resolved, result)) = run {
            for (figure, name) in figures.iter_mut().zip(names) {
                let why = |why| Problem::new(format!("{}: {why}", study.0));
                *figure = claims::figure(&resolved, &result, name).map_err(why)?;
            }
        }
        Ok(figures)
    };
    run(bench, study, points)?.into_iter().map(figures).collect()
}

/// Figures of one run.
///
/// # Errors
/// The same.
pub fn figures<const N: usize>(
    bench: &Bench,
    study: (&str, &str),
    sets: &[&str],
    names: [&str; N],
) -> Result<[f64; N], Problem> {
    Ok(figures_of_each(bench, study, &[sets.to_vec()], names)?.remove(0))
}
