//! The processes of a job: started by the launcher, and simulated as threads of nodes.

use super::link::{GuestLink, OVER, Shared};
use super::memory::{GuestMemory, Status, Stores};
use super::profile::Recorders;
use super::{Outcome, RunError, Setting};
use netloom_messaging::pami::guest::ThreadNumber;
use netloom_messaging::pami::guest::interface::Interface;
use netloom_messaging::pami::guest::process::GuestProcess;
use netloom_messaging::pami::guest::task::Task;
use netloom_messaging::transit::Unloaded;
use netloom_mpi::waits::compare::Job as Deadlock;
use netloom_node::memory::AddressSpace;
use netloom_node::process::{Operations, Process, Resumed, Step};
use netloom_node::thread::Thread;
use netloom_node::time::Microticks;
use netloom_shm::channel::{self, Channels};
use netloom_shm::launch::{self, LaunchError, launch_in};
use netloom_shm::segment::Segment;
use netloom_simulate::units::Failures;
use netloom_study::diagnose::Problem;
use netloom_study::profile::Profile;
use netloom_study::result::RunResult;
use netloom_study::run::Quiet;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A process of a node that has no task; the node may have others.
pub(crate) struct Empty {
    pub has_others: bool,
}

impl<C, W> Process<C, W> for Empty {
    fn resume(&mut self, _: Microticks, _: Resumed, _: &mut Operations<C, W>) -> Step {
        Step::Ended(Ok(()))
    }

    fn is_absent(&self) -> bool {
        !self.has_others
    }
}

/// When a task has ended, ns.
type End = Box<dyn Fn() -> f64 + Send>;

/// What the processes of a job have in common in the simulator.
pub(crate) struct Made<'a> {
    setting: &'a Setting<'a>,
    segment: Arc<Segment>,
    channels: Arc<Channels>,
    shared: Arc<Shared>,
    recorders: Option<Recorders>,
    /// Of each task.
    statuses: Vec<Arc<Status>>,
    /// To the memory of each task: those of a node share one, since they may share memory.
    stores: Vec<Arc<Stores>>,
    ends: Mutex<BTreeMap<u32, End>>,
}

impl Made<'_> {
    /// Gives access to the memory of tasks.
    pub fn memory_of(&self) -> impl Fn(u32) -> Box<dyn AddressSpace> + Send + Sync + 'static {
        let (segment, statuses, stores) =
            (Arc::clone(&self.segment), self.statuses.clone(), self.stores.clone());
        move |task| {
            let status = Arc::clone(&statuses[task as usize]);
            let stores = Arc::clone(&stores[task as usize]);
            Box::new(GuestMemory { segment: Arc::clone(&segment), task, status, stores })
        }
    }
}

