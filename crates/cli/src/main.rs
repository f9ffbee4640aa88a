//! The `netloom` command.

use netloom_cli::{World, run};
use netloom_report::published::WithPublished;
use netloom_simulate::Fabric;
use netloom_validate::judges::judges;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

/// Large machines live on huge pages.
#[global_allocator]
static MEMORY: netloom_engine::HugePages = netloom_engine::HugePages;

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
    let world = World { simulator: &WithPublished(Fabric), judges: &judges(), stop: &STOP, memory };
    let (mut out, mut err) = (std::io::stdout(), std::io::stderr());
    match run(args, &world, &mut out, &mut err) {
        Ok(status) => status.into(),
        // Whoever read the output has left.
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("netloom: {e}");
            ExitCode::FAILURE
        }
    }
}

fn catch_signals() {
    // The first Ctrl-C, SIGTERM or SIGHUP ends the run with what it has; a second one ends the program.
    let handler = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(netloom_cli::STOPPED));
        }
        eprintln!("\nnetloom: stopping; again to quit at once");
    });
    if let Err(e) = handler {
        eprintln!("netloom: Ctrl-C will not keep a partial result: {e}");
    }
}
