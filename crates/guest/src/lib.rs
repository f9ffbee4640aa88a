//! Guests: programs that nobody changed, as processes on the nodes of a simulated machine. `netloom mpirun`
//! starts them; their library (`libpami.so`) meets the simulator through shared memory, and each runs only
//! while its node's time stands still.
//!
//! - [`link`] – turns: who runs, and whether the guest still does.
//! - [`memory`] – a guest's memory, as its node's Message Unit sees it.
//! - `profile` – the calls and messages of a job.
//! - `unloaded` – times of messages on an otherwise empty machine.
//!
//! What guests and simulator tell each other is in `netloom_messaging::pami::guest`. Linux only.

#![cfg(target_os = "linux")]

pub mod link;
pub mod memory;
mod profile;
mod unloaded;

use link::{GuestLink, OVER, Shared};
use memory::{GuestMemory, Status, Stores};
use netloom_fabric::collective::ByteOrder;
use netloom_fabric::topology::torus::Torus;
use netloom_messaging::device::Simulated;
use netloom_messaging::mpi::Costs as MpiCosts;
use netloom_messaging::pami::guest::Facts;
use netloom_messaging::pami::guest::process::{GuestProcess, Settings};
use netloom_messaging::pami::guest::task::{Task, hardware_thread};
use netloom_messaging::pami::message_unit::collective::group::Members;
use netloom_messaging::pami::message_unit::resources::{Resources, THREADS};
use netloom_messaging::pami::message_unit::{Costs, PACKET_MAX, Placement};
use netloom_messaging::spi::Spi;
use netloom_nic::message_unit::MessageUnit;
use netloom_node::nodes::ProcessOf;
use netloom_node::process::{Operations, Process, Resumed, Step};
use netloom_node::time::Microticks;
use netloom_shm::channel::{self, Channels};
use netloom_shm::launch::{self, LaunchError, launch_in};
use netloom_shm::segment::Segment;
use netloom_simulate::units::processes_on_units;
use netloom_study::diagnose::{Problem, SourceFile};
use netloom_study::profile::Profile;
use netloom_study::resolve::{load_machine, resolve};
use netloom_study::run::Quiet;
use netloom_workload::mapping::Mapping;
pub use netloom_workload::mapping::MappingConfig;
use netloom_workload::shape::Shape;
use profile::Recorders;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Clock of a Blue Gene/Q core, MHz (Kumar et al., section II.A).
const CORE_MHZ: f64 = 1600.0;

/// On what the guests run.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its name or file.
    pub name: String,
    /// Changes of its values and of the run's, as `--set` takes them.
    pub sets: Vec<String>,
    /// Tasks on a node; as few as the machine's nodes allow if omitted.
    pub tasks_per_node: Option<u32>,
    /// Which nodes the tasks run on: as many of them as are on a node take the place of a rank.
    pub mapping: MappingConfig,
    /// Threads of the simulator.
    pub threads: usize,
    /// What of the programs' own computing counts: its measured time is multiplied by this.
    pub compute_scale: f64,
    /// The simulated time after which a task that polls in vain waits for ever, s.
    pub patience_s: f64,
    /// Whether calls and messages are recorded.
    pub is_profiled: bool,
}

/// What came of a job.
#[derive(Debug)]
pub struct Outcome {
    /// Of its processes.
    pub processes: launch::Outcome,
    /// Tasks that failed on the machine, and why.
    pub failures: Vec<(u32, String)>,
    /// Tasks that ran, without a call of their library, when the job reached its time limit.
    pub running: Vec<u32>,
    /// Why the simulation ended before the tasks, if it did and no task failed.
    pub ended_early: Option<String>,
    /// The simulated time at which the last task ended, us.
    pub simulated_us: f64,
    /// The machine and its shape.
    pub machine: String,
    /// Tasks on a node.
    pub tasks_per_node: u32,
    /// Hand-overs to guests.
    pub hand_overs: u64,
    /// The time that all took.
    pub wall: Duration,
    /// Calls and messages, if they were recorded.
    pub profile: Option<Profile>,
}

/// Error: a job cannot run on a simulated machine.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The machine does not allow it.
    #[error("{}", .0.message)]
    Machine(Problem),
    /// It cannot be started.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The channels cannot be set up.
    #[error("cannot set up shared memory for {0} tasks")]
    Channels(u32, #[source] std::io::Error),
}

