//! What is launched, and how it ended.

use super::request::Waiting;
use crate::segment::AttachError;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

/// The exit status when a job reaches its time limit: that of `timeout`.
pub const TIMED_OUT: u8 = 124;

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
    /// Most tasks that may run at the same time, with those that tasks have started; as many as fit, if
    /// `None`.
    pub universe: Option<u32>,
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Its number.
    pub task: u32,
    /// What it is, if a task had it started: "rank 1 of ./worker".
    pub spawned: Option<String>,
    /// Its process.
    pub pid: i32,
    /// How it ended.
    pub status: ExitStatus,
}

/// What tasks did when the time limit was reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AtLimit {
    /// What those waited for that reported it.
    pub waiting: BTreeMap<u32, Waiting>,
    /// Those that take part in the job and did not report: they were in no call that waited for long.
    pub silent: Vec<u32>,
    /// Those that had ended.
    pub ended: Vec<u32>,
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
    /// What tasks did then.
    pub at_limit: AtLimit,
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
        let Some(Failure { task, spawned, pid, status }) = &self.failure else {
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
        let spawned = spawned.as_ref().map_or(String::new(), |of| format!("{of}, "));
        write!(f, "task {task} ({spawned}pid {pid}) ended ")?;
        match status.signal() {
            Some(signal) => write!(f, "by signal {signal} ({})", signal_name(signal))?,
            None => write!(f, "with exit status {}", status.code().unwrap_or(1))?,
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

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_reported_in_plain_words() {
        let failed =
            |raw| Some(Failure { task: 3, spawned: None, pid: 123, status: ExitStatus::from_raw(raw) });
        let outcome = Outcome { failure: failed(11), ended: 7, ..Outcome::default() };
        let expected = "task 3 (pid 123) ended by signal 11 (segmentation fault); ended the other 7 tasks";
        assert_eq!((outcome.to_string().as_str(), outcome.status()), (expected, 139));
        let outcome = Outcome { failure: failed(5 << 8), also_failed: 1, ended: 1, ..Outcome::default() };
        let expected =
            "task 3 (pid 123) ended with exit status 5; 1 other failed too; ended the remaining task";
        assert_eq!((outcome.to_string().as_str(), outcome.status()), (expected, 5));
        let outcome =
            Outcome { timed_out: Some(Duration::from_millis(1500)), ended: 2, ..Outcome::default() };
        let expected = "the time limit of 1.5 s is reached; ended 2 tasks";
        assert_eq!((outcome.to_string().as_str(), outcome.status()), (expected, TIMED_OUT));
        let spawned = Failure { spawned: Some("rank 1 of ./worker".into()), ..failed(9).unwrap() };
        let outcome = Outcome { failure: Some(spawned), ..Outcome::default() };
        assert_eq!(outcome.to_string(), "task 3 (rank 1 of ./worker, pid 123) ended by signal 9 (kill)");
        assert_eq!((Outcome::default().to_string().as_str(), Outcome::default().status()), ("", 0));
    }
}
