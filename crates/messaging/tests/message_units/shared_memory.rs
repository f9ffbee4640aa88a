//! Messages between the processes of a node: all that is sent arrives, in order, also where a queue is full;
//! and how long that takes.

use crate::units;

use netloom_engine::Stream;
use netloom_messaging::pami::Endpoint;
use netloom_messaging::pami::context::{Event, Outcome, Receive, Rma, Send};
use netloom_messaging::pami::device::{PamiDevice, Range, Transfer};
use netloom_node::time::Microticks;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use units::run_tasks;

const TICKS_PER_NS: f64 = 8.0;
const MESSAGE: u16 = 1;
const LONGEST: u64 = 20_000;

fn endpoint(task: u32) -> Endpoint {
    Endpoint::new(task, 0).expect("few tasks")
}

fn byte(from: u32, to: u32, n: u32, i: u64) -> u8 {
    (u64::from(from * 31 + to * 17 + n * 7) + i + i / 251) as u8
}

/// The length of the n-th message from one task to another: most are short.
fn length(from: u32, to: u32, n: u32) -> u64 {
    let mut random = Stream::new((from * 1000 + to * 100_000 + n).into(), 2, 3);
    match random.below(8) {
        0 => random.below(LONGEST),
        1 => 0,
        _ => random.below(500),
    }
}

/// Each task sends to all others of both nodes, more than a queue holds, and looks at what it gets only then.
#[test]
fn all_that_is_sent_arrives_in_order() {
    const COUNT: u32 = 300;
    const SENT: u64 = u64::MAX;
    run_tasks(&[2], 3, |mut task, placement| async move {
        let (me, others) = (task.number(), placement.tasks - 1);
        for to in (0..placement.tasks).filter(|&to| to != me) {
            for n in 0..COUNT {
                let bytes = length(me, to, n);
                let data = task.allocate(bytes.max(1));
                task.store(data.address, &(0..bytes).map(|i| byte(me, to, n, i)).collect::<Vec<_>>());
                let (to, data) = (endpoint(to), Range { bytes, ..data });
                let send =
                    Send { to, dispatch: MESSAGE, header: &[], data, cookie: SENT, is_acknowledged: false };
                task.context().send(send).expect("a valid send");
            }
        }
        task.done().await;
        // By sender, the number of the next message; and what is arriving, by number.
        let (mut next, mut arriving) = (BTreeMap::<u32, u32>::new(), vec![]);
        let (mut sent, mut received) = (0, 0);
        while sent < COUNT * others || received < COUNT * others {
            match task.event().await {
                Event::Sent(..) => sent += 1,
                Event::Message(message) => {
                    let from = message.origin.task();
                    let n = next.entry(from).or_default();
                    let bytes = length(from, me, *n);
                    assert_eq!(message.data_bytes, bytes, "message {n} from {from} to {me}");
                    let buffer = task.allocate(bytes.max(1));
                    arriving.push((from, *n, Range { bytes, ..buffer }));
                    *n += 1;
                    let cookie = arriving.len() as u64 - 1;
                    task.context().accept(Receive { address: buffer.address, cookie });
                }
                Event::Received(at, Outcome::Done) => {
                    let (from, n, buffer) = arriving[at as usize];
                    let got = task.load(buffer);
                    let is_right = |i: u64| got[i as usize] == byte(from, me, n, i);
                    assert!((0..buffer.bytes).all(is_right), "message {n} from {from} to {me}");
                    received += 1;
                }
                _ => {}
            }
        }
    });
}

/// The processes of a node are nearer than neighbours: their packets cross no network.
#[test]
fn a_message_takes_as_long_as_its_steps() {
    let half = |processes: u8, nodes: u32| {
        let ticks = run_tasks(&[nodes], processes, |mut task, _| async move {
            let me = task.number();
            for _ in 0..100 {
                if me == 0 {
                    task.context().send_immediate(endpoint(1), MESSAGE, [&[], &[1]], true).expect("valid");
                }
                if me < 2 {
                    while !matches!(task.event().await, Event::Message(_)) {}
                    task.context().consumed();
                }
                if me == 1 {
                    task.context().send_immediate(endpoint(0), MESSAGE, [&[], &[1]], true).expect("valid");
                }
            }
        });
        ticks as f64 / 200.0 / TICKS_PER_NS
    };
    let (near, far) = (half(2, 1), half(1, 2));
    // Two atomic operations, a store to the L2 and a load, a poll, and the dispatch of 100 ns.
    assert!((250.0..400.0).contains(&near), "{near} ns");
    assert!(far > 2.0 * near, "{far} ns between neighbours, {near} ns on a node");
}

/// Puts and gets of the memory of another process of the node are copies of the processor that asks for them.
#[test]
fn puts_and_gets_are_copies() {
    const BYTES: u64 = 100_000;
    let exposed = Arc::new(Mutex::new([0; 2]));
    run_tasks(&[1], 2, move |mut task, _| {
        let exposed = Arc::clone(&exposed);
        async move {
            let [own, window] = [BYTES; 2].map(|bytes| task.allocate(bytes));
            task.store(own.address, &vec![1 + task.number() as u8; BYTES as usize]);
            if task.number() == 1 {
                *exposed.lock().unwrap() =
                    [own, window].map(|range| task.context().device_mut().expose(range));
                task.compute(Microticks::of_ticks(10_000_000)).await;
                assert!(task.load(window) == vec![1; BYTES as usize]);
                return;
            }
            task.compute(Microticks::of_ticks(1000)).await;
            let [theirs, their_window] = *exposed.lock().unwrap();
            let begin = task.now();
            for (way, pieces) in [(Transfer::Get, [(window, theirs)]), (Transfer::Put, [(own, their_window)])]
            {
                let with = endpoint(1);
                let rma = Rma {
                    way,
                    with,
                    pieces: &pieces,
                    is_exposed: true,
                    prefers_packets: false,
                    cookie: 5,
                    is_acknowledged: true,
                };
                task.context().rma(rma).expect("valid");
                let is_end = |event| {
                    matches!(event, Event::Received(5, Outcome::Done) | Event::Completed(5, Outcome::Done))
                };
                while !is_end(task.event().await) {}
                task.done().await;
            }
            assert!(task.load(window) == vec![2; BYTES as usize]);
            let ns = (task.now() - begin).0 as f64 / 1e6 / TICKS_PER_NS;
            // At 8 GB/s.
            assert!((25_000.0..26_000.0).contains(&ns), "{ns} ns");
        }
    });
}