impl super::tasks::Job for Made<'_> {
    fn task<I: Interface>(&self, interface: I, number: u32) -> Arc<Mutex<Task<I>>> {
        let mut settings = self.setting.settings.clone();
        settings.facts.has_world_group = interface.has_world();
        let task = Arc::new(Mutex::new(Task::new(interface, number, settings)));
        let of_end = Arc::clone(&task);
        let end: End = Box::new(move || lock(&of_end).ended_ns());
        lock(&self.ends).insert(number, end);
        task
    }

    fn process<I: Interface>(
        &self,
        task: &Arc<Mutex<Task<I>>>,
        (number, thread): (u32, ThreadNumber),
        node: u32,
        of_node: &Thread<I::Command, I::Watch>,
    ) -> Box<dyn Process<I::Command, I::Watch>> {
        let of_task = (&self.statuses[number as usize], &self.stores[number as usize]);
        let link = GuestLink::new(&self.channels, &self.segment, (number, thread), of_task, &self.shared);
        let process = GuestProcess::new(task, thread, link);
        Box::new(match &self.recorders {
            Some(recorders) => process.recorded(&recorders.add(number, thread, node), of_node),
            None => process,
        })
    }
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the processes of a job, and simulates them: `simulate` runs the nodes with what was made.
/// `unloaded` are the times of messages on an otherwise empty machine, for a profile.
pub(crate) fn run(
    setting: &Setting,
    mut job: launch::Job,
    (out, err): (&mut dyn Write, &mut dyn Write),
    unloaded: impl FnOnce() -> Result<Unloaded, Problem>,
    simulate: impl Fn(&Made, &Quiet) -> Result<(RunResult, Failures), Problem> + Sync,
) -> Result<Outcome, RunError> {
    let Setting { machine, study, placement, settings, .. } = setting;
    let (tasks, tasks_per_node) = (placement.tasks, u32::from(placement.processes));
    let segment = Arc::new(Segment::create(tasks).map_err(LaunchError::from)?);
    let channels =
        Arc::new(Channels::create(tasks, settings.facts.threads).map_err(|e| RunError::Channels(tasks, e))?);
    let shared = Arc::new(Shared { follows: machine.threads > 1, ..Shared::default() });
    job.environment.push((channel::ENVIRONMENT.into(), OsString::from(channels.variable())));
    job.environment.extend(preloaded(&job));
    // OpenMP's threads wait in vain before they sleep, since no other runs meanwhile.
    if std::env::var_os("OMP_WAIT_POLICY").is_none() {
        job.environment.push(("OMP_WAIT_POLICY".into(), "passive".into()));
    }
    let recorders = match machine.is_profiled {
        true => Some(Recorders::new(unloaded().map_err(RunError::Machine)?, Arc::clone(&setting.hops))),
        false => None,
    };
    let made = Made {
        setting,
        segment: Arc::clone(&segment),
        channels,
        shared: Arc::clone(&shared),
        recorders,
        statuses: (0..tasks).map(|_| Arc::new(Status::new(&shared))).collect(),
        stores: (0..tasks.div_ceil(tasks_per_node))
            .flat_map(|_| std::iter::repeat_n(Arc::default(), tasks_per_node as usize))
            .collect(),
        ends: Mutex::default(),
    };
    let stop = AtomicBool::new(false);
    let (launched, simulated) = std::thread::scope(|scope| {
        let simulator = scope.spawn(|| {
            // Whatever happens here, also a panic, no guest waits for its turn for ever.
            let mut end = AtEnd { segment: &segment, shared: &shared, is_in_order: false };
            let ran = simulate(&made, &Quiet(&stop));
            end.is_in_order = ran.as_ref().is_ok_and(|(result, _)| result.partial.is_none());
            ran
        });
        let addresses = FixedAddresses::new();
        if addresses.0.is_none() {
            let _ = writeln!(
                err,
                "netloom: warning: this system gives programs random addresses, so simulated times can differ a little from run to run"
            );
        }
        let launched = launch_in(&job, &segment, out, err);
        drop(addresses);
        shared.is_over.store(true, Ordering::Release);
        // Nobody waits for what is still under way.
        stop.store(launched.as_ref().map_or(true, was_interrupted), Ordering::Relaxed);
        (launched, simulator.join())
    });
    let simulated = match simulated {
        Ok(simulated) => simulated,
        Err(panic) => std::panic::resume_unwind(panic),
    };
    let processes = launched?;
    let (result, failures) = simulated.map_err(RunError::Machine)?;
    // Threads of a process that ended with another status than 0: the status of the job says so.
    let is_over = failures.iter().any(|(.., failure)| failure.reason == OVER);
    let mut failures: Vec<(u32, String)> = failures
        .into_iter()
        .filter(|(.., failure)| failure.reason != OVER)
        .filter_map(|(node, process, failure)| {
            Some((placement.task(node, (process % tasks_per_node) as u8)?, failure.to_string()))
        })
        .collect();
    // A task that has ended is not asked any more, but its memory may be needed. After a crash that is no
    // news.
    let has_crashed = shared.has_crashed.load(Ordering::Acquire) || was_interrupted(&processes);
    let ended_ns: BTreeMap<u32, f64> = lock(&made.ends).iter().map(|(&task, end)| (task, end())).collect();
    let last_ns = ended_ns.values().copied().fold(0.0, f64::max);
    for &task in ended_ns.keys() {
        let is_new = !has_crashed && !is_over && failures.iter().all(|&(failed, _)| failed != task);
        if let Some(why) = made.statuses[task as usize].fault().filter(|_| is_new) {
            failures.push((task, why));
        }
    }
    failures.sort();
    let waits = std::mem::take(&mut *lock(&shared.waits));
    let has_ended = |task: &u32| !has_crashed && failures.iter().all(|(failed, _)| failed != task);
    let deadlock = match waits.is_empty() {
        true => vec![],
        false => Deadlock { ended: (0..tasks).filter(has_ended).collect(), waits }.sentences(),
    };
    let mut running = vec![];
    if processes.timed_out.is_some() {
        running.extend(lock(&shared.running).iter());
    }
    let simulated_us = if last_ns > 0.0 { last_ns / 1e3 } else { study.micros(result.simulated.ticks) };
    let described = Profile {
        program: job.program.to_string_lossy().into_owned(),
        machine: format!("{}, {}", study.machine.title(), study.machine.shape()),
        tasks,
        tasks_per_node,
        end_ns: simulated_us * 1e3,
        ..Profile::default()
    };
    let ns = |time: Microticks| time.0 as f64 / 1e6 / settings.ticks_per_ns;
    let ended_ns = |task| ended_ns.get(&task).copied().unwrap_or(0.0);
    Ok(Outcome {
        profile: made.recorders.map(|recorders| recorders.profile(described, setting.nodes, ns, ended_ns)),
        running,
        ended_early: result.partial.filter(|_| failures.is_empty() && !has_crashed && !is_over),
        processes,
        failures,
        deadlock,
        simulated_us,
        machine: study.machine.shape(),
        tasks_per_node,
        hand_overs: shared.hand_overs.load(Ordering::Relaxed),
        wall: Duration::ZERO,
    })
}

