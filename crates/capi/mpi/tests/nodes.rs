//! C programs with several ranks on each node of machines without Message Units: what they send to each other
//! there goes through the node's memory, and the rest through the interface that they share.

mod jobs;
#[path = "../../pami/tests/parts/mod.rs"]
mod parts;

use jobs::{alone, compile, job, machine, points, run_job};
use netloom_guest::Machine;
use netloom_shm::launch::{Job, share_core};
use parts::check_each;
use std::path::Path;

/// Machines, each with another interface, what is changed of them, and most ranks of a node.
const MACHINES: [(&str, &[&str], u32); 4] = [
    ("xc", &[], 32),
    ("th", &[], 40),
    ("bgl", &["topology.dims=[4,4,2]", "messaging.send_ns=500", "messaging.receive_ns=500"], 2),
    ("dragonfly", &["messaging.send_ns=500", "messaging.receive_ns=500"], 16),
];
const XC: (&str, &[&str], u32) = MACHINES[0];

fn of((name, sets, _): (&str, &[&str], u32), per_node: u32) -> Machine {
    let sets = sets.iter().map(ToString::to_string).collect();
    Machine { name: name.into(), sets, tasks_per_node: Some(per_node), ..machine(1, 1) }
}

/// Runs a job with a variable of the environment.
fn run(
    machine: &Machine,
    program: &Path,
    ranks: u32,
    (name, value): (&str, u32),
) -> (u8, f64, String, String) {
    let environment = vec![(name.into(), value.to_string().into())];
    run_job(machine, Job { environment, ..job(program, ranks) })
}

#[test]
fn ranks_of_a_node_know_each_other_and_their_data_is_right() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    share_core();
    let program = compile("tests/mpi/nodes.c", folder.path());
    for of_machine in MACHINES {
        // The last node has fewer ranks than others.
        for (ranks, per_node) in [(5, 2), (7, 4)] {
            if per_node > of_machine.2 {
                continue;
            }
            let machine = of(of_machine, per_node);
            let (status, .., all) = run(&machine, &program, ranks, ("RANKS_PER_NODE", per_node));
            assert_eq!(status, 0, "{ranks} ranks, {per_node} a node of {}:\n{all}", of_machine.0);
        }
    }
}

#[test]
fn programs_check_their_data() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    let programs = [
        "collectives",
        "epochs",
        "intercommunicators",
        "locks",
        "more_communicators",
        "nonblocking",
        "early_partitions",
        "pieces",
        "requests",
        "shared_windows",
        "thread_collectives",
        "threads",
        "windows",
    ];
    let on_all = ["nonblocking", "pieces"];
    check_each("programs_check_their_data", programs.into_iter().enumerate(), |(number, name)| {
        let program = compile(&format!("tests/mpi/{name}.c"), folder.path());
        for (place, of_machine) in MACHINES.into_iter().enumerate() {
            if number % MACHINES.len() == place || on_all.contains(&name) {
                // Programs with threads need several for each rank.
                let most = if name.contains("threads") { 2 } else { of_machine.2 };
                let per_node = most.min(2 << (number % 2));
                let (status, .., all) = run_job(&of(of_machine, per_node), job(&program, 4));
                assert_eq!(status, 0, "{name}, {per_node} a node of {}:\n{all}", of_machine.0);
            }
        }
    });
}

#[test]
fn times_are_the_same_on_every_run_and_on_any_number_of_threads() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    share_core();
    let program = compile("tests/mpi/nonblocking.c", folder.path());
    for of_machine in MACHINES {
        let runs = [1, 1, 2].map(|threads| {
            let machine = Machine { threads, ..of(of_machine, 2) };
            run_job(&machine, job(&program, 6))
        });
        for (status, simulated_us, out, all) in &runs {
            assert_eq!((*status, *simulated_us, out), (0, runs[0].1, &runs[0].2), "{}:\n{all}", of_machine.0);
        }
    }
}

