//! `netloom mpirun`: what programs on a simulated machine have of the launcher: input, statuses, signals.
#![cfg(target_os = "linux")]
#![allow(unsafe_code)] // Signals: system calls.

mod installation;

use installation::{command, installed, output, text};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Reads its input, then does what its argument says.
const PROGRAM: &str = r#"
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
    int rank, bytes = 0, all = 0;
    const char *then = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    while (getchar() != EOF) bytes++;
    MPI_Reduce(&bytes, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("rank 0 read %d, all read %d\n", bytes, all), fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1 && strcmp(then, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 7);
    if (rank == 1 && strcmp(then, "exit") == 0) exit(9);
    if (rank == 1 && strcmp(then, "fault") == 0) raise(SIGSEGV);
    while (strcmp(then, "pause") == 0) pause();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
"#;

/// The program, compiled, in a folder with Netloom.
fn compiled() -> (tempfile::TempDir, PathBuf) {
    let (folder, at) = installed("own");
    std::fs::write(at.join("input.c"), PROGRAM).unwrap();
    output(command(at.join("links/bin/mpicc"), &at).args(["-o", "input", "input.c"]));
    (folder, at)
}

fn mpirun(at: &Path, then: &str) -> Command {
    let mut command = command(at.join("own/bin/netloom"), at);
    let options = ["mpirun", "-n", "3", "--machine", "bgq", "--set", "topology.dims=[2,2,1,1,1]", "-q"];
    command.args(options).args(["--grace", "0.1", "./input", then]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn rank_0_reads_the_input_and_the_status_is_that_of_the_first_that_fails() {
    let (_folder, at) = compiled();
    let expected = "rank 0 read 6, all read 6\n";
    for (then, status) in [("", 0), ("abort", 7), ("exit", 9), ("fault", 139)] {
        let mut child = mpirun(&at, then).spawn().unwrap();
        child.stdin.take().unwrap().write_all(b"a b c\n").unwrap();
        let output = child.wait_with_output().unwrap();
        let reported = text(&output.stderr);
        assert_eq!(
            (output.status.code(), text(&output.stdout).as_str()),
            (Some(status), expected),
            "{reported}"
        );
        assert!(status == 0 || reported.contains("task 1") || reported.contains("rank 1"), "{reported}");
    }
}

#[test]
fn a_signal_ends_all_tasks() {
    let (_folder, at) = compiled();
    let began = Instant::now();
    let mut child = mpirun(&at, "pause").spawn().unwrap();
    drop(child.stdin.take());
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "rank 0 read 0, all read 0\n");
    // SAFETY: a system call; the process is a child that is not waited for yet.
    assert_eq!(unsafe { libc::kill(child.id() as i32, libc::SIGTERM) }, 0);
    let output = child.wait_with_output().unwrap();
    let reported = text(&output.stderr);
    assert_eq!(output.status.code(), Some(143), "{reported}");
    assert!(began.elapsed() < Duration::from_secs(30) && reported.contains("signal 15"), "{reported}");
}

#[test]
fn what_cannot_be_is_refused_before_the_run() {
    let (_folder, at) = installed("own");
    let check = |args: &[&str], expected: &str| {
        let mut command = command(at.join("own/bin/netloom"), &at);
        let output =
            command.args(["mpirun", "-n", "2", "--machine"]).args(args).arg("true").output().unwrap();
        let reported = text(&output.stderr);
        assert!(output.status.code() == Some(2) && reported.contains(expected), "{args:?}: {reported}");
    };
    check(&["bgq", "--compute", "-1"], "`ignore`, or a factor");
    check(&["bgq", "--timeline", "missing/file.json"], "--timeline needs a file in a folder that exists");
    check(&["xc", "--ppn", "33"], "of at most 32 (xc: its nodes have");
    check(&["xc", "--ppn", "33"], "use fewer tasks on a node (`--ppn`)");
}
