//! `netloom run` and `netloom sweep`: a study is run, shown, and written into a folder.

use crate::args::{Common, RunArgs};
use crate::{FAILED, MISTAKE, OK, STOPPED, Trouble, World, default_folder, show, threads};
use netloom_report::folder::{IfExists, output_folder};
use netloom_report::terminal::{Terminal, summary};
use netloom_report::{claims, sweep, write};
use netloom_study::diagnose::Problem;
use netloom_study::memory;
use netloom_study::resolve::ResolvedStudy;
use netloom_study::result::{Ended, RunResult};
use netloom_study::run::{Checkpoints, ProgressSink, Quiet, Simulate, unmet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::SystemTime;

/// Runs a study once, if all is ready for it.
pub(crate) fn run_once(
    study: &ResolvedStudy,
    args: &RunArgs,
    world: &World,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<u8, Trouble> {
    if args.shard.is_some() {
        return Err(Problem::new("--shard is for sweeps, and this is one run").into());
    }
    let checkpoints = args.checkpoint.clone().map(|file| Checkpoints { file, every: args.checkpoint_every });
    let continues = checkpoints.as_ref().filter(|of| of.file.exists());
    if let Some(of) = continues.filter(|_| world.is_first()) {
        writeln!(err, "netloom: reads the checkpoint {}", of.file.display())?;
    }
    let simulator = simulator(args, world)?;
    // The machine of a run on a GPU is in its memory.
    let memory = world
        .memory
        .filter(|_| !args.force_memory && !args.gpu)
        .map(|bytes| bytes * world.processes() as u64);
    let folder = memory::check(&[study], 1, memory).and_then(|()| match world.is_first() {
        true => {
            let folder = folder_of(args, study);
            let has_part = continues.is_some() && write::has_interrupted(&folder, study);
            output_folder(&folder, if has_part { IfExists::Replace } else { if_exists(args) })
        }
        false => Ok(PathBuf::new()),
    });
    let is_ready = world.peers.as_ref().is_none_or(|of| of.agree(folder.is_ok()));
    let folder = folder?;
    if !is_ready {
        // Another process says why.
        return Ok(MISTAKE);
    }
    let once = Once { timeline: args.timeline.as_deref(), checkpoints, simulator: Some(simulator) };
    run_study(study, &folder, once, &args.common, world, out, err)
}

/// What is asked of one run.
#[derive(Default)]
pub(crate) struct Once<'a> {
    /// The file of its timeline, if that is not to be in the folder.
    pub timeline: Option<&'a Path>,
    /// Its checkpoints.
    pub checkpoints: Option<Checkpoints>,
    /// The simulator, if it is another than the usual one.
    pub simulator: Option<&'a dyn Simulate>,
}

/// The simulator that the arguments ask for.
fn simulator<'a>(args: &RunArgs, world: &World<'a>) -> Result<&'a dyn Simulate, Problem> {
    if !args.gpu {
        return Ok(world.simulator);
    }
    if world.peers.is_some() {
        return Err(Problem::new("--gpu is for one process, and several simulate this machine together"));
    }
    world.gpu.ok_or_else(|| {
        Problem::new("this netloom is built without the feature `gpu`")
            .help("cargo build --release -p netloom-cli --features gpu; or leave out --gpu")
    })
}