/// A message within a node takes the library's instructions, two lines that another core has written, and two
/// copies: none if it is short enough for its header's packet, one if its receiver fetches it. Then polling: a
/// turn looks at the NIC's queue and at the node's memory, and what is found is with the program 30 ns later;
/// twice for those that need two packets, or a fetch.
#[test]
fn messages_within_a_node_take_what_their_instructions_lines_and_copies_take() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    share_core();
    let program = compile("tests/mpi/half_round_trips.c", folder.path());
    // us, and us per byte.
    let (library, line, copy, found, poll) = (0.145 + 0.145, 0.0231, 1.0 / 6e3, 0.03, 0.02);
    let (status, _, out, all) = run_job(&of(XC, 2), job(&program, 2));
    assert_eq!(status, 0, "{all}");
    let points = points(&out);
    assert_eq!(points.len(), 9);
    for (bytes, us) in points {
        let copies = if bytes <= 8192.0 { 2.0 } else { 1.0 };
        let least = library + 2.0 * line + copies * bytes * copy + found;
        let most = least + poll + if bytes < 8192.0 { 0.0 } else { found + poll };
        assert!((least..=most).contains(&us), "{bytes} B: {us} us, {least} to {most} expected");
    }
}

/// Pairs of ranks on two nodes share the nodes' interfaces: together they are as fast as one of them, which
/// uses its interface up, and never faster than that.
#[test]
fn ranks_of_a_node_share_its_interface() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    share_core();
    let program = compile("tests/mpi/pairs.c", folder.path());
    // MB/s: what the NIC reads of memory (64 B each five cycles), PCI-Express, and a link, with the packets'
    // data.
    let most = [64.0 / 5.0 * 800.0, 15_754.0, 175.0 * 240.0 / 256.0, f64::INFINITY];
    for (of_machine, most) in MACHINES.into_iter().zip(most) {
        let rate = |pairs| {
            let (status, _, out, all) = run(&of(of_machine, 2), &program, 4, ("PAIRS", pairs));
            assert_eq!(status, 0, "{}:\n{all}", of_machine.0);
            out.rsplit("| ").next().unwrap().trim().parse::<f64>().unwrap()
        };
        let (one, two) = (rate(1), rate(2));
        let name = of_machine.0;
        assert!(two < most && two < 1.05 * one && two > 0.95 * one, "{name}: {one} and {two} MB/s");
    }
}

#[test]
fn reports_name_ranks() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    share_core();
    let program = compile("tests/mpi/waits_for_ever.c", folder.path());
    for of_machine in [XC, MACHINES[2]] {
        let (status, _, _, all) = run_job(&of(of_machine, 2), job(&program, 3));
        for rank in 0..3 {
            let from = (rank + 1) % 3;
            let told = format!("MPI_Recv: receive from rank {from} with tag 42 of MPI_COMM_WORLD");
            let line = all.lines().find(|line| line.starts_with(&format!("({rank}, ")));
            assert!(status != 0 && line.is_some_and(|line| line.contains(&told)), "{status}\n{all}");
        }
    }
    let program = compile("tests/mpi/fatal.c", folder.path());
    let (status, _, _, all) = run_job(&of(XC, 2), job(&program, 2));
    assert!(status == 6 && all.contains("rank 1: MPI_Send: dest is 7"), "{status}\n{all}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused = |machine: &Machine, ranks: u32| {
        let (mut out, mut err) = (vec![], vec![]);
        let job = job(Path::new("/bin/true"), ranks);
        netloom_guest::run(machine, job, &mut out, &mut err).unwrap_err().to_string()
    };
    for (of_machine, why) in MACHINES.into_iter().zip([
        "at most 32 (xc: its nodes have 32 hardware threads of 16 cores)",
        "at most 40 (th: the NICs of its nodes have 40 virtual ports)",
        "at most 2 (bgl: its nodes have 2 cores)",
        "at most 16 (dragonfly: it does not say how many cores its nodes have)",
    ]) {
        let error = refused(&of(of_machine, of_machine.2 + 1), 4);
        assert!(error.contains(why), "{error}");
    }
    // More ranks than 32 nodes have cores, and more than 16 ranks a node need.
    let omitted = Machine { tasks_per_node: None, ..of(MACHINES[2], 1) };
    assert!(refused(&omitted, 65).contains("32 nodes, 3 tasks on each, of at most 2"));
    assert!(
        refused(&of(MACHINES[2], 1), 33)
            .contains("33 tasks do not fit: 32 nodes, 1 of at most 2 tasks on each")
    );
}
