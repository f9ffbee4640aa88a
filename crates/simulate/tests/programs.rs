//! Programs of ranks on every machine: the same study, each machine's own messaging library and network
//! interface.

mod common;

use common::{MACHINES, check_each};
use netloom_simulate::Fabric;
use netloom_study::diagnose::SourceFile;
use netloom_study::resolve::resolve;
use netloom_study::result::{Ended, ProgramFigures, RunResult};
use netloom_study::run::{Quiet, Simulate};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Six neighbours on a grid, or a trace, on as many nodes.
const HALO: &str = "
name = 'halo'
machine = 'bgl'
nodes = 8
workload = { kind = 'skeleton', program = 'halo', grid = [2, 2, 2], face_B = 3000, compute_ns = 2000, iterations = 4 }
measure = { until = 'finished' }
";

fn run(text: &str, sets: &[&str], threads: usize) -> RunResult {
    let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
    let directory = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies"));
    let study = resolve(SourceFile::new("halo.toml", text), directory, &sets);
    let study = study.unwrap_or_else(|problem| panic!("{sets:?}: {problem:?}"));
    Fabric.simulate(&study, &Quiet(&AtomicBool::new(false)), threads).unwrap()
}

fn finished(result: &RunResult) -> &ProgramFigures {
    assert_eq!((&result.partial, result.simulated.ended), (&None, Ended::Finished));
    result.programs.as_ref().unwrap()
}

fn with<'a>(machine: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    machine.iter().chain(more).copied().collect()
}

/// A halo exchange completes on every machine, eagerly and by rendezvous, with the same result on eight
/// threads.
#[test]
fn a_skeleton_runs_on_every_machine() {
    for machine in MACHINES {
        let result = run(HALO, machine, 1);
        let figures = finished(&result);
        // Two neighbours in each ring of two are the same rank: six messages a rank and iteration all the
        // same.
        let messages = 8 * 6 * 4;
        assert_eq!((figures.ranks, figures.messages), (8, messages), "{machine:?}");
        assert_eq!(figures.message_bytes, messages * 3000, "{machine:?}");
        assert!(figures.compute_us > 7.99, "{machine:?}: {figures:?}");
        assert!(figures.last_end_us > figures.compute_us, "{machine:?}: {figures:?}");
        // As many blocks as the machine has nodes or routers.
        let threads = run(HALO, machine, 8);
        assert_eq!(
            (&finished(&threads), threads.simulated.ticks),
            (&figures, result.simulated.ticks),
            "{machine:?}"
        );
        let rendezvous = run(HALO, &with(machine, &["messaging.eager_max_B=0"]), 1);
        let figures = finished(&rendezvous);
        assert_eq!((figures.messages, figures.rendezvous), (messages, messages), "{machine:?}");
        assert_eq!(figures.message_bytes, messages * 3000, "{machine:?}");
    }
}

/// Every channel of TH Express-2 carries all messages, of every length, with as little of everything as there
/// can be, and on eight threads as on one.
/// Eight ranks that send to all others at once.
const CROWD: &str = "name = 'c'\nmachine = 'bgl'\nnodes = 8\nmeasure = { until = 'finished' }\n[workload]\nkind = 'skeleton'\n\
                     program = 'collective'\nranks = 8\niterations = 9\noperation = 'all-to-all'\nalgorithm = 'linear'\nbytes = BYTES\n";

