//! Launches the tasks of a job: processes of one program that inherit the job's segment, in the launcher's
//! own process group, until all have ended.
//!
//! - A task that ends before it has left the job is marked [`State::Ended`].
//! - A task that fails is marked [`State::Dead`]. The others have some time to notice, then get SIGTERM, then
//!   SIGKILL.
//! - Signals that the launcher receives go to all tasks, except those that a terminal has sent to all already.
//! - No process is left behind: tasks die with the launcher, and what they started and left is adopted and
//!   ended.
//!
//! The launcher changes signal handlers and waits for any child, so a process launches one job at a time, and
//! has no other children meanwhile.
#![allow(unsafe_code)]

use crate::segment::{AttachError, ENVIRONMENT, Segment, State};
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

/// Time between SIGTERM and SIGKILL.
const TERMINATION: Duration = Duration::from_secs(2);
/// Time after SIGKILL until the launcher stops waiting for a process that the kernel does not end.
const KILL: Duration = Duration::from_secs(5);
/// Longest labelled line, bytes; a longer one is broken.
const LINE: usize = 1 << 20;
/// The exit status when a job reaches its time limit: that of `timeout`.
pub const TIMED_OUT: u8 = 124;

/// Variables with a task's number.
const TASK_NUMBER: [&str; 8] = [
    ENVIRONMENT[1],
    "PMI_RANK",
    "PMI_LOCAL_RANK",
    "MPI_LOCALRANKID",
    "MV2_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_NODE_RANK",
];
/// Variables with the number of tasks.
const TASK_COUNT: [&str; 5] = [
    "PMI_SIZE",
    "MPI_LOCALNRANKS",
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "OMPI_UNIVERSE_SIZE",
];
/// What the names of an outer launcher's variables begin with: with its addresses a library would connect to
/// that launcher.
const OUTER: [&str; 5] = ["PMI_", "PMIX_", "HYDI_", "OMPI_COMM_WORLD_", "OMPI_MCA_orte_"];

/// Where tasks run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bind {
    /// Each on a core of its own if there are enough, else anywhere.
    Auto,
    /// Each on a core of its own; an error if there are too few.
    Core,
    /// Anywhere.
    None,
}

/// A job to launch.
#[derive(Clone, Debug)]
pub struct Job {
    /// Path of the program, or its name in `PATH`.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Number of tasks.
    pub tasks: u32,
    /// Where they run.
    pub bind: Bind,
    /// Whether each line of output begins with its task.
    pub label: bool,
    /// Time after which the job is ended.
    pub time_limit: Option<Duration>,
    /// Time that the other tasks have after one has failed, before they get SIGTERM.
    pub grace: Duration,
    /// Environment variables, over those that are inherited.
    pub environment: Vec<(OsString, OsString)>,
    /// Folder that tasks start in; the launcher's own if `None`.
    pub folder: Option<PathBuf>,
    /// Folder put first in `LD_LIBRARY_PATH`.
    pub libraries: Option<PathBuf>,
}

/// Error: a job was not launched; no task of it runs.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// There is no segment for it.
    #[error(transparent)]
    Segment(#[from] AttachError),
    /// The folder that it should start in cannot be entered.
    #[error("cannot start in {}", .0.display())]
    Folder(PathBuf),
    /// The program cannot be started.
    #[error("cannot run {}", .program.display())]
    Program {
        /// The program.
        program: OsString,
        /// Why.
        source: io::Error,
    },
    /// Tasks cannot each have a core of its own.
    #[error("{tasks} tasks need as many cores; {cores} are available")]
    Cores {
        /// Tasks.
        tasks: u32,
        /// Available cores.
        cores: usize,
    },
    /// The operating system refuses something else.
    #[error("cannot {0}")]
    System(&'static str, #[source] io::Error),
}

/// A task that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Its number.
    pub task: u32,
    /// Its process.
    pub pid: i32,
    /// How it ended.
    pub status: ExitStatus,
}

/// How a job ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The first task that failed by itself.
    pub failure: Option<Failure>,
    /// Number of other tasks that failed by themselves.
    pub also_failed: u32,
    /// Number of tasks that the launcher ended.
    pub ended: u32,
    /// The time limit, if it was reached.
    pub timed_out: Option<Duration>,
    /// The last signal that went to all tasks.
    pub signal: Option<i32>,
}

