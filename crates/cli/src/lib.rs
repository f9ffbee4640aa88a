//! The `netloom` command, apart from its `main`: it reads arguments, has the study crate do the work, and
//! prints.

pub mod args;
#[cfg(target_os = "linux")]
mod at_limit;
mod cc;
mod describe;
mod exec;
pub mod launcher;
mod memory_bench;
#[cfg(target_os = "linux")]
mod messaging_bench;
#[cfg(target_os = "linux")]
mod mpi_bench;
mod mpirun;
pub mod names;
mod process_group;
#[cfg(feature = "mpi")]
pub mod ranks;
pub mod reference;
mod runs;
mod studies;
mod validation;

pub use process_group::ProcessGroup;

use args::{
    BenchAction, Cli, Command, Common, MachinesAction, MemoryBenchArgs, MessagingBenchArgs, MpiBenchArgs,
    StudiesAction,
};
use clap::{CommandFactory, Parser};
use netloom_report::compare;
use netloom_report::folder::{IfExists, output_folder};
use netloom_study::diagnose::{Problem, suggest};
use netloom_study::library;
use netloom_study::machine::BUILT_IN;
use netloom_study::number::grouped;
use netloom_study::resolve::{ResolvedStudy, load, load_machine, machine_roundings};
use netloom_study::run::{Quiet, Simulate, threads_here};
use netloom_study::{machine, memory};
use netloom_validate::judges::{Bench, Judge};
use netloom_validate::records::Recorder;
use netloom_validate::{bench, verdicts};
use reference::Topic;
use runs::{Once, run_once, run_study, run_sweep};
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// All is well.
pub const OK: u8 = 0;
/// A figure or claim failed, an expectation was not met, a run stalled or failed, or its result could not be
/// written.
pub const FAILED: u8 = 1;
/// A mistake in a file or a flag.
pub const MISTAKE: u8 = 2;
/// Stopped, with a partial result.
pub const STOPPED: u8 = 130;

/// The exit statuses, for the reference.
pub const STATUSES: [(u8, &str); 4] = [
    (OK, "The command did what it was asked for."),
    (
        FAILED,
        "A run stalled or failed, a claim does not hold, an expectation is not met, a published figure fails, or a result \
         could not be written.",
    ),
    (MISTAKE, "A mistake in a file or a flag; nothing was run."),
    (STOPPED, "Interrupted, with a partial result."),
];

/// What the command works with.
pub struct World<'a> {
    /// The simulator.
    pub simulator: &'a dyn Simulate,
    /// That on this computer's graphics processor, if it is built in.
    pub gpu: Option<&'a dyn Simulate>,
    /// Those who judge published figures.
    pub judges: &'a [Judge],
    /// Set when the run should end.
    pub stop: &'a AtomicBool,
    /// Memory that is available, bytes, if that is known.
    pub memory: Option<u64>,
    /// The processes that simulate a machine together, if there are several.
    pub peers: Option<ProcessGroup>,
}

impl World<'_> {
    /// Whether this process shows and writes what is found.
    fn is_first(&self) -> bool {
        self.peers.as_ref().is_none_or(|of| of.is_first())
    }

    /// The processes of a run.
    fn processes(&self) -> usize {
        self.peers.as_ref().map_or(1, |of| of.count())
    }
}

/// Runs the command of the arguments and returns the exit status.
///
/// # Errors
/// When `out` cannot be written to.
pub fn run(
    args: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    world: &World,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> std::io::Result<u8> {
    let args = exec::long_options(args.into_iter().map(Into::into).collect());
    let is_given = args.iter().any(|word| word.to_string_lossy().starts_with("--threads"));
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(e) => {
            let text = e.render();
            if e.use_stderr() {
                let colour = std::io::stderr().is_terminal();
                if colour {
                    write!(err, "{}", text.ansi())?
                } else {
                    write!(err, "{text}")?
                }
                if !is_given && text.to_string().contains("'--threads") {
                    writeln!(
                        err,
                        "\nThe environment variable NETLOOM_THREADS says so: correct it, or unset it."
                    )?;
                }
                return Ok(MISTAKE);
            }
            if std::io::stdout().is_terminal() {
                write!(out, "{}", text.ansi())?
            } else {
                write!(out, "{text}")?
            }
            return Ok(OK);
        }
    };
    let json = wants_json(&cli);
    match command(cli, world, out, err) {
        Ok(status) => Ok(status),
        Err(Trouble::Output(e)) => Err(e),
        Err(Trouble::Study(problem)) => {
            show(&problem, json, err)?;
            Ok(MISTAKE)
        }
    }
}