#[test]
fn channels_with_little_of_everything_lose_nothing() {
    let little = [
        "machine=th",
        "topology.down=[8,2]",
        "messaging.credits=1",
        "messaging.glex.block_B=512",
        "messaging.glex.blocks=1",
        "messaging.glex.ring_buffers=1",
        "messaging.glex.ring_buffer_B=256",
        "messaging.glex.exclusive_after=2",
    ];
    let cases = ["shared", "exclusive", "hybrid"].map(|kind| {
        [("pio", false, 0), ("dma", true, 3)].map(|(path, connect, pool)| (kind, path, connect, pool))
    });
    check_each(&cases.concat(), |&(kind, path, connect, pool)| {
        let own = [
            format!("messaging.glex.channel={kind}"),
            format!("messaging.glex.path={path}"),
            format!("messaging.glex.connect={connect}"),
            format!("messaging.glex.pool={pool}"),
            format!("messaging.glex.exclusive_max={}", 2 * pool + 1),
        ];
        let sets: Vec<&str> = little.into_iter().chain(own.iter().map(String::as_str)).collect();
        for bytes in [0, 64, 1000, 20_000] {
            let text = CROWD.replace("BYTES", &bytes.to_string());
            let result = run(&text, &sets, 1);
            let figures = finished(&result);
            assert_eq!((figures.messages, figures.rendezvous), (8 * 7 * 9, 0), "{sets:?}, {bytes} B");
            assert_eq!(figures.message_bytes, 8 * 7 * 9 * bytes, "{sets:?}, {bytes} B");
            assert_eq!(run(&text, &sets, 8).programs, result.programs, "{sets:?}, {bytes} B");
            // Each rank copies what it sends and what it receives, at 6 GB/s; what is not expected, twice.
            let copies_us = 7.0 * 9.0 * 2.0 * bytes as f64 / 6000.0;
            assert!(
                (0.99 * copies_us..1.6 * copies_us + 40.0).contains(&figures.software_us),
                "{figures:?}, {bytes} B"
            );
        }
    });
    // A queue of more than 4 MiB has virtual addresses, which are translated.
    let text = CROWD.replace("BYTES", "64").replace("= 8\n", "= 32\n");
    let end_us =
        |credits| finished(&run(&text, &["machine=th", "topology.down=[8,4]", credits], 1)).last_end_us;
    let (pinned, virtual_us) = (end_us("messaging.credits=64"), end_us("messaging.credits=1024"));
    assert!((1.0..1.5).contains(&(virtual_us / pinned)), "{virtual_us}, {pinned}");
}

#[test]
fn eager_messages_take_a_rendezvous_where_no_buffer_is_idle() {
    check_each(&[(1, 1), (3, 16), (64, 2)], |&(buffers, credits)| {
        let sets = [
            "machine=xc".to_owned(),
            "topology.groups=1".to_owned(),
            "messaging.eager_max_B=131072".to_owned(),
            format!("messaging.credits={credits}"),
            "messaging.gni.short_max_B=100".to_owned(),
            "messaging.gni.buffer_B=512".to_owned(),
            format!("messaging.gni.buffers={buffers}"),
        ];
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        for (bytes, parts) in [(100, 0), (500, 1), (1500, 3), (6000, 12)] {
            let text = CROWD.replace("BYTES", &bytes.to_string()).replace("iterations = 9", "iterations = 2");
            let result = run(&text, &sets, 1);
            let figures = finished(&result);
            assert_eq!(figures.messages, 8 * 7 * 2, "{sets:?}, {bytes} B");
            assert_eq!(figures.message_bytes, 8 * 7 * 2 * bytes, "{sets:?}, {bytes} B");
            // Seven messages at once.
            let expected = match parts {
                _ if 7 * parts <= buffers => 0..1,
                _ if parts > buffers => 8 * 7 * 2..8 * 7 * 2 + 1,
                _ => 1..8 * 7 * 2,
            };
            assert!(expected.contains(&figures.rendezvous), "{figures:?}, {sets:?}, {bytes} B");
            if parts == 3 {
                assert_eq!(run(&text, &sets, 8).programs, result.programs, "{sets:?}");
            }
            if figures.rendezvous == 0 {
                let copies_us = 7.0 * 2.0 * 2.0 * bytes as f64 / 6000.0;
                let software_us = figures.software_us;
                assert!((0.99 * copies_us..1.6 * copies_us + 9.0).contains(&software_us), "{figures:?}");
            }
        }
    });
}

