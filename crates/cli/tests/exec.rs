//! `netloom exec`: jobs of shells, and of this test program as tasks that attach to the segment.
#![cfg(target_os = "linux")]
#![allow(unsafe_code)] // Signals, a terminal, limits: system calls.

use netloom_shm::segment::{Segment, State};
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// `netloom exec` with these arguments; tests run side by side, so their tasks share cores.
fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_netloom"));
    command.args(["exec", "--bind", "none"]).args(args);
    // In the background the tests' own process may ignore these, and a shell cannot catch what is ignored.
    // SAFETY: system calls between fork and exec.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            libc::signal(libc::SIGHUP, libc::SIG_DFL);
            Ok(())
        })
    };
    command
}

/// Runs `sh -c SCRIPT` as this many tasks.
fn shells(tasks: &str, options: &[&str], script: &str) -> Output {
    command(&[&["-n", tasks], options, &["sh", "-c", script]].concat()).output().unwrap()
}

/// What a shell does to receive signals: `wait`, since some lose signals while they start a program.
const RECEIVE: &str = "sleep 60 & echo ready; while :; do wait; done";

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn sorted(bytes: &[u8]) -> Vec<String> {
    let mut lines: Vec<_> = text(bytes).lines().map(String::from).collect();
    lines.sort();
    lines
}

/// Waits for a condition for a limited time.
fn wait_for(what: &str, condition: impl Fn() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Number of processes `sleep TIME`.
fn processes(time: &str) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| *line == format!("sleep\0{time}\0").as_bytes()).count()
}

fn signal(child: &Child, signal: i32) {
    // SAFETY: a system call; the process is a child that is not waited for yet.
    assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
}

#[test]
fn the_exit_status_is_that_of_the_first_task_that_fails() {
    let output = shells("3", &[], "exit 0");
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
    let began = Instant::now();
    let output = shells("4", &["--grace", "0.1"], "[ $PMI_RANK = 2 ] && exit 5; exec sleep 30");
    assert_eq!(output.status.code(), Some(5));
    let reported = text(&output.stderr);
    assert!(reported.starts_with("netloom: task 2 (pid "), "{reported}");
    assert!(reported.ends_with(") ended with exit status 5; ended the other 3 tasks\n"), "{reported}");
    let output = shells("8", &["--grace", "0"], "[ $PMI_RANK = 3 ] && kill -SEGV $$; exec sleep 30");
    assert_eq!(output.status.code(), Some(139));
    let reported = text(&output.stderr);
    assert!(
        reported.ends_with(") ended by signal 11 (segmentation fault); ended the other 7 tasks\n"),
        "{reported}"
    );
    assert!(began.elapsed() < Duration::from_secs(15));
}

#[test]
fn others_may_end_by_themselves_after_a_failure() {
    let script =
        "[ $PMI_RANK = 0 ] && exit 3; [ $PMI_RANK = 1 ] && sleep 0.5 && exit 4; sleep 0.5; echo saved";
    let output = shells("3", &["--grace", "20"], script);
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(3), "saved\n"));
    let reported = text(&output.stderr);
    assert!(reported.ends_with(") ended with exit status 3; 1 other failed too\n"), "{reported}");
}

