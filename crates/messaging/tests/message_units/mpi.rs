//! MPI over PAMI on simulated nodes: by each library, with one rank a node and several, messages of all
//! lengths arrive whole and in order at the receives that match them, whether these were posted before or
//! after, and collectives give what they should.

use netloom_engine::{Progress, Reached, Time};
use netloom_fabric::router::queued::QueuedNetwork;
use netloom_fabric::router::{BuildOptions, RouterBlock};
use netloom_fabric::topology::torus::Torus;
use netloom_messaging::config::{MpiConfig, PamiConfig};
use netloom_messaging::mpi::{ANY, Costs, Library, Locking, Rank, Ranks, Threads};
use netloom_messaging::pami::context::Limits;
use netloom_messaging::pami::device::Range;
use netloom_messaging::pami::{Costs as PamiCosts, Placement};
use netloom_messaging::spi;
use netloom_nic::message_unit::NETWORK_FIFOS;
use netloom_node::time::Microticks;
use std::future::Future;
use units::{failures, network, unit};

use crate::units;

const TICKS_PER_SECOND: u64 = 8_000_000_000;

/// Runs a program on the ranks of a torus to its end; returns its duration, ticks.
fn run<F>(
    dims: &[u32],
    processes: u8,
    library: Library,
    program: impl Fn(Rank) -> F + Clone + Send + Sync,
) -> u64
where
    F: Future<Output = ()> + Send + 'static,
{
    let (network, unit) = (network(dims, false), unit());
    let (outline, torus) = (network.outline(), Torus::new(&network.topology));
    let pami = PamiConfig {
        immediate_ns: 250.0,
        dispatch_ns: 100.0,
        poll_ns: 50.0,
        atomic_ns: 52.0,
        ..PamiConfig::default()
    };
    let mpi = MpiConfig { send_ns: 300.0, receive_ns: 300.0, search_ns: 100.0, ..MpiConfig::default() };
    let options = BuildOptions { injection_fifos: NETWORK_FIFOS, ..BuildOptions::default() };
    let nodes: u32 = dims.iter().product();
    let mut machine = QueuedNetwork::new(&network, &options, |numbers| {
        let tasks = nodes * u32::from(processes);
        let placement = Placement { nodes: (0..nodes).collect(), processes, tasks };
        let costs = (Costs::new(&mpi, &pami, TICKS_PER_SECOND), PamiCosts::new(&pami, TICKS_PER_SECOND));
        let ranks = Ranks::new(placement, library, costs, Limits::default());
        let mut ranks = ranks.with_collectives(&torus);
        let threads = ranks.hardware_threads();
        spi::units_of(&unit, &outline, numbers, threads, 1, |spi| ranks.hardware_thread(spi, program.clone()))
    })
    .expect("buildable");
    assert_eq!(machine.run_until(Time::at(1 << 40), 1, &Progress::default()), Reached::Idle);
    assert_eq!(failures(&mut machine), Vec::<String>::new());
    let unfinished: Vec<_> =
        machine.blocks().flat_map(|b| b.host().unfinished().collect::<Vec<_>>()).collect();
    assert_eq!(unfinished, [], "{library:?}");
    machine.now().ticks()
}

const LIBRARIES: [Library; 6] = [
    Library { locking: Locking::Classic, threads: Threads::Single },
    Library { locking: Locking::Classic, threads: Threads::Multiple },
    Library { locking: Locking::Classic, threads: Threads::Communication },
    Library { locking: Locking::ThreadOptimised, threads: Threads::Single },
    Library { locking: Locking::ThreadOptimised, threads: Threads::Multiple },
    Library { locking: Locking::ThreadOptimised, threads: Threads::Communication },
];

/// Bytes of messages: nothing, one packet, several (eager), more (rendezvous).
const LENGTHS: [u64; 4] = [0, 40, 2000, 9000];

/// The contents of a message.
fn contents(from: u32, to: u32, number: u64, bytes: u64) -> Vec<u8> {
    (0..bytes).map(|i| (i * 7 + number * 31 + u64::from(from) * 5 + u64::from(to)) as u8).collect()
}

/// Every rank sends every other messages of all lengths, two of each tag; the receives of those of lower
/// ranks are posted first, those of higher ranks when their messages have come. Messages of a rank and a tag
/// arrive in order.
async fn exchange(mut rank: Rank) {
    let (own, size) = (rank.number(), rank.size());
    let others: Vec<u32> = (0..size).filter(|&other| other != own).collect();
    let mut receives = vec![];
    let mut expected = vec![];
    let mut posted = vec![];
    for round in [true, false] {
        for &other in others.iter().filter(|&&other| (other < own) == round) {
            for (tag, &bytes) in LENGTHS.iter().enumerate() {
                for number in 0..2 {
                    let space = Range { bytes, ..rank.allocate(bytes.max(1)) };
                    expected.push((space, contents(other, own, number, bytes)));
                    posted.push((round, other, tag as i32, space));
                }
            }
        }
    }
    for &(_, other, tag, space) in posted.iter().filter(|posted| posted.0) {
        receives.push(rank.irecv(other as i32, tag, space).await);
    }
    let mut sends = vec![];
    for &other in &others {
        for (tag, &bytes) in LENGTHS.iter().enumerate() {
            for number in 0..2 {
                let data = Range { bytes, ..rank.allocate(bytes.max(1)) };
                rank.store(data.address, &contents(own, other, number, bytes));
                sends.push(rank.isend(other, tag as i32, data).await);
            }
        }
    }
    // Long enough for messages to come before their receives.
    rank.compute(Microticks::of_ticks(8 * 50_000)).await;
    for &(_, other, tag, space) in posted.iter().filter(|posted| !posted.0) {
        receives.push(rank.irecv(other as i32, tag, space).await);
    }
    rank.wait_all(receives).await;
    rank.wait_all(sends).await;
    for (space, contents) in expected {
        assert!(rank.load(space) == contents, "rank {own}: {} B", space.bytes);
    }
    rank.finalize().await;
}