#[test]
fn the_parts_of_a_ranks_time_add_up() {
    let all = |p: &ProgramFigures| {
        [p.compute_us, p.software_us, p.injection_us, p.partner_us, p.wire_us, p.queueing_us]
    };
    let collective = |ranks: u32, what: &str| {
        format!(
            "name = 'c'\nmachine = 'bgl'\nnodes = 8\nmeasure = {{ until = 'finished' }}\n\
            workload = {{ kind = 'skeleton', program = 'collective', ranks = {ranks}, iterations = 1, {what} }}"
        )
    };
    let alone = collective(2, "operation = 'broadcast', bytes = 3000");
    let crowd = collective(8, "operation = 'all-to-all', algorithm = 'linear', bytes = 20_000");
    for machine in MACHINES {
        let quiet = run(&alone, machine, 1);
        let quiet = finished(&quiet);
        assert!(quiet.wire_us > 0.0 && quiet.queueing_us < 0.2 * quiet.wire_us, "{machine:?}: {quiet:?}");
        // On TH Express-2 ranks are busy with copies of shorter ones, and do not wait.
        let is_th = machine.contains(&"machine=th");
        let sets = with(machine, if is_th { &["messaging.eager_max_B=8192"] } else { &[] });
        let busy = run(&crowd, &sets, 1);
        let busy = finished(&busy);
        assert!(busy.queueing_us > 0.2 * busy.wire_us, "{machine:?}: {busy:?}");
        for figures in [quiet, busy] {
            let sum: f64 = all(figures).iter().sum();
            assert!((sum / figures.mean_end_us - 1.0).abs() < 1e-6, "{machine:?}: {sum}, {figures:?}");
        }
    }
}

/// A run that ends before its programs reports how many ranks were left.
#[test]
fn a_time_limit_reports_what_was_left() {
    let result = run(HALO, &["machine=bgl", "measure.max_time_us=5"], 1);
    assert_eq!((result.simulated.ended, result.simulated.run_time_us), (Ended::TimeLimit, None));
    let reported = result.warnings.join("; ");
    assert!(reported.contains("8 of 8 ranks had not ended: rank 0 waits for"), "{reported}");
}

/// Machines that do collective operations by themselves do so among all ranks, faster than by messages;
/// others report that they cannot.
#[test]
fn collective_operations_by_hardware() {
    let text = |operation: &str, algorithm: &str, bytes: u32| {
        format!(
            "name = 'c'\nmachine = 'bgl'\nnodes = 32\nmeasure = {{ until = 'finished' }}\n[workload]\nkind = 'skeleton'\n\
            program = 'collective'\nranks = 32\niterations = 5\noperation = '{operation}'\nalgorithm = '{algorithm}'\nbytes = {bytes}\n"
        )
    };
    let th = ["machine=th", "topology.down=[8,4]"];
    for (operation, bytes) in [("barrier", 0), ("broadcast", 8), ("reduce", 8), ("allreduce", 8)] {
        for machine in [&["machine=bgq"][..], &["machine=xc"], &th] {
            if operation == "reduce" && machine != ["machine=bgq"] {
                continue;
            }
            let hardware = run(&text(operation, "hardware", bytes), machine, 1);
            let messages = run(&text(operation, "messages", bytes), machine, 1);
            let (by_hardware, by_messages) = (finished(&hardware), finished(&messages));
            assert_eq!((by_hardware.messages, by_hardware.hardware_collectives), (0, 5), "{machine:?}");
            assert_eq!(by_messages.hardware_collectives, 0, "{machine:?}");
            assert!(by_hardware.last_end_us > 0.0, "{machine:?}");
            // On TH Express-2 a barrier parts one from the other, and all nodes contribute to Blue Gene/Q's
            // and XC's broadcasts.
            let factor = match operation {
                "barrier" | "reduce" => 1.0,
                "allreduce" if machine != th => 1.0,
                "allreduce" => 1.3,
                _ => 4.0,
            };
            assert!(
                by_hardware.last_end_us < factor * by_messages.last_end_us,
                "{machine:?} {operation}: {} us by hardware, {} us by messages",
                by_hardware.last_end_us,
                by_messages.last_end_us
            );
            let twice = run(&text(operation, "hardware", bytes), machine, 2);
            assert_eq!(finished(&twice), by_hardware, "{machine:?}");
        }
    }
    // Long sums on Blue Gene/Q's collective network.
    let long = run(&text("allreduce", "hardware", 1 << 20), &["machine=bgq"], 1);
    let us = finished(&long).last_end_us / 5.0;
    let gb_per_s = f64::from(1 << 20) / us / 1e3;
    assert!((1.5..1.8).contains(&gb_per_s), "{gb_per_s} GB/s");
    // So does a box of a larger machine.
    finished(&run(&text("broadcast", "hardware", 1 << 20), &["machine=bgq", "nodes=64"], 1));
    for (machine, bytes, reported) in [
        (&["machine=bgl"][..], 8, "no hardware"),
        (&["machine=xc"], 16, "at most 8 B, found 16 B"),
        (&["machine=bgq", "nodes=36"], 8, "no hardware that does it among these ranks"),
    ] {
        let result = run(&text("allreduce", "hardware", bytes), machine, 1);
        assert_eq!(result.simulated.ended, Ended::Failed);
        let why = result.partial.unwrap();
        assert!(why.contains("allreduce") && why.contains(reported), "{why}");
    }
}