#[test]
fn a_task_that_ignores_sigterm_is_killed() {
    let began = Instant::now();
    let folder = tempfile::tempdir().unwrap();
    let script = "cd \"$0\"; [ $PMI_RANK = 1 ] && { until [ -e ready ]; do sleep 0.01; done; exit 3; }; \
        trap '' TERM; : > ready; while :; do sleep 0.1; done";
    let path = folder.path().to_str().unwrap();
    let output = command(&["-n", "2", "--grace", "0", "sh", "-c", script, path]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!((2..15).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
    assert!(text(&output.stderr).ends_with("; ended the other task\n"));
}

#[test]
fn a_time_limit_ends_the_job() {
    let output = shells("2", &["--timeout", "0.2"], "exec sleep 30");
    let expected = "netloom: the time limit of 0.2 s is reached; ended 2 tasks\n";
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(124), expected));
    let output = shells("2", &["--timeout", "30"], "exit 0");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn labelled_lines_are_whole() {
    let script = "for i in 1 2 3 4 5 6 7 8; do printf 'begin '; sleep 0.01; echo \"end $i\"; done; \
        echo error >&2; printf 'no newline'";
    let output = shells("4", &["--label"], script);
    let mut expected = Vec::new();
    for task in 0..4 {
        expected.extend((1..=8).map(|i| format!("{task}| begin end {i}")));
        expected.push(format!("{task}| no newline"));
    }
    assert_eq!(sorted(&output.stdout), expected);
    assert_eq!(sorted(&output.stderr), ["0| error", "1| error", "2| error", "3| error"]);
    // More than a pipe holds, and more tasks than are usually allowed files.
    let output = shells("4", &["-l"], "seq 1 30000");
    assert_eq!(sorted(&output.stdout).len(), 120_000);
    let mut few = command(&["-n", "40", "-l", "sh", "-c", "ulimit -n"]);
    let limit = libc::rlimit { rlim_cur: 40, rlim_max: 4096 };
    // SAFETY: a system call between fork and exec.
    unsafe {
        few.pre_exec(move || {
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
            Ok(())
        })
    };
    let output = few.output().unwrap();
    let lines = sorted(&output.stdout);
    assert!(
        lines.len() == 40 && lines.iter().all(|line| line.ends_with("| 40")),
        "{lines:?} {}",
        text(&output.stderr)
    );
}

#[test]
fn tasks_find_their_numbers_and_nothing_of_an_outer_launcher() {
    let script = "echo $NETLOOM_TASK $PMI_RANK $PMI_SIZE $MPI_LOCALRANKID $MPI_LOCALNRANKS \
        $OMPI_COMM_WORLD_RANK $OMPI_COMM_WORLD_SIZE $OMPI_COMM_WORLD_LOCAL_RANK $OMPI_COMM_WORLD_LOCAL_SIZE \
        [$PMI_FD$PMIX_SERVER_URI2$PMIX_RANK] $GIVEN $KEPT $(readlink /proc/$$/fd/$NETLOOM_SEGMENT) $(pwd)";
    let mut command = command(&["-np", "2", "-x", "GIVEN=a=b", "--wdir", "/", "sh", "-c", script]);
    let outer =
        [("PMI_FD", "7"), ("PMIX_SERVER_URI2", "x"), ("PMIX_RANK", "5"), ("PMI_RANK", "9"), ("KEPT", "k")];
    let output = command.envs(outer).output().unwrap();
    let line =
        |task| format!("{task} {task} 2 {task} 2 {task} 2 {task} 2 [] a=b k /memfd:netloom (deleted) /");
    assert_eq!(sorted(&output.stdout), [line(0), line(1)]);
}

#[test]
fn task_0_reads_the_input() {
    let mut command = command(&["-n", "3", "-l", "cat"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"a\nb\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(text(&output.stdout), "0| a\n0| b\n");
}

#[test]
fn signals_go_to_all_tasks() {
    let script = format!("trap 'echo usr1' USR1; trap 'echo term; exit 0' TERM; {RECEIVE}");
    let mut command = command(&["-n", "2", "-l", "sh", "-c", &script]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut seen = String::new();
    let mut read_until = |count, what: &str| {
        let mut buffer = [0; 256];
        while seen.matches(what).count() < count {
            let count = out.read(&mut buffer).unwrap();
            assert!(count > 0, "{seen}");
            seen.push_str(&text(&buffer[..count]));
        }
    };
    read_until(2, "ready");
    signal(&child, libc::SIGUSR1);
    read_until(2, "usr1");
    signal(&child, libc::SIGTERM);
    read_until(2, "term");
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
}

#[test]
fn a_signal_that_tasks_do_not_catch_ends_the_job() {
    let mut command = command(&["-n", "2", "-l", "sh", "-c", "echo ready; exec sleep 30"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0; 18]).unwrap();
    signal(&child, libc::SIGTERM);
    let output = child.wait_with_output().unwrap();
    let expected = "netloom: signal 15 (termination) ended the job\n";
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(143), expected));
}

/// A terminal sends a signal to the launcher and to the tasks; each task gets it once.
#[test]
fn a_terminal_interrupts_a_task_once() {
    let (mut main, mut other) = (-1, -1);
    let none = std::ptr::null_mut();
    // SAFETY: a system call with places for two files.
    let result = unsafe { libc::openpty(&raw mut main, &raw mut other, none, none.cast(), none.cast()) };
    assert_eq!(result, 0);
    // SAFETY: just opened and not shared.
    let [main, other] = [main, other].map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "trap 'echo int >> $FOLDER/$PMI_RANK' INT; trap 'exit 0' TERM; : > $FOLDER/$PMI_RANK; {RECEIVE}"
    );
    let mut command = command(&["-n", "2", "sh", "-c", &script]);
    command.env("FOLDER", folder.path()).stdin(Stdio::from(other.try_clone().unwrap()));
    let terminal = other.as_raw_fd();
    // SAFETY: system calls between fork and exec.
    unsafe {
        command.pre_exec(move || {
            let result = if libc::setsid() < 0 { -1 } else { libc::ioctl(terminal, libc::TIOCSCTTY, 0) };
            if result < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
        })
    };
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let read = |task: u32| std::fs::read_to_string(folder.path().join(task.to_string())).unwrap_or_default();
    wait_for("tasks start", || (0..2).all(|task| folder.path().join(task.to_string()).exists()));
    std::fs::File::from(main.try_clone().unwrap()).write_all(b"\x03").unwrap();
    wait_for("interrupts arrive", || (0..2).all(|task| !read(task).is_empty()));
    std::thread::sleep(Duration::from_millis(200));
    signal(&child, libc::SIGTERM);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!([0, 1].map(read), ["int\n", "int\n"]);
}

#[test]
fn a_hangup_that_is_ignored_stays_ignored() {
    let netloom = env!("CARGO_BIN_EXE_netloom");
    let script =
        "trap '' HUP; exec \"$0\" exec -n 2 sh -c 'kill -HUP $PPID; kill -HUP $$; sleep 0.1; echo on'";
    let output = Command::new("sh").args(["-c", script, netloom]).output().unwrap();
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(0), "on\non\n"));
}

