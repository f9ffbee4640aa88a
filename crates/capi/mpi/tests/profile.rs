//! The profile of a program that runs on a simulated machine: its calls' times follow from one another.

mod jobs;

use jobs::{alone, compile, job, machine};
use netloom_guest::{Machine, MappingConfig};
use netloom_shm::launch::{Job, share_core};
use netloom_study::profile::{CallSpan, Message, Parts, Profile};
use std::path::Path;

fn profiled(program: &Path, ranks: u32, per_node: u32, threads: usize) -> (Profile, String) {
    profiled_on(&machine(per_node, threads), program, ranks)
}

fn profiled_on(machine: &Machine, program: &Path, ranks: u32) -> (Profile, String) {
    profiled_job(machine, job(program, ranks))
}

fn profiled_job(machine: &Machine, job: Job) -> (Profile, String) {
    let machine = Machine { is_profiled: true, ..machine.clone() };
    let (mut out, mut err) = (vec![], vec![]);
    let outcome = netloom_guest::run(&machine, job, &mut out, &mut err);
    let outcome = outcome.unwrap_or_else(|error| panic!("{error}"));
    let output = format!("{}{}", String::from_utf8_lossy(&out), String::from_utf8_lossy(&err));
    assert_eq!(outcome.processes.status(), 0, "{output}");
    (outcome.profile.expect("it was asked for"), output)
}

/// Times of calls are whole, in order and apart; their parts add up; a message's ends are in calls.
fn check(profile: &Profile) {
    let near = |a: f64, b: f64| (a - b).abs() < 1e-3;
    for thread in &profile.threads {
        let mut last = 0.0;
        let mut sums = vec![Parts::default(); profile.names.len()];
        for call in &thread.calls {
            assert!(call.from_ns >= last && call.to_ns > call.from_ns, "{call:?} after {last} ns");
            last = call.to_ns;
            assert!(call.parts.list().iter().all(|&part| part >= 0.0), "{call:?}");
            assert!(near(call.parts.sum_ns(), call.to_ns - call.from_ns), "{call:?}");
            sums[call.name] = sums[call.name].plus(&call.parts);
        }
        assert!(last <= thread.end_ns && thread.end_ns <= profile.end_ns);
        for calls in &thread.by_name {
            let (sum, all) = (sums[calls.name], calls.parts);
            assert!(sum.list().iter().zip(all.list()).all(|(&a, b)| near(a, b)), "{sum:?}, {all:?}");
        }
    }
    let in_call = |end: (u32, u32), at: f64| {
        let of_end = |thread: &&netloom_study::profile::ThreadProfile| (thread.task, thread.thread) == end;
        let calls = profile.threads.iter().find(of_end).into_iter().flat_map(|thread| &thread.calls);
        calls.into_iter().any(|call| (call.from_ns..=call.to_ns).contains(&at))
    };
    for message in &profile.messages {
        assert!(message.sent_ns < message.received_ns, "{message:?}");
        assert!(
            in_call(message.from, message.sent_ns) && in_call(message.to, message.received_ns),
            "{message:?}"
        );
    }
}

fn call<'a>(profile: &'a Profile, rank: usize, name: &str, number: usize) -> &'a CallSpan {
    let mut of_name = profile.threads[rank].calls.iter().filter(|call| profile.names[call.name] == name);
    of_name.nth(number).unwrap_or_else(|| panic!("{name} {number} of rank {rank}"))
}

fn us(call: &CallSpan) -> f64 {
    (call.to_ns - call.from_ns) / 1e3
}

#[test]
fn times_of_calls_follow_from_one_another_and_are_the_same_for_any_number_of_threads() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    share_core();
    let program = compile("tests/mpi/profiled.c", folder.path());
    let (profile, output) = profiled(&program, 2, 1, 1);
    check(&profile);
    let printed: f64 = {
        let after = output.split("received after ").nth(1).expect("it says so");
        after.split(' ').next().unwrap().parse().unwrap()
    };
    // The program reads its clock around the call.
    let receive = call(&profile, 0, "MPI_Recv", 0);
    assert!((us(receive)..us(receive) + 1.0).contains(&printed), "{printed} us, {receive:?}");
    // Rank 1 sleeps for 500 us; nothing is in its way then.
    assert!((499.0..502.0).contains(&(receive.parts.partner_ns / 1e3)), "{receive:?}");
    let in_network = receive.parts.wire_ns + receive.parts.queueing_ns;
    assert!((200.0..3000.0).contains(&in_network) && receive.parts.queueing_ns < 150.0, "{receive:?}");
    // The long message is taken 200 us after rank 1 has sent its own, but was sent long before.
    let (sent, taken) = (call(&profile, 0, "MPI_Isend", 0), call(&profile, 1, "MPI_Recv", 0));
    assert!(taken.from_ns - sent.to_ns > 190e3, "{sent:?}, {taken:?}");
    // Rank 0 comes 300 us late to the barrier.
    let [early, late] = [1, 0].map(|rank| call(&profile, rank, "MPI_Barrier", 0));
    assert!((early.to_ns - late.to_ns).abs() < 1e3, "{early:?}, {late:?}");
    let waited = early.parts.partner_ns;
    assert!((waited - (late.from_ns - early.from_ns)).abs() < 500.0 && waited > 200e3, "{early:?}, {late:?}");
    assert!(late.parts.partner_ns < 100.0, "{late:?}");
    let count = |rank: usize, name: &str| {
        let of_name = profile.threads[rank].by_name.iter().find(|calls| profile.names[calls.name] == name);
        of_name.map_or(0, |calls| calls.count)
    };
    let counts =
        ["MPI_Init", "MPI_Comm_rank", "MPI_Recv", "MPI_Wait", "MPI_Finalize"].map(|name| count(0, name));
    assert_eq!(counts, [1, 10, 1, 1, 1]);
    // Two messages of one tag, of which the second overtakes the data of the first.
    let own: Vec<_> = profile.messages.iter().filter(|m| !m.is_collective).collect();
    let list: Vec<_> = own.iter().map(|m| (m.from.0, m.to.0, m.tag, m.bytes)).collect();
    assert_eq!(list, [(1, 0, 7, 8), (0, 1, 8, 100_000), (0, 1, 8, 0)]);
    assert!(own[1].received_ns >= taken.to_ns - 1e3 && own[1].sent_ns <= sent.to_ns, "{:?}", own[1]);
    assert_eq!(profiled(&program, 2, 1, 2).0, profile);
}

