//! Memory of PAMI's tasks: it does not grow with the number of tasks that one does not talk to.
//!
//! The only test of this file, because what is allocated is counted for the whole process.
#![allow(unsafe_code)]

use netloom_fabric::collective::ByteOrder;
use netloom_fabric::topology::torus::Torus;
use netloom_messaging::pami::Endpoint;
use netloom_messaging::pami::context::{Event, Limits};
use netloom_messaging::pami::device::Collective;
use netloom_messaging::pami::message_unit::collective::group::Members;
use netloom_messaging::pami::task::Task;
use netloom_messaging::pami::{Costs, Placement};
use netloom_messaging::spi::Spi;
use netloom_node::program::Program;
use netloom_simulate::units::processes_on_units;
use netloom_study::diagnose::SourceFile;
use netloom_study::resolve::resolve;
use netloom_study::run::Quiet;
use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// Counts the bytes that are allocated, and their maximum.
struct Counted;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: forwarded to the system's allocator; only what is counted is added.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Relaxed) + layout.size();
        MOST.fetch_max(now, Relaxed);
        // SAFETY: the caller's layout.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: allocated above, with this layout.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static MEMORY: Counted = Counted;

const PROCESSES: u32 = 8;

/// Every task sends a message to each of the next tasks, and all meet in a barrier.
async fn talk(mut task: Task, tasks: u32, members: Arc<Members>) {
    const PEERS: u32 = 4;
    let group = task.join(&members, 0);
    for distance in 1..=PEERS {
        let to = Endpoint::new((task.number() + distance * PROCESSES) % tasks, 0).expect("a task");
        task.context().send_immediate(to, 1, [&[], &[0; 32]], true).expect("a valid send");
    }
    let mut received = 0;
    while received < PEERS {
        if let Event::Message(_) = task.event().await {
            task.context().consumed();
            received += 1;
        }
    }
    task.collective(group, Collective::Barrier).await;
}

/// The most bytes that are allocated at once, per task, on a machine of these dimensions.
fn bytes_per_task(dims: [u32; 5]) -> f64 {
    let text = format!(
        "name = 'tasks'\nmachine = 'bgq'\nworkload = {{ kind = 'spi', program = 'ping-pong' }}\n\
         measure = {{ until = 'finished', per_link = false, window_us = 10 }}\nset.topology.dims = {dims:?}\n"
    );
    let before = NOW.load(Relaxed);
    MOST.store(before, Relaxed);
    let study = resolve(SourceFile::new("tasks", text), Path::new("."), &[]).unwrap();
    let nodes: u32 = dims.iter().product();
    let tasks = nodes * PROCESSES;
    let placement = Arc::new(Placement { nodes: (0..nodes).collect(), processes: PROCESSES as u8, tasks });
    let members = Members::of_job(&placement, &Torus::new(&study.torus().topology));
    let members = Arc::new(members.expect("the whole machine"));
    let costs = Costs::new(&study.machine.messaging().pami.unwrap(), study.machine.ticks_per_second());
    let process = |spi: Spi| {
        let task = Task::new(&spi, &placement, costs.clone(), Limits::default());
        Box::new(Program::new(spi.core(), talk(task, tasks, Arc::clone(&members)))) as Box<_>
    };
    let stop = AtomicBool::new(false);
    let ran = processes_on_units(&study, PROCESSES, ByteOrder::HERE, process, (&Quiet(&stop), 1));
    let (result, failures) = ran.unwrap();
    assert!(failures.is_empty() && result.partial.is_none(), "{failures:?} {:?}", result.partial);
    (MOST.load(Relaxed) - before) as f64 / f64::from(tasks)
}

#[test]
fn memory_of_a_task_does_not_grow_with_their_number() {
    let few = bytes_per_task([4, 4, 4, 2, 1]);
    let many = bytes_per_task([4, 4, 8, 8, 1]);
    eprintln!("bytes per task: {few:.0} of 1,024 tasks, {many:.0} of 8,192");
    // A byte for each peer would be 7,168 B more.
    assert!(many < few + 1000.0, "bytes per task: {few:.0} of 1,024 tasks, {many:.0} of 8,192");
}