impl Outcome {
    /// The exit status of the whole: that of the first task that failed, 128 + the number of its signal, or
    /// [`TIMED_OUT`].
    pub fn status(&self) -> u8 {
        match (&self.failure, self.timed_out) {
            (Some(failure), _) => {
                let signal = failure.status.signal().map(|signal| 128 + signal);
                signal.or(failure.status.code()).unwrap_or(1) as u8
            }
            (None, Some(_)) => TIMED_OUT,
            (None, None) => 0,
        }
    }
}

/// Why the job failed, in a line; nothing if it did not.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let plural = |n: u32| if n == 1 { "" } else { "s" };
        let Some(Failure { task, pid, status }) = self.failure else {
            return match self.timed_out {
                None => Ok(()),
                Some(limit) => {
                    let (limit, ended) = (limit.as_secs_f64(), self.ended);
                    write!(f, "the time limit of {limit} s is reached; ended {ended} task{}", plural(ended))
                }
            };
        };
        if let (Some(signal), true) = (self.signal, status.signal() == self.signal) {
            return write!(f, "signal {signal} ({}) ended the job", signal_name(signal));
        }
        write!(f, "task {task} (pid {pid}) ended ")?;
        match status.signal() {
            Some(signal) => write!(f, "by signal {signal} ({})", signal_name(signal))?,
            None => write!(f, "with status {}", status.code().unwrap_or(1))?,
        }
        if self.also_failed > 0 {
            write!(f, "; {} other{} failed too", self.also_failed, plural(self.also_failed))?;
        }
        if self.ended > 0 {
            let other = if self.also_failed > 0 { "remaining" } else { "other" };
            match self.ended {
                1 => write!(f, "; ended the {other} task")?,
                ended => write!(f, "; ended the {other} {ended} tasks")?,
            }
        }
        Ok(())
    }
}

/// What a signal means.
fn signal_name(signal: i32) -> &'static str {
    match signal {
        libc::SIGHUP => "hangup",
        libc::SIGINT => "interrupt",
        libc::SIGQUIT => "quit",
        libc::SIGILL => "illegal instruction",
        libc::SIGTRAP => "breakpoint",
        libc::SIGABRT => "abort",
        libc::SIGBUS => "bus error",
        libc::SIGFPE => "arithmetic error",
        libc::SIGKILL => "kill",
        libc::SIGUSR1 | libc::SIGUSR2 => "user-defined",
        libc::SIGSEGV => "segmentation fault",
        libc::SIGPIPE => "broken pipe",
        libc::SIGALRM => "alarm",
        libc::SIGTERM => "termination",
        libc::SIGXCPU => "CPU time limit",
        libc::SIGXFSZ => "file size limit",
        libc::SIGSYS => "bad system call",
        _ => "see kill -l",
    }
}

/// Runs a job to its end. Labelled output goes to `out` and `err`; else tasks inherit the launcher's own.
///
/// # Errors
/// If it cannot be launched.
///
/// # Panics
/// If there are no tasks, or more than [`crate::segment::TASKS_MAX`].
pub fn launch(job: &Job, out: &mut dyn Write, err: &mut dyn Write) -> Result<Outcome, LaunchError> {
    let segment = Segment::create(job.tasks)?;
    if let Some(folder) = &job.folder
        && !folder.is_dir()
    {
        return Err(LaunchError::Folder(folder.clone()));
    }
    let cores = match job.bind {
        Bind::None => None,
        Bind::Core | Bind::Auto => {
            let cores = cores();
            let quota = std::thread::available_parallelism().map_or(1, usize::from);
            match (job.bind, job.tasks as usize) {
                (Bind::Core, tasks) if tasks > cores.len() => {
                    return Err(LaunchError::Cores { tasks: job.tasks, cores: cores.len() });
                }
                (Bind::Auto, tasks) if tasks > cores.len().min(quota) => None,
                _ => Some(cores),
            }
        }
    };
    let files = OpenFiles::raise(if job.label { 2 * u64::from(job.tasks) + 64 } else { 0 })?;
    let signals = Signals::catch().map_err(|e| LaunchError::System("catch signals", e))?;
    let mut launcher = Launcher {
        segment,
        pids: HashMap::new(),
        streams: Vec::new(),
        phase: Phase::Run,
        outcome: Outcome::default(),
        failed: false,
    };
    let began = Instant::now();
    for task in 0..job.tasks {
        let core = cores.as_ref().map(|cores| cores[task as usize]);
        // If it fails, the launcher's end ends those that run.
        launcher.start(job, task, core, &files)?;
    }
    launcher.wait(&signals, job, began, out, err).map_err(|e| LaunchError::System("wait for tasks", e))?;
    Ok(std::mem::take(&mut launcher.outcome))
}

