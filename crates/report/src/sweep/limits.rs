//! What limits the points of a sweep: the sentences that their own pages begin with, of all points or of those that stand out.

use super::table::RUN_TIME;
use super::{Outcome, columns};
use crate::limits;
use netloom_study::result::RunResult;
use std::path::Path;

/// Most points that are all told of.
const ALL_MAX: usize = 24;
/// Saturated points that are told of where there are more.
const SATURATED_MAX: usize = 8;
/// Sentences of a point, the most important.
const SENTENCES: usize = 2;

/// What limits a point.
pub(super) struct Limited<'a> {
    /// The point.
    pub outcome: &'a Outcome,
    /// Why it was chosen; empty where all points are told of.
    pub why: &'static str,
    /// The sentences.
    pub text: String,
}

/// What limits the points: all of them if they are few, else the best, the worst and the first saturated ones.
pub(super) fn of<'a>(outcomes: &'a [Outcome], folder: &Path) -> Vec<Limited<'a>> {
    let ran: Vec<(&Outcome, &RunResult)> =
        outcomes.iter().filter_map(|o| Some((o, o.result.as_ref()?))).collect();
    let chosen =
        if ran.len() <= ALL_MAX { ran.iter().map(|(o, _)| (*o, "")).collect() } else { standing_out(&ran) };
    let told = |(outcome, why): (&'a Outcome, &'static str)| {
        let text = sentences(outcome, folder).join(" ");
        (!text.is_empty()).then_some(Limited { outcome, why, text })
    };
    chosen.into_iter().filter_map(told).collect()
}

/// The best and the worst point by run time, or else by total latency, and saturated ones, each once and in the order of the sweep.
fn standing_out<'a>(ran: &[(&'a Outcome, &'a RunResult)]) -> Vec<(&'a Outcome, &'static str)> {
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
    let saturated = ran.iter().enumerate().filter(|(_, (_, result))| is_saturated(result)).map(|(i, _)| i);
    let saturated: Vec<usize> = saturated.take(SATURATED_MAX).collect();
    let why = |i: usize| match i {
        i if Some(i) == best => Some("best"),
        i if Some(i) == worst => Some("worst"),
        i if saturated.contains(&i) => Some("saturated"),
        _ => None,
    };
    ran.iter().enumerate().filter_map(|(i, (outcome, _))| Some((*outcome, why(i)?))).collect()
}

/// The first sentences of a point: those that its folder has, since a point that an earlier sweep stored is read without its links, or
/// else of its result.
fn sentences(outcome: &Outcome, folder: &Path) -> Vec<String> {
    let stored = || -> Option<Vec<String>> {
        let file = folder.join("points").join(&outcome.point.name).join("summary.json");
        let summary: serde_json::Value = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
        let all = summary.get("limits")?.as_array()?;
        Some(all.iter().filter_map(|finding| Some(finding.get("text")?.as_str()?.to_owned())).collect())
    };
    let simulated = || {
        let findings =
            outcome.result.iter().flat_map(|result| limits::findings(&outcome.point.study, result));
        findings.map(|finding| finding.text).collect()
    };
    let mut all: Vec<String> = stored().unwrap_or_else(simulated);
    all.truncate(SENTENCES);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use netloom_study::result::{LinkSummary, Throughput};

    /// Points of which latency falls with their number, the last three of them saturated.
    fn points(count: usize) -> Vec<Outcome> {
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
        super::super::points(&study).unwrap().into_iter().enumerate().map(outcome).collect()
    }

    #[test]
    fn few_points_are_all_told_of() {
        let outcomes = points(5);
        let limited = of(&outcomes, Path::new("nowhere"));
        assert_eq!(limited.len(), 5);
        assert!(limited.iter().all(|one| one.why.is_empty()));
        assert!(limited[0].text.contains("keeps up. No link is busier than 20.0%"), "{}", limited[0].text);
        assert!(limited[4].text.starts_with("The network is saturated"), "{}", limited[4].text);
    }

    #[test]
    fn of_many_points_those_that_stand_out() {
        let outcomes = points(ALL_MAX + 1);
        let limited = of(&outcomes, Path::new("nowhere"));
        let why: Vec<&str> = limited.iter().map(|one| one.why).collect();
        assert_eq!(why, ["worst", "saturated", "saturated", "best"]);
        assert_eq!(limited[0].outcome.point.name, "seed=1");
    }
}
