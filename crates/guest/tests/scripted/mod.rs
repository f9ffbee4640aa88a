//! Guests that are no processes: each hands over the messages of a script, whatever they are, to the
//! simulator. For the test of corrupt messages, and the fuzz target.

use netloom_fabric::collective::ByteOrder;
use netloom_fabric::topology::torus::Torus;
use netloom_guest::link::decode;
use netloom_guest::tasks::{Job, Tasks};
use netloom_messaging::pami::device::GroupLimits;
use netloom_messaging::pami::guest::interface::Interface;
use netloom_messaging::pami::guest::interface::messages::MemoryOf;
use netloom_messaging::pami::guest::interface::unit::UnitInterface;
use netloom_messaging::pami::guest::process::{Guest, GuestProcess, Settings};
use netloom_messaging::pami::guest::task::Task;
use netloom_messaging::pami::guest::{Facts, Reach, Reply, Request, Requests, Then, ThreadNumber};
use netloom_messaging::pami::message_unit::PACKET_MAX;
use netloom_messaging::pami::message_unit::collective::group::Members;
use netloom_messaging::pami::message_unit::resources::Resources;
use netloom_messaging::pami::{Costs, Placement};
use netloom_messaging::spi::Spi;
use netloom_node::memory::AddressSpace;
use netloom_node::process::{Failure, Process};
use netloom_node::thread::Thread;
use netloom_node::time::Microticks;
use netloom_simulate::own::processes_with_messages;
use netloom_simulate::units::processes_on_units;
use netloom_study::diagnose::SourceFile;
use netloom_study::resolve::{ResolvedStudy, resolve};
use netloom_study::run::Quiet;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};

pub const TASKS: u32 = 4;
const TASKS_PER_NODE: u32 = 2;
const THREADS: u32 = 2;

/// Where guests have memory.
pub const MEMORY: std::ops::Range<u64> = 1 << 20..3 << 20;

/// The messages of a task, in order.
pub type Script = VecDeque<Vec<u8>>;

/// A task on its node.
type OfTask = Arc<Mutex<Task<UnitInterface>>>;

/// What was wrong with accesses to a guest's memory.
type Fault = Arc<Mutex<Option<String>>>;

struct Scripted {
    script: Script,
    fault: Fault,
}

impl Scripted {
    fn next(&mut self, last: Then) -> Result<Requests, Failure> {
        match self.script.pop_front() {
            Some(message) => decode(&message),
            None => Ok(Requests { list: vec![], then: last }),
        }
    }
}

impl Guest for Scripted {
    fn begin(&mut self) -> Result<Requests, Failure> {
        self.next(Then::EndThread)
    }

    fn exchange(&mut self, reply: &Reply, _: bool) -> Result<Option<Requests>, Failure> {
        // What a guest gets must fit into its channel, too.
        assert!(postcard::to_stdvec(reply).unwrap().len() <= netloom_shm::channel::MESSAGE_MAX);
        self.next(Then::End).map(Some)
    }

    fn look(&mut self, _: bool) -> Result<Option<Requests>, Failure> {
        self.next(Then::End).map(Some)
    }

    fn ended(&mut self) {}

    fn foreign(&self) -> Vec<ThreadNumber> {
        vec![]
    }

    fn is_over(&self) -> bool {
        false
    }

    fn end_job(&mut self) {}

    fn fault(&self) -> Option<String> {
        self.fault.lock().unwrap().clone()
    }
}

/// The memory of a guest, of which all bytes are zero.
struct Zeros(Fault);

impl Zeros {
    fn access(&self, address: u64, bytes: usize) {
        let is_there = MEMORY.start <= address && address.saturating_add(bytes as u64) <= MEMORY.end;
        if !is_there {
            let why = || format!("there is no memory of {bytes} B at {address:#x}");
            self.0.lock().unwrap().get_or_insert_with(why);
        }
    }
}

impl AddressSpace for Zeros {
    fn load(&self, address: u64, into: &mut [u8]) {
        self.access(address, into.len());
        into.fill(0);
    }

    fn store(&mut self, address: u64, bytes: &[u8]) {
        self.access(address, bytes.len());
    }
}

fn study() -> &'static ResolvedStudy {
    static STUDY: OnceLock<ResolvedStudy> = OnceLock::new();
    STUDY.get_or_init(|| {
        let text = "name = 'scripts'\nmachine = 'bgq'\nworkload = { kind = 'spi', program = 'ping-pong' }\n\
                    measure = { until = 'finished', per_link = false, window_us = 1000000 }\n\
                    set.topology.dims = [2, 1, 1, 1, 1]\n";
        resolve(SourceFile::new("scripts", text.to_string()), Path::new("."), &[]).unwrap()
    })
}

/// The message by which a guest creates its first context.
pub fn opens() -> Vec<u8> {
    encode(&Requests { list: vec![Request::Open(0)], then: Then::Go })
}

pub fn encode(requests: &Requests) -> Vec<u8> {
    postcard::to_stdvec(requests).unwrap()
}

/// What the guests of a run share.
fn settings(study: &ResolvedStudy, tasks_per_node: u32, costs: Costs, has_world_group: bool) -> Settings {
    let nodes = TASKS / tasks_per_node;
    let placement = Placement { nodes: (0..nodes).collect(), processes: tasks_per_node as u8, tasks: TASKS };
    let ticks_per_second = study.machine.ticks_per_second();
    Settings {
        placement: Arc::new(placement),
        costs,
        facts: Facts {
            is_profiled: false,
            nodes: vec![],
            machine: study.machine.shape(),
            tasks: TASKS,
            tasks_per_node,
            torus: vec![(nodes, true)],
            contexts: Resources::new(tasks_per_node as u8).contexts.into(),
            threads: THREADS,
            has_world_group,
            group_limits: GroupLimits::default(),
            packet_max_bytes: PACKET_MAX,
            reach: Reach::Exposed,
            rendezvous_from_bytes: 4096,
            clock_ns: 20.0,
            core_mhz: 1600.0,
            compute_scale: 0.0,
        },
        ticks_per_ns: ticks_per_second as f64 / 1e9,
        patience: Microticks::of_f64(1e-3 * ticks_per_second as f64 * 1e6),
        busy_until: Arc::default(),
    }
}