#[test]
fn messages_arrive_whole_and_in_order_by_each_library() {
    for library in LIBRARIES {
        run(&[2, 2], 1, library, exchange);
        run(&[2], 3, library, exchange);
    }
}

/// Receives of any rank get each message once, those of one rank in order.
async fn wildcards(mut rank: Rank) {
    const MESSAGES: u64 = 20;
    let (own, size) = (rank.number(), u64::from(rank.size()));
    if own > 0 {
        for number in 0..MESSAGES {
            let data = rank.allocate(16);
            let words = [u64::from(own).to_be_bytes(), number.to_be_bytes()].concat();
            rank.store(data.address, &words);
            rank.send(0, 7, data).await;
        }
        return rank.finalize().await;
    }
    let mut next = vec![0; size as usize];
    for _ in 0..MESSAGES * (size - 1) {
        let space = rank.allocate(16);
        rank.recv(ANY, 7, space).await;
        let bytes = rank.load(space);
        let [from, number] = [0, 8].map(|at| u64::from_be_bytes(bytes[at..at + 8].try_into().unwrap()));
        assert_eq!(number, next[from as usize], "of rank {from}");
        next[from as usize] += 1;
    }
    assert!(next[1..].iter().all(|&n| n == MESSAGES));
    rank.finalize().await;
}

#[test]
fn receives_of_any_rank_get_each_message_once_and_in_order() {
    for library in LIBRARIES {
        run(&[2, 2], 1, library, wildcards);
        run(&[2], 2, library, wildcards);
    }
}

async fn collectives(mut rank: Rank) {
    let (own, size) = (f64::from(rank.number()), f64::from(rank.size()));
    let data = rank.allocate(8);
    for round in 0..4 {
        rank.compute(Microticks::of_ticks(u64::from(rank.number() * 37 % 5) * 4000)).await;
        rank.barrier().await;
        rank.store(data.address, &(own + f64::from(round)).to_be_bytes());
        rank.allreduce(data).await;
        let sum = size * (size - 1.0) / 2.0 + size * f64::from(round);
        assert_eq!(rank.load(data), sum.to_be_bytes());
        rank.store(data.address, &(own + 3.0).to_be_bytes());
        rank.broadcast(1, data).await;
        assert_eq!(rank.load(data), 4f64.to_be_bytes());
    }
    rank.finalize().await;
}

#[test]
fn collectives_give_what_they_should_by_each_library() {
    for library in LIBRARIES {
        run(&[2, 2], 1, library, collectives);
        run(&[2, 2], 3, library, collectives);
    }
}

/// A rank sends short messages to four others, which answer nothing.
async fn storm(mut rank: Rank) {
    if rank.number() == 0 {
        let nothing = Range { bytes: 0, ..rank.allocate(8) };
        let mut sends = vec![];
        for _ in 0..50 {
            for to in 1..5 {
                sends.push(rank.isend(to, 0, nothing).await);
            }
        }
        rank.wait_all(sends).await;
    } else if rank.number() < 5 {
        let space = rank.allocate(8);
        for _ in 0..50 {
            rank.recv(0, 0, space).await;
        }
    }
    rank.finalize().await;
}

#[test]
fn locks_take_time_and_communication_threads_give_some_back() {
    let [classic, multiple, _, optimised, _, threads] = LIBRARIES.map(|library| run(&[8], 1, library, storm));
    assert!(classic < multiple && classic < optimised, "{classic} {multiple} {optimised}");
    assert!(threads < optimised, "{threads} {optimised}");
}

const EACH: u64 = 50;

/// Four ranks send short messages to rank 0, which has posted its receives.
async fn gather_storm(mut rank: Rank) {
    let nothing = Range { bytes: 0, ..rank.allocate(8) };
    let mut requests = vec![];
    let own = rank.number();
    for from in (1..5).filter(|_| own == 0) {
        for _ in 0..EACH {
            requests.push(rank.irecv(from, 0, nothing).await);
        }
    }
    rank.barrier().await;
    for _ in (0..EACH).filter(|_| (1..5).contains(&own)) {
        requests.push(rank.isend(0, 0, nothing).await);
    }
    rank.wait_all(requests).await;
    rank.finalize().await;
}

/// The same without messages.
async fn no_storm(mut rank: Rank) {
    let nothing = Range { bytes: 0, ..rank.allocate(8) };
    let mut requests = vec![];
    let own = rank.number();
    for from in (1..5).filter(|_| own == 0) {
        for _ in 0..EACH {
            requests.push(rank.irecv(from, 1, nothing).await);
        }
    }
    rank.barrier().await;
    rank.finalize().await;
}

/// Messages of several ranks arrive at several contexts, whose threads work at the same time; only matching
/// is done by one after the other, under the lock of the receive queue.
#[test]
fn arrivals_are_handled_by_several_threads_and_matched_by_one_at_a_time() {
    let [_, _, _, _, alone, threads] =
        LIBRARIES.map(|library| run(&[8], 1, library, gather_storm) - run(&[8], 1, library, no_storm));
    assert!(threads * 13 / 10 < alone, "{threads} ticks by communication threads, {alone} without");
    // A search takes 100 ns, and what was done must be seen before the next: 52 ns.
    let least = 4 * EACH * 152 * TICKS_PER_SECOND / 1_000_000_000;
    assert!(threads > least, "{threads} ticks, and {least} for the matching alone");
}