/// Runs a study once, and writes its result into this folder.
pub(crate) fn run_study(
    study: &ResolvedStudy,
    folder: &Path,
    Once { timeline, checkpoints, simulator }: Once,
    common: &Common,
    world: &World,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<u8, Trouble> {
    let begin = SystemTime::now();
    let simulate = |progress: &dyn ProgressSink| {
        let simulator = simulator.unwrap_or(world.simulator);
        simulator.run(study, checkpoints.as_ref(), progress, threads(common))
    };
    if !world.is_first() {
        let result = simulate(&Quiet(world.stop))?;
        return Ok(status(study, &result, &claims::judge_run(study, &result)?));
    }
    let view = Terminal::new(study, world.stop);
    let result = simulate(&view);
    view.finish();
    let mut result = result.inspect_err(|_| {
        // The folder was made for nothing; if it holds something already, it stays.
        let _ = std::fs::remove_dir(folder);
    })?;
    let judged = claims::judge_run(study, &result)?;
    // What was found is shown before anything is written: a disk may be full.
    if common.json {
        write!(out, "{}", write::summary::to_json(study, &result, &judged))?;
    } else {
        write!(out, "{}", summary(study, &result, &judged))?;
    }
    out.flush()?;
    // A timeline with a file of its own is not in the folder too.
    let own = timeline.and_then(|path| Some((path, result.timeline.take()?)));
    if let Some((path, timeline)) = &own {
        let written = std::fs::write(path, write::timeline::to_json(timeline));
        written.map_err(|e| Problem::new(format!("cannot write {}: {e}", path.display())))?;
    }
    if let Err(problem) = write::write_all(folder, study, &result, &judged) {
        show(&problem, common.json, err)?;
        return Ok(FAILED);
    }
    writeln!(err, "Report: {}", folder.join("report.html").display())?;
    let in_folder = result.timeline.is_some().then(|| folder.join(write::TIMELINE));
    if let Some(path) = own.map(|(path, _)| path.to_owned()).or(in_folder) {
        writeln!(err, "Timeline: {}", path.display())?;
    }
    let is_new = |of: &Checkpoints| {
        let written = std::fs::metadata(&of.file).and_then(|file| file.modified());
        result.simulated.ended == Ended::Interrupted && written.is_ok_and(|at| at >= begin)
    };
    if let Some(of) = checkpoints.filter(is_new) {
        writeln!(err, "Checkpoint: {}; the same command continues from it", of.file.display())?;
    }
    Ok(status(study, &result, &judged))
}

/// The exit status after a run.
fn status(study: &ResolvedStudy, result: &RunResult, judged: &[claims::Judged]) -> u8 {
    match result.simulated.ended {
        Ended::Interrupted => STOPPED,
        ended if ended.is_failure() => FAILED,
        _ if !unmet(study, result).is_empty() || claims::any_fails(judged) => FAILED,
        _ => OK,
    }
}

/// Runs all points of a study.
pub(crate) fn run_sweep(
    study: &ResolvedStudy,
    args: &RunArgs,
    world: &World,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<u8, Trouble> {
    if let Some(path) = &args.timeline {
        let what = format!("--timeline {} is for one run, and this is a sweep", path.display());
        let help = "give the study a [timeline] table: each point then has a timeline.json; --set sweep={} makes it one run";
        return Err(Problem::new(what).help(help).into());
    }
    if let Some(path) = &args.checkpoint {
        let what = format!("--checkpoint {} is for one run, and this is a sweep", path.display());
        let help =
            "a sweep that was stopped resumes at its first missing point; --set sweep={} makes it one run";
        return Err(Problem::new(what).help(help).into());
    }
    if args.gpu {
        let what = "--gpu is for one run, and this is a sweep";
        return Err(Problem::new(what).help("--set sweep={} makes it one run").into());
    }
    if world.peers.is_some() {
        let what = "several processes simulate one machine here, and this study has a [sweep] table";
        let help = "netloom sweep shares its points among processes; --set sweep={} makes it one run";
        return Err(Problem::new(what).help(help).into());
    }
    let wanted = folder_of(args, study);
    let points = sweep::points(study)?;
    let points: Vec<&ResolvedStudy> = points.iter().map(|point| &point.study).collect();
    memory::check(&points, threads(&args.common), world.memory.filter(|_| !args.force_memory))?;
    if args.shard.is_some() && study.saturation.is_some() {
        let what = "--shard needs to know all points, and this sweep searches for saturation";
        let help = "start the sweep several times without --shard: they share the points of its folder";
        return Err(Problem::new(what).help(help).into());
    }
    sweep::create(&wanted, study)?;
    let goes_on = !args.force && sweep::holds(&wanted, study);
    let folder = output_folder(&wanted, if goes_on { IfExists::Replace } else { if_exists(args) })?;
    if args.force && folder.join("points").is_dir() {
        sweep::forget(&folder)?;
    }
    let view = Terminal::new(study, world.stop);
    let outcomes =
        sweep::run_and_keep(study, world.simulator, (&folder, args.shard), &view, threads(&args.common));
    view.finish();
    let (outcomes, halt) = outcomes?;
    let judged = sweep::judge(study, &outcomes, &folder)?;
    if args.common.json {
        write!(out, "{}", sweep::to_json(study, &outcomes, &judged))?;
    } else {
        write!(out, "{}", sweep::summary(study, &outcomes, &judged))?;
    }
    if let Some(halt) = halt {
        show(&halt.problem, args.common.json, err)?;
        return Ok(if halt.refused { MISTAKE } else { FAILED });
    }
    let kept = outcomes.iter().filter(|o| o.kept).count();
    if kept > 0 {
        let (n, at) = (outcomes.len(), folder.display());
        writeln!(err, "{kept} of {n} points were run before or by others, in {at}; --force runs all")?;
    }
    writeln!(err, "Report: {}", folder.join("report.html").display())?;
    let missing = outcomes.iter().filter(|o| o.result.is_none()).count();
    let is_stopped = world.stop.load(Ordering::Relaxed);
    if missing > 0 && args.shard.is_some() && !is_stopped {
        writeln!(
            err,
            "{missing} of {} points belong to other parts; when they have run, the same command without --shard puts all together",
            outcomes.len()
        )?;
    } else if missing > 0 {
        writeln!(
            err,
            "Stopped with {missing} of {} points to go; the same command resumes the sweep",
            outcomes.len()
        )?;
        return Ok(STOPPED);
    }
    let unmet =
        outcomes.iter().any(|o| o.result.as_ref().is_some_and(|r| !unmet(&o.point.study, r).is_empty()));
    let failures = sweep::failures(&outcomes);
    if let Some(failures) = &failures {
        writeln!(err, "netloom: {failures}")?;
    }
    Ok(if unmet || claims::any_fails(&judged) || failures.is_some() { FAILED } else { OK })
}

fn folder_of(args: &RunArgs, study: &ResolvedStudy) -> PathBuf {
    args.out.clone().unwrap_or_else(|| default_folder(study))
}

fn if_exists(args: &RunArgs) -> IfExists {
    if args.force { IfExists::Replace } else { IfExists::Refuse }
}
