//! `netloom mpirun`: runs a program as the tasks of a job on a simulated machine.

use crate::Trouble;
use crate::args::MpirunArgs;
#[cfg(not(target_os = "linux"))]
use netloom_study::diagnose::Problem;
use std::io::Write;

#[cfg(not(target_os = "linux"))]
pub fn mpirun(_: MpirunArgs, _: &mut dyn Write, _: &mut dyn Write) -> Result<u8, Trouble> {
    Err(Problem::new("`netloom mpirun` needs Linux").help("Simulations run here; see `netloom run`").into())
}

/// The mapping that an argument names: a word that is neither a name nor letters is a file.
#[cfg(target_os = "linux")]
fn mapping(text: String) -> netloom_guest::MappingConfig {
    use netloom_guest::MappingConfig;
    let is_letters = text.len() <= 5 && text.chars().all(|letter| "xyzuv".contains(letter));
    match text.as_str() {
        "in-order" => MappingConfig::InOrder,
        "random" => MappingConfig::Random,
        _ if is_letters => MappingConfig::Dimensions(text),
        _ => MappingConfig::File(text),
    }
}

/// The threads of the simulator, if none are asked for. Guests of few tasks wait for each other. Where their
/// computing counts, one at a time computes, as fast as it can.
#[cfg(target_os = "linux")]
fn usual_threads(tasks: u32, compute_scale: f64) -> usize {
    if compute_scale > 0.0 { 1 } else { netloom_study::run::threads_here().min(tasks as usize / 8).max(1) }
}

/// Runs the job; returns its exit status.
#[cfg(target_os = "linux")]
pub fn mpirun(args: MpirunArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<u8, Trouble> {
    use netloom_guest::{Machine, Outcome, RunError, run};
    use netloom_report::folder::{IfExists, output_folder};
    use netloom_report::profile::{text, trace, write_profile};
    use netloom_shm::launch::{Bind, share_core};
    use netloom_study::diagnose::Problem;
    let tasks = args.job.tasks;
    let mut job = crate::exec::job(args.job, Bind::None);
    if args.clock == crate::args::Clock::Simulated {
        job.environment.push(("NETLOOM_CLOCK".into(), "simulated".into()));
    }
    let is_profiled = args.profile || args.out.is_some() || args.timeline.is_some();
    let folder = match &args.out {
        Some(folder) => {
            let if_exists = if args.force { IfExists::Replace } else { IfExists::Refuse };
            Some(output_folder(folder, if_exists)?)
        }
        None => None,
    };
    if let Some(path) = &args.timeline {
        // Better now than when the run is done.
        let opened = std::fs::OpenOptions::new().append(true).create(true).open(path);
        opened.map_err(|e| {
            Problem::new(format!("cannot write {}: {e}", path.display()))
                .help("--timeline needs a file in a folder that exists")
        })?;
    }
    let machine = Machine {
        is_profiled,
        name: args.machine,
        sets: args.sets,
        tasks_per_node: args.ppn,
        mapping: mapping(args.map),
        threads: args.threads.map_or_else(|| usual_threads(tasks, args.compute), |n| n as usize),
        compute_scale: args.compute,
        patience_s: args.patience.as_secs_f64(),
    };
    if machine.threads == 1 {
        // Guests take turns with the simulator, which is faster on one core.
        share_core();
    }
    let outcome = run(&machine, job, out, err).map_err(|error| match error {
        RunError::Machine(problem) => problem,
        RunError::Launch(error) => crate::exec::problem(&error),
        RunError::Channels(..) => {
            let source =
                std::error::Error::source(&error).map_or(String::new(), |source| format!(": {source}"));
            Problem::new(format!("{error}{source}"))
        }
    })?;
    let Outcome {
        processes,
        failures,
        deadlock,
        running,
        ended_early,
        simulated_us,
        machine,
        tasks_per_node,
        hand_overs,
        wall,
        profile,
    } = outcome;
    for (task, why) in &failures {
        writeln!(err, "netloom: task {task}: {why}")?;
    }
    for sentence in &deadlock {
        writeln!(err, "netloom: deadlock: {sentence}")?;
    }
    if let Some(why) = &ended_early {
        writeln!(err, "netloom: the simulation ended before the tasks: {why}")?;
    }
    let has_failed = !failures.is_empty() || ended_early.is_some();
    // The tasks that were ended since others failed on the machine are no news.
    if processes.status() != crate::OK && !has_failed {
        writeln!(err, "netloom: {processes}")?;
    }
    for task in &running {
        writeln!(
            err,
            "netloom: task {task} ran until then without a call of its library; the others waited for it"
        )?;
    }
    if !args.quiet {
        let wall_s = wall.as_secs_f64();
        let plural = if tasks == 1 { "" } else { "s" };
        write!(err, "netloom: {tasks} task{plural}, {tasks_per_node} a node of {machine}: ")?;
        match hand_overs {
            0 => writeln!(err, "no task used MPI or PAMI, so nothing was simulated")?,
            _ => writeln!(err, "{simulated_us:.3} us simulated in {wall_s:.2} s, {hand_overs} hand-overs")?,
        }
    }
    if let Some(profile) = &profile {
        write!(err, "{}", text::tables(profile))?;
        if let Some(left_out) = text::left_out(profile) {
            writeln!(err, "netloom: warning: {left_out}")?;
        }
        if let Some(path) = &args.timeline {
            std::fs::write(path, trace::to_json(profile))
                .map_err(|e| Problem::new(format!("cannot write {}: {e}", path.display())))?;
        }
        if let Some(folder) = &folder {
            write_profile(folder, profile)?;
        }
        let written = [folder.as_ref().map(|folder| folder.join("report.html")), args.timeline.clone()];
        for file in written.into_iter().flatten() {
            writeln!(err, "netloom: profile: {}", file.display())?;
        }
    }
    Ok(if has_failed { crate::FAILED } else { processes.status() })
}
