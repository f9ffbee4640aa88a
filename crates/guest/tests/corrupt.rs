//! What the simulator reads from a guest is the memory of another process, which may be corrupt: whatever it
//! is, the simulator refuses it with a reason, and neither panics, nor hangs, nor allocates what a corrupt
//! length says.
#![cfg(target_os = "linux")]
#![allow(unsafe_code)]

mod scripted;

use netloom_fabric::collective::Operation;
use netloom_guest::link::decode;
use netloom_messaging::pami::Endpoint;
use netloom_messaging::pami::device::{Collective, Combine, Range, Step, Transfer};
use netloom_messaging::pami::guest::{Contexts, Report, Request, Requests, Then};
use netloom_messaging::pami::packet::{Head, Kind};
use proptest::prelude::*;
use scripted::{MEMORY, Script, TASKS, encode, opens, run, run_with_messages};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Notes the largest allocation.
struct Largest;

static LARGEST: AtomicUsize = AtomicUsize::new(0);
/// Most bytes of an allocation: a list of the smallest requests that a message can hold.
const ALLOCATION_MAX: usize = 256 << 20;

// SAFETY: forwarded to the system's allocator.
unsafe impl GlobalAlloc for Largest {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Relaxed);
        // SAFETY: the caller's layout.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Relaxed);
        // SAFETY: the caller's layout.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: allocated above, with this layout.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Largest = Largest;

/// Runs scripts of all tasks, which first create a context.
fn outcome(scripts: [Vec<Vec<u8>>; TASKS as usize]) -> Vec<(u32, String)> {
    outcome_of(run, scripts)
}

/// The same, run by this function.
fn outcome_of(
    run: impl FnOnce([Script; TASKS as usize]) -> Vec<(u32, String)> + Send + 'static,
    scripts: [Vec<Vec<u8>>; TASKS as usize],
) -> Vec<(u32, String)> {
    let (sender, receiver) = channel();
    let shown = format!("{scripts:?}");
    std::thread::spawn(move || {
        let scripts = scripts.map(|script| [opens()].into_iter().chain(script).collect::<Script>());
        let _ = sender.send(run(scripts));
    });
    let outcome = receiver.recv_timeout(Duration::from_secs(60));
    assert!(LARGEST.load(Relaxed) < ALLOCATION_MAX, "{} B at once: {shown}", LARGEST.load(Relaxed));
    outcome.unwrap_or_else(|why| panic!("{why}: {shown}"))
}

/// The reason for which a request of task 1 is refused.
fn refused(request: Request) -> String {
    refused_with(request, Then::Go)
}

fn refused_with(request: Request, then: Then) -> String {
    let script = vec![encode(&Requests { list: vec![request], then })];
    let failures = outcome([vec![], script, vec![], vec![]]);
    let [(1, why)] = &failures[..] else { panic!("{failures:?}") };
    why.clone()
}

fn endpoint(task: u32) -> u32 {
    Endpoint::new(task, 0).unwrap().0
}

fn head() -> u64 {
    Head::new(Kind::Immediate, 1, 0, Endpoint(1)).to_word()
}

const OWN: Range = Range { address: MEMORY.start, bytes: 8192 };
/// The first address of what is mapped for a task.
const REMOTE: u64 = 1 << 32;

