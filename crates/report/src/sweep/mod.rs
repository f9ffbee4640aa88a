//! The folder of a sweep. Each point is kept in a folder of its own as soon as it is done, so that a sweep
//! that was interrupted resumes where it stopped, and several processes may run it together.

use crate::claims::{self, Judged, Ran};
use crate::write;
use netloom_study::diagnose::Problem;
use netloom_study::resolve::ResolvedStudy;
use netloom_study::result::RunResult;
use netloom_study::run::{ProgressSink, Simulate};
use netloom_study::sweep::{self, Store, saturation as search, short_names, shown};
use netloom_study::tree::{Tree, Value};
use serde::Serialize;
use sharing::Claims;
use std::path::{Path, PathBuf};

mod cost;
mod figure;
mod layout;
mod limits;
mod measured;
mod narrow;
mod over_time;
mod plot;
mod report;
mod saturation;
mod sharing;
mod sheet;
mod table;
mod where_time_goes;

pub use netloom_study::sweep::{Halt, Outcome, Point, points};
pub use table::{columns, failures};

/// Whether a folder holds this very sweep, so that it can be resumed.
pub fn holds(folder: &Path, study: &ResolvedStudy) -> bool {
    // Drawings and claims change nothing of the points.
    let is_rest = |rest: &str| rest.is_empty() || [PLOT, CLAIMS].iter().any(|table| rest.starts_with(table));
    let same = |text: String| text.strip_prefix(&identity(study)).is_some_and(is_rest);
    std::fs::read_to_string(folder.join("sweep.toml")).is_ok_and(same)
}

/// Forgets the points that a folder holds, so that all are run again.
///
/// # Errors
/// File system errors.
pub fn forget(folder: &Path) -> Result<(), Problem> {
    for point in std::fs::read_dir(folder.join(POINTS))? {
        let summary = point?.path().join("summary.json");
        if summary.is_file() {
            std::fs::remove_file(summary)?;
        }
    }
    Ok(())
}

/// The folder with the points.
const POINTS: &str = "points";
/// The header of claims that are written out.
const CLAIMS: &str = "\n[[claim]]\n";
/// The same for the axes of figures.
const PLOT: &str = "\n[sweep.plot]\n";

/// The configuration of a sweep's points, as a TOML file: running it repeats the sweep.
fn identity(study: &ResolvedStudy) -> String {
    let mut text = study.to_toml();
    text.push_str("\n[sweep]\n");
    for axis in &study.axes {
        let values: Vec<String> = axis.values.iter().map(Tree::inline).collect();
        text.push_str(&format!("{:?} = [{}]\n", axis.path, values.join(", ")));
    }
    text + &study.saturation_to_toml()
}

/// The whole sweep as a TOML file: running it repeats the sweep, its drawings and the verdicts on its claims.
fn complete(study: &ResolvedStudy) -> String {
    identity(study) + &study.plot_to_toml() + &study.claims_to_toml()
}

/// Runs a sweep into a folder. Points that the folder holds already, complete and with the same
/// configuration, are not run again.
///
/// # Errors
/// Errors of a point or of the file system; points that were completed before are kept.
pub fn run(
    study: &ResolvedStudy,
    simulator: &dyn Simulate,
    folder: &Path,
    progress: &dyn ProgressSink,
    threads: usize,
) -> Result<Vec<Outcome>, Problem> {
    match run_and_keep(study, simulator, (folder, None), progress, threads)? {
        (outcomes, None) => Ok(outcomes),
        (_, Some(halt)) => Err(halt.problem),
    }
}

/// A part of a sweep's points: the `number`th of `count`, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which.
    pub number: usize,
    /// Of how many.
    pub count: usize,
}

impl Shard {
    /// Whether a point belongs to it, by its number from 0.
    pub fn has(self, point: usize) -> bool {
        point % self.count == self.number - 1
    }
}

impl std::str::FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match numbers {
            Some((number, count)) if (1..=count).contains(&number) => Ok(Shard { number, count }),
            _ => Err("expected I/N, with I from 1 to N, such as 2/10".into()),
        }
    }
}