/// On Blue Gene/Q a rank of a skeleton and a rank of MPI over PAMI take the same time for a collective
/// operation by hardware, whose instructions and packets are the same.
#[test]
fn collective_operations_of_skeletons_take_the_time_of_mpi() {
    let text = |workload: &str| {
        format!(
            "name = 'c'\nmachine = 'bgq'\nnodes = 32\nmeasure = {{ until = 'finished' }}\n[workload]\n{workload}\n"
        )
    };
    for operation in ["barrier", "allreduce"] {
        let skeleton = format!(
            "kind = 'skeleton'\nprogram = 'collective'\nranks = 32\niterations = 10\noperation = '{operation}'\nbytes = 8"
        );
        let skeleton = finished(&run(&text(&skeleton), &[], 1)).last_end_us / 10.0;
        let mpi = format!("kind = 'mpi'\nprogram = 'collective'\nrounds = 10\noperation = '{operation}'");
        let mpi = run(&text(&mpi), &[], 1);
        assert_eq!((&mpi.partial, mpi.simulated.ended), (&None, Ended::Finished));
        // Processes, microseconds, wrong words.
        let [_, mpi, wrong] = mpi.measured[0].rows[0][..] else { panic!("{:?}", mpi.measured) };
        assert_eq!(wrong, 0.0);
        assert!((skeleton / mpi - 1.0).abs() < 0.05, "{operation}: {skeleton} us, MPI {mpi} us");
    }
}

