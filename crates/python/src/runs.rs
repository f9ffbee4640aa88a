//! Studies read, run and swept.

use crate::errors::{Kind, OrRaise, exception};
use crate::request::{Options, Source};
use crate::watch::{Watch, watched};
use netloom_report::folder::{IfExists, output_folder};
use netloom_report::published::WithPublished;
use netloom_report::{claims, sweep as sweeps, terminal, write};
use netloom_simulate::Fabric;
use netloom_study::diagnose::Problem;
use netloom_study::library::STUDIES;
use netloom_study::memory;
use netloom_study::resolve::ResolvedStudy;
use netloom_study::run::Simulate;
use pyo3::prelude::*;
use std::path::{Path, PathBuf};

/// The simulator.
pub const SIMULATOR: WithPublished<Fabric> = WithPublished(Fabric);

/// The result of a run as files and text.
struct Finished {
    /// Names and contents of its files.
    files: Vec<(String, Vec<u8>)>,
    /// Names and captions of its drawings.
    captions: Vec<(String, String)>,
    /// The summary for people.
    text: String,
    /// Why the files could not be written into the folder, if they could not.
    unwritten: Option<Problem>,
}

/// Runs a study and writes its files into a folder, if there is one.
fn simulate(
    study: &ResolvedStudy,
    out: Option<&Path>,
    watch: &Watch,
    threads: usize,
) -> Result<Finished, Problem> {
    let result = SIMULATOR.simulate(study, watch, threads)?;
    let judged = claims::judge_run(study, &result)?;
    let plots = write::plots(study, &result);
    let files = write::files(study, &result, &judged, &plots)?;
    let unwritten = out.and_then(|folder| write::write_files(folder, &files).err());
    let captions = plots.into_iter().map(|plot| (plot.name, plot.caption)).collect();
    Ok(Finished { files, captions, text: terminal::summary(study, &result, &judged), unwritten })
}

/// The names of the studies that come with Netloom, in their order.
#[pyfunction]
pub fn studies() -> Vec<&'static str> {
    STUDIES.iter().map(|(name, _)| *name).collect()
}

/// Reads and checks a study without running it: its name, its complete TOML text, and its configuration as
/// JSON.
#[pyfunction]
pub fn check(py: Python, source: Source) -> PyResult<(String, String, String)> {
    let study = source.study().or_raise(py, Kind::Study)?;
    let json = serde_json::to_string(&study.configuration()).expect("a configuration is plain data");
    let toml = study.to_toml() + &study.claims_to_toml();
    Ok((study.study.name, toml, json))
}

/// The result of a run for Python, as a dict.
#[derive(IntoPyObject)]
pub struct RunOutput {
    /// Names and contents of the files of its folder.
    files: Vec<(String, Vec<u8>)>,
    /// Names and captions of its drawings.
    captions: Vec<(String, String)>,
    /// The summary for people.
    text: String,
    /// The folder that was written.
    folder: Option<PathBuf>,
    /// The exception that stopped it.
    stopped: Option<PyErr>,
    /// Why its files could not be written.
    unwritten: Option<PyErr>,
}

/// Runs a study.
#[pyfunction]
pub fn run(py: Python, source: Source, options: Options) -> PyResult<RunOutput> {
    let study = source.study().or_raise(py, Kind::Study)?;
    refuse_sweep(&study).or_raise(py, Kind::Study)?;
    memory::check(&[&study], 1, options.memory()).or_raise(py, Kind::Study)?;
    let folder = options.out.as_ref().map(|out| output_folder(out, options.if_exists())).transpose();
    let folder = folder.or_raise(py, Kind::Output)?;
    options.write_files().or_raise(py, Kind::Output)?;
    let (listener, threads) = (options.listener(py, &study), options.threads());
    let into = folder.clone();
    let (finished, stopped) =
        watched(py, &listener, move |watch| simulate(&study, into.as_deref(), watch, threads))?;
    if finished.is_err() {
        options.discard(folder.as_deref());
    }
    let Finished { files, captions, text, unwritten } = finished.or_raise(py, Kind::Study)?;
    let unwritten = unwritten.map(|problem| exception(py, Kind::Output, &problem));
    Ok(RunOutput { files, captions, text, folder, stopped, unwritten })
}

/// Refuses to run a study once that sweeps.
fn refuse_sweep(study: &ResolvedStudy) -> Result<(), Problem> {
    if study.axes.is_empty() {
        return Ok(());
    }
    let problem = Problem::new(format!("the study `{}` has a [sweep] table", study.study.name));
    Err(problem.help("use netloom.sweep, or sweep={} for one run"))
}

/// The result of a sweep for Python, as a dict.
#[derive(IntoPyObject)]
pub struct SweepOutput {
    /// Its folder, which has the results.
    folder: PathBuf,
    /// The summary for people.
    text: String,
    /// Points that have not run.
    missing: usize,
    /// The exception that stopped it.
    stopped: Option<PyErr>,
    /// Why a point was refused or could not be stored.
    halted: Option<PyErr>,
}

/// Runs a study at every point of its `[sweep]` into the folder of the options, which it must have.
#[pyfunction]
pub fn sweep(py: Python, source: Source, options: Options) -> PyResult<SweepOutput> {
    let study = source.study().or_raise(py, Kind::Study)?;
    let threads = options.threads();
    let points = sweeps::points(&study).or_raise(py, Kind::Study)?;
    let points: Vec<&ResolvedStudy> = points.iter().map(|point| &point.study).collect();
    memory::check(&points, threads, options.memory()).or_raise(py, Kind::Study)?;
    let folder = sweep_folder(&study, &options).or_raise(py, Kind::Output)?;
    options.write_files().or_raise(py, Kind::Output)?;
    let (listener, into) = (options.listener(py, &study), folder.clone());
    let (swept, stopped) = watched(py, &listener, move |watch| run_points(&study, &into, watch, threads))?;
    let (text, missing, halt) = swept.or_raise(py, Kind::Study)?;
    let halted = halt.map(|halt| {
        let kind = if halt.refused { Kind::Study } else { Kind::Output };
        exception(py, kind, &halt.problem)
    });
    Ok(SweepOutput { folder, text, missing, stopped, halted })
}

/// The folder of a sweep: resumed where it holds this very sweep.
fn sweep_folder(study: &ResolvedStudy, options: &Options) -> Result<PathBuf, Problem> {
    let wanted = options.out.as_deref().ok_or_else(|| Problem::new("a sweep needs a folder"))?;
    let resumes = !options.force && sweeps::holds(wanted, study);
    let folder = output_folder(wanted, if resumes { IfExists::Replace } else { options.if_exists() })?;
    if options.force && folder.join("points").is_dir() {
        sweeps::forget(&folder)?;
    }
    Ok(folder)
}

/// The summary of a sweep, how many points are missing, and what halted it.
type Swept = (String, usize, Option<sweeps::Halt>);

/// Runs the points that the folder does not hold.
fn run_points(study: &ResolvedStudy, folder: &Path, watch: &Watch, threads: usize) -> Result<Swept, Problem> {
    let (outcomes, halt) = sweeps::run_and_keep(study, &SIMULATOR, (folder, None), watch, threads)?;
    let judged = sweeps::judge(study, &outcomes, folder)?;
    let missing = outcomes.iter().filter(|o| o.result.is_none()).count();
    Ok((sweeps::summary(study, &outcomes, &judged), missing, halt))
}
