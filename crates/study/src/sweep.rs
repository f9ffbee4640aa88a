//! Sweeps: the same study at many points. Points run side by side; each is kept in its own folder as soon as it is
//! done, so that a sweep that was interrupted goes on where it stopped.

use crate::diagnose::Problem;
use crate::resolve::ResolvedStudy;
use crate::result::{Ended, RunResult};
use crate::run::{Progress, ProgressSink, Simulate};
use crate::tree::{Tree, Value};
use crate::write;
use crate::write::tables::{Column, Table};
use serde::Serialize;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

mod cost;
mod plot;
mod report;

/// Most points of a sweep: more is surely a slip.
pub const POINTS_MAX: usize = 100_000;

/// A point of a sweep.
#[derive(Clone, Debug)]
pub struct Point {
    /// Name of its folder, made of its parameters.
    pub name: String,
    /// Its parameters, in the order of the axes.
    pub values: Vec<Tree>,
    /// The study at this point.
    pub study: ResolvedStudy,
}

/// A point that has been simulated.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The point.
    pub point: Point,
    /// Its result; none if it has not run.
    pub result: Option<RunResult>,
    /// Whether the folder held it already.
    pub kept: bool,
}

/// All points of a sweep: every combination, the last axis changing fastest.
///
/// # Errors
/// A study without `[sweep]`; a value that does not fit, in its place.
pub fn points(study: &ResolvedStudy) -> Result<Vec<Point>, Problem> {
    if study.axes.is_empty() {
        return Err(Problem::new(format!("the study `{}` has no [sweep] table", study.study.name))
            .help("add one, such as `[sweep]` with `router.paths = [1, 2]`, or use `netloom run`"));
    }
    let count = study.axes.iter().try_fold(1usize, |n, axis| n.checked_mul(axis.values.len()));
    let Some(count) = count.filter(|&n| n <= POINTS_MAX) else {
        return Err(Problem::new(format!("the sweep has more than {POINTS_MAX} points")));
    };
    let labels = short_names(&study.axes.iter().map(|a| a.path.as_str()).collect::<Vec<_>>());
    (0..count)
        .map(|index| {
            let mut rest = index;
            let mut values: Vec<Tree> = Vec::new();
            for axis in study.axes.iter().rev() {
                values.insert(0, axis.values[rest % axis.values.len()].clone());
                rest /= axis.values.len();
            }
            let paths = study.axes.iter().map(|a| a.path.clone());
            let at: Vec<(String, Tree)> = paths.zip(values.iter().cloned()).collect();
            let parts: Vec<String> =
                labels.iter().zip(&values).map(|(l, v)| format!("{l}={}", shown(v))).collect();
            Ok(Point { name: folder_name(&parts.join(","), index), values, study: study.at_point(&at)? })
        })
        .collect()
}

/// A value as people read it: text without quotes, changes by their name, what has a kind by that and the rest.
pub fn shown(value: &Tree) -> String {
    if let Some(name) = value.get("name").and_then(Tree::text).or(value.text()) {
        return name.to_owned();
    }
    let Some(kind) = value.get("kind").and_then(Tree::text) else { return value.inline() };
    let rest = value.entries().iter().filter(|e| e.key != "kind");
    rest.fold(kind.to_owned(), |all, e| format!("{all}, {} {}", e.key, shown(&e.value)))
}

/// The last parts of dotted paths, as many as it takes to tell them apart.
pub fn short_names(paths: &[&str]) -> Vec<String> {
    let tail = |path: &str, parts: usize| {
        let all: Vec<&str> = path.split('.').collect();
        all[all.len().saturating_sub(parts)..].join(".")
    };
    let name = |path: &&str| {
        let parts = 1..=path.split('.').count();
        let unique = |n: &usize| paths.iter().filter(|p| tail(p, *n) == tail(path, *n)).count() == 1;
        tail(path, parts.clone().find(unique).unwrap_or(*parts.end()))
    };
    paths.iter().map(name).collect()
}

fn folder_name(text: &str, index: usize) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || "._-=,".contains(c) { c } else { '_' };
    let name: String = text.chars().map(keep).collect();
    // Values that differ only in what a file name cannot hold, or are too long for one, are told apart by number.
    if name.len() > 120 || name != text.replace(['[', ']', ' '], "_") {
        format!("{}-{index}", &name[..name.len().min(100)])
    } else {
        name
    }
}

