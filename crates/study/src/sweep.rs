//! Sweeps: the same study at many points, which run side by side. Each result can be stored as soon as it is
//! there, so that a sweep that was interrupted resumes where it stopped.

pub mod saturation;

use crate::diagnose::Problem;
use crate::resolve::ResolvedStudy;
use crate::result::{Ended, RunResult};
use crate::run::{Progress, ProgressSink, Simulate};
use crate::tree::Tree;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

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
    /// Whether its result is that of another run of the sweep, before or at the same time.
    pub kept: bool,
}

/// All points of a sweep: every combination, the last axis changing fastest.
///
/// # Errors
/// A study without `[sweep]`; a value that does not fit, in its place.
pub fn points(study: &ResolvedStudy) -> Result<Vec<Point>, Problem> {
    if study.axes.is_empty() {
        return Err(Problem::new(format!("the study `{}` has no [sweep] table", study.study.name))
            .help("add one, such as `[sweep]` with `router.paths = [1, 2]`, or run it once"));
    }
    let count = study.axes.iter().try_fold(1usize, |n, axis| n.checked_mul(axis.values.len()));
    let Some(count) = count.filter(|&n| n <= POINTS_MAX) else {
        return Err(Problem::new(format!("the sweep has more than {POINTS_MAX} points")));
    };
    (0..count)
        .map(|index| {
            let mut rest = index;
            let mut values: Vec<Tree> = Vec::new();
            for axis in study.axes.iter().rev() {
                values.insert(0, axis.values[rest % axis.values.len()].clone());
                rest /= axis.values.len();
            }
            point_at(study, values, index)
        })
        .collect()
}

/// The point of a sweep with these parameters; the number distinguishes its folder if its name does not.
///
/// # Errors
/// A value that does not fit, in its place.
fn point_at(study: &ResolvedStudy, values: Vec<Tree>, number: usize) -> Result<Point, Problem> {
    let labels = short_names(&study.axes.iter().map(|a| a.path.as_str()).collect::<Vec<_>>());
    let paths = study.axes.iter().map(|a| a.path.clone());
    let at: Vec<(String, Tree)> = paths.zip(values.iter().cloned()).collect();
    let parts: Vec<String> = labels.iter().zip(&values).map(|(l, v)| format!("{l}={}", shown(v))).collect();
    Ok(Point { name: folder_name(&parts.join(","), number), values, study: study.at_point(&at)? })
}

/// A value as people read it: text without quotes, changes by their name, what has a kind by that and the
/// rest.
pub fn shown(value: &Tree) -> String {
    if let Some(name) = value.get("name").and_then(Tree::text).or(value.text()) {
        return name.to_owned();
    }
    let Some(kind) = value.get("kind").and_then(Tree::text) else { return value.inline() };
    let rest = value.entries().iter().filter(|e| e.key != "kind");
    rest.fold(kind.to_owned(), |all, e| format!("{all}, {} {}", e.key, shown(&e.value)))
}

/// The last parts of dotted paths, as many as distinguish them.
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
    // Values that differ only in what a file name cannot hold, or are too long for one, differ in their
    // number.
    if name.len() > 120 || name != text.replace(['[', ']', ' '], "_") {
        format!("{}-{index}", &name[..name.len().min(100)])
    } else {
        name
    }
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

/// The cause that ended a sweep before all of its points were run and stored.
#[derive(Debug)]
pub struct Halt {
    /// The problem.
    pub problem: Problem,
    /// Whether a point was refused; otherwise a result could not be stored.
    pub refused: bool,
}

/// Where the results of a sweep's points are stored.
pub trait Store: Sync {
    /// The result of a point that an earlier sweep stored, if it is complete and of the same configuration.
    fn load(&self, point: &Point) -> Option<RunResult>;

    /// Stores a result.
    ///
    /// # Errors
    /// Why it could not be stored.
    fn save(&self, point: &Point, result: &RunResult) -> Result<(), Problem>;

    /// Whether this process is to run a point, by its number: otherwise others are.
    fn wants(&self, _number: usize) -> bool {
        true
    }

    /// Claims a point, so that no other process runs it; `false` if one does.
    ///
    /// # Errors
    /// Why it could not be claimed.
    fn claim(&self, _: &Point) -> Result<bool, Problem> {
        Ok(true)
    }

    /// Gives up the claim, after the result has been stored or not.
    fn release(&self, _: &Point) {}
}

/// Between two looks at points that other processes run.
const LOOK: Duration = Duration::from_millis(300);

/// Stores nothing: for programs that read the results from the outcomes.
pub struct NoStore;

impl Store for NoStore {
    fn load(&self, _: &Point) -> Option<RunResult> {
        None
    }

    fn save(&self, _: &Point, _: &RunResult) -> Result<(), Problem> {
        Ok(())
    }
}