/// Creates the folder of a sweep, unless another process is faster; one that has other things in it stays as
/// it is.
///
/// # Errors
/// File system errors.
pub fn create(folder: &Path, study: &ResolvedStudy) -> Result<(), Problem> {
    let is_free = |folder: &Path| folder.read_dir().map_or(!folder.exists(), |mut all| all.next().is_none());
    if !is_free(folder) {
        return Ok(());
    }
    let cannot = |e: std::io::Error| {
        Problem::new(format!("cannot create the folder {}: {e}", folder.display()))
            .help("give another folder with --out DIR")
    };
    let parent = folder.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    std::fs::create_dir_all(parent).map_err(cannot)?;
    // It is there whole or not at all, with what says whose it is.
    let new = tempfile::Builder::new().prefix(".sweep-").tempdir_in(parent).map_err(cannot)?;
    std::fs::create_dir(new.path().join(POINTS)).map_err(cannot)?;
    std::fs::write(new.path().join("sweep.toml"), complete(study)).map_err(cannot)?;
    open_to_all(new.path()).map_err(cannot)?;
    match std::fs::rename(new.path(), folder) {
        Ok(()) => {
            let _ = new.keep();
            Ok(())
        }
        Err(_) if !is_free(folder) => Ok(()),
        Err(error) => Err(cannot(error)),
    }
}

/// Gives a temporary folder the permissions of others: those that a new folder in it has.
fn open_to_all(folder: &Path) -> std::io::Result<()> {
    let usual = std::fs::metadata(folder.join(POINTS))?.permissions();
    std::fs::set_permissions(folder, usual)
}

/// The same, but returns the completed results together with the problem. Of a shard only the points are run
/// that belong to it, and what others have run is taken as it is.
///
/// # Errors
/// A sweep that cannot begin.
pub fn run_and_keep(
    study: &ResolvedStudy,
    simulator: &dyn Simulate,
    (folder, shard): (&Path, Option<Shard>),
    progress: &dyn ProgressSink,
    threads: usize,
) -> Result<(Vec<Outcome>, Option<Halt>), Problem> {
    let points = points(study)?;
    let at = folder.join(POINTS);
    std::fs::create_dir_all(&at)
        .map_err(|e| Problem::new(format!("cannot create the folder {}: {e}", at.display())))?;
    let mut files = write::Files::of_shared(folder);
    files.put("sweep.toml", complete(study).as_bytes());
    files.finish()?;
    let store = Folder { folder, shard, claims: Claims::new() };
    let (outcomes, mut halt) = sweep::run_all(study, points, simulator, &store, progress, threads)?;
    if let Err(problem) = write_summary(folder, study, &outcomes) {
        halt.get_or_insert(Halt { problem, refused: false });
    }
    Ok((outcomes, halt))
}

/// The folder of a sweep.
struct Folder<'a> {
    folder: &'a Path,
    shard: Option<Shard>,
    claims: Claims,
}

impl Folder<'_> {
    fn of(&self, point: &Point) -> PathBuf {
        self.folder.join(POINTS).join(&point.name)
    }
}

impl Store for Folder<'_> {
    fn load(&self, point: &Point) -> Option<RunResult> {
        let at = self.of(point);
        let same = std::fs::read_to_string(at.join("study.toml")).ok()? == point.study.to_toml();
        let summary: serde_json::Value =
            serde_json::from_slice(&std::fs::read(at.join("summary.json")).ok()?).ok()?;
        let version = summary.get("version")?.as_str()? == env!("CARGO_PKG_VERSION");
        let whole =
            ["report.html", "series.parquet", "latency.parquet"].iter().all(|name| at.join(name).is_file());
        (same && version && whole).then(|| serde_json::from_value(summary).ok())?
    }

    fn save(&self, point: &Point, result: &RunResult) -> Result<(), Problem> {
        write::write_all(&self.of(point), &point.study, result, &[])
    }

    fn wants(&self, number: usize) -> bool {
        self.shard.is_none_or(|shard| shard.has(number))
    }

    fn claim(&self, point: &Point) -> Result<bool, Problem> {
        self.claims.claim(&self.of(point))
    }

    fn release(&self, point: &Point) {
        self.claims.release(&self.of(point));
    }
}