/// The variable that has PAMI's library loaded before all others, also where a program needs it only through
/// MPI's: its functions for threads and sleeping stand in front of the C library's.
fn preloaded(job: &launch::Job) -> Option<(OsString, OsString)> {
    const PRELOAD: &str = "LD_PRELOAD";
    let library = job.libraries.as_ref()?.join("libpami.so");
    let given =
        job.environment.iter().rev().find(|(name, _)| name == PRELOAD).map(|(_, value)| value.clone());
    let mut all = library.is_file().then(|| library.into_os_string())?;
    if let Some(others) = given.or_else(|| std::env::var_os(PRELOAD)).filter(|others| !others.is_empty()) {
        all.push(":");
        all.push(others);
    }
    Some((PRELOAD.into(), all))
}

/// Whether a signal or the time limit interrupted the job.
fn was_interrupted(processes: &launch::Outcome) -> bool {
    let ends = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM];
    processes.timed_out.is_some() || processes.signal.is_some_and(|signal| ends.contains(&signal))
}

/// While it lives, programs that this thread starts have the same addresses on every run: where data lies in
/// a cache's lines is part of how long the Message Unit takes to read it. It holds the setting before, if the
/// system permitted the change.
struct FixedAddresses(Option<libc::c_ulong>);

impl FixedAddresses {
    fn new() -> Self {
        // SAFETY: system calls without pointers; the first only asks.
        #[allow(unsafe_code)]
        let (before, set) = unsafe {
            let before = libc::personality(0xffff_ffff);
            (before, libc::personality((before | libc::ADDR_NO_RANDOMIZE) as libc::c_ulong))
        };
        FixedAddresses((before >= 0 && set >= 0).then_some(before as libc::c_ulong))
    }
}

impl Drop for FixedAddresses {
    fn drop(&mut self) {
        if let Some(before) = self.0 {
            // SAFETY: a system call without pointers.
            #[allow(unsafe_code)]
            unsafe {
                libc::personality(before)
            };
        }
    }
}

/// At the end of the simulation no guest may be left that waits for it.
struct AtEnd<'a> {
    segment: &'a Segment,
    shared: &'a Shared,
    is_in_order: bool,
}

impl Drop for AtEnd<'_> {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Release);
        // Where a process has failed, the launcher ends the others.
        if self.is_in_order || self.shared.has_crashed.load(Ordering::Acquire) {
            return;
        }
        for pid in (0..self.segment.tasks()).map(|task| self.segment.task(task).pid()).filter(|&pid| pid > 0)
        {
            // SAFETY: a system call; the launcher has not waited for the process yet, or there is none.
            #[allow(unsafe_code)]
            unsafe {
                libc::kill(pid, libc::SIGKILL)
            };
        }
    }
}