/// Whether a folder holds this very sweep, so that it can be gone on with.
pub fn holds(folder: &Path, study: &ResolvedStudy) -> bool {
    std::fs::read_to_string(folder.join("sweep.toml")).is_ok_and(|text| text == identity(study))
}

/// Forgets the points that a folder holds, so that all are run again.
///
/// # Errors
/// Of the file system.
pub fn forget(folder: &Path) -> Result<(), Problem> {
    for point in std::fs::read_dir(folder.join("points"))? {
        let summary = point?.path().join("summary.json");
        if summary.is_file() {
            std::fs::remove_file(summary)?;
        }
    }
    Ok(())
}

/// The sweep as a TOML file: running it repeats the sweep.
fn identity(study: &ResolvedStudy) -> String {
    let mut text = study.to_toml();
    text.push_str("\n[sweep]\n");
    for axis in &study.axes {
        let values: Vec<String> = axis.values.iter().map(Tree::inline).collect();
        text.push_str(&format!("{:?} = [{}]\n", axis.path, values.join(", ")));
    }
    text
}

/// Hears the points of a sweep and passes on their sum.
struct Sum<'a> {
    outer: &'a dyn ProgressSink,
    fractions: Vec<AtomicU64>,
    ticks: Vec<AtomicU64>,
    hops: Vec<AtomicU64>,
}

struct Part<'a>(&'a Sum<'a>, usize);

impl ProgressSink for Part<'_> {
    fn update(&self, progress: Progress) {
        let Part(sum, i) = self;
        sum.fractions[*i].store(progress.fraction.unwrap_or(0.0).to_bits(), Ordering::Relaxed);
        sum.ticks[*i].store(progress.ticks, Ordering::Relaxed);
        sum.hops[*i].store(progress.packet_hops, Ordering::Relaxed);
        let all = |of: &[AtomicU64]| of.iter().map(|x| x.load(Ordering::Relaxed)).sum();
        let done: f64 = sum.fractions.iter().map(|x| f64::from_bits(x.load(Ordering::Relaxed))).sum();
        sum.outer.update(Progress {
            ticks: all(&sum.ticks),
            fraction: Some(done / sum.fractions.len() as f64),
            packet_hops: all(&sum.hops),
        });
    }
    fn stop(&self) -> bool {
        self.0.outer.stop()
    }
}

/// Runs a sweep into a folder. Points that the folder holds already, complete and with the same configuration, are not
/// run again.
///
/// # Errors
/// Of a point or of the file system; points that were done before stay.
pub fn run(
    study: &ResolvedStudy,
    simulator: &dyn Simulate,
    folder: &Path,
    progress: &dyn ProgressSink,
    threads: usize,
) -> Result<Vec<Outcome>, Problem> {
    let points = points(study)?;
    std::fs::create_dir_all(folder.join("points"))?;
    write::put(folder, "sweep.toml", identity(study).as_bytes())?;
    let mut results: Vec<Option<RunResult>> = points.iter().map(|p| kept(folder, p)).collect();
    let todo: Vec<usize> = (0..points.len()).filter(|&i| results[i].is_none()).collect();
    let zeros = || points.iter().map(|_| AtomicU64::new(0)).collect::<Vec<_>>();
    let sum = Sum { outer: progress, fractions: zeros(), ticks: zeros(), hops: zeros() };
    for (i, _) in results.iter().enumerate().filter(|(_, r)| r.is_some()) {
        sum.fractions[i].store(1f64.to_bits(), Ordering::Relaxed);
    }
    let workers = threads.clamp(1, todo.len().max(1));
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(None));
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(&i) = todo.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if progress.stop() {
                        break;
                    }
                    let part = Part(&sum, i);
                    let outcome = simulator
                        .simulate(&points[i].study, &part, (threads / workers).max(1))
                        .and_then(|result| {
                            if result.simulated.ended != Ended::Interrupted {
                                write::write_all(
                                    &folder.join("points").join(&points[i].name),
                                    &points[i].study,
                                    &result,
                                )?;
                            }
                            Ok(result)
                        });
                    match outcome {
                        Ok(result) if result.simulated.ended != Ended::Interrupted => {
                            part.update(Progress {
                                ticks: result.simulated.ticks,
                                fraction: Some(1.0),
                                packet_hops: result.totals.packet_hops,
                            });
                            done.lock().expect("no holder panics").push((i, result));
                        }
                        Ok(_) => break,
                        Err(problem) => {
                            *failed.lock().expect("no holder panics") = Some(problem);
                            break;
                        }
                    }
                }
            });
        }
    });
    for (i, result) in done.into_inner().expect("no holder panics") {
        results[i] = Some(result);
    }
    let outcomes: Vec<Outcome> = points
        .into_iter()
        .zip(results)
        .enumerate()
        .map(|(i, (point, result))| Outcome { point, result, kept: !todo.contains(&i) })
        .collect();
    write_summary(folder, study, &outcomes)?;
    match failed.into_inner().expect("no holder panics") {
        Some(problem) => Err(problem),
        None => Ok(outcomes),
    }
}

