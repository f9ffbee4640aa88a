//! The table of a sweep: the figures of each point, for programs (`sweep.json`, `sweep.parquet`) and for
//! people.

use super::{Outcome, saturation, shown, where_time_goes};
use crate::write::tables::{Column, Table};
use netloom_study::number::{percent, short};
use netloom_study::resolve::ResolvedStudy;
use netloom_study::result::{Column as MeasuredColumn, Ended, JobFigures, MeasuredTable, RunResult};
use netloom_study::sweep::saturation as search;
use netloom_study::tree::Tree;
use std::borrow::Cow;

/// By how much jobs are slowed down, the first of them.
const SLOWDOWNS: [&str; 4] =
    ["slowdown_of_job_1", "slowdown_of_job_2", "slowdown_of_job_3", "slowdown_of_job_4"];

/// When the last rank ended, us; of programs that finished.
pub(super) const RUN_TIME: &str = "run_time_us";
/// 1 where the network accepts less than is offered, else 0.
pub(super) const SATURATED: &str = "saturated";
/// The result of a search for saturation: the highest load at which the network keeps up.
pub(super) const SATURATION_LOAD: &str = "saturation_load";

/// The figures of a point that the sweep's table shows: column name and value. Results of machines of one
/// kind have the same columns, except those that only some measure.
pub fn columns(result: &RunResult) -> Vec<(Cow<'static, str>, f64)> {
    let own = own_columns(result).into_iter().map(|(name, value)| (Cow::Borrowed(name), value));
    own.chain(result.measured_figures().into_iter().map(|(key, value)| (key.into(), value))).collect()
}

/// Those that are the same for all workloads.
fn own_columns(result: &RunResult) -> Vec<(&'static str, f64)> {
    let (links, network) = (&result.links, &result.latency.network);
    let us = result.simulated.us.max(1e-12);
    let mut all = vec![];
    all.extend(result.simulated.run_time_us.map(|us| (RUN_TIME, us)));
    if let Some(p) = &result.programs {
        all.extend(where_time_goes::PARTS.iter().map(|(name, _, of)| (*name, of(p))));
    }
    if let Some(t) = &result.throughput {
        let [offered, accepted, half] = t.columns();
        all.push((offered, t.offered.unwrap_or(f64::NAN)));
        all.push((accepted, t.accepted));
        all.push((half, t.accepted_half_width_95.unwrap_or(f64::NAN)));
        all.push((SATURATED, t.saturated.map_or(f64::NAN, |s| f64::from(u8::from(s)))));
    }
    all.push(("mean_utilization", links.mean_utilization));
    all.extend(links.torus.iter().map(|t| ("payload_utilization", t.payload_utilization)));
    all.extend([
        ("max_utilization", links.max_utilization),
        ("latency_mean_ns", network.mean_ns),
        ("latency_p50_ns", network.p50_ns),
        ("latency_p99_ns", network.p99_ns),
        ("total_latency_mean_ns", result.latency.total.mean_ns),
        ("total_latency_p99_ns", result.latency.total.p99_ns),
        ("payload_bytes_per_us", result.totals.payload_bytes as f64 / us),
    ]);
    if let Some(t) = &result.torus {
        all.push(("escape_share", t.escape_share));
        all.push(("dynamic_buffer_fraction", t.occupancy.fraction.dynamic));
    }
    if let Some(s) = &result.switched {
        let global = s.global().cloned().unwrap_or_default();
        let rates = [
            ("offered_flits_per_tick", s.offered_flits_per_tick.unwrap_or(f64::NAN)),
            ("accepted_flits_per_tick", s.accepted_flits_per_tick),
        ];
        for (name, value) in rates {
            // Over the whole measured span, with the answers.
            match all.iter_mut().find(|column| column.0 == name) {
                Some(column) => column.1 = value,
                None => all.push((name, value)),
            }
        }
        all.extend([
            ("accepted_payload_GB_per_s", s.accepted_payload_GB_per_s),
            ("hops_mean", s.hops_mean),
            ("nonminimal_share", s.nonminimal_share),
            ("global_mean_utilization", global.mean_utilization),
            ("global_max_utilization", global.max_utilization),
        ]);
        all.extend(s.bound_flits_per_tick.map(|bound| ("bound_flits_per_tick", bound)));
        all.extend(s.reordering.iter().map(|r| ("reordered_share", r.reordered_share)));
    }
    all.extend(SLOWDOWNS.into_iter().zip(result.jobs.iter().filter_map(JobFigures::slowdown)));
    all.push(("simulated_us", result.simulated.us));
    all.push(("packets_delivered", result.totals.packets_delivered as f64));
    all
}