#[test]
fn messages_that_communication_threads_take_are_there() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    share_core();
    let program = compile("tests/mpi/profiled.c", folder.path());
    let messages = |environment| {
        let job = Job { environment, ..job(&program, 2) };
        let mut messages = profiled_job(&machine(1, 1), job).0.messages;
        messages.sort_by_key(|message| {
            (message.from.0, message.to.0, message.context, message.tag, message.bytes)
        });
        messages
    };
    let without = messages(vec![]);
    let with = messages(vec![("PAMID_THREAD_MULTIPLE".into(), "1".into())]);
    let ends = |of: &[Message]| -> Vec<_> { of.iter().map(|m| (m.from.0, m.to.0, m.tag, m.bytes)).collect() };
    assert_eq!(ends(&without), ends(&with));
    assert!(with.iter().any(|message| message.to.1 > 0), "{with:?}");
    assert!(with.iter().all(|message| message.sent_ns < message.received_ns), "{with:?}");
}

#[test]
fn ranks_run_where_the_mapping_says() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    share_core();
    let program = compile("tests/mpi/profiled.c", folder.path());
    let file = folder.path().join("nodes");
    // The second is four hops from the first, by its coordinates.
    std::fs::write(&file, "0\n1 1 1 1 0\n").unwrap();
    let on = |mapping| Machine { mapping, ..machine(1, 1) };
    let wire = |mapping, node: u32| {
        let (profile, _) = profiled_on(&on(mapping), &program, 2);
        assert_eq!(profile.threads.iter().map(|thread| thread.node).collect::<Vec<_>>(), [0, node]);
        call(&profile, 0, "MPI_Recv", 0).parts.wire_ns
    };
    let near = wire(MappingConfig::Dimensions("zyxuv".into()), 4);
    let far = wire(MappingConfig::File(file.display().to_string()), 15);
    assert!((30.0..400.0).contains(&(far - near)), "{near} ns over a hop, {far} ns over four");
    std::fs::write(&file, "0\n").unwrap();
    for (mapping, expected) in [
        (MappingConfig::File(file.display().to_string()), "expected a node for each of 2 ranks, found 1"),
        (MappingConfig::Dimensions("xy".into()), "expected each letter of \"xyzuv\" once, found \"xy\""),
    ] {
        let run = netloom_guest::run(&on(mapping), job(&program, 2), &mut vec![], &mut vec![]);
        let error = run.expect_err("it is invalid").to_string();
        assert!(error.starts_with("--map: ") && error.contains(expected), "{error}");
    }
}

#[test]
fn parts_add_up_for_collectives_threads_and_ranks_of_a_node() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    share_core();
    for name in ["collectives", "nonblocking", "windows", "sessions", "persistent"] {
        let program = compile(&format!("tests/mpi/{name}.c"), folder.path());
        for (ranks, per_node) in [(5, 1), (8, 4)] {
            let (profile, _) = profiled(&program, ranks, per_node, 1);
            check(&profile);
            assert_eq!(profile.threads.len(), ranks as usize);
            let inside = |thread: &netloom_study::profile::ThreadProfile| thread.parts().sum_ns();
            assert!(profile.threads.iter().all(|thread| inside(thread) > 0.0), "{name}");
        }
    }
}

/// Also where they share another machine's interface, and its nodes' memory.
#[test]
fn parts_add_up_for_ranks_of_a_node_of_another_machine() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    share_core();
    for (name, program) in [("xc", "nonblocking"), ("th", "collectives")] {
        let program = compile(&format!("tests/mpi/{program}.c"), folder.path());
        let machine = Machine { name: name.into(), sets: vec![], ..machine(2, 1) };
        let (profile, _) = profiled_on(&machine, &program, 5);
        check(&profile);
        let places: Vec<_> = profile.threads.iter().map(|thread| (thread.task, thread.node)).collect();
        assert_eq!(places, [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2)]);
    }
}