/// The result that a folder holds for a point, if it is complete and of the same configuration.
fn kept(folder: &Path, point: &Point) -> Option<RunResult> {
    let at = folder.join("points").join(&point.name);
    let same = std::fs::read_to_string(at.join("study.toml")).ok()? == point.study.to_toml();
    let summary: serde_json::Value =
        serde_json::from_slice(&std::fs::read(at.join("summary.json")).ok()?).ok()?;
    let version = summary.get("version")?.as_str()? == env!("CARGO_PKG_VERSION");
    let whole = at.join("report.html").is_file();
    (same && version && whole).then(|| serde_json::from_value(summary).ok())?
}

/// By how much jobs are slowed down, the first of them.
const SLOWDOWNS: [&str; 4] =
    ["slowdown_of_job_1", "slowdown_of_job_2", "slowdown_of_job_3", "slowdown_of_job_4"];

/// The figures of a point that the sweep's table shows: column name and value. Results of machines of one kind have the same, but for what only some
/// are asked for or can tell.
pub fn columns(result: &RunResult) -> Vec<(&'static str, f64)> {
    let (links, network) = (&result.links, &result.latency.network);
    let us = result.simulated.us.max(1e-12);
    let mut all = vec![("mean_utilization", links.mean_utilization)];
    all.extend(links.torus.iter().map(|t| ("payload_utilization", t.payload_utilization)));
    all.extend([
        ("max_utilization", links.max_utilization),
        ("latency_mean_ns", network.mean_ns),
        ("latency_p50_ns", network.p50_ns),
        ("latency_p99_ns", network.p99_ns),
        ("total_latency_mean_ns", result.latency.total.mean_ns),
        ("payload_bytes_per_us", result.totals.payload_bytes as f64 / us),
    ]);
    if let Some(t) = &result.torus {
        all.push(("escape_share", t.escape_share));
        all.push(("dynamic_buffer_fraction", t.occupancy.fraction.dynamic));
    }
    if let Some(s) = &result.switched {
        let global = s.global().cloned().unwrap_or_default();
        all.extend([
            ("offered_flits_per_tick", s.offered_flits_per_tick.unwrap_or(0.0)),
            ("accepted_flits_per_tick", s.accepted_flits_per_tick),
            ("accepted_payload_GB_per_s", s.accepted_payload_GB_per_s),
            ("hops_mean", s.hops_mean),
            ("nonminimal_share", s.nonminimal_share),
            ("global_mean_utilization", global.mean_utilization),
            ("global_max_utilization", global.max_utilization),
        ]);
        all.extend(s.bound_flits_per_tick.map(|bound| ("bound_flits_per_tick", bound)));
        let slowdowns = s.jobs.iter().filter_map(|job| Some(job.alone.as_ref()?.latency_slowdown));
        all.extend(SLOWDOWNS.into_iter().zip(slowdowns));
        all.extend(s.reordering.iter().map(|r| ("reordered_share", r.reordered_share)));
    }
    all.push(("simulated_us", result.simulated.us));
    all.push(("packets_delivered", result.totals.packets_delivered as f64));
    all
}

#[derive(Serialize)]
struct Summary<'a> {
    format: u32,
    version: &'static str,
    partial: Option<String>,
    configuration: crate::resolve::Configuration<'a>,
    points: Vec<serde_json::Value>,
}

