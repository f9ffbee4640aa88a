//! Several jobs side by side: all of them together, then each alone on the same nodes.

use netloom_study::diagnose::Problem;
use netloom_study::resolve::ResolvedStudy;
use netloom_study::result::RunResult;
use netloom_study::study::Until;
use netloom_workload::config::{JobsConfig, WorkloadConfig};

/// The jobs of a study, if it has several side by side.
pub(super) fn of(study: &ResolvedStudy) -> Option<&JobsConfig> {
    match &study.study.workload {
        WorkloadConfig::Jobs(jobs) => Some(jobs),
        _ => None,
    }
}

/// Runs a study and, if it requires that, each of its jobs alone, whose figures are put beside those among
/// the others. `run` runs all jobs, or only one of them.
pub(super) fn each_alone(
    study: &ResolvedStudy,
    run: impl Fn(&ResolvedStudy, Option<usize>) -> Result<RunResult, Problem>,
) -> Result<RunResult, Problem> {
    let mut result = run(study, None)?;
    let Some(jobs) = of(study).filter(|jobs| jobs.alone && jobs.jobs.len() > 1) else { return Ok(result) };
    for number in 0..jobs.jobs.len() {
        if result.partial.is_some() {
            break;
        }
        // Beside programs, traffic continues until they end.
        let ends_with_others = jobs.has_programs() && !jobs.jobs[number].is_program();
        let alone = match ends_with_others && study.study.measure.until() == Until::Finished {
            true => run(&until(study, result.simulated.us), Some(number))?,
            false => run(study, Some(number))?,
        };
        let job = &mut result.jobs[number];
        match alone.partial {
            Some(reason) => {
                result.partial = Some(format!("{} alone: {reason}", job.name));
                result.simulated.ended = alone.simulated.ended;
            }
            None => job.put_alone(&alone.jobs[number]),
        }
    }
    Ok(result)
}

/// The same study until a time, us.
fn until(study: &ResolvedStudy, us: f64) -> ResolvedStudy {
    let mut study = study.clone();
    study.study.measure.until = Some(Until::Time);
    study.study.measure.time_us = Some(us);
    study
}
