//! `netloom exec`: runs a program as the tasks of a job.

use crate::Trouble;
#[cfg(target_os = "linux")]
use crate::args::JobArgs;
use crate::args::{Cli, ExecArgs};
use clap::{ArgAction, CommandFactory};
use netloom_study::diagnose::Problem;
use std::ffi::OsString;
use std::io::Write;

/// The options of other launchers that are a word behind one dash.
const ONE_DASH: [(&str, &str); 3] =
    [("-np", "--np"), ("-wdir", "--wdir"), ("-initial-errhandler", "--initial-errhandler")];

/// The command line with two dashes before the options of `exec` and `mpirun` that other launchers write with
/// one.
pub fn long_options(mut args: Vec<OsString>) -> Vec<OsString> {
    let Some(name) = args.get(1).filter(|name| *name == "exec" || *name == "mpirun") else { return args };
    let mut command = Cli::command();
    command.build();
    let exec = command.find_subcommand(name).expect("a command");
    let takes_value = |word: &str| {
        exec.get_arguments().filter(|arg| matches!(arg.get_action(), ArgAction::Set | ArgAction::Append)).any(
            |arg| {
                let long = arg.get_long_and_visible_aliases().unwrap_or_default();
                let short = arg.get_short_and_visible_aliases().unwrap_or_default();
                match word.strip_prefix("--") {
                    Some(name) => long.contains(&name),
                    None => word.len() == 2 && short.iter().any(|&name| word.ends_with(name)),
                }
            },
        )
    };
    let mut at = 2;
    while let Some(word) = args.get(at).and_then(|word| word.to_str()) {
        if !word.starts_with('-') || word == "--" {
            break;
        }
        let with_two = ONE_DASH.iter().find(|(one, _)| *one == word).map(|&(_, two)| two);
        let has_value = takes_value(with_two.unwrap_or(word));
        if let Some(two) = with_two {
            args[at] = two.into();
        }
        at += 1 + usize::from(has_value);
    }
    args
}

#[cfg(not(target_os = "linux"))]
pub fn exec(_: ExecArgs, _: &mut dyn Write, _: &mut dyn Write) -> Result<u8, Trouble> {
    Err(Problem::new("`netloom exec` needs Linux").help("Simulations run here; see `netloom run`").into())
}

