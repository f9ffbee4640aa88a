//! The search for saturation, `[sweep.saturation]`: a bisection over the load for every combination of a
//! sweep's other parameters.
//!
//! The sweep's points at both ends of the range, and at loads between them that it has anyway, come first.
//! Then each round halves the range of every combination whose ends are further apart than the tolerance, by
//! one more point each; points of a round run side by side. Which points a round has depends on the results
//! of those before it alone, so a sweep that is resumed takes the same path.

use super::{Halt, Store};
use super::{Outcome, Point, point_at, run};
use crate::diagnose::Problem;
use crate::number::short;
use crate::resolve::{ResolvedStudy, SaturationConfig};
use crate::result::RunResult;
use crate::run::{Progress, ProgressSink, Simulate};
use crate::tree::{Tree, Value};

/// The result of the search for a combination of the other parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Saturation {
    /// The values of the sweep's parameters, without the load's.
    pub values: Vec<Tree>,
    /// The highest load at which the network keeps up, below the lowest at which it is saturated.
    pub keeps_up: Option<f64>,
    /// The lowest load at which it is saturated.
    pub saturated: Option<f64>,
}

impl Saturation {
    /// The saturation load: the highest load at which the network keeps up, where there is one at which it
    /// does not.
    pub fn load(&self) -> Option<f64> {
        self.saturated.and(self.keeps_up)
    }

    /// The same for people.
    pub fn description(&self) -> String {
        match (self.keeps_up, self.saturated) {
            (Some(load), Some(_)) => short(load),
            (Some(load), None) => format!("above {}", short(load)),
            (None, Some(load)) => format!("below {}", short(load)),
            // Traffic that ends, or packets that were lost: runs do not report saturation then.
            (None, None) => "undefined".into(),
        }
    }
}

/// The place of the load among the sweep's parameters.
pub fn load_axis(study: &ResolvedStudy) -> Option<usize> {
    let search = study.saturation.as_ref()?;
    study.axes.iter().position(|axis| axis.path == search.load)
}

/// The values of a point without that of its load.
pub fn without_load(values: &[Tree], load: usize) -> Vec<Tree> {
    let mut others = values.to_vec();
    others.remove(load);
    others
}

/// The results, by combination in the order of the sweep; empty for a sweep without a search.
pub fn found(study: &ResolvedStudy, outcomes: &[Outcome]) -> Vec<Saturation> {
    let (Some(search), Some(axis)) = (&study.saturation, load_axis(study)) else { return vec![] };
    let mut all: Vec<(Saturation, Vec<(f64, bool)>)> = vec![];
    for outcome in outcomes {
        let values = without_load(&outcome.point.values, axis);
        let at = all.iter().position(|(found, _)| found.values == values).unwrap_or_else(|| {
            all.push((Saturation { values, keeps_up: None, saturated: None }, vec![]));
            all.len() - 1
        });
        let verdict = outcome.result.as_ref().and_then(|result| is_saturated(search, result));
        all[at].1.extend(outcome.point.values[axis].number().zip(verdict));
    }
    let bracket = |(found, verdicts): (Saturation, Vec<(f64, bool)>)| {
        let saturated = verdicts.iter().filter(|v| v.1).map(|v| v.0).reduce(f64::min);
        let below = |load: &f64| saturated.is_none_or(|top| *load < top);
        let keeps_up = verdicts.iter().filter(|v| !v.1).map(|v| v.0).filter(below).reduce(f64::max);
        Saturation { keeps_up, saturated, ..found }
    };
    all.into_iter().map(bracket).collect()
}

/// Whether a run is saturated; `None` if its result does not show it.
fn is_saturated(search: &SaturationConfig, result: &RunResult) -> Option<bool> {
    let load = result.throughput.as_ref()?;
    match (search.accepted_fraction, load.offered) {
        (Some(fraction), Some(offered)) => Some(load.accepted < fraction * offered),
        _ => load.saturated,
    }
}

/// The points of the next round: the middle of every range that is longer than the tolerance.
fn next(study: &ResolvedStudy, outcomes: &[Outcome]) -> Vec<Vec<Tree>> {
    let (Some(search), Some(axis)) = (&study.saturation, load_axis(study)) else { return vec![] };
    let middle = |found: Saturation| {
        let (low, high) = (found.keeps_up?, found.saturated?);
        // Halves of halves need not meet the tolerance to the last bit.
        if high - low <= search.tolerance() * (1.0 + 1e-9) {
            return None;
        }
        let mut values = found.values;
        let load = rounded((low + high) / 2.0, search.tolerance());
        values.insert(axis, Tree { value: Value::Float(load), origin: None });
        // A run that does not show whether it is saturated ends the search.
        (!outcomes.iter().any(|outcome| outcome.point.values == values)).then_some(values)
    };
    found(study, outcomes).into_iter().filter_map(middle).collect()
}

/// A load without digits that the tolerance has no use for, so that people can read it.
fn rounded(load: f64, tolerance: f64) -> f64 {
    let unit = 10f64.powi(tolerance.log10().floor() as i32 - 2);
    let decimals = (-unit.log10()).round().max(0.0) as usize;
    format!("{:.decimals$}", (load / unit).round() * unit).parse().unwrap_or(load)
}

