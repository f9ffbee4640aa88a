//! Starts the tasks of a job and waits until they have ended.
#![allow(unsafe_code)]

use super::environment::{Growth, World, cores, environment};
use super::names::Names;
use super::output::{OpenFiles, Stream, write_line};
use super::service::Service;
use super::signals::{Signals, send_all};
use super::{Bind, Failure, Job, LaunchError, Outcome};
use crate::segment::{Segment, State};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time in which tasks report what they wait for.
const REPORT: Duration = Duration::from_millis(500);
/// Time between SIGTERM and SIGKILL.
const TERMINATION: Duration = Duration::from_secs(2);
/// Time after SIGKILL until the launcher stops waiting for a process that the kernel does not end.
const KILL: Duration = Duration::from_secs(5);

/// Runs a job to its end. Labelled output goes to `out` and `err`; else tasks inherit the launcher's own.
///
/// # Errors
/// If it cannot be launched.
///
/// # Panics
/// If there are no tasks, or more than [`crate::segment::TASKS_MAX`].
pub fn launch(job: &Job, out: &mut dyn Write, err: &mut dyn Write) -> Result<Outcome, LaunchError> {
    // Without it the job runs as ever, and cannot grow.
    let service = Service::new().ok();
    run(job, &Arc::new(Segment::create(job.tasks)?), service, out, err)
}

/// The same in a segment for as many tasks, to which none can be added.
///
/// # Errors
/// If it cannot be launched.
pub fn launch_in(
    job: &Job,
    segment: &Arc<Segment>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Outcome, LaunchError> {
    run(job, segment, None, out, err)
}

fn run(
    job: &Job,
    segment: &Arc<Segment>,
    service: Option<Service>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Outcome, LaunchError> {
    if let Some(folder) = &job.folder
        && !folder.is_dir()
    {
        return Err(LaunchError::Folder(folder.clone()));
    }
    let cores = match job.bind {
        Bind::None => None,
        Bind::Core | Bind::Auto => {
            let cores = cores();
            match (job.bind, job.tasks as usize) {
                (Bind::Core, tasks) if tasks > cores.len() => {
                    return Err(LaunchError::Cores { tasks: job.tasks, cores: cores.len() });
                }
                (Bind::Auto, tasks) if tasks > cores.len().min(quota()) => None,
                _ => Some(cores),
            }
        }
    };
    let files = OpenFiles::raise(if job.label { 2 * u64::from(job.tasks) + 64 } else { 0 })?;
    let signals = Signals::catch().map_err(|e| LaunchError::System("catch signals", e))?;
    let mut launcher = Launcher {
        segment: Arc::clone(segment),
        job,
        cores: cores.unwrap_or_default(),
        core_of: HashMap::new(),
        files,
        names: Names::new(service.as_ref().map_or("", |service| &service.name)),
        socket: service.as_ref().map(|service| service.name.clone()),
        service,
        worlds: BTreeMap::new(),
        discarded: HashSet::new(),
        pids: HashMap::new(),
        streams: Vec::new(),
        phase: Phase::Run,
        outcome: Outcome::default(),
        failed: false,
    };
    let began = Instant::now();
    for task in 0..job.tasks {
        let folder = job.folder.as_ref().map(|folder| folder.as_os_str());
        let program =
            Program { path: &job.program, name: None, arguments: &job.arguments, folder, environment: &[] };
        // If it fails, the launcher's end ends those that run.
        launcher.start(&program, task, None)?;
    }
    launcher.wait(&signals, began, out, err).map_err(|e| LaunchError::System("wait for tasks", e))?;
    Ok(std::mem::take(&mut launcher.outcome))
}

/// Cores that this process's group may use at a time.
pub(super) fn quota() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// What a task runs.
pub(super) struct Program<'a> {
    /// Path of the program, or its name in `PATH`.
    pub(super) path: &'a OsStr,
    /// What the program finds as its name, if that is another.
    pub(super) name: Option<&'a OsStr>,
    pub(super) arguments: &'a [OsString],
    /// Folder that it starts in; the launcher's own if `None`.
    pub(super) folder: Option<&'a OsStr>,
    /// Variables that are set for it alone, as `NAME=VALUE`.
    pub(super) environment: &'a [Vec<u8>],
}

/// How far the end of a job has come.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Nothing failed.
    Run,
    /// A task failed; SIGTERM follows.
    Grace(Instant),
    /// The time limit is reached, and tasks report what they wait for; SIGTERM follows.
    Report(Instant),
    /// SIGTERM is sent; SIGKILL follows.
    Terminate(Instant),
    /// SIGKILL is sent; after this time the launcher waits no longer.
    Kill(Instant),
}