/// Requests that a library sends: of each kind one, and what may follow them.
fn usual() -> Vec<Requests> {
    let data = (OWN.address, OWN.bytes);
    let pieces = vec![(OWN.address, 100, REMOTE), (OWN.address + 100, 1, REMOTE + 5000)];
    let combine = Combine { operation: Operation::AddDouble, word_B: 8 };
    let sum = Collective::Allreduce { source: OWN, target: OWN, combine };
    let to_first = Collective::Reduce { root: 0, source: OWN, target: OWN, combine };
    let (from, by, to, with, group) = (0, 0, endpoint(2), endpoint(2), 0);
    let all = vec![(0, 3)];
    let collective = |operation| Request::Collective { by, group, operation, ticket: 9 };
    let requests = [
        (Request::Open(1), Then::Go),
        (Request::Close(1), Then::Go),
        (Request::Spend(Step::Copy(100)), Then::Wait(Contexts::ALL, 10)),
        (Request::Compute(1000.0), Then::Sleep(1000.0)),
        (Request::Start(1), Then::Block(Some(1000.0))),
        (Request::Report(Report { lines: vec!["nothing".into()], state: vec![0xff; 9] }), Then::Go),
        (Request::Unpark(1), Then::Go),
        (Request::Inject { from, to, head: head(), bytes: vec![1; 40] }, Then::Go),
        (Request::Inject { from, to: endpoint(0), head: head(), bytes: vec![1; 40] }, Then::Go),
        (Request::Data { from, to, head: head(), data, ticket: 1 }, Then::Go),
        (
            Request::Transfer { from, way: Transfer::Put, with, pieces: pieces.clone(), ticket: 2 },
            Then::Expose(OWN.address, OWN.bytes),
        ),
        (
            Request::Transfer { from, way: Transfer::Get, with, pieces, ticket: 3 },
            Then::Wait(Contexts::ALL, 9),
        ),
        (Request::Flush { from, with, ticket: 4 }, Then::Go),
        (Request::Join { by, tasks: all.clone(), class: 1, group: 1 }, Then::Classes(0, all)),
        (Request::Leave { by, group: 0 }, Then::Go),
        (collective(Collective::Barrier), Then::Wait(Contexts::ALL, 1000)),
        (collective(Collective::Broadcast { root: 0, data: OWN }), Then::Wait(Contexts::ALL, 1000)),
        (collective(Collective::Rectangle { root: 0, data: OWN }), Then::Wait(Contexts::ALL, 1000)),
        (collective(sum), Then::Wait(Contexts::ALL, 1000)),
        (collective(to_first), Then::WakeUp(Contexts::ALL)),
        (Request::Acts, Then::Wait(Contexts::ALL, 1)),
        (Request::Unpark(0), Then::EndThread),
    ];
    requests.into_iter().map(|(request, then)| Requests { list: vec![request], then }).collect()
}

#[test]
fn usual_requests_are_executed() {
    let all: Vec<Vec<u8>> = usual().iter().take(13).map(encode).collect();
    // All but puts and gets: nothing is mapped there.
    let of_pairs = [0, 1, 2, 3, 5, 6, 7, 8, 9].map(|number: usize| all[number].clone()).to_vec();
    assert_eq!(outcome([vec![], of_pairs, vec![], vec![]]), []);
    // And collective operations of all.
    let together: Vec<Vec<u8>> = usual()[15..20].iter().map(encode).collect();
    assert_eq!(outcome([0; TASKS as usize].map(|_| together.clone())), []);
}

