//! Programs that fork, loop without a call, or close their output, natively and as guests: they keep working,
//! or the job ends in a bounded time and says what happened. Nothing is left of them. `tests/pami/sloppy.c`,
//! which closes the library's descriptors, runs with the other programs.

#[allow(dead_code)] // The programs are texts here.
mod common;
mod guests;

use common::library;
use guests::{On, PAIR, alone, compile_text, simulate};
use netloom_shm::launch::{Bind, Job, Outcome, launch};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What could be left: processes that run the program, and files.
fn left_of(program: &Path) -> BTreeSet<PathBuf> {
    let entries = |folder: &str| {
        let list = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        list.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let runs = |process: &PathBuf| std::fs::read_link(process.join("exe")).is_ok_and(|exe| exe == program);
    let processes = entries("/proc").into_iter().filter(runs);
    let folders = ["/dev/shm", "/dev/mqueue", "/sys/fs/cgroup"];
    let files = folders.into_iter().flat_map(entries).chain(entries(&std::env::temp_dir().to_string_lossy()));
    let of_netloom = files.filter(|path| path.to_string_lossy().to_lowercase().contains("netloom"));
    processes.chain(of_netloom).collect()
}

/// Nothing is there that was not before. Other programs may have files of their own for a moment.
fn assert_nothing_left(program: &Path, before: &BTreeSet<PathBuf>) {
    let until = Instant::now() + Duration::from_secs(5);
    loop {
        let new: Vec<PathBuf> = left_of(program).difference(before).cloned().collect();
        if new.is_empty() {
            return;
        }
        assert!(Instant::now() < until, "left: {new:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn natively(program: &Path, limit_s: u64) -> (Outcome, String) {
    let job = Job {
        program: program.into(),
        arguments: vec![],
        tasks: 2,
        bind: Bind::None,
        label: true,
        time_limit: Some(Duration::from_secs(limit_s)),
        grace: Duration::from_millis(100),
        environment: vec![],
        folder: None,
        libraries: Some(library()),
        universe: None,
    };
    let (mut out, mut err) = (vec![], vec![]);
    let outcome = launch(&job, &mut out, &mut err).expect("the job starts");
    (outcome, format!("{}{}", String::from_utf8_lossy(&out), String::from_utf8_lossy(&err)))
}

/// Compiles a program whose `main` is this after the start, and gives it with what is there before it runs.
fn program(name: &str, text: &str, folder: &Path) -> (PathBuf, BTreeSet<PathBuf>) {
    let text = format!(
        "#include \"common.h\"\n#include <signal.h>\n#include <sys/wait.h>\n#include <unistd.h>\n\
         int main(void)\n{{\n  start(\"{name}\", 1);\n  barrier();\n{text}\n}}\n"
    );
    let program = compile_text(name, &text, folder).canonicalize().unwrap();
    let before = left_of(&program);
    (program, before)
}

/// The child is refused; its parent goes on.
#[test]
fn a_forked_child_that_calls_pami_is_refused() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let text = r#"  int   status;
  pid_t child = fork();
  if (child == 0)
  {
    _exit(PAMI_Context_advance(context[0], 1) == PAMI_INVAL ? 1 : 42);
  }
  REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 1);
  barrier();
  return finish();"#;
    let (program, before) = program("child", text, folder.path());
    let (outcome, output) = natively(&program, 60);
    let refused =
        |output: &str| output.matches("a forked child calls PAMI; only its parent is a task").count();
    assert!(outcome.status() == 0 && refused(&output) == 2, "{outcome:?}\n{output}");
    let (outcome, output) = simulate(&program, PAIR);
    assert!(outcome.processes.status() == 0 && outcome.failures.is_empty(), "{outcome:?}\n{output}");
    assert_eq!(refused(&output), 2, "{output}");
    assert_nothing_left(&program, &before);
}

/// A child that nobody waits for ends with the job.
#[test]
fn a_child_that_stays_behind_is_ended() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let text = "  signal(SIGTERM, SIG_IGN);\n  if (fork() == 0) for (;;) pause();\n  return finish();";
    let (program, before) = program("stays", text, folder.path());
    let began = Instant::now();
    let (outcome, output) = natively(&program, 60);
    assert!(outcome.status() == 0, "{outcome:?}\n{output}");
    let (outcome, output) = simulate(&program, PAIR);
    assert!(outcome.processes.status() == 0 && outcome.failures.is_empty(), "{outcome:?}\n{output}");
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    assert_nothing_left(&program, &before);
}

/// A task that computes for ever, and takes no signal that asks it to end: the time limit ends the job, and
/// who ran is said.
#[test]
#[ignore = "slow: see CONTRIBUTING.md"]
fn a_loop_without_a_call_is_ended_by_the_time_limit() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let text = "  signal(SIGTERM, SIG_IGN);\n  if (task == 1) for (;;);\n  barrier();\n  return finish();";
    let (program, before) = program("loops", text, folder.path());
    let began = Instant::now();
    let (outcome, output) = natively(&program, 1);
    assert!(outcome.status() == 124 && outcome.ended == 2, "{outcome:?}\n{output}");
    for threads in [1, 2] {
        let (outcome, output) = simulate(&program, On { limit_s: 1, threads, ..PAIR });
        assert_eq!(
            (outcome.processes.status(), &outcome.running[..]),
            (124, &[1][..]),
            "{outcome:?}\n{output}"
        );
    }
    assert!(began.elapsed() < Duration::from_secs(40), "{:?}", began.elapsed());
    assert_nothing_left(&program, &before);
}

/// It is not told what it prints later, but communicates on, and its failure has its status.
#[test]
fn closed_output_changes_nothing_else() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let text = "  printf(\"before\\n\");\n  fflush(stdout);\n  fclose(stdout);\n  fclose(stderr);\n  close(1);\n  \
                close(2);\n  barrier();\n  PAMI_Context_advance(NULL, 1);\n  barrier();\n  return task == 1 ? 7 : 0;";
    let (program, before) = program("closes", text, folder.path());
    let (outcome, output) = natively(&program, 60);
    let has_both = |output: &str| output.matches("before").count() == 2;
    assert!(outcome.status() == 7 && has_both(&output), "{outcome:?}\n{output}");
    let (outcome, output) = simulate(&program, PAIR);
    assert!(outcome.processes.status() == 7 && has_both(&output), "{outcome:?}\n{output}");
    assert_eq!(outcome.processes.failure.as_ref().map(|failure| failure.task), Some(1), "{outcome:?}");
    assert_nothing_left(&program, &before);
}
