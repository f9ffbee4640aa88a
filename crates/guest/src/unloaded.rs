//! Times of messages on an otherwise empty machine, measured before the programs of a profile run: the first
//! node gets packets and data of several lengths from the one nearest to it and the one farthest, one at a
//! time. This divides a rank's time in the network into wire and queueing.

use netloom_fabric::collective::ByteOrder;
use netloom_messaging::pami::Endpoint;
use netloom_messaging::pami::context::{Event, Limits, Rma};
use netloom_messaging::pami::device::Transfer;
use netloom_messaging::pami::task::Task;
use netloom_messaging::pami::{Costs, Placement};
use netloom_messaging::spi::Spi;
use netloom_messaging::transit::{Hops, Passage, Unloaded};
use netloom_node::program::Program;
use netloom_node::time::Microticks;
use netloom_simulate::units::processes_on_units;
use netloom_study::resolve::ResolvedStudy;
use netloom_study::run::Quiet;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

/// Data of the packets, and of the reads, bytes; in between and beyond, times lie on lines.
const PACKETS: [u64; 4] = [0, 32, 256, 488];
const READS: [u64; 5] = [1, 512, 1 << 12, 1 << 15, 1 << 18];
/// Number of times that each is sent: the first may set something up.
const TIMES: usize = 2;
/// The dispatch identifier of the packets.
const MESSAGE: u16 = 1;

/// What was observed: a passage and its time.
type Observed = Arc<Mutex<Vec<(Passage, Microticks)>>>;

async fn next_message(task: &mut Task) {
    while !matches!(task.event().await, Event::Message(_)) {}
    task.context().consumed();
}

/// The first task asks for one thing after the other.
async fn ask(mut task: Task, partners: u32, observed: Observed) {
    let own = task.context().device().device().node();
    task.context().device_mut().note_flights();
    let space = task.allocate(*READS.last().expect("there are some"));
    for partner in 1..=partners {
        let with = Endpoint::new(partner, 0).expect("few tasks");
        for _ in PACKETS.into_iter().flat_map(|bytes| [bytes; TIMES]) {
            if task.context().send_immediate(with, MESSAGE, [&[], &[]], true).is_err() {
                return;
            }
            next_message(&mut task).await;
        }
        for bytes in READS.into_iter().flat_map(|bytes| [bytes; TIMES]) {
            let rma = Rma {
                way: Transfer::Get,
                with,
                pieces: &[(space.part(0, bytes), space.address)],
                is_exposed: true,
                prefers_packets: false,
                cookie: 0,
                is_acknowledged: false,
            };
            if task.context().rma(rma).is_err() {
                return;
            }
            while !matches!(task.event().await, Event::Received(..)) {}
        }
    }
    let flights = task.context().device_mut().take_flights();
    let mut observed = observed.lock().unwrap_or_else(PoisonError::into_inner);
    observed.extend(flights.into_iter().map(|flight| {
        let (part, bytes) = (flight.part, flight.bytes);
        (Passage { part, bytes, from: flight.node, to: own }, flight.found.saturating_sub(flight.sent))
    }));
}

/// The others answer.
async fn answer(mut task: Task) {
    task.allocate(*READS.last().expect("there are some"));
    let with = Endpoint::new(0, 0).expect("few tasks");
    for bytes in PACKETS.into_iter().flat_map(|bytes| [bytes; TIMES]) {
        next_message(&mut task).await;
        let data = vec![0; bytes as usize];
        if task.context().send_immediate(with, MESSAGE, [&[], &data], true).is_err() {
            return;
        }
        task.done().await;
    }
}

/// Measures the times on the machine of a study, between these nodes.
pub(crate) fn measure(study: &ResolvedStudy, nodes: &[u32], costs: &Costs, hops: &Hops) -> Unloaded {
    let from_first = |&node: &u32| hops(nodes[0], node);
    let others = || nodes[1..].iter().copied();
    let (Some(near), Some(far)) = (others().min_by_key(from_first), others().max_by_key(from_first)) else {
        return Unloaded::default();
    };
    let partners = if from_first(&near) == from_first(&far) { vec![near] } else { vec![near, far] };
    let count = partners.len() as u32;
    let nodes = [nodes[0]].into_iter().chain(partners).collect();
    let placement = Arc::new(Placement { nodes, processes: 1, tasks: count + 1 });
    let observed = Observed::default();
    let make = |spi: Spi| {
        let core = spi.core().clone();
        let task = placement.task(spi.node(), spi.process());
        let made = task.map(|_| Task::new(&spi, &placement, costs.clone(), Limits::default()));
        let observed = Arc::clone(&observed);
        Box::new(Program::new(&core, async move {
            match made {
                Some(task) if task.number() == 0 => ask(task, count, observed).await,
                Some(task) => answer(task).await,
                None => {}
            }
        })) as Box<_>
    };
    let never = AtomicBool::new(false);
    let ran = processes_on_units(study, 1, ByteOrder::HERE, make, (&Quiet(&never), 1));
    let observed = observed.lock().unwrap_or_else(PoisonError::into_inner);
    // Without measurements all is attributed to the wire.
    if ran.is_ok() { Unloaded::new(&observed, hops) } else { Unloaded::default() }
}