/// Runs the points of a sweep and then those of its search.
///
/// # Errors
/// A load that does not fit the study.
pub(super) fn search(
    study: &ResolvedStudy,
    points: Vec<Point>,
    simulator: &dyn Simulate,
    store: &dyn Store,
    progress: &dyn ProgressSink,
    threads: usize,
) -> Result<(Vec<Outcome>, Option<Halt>), Problem> {
    // One more than the range needs: loads are rounded, and the last range may be a little too long for that.
    let Some(last) = study.saturation.as_ref().map(|search| search.halvings() + 1) else {
        return Ok(run(points, simulator, store, progress, threads));
    };
    let rounds = f64::from(last + 1);
    let first = Round { outer: progress, before: Progress::default(), done: 0.0, rounds };
    let (mut outcomes, mut halt) = run(points, simulator, store, &first, threads);
    for round in 1..=last {
        let complete = outcomes.iter().all(|outcome| outcome.result.is_some());
        let values = next(study, &outcomes);
        if halt.is_some() || !complete || values.is_empty() {
            break;
        }
        let (begin, mut points) = (outcomes.len(), vec![]);
        for (i, values) in values.into_iter().enumerate() {
            points.push(point_at(study, values, begin + i)?);
        }
        let round = Round { outer: progress, before: simulated(&outcomes), done: round.into(), rounds };
        let (more, problem) = run(points, simulator, store, &round, threads);
        outcomes.extend(more);
        halt = problem;
    }
    in_order(study, &mut outcomes);
    Ok((outcomes, halt))
}

/// The simulated points of a sweep.
fn simulated(outcomes: &[Outcome]) -> Progress {
    let mut sum = Progress::default();
    for result in outcomes.iter().filter(|o| !o.kept).filter_map(|o| o.result.as_ref()) {
        sum.ticks += result.simulated.ticks;
        sum.packet_hops += result.totals.packet_hops;
    }
    sum
}

/// The points by the other parameters in the order of the sweep, and by rising load.
fn in_order(study: &ResolvedStudy, outcomes: &mut [Outcome]) {
    let Some(load) = load_axis(study) else { return };
    let place = |outcome: &Outcome| -> Vec<usize> {
        let others = study.axes.iter().zip(&outcome.point.values).enumerate().filter(|(i, _)| *i != load);
        others.map(|(_, (axis, value))| axis.values.iter().position(|v| v == value).unwrap_or(0)).collect()
    };
    let number = |outcome: &Outcome| outcome.point.values[load].number().unwrap_or_default();
    outcomes.sort_by(|a, b| place(a).cmp(&place(b)).then(number(a).total_cmp(&number(b))));
}

/// The same study with all loads that its points have, in rising order, among those that it sweeps over.
pub fn with_all_loads(study: &ResolvedStudy, outcomes: &[Outcome]) -> ResolvedStudy {
    let mut study = study.clone();
    let Some(axis) = load_axis(&study) else { return study };
    for outcome in outcomes {
        let load = &outcome.point.values[axis];
        if !study.axes[axis].values.contains(load) {
            study.axes[axis].values.push(load.clone());
        }
    }
    let number = |value: &Tree| value.number().unwrap_or_default();
    study.axes[axis].values.sort_by(|a, b| number(a).total_cmp(&number(b)));
    study
}

/// A round as a part of the whole search.
struct Round<'a> {
    outer: &'a dyn ProgressSink,
    before: Progress,
    done: f64,
    rounds: f64,
}

impl ProgressSink for Round<'_> {
    fn update(&self, progress: Progress) {
        self.outer.update(Progress {
            ticks: self.before.ticks + progress.ticks,
            fraction: progress.fraction.map(|fraction| (self.done + fraction) / self.rounds),
            packet_hops: self.before.packet_hops + progress.packet_hops,
        });
    }
    fn stop(&self) -> bool {
        self.outer.stop()
    }
    fn waits(&self, of_others: usize) {
        self.outer.waits(of_others);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_have_no_more_digits_than_the_tolerance_needs() {
        assert_eq!(rounded(0.398_437_499_999_999_94, 0.02), 0.3984);
        assert_eq!(rounded(0.1 + 0.2, 0.001), 0.3);
        assert_eq!(rounded(1234.5, 100.0), 1235.0);
    }

    #[test]
    fn a_range_is_described_by_its_known_ends() {
        let found = |keeps_up, saturated| Saturation { values: vec![], keeps_up, saturated };
        assert_eq!(
            (found(Some(0.5), Some(0.6)).load(), found(Some(0.5), Some(0.6)).description()),
            (Some(0.5), "0.5000".into())
        );
        assert_eq!(
            (found(Some(0.5), None).load(), found(Some(0.5), None).description()),
            (None, "above 0.5000".into())
        );
        assert_eq!(
            (found(None, Some(0.6)).load(), found(None, Some(0.6)).description()),
            (None, "below 0.6000".into())
        );
    }
}