#[test]
fn no_process_is_left_behind() {
    // Times that no other process sleeps for, so that they tell whose a process is.
    let [left, awaited, orphaned] = [1, 2, 3].map(|i| format!("{}.{i}", 1000 + std::process::id()));
    // What a task started and left, also in a session of its own.
    let output = shells("2", &[], &format!("sleep {left} & setsid sleep {left} & exit 0"));
    assert_eq!((output.status.code(), processes(&left)), (Some(0), 0));
    // What a task that is ended waits for.
    let script = format!("[ $PMI_RANK = 1 ] && exit 7; sleep {awaited}; true");
    let output = shells("2", &["--grace", "0.1"], &script);
    assert_eq!((output.status.code(), processes(&awaited)), (Some(7), 0));
    // Tasks of a launcher that is killed.
    let mut child = command(&["-n", "3", "sleep", &orphaned]).spawn().unwrap();
    wait_for("tasks start", || processes(&orphaned) == 3);
    signal(&child, libc::SIGKILL);
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
    wait_for("tasks end", || processes(&orphaned) == 0);
}

#[test]
fn tasks_are_bound_to_cores() {
    let allowed = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_netloom"));
        let output =
            command.arg("exec").args(args).args(["grep", "Cpus_allowed_list", "/proc/self/status"]).output();
        sorted(&output.unwrap().stdout)
    };
    let own = std::fs::read_to_string("/proc/self/status").unwrap();
    let own = own.lines().find(|line| line.starts_with("Cpus_allowed_list")).unwrap().to_owned();
    assert_eq!(allowed(&["--bind", "none"]), [own.as_str()]);
    let too_many = std::thread::available_parallelism().unwrap().get() + 1;
    assert_eq!(allowed(&["-n", &too_many.to_string()]), vec![own; too_many]);
    let bound = allowed(&["-n", "2", "--bind", "core"]);
    if bound.is_empty() {
        // A computer of one core.
        return;
    }
    assert!(bound.len() == 2 && bound[0] != bound[1], "{bound:?}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_netloom"));
    let output = command.args(["exec", "-n", "4096", "--bind", "core", "true"]).output().unwrap();
    let reported = text(&output.stderr);
    assert!(
        reported.contains("4096 tasks need as many cores") && reported.contains("`--bind none`"),
        "{reported}"
    );
}