/// The contents of `sweep.parquet` and `sweep.csv`: a row for each point that has run.
pub(super) fn columns_of(study: &ResolvedStudy, outcomes: &[Outcome]) -> Table {
    let done: Vec<(&Outcome, &RunResult)> =
        outcomes.iter().filter_map(|o| Some((o, o.result.as_ref()?))).collect();
    let mut table = Table::default();
    for (i, axis) in study.axes.iter().enumerate() {
        let values: Vec<&Tree> = done.iter().map(|(o, _)| &o.point.values[i]).collect();
        let numbers: Option<Vec<f64>> = values.iter().map(|v| v.number()).collect();
        let name = axis.path.replace('.', "_");
        table.0.push((
            name,
            numbers.map_or_else(|| Column::Texts(values.iter().map(|v| shown(v)).collect()), Column::Numbers),
        ));
    }
    let texts = |of: &dyn Fn(&Outcome, &RunResult) -> String| {
        Column::Texts(done.iter().map(|(o, r)| of(o, r)).collect())
    };
    table.0.push(("ended".into(), texts(&|_, r| r.simulated.ended.word())));
    let mut names: Vec<Cow<str>> = vec![];
    for (name, _) in done.iter().flat_map(|(_, r)| columns(r)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let figures: Vec<_> = done.iter().map(|(_, r)| columns(r)).collect();
    for name in &names {
        // Not all points have all columns: some measure more.
        let values = figures.iter().map(|all| all.iter().find(|c| c.0 == *name).map_or(f64::NAN, |c| c.1));
        let column = match &**name {
            SATURATED => Column::Flags(values.map(flag).collect()),
            _ => Column::Numbers(values.collect()),
        };
        table.0.push((name.clone().into_owned(), column));
    }
    if let axis @ Some(_) = search::load_axis(study) {
        let found = search::found(study, outcomes);
        let loads = done.iter().map(|(o, _)| saturation::load_of(&found, axis, o).unwrap_or(f64::NAN));
        table.0.push((SATURATION_LOAD.into(), Column::Numbers(loads.collect())));
    }
    table.0.push(("warnings".into(), texts(&|_, r| remarks(r).join("; "))));
    table.0.push(("folder".into(), texts(&|o, _| folder(o))));
    table
}

/// A figure that is 1 or 0, or no number where it is not defined.
pub(super) fn flag(value: f64) -> Option<bool> {
    value.is_finite().then_some(value > 0.0)
}

/// The folder of a point, relative to the sweep's.
pub(super) fn folder(outcome: &Outcome) -> String {
    format!("points/{}", outcome.point.name)
}

/// Why a point is not complete, and what a reader must know before its figures are used.
pub(super) fn remarks(result: &RunResult) -> Vec<String> {
    result.partial.iter().chain(&result.warnings).cloned().collect()
}

/// The measurements of programs, if they have one row.
fn one_row(tables: &[MeasuredTable]) -> Option<(&[MeasuredColumn], &[f64])> {
    match tables {
        [MeasuredTable { columns, rows, .. }] if rows.len() == 1 => Some((columns, &rows[0])),
        _ => None,
    }
}

/// The cells of a point for people: names of their columns and texts.
fn cells(result: &RunResult) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = vec![];
    let mut add = |name: &str, text: String| all.push((name.into(), text));
    if let Some(us) = result.simulated.run_time_us {
        add("run time us", short(us));
    }
    if let Some(p) = &result.programs {
        where_time_goes::PARTS.iter().for_each(|(name, _, of)| add(&name.replace('_', " "), short(of(p))));
    }
    if let Some((columns, values)) = one_row(&result.measured) {
        columns.iter().zip(values).for_each(|(name, &value)| add(&name.heading(), short(value)));
        return all;
    }
    if let Some(t) = &result.throughput {
        let half = t.accepted_half_width_95.map_or(String::new(), |half| format!(" \u{b1} {}", short(half)));
        add(&format!("offered {}", t.unit), t.offered.map_or("all".into(), short));
        add(&format!("accepted {}", t.unit), format!("{}{half}", short(t.accepted)));
        let saturated = |s| if s { "yes" } else { "no" };
        add("saturated", t.saturated.map_or("-", saturated).into());
    }
    add("total ns", short(result.latency.total.mean_ns));
    add("network ns", short(result.latency.network.mean_ns));
    if let (Some(links), Some(torus)) = (&result.links.torus, &result.torus) {
        add("p99 network ns", short(result.latency.network.p99_ns));
        add("utilization", percent(result.links.mean_utilization));
        add("payload", percent(links.payload_utilization));
        add("on escape", percent(torus.escape_share));
    } else if let Some(s) = &result.switched {
        add("p99 total ns", short(result.latency.total.p99_ns));
        add("non-minimal", percent(s.nonminimal_share));
        add("busiest global", s.global().map_or("-".into(), |c| percent(c.max_utilization)));
        if let Some(bound) = s.bound_flits_per_tick {
            add("first link full at", short(bound));
        }
    }
    all
}