/// How far the end of a job has come.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Nothing failed.
    Run,
    /// A task failed; SIGTERM follows.
    Grace(Instant),
    /// SIGTERM is sent; SIGKILL follows.
    Terminate(Instant),
    /// SIGKILL is sent; after this time the launcher waits no longer.
    Kill(Instant),
}

/// One labelled output of a task.
struct Stream {
    task: u32,
    pipe: OwnedFd,
    is_error: bool,
    /// The line so far.
    line: Vec<u8>,
}

struct Launcher {
    segment: Segment,
    /// Tasks that run, by their process.
    pids: HashMap<i32, u32>,
    streams: Vec<Stream>,
    phase: Phase,
    outcome: Outcome,
    /// Whether the others must be ended.
    failed: bool,
}

impl Launcher {
    fn start(
        &mut self,
        job: &Job,
        task: u32,
        core: Option<libc::cpu_set_t>,
        files: &OpenFiles,
    ) -> Result<(), LaunchError> {
        let mut command = Command::new(&job.program);
        command.args(&job.arguments);
        environment(&mut command, job, task, self.segment.file().as_raw_fd());
        if let Some(folder) = &job.folder {
            command.current_dir(folder);
        }
        if task > 0 {
            command.stdin(Stdio::null());
        }
        if job.label {
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
        }
        let (segment, parent, files) = (self.segment.file().as_raw_fd(), std::process::id(), files.inherited);
        let prepare = move || {
            let check = |result: i32| if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) };
            // SAFETY: system calls that are safe between fork and exec, on values that live here.
            unsafe {
                check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
                if libc::getppid() as u32 != parent {
                    libc::_exit(1);
                }
                check(libc::fcntl(segment, libc::F_SETFD, 0))?;
                if let Some(core) = core {
                    check(libc::sched_setaffinity(0, size_of_val(&core), &raw const core))?;
                }
                if let Some(files) = files {
                    check(libc::setrlimit(libc::RLIMIT_NOFILE, &raw const files))?;
                }
            }
            Ok(())
        };
        // SAFETY: the closure makes system calls only.
        unsafe { command.pre_exec(prepare) };
        let mut child = command
            .spawn()
            .map_err(|source| LaunchError::Program { program: job.program.clone(), source })?;
        self.pids.insert(child.id() as i32, task);
        let pipes =
            [(child.stdout.take().map(OwnedFd::from), false), (child.stderr.take().map(OwnedFd::from), true)];
        for (pipe, is_error) in pipes {
            let Some(pipe) = pipe else { continue };
            // SAFETY: a system call on an open file.
            unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
            self.streams.push(Stream { task, pipe, is_error, line: Vec::new() });
        }
        Ok(())
    }

    /// Waits until no process is left.
    fn wait(
        &mut self,
        signals: &Signals,
        job: &Job,
        began: Instant,
        out: &mut dyn Write,
        err: &mut dyn Write,
    ) -> io::Result<()> {
        let limit = job.time_limit.and_then(|limit| began.checked_add(limit));
        loop {
            let left_over = self.reap();
            if !left_over {
                break;
            }
            let now = Instant::now();
            if let (Phase::Run | Phase::Grace(_), true) =
                (self.phase, limit.is_some_and(|limit| now >= limit))
            {
                // What failed before the limit remains the reason.
                if !self.failed {
                    self.outcome.timed_out = job.time_limit;
                }
                self.terminate(now);
            }
            if self.pids.is_empty() {
                // Only what tasks started and left.
                if let Phase::Run | Phase::Grace(_) = self.phase {
                    self.terminate(now);
                }
            } else if let (Phase::Run, true) = (self.phase, self.failed) {
                self.phase = Phase::Grace(now.checked_add(job.grace).unwrap_or(now + TERMINATION));
            }
            match self.phase {
                Phase::Grace(end) if now >= end => self.terminate(now),
                Phase::Terminate(end) if now >= end => {
                    self.phase = Phase::Kill(now + KILL);
                    send_all(libc::SIGKILL);
                }
                Phase::Kill(end) if now >= end => break,
                // What was started while the others were killed.
                Phase::Kill(_) => send_all(libc::SIGKILL),
                _ => {}
            }
            let next = match self.phase {
                Phase::Run => limit,
                Phase::Grace(end) => Some(limit.map_or(end, |limit| limit.min(end))),
                Phase::Terminate(end) => Some(end),
                Phase::Kill(_) => Some(now + Duration::from_millis(50)),
            };
            let readable = self.poll(signals, next)?;
            for (signal, is_from_kernel) in signals.take() {
                self.outcome.signal = Some(signal);
                self.forward(signal, is_from_kernel);
            }
            self.copy(&readable, out, err);
        }
        // What is still in the pipes; then nobody writes to them any more.
        let all: Vec<_> = (0..self.streams.len()).collect();
        while self.copy(&all[..self.streams.len()], out, err) {}
        for stream in std::mem::take(&mut self.streams) {
            if !stream.line.is_empty() {
                let to: &mut dyn Write = if stream.is_error { err } else { out };
                // Whoever read the output has left: no reason to fail.
                let _ = write_line(to, stream.task, &stream.line);
            }
        }
        Ok(())
    }

    /// Notes which processes have ended; returns whether any is left.
    fn reap(&mut self) -> bool {
        let mut any = false;
        let left = loop {
            let mut status = 0;
            // SAFETY: a system call with a place for the status.
            let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
            if pid <= 0 {
                break pid == 0;
            }
            let Some(task) = self.pids.remove(&pid) else { continue };
            any = true;
            let status = ExitStatus::from_raw(status);
            let record = self.segment.task(task);
            if status.success() {
                if record.state() != State::Finished {
                    record.set_state(State::Ended);
                }
                continue;
            }
            record.set_state(State::Dead);
            self.failed = true;
            match (self.phase, self.outcome.failure) {
                // The launcher ended it.
                (Phase::Terminate(_) | Phase::Kill(_), _) => {}
                (_, None) => self.outcome.failure = Some(Failure { task, pid, status }),
                _ => self.outcome.also_failed += 1,
            }
        };
        if any {
            (0..self.segment.tasks()).for_each(|task| self.segment.task(task).doorbell.ring());
        }
        left
    }

    /// Asks all that is left to end.
    fn terminate(&mut self, now: Instant) {
        self.outcome.ended = self.pids.len() as u32;
        self.phase = Phase::Terminate(now + TERMINATION);
        send_all(libc::SIGTERM);
        // One that is stopped can end only once it continues.
        send_all(libc::SIGCONT);
    }

    /// Sends a signal of the launcher's on to the tasks.
    fn forward(&self, signal: i32, is_from_kernel: bool) {
        for &pid in self.pids.keys() {
            // A terminal has sent it to the whole process group.
            // SAFETY: system calls; the process is this one's child, and not waited for yet.
            unsafe {
                if !is_from_kernel || libc::getpgid(pid) != libc::getpgrp() {
                    libc::kill(pid, signal);
                }
            }
        }
    }

    /// Waits for a signal or output, at most until then; returns which streams have some.
    fn poll(&self, signals: &Signals, until: Option<Instant>) -> io::Result<Vec<usize>> {
        let entry = |fd: RawFd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut files = vec![entry(signals.pipe.as_raw_fd())];
        files.extend(self.streams.iter().map(|stream| entry(stream.pipe.as_raw_fd())));
        let time = until.map_or(-1, |until| {
            let time = until.saturating_duration_since(Instant::now()).as_millis() + 1;
            i32::try_from(time).unwrap_or(i32::MAX)
        });
        // SAFETY: a system call on a list of this length.
        let result = unsafe { libc::poll(files.as_mut_ptr(), files.len() as libc::nfds_t, time) };
        if result < 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::Interrupted { Ok(Vec::new()) } else { Err(error) };
        }
        Ok(files[1..].iter().enumerate().filter(|(_, file)| file.revents != 0).map(|(at, _)| at).collect())
    }

    /// Copies the lines of these streams, and forgets those at their end; returns whether there were any bytes.
    fn copy(&mut self, streams: &[usize], out: &mut dyn Write, err: &mut dyn Write) -> bool {
        let mut buffer = [0; 1 << 16];
        let (mut ended, mut any) = (Vec::new(), false);
        for &at in streams {
            let stream = &mut self.streams[at];
            let to: &mut dyn Write = if stream.is_error { err } else { out };
            match stream.read(&mut buffer) {
                Ok(0) => {
                    if !stream.line.is_empty() {
                        let _ = write_line(to, stream.task, &stream.line);
                    }
                    ended.push(at);
                }
                Ok(count) => {
                    any = true;
                    // Whoever read the output has left: the task's writes fail, as if it had written directly.
                    if stream.lines(&buffer[..count], to).is_err() {
                        ended.push(at);
                    }
                }
                Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                Err(_) => ended.push(at),
            }
        }
        for at in ended.into_iter().rev() {
            self.streams.swap_remove(at);
        }
        any
    }
}