#[derive(Serialize)]
struct Summary<'a> {
    format: u32,
    version: &'static str,
    partial: Option<String>,
    configuration: netloom_study::resolve::Configuration<'a>,
    points: Vec<serde_json::Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    saturation: Vec<serde_json::Value>,
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
    let (found, axis) = (search::found(study, outcomes), search::load_axis(study));
    let points = outcomes.iter().map(|o| {
        let parameters: serde_json::Map<String, serde_json::Value> =
            study.axes.iter().zip(&o.point.values).map(|(a, v)| (a.path.clone(), value_json(v))).collect();
        let figures = o.result.as_ref().map(|r| {
            let own = columns(r).into_iter().map(|(name, value)| match &*name {
                table::SATURATED => (name.into_owned(), table::flag(value).into()),
                _ => (name.into_owned(), value.into()),
            });
            let load =
                saturation::load_of(&found, axis, o).map(|x| (table::SATURATION_LOAD.into(), x.into()));
            own.chain(load).collect::<serde_json::Map<_, _>>()
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
        saturation: saturation::json(study, outcomes),
        claims,
    };
    let mut text = serde_json::to_string_pretty(&summary).expect("a summary is plain data");
    text.push('\n');
    text
}

fn write_summary(folder: &Path, study: &ResolvedStudy, outcomes: &[Outcome]) -> Result<(), Problem> {
    let plots = plot::plots(study, outcomes, folder);
    let claims = judge(study, outcomes, folder)?;
    let mut files = write::Files::of_shared(folder);
    files.put("sweep.json", to_json(study, outcomes, &claims).as_bytes());
    let table = table::columns_of(study, outcomes);
    files.put("sweep.parquet", &table.to_parquet()?);
    files.put("sweep.csv", &table.to_csv()?);
    files.put("report.html", report::to_html(study, outcomes, &plots, &claims, folder).as_bytes());
    for plot in &plots {
        files.put(&format!("{}.svg", plot.name), plot.svg.as_bytes());
    }
    files.finish()
}

/// Judges the claims of a sweep's study by its points.
///
/// # Errors
/// Errors of the published figures.
pub fn judge(study: &ResolvedStudy, outcomes: &[Outcome], folder: &Path) -> Result<Vec<Judged>, Problem> {
    let mut points: Vec<Ran> = vec![];
    for outcome in outcomes {
        let Some(mut result) = outcome.result.clone() else { continue };
        result.series = over_time::series(outcome, folder).unwrap_or_default();
        let paths = study.axes.iter().map(|axis| axis.path.clone());
        let parameters = paths.zip(outcome.point.values.iter().cloned()).collect();
        points.push(Ran { name: &outcome.point.name, study: &outcome.point.study, result, parameters });
    }
    claims::judge_points(&study.claims, &points, points.len() == outcomes.len())
}

/// What ends a sweep, for people: the table of its points, what they are made of, warnings, and what became
/// of its claims.
pub fn summary(study: &ResolvedStudy, outcomes: &[Outcome], claims: &[Judged]) -> String {
    let names = short_names(&study.axes.iter().map(|a| a.path.as_str()).collect::<Vec<_>>());
    let mut head = names;
    let (figures, rows) = table::rows(outcomes, true);
    head.extend(figures);
    let mut text = narrow::table(&head, &rows, study.axes.len());
    if let Some((head, rows)) = saturation::table(study, outcomes) {
        text += &format!("\n{}\n{}", saturation::HEADING, crate::text_table::aligned(&head, &rows));
    }
    text += &measured::text(outcomes);
    if let Some((head, rows)) = cost::table(study, outcomes) {
        text += &format!("\n{}", crate::text_table::aligned(&head, &rows));
    }
    let lines: Vec<String> = table::warnings(outcomes).iter().map(|w| format!("WARNING: {w}\n")).collect();
    for lines in [lines, claims::lines(claims)].iter().filter(|lines| !lines.is_empty()) {
        text += &format!("\n{}", lines.concat());
    }
    text
}