/// Where no algorithm is named, ranks that fill a box of a Blue Gene/Q take its hardware, as its library
/// does, in skeletons and in traces; other ranks and other operations take messages, and so do all on other
/// machines.
#[test]
fn the_default_is_hardware_where_the_library_takes_it() {
    let folder = tempfile::tempdir().unwrap();
    let ranks = 32;
    let of_skeleton = |operation: &str, algorithm: &str, bytes: u32| {
        format!(
            "name = 'c'\nmachine = 'bgl'\nnodes = 32\nmeasure = {{ until = 'finished' }}\n[workload]\nkind = 'skeleton'\n\
            program = 'collective'\nranks = {ranks}\niterations = 3\noperation = '{operation}'\nalgorithm = '{algorithm}'\nbytes = {bytes}\n"
        )
    };
    let of_trace = |operation: &str, algorithm: &str, bytes: u32| {
        let word = match operation {
            "barrier" => "barrier".to_owned(),
            "broadcast" => format!("bcast {bytes}b"),
            "all-to-all" => format!("alltoall {bytes}b"),
            other => format!("{other} {bytes}b"),
        };
        let rank = |rank| format!("rank {rank} {{\n{word}\n{word}\n{word}\n}}\n");
        let file = folder.path().join("three.goal");
        std::fs::write(&file, format!("num_ranks {ranks}\n{}", (0..ranks).map(rank).collect::<String>()))
            .unwrap();
        format!(
            "name = 'c'\nmachine = 'bgl'\nnodes = 32\nmeasure = {{ until = 'finished' }}\n[workload]\nkind = 'trace'\n\
            file = '{}'\ncollectives = {{ {operation} = '{algorithm}' }}\n",
            file.display()
        )
    };
    let bgq = ["machine=bgq"];
    let others = [
        // Ranks that fill no box of nodes.
        &["machine=bgq", "nodes=36"][..],
        &["machine=bgl"],
        &["machine=xc"],
        &["machine=th", "topology.down=[8,4]"],
    ];
    let figures = |text: String, machine: &[&str]| finished(&run(&text, machine, 1)).clone();
    for (operation, bytes) in
        [("barrier", 0), ("broadcast", 100), ("broadcast", 100_000), ("reduce", 4096), ("allreduce", 20_000)]
    {
        let default = figures(of_skeleton(operation, "by-size", bytes), &bgq);
        assert_eq!(default, figures(of_skeleton(operation, "hardware", bytes), &bgq), "{operation}");
        assert_eq!((default.hardware_collectives, default.messages), (3, 0), "{operation}");
        let messages = figures(of_skeleton(operation, "messages", bytes), &bgq);
        assert!(messages.hardware_collectives == 0 && messages.messages > 0, "{operation}");
        assert!(default.last_end_us < messages.last_end_us, "{operation}: {default:?} {messages:?}");
        let trace = figures(of_trace(operation, "by-size", bytes), &bgq);
        assert_eq!(trace.last_end_us, default.last_end_us, "{operation}");
        assert_eq!(trace, figures(of_trace(operation, "hardware", bytes), &bgq), "{operation}");
        for machine in others {
            // Cray's and MilkyWay-2's take barriers.
            let is_hardware = operation == "barrier" && ["machine=xc", "machine=th"].contains(&machine[0]);
            let default = figures(of_skeleton(operation, "by-size", bytes), machine);
            let named = if is_hardware { "hardware" } else { "messages" };
            assert_eq!(
                default,
                figures(of_skeleton(operation, named, bytes), machine),
                "{operation}: {machine:?}"
            );
            assert_eq!(default.hardware_collectives > 0, is_hardware, "{operation}: {machine:?}");
        }
        let trace = figures(of_trace(operation, "by-size", bytes), others[0]);
        assert_eq!(trace, figures(of_trace(operation, "messages", bytes), others[0]), "{operation}");
    }
    for (bytes, is_hardware) in [(8, true), (9, false)] {
        let default = figures(of_skeleton("allreduce", "by-size", bytes), &["machine=xc"]);
        assert_eq!(default.hardware_collectives > 0, is_hardware, "{bytes} B");
    }
    let all_to_all = figures(of_skeleton("all-to-all", "by-size", 8), &bgq);
    assert_eq!(all_to_all.hardware_collectives, 0);
    // More than the hardware's buffer in memory, of 16 MiB.
    let long = of_skeleton("broadcast", "by-size", (16 << 20) + 8);
    let long = figures(long, &["machine=bgq", "workload.iterations=1"]);
    assert!(long.hardware_collectives == 0 && long.messages > 0, "{long:?}");
}

/// A job beside others has no hardware for its collective operations: by default it takes messages.
#[test]
fn jobs_take_messages() {
    let job = "[[workload.jobs]]\nnodes = 16\nworkload = { kind = 'skeleton', program = 'collective', ranks = 16 }\n";
    let text = format!(
        "name = 'j'\nmachine = 'bgq'\nnodes = 32\nmeasure = {{ until = 'finished' }}\n[workload]\nkind = 'jobs'\n{job}{job}"
    );
    let result = run(&text, &[], 1);
    let figures = finished(&result);
    assert!(figures.hardware_collectives == 0 && figures.messages > 0, "{figures:?}");
}