/// Reports a problem: as JSON for programs, or for people.
fn show(problem: &Problem, json: bool, err: &mut dyn Write) -> std::io::Result<()> {
    if !json {
        let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        return write!(err, "{}", problem.render(colour));
    }
    let mut error = serde_json::json!({ "error": as_json(problem) });
    if !problem.others().is_empty() {
        error["other_errors"] = problem.others().iter().map(as_json).collect();
    }
    writeln!(err, "{error}")
}

fn as_json(problem: &Problem) -> serde_json::Value {
    let place = problem.origin.as_ref();
    serde_json::json!({
        "message": problem.message,
        "file": place.map(|o| o.file.name.clone()),
        "line": place.map(|o| o.line()),
        "expected": place.map(|_| problem.label.clone()),
        "help": problem.help,
    })
}

/// What can go wrong: in what was asked for, or in printing.
enum Trouble {
    Study(Problem),
    Output(std::io::Error),
}

impl From<Problem> for Trouble {
    fn from(problem: Problem) -> Self {
        Trouble::Study(problem)
    }
}
impl From<std::io::Error> for Trouble {
    fn from(error: std::io::Error) -> Self {
        Trouble::Output(error)
    }
}

fn wants_json(cli: &Cli) -> bool {
    match &cli.command {
        Some(Command::Run(a) | Command::Sweep(a)) => a.common.json,
        Some(Command::Validate { common, .. } | Command::Bench { what: None, common, .. }) => common.json,
        Some(
            Command::Compare { json, .. }
            | Command::Bench {
                what:
                    Some(
                        BenchAction::Messaging(MessagingBenchArgs { json, .. })
                        | BenchAction::Memory(MemoryBenchArgs { json, .. })
                        | BenchAction::Mpi(MpiBenchArgs { json, .. }),
                    ),
                ..
            },
        ) => *json,
        Some(Command::Machines {
            action: Some(MachinesAction::List { json } | MachinesAction::Describe { json, .. }),
        })
        | Some(Command::Studies { action: Some(StudiesAction::List { json }) }) => *json,
        _ => false,
    }
}