/// The table for people: names of its columns after those of the parameters, and a row for each point.
pub(super) fn rows(outcomes: &[Outcome], with_folder: bool) -> (Vec<String>, Vec<Vec<String>>) {
    let of: Vec<Vec<(String, String)>> =
        outcomes.iter().map(|o| o.result.as_ref().map(cells).unwrap_or_default()).collect();
    let mut head: Vec<String> = vec![];
    for (name, _) in of.iter().flatten() {
        if !head.contains(name) {
            head.push(name.clone());
        }
    }
    let row = |(outcome, cells): (&Outcome, &Vec<(String, String)>)| {
        let cell = |name: &String| {
            cells.iter().find(|c| c.0 == *name).map_or_else(|| "-".to_owned(), |(_, text)| text.clone())
        };
        let mut row: Vec<String> = outcome.point.values.iter().map(shown).collect();
        row.extend(head.iter().map(cell));
        row.push(outcome.result.as_ref().map_or("not run", |r| r.simulated.ended.name()).into());
        row.push(outcome.result.as_ref().map_or_else(|| "-".into(), |r| remarks(r).len().to_string()));
        row.extend(with_folder.then(|| folder(outcome)));
        row
    };
    let rows = outcomes.iter().zip(&of).map(row).collect();
    head.extend(["ended", "warnings"].map(str::to_owned));
    head.extend(with_folder.then(|| "folder".to_owned()));
    (head, rows)
}

/// The warnings of all points, each once with its points.
pub(super) fn warnings(outcomes: &[Outcome]) -> Vec<String> {
    let mut all: Vec<(String, Vec<&str>)> = vec![];
    for outcome in outcomes {
        for text in outcome.result.iter().flat_map(remarks) {
            match all.iter_mut().find(|(known, _)| *known == text) {
                Some((_, points)) => points.push(&outcome.point.name),
                None => all.push((text, vec![&outcome.point.name])),
            }
        }
    }
    let line = |(text, points): (String, Vec<&str>)| match points[..] {
        [point] => format!("{point}: {text}"),
        [first, ..] if points.len() == outcomes.len() => {
            let _ = first;
            format!("all points: {text}")
        }
        [first, ..] => format!("{} points, the first {first}: {text}", points.len()),
        [] => text,
    };
    all.into_iter().map(line).collect()
}

/// Points that stalled or failed: their number by how they ended, and the first; `None` if all can be used.
pub fn failures(outcomes: &[Outcome]) -> Option<String> {
    let of = |ended: Ended| {
        outcomes.iter().filter(move |o| o.result.as_ref().is_some_and(|r| r.simulated.ended == ended))
    };
    let reported = |ended: Ended| {
        let first = of(ended).next()?;
        let count = of(ended).count();
        Some(format!("{count} of {} points {}, the first {}", outcomes.len(), ended.name(), folder(first)))
    };
    let reported: Vec<String> = [Ended::Stalled, Ended::Failed].into_iter().filter_map(reported).collect();
    (!reported.is_empty()).then(|| reported.join("; "))
}
