//! The `netloom` command.

#[cfg(feature = "mpi")]
use netloom_cli::ProcessGroup;
use netloom_cli::{World, run};
use netloom_report::published::WithPublished;
use netloom_simulate::Fabric;
use netloom_validate::judges::judges;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Large machines live on huge pages.
#[global_allocator]
static MEMORY: netloom_engine::HugePages = netloom_engine::HugePages;

/// The simulator on a graphics processor.
#[cfg(feature = "gpu")]
const GPU: Option<&dyn netloom_study::run::Simulate> = Some(&WithPublished(netloom_simulate::Gpu));
#[cfg(not(feature = "gpu"))]
const GPU: Option<&dyn netloom_study::run::Simulate> = None;

static STOP: AtomicBool = AtomicBool::new(false);

fn main() -> ExitCode {
    let args = match netloom_cli::names::as_netloom(std::env::args_os().collect()) {
        Ok(args) => args,
        Err(why) => {
            eprintln!("netloom: {why}");
            return netloom_cli::MISTAKE.into();
        }
    };
    // `netloom exec` and `netloom bench messaging` catch signals themselves, and keep those ignored that
    // `nohup` ignores. Those of `netloom cc`, `netloom c++` and `netloom fc` are the compiler's.
    let words: Vec<_> = args.iter().skip(1).take(2).collect();
    let launches =
        words.first().is_some_and(|&command| ["exec", "cc", "c++", "fc"].iter().any(|of| command == of))
            || words == ["bench", "messaging"];
    if !launches {
        catch_signals();
    }
    let memory = netloom_study::memory::available();
    let is_run = words.is_empty() || words.first().is_some_and(|&command| command == "run");
    if let Some(launcher) = netloom_cli::launcher::processes().filter(|of| is_run && of.1 > 1) {
        return among(launcher, args, memory);
    }
    let fabric = WithPublished(Fabric);
    let world = World { simulator: &fabric, gpu: GPU, judges: &judges(), stop: &STOP, memory, peers: None };
    let (mut out, mut err) = (std::io::stdout(), std::io::stderr());
    ended(run(args, &world, &mut out, &mut err))
}

/// The exit status of a command.
fn ended(status: std::io::Result<u8>) -> ExitCode {
    match status {
        Ok(status) => status.into(),
        // Whoever read the output has left.
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("netloom: {e}");
            ExitCode::FAILURE
        }
    }
}

/// Runs as one of the processes of a job.
#[cfg(feature = "mpi")]
fn among(_: (&str, usize), args: Vec<std::ffi::OsString>, memory: Option<u64>) -> ExitCode {
    let job = match netloom_cli::ranks::Job::start() {
        Ok(job) => job,
        Err(why) => {
            eprintln!("netloom: {why}");
            return netloom_cli::FAILED.into();
        }
    };
    let is_first = netloom_engine::Peers::rank(&*job.ranks) == 0;
    let fabric = WithPublished(netloom_simulate::Distributed(job.ranks.clone()));
    let peers = Some(ProcessGroup::new(job.ranks.clone()));
    let world = World { simulator: &fabric, gpu: None, judges: &judges(), stop: &STOP, memory, peers };
    // Of several processes one speaks, at the end.
    let mut said = vec![];
    let status = match is_first {
        true => run(args, &world, &mut std::io::stdout(), &mut said),
        false => run(args, &world, &mut std::io::sink(), &mut said),
    };
    let mut said = String::from_utf8_lossy(&said).into_owned();
    if let (Ok(netloom_cli::MISTAKE), Some(peers)) = (&status, &world.peers) {
        said = peers.mistakes(said);
    }
    if is_first {
        eprint!("{said}");
    }
    job.finish();
    ended(status)
}

/// Each of these processes would simulate the whole machine.
#[cfg(not(feature = "mpi"))]
fn among((variable, count): (&str, usize), _: Vec<std::ffi::OsString>, _: Option<u64>) -> ExitCode {
    eprintln!(
        "netloom: {count} processes were started to simulate one machine ({variable}), and this netloom is not built for that.\n  \
         help: cargo build --release -p netloom-cli --features mpi; if each is to run a study of its own, unset {variable}"
    );
    netloom_cli::MISTAKE.into()
}

fn catch_signals() {
    /// `timeout` and batch systems signal a process and then its group: the second signal is the same request.
    const SAME: Duration = Duration::from_millis(500);
    // The first Ctrl-C, SIGTERM or SIGHUP ends the run with what it has; a second one ends the program.
    let mut first = None;
    let handler = ctrlc::set_handler(move || {
        if STOP.swap(true, Ordering::Relaxed) {
            if first.is_some_and(|at: Instant| at.elapsed() > SAME) {
                std::process::exit(i32::from(netloom_cli::STOPPED));
            }
            return;
        }
        first = Some(Instant::now());
        eprintln!("\nnetloom: stopping; again to quit at once");
    });
    if let Err(e) = handler {
        eprintln!("netloom: Ctrl-C will not keep a partial result: {e}");
    }
}