fn command(cli: Cli, world: &World, out: &mut dyn Write, err: &mut dyn Write) -> Result<u8, Trouble> {
    match cli.command {
        None => {
            let study = load(library::MAIN, &[])?;
            memory::check(&[&study], 1, world.memory)?;
            let folder = output_folder(&default_folder(&study), IfExists::Next)?;
            run_study(&study, &folder, Once::default(), &Common::default(), world, out, err)
        }
        Some(Command::Run(args)) => {
            let mut study = load(&args.study, &args.sets.set)?;
            if args.timeline.is_some() {
                study.study.timeline.get_or_insert_default();
            }
            if study.axes.is_empty() {
                return run_once(&study, &args, world, out, err);
            }
            let points: usize = study.axes.iter().map(|axis| axis.values.len()).product();
            let note = "this study has a [sweep] table";
            let least = if study.saturation.is_some() { "at least " } else { "" };
            writeln!(err, "netloom: {note}: {least}{points} runs follow; --set sweep={{}} makes it one")?;
            run_sweep(&study, &args, world, out, err)
        }
        Some(Command::Sweep(args)) => {
            let study = load(&args.study, &args.sets.set)?;
            if !study.axes.is_empty() {
                return run_sweep(&study, &args, world, out, err);
            }
            let example = "--set 'sweep.seed=[1,2]'";
            writeln!(
                err,
                "netloom: this study has no [sweep] table: one run follows; {example} makes it two"
            )?;
            run_once(&study, &args, world, out, err)
        }
        Some(Command::Studies { action }) => {
            studies(action.unwrap_or(StudiesAction::List { json: false }), out)
        }
        Some(Command::Compare { results, all, json, html }) => {
            let read = |path: &PathBuf| Ok::<_, Problem>((path.display().to_string(), compare::read(path)?));
            let results: Vec<_> = results.iter().map(read).collect::<Result<_, _>>()?;
            let comparison = compare::compare(&results);
            if json {
                print_json(out, &comparison)?;
            } else {
                write!(out, "{}", compare::text(&comparison, all))?;
            }
            if let Some(path) = html {
                std::fs::write(&path, compare::page(&comparison, all))
                    .map_err(|e| Problem::new(format!("cannot write {}: {e}", path.display())))?;
                writeln!(err, "Page: {}", path.display())?;
            }
            Ok(OK)
        }
        Some(Command::Help { topic }) => help(&topic, out),
        Some(Command::Man { command }) => {
            let page = command_of(command.as_slice())?;
            let mut text = Vec::new();
            clap_mangen::Man::new(page).render(&mut text)?;
            out.write_all(&text)?;
            Ok(OK)
        }
        Some(Command::Machines { action }) => {
            machines(action.unwrap_or(MachinesAction::List { json: false }), out)
        }
        Some(Command::Validate { what, quick, against, record, resume, common }) => {
            let quiet = Quiet(world.stop);
            let bench =
                Bench { simulator: world.simulator, progress: &quiet, threads: threads(&common), quick };
            let before = against.as_deref().map(|path| verdicts::read(path, quick)).transpose()?;
            let recorder = record.map(|path| Recorder::open(path, quick, what.as_deref())).transpose()?;
            let earlier = recorder.iter().filter(|_| resume).flat_map(Recorder::had);
            let earlier: Vec<_> = earlier.map(|recorded| recorded.verdict).collect();
            let mut observer = validation::Progress { recorder, resume, err };
            let entries = netloom_validate::run(world.judges, what.as_deref(), &bench, &mut observer)?;
            let earlier_fail = earlier.iter().filter(|verdict| verdict.failed()).count();
            if !earlier.is_empty() {
                let all = earlier.len();
                writeln!(
                    err,
                    "netloom: {all} figures are left out, as the list has them; {earlier_fail} of them fail"
                )?;
            }
            if common.json {
                print_json(out, &entries)?;
            } else {
                write!(out, "{}", netloom_validate::table(&entries))?;
            }
            let stopped = world.stop.load(Ordering::Relaxed);
            let failed = match &before {
                None => earlier_fail > 0 || entries.iter().any(|e| e.verdict.failed()),
                Some(before) => {
                    let changes = verdicts::compare(before, &entries, what.as_deref());
                    for change in &changes {
                        writeln!(err, "netloom: {change}")?;
                    }
                    if let (Some(file), false) = (&against, changes.is_empty()) {
                        let file = file.display();
                        writeln!(err, "netloom: {file} is out of date; `--record {file}` updates it")?;
                    }
                    changes.iter().any(verdicts::Change::fails)
                }
            };
            Ok(if failed {
                FAILED
            } else if stopped {
                STOPPED
            } else {
                OK
            })
        }
        #[cfg(target_os = "linux")]
        Some(Command::Bench { what: Some(BenchAction::Messaging(args)), .. }) => {
            messaging_bench::bench(&args, out, err)
        }
        #[cfg(not(target_os = "linux"))]
        Some(Command::Bench { what: Some(BenchAction::Messaging(_)), .. }) => {
            Err(Problem::new("`netloom bench messaging` needs Linux")
                .help("`netloom bench` runs here")
                .into())
        }
        #[cfg(target_os = "linux")]
        Some(Command::Bench { what: Some(BenchAction::Mpi(args)), .. }) => mpi_bench::bench(&args, out, err),
        #[cfg(not(target_os = "linux"))]
        Some(Command::Bench { what: Some(BenchAction::Mpi(_)), .. }) => {
            Err(Problem::new("`netloom bench mpi` needs Linux").help("`netloom bench` runs here").into())
        }
        Some(Command::Bench { what: Some(BenchAction::Memory(args)), .. }) => {
            memory_bench::bench(&args, world, out, err)
        }
        Some(Command::Bench { what: None, quick, common }) => {
            let cases = bench::run(world.simulator, &Quiet(world.stop), quick, |what| {
                let _ = writeln!(err, "netloom: {what}");
            })?;
            if common.json {
                print_json(out, &cases)?;
            } else {
                write!(out, "{}", bench::table(&cases))?;
            }
            Ok(OK)
        }
        Some(Command::Exec(args)) => exec::exec(args, out, err),
        Some(Command::Mpirun(args)) => mpirun::mpirun(args, out, err),
        Some(Command::Cc(args)) => cc::compile(&cc::C, &args, out),
        Some(Command::Cxx(args)) => cc::compile(&cc::CXX, &args, out),
        Some(Command::Fc(args)) => cc::compile(&cc::FORTRAN, &args, out),
        Some(Command::Completions { shell }) => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "netloom", &mut script);
            out.write_all(&script)?;
            Ok(OK)
        }
    }
}