pub(super) struct Launcher<'a> {
    pub(super) segment: Arc<Segment>,
    pub(super) job: &'a Job,
    /// The cores that tasks get; none if they run anywhere.
    pub(super) cores: Vec<libc::cpu_set_t>,
    /// The tasks that have one, by its number.
    pub(super) core_of: HashMap<usize, u32>,
    pub(super) files: OpenFiles,
    /// How tasks reach the launcher, if the job can grow.
    service: Option<Service>,
    /// The name of its socket.
    socket: Option<String>,
    pub(super) names: Names,
    /// The programs of the tasks of each world that tasks had started, by its first task.
    pub(super) worlds: BTreeMap<u32, Vec<String>>,
    /// Processes whose end is no failure: the launcher has ended them alone.
    pub(super) discarded: HashSet<i32>,
    /// Tasks that run, by their process.
    pub(super) pids: HashMap<i32, u32>,
    streams: Vec<Stream>,
    phase: Phase,
    pub(super) outcome: Outcome,
    /// Whether the others must be ended.
    failed: bool,
}

impl Launcher<'_> {
    /// The number of tasks that the job is meant to have at most.
    fn universe(&self) -> u32 {
        let cores = || u32::try_from(quota()).unwrap_or(u32::MAX);
        self.job.universe.unwrap_or_else(|| cores().max(self.job.tasks))
    }

    /// Starts a task: one of those that the job begins with, or of a world that a task had started.
    pub(super) fn start(
        &mut self,
        program: &Program,
        task: u32,
        world: Option<World>,
    ) -> Result<(), LaunchError> {
        let job = self.job;
        let mut command = Command::new(program.path);
        if let Some(name) = program.name {
            command.arg0(name);
        }
        command.args(program.arguments);
        let growth = self.socket.as_ref().map(|launcher| Growth { launcher, universe: self.universe() });
        environment(&mut command, job, task, world, self.segment.file().as_raw_fd(), growth.as_ref());
        for variable in program.environment {
            let mut parts = variable.splitn(2, |&byte| byte == b'=').map(OsStr::from_bytes);
            command.env(parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        }
        if let Some(folder) = program.folder {
            command.current_dir(folder);
        }
        let core = (0..self.cores.len()).find(|core| !self.core_of.contains_key(core));
        if let Some(core) = core {
            self.core_of.insert(core, task);
        }
        let core = core.map(|core| self.cores[core]);
        if task > 0 {
            command.stdin(Stdio::null());
        }
        if job.label {
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
        }
        let (segment, parent) = (self.segment.file().as_raw_fd(), std::process::id());
        let files = self.files.inherited;
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
            .map_err(|source| LaunchError::Program { program: program.path.into(), source })?;
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
        began: Instant,
        out: &mut dyn Write,
        err: &mut dyn Write,
    ) -> io::Result<()> {
        let job = self.job;
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
                if self.failed {
                    self.terminate(now);
                } else {
                    self.outcome.timed_out = job.time_limit;
                    self.segment.request_reports();
                    self.phase = Phase::Report(now + REPORT);
                }
            }
            if self.pids.is_empty() {
                // Only what tasks started and left.
                if let Phase::Run | Phase::Grace(_) | Phase::Report(_) = self.phase {
                    self.terminate(now);
                }
            } else if let (Phase::Run, true) = (self.phase, self.failed) {
                self.phase = Phase::Grace(now.checked_add(job.grace).unwrap_or(now + TERMINATION));
            }
            match self.phase {
                Phase::Grace(end) if now >= end => self.terminate(now),
                Phase::Report(end) if now >= end || self.silent().next().is_none() => {
                    let has_ended = |task: &u32| self.pids.values().all(|of| of != task);
                    self.outcome.at_limit.ended = (0..self.segment.tasks_ever()).filter(has_ended).collect();
                    self.outcome.at_limit.silent = self.silent().collect();
                    self.outcome.at_limit.silent.sort_unstable();
                    self.terminate(now);
                }
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
                Phase::Report(end) | Phase::Terminate(end) => Some(end),
                Phase::Kill(_) => Some(now + Duration::from_millis(50)),
            };
            let (readable, is_asked) = self.poll(signals, next)?;
            for (signal, is_from_kernel) in signals.take() {
                self.outcome.signal = Some(signal);
                self.forward(signal, is_from_kernel);
            }
            self.copy(&readable, out, err);
            if is_asked {
                self.answer();
            }
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
            let is_discarded = self.discarded.remove(&pid);
            self.ended(task);
            let record = self.segment.task(task);
            if status.success() || is_discarded {
                if record.state() != State::Finished {
                    record.set_state(State::Ended);
                }
                self.segment.free_queues(task);
                continue;
            }
            record.set_state(State::Dead);
            self.failed = true;
            match (self.phase, &self.outcome.failure) {
                // The launcher ended it, or the time limit has become the reason before.
                (Phase::Report(_) | Phase::Terminate(_) | Phase::Kill(_), _) => {}
                (_, None) => {
                    let spawned = self.name_of_spawned(task);
                    self.outcome.failure = Some(Failure { task, spawned, pid, status });
                }
                _ => self.outcome.also_failed += 1,
            }
        };
        if any {
            self.segment.ring_all();
        }
        left
    }

    /// Answers what tasks ask.
    fn answer(&mut self) {
        let Some(mut service) = self.service.take() else { return };
        service.answer(|request| self.carry_out(request, matches!(self.phase, Phase::Run) && !self.failed));
        self.service = Some(service);
    }

    /// The tasks that could report what they wait for, and have not.
    fn silent(&self) -> impl Iterator<Item = u32> {
        let is_silent = |task: &u32| {
            self.service.is_some()
                && self.segment.task(*task).state() == State::Running
                && !self.outcome.at_limit.waiting.contains_key(task)
        };
        self.pids.values().copied().filter(is_silent)
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

    /// Waits for a signal, output or a request, at most until then; returns which streams have output, and
    /// whether tasks ask something.
    fn poll(&self, signals: &Signals, until: Option<Instant>) -> io::Result<(Vec<usize>, bool)> {
        let entry = |fd: RawFd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut files = vec![entry(signals.pipe.as_raw_fd())];
        files.extend(self.streams.iter().map(|stream| entry(stream.pipe.as_raw_fd())));
        let streams = 1..files.len();
        files.extend(self.service.iter().flat_map(Service::files).map(entry));
        let time = until.map_or(-1, |until| {
            let time = until.saturating_duration_since(Instant::now()).as_millis() + 1;
            i32::try_from(time).unwrap_or(i32::MAX)
        });
        // SAFETY: a system call on a list of this length.
        let result = unsafe { libc::poll(files.as_mut_ptr(), files.len() as libc::nfds_t, time) };
        if result < 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::Interrupted {
                Ok((Vec::new(), false))
            } else {
                Err(error)
            };
        }
        let is_ready = |file: &libc::pollfd| file.revents != 0;
        let is_asked = files[streams.end..].iter().any(is_ready);
        Ok((
            (0..).zip(&files[streams]).filter(|(_, file)| is_ready(file)).map(|(at, _)| at).collect(),
            is_asked,
        ))
    }

    /// Copies the lines of these streams, and forgets those at their end; returns whether there were any
    /// bytes.
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
                    // Whoever read the output has left: the task's writes fail, as if it had written
                    // directly.
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

impl Drop for Launcher<'_> {
    /// Ends what is left when a job could not be launched as a whole.
    fn drop(&mut self) {
        let until = Instant::now() + KILL;
        while self.reap() && Instant::now() < until {
            send_all(libc::SIGKILL);
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
