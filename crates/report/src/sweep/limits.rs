//! The bottlenecks of the points of a sweep: the sentences that their own pages begin with, of all points or
//! of those that stand out.

use super::table::RUN_TIME;
use super::{Outcome, columns};
use crate::limits;
use netloom_study::resolve::ResolvedStudy;
use netloom_study::result::RunResult;
use netloom_study::sweep::saturation::{Saturation, found, load_axis, without_load};
use std::path::Path;

/// Maximum number of points that are all described.
const ALL_MAX: usize = 24;
/// Saturated points that are described where there are more.
const SATURATED_MAX: usize = 8;
/// The subject of a point's sentences: its bottleneck, not the distribution of its load.
const ABOUT: [&str; 4] = ["programs", "load", "links", "buffers"];

/// The bottleneck of a point.
pub(super) struct Limited<'a> {
    /// The point.
    pub outcome: &'a Outcome,
    /// Why it was chosen; empty where all points are described.
    pub why: &'static str,
    /// The sentences.
    pub text: String,
}

/// The bottlenecks of the points: all of them if they are few, else the best, the worst and some saturated
/// ones.
pub(super) fn of<'a>(study: &ResolvedStudy, outcomes: &'a [Outcome], folder: &Path) -> Vec<Limited<'a>> {
    let ran: Vec<(&Outcome, &RunResult)> =
        outcomes.iter().filter_map(|o| Some((o, o.result.as_ref()?))).collect();
    let chosen = if ran.len() <= ALL_MAX {
        ran.iter().map(|(o, _)| (*o, "")).collect()
    } else {
        standing_out(study, &ran, &found(study, outcomes))
    };
    let reported = |(outcome, why): (&'a Outcome, &'static str)| {
        let text = sentences(outcome, folder).join(" ");
        (!text.is_empty()).then_some(Limited { outcome, why, text })
    };
    chosen.into_iter().filter_map(reported).collect()
}

/// The best and the worst point by run time, or else by total latency, and saturated ones, each once and in
/// the order of the sweep. Of a search, those are saturated ones that it ended at; of many, some that are
/// spread over the sweep.
fn standing_out<'a>(
    study: &ResolvedStudy,
    ran: &[(&'a Outcome, &'a RunResult)],
    searched: &[Saturation],
) -> Vec<(&'a Outcome, &'static str)> {
    let figure = |result: &RunResult| {
        let all = columns(result);
        let of =
            |name: &str| all.iter().find(|c| c.0 == name).map(|c| c.1).filter(|x| x.is_finite() && *x > 0.0);
        of(RUN_TIME).or_else(|| of("total_latency_mean_ns"))
    };
    let measured: Vec<(usize, f64)> =
        ran.iter().enumerate().filter_map(|(i, (_, result))| Some((i, figure(result)?))).collect();
    let best = measured.iter().min_by(|a, b| a.1.total_cmp(&b.1)).map(|m| m.0);
    let worst = measured.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|m| m.0);
    let is_saturated =
        |result: &RunResult| result.throughput.as_ref().is_some_and(|t| t.saturated == Some(true));
    let ended = |outcome: &Outcome| {
        let Some(load) = load_axis(study) else { return true };
        let values = without_load(&outcome.point.values, load);
        let at = outcome.point.values[load].number();
        searched.iter().any(|found| found.values == values && found.saturated == at)
    };
    let saturated: Vec<usize> =
        (0..ran.len()).filter(|&i| is_saturated(ran[i].1) && ended(ran[i].0)).collect();
    let step = saturated.len().div_ceil(SATURATED_MAX).max(1);
    let saturated: Vec<usize> = saturated.into_iter().step_by(step).collect();
    let why = |i: usize| match i {
        i if Some(i) == best => Some("best"),
        i if Some(i) == worst => Some("worst"),
        i if saturated.contains(&i) => Some("saturated"),
        _ => None,
    };
    ran.iter().enumerate().filter_map(|(i, (outcome, _))| Some((*outcome, why(i)?))).collect()
}

/// The main sentences of a point: those that its folder has, since a point that an earlier sweep stored is
/// read without its links, or else of its result.
fn sentences(outcome: &Outcome, folder: &Path) -> Vec<String> {
    let stored = || -> Option<Vec<String>> {
        let file = folder.join("points").join(&outcome.point.name).join("summary.json");
        let summary: serde_json::Value = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
        let is_main = |finding: &&serde_json::Value| ABOUT.iter().any(|about| finding["about"] == *about);
        let all = summary.get("limits")?.as_array()?.iter().filter(is_main);
        Some(all.filter_map(|finding| Some(finding.get("text")?.as_str()?.to_owned())).collect())
    };
    let simulated = || {
        let findings =
            outcome.result.iter().flat_map(|result| limits::findings(&outcome.point.study, result));
        findings.filter(|finding| ABOUT.contains(&finding.about)).map(|finding| finding.text).collect()
    };
    stored().filter(|all| !all.is_empty()).unwrap_or_else(simulated)
}

#[cfg(test)]
mod tests {
    use super::*;
    use netloom_study::result::{LinkSummary, Throughput};

    /// Points of which latency falls with their number, the last three of them saturated.
    fn points(count: usize) -> (ResolvedStudy, Vec<Outcome>) {
        let seeds: Vec<String> = (1..=count).map(|seed| seed.to_string()).collect();
        let sweep = format!("sweep={{ seed = [{}] }}", seeds.join(", "));
        let study =
            netloom_study::resolve::load("all-to-all", &["topology.dims=[4,4,2]".into(), sweep]).unwrap();
        let outcome = |(i, point)| {
            let throughput = Throughput {
                offered: Some(2.0),
                accepted: 1.0,
                saturated: Some(i + 3 >= count),
                ..Throughput::default()
            };
            let links = LinkSummary { count: 1, max_utilization: 0.2, ..LinkSummary::default() };
            let mut result = RunResult { throughput: Some(throughput), links, ..RunResult::default() };
            result.simulated.ticks = 1;
            result.latency.total.mean_ns = (1000 - i) as f64;
            Outcome { point, result: Some(result), kept: false }
        };
        let outcomes = super::super::points(&study).unwrap().into_iter().enumerate().map(outcome).collect();
        (study, outcomes)
    }

    #[test]
    fn few_points_are_all_listed() {
        let (study, outcomes) = points(5);
        let limited = of(&study, &outcomes, Path::new("nowhere"));
        assert_eq!(limited.len(), 5);
        assert!(limited.iter().all(|one| one.why.is_empty()));
        assert!(limited[0].text.contains("keeps up. No link is busier than 20.0%"), "{}", limited[0].text);
        assert!(limited[4].text.starts_with("The network is saturated"), "{}", limited[4].text);
    }

    #[test]
    fn of_many_points_those_that_stand_out() {
        let (study, outcomes) = points(ALL_MAX + 1);
        let limited = of(&study, &outcomes, Path::new("nowhere"));
        let why: Vec<&str> = limited.iter().map(|one| one.why).collect();
        assert_eq!(why, ["worst", "saturated", "saturated", "best"]);
        assert_eq!(limited[0].outcome.point.name, "seed=1");
    }
}