#[test]
fn mistakes_say_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("program-here"), "#!/no/interpreter\n").unwrap();
    let check = |args: &[&str], expected: &str| {
        let output = command(args).current_dir(folder.path()).output().unwrap();
        let reported = text(&output.stderr);
        assert!(output.status.code() == Some(2) && reported.contains(expected), "{args:?}: {reported}");
    };
    check(&["-n", "0", "true"], "0 is not in 1..=4096");
    check(&["-n", "-1", "true"], "-1 is not in 1..=4096");
    check(&["-n", "4097", "true"], "4097 is not in 1..=4096");
    check(&[], "<PROGRAM>");
    check(&["--lable", "true"], "--label");
    check(&["-x", "NAME", "true"], "NAME=VALUE is expected");
    check(&["--timeout=-1", "true"], "a number of seconds is expected");
    check(&["--timeout", "-1", "true"], "a number of seconds is expected");
    check(&["--timeout", "soon", "true"], "a number of seconds is expected");
    check(&["--timeout", "0", "true"], "more than 0 seconds are expected");
    check(&["-n", "3", "no-such-program"], "no such program in PATH");
    check(&["./no-such-program"], "no such file");
    check(&["program-here"], "give its path, `./program-here`");
    check(&["./program-here"], "`chmod +x ./program-here`");
    check(&["./"], "This is a folder");
    check(&["."], "This is a folder");
    check(&["--wdir", "missing", "true"], "needs a folder that exists");
    check(&["--wdir", "program-here", "true"], "this is a file");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path().join("program-here"), mode).unwrap();
    check(&["./program-here"], "interpreter in its first line");
}

/// A task of the next test: one is killed, the other sees that.
#[test]
#[ignore = "runs as a task of a job"]
fn as_task() {
    let (segment, own) = Segment::attach().unwrap();
    if own == 1 {
        wait_for("the other task starts", || segment.task(0).state() == State::Running);
        // SAFETY: a system call.
        unsafe { libc::kill(std::process::id() as i32, libc::SIGKILL) };
    }
    let is_dead = || segment.task(1).state() == State::Dead;
    while !is_dead() {
        let began = Instant::now();
        segment.task(0).doorbell.sleep(0, Duration::from_secs(30), is_dead);
        assert!(began.elapsed() < Duration::from_secs(10), "no doorbell");
    }
    wait_for("a task that exits with status 0 has ended", || segment.task(2).state() == State::Ended);
    println!("the other task is dead");
}

#[test]
fn a_task_that_dies_is_marked_in_the_segment() {
    let this = std::env::current_exe().unwrap();
    let script = "[ $NETLOOM_TASK = 2 ] && exit 0; [ $NETLOOM_TASK = 1 ] && sleep 0.3; \
        exec \"$0\" --ignored --exact as_task --nocapture";
    let args = ["-n", "3", "--grace", "30", "sh", "-c", script, this.to_str().unwrap()];
    let output = command(&args).output().unwrap();
    let reported = text(&output.stdout);
    assert!(output.status.code() == Some(137) && reported.contains("the other task is dead"), "{output:?}");
}