/// Runs the points of a sweep, and those of its search for saturation if it has one, but for points whose
/// results are stored. The results come back also where something went wrong.
///
/// # Errors
/// A load of the search that does not fit.
pub fn run_all(
    study: &ResolvedStudy,
    points: Vec<Point>,
    simulator: &dyn Simulate,
    store: &dyn Store,
    progress: &dyn ProgressSink,
    threads: usize,
) -> Result<(Vec<Outcome>, Option<Halt>), Problem> {
    saturation::search(study, points, simulator, store, progress, threads)
}

/// Runs some points of a sweep.
fn run(
    points: Vec<Point>,
    simulator: &dyn Simulate,
    store: &dyn Store,
    progress: &dyn ProgressSink,
    threads: usize,
) -> (Vec<Outcome>, Option<Halt>) {
    let mut results: Vec<Option<RunResult>> = points.iter().map(|point| store.load(point)).collect();
    let mut ran = vec![false; points.len()];
    let mut todo: Vec<usize> =
        (0..points.len()).filter(|&i| results[i].is_none() && store.wants(i)).collect();
    let zeros = || points.iter().map(|_| AtomicU64::new(0)).collect::<Vec<_>>();
    let sum = Sum { outer: progress, fractions: zeros(), ticks: zeros(), hops: zeros() };
    for (i, _) in results.iter().enumerate().filter(|(_, r)| r.is_some()) {
        sum.fractions[i].store(1f64.to_bits(), Ordering::Relaxed);
    }
    let halt = loop {
        let batch = side_by_side(&points, &todo, simulator, store, &sum, threads);
        for (i, result, is_own) in batch.done {
            (results[i], ran[i]) = (Some(result), is_own);
        }
        if batch.halt.is_some() || batch.of_others.is_empty() || progress.stop() {
            break batch.halt;
        }
        // What other processes run ends, or is left to this one if they end before.
        todo = batch.of_others;
        progress.waits(todo.len());
        std::thread::sleep(LOOK);
    };
    let outcome = |((point, result), ran): ((Point, Option<RunResult>), bool)| Outcome {
        point,
        kept: result.is_some() && !ran,
        result,
    };
    (points.into_iter().zip(results).zip(ran).map(outcome).collect(), halt)
}

/// What became of points.
struct Batch {
    /// Their results, by number, and whether they were run here.
    done: Vec<(usize, RunResult, bool)>,
    /// Those that other processes run.
    of_others: Vec<usize>,
    halt: Option<Halt>,
}

/// Runs points, by their numbers, but for those that other processes run.
fn side_by_side(
    points: &[Point],
    todo: &[usize],
    simulator: &dyn Simulate,
    store: &dyn Store,
    sum: &Sum,
    threads: usize,
) -> Batch {
    let threads = threads.max(1);
    let workers = threads.min(todo.len());
    // Points that remain when the points do not divide evenly among the threads share all threads.
    let left_over = todo.len() % threads;
    let threads_of =
        |turn: usize| if turn + left_over >= todo.len() { threads / left_over.max(1) } else { 1 };
    let next = AtomicUsize::new(0);
    let (halt, done, of_others) = (Mutex::new(None), Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    // The first problem counts; no further points begin.
    let stop = |problem: Problem, refused: bool| {
        halt.lock().expect("no holder panics").get_or_insert(Halt { problem, refused });
        next.store(todo.len(), Ordering::Relaxed);
    };
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let turn = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&i) = todo.get(turn).filter(|_| !sum.outer.stop()) else { break };
                    let (part, point) = (Part(sum, i), &points[i]);
                    match store.claim(point) {
                        Ok(true) => {}
                        Ok(false) => {
                            // It may have ended since.
                            match store.load(point) {
                                Some(result) => {
                                    done.lock().expect("no holder panics").push((i, result, false))
                                }
                                None => of_others.lock().expect("no holder panics").push(i),
                            }
                            continue;
                        }
                        Err(problem) => {
                            stop(problem, false);
                            break;
                        }
                    }
                    let _claim = AtEnd(|| store.release(point));
                    // Another process may have run it just before.
                    if let Some(result) = store.load(point) {
                        done.lock().expect("no holder panics").push((i, result, false));
                        continue;
                    }
                    match simulator.simulate(&point.study, &part, threads_of(turn)) {
                        Ok(result) if result.simulated.ended == Ended::Interrupted => break,
                        Ok(result) => {
                            if let Err(problem) = store.save(point, &result) {
                                stop(problem, false);
                            }
                            part.update(Progress {
                                ticks: result.simulated.ticks,
                                fraction: Some(1.0),
                                packet_hops: result.totals.packet_hops,
                            });
                            done.lock().expect("no holder panics").push((i, result, true));
                        }
                        Err(problem) => stop(problem, true),
                    }
                }
            });
        }
    });
    let mut of_others = of_others.into_inner().expect("no holder panics");
    of_others.sort_unstable();
    Batch {
        done: done.into_inner().expect("no holder panics"),
        of_others,
        halt: halt.into_inner().expect("no holder panics"),
    }
}

/// Calls a function when it is dropped.
struct AtEnd<F: FnMut()>(F);

impl<F: FnMut()> Drop for AtEnd<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