impl Drop for Launcher {
    /// Ends what is left when a job could not be launched as a whole.
    fn drop(&mut self) {
        let until = Instant::now() + KILL;
        while self.reap() && Instant::now() < until {
            send_all(libc::SIGKILL);
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Stream {
    fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        // SAFETY: a system call that writes at most the buffer's length.
        let count = unsafe { libc::read(self.pipe.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
        usize::try_from(count).map_err(|_| io::Error::last_os_error())
    }

    /// Writes the lines that these bytes complete.
    fn lines(&mut self, mut bytes: &[u8], to: &mut dyn Write) -> io::Result<()> {
        while let Some(end) = bytes.iter().position(|&byte| byte == b'\n') {
            self.line.extend_from_slice(&bytes[..end]);
            write_line(to, self.task, &self.line)?;
            self.line.clear();
            bytes = &bytes[end + 1..];
        }
        self.line.extend_from_slice(bytes);
        if self.line.len() >= LINE {
            write_line(to, self.task, &self.line)?;
            self.line.clear();
        }
        to.flush()
    }
}

fn write_line(to: &mut dyn Write, task: u32, line: &[u8]) -> io::Result<()> {
    let mut whole = format!("{task}| ").into_bytes();
    whole.extend_from_slice(line);
    whole.push(b'\n');
    to.write_all(&whole)
}

/// Sets a task's environment variables.
fn environment(command: &mut Command, job: &Job, task: u32, segment: RawFd) {
    for (name, _) in std::env::vars_os() {
        if OUTER.iter().any(|outer| name.as_encoded_bytes().starts_with(outer.as_bytes())) {
            command.env_remove(name);
        }
    }
    command.envs(job.environment.iter().map(|(name, value)| (name, value)));
    command.envs(TASK_NUMBER.map(|name| (name, task.to_string())));
    command.envs(TASK_COUNT.map(|name| (name, job.tasks.to_string())));
    command.env(ENVIRONMENT[0], segment.to_string());
    if let Some(folder) = &job.libraries {
        let given = job.environment.iter().rev().find(|(name, _)| name == LIBRARIES);
        let old = given.map(|(_, value)| value.clone()).or_else(|| std::env::var_os(LIBRARIES));
        command.env(LIBRARIES, prepended(folder.as_os_str(), old.as_deref()));
    }
}

const LIBRARIES: &str = "LD_LIBRARY_PATH";

/// A search path with a folder before the others. An empty one would mean the current folder.
fn prepended(folder: &OsStr, others: Option<&OsStr>) -> OsString {
    let mut all = folder.to_owned();
    if let Some(others) = others.filter(|others| !others.is_empty()) {
        all.push(":");
        all.push(others);
    }
    all
}

/// The cores that this process may use: of each, its hardware threads.
fn cores() -> Vec<libc::cpu_set_t> {
    // SAFETY: a set is valid with all bytes zero; the system call writes at most its length.
    let mut allowed: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the same.
    if unsafe { libc::sched_getaffinity(0, size_of_val(&allowed), &raw mut allowed) } < 0 {
        return Vec::new();
    }
    let mut cores: Vec<((String, String), libc::cpu_set_t)> = Vec::new();
    for cpu in 0..libc::CPU_SETSIZE as usize {
        // SAFETY: within the set.
        if !unsafe { libc::CPU_ISSET(cpu, &allowed) } {
            continue;
        }
        let read = |name: &str| {
            let text = std::fs::read_to_string(format!("/sys/devices/system/cpu/cpu{cpu}/topology/{name}"));
            text.unwrap_or_else(|_| format!("cpu{cpu}"))
        };
        let core = (read("physical_package_id"), read("core_id"));
        let at = cores.iter().position(|(known, _)| *known == core).unwrap_or_else(|| {
            // SAFETY: a set is valid with all bytes zero.
            cores.push((core, unsafe { std::mem::zeroed() }));
            cores.len() - 1
        });
        // SAFETY: within the set.
        unsafe { libc::CPU_SET(cpu, &mut cores[at].1) };
    }
    cores.into_iter().map(|(_, cpus)| cpus).collect()
}

/// Sends a signal to all descendants of this process.
fn send_all(signal: i32) {
    for pid in descendants() {
        // SAFETY: a system call.
        unsafe { libc::kill(pid, signal) };
    }
}

/// All processes that descend from this one.
fn descendants() -> Vec<i32> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let Some(parent) =
            std::fs::read_to_string(entry.path().join("stat")).ok().as_deref().and_then(parent_of)
        else {
            continue;
        };
        children.entry(parent).or_default().push(pid);
    }
    let mut all = children.remove(&(std::process::id() as i32)).unwrap_or_default();
    let mut at = 0;
    while at < all.len() {
        all.extend(children.remove(&all[at]).unwrap_or_default());
        at += 1;
    }
    all
}

/// The parent of a process, from its `stat` file. Its name, in parentheses, may contain anything.
fn parent_of(stat: &str) -> Option<i32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// More open files, for the pipes of many tasks.
struct OpenFiles {
    /// The limit that tasks get, if the launcher's own is another.
    inherited: Option<libc::rlimit>,
}

impl OpenFiles {
    fn raise(count: u64) -> Result<Self, LaunchError> {
        let error = || {
            LaunchError::System("open so many files; without -l none are needed", io::Error::last_os_error())
        };
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: a system call with a place for the limit.
        if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } < 0 {
            return Err(error());
        }
        if limit.rlim_cur >= count {
            return Ok(OpenFiles { inherited: None });
        }
        let raised = libc::rlimit { rlim_cur: count, rlim_max: limit.rlim_max.max(count) };
        // SAFETY: a system call.
        if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const raised) } < 0 {
            return Err(error());
        }
        Ok(OpenFiles { inherited: Some(limit) })
    }
}

