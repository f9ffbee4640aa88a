//! Guests: programs that nobody changed, as processes on the nodes of a simulated machine. `netloom mpirun`
//! starts them; their library (`libpami.so`) meets the simulator through shared memory, and each runs only
//! while its node's time stands still.
//!
//! - `job` – the processes of a job, started and simulated.
//! - [`link`] – turns: who runs, and whether the guest still does.
//! - [`memory`] – a guest's memory, as its node's network interface sees it.
//! - `on_units`, `on_messages` – what runs on each node: on Message Units, and on any other machine.
//! - [`tasks`] – the tasks of a job on the transports of a machine.
//! - `profile` – the calls and messages of a job.
//! - `unloaded` – times of messages on an otherwise empty machine.
//!
//! What guests and simulator tell each other is in `netloom_messaging::pami::guest`. Linux only.

#![cfg(target_os = "linux")]

mod job;
pub mod link;
pub mod memory;
mod on_messages;
mod on_units;
mod profile;
pub mod tasks;
mod unloaded;

use netloom_fabric::topology::torus::Torus;
use netloom_messaging::mpi::Costs as MpiCosts;
use netloom_messaging::pami::device::GroupLimits;
use netloom_messaging::pami::guest::process::Settings;
use netloom_messaging::pami::guest::{Facts, Reach};
use netloom_messaging::pami::message_unit::PACKET_MAX;
use netloom_messaging::pami::message_unit::resources::{Resources, THREADS};
use netloom_messaging::pami::{CLOCK_NS, Costs, Placement};
use netloom_messaging::transit::Hops;
use netloom_nic::config::NodeMode;
use netloom_nic::th::PORTS;
use netloom_node::cores::CoresConfig;
use netloom_node::time::Microticks;
use netloom_shm::launch::{self, LaunchError};
use netloom_simulate::own::hops_of_nodes;
use netloom_study::diagnose::{Problem, SourceFile};
use netloom_study::profile::Profile;
use netloom_study::resolve::{ResolvedStudy, load_machine, resolve};
use netloom_workload::mapping::Mapping;
pub use netloom_workload::mapping::MappingConfig;
use netloom_workload::shape::Shape;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Clock of a Blue Gene/Q core, MHz (Kumar et al., section II.A).
const CORE_MHZ: f64 = 1600.0;
/// Contexts of a task on machines without Message Units, and hardware threads of a Xeon's core **(ours)**.
const CONTEXTS: u32 = 16;
const HYPERTHREADS: u32 = 2;
/// Hardware threads of a node whose machine does not say how many cores it has, and fewest threads that its
/// tasks may have **(ours)**.
const THREADS_MIN: u32 = 16;
/// Most tasks of a node, and most threads.
const TASKS_MAX: u32 = 64;
const THREADS_MAX: u32 = 255;

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
    /// Why tasks of MPI wait for ever, in sentences about all of them, if some do.
    pub deadlock: Vec<String>,
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

/// The study of a run. The guests take the place of its workload, which must be valid on the machine, also if
/// it has one node.
fn study_text(machine: &str, has_units: bool) -> String {
    let workload = match has_units {
        true => "kind = \"spi\"\nprogram = \"barrier\"",
        false => "kind = \"skeleton\"\nprogram = \"halo\"\ngrid = [1]",
    };
    format!(
        "name = \"mpirun\"\ntitle = \"Guests\"\nmachine = {machine:?}\n[workload]\n{workload}\n\
         [measure]\nuntil = \"finished\"\nper_link = false\nwindow_us = 1000000\n"
    )
}

fn refuse(message: String, help: &str) -> RunError {
    RunError::Machine(Problem::new(message).help(help))
}

/// What the guests of a job on a machine are given.
struct Setting<'a> {
    machine: &'a Machine,
    study: &'a ResolvedStudy,
    /// The nodes of tasks.
    nodes: &'a [u32],
    placement: Arc<Placement>,
    settings: Settings,
    hops: Hops,
}