/// Ranks other than the root do not wait for the last one in a reduction, and the parts of their time add up.
#[test]
fn a_reduction_by_hardware_ends_at_its_root() {
    let folder = tempfile::tempdir().unwrap();
    let rank = |rank| {
        let ns = if rank == 31 { 50_000 } else { 0 };
        format!("rank {rank} {{\na: calc {ns}\nb: reduce 800b\nb requires a\n}}\n")
    };
    let file = folder.path().join("late.goal");
    std::fs::write(&file, format!("num_ranks 32\n{}", (0..32).map(rank).collect::<String>())).unwrap();
    let text = format!(
        "name = 'late'\nmachine = 'bgq'\nnodes = 32\nmeasure = {{ until = 'finished' }}\n\
        workload = {{ kind = 'trace', file = '{}' }}\n",
        file.display()
    );
    let result = run(&text, &[], 1);
    let p = finished(&result);
    assert_eq!((p.hardware_collectives, p.messages), (1, 0));
    // Two of 32 ranks need 50 us, the others a few.
    assert!(p.last_end_us > 50.0 && p.mean_end_us < 8.0, "{p:?}");
    let sum = p.compute_us + p.software_us + p.injection_us + p.partner_us + p.wire_us + p.queueing_us;
    assert!((sum / p.mean_end_us - 1.0).abs() < 1e-6, "{p:?}");
    assert_eq!(finished(&run(&text, &[], 4)), p);
}

/// A rank that never leaves a collective operation by hardware says so.
#[test]
fn a_rank_that_waits_for_hardware_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("circle.goal");
    let goal = "num_ranks 2\nrank 0 {\nr: recv 8b from 1 tag 3\nb: barrier\nb requires r\n}\n\
        rank 1 {\nb: barrier\ns: send 8b to 0 tag 3\ns requires b\n}\n";
    std::fs::write(&file, goal).unwrap();
    let text = format!(
        "name = 'circle'\nmachine = 'bgq'\nnodes = 32\nmeasure = {{ until = 'finished' }}\n\
        workload = {{ kind = 'trace', file = '{}' }}\n",
        file.display()
    );
    let result = run(&text, &[], 1);
    assert_eq!(result.simulated.ended, Ended::Stalled);
    let why = result.partial.unwrap();
    assert!(why.contains("rank 0 waits for a message from rank 1 with tag 3"), "{why}");
    assert!(why.contains("rank 1 waits for the end of the barrier by hardware"), "{why}");
}

/// In a trace, no rank leaves a collective operation by hardware before the last rank has entered it.
#[test]
fn hardware_waits_for_the_last_rank() {
    let folder = tempfile::tempdir().unwrap();
    for operation in ["barrier", "bcast 8b", "allreduce 8b"] {
        let ranks = (0..32).map(|rank| {
            let ns = if rank == 31 { 50_000 } else { 0 };
            format!("rank {rank} {{\na: calc {ns}\nb: {operation}\nb requires a\n}}\n")
        });
        let file = folder.path().join("late.goal");
        std::fs::write(&file, format!("num_ranks 32\n{}", ranks.collect::<String>())).unwrap();
        let text = format!(
            "name = 'late'\nmachine = 'bgq'\nnodes = 32\nmeasure = {{ until = 'finished' }}\n[workload]\nkind = 'trace'\n\
            file = '{}'\ncollectives = {{ barrier = 'hardware', broadcast = 'hardware', allreduce = 'hardware' }}\n",
            file.display()
        );
        for machine in [&["machine=bgq"][..], &["machine=xc"], &["machine=th", "topology.down=[8,4]"]] {
            let result = run(&text, machine, 1);
            let figures = finished(&result);
            // This holds for a broadcast on TH Express-2 too, which waits for all ranks in its barrier.
            assert!(figures.mean_end_us > 50.0, "{machine:?} {operation}: {figures:?}");
            assert!(
                figures.partner_us > 40.0 && figures.messages == 0,
                "{machine:?} {operation}: {figures:?}"
            );
        }
    }
}