/// Guests on the transports of a machine.
struct WithMessages {
    settings: Settings,
    scripts: RefCell<[Option<Script>; TASKS as usize]>,
    faults: Vec<Fault>,
}

impl Job for WithMessages {
    fn task<I: Interface>(&self, interface: I, number: u32) -> Arc<Mutex<Task<I>>> {
        Arc::new(Mutex::new(Task::new(interface, number, self.settings.clone())))
    }

    fn process<I: Interface>(
        &self,
        task: &Arc<Mutex<Task<I>>>,
        (rank, thread): (u32, ThreadNumber),
        _: u32,
        _: &Thread<I::Command, I::Watch>,
    ) -> Box<dyn Process<I::Command, I::Watch>> {
        let script = if thread == 0 { self.scripts.borrow_mut()[rank as usize].take() } else { None };
        let fault = Arc::clone(&self.faults[rank as usize]);
        Box::new(GuestProcess::new(task, thread, Scripted { script: script.unwrap_or_default(), fault }))
    }
}

/// The same over the transports of a machine: of packets that software puts into a torus, or of NICs that
/// fetch.
pub fn run_with_messages(
    fetches: bool,
    tasks_per_node: u32,
    scripts: [Script; TASKS as usize],
) -> Vec<(u32, String)> {
    static STUDIES: [OnceLock<ResolvedStudy>; 2] = [OnceLock::new(), OnceLock::new()];
    let study = STUDIES[usize::from(fetches)].get_or_init(|| {
        let machine =
            if fetches { "machine = 'th'" } else { "machine = 'bgl'\nset.topology.dims = [2, 2, 1]" };
        let text = format!(
            "name = 'scripts'\n{machine}\nworkload = {{ kind = 'skeleton', program = 'halo', grid = [1] }}\n\
             measure = {{ until = 'finished', per_link = false, window_us = 1000000 }}\n"
        );
        resolve(SourceFile::new("scripts", text), Path::new("."), &[]).unwrap()
    });
    let costs = Costs::of_messages(study.machine.messaging(), study.machine.ticks_per_second());
    let faults: Vec<Fault> = (0..TASKS).map(|_| Fault::default()).collect();
    let of_memory = faults.clone();
    let memory_of: MemoryOf =
        Arc::new(move |task| Box::new(Zeros(Arc::clone(&of_memory[task as usize]))) as Box<_>);
    let job = WithMessages {
        settings: settings(study, tasks_per_node, costs, false),
        scripts: RefCell::new(scripts.map(Some)),
        faults,
    };
    let Settings { placement, costs, .. } = &job.settings;
    let tasks = Tasks::new(&job, placement, memory_of, THREADS as u8, costs);
    let stop = AtomicBool::new(false);
    let ran = processes_with_messages(study, tasks.placement(), &tasks, (&Quiet(&stop), 1));
    let (_, failures) = ran.unwrap_or_else(|problem| panic!("{problem:?}"));
    let task = |node, process: u32| placement.task(node, (process % tasks_per_node) as u8).unwrap();
    failures.into_iter().map(|(node, process, why)| (task(node, process), why.to_string())).collect()
}

/// Runs the scripts of all tasks to their end on Message Units, and returns what was refused: task and
/// reason.
pub fn run(scripts: [Script; TASKS as usize]) -> Vec<(u32, String)> {
    let study = study();
    let pami = study.machine.messaging().pami.unwrap();
    let settings = settings(study, TASKS_PER_NODE, Costs::new(&pami, study.machine.ticks_per_second()), true);
    let placement = Arc::clone(&settings.placement);
    let world = Members::of_job(&placement, &Torus::new(&study.torus().topology));
    let mut scripts = scripts.map(Some);
    let mut made: BTreeMap<u32, (OfTask, Fault)> = BTreeMap::new();
    let make = |spi: Spi| {
        let process = spi.process() % TASKS_PER_NODE as u8;
        let thread = u32::from(spi.process()) / TASKS_PER_NODE;
        let number = placement.task(spi.node(), process).expect("a task of each process");
        let (task, fault) = made.entry(number).or_insert_with(|| {
            let fault = Fault::default();
            let of_memory = Arc::clone(&fault);
            let open = move || -> Box<dyn AddressSpace> { Box::new(Zeros(Arc::clone(&of_memory))) };
            let interface = UnitInterface::new(spi.device().clone(), Box::new(open), world.clone());
            (Arc::new(Mutex::new(Task::new(interface, number, settings.clone()))), fault)
        });
        let script = if thread == 0 { scripts[number as usize].take() } else { None };
        let guest = Scripted { script: script.unwrap_or_default(), fault: Arc::clone(fault) };
        Box::new(GuestProcess::new(task, thread, guest)) as Box<_>
    };
    let stop = AtomicBool::new(false);
    let per_node = TASKS_PER_NODE * THREADS;
    let ran = processes_on_units(study, per_node, ByteOrder::HERE, make, (&Quiet(&stop), 1));
    let (_, failures) = ran.unwrap_or_else(|problem| panic!("{problem:?}"));
    let task = |node, process: u32| placement.task(node, (process % TASKS_PER_NODE) as u8).unwrap();
    failures.into_iter().map(|(node, process, why)| (task(node, process), why.to_string())).collect()
}