#[test]
fn what_cannot_be_is_refused_with_a_reason() {
    let huge = (MEMORY.start, 1 << 33);
    let (from, by, to, with, ticket) = (0, 0, endpoint(2), endpoint(2), 1);
    let operation = |operation| Request::Collective { by, group: 0, operation, ticket };
    let everything = vec![(0, u32::MAX)];
    let join = |tasks, class, group| Request::Join { by, tasks, class, group };
    let transfer = |pieces| Request::Transfer { from, way: Transfer::Get, with, pieces, ticket };
    let range = |bytes| Range { address: MEMORY.start, bytes };
    let reduction = |root, word| {
        let combine = Combine { operation: Operation::AddDouble, word_B: word };
        Collective::Reduce { root, source: OWN, target: OWN, combine }
    };
    let sum = |word, bytes| {
        let combine = Combine { operation: Operation::AddDouble, word_B: word };
        operation(Collective::Allreduce { source: range(bytes), target: OWN, combine })
    };
    for (request, phrase) in [
        (Request::Open(0), "context 0"),
        (Request::Open(64), "context 64"),
        (Request::Close(7), "no context 7"),
        (Request::Spend(Step::Copy(u64::MAX)), "a copy of"),
        (Request::Compute(f64::NAN), "NaN"),
        (Request::Compute(1e300), "its calls take"),
        (Request::Start(99), "thread 99"),
        (Request::Inject { from, to: endpoint(4), head: head(), bytes: vec![] }, "endpoint 0x4"),
        (Request::Inject { from, to: to | 63 << 23, head: head(), bytes: vec![] }, "endpoint"),
        (Request::Inject { from, to: to | 1 << 30, head: head(), bytes: vec![] }, "endpoint"),
        (Request::Inject { from, to, head: head(), bytes: vec![0; 1000] }, "a packet of 1000 B"),
        (Request::Inject { from, to, head: u64::MAX, bytes: vec![] }, "head"),
        (Request::Inject { from: 9, to, head: head(), bytes: vec![] }, "no context 9"),
        (Request::Data { from, to, head: head(), data: (u64::MAX, 9), ticket }, "0xffffffffffffffff"),
        (Request::Data { from, to, head: head(), data: (MEMORY.start, 1 << 40), ticket }, "1099511627776 B"),
        (Request::Data { from, to, head: head(), data: huge, ticket }, "no memory"),
        (transfer(vec![]), "a transfer of nothing"),
        (transfer(vec![(OWN.address, 8, 0)]), "another task's memory"),
        (transfer(vec![(OWN.address, 8, u64::MAX)]), "another task's memory"),
        (transfer(vec![(huge.0, huge.1, REMOTE)]), "no memory"),
        (Request::Flush { from, with: endpoint(100), ticket }, "endpoint"),
        (join(everything.clone(), 1, 1), "tasks"),
        (join(vec![(0, 3), (1, 2)], 1, 1), "tasks"),
        (join(vec![(0, 0)], 1, 1), "by task 1"),
        (join(vec![(0, 3)], 200, 1), "class 200"),
        (Request::Leave { by, group: 77 }, "group 77"),
        (Request::Collective { by, group: 5, operation: Collective::Barrier, ticket }, "group 5"),
        (operation(Collective::Broadcast { root: 9, data: OWN }), "root is task 9"),
        (operation(reduction(9, 8)), "root is task 9"),
        (operation(reduction(0, 3)), "words of 3 B"),
        (operation(Collective::Rectangle { root: 0, data: range(1 << 33) }), "no memory"),
        (sum(3, 8192), "words of 3 B"),
        (sum(4, 8192), "words of 4 B"),
        (sum(8, 16), "(16, 8192)"),
    ] {
        let why = refused(request.clone());
        assert!(why.contains(phrase) && !why.contains("panic"), "{request:?}: {why}");
    }
    for (then, phrase) in [
        (Then::Expose(u64::MAX - 5, 1 << 20), "B at 0x"),
        (Then::Classes(0, everything), "tasks"),
        (Then::Classes(40, vec![(0, 3)]), "no context 40"),
        (Then::Sleep(f64::NAN), "NaN"),
        (Then::Sleep(-1.0), "-1 ns"),
        (Then::Sleep(1e13), "it sleeps for"),
        (Then::Block(Some(f64::NAN)), "NaN"),
    ] {
        let why = refused_with(Request::Unpark(0), then.clone());
        assert!(why.contains(phrase), "{then:?}: {why}");
    }
}

/// On other machines too, where addresses are the programs' own, and there are no puts, and no groups but
/// that of all tasks.
#[test]
fn requests_to_transports_are_executed_or_refused() {
    let encoded = |requests: &[(Request, Then)]| -> Vec<Vec<u8>> {
        let of =
            |(request, then): &(Request, Then)| Requests { list: vec![request.clone()], then: then.clone() };
        requests.iter().map(|request| encode(&of(request))).collect()
    };
    let (from, ticket) = (0, 3);
    let pieces = vec![(OWN.address, 100, MEMORY.start), (OWN.address + 100, 1, MEMORY.start + 5000)];
    // With a task of another node, and with one of the same.
    let all = [false, true].into_iter().flat_map(|fetches| [(1, 2), (2, 2), (2, 0)].map(|of| (fetches, of)));
    for (fetches, (per_node, other)) in all {
        let (to, with) = (endpoint(other), endpoint(other));
        let get = |pieces| Request::Transfer { from, way: Transfer::Get, with, pieces, ticket };
        let data = Request::Data { from, to, head: head(), data: (MEMORY.start, 100_000), ticket };
        let outcome = |script: &[(Request, Then)]| {
            let scripts = [vec![], encoded(script), vec![], vec![]];
            outcome_of(move |scripts| run_with_messages(fetches, per_node, scripts), scripts)
        };
        let small = Request::Inject { from, to, head: head(), bytes: vec![1; 40] };
        let to_itself = Request::Inject { from, to: endpoint(1), head: head(), bytes: vec![1; 40] };
        let ended = Then::Wait(Contexts::ALL, 1000);
        let usual = [(small, Then::Go), (to_itself, ended.clone()), (data.clone(), ended.clone())];
        assert_eq!(outcome(&usual), [], "{fetches}, {per_node} a node");
        let got = outcome(&[(get(pieces.clone()), ended.clone())]);
        assert!(
            got.is_empty() == fetches && got.iter().all(|(task, why)| *task == 1 && why.contains("space"))
        );
        let refused = |request, phrase: &str| {
            let why = outcome(&[(request, Then::Go)]);
            assert!(why.len() == 1 && why[0].0 == 1 && why[0].1.contains(phrase), "{phrase}: {why:?}");
        };
        let put = Request::Transfer { from, way: Transfer::Put, with, pieces: pieces.clone(), ticket };
        refused(put, "a transfer without space");
        refused(Request::Inject { from, to, head: head(), bytes: vec![0; 10_000] }, "a packet of 10000 B");
        refused(Request::Data { from, to, head: head(), data: (MEMORY.start, 1 << 33), ticket }, "no memory");
        refused(get(vec![(MEMORY.start, 1 << 33, MEMORY.start)]), "no memory");
        refused(get(vec![(MEMORY.start, 8, u64::MAX)]), "another task's memory");
        refused(Request::Join { by: 0, tasks: vec![(0, 3)], class: 1, group: 0 }, "class 1");
        refused(Request::Collective { by: 0, group: 5, operation: Collective::Barrier, ticket }, "group 5");
        let operation = Collective::Broadcast { root: 0, data: Range { bytes: 8, ..OWN } };
        refused(Request::Collective { by: 0, group: 0, operation, ticket }, "group 0");
    }
}

