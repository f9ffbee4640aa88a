//! The studies of a judge: read, with their claims, and run, one point a thread while there are as many points.

use super::Bench;
use netloom_study::claims::{Claim, Measured, figure};
use netloom_study::diagnose::{Problem, SourceFile};
use netloom_study::number::{grouped, short};
use netloom_study::resolve::{ResolvedStudy, resolve};
use netloom_study::result::RunResult;
use netloom_study::sweep::{points, shown};
use netloom_study::tree::{Tree, Value};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A point of a study: its parameters, and the study at it.
pub type Place = (Vec<(String, Tree)>, ResolvedStudy);

/// A study with what a judge reads of it.
#[derive(Debug)]
pub struct StudyFile {
    /// Its name.
    pub name: String,
    /// The points of its sweep, or the one run: parameters and study.
    pub points: Vec<Place>,
    /// What it claims.
    pub claims: Vec<Claim>,
}

impl StudyFile {
    /// Reads a study and its claims.
    ///
    /// # Errors
    /// What is wrong with it, in its place.
    pub fn read(name: &str, text: &str, quick: bool) -> Result<StudyFile, Problem> {
        let file = SourceFile::new(format!("{name} (built in)"), text);
        let tree = Tree::parse(&file)?;
        let mut sets = Vec::new();
        if let Some(changes) = tree.get("quick").filter(|_| quick) {
            leaves(changes, "", &mut sets);
        }
        let study = resolve(file, Path::new("."), &sets)?;
        let claims = study.claims.clone();
        let points = if study.axes.is_empty() {
            vec![(vec![], study)]
        } else {
            let paths = || study.axes.iter().map(|a| a.path.clone());
            points(&study)?.into_iter().map(|p| (paths().zip(p.values).collect(), p.study)).collect()
        };
        // Its name is enough in the report.
        let name = Path::new(name).file_stem().map_or(name.into(), |stem| stem.to_string_lossy());
        Ok(StudyFile { name: name.into(), points, claims })
    }
}

/// The values of a table as `--set` takes them.
fn leaves(tree: &Tree, path: &str, sets: &mut Vec<String>) {
    for entry in tree.entries() {
        let path = if path.is_empty() { entry.key.clone() } else { format!("{path}.{}", entry.key) };
        match &entry.value.value {
            Value::Table(_) => leaves(&entry.value, &path, sets),
            _ => sets.push(format!("{path}={}", entry.value.inline())),
        }
    }
}

/// A point that has run.
#[derive(Debug)]
pub struct Ran<'a> {
    parameters: &'a [(String, Tree)],
    study: &'a ResolvedStudy,
    result: RunResult,
}

impl Measured for Ran<'_> {
    fn parameters(&self) -> &[(String, Tree)] {
        self.parameters
    }

    fn figure(&self, name: &str) -> Result<f64, String> {
        let found = figure(self.study, &self.result, name)?;
        // The figures of a run that did not come to its end are not those that were asked for.
        Ok(if self.result.partial.is_some() && name != "stalled" { f64::NAN } else { found })
    }

    fn told(&self) -> String {
        let (r, s) = (&self.result, &self.result.simulated);
        let at: Vec<String> = self.parameters.iter().map(|(k, v)| format!("{k} {}", shown(v))).collect();
        let mut told =
            format!("{}, {}", self.study.machine.shape(), at.join(", ")).trim_end_matches(", ").to_owned();
        told += &format!(", measured {} us from {} us on", short(s.measured_us), short(s.measured_from_us));
        if let Some(c) = &r.confidence {
            told += &format!(", ±{:.2}% (95%, {} windows)", 100.0 * c.half_width_95 / c.mean, c.windows);
        }
        told += &format!(", {} packet-hops", grouped(r.totals.packet_hops as i64));
        r.partial.as_ref().map_or(told.clone(), |why| format!("{told} ({why})"))
    }
}

/// Runs all points of some studies: for each study, its points in order.
///
/// # Errors
/// What the simulator refuses.
pub fn run<'a>(bench: &Bench, files: &'a [StudyFile]) -> Result<Vec<Vec<Ran<'a>>>, Problem> {
    let all: Vec<(usize, &Place)> =
        files.iter().enumerate().flat_map(|(i, f)| f.points.iter().map(move |p| (i, p))).collect();
    // The only point of a study is likely to be a long one: it runs on all threads by itself.
    let is_alone = |at: &usize| files[all[*at].0].points.len() == 1;
    let (alone, shared): (Vec<usize>, Vec<usize>) = (0..all.len()).partition(is_alone);
    let mut first = vec![];
    for at in alone.into_iter().filter(|_| !bench.progress.stop()) {
        first.push((at, bench.simulator.simulate(&all[at].1.1, bench.progress, bench.threads)));
    }
    let workers = bench.threads.clamp(1, shared.len().max(1));
    let next = AtomicUsize::new(0);
    let done = Mutex::new(first);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let turn = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&at) = shared.get(turn).filter(|_| !bench.progress.stop()) else { break };
                    // What is left over when the points do not divide among the threads runs on all of them.
                    let left_over = turn >= shared.len() - shared.len() % bench.threads;
                    let threads = if left_over { bench.threads } else { 1 };
                    let result = bench.simulator.simulate(&all[at].1.1, bench.progress, threads);
                    done.lock().expect("no holder panics").push((at, result));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no holder panics");
    done.sort_by_key(|(at, _)| *at);
    let mut ran: Vec<Vec<Ran>> = files.iter().map(|_| vec![]).collect();
    for (at, result) in done {
        let (file, (parameters, study)) = all[at];
        ran[file].push(Ran { parameters, study, result: result? });
    }
    Ok(ran)
}
