//! The studies of a judge: read, with their claims, and run as `netloom sweep` runs them.

use super::Bench;
use netloom_study::claims::{Claim, Measured, figure};
use netloom_study::diagnose::{Problem, SourceFile};
use netloom_study::number::{grouped, short};
use netloom_study::resolve::{ResolvedStudy, resolve};
use netloom_study::result::RunResult;
use netloom_study::sweep::{NoStore, Outcome, Point, points, run_all, shown};
use netloom_study::tree::{Tree, Value};
use std::path::Path;

/// A study with what a judge reads of it.
#[derive(Debug)]
pub struct StudyFile {
    /// Its name.
    pub name: String,
    /// The study, with its sweep if it has one.
    pub study: ResolvedStudy,
    /// The points that its sweep begins with, or the one run. A search for saturation adds others.
    pub points: Vec<Point>,
    /// What it claims.
    pub claims: Vec<Claim>,
    /// What a quick run has instead of what the paper had: another machine, or other keys. None if it leaves
    /// out some points only.
    pub proxy: Option<String>,
}

impl StudyFile {
    /// Reads a study and its claims.
    ///
    /// # Errors
    /// Its errors, with their places.
    pub fn read(name: &str, text: &str, quick: bool) -> Result<StudyFile, Problem> {
        let file = SourceFile::new(format!("{name} (built in)"), text);
        let tree = Tree::parse(&file)?;
        let (mut sets, mut changed) = (Vec::new(), vec![]);
        if let Some(changes) = tree.get("quick").filter(|_| quick) {
            leaves(changes, "", &mut sets);
            differing(changes, "", &tree, &mut changed);
        }
        let shape = match changed.is_empty() {
            true => None,
            false => Some(resolve(file.clone(), Path::new("."), &[])?.machine.shape()),
        };
        let study = resolve(file, Path::new("."), &sets)?;
        let proxy = shape.map(|full| match study.machine.shape() {
            quick if quick == full => format!("another {}", changed.join(" and ")),
            quick => format!("{quick} in place of {full}"),
        });
        let claims = study.claims.clone();
        let points = match study.axes.is_empty() {
            true => vec![Point { name: study.study.name.clone(), values: vec![], study: study.clone() }],
            false => points(&study)?,
        };
        // Its name is enough in the report.
        let name = Path::new(name).file_stem().map_or(name.into(), |stem| stem.to_string_lossy());
        Ok(StudyFile { name: name.into(), study, points, claims, proxy })
    }

    /// The parameters of a point of its sweep, with their values.
    pub fn parameters(&self, point: &Point) -> Vec<(String, Tree)> {
        let paths = self.study.axes.iter().map(|axis| axis.path.clone());
        paths.zip(point.values.iter().cloned()).collect()
    }
}

/// The paths of a table's values that are not among those of a study: a list may have fewer values.
fn differing(changes: &Tree, path: &str, study: &Tree, to: &mut Vec<String>) {
    for entry in changes.entries() {
        let path = if path.is_empty() { entry.key.clone() } else { format!("{path}.{}", entry.key) };
        let before = study.at(&path).map(|tree| &tree.value);
        match (&entry.value.value, before) {
            (Value::Table(_), _) => differing(&entry.value, &path, study, to),
            (Value::List(some), Some(Value::List(all)))
                if path.starts_with("sweep.") || path.starts_with("workload.") =>
            {
                let known: Vec<String> = all.iter().map(Tree::inline).collect();
                if !some.iter().all(|value| known.contains(&value.inline())) {
                    to.push(path);
                }
            }
            _ => to.push(path),
        }
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
pub struct Ran {
    parameters: Vec<(String, Tree)>,
    study: ResolvedStudy,
    result: RunResult,
}

impl Measured for Ran {
    fn parameters(&self) -> &[(String, Tree)] {
        &self.parameters
    }

    fn figure(&self, name: &str) -> Result<f64, String> {
        let found = figure(&self.study, &self.result, name)?;
        // The figures of a run that did not come to its end are not those that were asked for.
        Ok(if self.result.partial.is_some() && name != "stalled" { f64::NAN } else { found })
    }

    fn description(&self) -> String {
        let (r, s) = (&self.result, &self.result.simulated);
        let at: Vec<String> = self.parameters.iter().map(|(k, v)| format!("{k} {}", shown(v))).collect();
        let mut reported =
            format!("{}, {}", self.study.machine.shape(), at.join(", ")).trim_end_matches(", ").to_owned();
        reported +=
            &format!(", measured {} us from {} us on", short(s.measured_us), short(s.measured_from_us));
        if let Some(c) = &r.confidence {
            reported += &format!(", ±{:.2}% (95%, {} windows)", 100.0 * c.half_width_95 / c.mean, c.windows);
        }
        reported += &format!(", {} packet-hops", grouped(r.totals.packet_hops as i64));
        r.partial.as_ref().map_or(reported.clone(), |why| format!("{reported} ({why})"))
    }
}

/// Runs all points of some studies, with those of their searches for saturation. Returns each study's points
/// in order, without those that did not run because the judge was stopped.
///
/// # Errors
/// What the simulator refuses.
pub fn run(bench: &Bench, files: &[StudyFile]) -> Result<Vec<Vec<Ran>>, Problem> {
    files.iter().map(|file| run_file(bench, file)).collect()
}

fn run_file(bench: &Bench, file: &StudyFile) -> Result<Vec<Ran>, Problem> {
    let points = file.points.clone();
    let (outcomes, halt) =
        run_all(&file.study, points, bench.simulator, &NoStore, bench.progress, bench.threads)?;
    if let Some(halt) = halt {
        return Err(halt.problem);
    }
    let ran = |Outcome { point, result, .. }: Outcome| {
        let parameters = file.parameters(&point);
        Some(Ran { parameters, study: point.study, result: result? })
    };
    Ok(outcomes.into_iter().filter_map(ran).collect())
}

#[cfg(test)]
mod tests {
    use super::super::{bgl, bgq, pami};
    use super::*;

    fn proxy(path: &str, quick: bool) -> Option<String> {
        let all =
            bgl::STUDIES.iter().chain(bgq::STUDIES).chain(pami::STUDIES).flat_map(|(_, studies)| *studies);
        let (name, text) = all.clone().find(|(name, _)| name.ends_with(path)).expect("a study of a judge");
        StudyFile::read(name, text, quick).unwrap().proxy
    }

    /// Fewer points of the same machine are no other machine.
    #[test]
    fn a_smaller_machine_is_a_proxy() {
        assert_eq!(proxy("figure-6.toml", true).unwrap(), "16x16x16 in place of 32x32x32");
        assert_eq!(proxy("figure-6.toml", false), None);
        assert!(proxy("figure-8.toml", true).unwrap().contains("measure.time_us"));
        for other in ["rectangle-broadcast.toml", "allreduce-throughput.toml", "zones.toml"] {
            assert!(proxy(other, true).is_some(), "{other}");
        }
        for same in ["collective-throughput.toml", "nearest-neighbour.toml", "flow-control.toml"] {
            assert_eq!(proxy(same, true), None, "{same}");
        }
    }
}