#[test]
fn a_length_alone_allocates_nothing() {
    // A list of 2^60 requests.
    let message = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10];
    let before = LARGEST.load(Relaxed);
    assert!(decode(&message).is_err());
    assert!(LARGEST.load(Relaxed) < before.max(4 << 20));
}

/// One of the usual requests by its number, with some bytes changed, and cut off by some.
type Changed = (usize, Vec<(u16, u8)>, Option<u8>);

/// A message with some bytes changed, or cut off.
fn changed(mut message: Vec<u8>, changes: &[(u16, u8)], cut: Option<u8>) -> Vec<u8> {
    for &(place, byte) in changes {
        let place = usize::from(place) % message.len();
        message[place] = byte;
    }
    if let Some(cut) = cut {
        message.truncate(message.len() - usize::from(cut) % message.len());
    }
    message
}

/// Whether a thread waits for more than a second: others would poll all that time, at most as long as a job may
/// take, which is half a minute of wall time.
fn waits_long(message: &[u8]) -> bool {
    let long = |requests: Requests| match requests.then {
        Then::Block(Some(ns)) | Then::Sleep(ns) => ns > 1e9,
        _ => false,
    };
    decode(message).is_ok_and(long)
}

/// Many with `NETLOOM_LONG=1`.
fn cases() -> u32 {
    if std::env::var("NETLOOM_LONG").is_ok_and(|value| value == "1") { 50_000 } else { 300 }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn arbitrary_bytes_are_refused_or_executed(
        scripts in prop::array::uniform4(prop::collection::vec(prop::collection::vec(0u8..40, 0..30), 0..4))
    ) {
        for (task, why) in outcome(scripts) {
            prop_assert!(task < TASKS && !why.is_empty());
        }
    }

    #[test]
    fn changed_requests_are_refused_or_executed(
        scripts in prop::array::uniform4(prop::collection::vec(
            (
                0usize..20,
                prop::collection::vec(any::<(u16, u8)>(), 0..3),
                prop::option::weighted(0.1, any::<u8>()),
            ),
            0..8,
        )),
        fetches: bool,
        share_nodes: bool,
    ) {
        let usual = usual();
        let with_messages = scripts.clone();
        let script = |list: Vec<Changed>| {
            let of =
                |(number, changes, cut): Changed| changed(encode(&usual[number]), &changes, cut);
            list.into_iter().map(of).filter(|message| !waits_long(message)).collect::<Vec<_>>()
        };
        for (task, why) in outcome(scripts.map(script)) {
            prop_assert!(task < TASKS && !why.is_empty());
        }
        let run = move |scripts| run_with_messages(fetches, 1 + u32::from(share_nodes), scripts);
        for (task, why) in outcome_of(run, with_messages.map(script)) {
            prop_assert!(task < TASKS && !why.is_empty());
        }
    }
}