impl Drop for OpenFiles {
    fn drop(&mut self) {
        if let Some(limit) = self.inherited {
            // SAFETY: a system call.
            unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
        }
    }
}

/// Where the signal handler writes to.
static SIGNAL_PIPE: AtomicI32 = AtomicI32::new(-1);
const FORWARDED: [i32; 5] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2];

extern "C" fn on_signal(signal: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel passes valid information; writing to a pipe and errno are safe in a handler.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        let bytes = [signal as u8, u8::from((*info).si_code == libc::SI_KERNEL)];
        libc::write(SIGNAL_PIPE.load(Ordering::Relaxed), bytes.as_ptr().cast(), 2);
        *errno = before;
    }
}

/// The signals that the launcher receives, while it launches.
struct Signals {
    pipe: std::fs::File,
    _writer: OwnedFd,
    before: Vec<(i32, libc::sigaction)>,
}

impl Signals {
    fn catch() -> io::Result<Self> {
        let mut ends = [-1; 2];
        // SAFETY: a system call with a place for two files.
        if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) } < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just opened, and nobody else's.
        let [pipe, writer] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
        SIGNAL_PIPE.store(writer.as_raw_fd(), Ordering::Relaxed);
        // What tasks start and leave becomes this process's child.
        // SAFETY: a system call.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
        let mut signals = Signals { pipe: pipe.into(), _writer: writer, before: Vec::new() };
        for signal in FORWARDED.into_iter().chain([libc::SIGCHLD]) {
            // SAFETY: a value valid with all bytes zero, and system calls with places for such values.
            unsafe {
                let mut before: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, std::ptr::null(), &raw mut before);
                // As `nohup` has it: ignored, by the tasks too.
                if before.sa_sigaction == libc::SIG_IGN && signal != libc::SIGCHLD {
                    continue;
                }
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = on_signal as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_NOCLDSTOP;
                libc::sigaction(signal, &raw const action, std::ptr::null_mut());
                signals.before.push((signal, before));
            }
        }
        Ok(signals)
    }

    /// The signals to send on that have come since the last call, and whether the kernel sent them.
    fn take(&self) -> Vec<(i32, bool)> {
        let mut bytes = [0; 512];
        let mut taken = Vec::new();
        while let Ok(count @ 1..) = (&self.pipe).read(&mut bytes) {
            taken.extend(bytes[..count].chunks(2).map(|pair| (i32::from(pair[0]), pair[1] == 1)));
        }
        taken.retain(|(signal, _)| FORWARDED.contains(signal));
        taken
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for (signal, before) in &self.before {
            // SAFETY: a system call with what an earlier one returned.
            unsafe { libc::sigaction(*signal, before, std::ptr::null_mut()) };
        }
        // SAFETY: a system call.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 0) };
        SIGNAL_PIPE.store(-1, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_reported_in_plain_words() {
        let failed = |raw| Some(Failure { task: 3, pid: 123, status: ExitStatus::from_raw(raw) });
        let outcome = Outcome { failure: failed(11), ended: 7, ..Outcome::default() };
        let expected = "task 3 (pid 123) ended by signal 11 (segmentation fault); ended the other 7 tasks";
        assert_eq!((outcome.to_string().as_str(), outcome.status()), (expected, 139));
        let outcome = Outcome { failure: failed(5 << 8), also_failed: 1, ended: 1, ..Outcome::default() };
        let expected = "task 3 (pid 123) ended with status 5; 1 other failed too; ended the remaining task";
        assert_eq!((outcome.to_string().as_str(), outcome.status()), (expected, 5));
        let outcome =
            Outcome { timed_out: Some(Duration::from_millis(1500)), ended: 2, ..Outcome::default() };
        let expected = "the time limit of 1.5 s is reached; ended 2 tasks";
        assert_eq!((outcome.to_string().as_str(), outcome.status()), (expected, TIMED_OUT));
        assert_eq!((Outcome::default().to_string().as_str(), Outcome::default().status()), ("", 0));
    }

    #[test]
    fn a_parent_is_found_behind_any_name() {
        assert_eq!(parent_of("12 (a) S 7) (b) R 34 5 6"), Some(34));
        assert_eq!(parent_of("12"), None);
        let here = std::fs::read_to_string("/proc/self/stat").unwrap();
        assert_eq!(parent_of(&here), Some(std::os::unix::process::parent_id() as i32));
    }

    #[test]
    fn a_search_path_never_gets_an_empty_folder() {
        let path = |others: Option<&str>| prepended("/lib".as_ref(), others.map(OsStr::new));
        assert_eq!([None, Some(""), Some("/a:/b")].map(path), ["/lib", "/lib", "/lib:/a:/b"]);
    }

    #[test]
    fn lines_are_labelled_whole() {
        let pipe = std::fs::File::open("/dev/null").unwrap().into();
        let mut stream = Stream { task: 3, pipe, is_error: false, line: Vec::new() };
        let mut out = Vec::new();
        for part in ["a", "b\n\nc", "d\n", "e"] {
            stream.lines(part.as_bytes(), &mut out).unwrap();
        }
        assert_eq!((out.as_slice(), stream.line.as_slice()), (&b"3| ab\n3| \n3| cd\n"[..], &b"e"[..]));
    }

    #[test]
    fn cores_are_those_that_this_process_may_use() {
        let threads: i32 = cores().iter().map(|core| unsafe { libc::CPU_COUNT(core) }).sum();
        assert!(threads >= 1 && cores().len() <= threads as usize);
    }
}