fn value_json(value: &Tree) -> serde_json::Value {
    match &value.value {
        Value::Bool(b) => (*b).into(),
        Value::Integer(i) => (*i).into(),
        Value::Float(f) => (*f).into(),
        Value::Text(text) => text.as_str().into(),
        Value::List(items) => items.iter().map(value_json).collect(),
        Value::Table(entries) => entries.iter().map(|e| (e.key.clone(), value_json(&e.value))).collect(),
    }
}

/// `sweep.json` of the outcomes: parameters and figures of each point.
pub fn to_json(study: &ResolvedStudy, outcomes: &[Outcome]) -> String {
    let missing = outcomes.iter().filter(|o| o.result.is_none()).count();
    let points = outcomes.iter().map(|o| {
        let parameters: serde_json::Map<String, serde_json::Value> =
            study.axes.iter().zip(&o.point.values).map(|(a, v)| (a.path.clone(), value_json(v))).collect();
        let figures = o.result.as_ref().map(|r| {
            columns(r).into_iter().map(|(k, v)| (k.to_owned(), v.into())).collect::<serde_json::Map<_, _>>()
        });
        serde_json::json!({
            "folder": format!("points/{}", o.point.name),
            "parameters": parameters,
            "ended": o.result.as_ref().map(|r| r.simulated.ended),
            "figures": figures,
        })
    });
    let summary = Summary {
        format: 1,
        version: env!("CARGO_PKG_VERSION"),
        partial: (missing > 0).then(|| format!("{missing} of {} points have not run", outcomes.len())),
        configuration: study.configuration(),
        points: points.collect(),
    };
    let mut text = serde_json::to_string_pretty(&summary).expect("a summary is plain data");
    text.push('\n');
    text
}

fn table(study: &ResolvedStudy, outcomes: &[Outcome]) -> Table {
    let done: Vec<(&Point, &RunResult)> =
        outcomes.iter().filter_map(|o| o.result.as_ref().map(|r| (&o.point, r))).collect();
    let mut table = Table::default();
    for (i, axis) in study.axes.iter().enumerate() {
        let values: Vec<&Tree> = done.iter().map(|(p, _)| &p.values[i]).collect();
        let numbers: Option<Vec<f64>> = values.iter().map(|v| plot::number(v)).collect();
        let name = axis.path.replace('.', "_");
        table.0.push((
            name,
            numbers.map_or_else(|| Column::Texts(values.iter().map(|v| shown(v)).collect()), Column::Numbers),
        ));
    }
    let mut names: Vec<&str> = vec![];
    for (name, _) in done.iter().flat_map(|(_, r)| columns(r)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    for name in names {
        // Not all points have all: some were asked for more, or can tell more.
        let of = |r: &RunResult| columns(r).iter().find(|c| c.0 == name).map_or(f64::NAN, |c| c.1);
        table.0.push((name.into(), Column::Numbers(done.iter().map(|(_, r)| of(r)).collect())));
    }
    table
}

fn write_summary(folder: &Path, study: &ResolvedStudy, outcomes: &[Outcome]) -> Result<(), Problem> {
    let plots = plot::plots(study, outcomes, folder);
    write::put(folder, "sweep.json", to_json(study, outcomes).as_bytes())?;
    write::put(folder, "sweep.parquet", &table(study, outcomes).to_parquet()?)?;
    for plot in &plots {
        write::put(folder, &format!("{}.svg", plot.name), plot.svg.as_bytes())?;
    }
    write::put(folder, "report.html", report::to_html(study, outcomes, &plots).as_bytes())?;
    Ok(())
}

/// The table that ends a sweep, for people.
pub fn summary(study: &ResolvedStudy, outcomes: &[Outcome]) -> String {
    let names = short_names(&study.axes.iter().map(|a| a.path.as_str()).collect::<Vec<_>>());
    let mut head = names;
    let figures = report::head(study, outcomes);
    let rows = outcomes.iter().map(|outcome| report::row(outcome, figures.len()));
    head.extend(figures.iter().cloned());
    let points = crate::compare::aligned(&head, &rows.collect::<Vec<_>>());
    match cost::table(study, outcomes) {
        Some((head, rows)) => format!("{points}\n{}", crate::compare::aligned(&head, &rows)),
        None => points,
    }
}