/// Runs a job on a simulated machine.
///
/// # Errors
/// If it cannot run there, or its program cannot be started.
pub fn run(
    machine: &Machine,
    job: launch::Job,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Outcome, RunError> {
    let begin = Instant::now();
    let own = load_machine(&machine.name, &[]).map_err(RunError::Machine)?;
    let has_units = own.torus().is_some_and(|torus| torus.message_unit.is_some());
    let of_study = || SourceFile::new("netloom mpirun", study_text(&machine.name, has_units));
    let mut study = resolve(of_study(), Path::new("."), &machine.sets).map_err(RunError::Machine)?;
    let nodes = study.network.nodes() as u32;
    let tasks_per_node = tasks_per_node(machine, job.tasks, nodes, &hardware(&study, has_units))?;
    if tasks_per_node > 1 && has_spare_fifos(&study, machine) {
        let mut sets = machine.sets.clone();
        sets.push("nic.mode=\"virtual-node\"".into());
        study = resolve(of_study(), Path::new("."), &sets).map_err(RunError::Machine)?;
    }
    let shape = match study.network.torus() {
        Some(torus) => Shape::of_torus(&Torus::new(&torus.topology)),
        // A network of switches is to the mapping a line of nodes.
        None => Shape::of_job(nodes),
    };
    if let (MappingConfig::Dimensions(letters), None) = (&machine.mapping, study.network.torus()) {
        let what = format!("--map: {letters} names dimensions of a torus, and {} is none", machine.name);
        return Err(refuse(
            what,
            "`--map` takes `in-order`, `random`, or a file with a line for each node of the job: its number",
        ));
    }
    let mapping = Mapping::new(&machine.mapping, &shape, job.tasks.div_ceil(tasks_per_node), study.study.seed)
        .map_err(|error| {
            let help = "`--map` takes `in-order`, `random`, the letters of the dimensions in the order in which they \
                        are filled, such as `vuzyx`, or a file with a line for each node of the job: its number or its coordinates";
            refuse(format!("--map: {error}"), help)
        })?;
    let placement = Arc::new(Placement {
        nodes: mapping.nodes().to_vec(),
        processes: tasks_per_node as u8,
        tasks: job.tasks,
    });
    warn(&study, has_units, tasks_per_node, err);
    let setting = Setting {
        settings: settings(machine, &study, &placement, has_units),
        hops: hops_of_nodes(&study),
        machine,
        study: &study,
        nodes: mapping.nodes(),
        placement,
    };
    let outcome = if has_units {
        on_units::run(&setting, job, out, err)
    } else {
        on_messages::run(&setting, job, out, err)
    };
    outcome.map(|outcome| Outcome { wall: begin.elapsed(), ..outcome })
}

/// What of a node its tasks need.
struct Hardware {
    /// Most tasks of a node, and why not more.
    tasks: u32,
    of: String,
    /// Most threads of all of them.
    threads: u32,
}

/// What a node of the machine has for tasks.
fn hardware(study: &ResolvedStudy, has_units: bool) -> Hardware {
    if has_units {
        let threads = THREADS.into();
        return Hardware {
            tasks: TASKS_MAX,
            of: format!("its nodes have {TASKS_MAX} hardware threads"),
            threads,
        };
    }
    let Some((cores, each)) = cores(study) else {
        let of = "it does not say how many cores its nodes have".into();
        return Hardware { tasks: THREADS_MIN, of, threads: THREADS_MIN };
    };
    let (count, threads) = (cores.count() as u32, each * cores.count() as u32);
    let of = match each {
        1 => format!("its nodes have {count} cores"),
        _ => format!("its nodes have {threads} hardware threads of {count} cores"),
    };
    let ports = study.machine.switched().filter(|machine| machine.th.is_some()).map(|_| u32::from(PORTS));
    let (tasks, of) = match ports {
        Some(ports) if ports < threads => {
            (ports, format!("the NICs of its nodes have {ports} virtual ports"))
        }
        _ if threads > TASKS_MAX => (TASKS_MAX, "as on any machine".into()),
        _ => (threads, of),
    };
    let threads = threads.clamp(THREADS_MIN, THREADS_MAX);
    Hardware { tasks, of, threads }
}

/// Tasks on a node.
fn tasks_per_node(machine: &Machine, tasks: u32, nodes: u32, hardware: &Hardware) -> Result<u32, RunError> {
    let tasks_per_node = machine.tasks_per_node.unwrap_or_else(|| tasks.div_ceil(nodes));
    let plural = if nodes == 1 { "" } else { "s" };
    if tasks_per_node > hardware.tasks {
        let what = format!(
            "{tasks} tasks do not fit: {nodes} node{plural}, {tasks_per_node} tasks on each, of at most {} ({}: {})",
            hardware.tasks, machine.name, hardware.of
        );
        let help = match machine.tasks_per_node {
            Some(_) => "use fewer tasks on a node (`--ppn`)",
            None => "use fewer tasks, or a larger machine (`--set`)",
        };
        return Err(refuse(what, help));
    }
    if tasks_per_node == 0 || tasks.div_ceil(tasks_per_node) > nodes {
        let what = format!(
            "{tasks} tasks do not fit: {nodes} node{plural}, {tasks_per_node} of at most {} tasks on each",
            hardware.tasks
        );
        return Err(refuse(
            what,
            "use fewer tasks, more of them on a node (`--ppn`), or a larger machine (`--set topology.dims=[…]`)",
        ));
    }
    Ok(tasks_per_node)
}

/// Whether the nodes are of a torus and have a set of FIFOs for a second processor, which they do not use: of
/// several tasks on a node each second one has it, unless the user says otherwise.
fn has_spare_fifos(study: &ResolvedStudy, machine: &Machine) -> bool {
    let is_set = machine.sets.iter().any(|set| set.trim_start().starts_with("nic.mode"));
    let of_torus = study.machine.torus().filter(|torus| torus.message_unit.is_none());
    !is_set && of_torus.is_some_and(|torus| torus.nic.mode == NodeMode::Coprocessor)
}

/// Warns of times that the machine does not set.
fn warn(study: &ResolvedStudy, has_units: bool, tasks_per_node: u32, err: &mut dyn Write) {
    let messaging = study.machine.messaging();
    let mut warnings = vec![];
    if has_units {
        let libraries = [("PAMI", "pami", messaging.pami.is_some()), ("MPI", "mpi", messaging.mpi.is_some())];
        warnings.extend(libraries.into_iter().filter(|of| !of.2).map(|(library, table, _)| {
            format!(
                "the machine does not set the time of {library}'s instructions (messaging.{table}), so they take none"
            )
        }));
    } else if messaging.mpi.is_none() {
        warnings.extend(messaging.warning());
    }
    if !has_units && tasks_per_node > 1 {
        warnings.extend(messaging.warning_of_nodes());
    }
    for warning in warnings {
        let _ = writeln!(err, "netloom: warning: {warning}");
    }
}

/// The cores of a node, if the machine says them, and the hardware threads of each.
fn cores(study: &ResolvedStudy) -> Option<(&CoresConfig, u32)> {
    if let Some(machine) = study.machine.switched() {
        let of_aries = machine.aries.as_ref().map(|nic| &nic.cores);
        return of_aries.or_else(|| machine.th.as_ref().map(|nic| &nic.cores)).map(|c| (c, HYPERTHREADS));
    }
    let of_fifos = study.machine.torus().and_then(|machine| machine.nic.cores.as_ref());
    of_fifos.map(|cores| (cores, 1))
}

/// What all guests share.
fn settings(
    machine: &Machine,
    study: &ResolvedStudy,
    placement: &Arc<Placement>,
    has_units: bool,
) -> Settings {
    let messaging = study.machine.messaging();
    let ticks_per_second = study.machine.ticks_per_second();
    let pami = messaging.pami.unwrap_or_default();
    let costs = if has_units {
        let mpi = messaging.mpi.unwrap_or_default();
        Costs::new(&pami, ticks_per_second).with_mpi(MpiCosts::new(&mpi, &pami, ticks_per_second))
    } else {
        Costs::of_messages(messaging, ticks_per_second)
    };
    let tasks_per_node = u32::from(placement.processes);
    let contexts = match has_units {
        true => Resources::new(placement.processes).contexts.into(),
        false => CONTEXTS,
    };
    let threads = (hardware(study, has_units).threads / tasks_per_node).max(1);
    let topology = study.network.torus().map(|network| &network.topology);
    let torus = topology.map_or(vec![], |topology| {
        topology.dims.iter().enumerate().map(|(d, &length)| (length, topology.wraps(d))).collect()
    });
    let in_order = machine.mapping == MappingConfig::InOrder;
    Settings {
        placement: Arc::clone(placement),
        costs,
        facts: Facts {
            machine: study.machine.shape(),
            tasks: placement.tasks,
            tasks_per_node,
            nodes: if in_order { vec![] } else { placement.nodes.clone() },
            torus,
            contexts,
            threads,
            has_world_group: false,
            group_limits: GroupLimits::default(),
            packet_max_bytes: PACKET_MAX,
            reach: Reach::Exposed,
            rendezvous_from_bytes: messaging.eager_max_B.map_or(u64::MAX, |bytes| bytes.saturating_add(1)),
            clock_ns: if has_units || messaging.pami.is_some() { pami.clock_ns } else { CLOCK_NS },
            core_mhz: CORE_MHZ,
            compute_scale: machine.compute_scale,
            is_profiled: machine.is_profiled,
        },
        ticks_per_ns: ticks_per_second as f64 / 1e9,
        patience: Microticks::of_f64(machine.patience_s * ticks_per_second as f64 * 1e6),
        busy_until: Arc::default(),
    }
}
