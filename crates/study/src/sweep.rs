//! Sweeps: the same study at many points. Points run side by side; each is kept in its own folder as soon as it is
//! done, so that a sweep that was interrupted goes on where it stopped.

use crate::diagnose::Problem;
use crate::resolve::ResolvedStudy;
use crate::result::{Ended, RunResult};
use crate::run::{Progress, ProgressSink, Simulate};
use crate::tree::{Tree, Value};
use crate::write;
use serde::Serialize;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

pub mod claims;
mod cost;
mod over_time;
mod plot;
mod report;
mod table;
mod where_time_goes;

pub use claims::{Judged, Verdict};
pub use table::{columns, failures};

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

/// What ended a sweep before all of its points were run and written.
#[derive(Debug)]
pub struct Halt {
    /// What went wrong.
    pub problem: Problem,
    /// Whether a point was refused; otherwise a result could not be written.
    pub refused: bool,
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
    match run_and_keep(study, simulator, folder, progress, threads)? {
        (outcomes, None) => Ok(outcomes),
        (_, Some(halt)) => Err(halt.problem),
    }
}

/// The same, where the results that there are come back with what went wrong.
///
/// # Errors
/// A sweep that cannot begin.
pub fn run_and_keep(
    study: &ResolvedStudy,
    simulator: &dyn Simulate,
    folder: &Path,
    progress: &dyn ProgressSink,
    threads: usize,
) -> Result<(Vec<Outcome>, Option<Halt>), Problem> {
    let points = points(study)?;
    let at = folder.join("points");
    std::fs::create_dir_all(&at)
        .map_err(|e| Problem::new(format!("cannot create the folder {}: {e}", at.display())))?;
    let mut files = write::Files::of(folder);
    files.put("sweep.toml", identity(study).as_bytes());
    files.finish()?;
    let mut results: Vec<Option<RunResult>> = points.iter().map(|p| kept(folder, p)).collect();
    let todo: Vec<usize> = (0..points.len()).filter(|&i| results[i].is_none()).collect();
    let zeros = || points.iter().map(|_| AtomicU64::new(0)).collect::<Vec<_>>();
    let sum = Sum { outer: progress, fractions: zeros(), ticks: zeros(), hops: zeros() };
    for (i, _) in results.iter().enumerate().filter(|(_, r)| r.is_some()) {
        sum.fractions[i].store(1f64.to_bits(), Ordering::Relaxed);
    }
    let workers = threads.clamp(1, todo.len().max(1));
    let next = AtomicUsize::new(0);
    let (halt, done) = (Mutex::new(None), Mutex::new(Vec::new()));
    // The first problem counts; no further points begin.
    let stop = |problem: Problem, refused: bool| {
        halt.lock().expect("no holder panics").get_or_insert(Halt { problem, refused });
        next.store(todo.len(), Ordering::Relaxed);
    };
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(&i) = todo.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if progress.stop() {
                        break;
                    }
                    let (part, point) = (Part(&sum, i), &points[i]);
                    match simulator.simulate(&point.study, &part, (threads / workers).max(1)) {
                        Ok(result) if result.simulated.ended == Ended::Interrupted => break,
                        Ok(result) => {
                            let at = folder.join("points").join(&point.name);
                            if let Err(problem) = write::write_all(&at, &point.study, &result) {
                                stop(problem, false);
                            }
                            part.update(Progress {
                                ticks: result.simulated.ticks,
                                fraction: Some(1.0),
                                packet_hops: result.totals.packet_hops,
                            });
                            done.lock().expect("no holder panics").push((i, result));
                        }
                        Err(problem) => stop(problem, true),
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
    let mut halt = halt.into_inner().expect("no holder panics");
    if let Err(problem) = write_summary(folder, study, &outcomes) {
        halt.get_or_insert(Halt { problem, refused: false });
    }
    Ok((outcomes, halt))
}

/// The result that a folder holds for a point, if it is complete and of the same configuration.
fn kept(folder: &Path, point: &Point) -> Option<RunResult> {
    let at = folder.join("points").join(&point.name);
    let same = std::fs::read_to_string(at.join("study.toml")).ok()? == point.study.to_toml();
    let summary: serde_json::Value =
        serde_json::from_slice(&std::fs::read(at.join("summary.json")).ok()?).ok()?;
    let version = summary.get("version")?.as_str()? == env!("CARGO_PKG_VERSION");
    let whole =
        ["report.html", "series.parquet", "latency.parquet"].iter().all(|name| at.join(name).is_file());
    (same && version && whole).then(|| serde_json::from_value(summary).ok())?
}

#[derive(Serialize)]
struct Summary<'a> {
    format: u32,
    version: &'static str,
    partial: Option<String>,
    configuration: crate::resolve::Configuration<'a>,
    points: Vec<serde_json::Value>,
    #[serde(skip_serializing_if = "<[Judged]>::is_empty")]
    claims: &'a [Judged],
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
pub fn to_json(study: &ResolvedStudy, outcomes: &[Outcome], claims: &[Judged]) -> String {
    let missing = outcomes.iter().filter(|o| o.result.is_none()).count();
    let points = outcomes.iter().map(|o| {
        let parameters: serde_json::Map<String, serde_json::Value> =
            study.axes.iter().zip(&o.point.values).map(|(a, v)| (a.path.clone(), value_json(v))).collect();
        let figures = o.result.as_ref().map(|r| {
            columns(r).into_iter().map(|(k, v)| (k.to_owned(), v.into())).collect::<serde_json::Map<_, _>>()
        });
        serde_json::json!({
            "folder": table::folder(o),
            "parameters": parameters,
            "ended": o.result.as_ref().map(|r| r.simulated.ended),
            "warnings": o.result.as_ref().map(table::remarks),
            "figures": figures,
        })
    });
    let summary = Summary {
        format: 1,
        version: env!("CARGO_PKG_VERSION"),
        partial: (missing > 0).then(|| format!("{missing} of {} points have not run", outcomes.len())),
        configuration: study.configuration(),
        points: points.collect(),
        claims,
    };
    let mut text = serde_json::to_string_pretty(&summary).expect("a summary is plain data");
    text.push('\n');
    text
}

fn write_summary(folder: &Path, study: &ResolvedStudy, outcomes: &[Outcome]) -> Result<(), Problem> {
    let plots = plot::plots(study, outcomes, folder);
    let claims = judge(study, outcomes, folder)?;
    let mut files = write::Files::of(folder);
    files.put("sweep.json", to_json(study, outcomes, &claims).as_bytes());
    files.put("sweep.parquet", &table::parquet(study, outcomes).to_parquet()?);
    files.put("report.html", report::to_html(study, outcomes, &plots, &claims).as_bytes());
    for plot in &plots {
        files.put(&format!("{}.svg", plot.name), plot.svg.as_bytes());
    }
    files.finish()
}

/// Judges the claims of a sweep's study by its points.
///
/// # Errors
/// Of the published figures.
pub fn judge(study: &ResolvedStudy, outcomes: &[Outcome], folder: &Path) -> Result<Vec<Judged>, Problem> {
    let paths: Vec<String> = study.axes.iter().map(|axis| axis.path.clone()).collect();
    claims::judge_all(&study.claims, &paths, outcomes, folder)
}

/// What ends a sweep, for people: the table of its points, what they are made of, warnings, and what became of its claims.
pub fn summary(study: &ResolvedStudy, outcomes: &[Outcome], claims: &[Judged]) -> String {
    let names = short_names(&study.axes.iter().map(|a| a.path.as_str()).collect::<Vec<_>>());
    let mut head = names;
    let (figures, rows) = table::rows(outcomes, true);
    head.extend(figures);
    let mut text = crate::compare::aligned(&head, &rows);
    if let Some((head, rows)) = cost::table(study, outcomes) {
        text += &format!("\n{}", crate::compare::aligned(&head, &rows));
    }
    let lines: Vec<String> = table::warnings(outcomes).iter().map(|w| format!("WARNING: {w}\n")).collect();
    let claims: Vec<String> = claims.iter().map(|claim| format!("Claim {}\n", claim.line())).collect();
    for lines in [lines, claims].iter().filter(|lines| !lines.is_empty()) {
        text += &format!("\n{}", lines.concat());
    }
    text
}
