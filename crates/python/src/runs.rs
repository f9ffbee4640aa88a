//! Studies read, run and swept.

use crate::errors::{Kind, OrRaise, exception};
use crate::request::{Options, Source};
use crate::watch::{Watch, watched};
use netloom_report::folder::{IfExists, output_folder};
use netloom_report::published::WithPublished;
use netloom_report::{claims, sweep as sweeps, terminal, write};
use netloom_study::diagnose::Problem;
use netloom_study::memory;
use netloom_study::resolve::{EXAMPLES, ResolvedStudy};
use netloom_study::run::Simulate;
use netloom_study::simulate::Fabric;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::path::{Path, PathBuf};

/// The simulator.
pub const SIMULATOR: WithPublished<Fabric> = WithPublished(Fabric);

/// The result of a run, ready for Python.
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

/// The names of the studies that come with Netloom, the main example first.
#[pyfunction]
pub fn studies() -> Vec<&'static str> {
    EXAMPLES.iter().map(|(name, _)| *name).collect()
}

/// Reads and checks a study without running it: its name, its complete TOML text, and its configuration as JSON.
#[pyfunction]
pub fn check(py: Python, source: Source) -> PyResult<(String, String, String)> {
    let study = source.study().or_raise(py, Kind::Study)?;
    let json = serde_json::to_string(&study.configuration()).expect("a configuration is plain data");
    let toml = study.to_toml() + &study.claims_to_toml();
    Ok((study.study.name, toml, json))
}

/// Runs a study: a dict of `files`, `captions`, `text`, the `folder` written, and the exception that stopped it, `stopped`, or that its
/// files could not be written, `unwritten`.
#[pyfunction]
pub fn run<'py>(py: Python<'py>, source: Source, options: Options) -> PyResult<Bound<'py, PyDict>> {
    let study = source.study().or_raise(py, Kind::Study)?;
    if !study.axes.is_empty() {
        let problem = Problem::new(format!("the study `{}` has a [sweep] table", study.study.name));
        let problem = problem.help("use netloom.sweep, or sweep={} for one run");
        return Err(exception(py, Kind::Study, &problem));
    }
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
    let finished = finished.or_raise(py, Kind::Study)?;
    let all = PyDict::new(py);
    all.set_item("files", bytes_by_name(py, &finished.files)?)?;
    all.set_item("captions", finished.captions.into_iter().collect::<std::collections::BTreeMap<_, _>>())?;
    all.set_item("text", finished.text)?;
    all.set_item("folder", folder)?;
    all.set_item("stopped", stopped)?;
    all.set_item("unwritten", finished.unwritten.map(|problem| exception(py, Kind::Output, &problem)))?;
    Ok(all)
}

fn bytes_by_name<'py>(py: Python<'py>, files: &[(String, Vec<u8>)]) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    files.iter().try_for_each(|(name, bytes)| all.set_item(name, PyBytes::new(py, bytes)))?;
    Ok(all)
}

/// Runs a study at every point of its `[sweep]` into the folder of the options, which it must have. Returns a dict of the `folder`, the
/// summary for people, `text`, how many points are missing, `missing`, and which exception stopped it, `stopped`, or is due to a point
/// or a file, `halted`.
#[pyfunction]
pub fn sweep<'py>(py: Python<'py>, source: Source, options: Options) -> PyResult<Bound<'py, PyDict>> {
    let study = source.study().or_raise(py, Kind::Study)?;
    let threads = options.threads();
    let points = sweeps::points(&study).or_raise(py, Kind::Study)?;
    let all: Vec<&ResolvedStudy> = points.iter().map(|point| &point.study).collect();
    memory::check(&all, threads, options.memory()).or_raise(py, Kind::Study)?;
    let folder = sweep_folder(&study, &options).or_raise(py, Kind::Output)?;
    options.write_files().or_raise(py, Kind::Output)?;
    let (listener, into) = (options.listener(py, &study), folder.clone());
    let (swept, stopped) = watched(py, &listener, move |watch| swept(&study, &into, watch, threads))?;
    let (text, missing, halt) = swept.or_raise(py, Kind::Study)?;
    let halted = halt.map(|halt| {
        let kind = if halt.refused { Kind::Study } else { Kind::Output };
        exception(py, kind, &halt.problem)
    });
    let all = PyDict::new(py);
    all.set_item("folder", folder)?;
    all.set_item("text", text)?;
    all.set_item("missing", missing)?;
    all.set_item("stopped", stopped)?;
    all.set_item("halted", halted)?;
    Ok(all)
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

fn swept(study: &ResolvedStudy, folder: &Path, watch: &Watch, threads: usize) -> Result<Swept, Problem> {
    let (outcomes, halt) = sweeps::run_and_keep(study, &SIMULATOR, folder, watch, threads)?;
    let judged = sweeps::judge(study, &outcomes, folder)?;
    let missing = outcomes.iter().filter(|o| o.result.is_none()).count();
    Ok((sweeps::summary(study, &outcomes, &judged), missing, halt))
}