/// Without software and with a progress thread a rank takes at least what it computes; each overhead makes it
/// take longer by what it is.
#[test]
fn overheads_are_what_they_are_set_to() {
    let machine =
        ["machine=bgq", "messaging.eager_max_B=100000", "messaging.send_ns=0", "messaging.receive_ns=0"];
    let end = |more: &[&str]| finished(&run(HALO, &with(&machine, more), 1)).clone();
    let plain = end(&[]);
    let slow = end(&["messaging.send_ns=1000", "messaging.receive_ns=500"]);
    // Six sends and six receives an iteration.
    assert!((slow.software_us - plain.software_us - 4.0 * 9.0).abs() < 1e-6, "{plain:?} {slow:?}");
    assert!(slow.last_end_us > plain.last_end_us + 20.0, "{plain:?} {slow:?}");
    let gaps = end(&["messaging.gap_ns=3000"]);
    assert!(gaps.last_end_us > plain.last_end_us + 4.0 * 5.0 * 2.0, "{plain:?} {gaps:?}");
    let copies = end(&["messaging.copy_GB_per_s=1.0"]);
    assert!((copies.software_us - plain.software_us - 4.0 * 12.0 * 3.0).abs() < 1e-6, "{copies:?}");
}

/// A machine whose file does not set the times of its messaging library runs programs with a warning; a time
/// of 0 gives none.
#[test]
fn a_library_that_takes_no_time_is_reported() {
    let warnings = |more: &[&str]| run(HALO, more, 1).warnings;
    for machine in ["machine=bgl", "machine=dragonfly"] {
        let reported = warnings(&[machine]);
        assert!(reported.len() == 1 && reported[0].contains("messaging.send_ns"), "{machine}: {reported:?}");
        let known = [machine, "messaging.send_ns=0", "messaging.receive_ns=0"];
        assert!(warnings(&known).is_empty(), "{machine}");
    }
    for machine in ["machine=bgq", "machine=xc", "machine=th"] {
        assert!(warnings(&[machine]).is_empty(), "{machine}");
    }
}

/// The real trace, from a file beside the studies.
#[test]
fn a_trace_runs_on_another_machine() {
    let text = HALO.replace(
        "{ kind = 'skeleton', program = 'halo', grid = [2, 2, 2], face_B = 3000, compute_ns = 2000, iterations = 4 }",
        "{ kind = 'trace', file = 'lulesh-64' }",
    );
    for machine in ["machine=bgl", "machine=bgq", "machine=xc"] {
        let result = run(&text, &[machine, "nodes=64"], 2);
        let figures = finished(&result);
        assert_eq!((figures.ranks, figures.messages), (64, 13_455), "{machine}");
        // A rank's computing time does not depend on the machine.
        assert!((2_600.0..2_700.0).contains(&figures.compute_us), "{machine}: {figures:?}");
        assert!((3_500.0..4_500.0).contains(&figures.last_end_us), "{machine}: {figures:?}");
    }
}

/// A message that is longer than its receive ends the run as an error that names both ranks.
#[test]
fn a_message_too_long_is_an_error() {
    let folder = std::env::temp_dir().join(format!("netloom-truncation-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let goal = "num_ranks 2\nrank 0 {\ns: send 100b to 1 tag 5\n}\nrank 1 {\nr: recv 64b from 0 tag 5\n}\n";
    std::fs::write(folder.join("short.goal"), goal).unwrap();
    let file = folder.join("short.goal");
    let text = format!(
        "name = 'short'\nmachine = 'bgl'\nnodes = 2\nworkload = {{ kind = 'trace', file = '{}' }}\nmeasure = {{ until = 'finished' }}\n",
        file.display()
    );
    for machine in ["machine=bgl", "machine=bgq", "machine=xc"] {
        let result = run(&text, &[machine], 1);
        assert_eq!(result.simulated.ended, Ended::Failed, "{machine}");
        let why = result.partial.unwrap();
        let expected = "receive: a message of 100 B from rank 0 to rank 1 with tag 5 is longer than its receive, which is of 64 B";
        assert!(why.ends_with(expected), "{machine}: {why}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}