fn threads(common: &Common) -> usize {
    common.threads.map_or_else(threads_here, |n| n as usize)
}

fn default_folder(study: &ResolvedStudy) -> PathBuf {
    Path::new("netloom-out").join(&study.study.name)
}

fn print_json(out: &mut dyn Write, value: &impl serde::Serialize) -> std::io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)
}

/// A command by its name and those of the commands above it; the program itself without a name.
fn command_of(names: &[String]) -> Result<clap::Command, Problem> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    for name in names {
        let known: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        let unknown = || Problem::new(format!("no command `{name}`")).help(suggest(name, &known));
        command = command.find_subcommand(name).cloned().ok_or_else(unknown)?;
    }
    Ok(command)
}

fn help(topic: &[String], out: &mut dyn Write) -> Result<u8, Trouble> {
    let reference = topic.first().and_then(|word| Topic::named(word));
    match reference {
        Some(of) => write!(out, "{}", reference::text(of, topic.get(1).map(String::as_str))?)?,
        None => write!(out, "{}", command_of(topic)?.render_long_help())?,
    }
    Ok(OK)
}

fn studies(action: StudiesAction, out: &mut dyn Write) -> Result<u8, Trouble> {
    match action {
        StudiesAction::List { json } => {
            let all = studies::list()?;
            if json {
                print_json(out, &all)?;
            } else {
                write!(out, "{}", studies::table(&all))?;
            }
        }
        StudiesAction::Show { study } => {
            let names = library::similar(&study);
            let (_, text) = library::text_of(&study).ok_or_else(|| {
                Problem::new(format!("no built-in study `{study}`")).help(suggest(&study, &names))
            })?;
            write!(out, "{text}")?;
        }
    }
    Ok(OK)
}

fn machines(action: MachinesAction, out: &mut dyn Write) -> Result<u8, Trouble> {
    match action {
        MachinesAction::List { json } => {
            let all: Vec<machine::Machine> =
                BUILT_IN.iter().map(|(name, _)| load_machine(name, &[])).collect::<Result<_, _>>()?;
            if json {
                print_json(out, &all)?;
            } else {
                for m in &all {
                    writeln!(out, "{:<10}{}, {} nodes", m.name(), m.title(), grouped(m.nodes() as i64))?;
                }
            }
        }
        MachinesAction::Show { machine } => {
            write!(out, "{}", machine::machine_source(&machine, Path::new("."))?.text)?;
        }
        MachinesAction::New { kind } => {
            let (_, text) =
                machine::NEW.iter().find(|(name, _)| *name == kind).expect("a kind that is offered");
            write!(out, "{text}")?;
        }
        MachinesAction::Check { machine, sets } => {
            let m = load_machine(&machine, &sets.set)?;
            writeln!(out, "{machine}: {} is valid, {} nodes", m.title(), grouped(m.nodes() as i64))?;
            describe::rounded(&machine_roundings(&machine, &sets.set)?, out)?;
        }
        MachinesAction::Describe { machine, size, sets, ticks, json } => {
            let m = load_machine(&machine, &size.sets(&sets))?;
            let upgrade =
                size.upgrade_to_groups.map(|groups| describe::upgrade(&machine, &m, groups, &size, &sets));
            let upgrade = upgrade.transpose()?;
            if json {
                let simulated = machine_roundings(&machine, &size.sets(&sets))?;
                let mut all = serde_json::json!({ "machine": m, "facts": m.facts(), "simulated": simulated });
                if let Some(upgrade) = upgrade {
                    all["upgrade"] = serde_json::json!(upgrade);
                }
                print_json(out, &all)?;
            } else {
                describe::describe(&m, upgrade.as_ref(), out)?;
                if ticks {
                    describe::simulated(&machine_roundings(&machine, &size.sets(&sets))?, out)?;
                }
            }
        }
    }
    Ok(OK)
}
