//! C programs as guests of machines without Message Units: their messages go by the transports of skeletons.

mod jobs;
#[path = "../../pami/tests/parts/mod.rs"]
mod parts;

use jobs::{alone, compile, job, machine, points, run_job};
use netloom_guest::{Machine, MappingConfig};
use netloom_shm::launch::{Job, share_core};
use netloom_simulate::Fabric;
use netloom_study::diagnose::SourceFile;
use netloom_study::resolve::resolve;
use netloom_study::run::{Quiet, Simulate};
use parts::check_each;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Machines, each with another interface, and what is changed of them.
const MACHINES: [(&str, &[&str]); 4] = [
    ("xc", &[]),
    ("th", &[]),
    ("bgl", &["topology.dims=[4,4,2]", "messaging.send_ns=500", "messaging.receive_ns=500"]),
    ("dragonfly", &["messaging.send_ns=500", "messaging.receive_ns=500"]),
];

fn of((name, sets): (&str, &[&str])) -> Machine {
    let sets = sets.iter().map(ToString::to_string).collect();
    Machine { name: name.into(), sets, tasks_per_node: None, ..machine(1, 1) }
}

#[test]
fn programs_check_their_data() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    let programs = [
        "collectives",
        "datatypes",
        "epochs",
        "idup",
        "intercommunicators",
        "locks",
        "more_communicators",
        "neighborhoods",
        "nonblocking",
        "early_partitions",
        "pieces",
        "requests",
        "shared_files",
        "sleeps",
        "thread_collectives",
        "threads",
        "windows",
        "collective_network",
    ];
    let on_all = ["collective_network", "nonblocking", "pieces", "threads", "windows"];
    check_each("programs_check_their_data", programs.into_iter().enumerate(), |(number, name)| {
        let program = compile(&format!("tests/mpi/{name}.c"), folder.path());
        for (place, of_machine) in MACHINES.into_iter().enumerate() {
            if number % MACHINES.len() == place || on_all.contains(&name) {
                let (status, .., all) = run_job(&of(of_machine), job(&program, 4));
                assert_eq!(status, 0, "{name} on {}:\n{all}", of_machine.0);
            }
        }
    });
}

/// Barriers of all ranks are by Aries' collective engines and by sequences of descriptors, and all-reductions of
/// one word by the engines. What PAMI's other collectives send takes the times of the machine's library, as
/// what MPI's own send does.
#[test]
fn collectives_of_all_ranks_are_by_hardware_where_the_library_takes_it() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    share_core();
    let program = compile("tests/mpi/collective_times.c", folder.path());
    for (name, most) in [("xc", [Some(0.5), Some(0.5), None]), ("th", [Some(0.8), None, None])] {
        let machine = of(*MACHINES.iter().find(|(of, _)| *of == name).unwrap());
        let [hardware, messages] = ["1", "0"].map(|is_on| {
            let environment = vec![("PAMID_COLLECTIVES".into(), is_on.into())];
            let (status, _, out, all) = run_job(&machine, Job { environment, ..job(&program, 8) });
            assert_eq!(status, 0, "{name}:\n{all}");
            points(&out)
        });
        for ((by_hardware, by_messages), most) in hardware.iter().zip(&messages).zip(most) {
            let ratio = by_hardware.1 / by_messages.1;
            let expected = most.map_or(0.95..1.1, |most| 0.1..most);
            assert!(expected.contains(&ratio), "{name}, {by_hardware:?}, by messages {by_messages:?}");
        }
    }
}

/// Messages of guests take as long as those of skeletons, whose transports they use. The rest is the
/// protocols' own: lengths in their packets, and copies that a skeleton's library makes at once. Over blocks of
/// TH Express-2 it makes those part by part, and the next part waits for the copy of the one before.
#[test]
fn messages_take_as_long_as_those_of_skeletons() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    share_core();
    let program = compile("tests/mpi/half_round_trips.c", folder.path());
    // Without the last: its packets draw their paths, other packets other ones.
    for of_machine @ (name, sets) in MACHINES.into_iter().take(3) {
        let machine = of(of_machine);
        let (status, _, out, all) = run_job(&machine, job(&program, 2));
        assert_eq!(status, 0, "{name}:\n{all}");
        let guests = points(&out);
        let lengths: Vec<String> = guests.iter().map(|(bytes, _)| bytes.to_string()).collect();
        let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
        let text = format!(
            "name = 'latency'\nmachine = '{name}'\n\
             workload = {{ kind = 'point-to-point', program = 'latency', ranks = 2, partner = 1, \
             sizes_B = [{}], warmup = 1, iterations = 4 }}\nmeasure = {{ until = 'finished' }}\n",
            lengths.join(",")
        );
        let study = resolve(SourceFile::new("latency", text), Path::new("."), &sets).unwrap();
        let never = AtomicBool::new(false);
        let result = Fabric.simulate(&study, &Quiet(&never), 1).unwrap();
        let skeleton: Vec<f64> = result.measured[0].rows.iter().map(|row| row[1]).collect();
        assert_eq!(skeleton.len(), guests.len());
        for ((bytes, us), expected_us) in guests.into_iter().zip(skeleton) {
            let ratio = us / expected_us;
            let least = if name == "th" && bytes > 8192.0 { 0.75 } else { 0.96 };
            assert!((least..1.06).contains(&ratio), "{name}, {bytes} B: {us} us, skeletons {expected_us} us");
        }
    }
}

#[test]
fn times_are_the_same_on_every_run_and_on_any_number_of_threads() {
    let (_alone, folder) = (alone(), tempfile::tempdir().unwrap());
    share_core();
    let program = compile("tests/mpi/nonblocking.c", folder.path());
    for of_machine in MACHINES {
        let runs = [1, 1, 2].map(|threads| run_job(&Machine { threads, ..of(of_machine) }, job(&program, 4)));
        for (status, simulated_us, out, all) in &runs {
            assert_eq!((*status, *simulated_us, out), (0, runs[0].1, &runs[0].2), "{}:\n{all}", of_machine.0);
        }
    }
}

#[test]
fn letters_of_dimensions_are_refused_where_there_are_none() {
    let refused = |machine: Machine, ranks: u32| {
        let (mut out, mut err) = (vec![], vec![]);
        let program = Path::new("/bin/true");
        netloom_guest::run(&machine, job(program, ranks), &mut out, &mut err).unwrap_err().to_string()
    };
    let letters = Machine { mapping: MappingConfig::Dimensions("zyx".into()), ..of(MACHINES[0]) };
    assert!(refused(letters, 4).contains("zyx names dimensions of a torus, and xc is none"));
}