/// Runs the job; returns its exit status.
#[cfg(target_os = "linux")]
pub fn exec(args: ExecArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<u8, Trouble> {
    use crate::args::BindTo;
    use netloom_shm::launch::{Bind, launch};
    let bind = match args.bind {
        None => Bind::Auto,
        Some(BindTo::Core) => Bind::Core,
        Some(BindTo::None) => Bind::None,
    };
    let universe = match args.universe {
        None => universe(std::env::var(UNIVERSE).ok())?,
        given => given,
    };
    let job = netloom_shm::launch::Job { universe, ..job(args.job, bind) };
    if let Some(universe) = universe.filter(|&universe| universe < job.tasks) {
        let tasks = job.tasks;
        return Err(Problem::new(format!("the universe has {universe} tasks, and -n asks for {tasks}"))
            .help("--universe, or NETLOOM_UNIVERSE, is the number of all tasks, with those that are started later")
            .into());
    }
    let outcome = launch(&job, out, err).map_err(|error| problem(&error))?;
    if outcome.status() != crate::OK {
        // That it cannot be shown does not change the status.
        let _ = writeln!(err, "netloom: {outcome}");
        for line in crate::at_limit::lines(&outcome.at_limit) {
            let _ = writeln!(err, "netloom: {line}");
        }
    }
    Ok(outcome.status())
}

/// The environment variable in place of `--universe`.
#[cfg(target_os = "linux")]
const UNIVERSE: &str = "NETLOOM_UNIVERSE";

/// Its value.
#[cfg(target_os = "linux")]
fn universe(value: Option<String>) -> Result<Option<u32>, Trouble> {
    let Some(value) = value else { return Ok(None) };
    match value.parse() {
        Ok(n) if (1..=netloom_shm::segment::TASKS_MAX).contains(&n) => Ok(Some(n)),
        _ => Err(Problem::new(format!("{UNIVERSE} is `{value}`, which is no number of tasks"))
            .help("Numbers from 1 to 4096 are possible")
            .into()),
    }
}

/// The job that arguments describe.
#[cfg(target_os = "linux")]
pub fn job(args: JobArgs, bind: netloom_shm::launch::Bind) -> netloom_shm::launch::Job {
    let JobArgs { tasks, label, timeout, grace, environment, initial_errhandler, wdir, program } = args;
    let handler = initial_errhandler.map(|name| ("NETLOOM_INITIAL_ERRHANDLER".to_string(), name));
    let mut program = program.into_iter();
    netloom_shm::launch::Job {
        program: program.next().expect("a required argument"),
        arguments: program.collect(),
        tasks,
        bind,
        label,
        time_limit: timeout,
        grace,
        environment: environment
            .into_iter()
            .chain(handler)
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        folder: wdir,
        libraries: crate::cc::library_folder(),
        universe: None,
    }
}

/// What is wrong, and what to do.
#[cfg(target_os = "linux")]
pub fn problem(error: &netloom_shm::launch::LaunchError) -> Problem {
    use netloom_shm::launch::LaunchError;
    use std::io::ErrorKind;
    use std::path::Path;
    let with_source = || {
        let source = std::error::Error::source(error).map_or(String::new(), |source| format!(": {source}"));
        Problem::new(format!("{error}{source}"))
    };
    let plain = Problem::new(error.to_string());
    match error {
        LaunchError::Segment(_) | LaunchError::System(..) => with_source(),
        LaunchError::Folder(folder) if folder.exists() => plain.help("--wdir needs a folder; this is a file"),
        LaunchError::Folder(_) => plain.help("--wdir needs a folder that exists"),
        LaunchError::Cores { cores, .. } => {
            plain.help(format!("Use `-n {cores}` or fewer, or `--bind none`: tasks then share cores"))
        }
        LaunchError::Program { program, source } => {
            let path = Path::new(program);
            let name = path.display();
            let has_folder = path.components().count() > 1 || name.to_string().contains('/');
            let folder = || String::from("This is a folder; give the path of a program");
            let help = match (source.kind(), has_folder) {
                _ if has_folder && path.is_dir() => folder(),
                (ErrorKind::NotFound, false) if path.is_file() => {
                    format!("It is in this folder, but not in PATH: give its path, `./{name}`")
                }
                (ErrorKind::NotFound, false) => {
                    "There is no such program in PATH; give its path, such as `./program`".into()
                }
                (ErrorKind::NotFound, true) if path.is_file() => {
                    "The interpreter in its first line, or its dynamic loader, does not exist".into()
                }
                (ErrorKind::NotFound, true) => "There is no such file".into(),
                // Such as `.`.
                (ErrorKind::PermissionDenied, _) if path.is_dir() => folder(),
                (ErrorKind::PermissionDenied, _) => format!("It is not executable: `chmod +x {name}`"),
                _ => return with_source(),
            };
            plain.help(help)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_options_before_the_program_get_two_dashes() {
        let check = |line: &str, expected: &str| {
            let args = line.split_whitespace().map(OsString::from).collect();
            assert_eq!(long_options(args), expected.split_whitespace().collect::<Vec<_>>());
        };
        check("netloom exec -np 4 -wdir /tmp p -np 3", "netloom exec --np 4 --wdir /tmp p -np 3");
        check("netloom exec -l -x -np=1 -np 4 p", "netloom exec -l -x -np=1 --np 4 p");
        check("netloom exec -n 4 p -np", "netloom exec -n 4 p -np");
        check("netloom exec --tasks 4 --bind none -- -np", "netloom exec --tasks 4 --bind none -- -np");
        check("netloom exec -n4 --label -np 2 p", "netloom exec -n4 --label --np 2 p");
        check("netloom run -np", "netloom run -np");
        check("netloom exec", "netloom exec");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn as_many_tasks_as_a_segment_holds() {
        use clap::Parser;
        let tasks = |n: u32| Cli::try_parse_from(["netloom", "exec", "-n", &n.to_string(), "p"]).is_ok();
        let most = netloom_shm::segment::TASKS_MAX;
        assert_eq!([0, 1, most, most + 1].map(tasks), [false, true, true, false]);
    }
}