/// The study of a run. The guests take the place of its workload, which must be valid on any machine with
/// Message Units, also of one node.
fn study_text(machine: &str) -> String {
    format!(
        "name = \"mpirun\"\ntitle = \"Guests on {{dims}}\"\nmachine = {machine:?}\n\
         [workload]\nkind = \"spi\"\nprogram = \"barrier\"\n\
         [measure]\nuntil = \"finished\"\nper_link = false\nwindow_us = 1000000\n"
    )
}

fn refuse(message: String, help: &str) -> RunError {
    RunError::Machine(Problem::new(message).help(help))
}

/// The tasks of a job, and what is known of their processes.
type Made = BTreeMap<u32, (Arc<Mutex<Task>>, Arc<Status>)>;

/// A process of a node that has no task; the node may have others.
struct Empty {
    has_others: bool,
}

impl<C, W> Process<C, W> for Empty {
    fn resume(&mut self, _: Microticks, _: Resumed, _: &mut Operations<C, W>) -> Step {
        Step::Ended(Ok(()))
    }

    fn is_absent(&self) -> bool {
        !self.has_others
    }
}

/// Runs a job on a simulated machine.
///
/// # Errors
/// If it cannot run there, or its program cannot be started.
pub fn run(
    machine: &Machine,
    mut job: launch::Job,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Outcome, RunError> {
    let begin = Instant::now();
    let own = load_machine(&machine.name, &[]).map_err(RunError::Machine)?;
    if own.torus().is_none_or(|torus| torus.message_unit.is_none()) {
        let what = format!("machine {} has no Message Units, on which PAMI runs", machine.name);
        return Err(refuse(what, "take `--machine bgq`, or natively `netloom exec`"));
    }
    let file = SourceFile::new("netloom mpirun", study_text(&machine.name));
    let study = resolve(file, Path::new("."), &machine.sets).map_err(RunError::Machine)?;
    let (nodes, tasks) = (study.torus_machine().topology.dims.iter().product::<u32>(), job.tasks);
    let tasks_per_node = machine.tasks_per_node.unwrap_or_else(|| tasks.div_ceil(nodes));
    if !(1..=64).contains(&tasks_per_node) || tasks.div_ceil(tasks_per_node) > nodes {
        let plural = if nodes == 1 { "" } else { "s" };
        let what = format!(
            "{tasks} tasks do not fit: {nodes} node{plural}, {tasks_per_node} of at most 64 tasks on each"
        );
        return Err(refuse(
            what,
            "use fewer tasks, more of them on a node (`--ppn`), or a larger machine (`--set topology.dims=[…]`)",
        ));
    }
    let shape = Shape::of_torus(&Torus::new(&study.torus().topology));
    let mapping = Mapping::new(&machine.mapping, &shape, tasks.div_ceil(tasks_per_node), study.study.seed)
        .map_err(|error| {
            let help = "`--map` takes `in-order`, `random`, the letters of the dimensions in the order in which they \
                        are filled, such as `vuzyx`, or a file with a line for each node of the job: its number or its coordinates";
            refuse(format!("--map: {error}"), help)
        })?;
    let placement =
        Arc::new(Placement { nodes: mapping.nodes().to_vec(), processes: tasks_per_node as u8, tasks });
    let messaging = study.machine.messaging();
    let pami = messaging.pami.unwrap_or_default();
    let libraries = [("PAMI", "pami", messaging.pami.is_some()), ("MPI", "mpi", messaging.mpi.is_some())];
    for (library, table, _) in libraries.into_iter().filter(|of| !of.2) {
        let _ = writeln!(
            err,
            "netloom: warning: the machine does not set the time of {library}'s instructions (messaging.{table}), so they take none"
        );
    }
    let mpi = messaging.mpi.unwrap_or_default();
    let topology = &study.torus_machine().topology;
    let ticks_per_second = study.machine.ticks_per_second();
    let ticks_per_ns = ticks_per_second as f64 / 1e9;
    let world = Members::of_job(&placement, &Torus::new(&study.torus().topology));
    let settings = Settings {
        placement: Arc::clone(&placement),
        costs: Costs::new(&pami, ticks_per_second).with_mpi(MpiCosts::new(&mpi, &pami, ticks_per_second)),
        facts: Facts {
            machine: study.machine.shape(),
            tasks,
            tasks_per_node,
            nodes: if machine.mapping == MappingConfig::InOrder { vec![] } else { mapping.nodes().to_vec() },
            torus: topology.dims.iter().enumerate().map(|(d, &length)| (length, topology.wraps(d))).collect(),
            contexts: Resources::new(tasks_per_node as u8).contexts.into(),
            threads: u32::from(THREADS) / tasks_per_node,
            has_world_group: world.is_some(),
            packet_max_bytes: PACKET_MAX,
            rendezvous_from_bytes: messaging.eager_max_B.map_or(u64::MAX, |bytes| bytes + 1),
            clock_ns: pami.clock_ns,
            core_mhz: CORE_MHZ,
            compute_scale: machine.compute_scale,
            is_profiled: machine.is_profiled,
        },
        world,
        ticks_per_ns,
        patience: Microticks::of_f64(machine.patience_s * ticks_per_second as f64 * 1e6),
        busy_until: Arc::default(),
    };
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
    let made: Mutex<Made> = Mutex::default();
    let stores: Mutex<BTreeMap<u32, Arc<Stores>>> = Mutex::default();
    let recorders = machine.is_profiled.then(|| {
        let hops = unloaded::hops(settings.facts.torus.clone());
        Recorders::new(unloaded::measure(&study, &placement.nodes, &settings.costs, &hops), hops)
    });
    let make = |spi: Spi| -> Box<ProcessOf<MessageUnit>> {
        // The processes of a node are first the tasks' first threads, then their second ones, and so on.
        let (process, thread) =
            (spi.process() % tasks_per_node as u8, u32::from(spi.process()) / tasks_per_node);
        let has_others = placement.task(spi.node(), 0).is_some();
        let Some(task) = placement.task(spi.node(), process) else { return Box::new(Empty { has_others }) };
        debug_assert_eq!(spi.process(), hardware_thread(tasks_per_node as u8, process, thread));
        let stores =
            Arc::clone(stores.lock().unwrap_or_else(PoisonError::into_inner).entry(spi.node()).or_default());
        let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
        let (of_task, status) = made.entry(task).or_insert_with(|| {
            let status = Arc::<Status>::default();
            let of_memory = (Arc::clone(&segment), Arc::clone(&status), Arc::clone(&stores));
            let open = move || -> Box<dyn netloom_node::memory::AddressSpace> {
                let (segment, status, stores) = of_memory.clone();
                Box::new(GuestMemory { segment, task, status, stores })
            };
            (Arc::new(Mutex::new(Task::new(&spi, settings.clone(), Box::new(open)))), status)
        });
        let link = GuestLink::new(&channels, &segment, (task, thread), (status, &stores), &shared);
        let process = GuestProcess::new(of_task, thread, link);
        Box::new(match &recorders {
            Some(recorders) => {
                process.recorded(&recorders.add(task, thread, spi.node()), spi.device().thread())
            }
            None => process,
        })
    };
    let stop = AtomicBool::new(false);
    let (launched, simulated) = std::thread::scope(|scope| {
        let simulator = scope.spawn(|| {
            // Whatever happens here, also a panic, no guest waits for its turn for ever.
            let mut end = AtEnd { segment: &segment, shared: &shared, is_in_order: false };
            let ran = processes_on_units(
                &study,
                tasks_per_node * settings.facts.threads,
                ByteOrder::HERE,
                make,
                (&Quiet(&stop), machine.threads),
            );
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
    let mut last_ns: f64 = 0.0;
    let mut ended_ns = BTreeMap::new();
    for (task, (of_task, status)) in made.into_inner().unwrap_or_else(PoisonError::into_inner) {
        let end_ns = of_task.lock().unwrap_or_else(PoisonError::into_inner).ended_ns();
        ended_ns.insert(task, end_ns);
        last_ns = last_ns.max(end_ns);
        let is_new = !has_crashed && failures.iter().all(|&(failed, _)| failed != task);
        if let Some(why) = status.fault().filter(|_| is_new) {
            failures.push((task, why));
        }
    }
    failures.sort();
    let mut running = vec![];
    if processes.timed_out.is_some() {
        running.extend(shared.running.lock().unwrap_or_else(PoisonError::into_inner).iter());
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
    let ns = |time: Microticks| time.0 as f64 / 1e6 / ticks_per_ns;
    let ended_ns = |task| ended_ns.get(&task).copied().unwrap_or(0.0);
    Ok(Outcome {
        profile: recorders.map(|recorders| recorders.profile(described, mapping.nodes(), ns, ended_ns)),
        running,
        ended_early: result.partial.filter(|_| failures.is_empty() && !has_crashed && !is_over),
        processes,
        failures,
        simulated_us,
        machine: study.machine.shape(),
        tasks_per_node,
        hand_overs: shared.hand_overs.load(Ordering::Relaxed),
        wall: begin.elapsed(),
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
