//! Benchmarks of messages between ranks, on every machine, over its own messaging library and network
//! interface.

mod common;

use common::{MACHINES, check_each};
use netloom_simulate::Fabric;
use netloom_study::claims;
use netloom_study::diagnose::SourceFile;
use netloom_study::resolve::{ResolvedStudy, resolve};
use netloom_study::result::{Ended, RunResult};
use netloom_study::run::{Quiet, Simulate};
use std::path::Path;
use std::sync::atomic::AtomicBool;

fn study(program: &str, machine: &[&str]) -> ResolvedStudy {
    // The pairs set their number of ranks, and some programs give it.
    let ranks = if program.contains("mbw_mr") || program.contains("ranks = ") { "" } else { "ranks = 8, " };
    let text = format!(
        "name = 'p2p'\nmachine = 'bgl'\nnodes = 8\n\
         workload = {{ kind = 'point-to-point', iterations = 3, sizes_B = [8, 4096], {ranks}{program} }}\n"
    );
    let sets: Vec<String> = machine.iter().map(|s| (*s).to_owned()).collect();
    let study = resolve(SourceFile::new("p2p.toml", text), Path::new("."), &sets);
    study.unwrap_or_else(|problem| panic!("{program}, {sets:?}: {problem:?}"))
}

fn run(study: &ResolvedStudy, threads: usize) -> RunResult {
    Fabric.simulate(study, &Quiet(&AtomicBool::new(false)), threads).unwrap()
}

/// A figure by the name that sweeps and claims have for it.
fn figure(study: &ResolvedStudy, result: &RunResult, key: &str) -> f64 {
    claims::figure(study, result, &format!("measured.{key}")).unwrap()
}

#[test]
fn every_machine_is_measured_and_threads_do_not_matter() {
    check_each(&MACHINES, |machine| {
        let of = |program: &str| {
            let study = study(program, machine);
            let result = run(&study, 1);
            assert_eq!((&result.partial, result.simulated.ended), (&None, Ended::Finished), "{machine:?}");
            assert_eq!(result.measured.len(), 1, "{machine:?}: {program}");
            assert_eq!(run(&study, 2).measured, result.measured, "{machine:?}: {program}");
            move |key: &str| figure(&study, &result, key)
        };
        let latency = of("program = 'latency'");
        let (short, long) = (latency("latency_us_at_8_B"), latency("latency_us_at_4096_B"));
        assert!(
            (0.001..10.0).contains(&short) && short < long && long < 60.0,
            "{machine:?}: {short}, {long}"
        );
        let far = of("program = 'latency', partner = 'farthest'")("latency_us_at_8_B");
        assert!(far >= short, "{machine:?}: {far}, {short}");
        let unidirectional = of("program = 'bw', window = 16");
        let [bandwidth, rate] =
            ["bandwidth_GB_per_s_at_4096_B", "message_rate_million_per_s_at_4096_B"].map(unidirectional);
        assert!((bandwidth / rate / 4.096 - 1.0).abs() < 1e-9, "{machine:?}: {bandwidth}, {rate}");
        // One message at a time carries less than a window of them.
        assert!(4.096 / long < bandwidth && bandwidth < 20.0, "{machine:?}: {bandwidth}");
        let bidirectional = of("program = 'bibw', window = 16")("bidirectional_bandwidth_GB_per_s_at_4096_B");
        assert!(
            (0.9..2.2).contains(&(bidirectional / bandwidth)),
            "{machine:?}: {bidirectional}, {bandwidth}"
        );
        let pairs = |pairs: u32| {
            let of = of(&format!("program = 'mbw_mr', window = 16, pairs = {pairs}"));
            of("aggregate_message_rate_million_per_s_at_8_B")
        };
        let (one, three) = (pairs(1), pairs(3));
        // Partners farther away may have more links between them.
        assert!((1.5..7.0).contains(&(three / one)), "{machine:?}: {three}, {one}");
        let neighbours = of("program = 'msgrate', window = 16, neighbours = 2");
        assert!(neighbours("injection_message_rate_million_per_s_at_8_B") > 0.0, "{machine:?}");
        let ring = of("program = 'random_ring', rings = 2")("bandwidth_per_rank_GB_per_s_at_4096_B");
        // What a rank sends at once to two, and one at a time.
        assert!((0.2..2.1).contains(&(ring / bandwidth)), "{machine:?}: {ring}, {bandwidth}");
        let shift = of("program = 'shift', distances = [3]")("bandwidth_per_rank_GB_per_s_at_4096_B");
        assert!((0.1..1.1).contains(&(shift / bandwidth)), "{machine:?}: {shift}, {bandwidth}");
    });
}

/// Nodes of Cray XC fetch long messages: of the 16 GB/s of their host interface, a 64 B line takes 128 B
/// upwards, a write of 88, a read request of 24 and 16 for what comes down ("Aries Performance":
/// "approximately 8 GB/s in each direction").
#[test]
fn nodes_that_fetch_from_each_other_fill_the_host_interface() {
    let sets = ["machine=xc", "topology.groups=1", "topology.cables=1", "workload.sizes_B=[262144]"];
    let program = "program = 'bibw', window = 8, partner = 4, warmup = 1";
    let study = study(program, &sets);
    let both = figure(&study, &run(&study, 2), "bidirectional_bandwidth_GB_per_s");
    assert!((15.0..16.0).contains(&both), "{both}");
}

/// A get and a put of PAMI take what packets of 512 B take of a link, 288 ns each with the gap behind it
/// (docs/validation-bgq.md), and less than 3 us at the ends. A get from a neighbour in E uses both links.
#[test]
fn gets_and_puts_of_pami_fill_their_links() {
    let wire_us = 512.0 * 0.288;
    for (neighbour, get_us, put_us) in [(1, wire_us, wire_us), (16, wire_us / 2.0, wire_us)] {
        let text = format!(
            "name = 'one-sided'\nmachine = 'bgq'\nset.topology.dims = [2, 2, 2, 2, 2]\n\
             workload = {{ kind = 'pami', program = 'one-sided', to = {neighbour}, bytes = 262144 }}\n\
             measure.until = 'finished'\n"
        );
        let study = resolve(SourceFile::new("one-sided.toml", text), Path::new("."), &[]).unwrap();
        let result = run(&study, 1);
        for (call, expected_us) in [("PAMI_Rget", get_us), ("PAMI_Rput", put_us)] {
            let us = 262_144.0 / figure(&study, &result, &format!("{call}_MB_per_s"));
            let range = expected_us..expected_us + 3.0;
            assert!(range.contains(&us), "{call} of node {neighbour}: {us} us, {expected_us}");
        }
    }
}

/// The same for ranks' messages, which are fetched: neighbours in A and in E.
#[test]
fn messages_from_a_neighbour_in_e_use_both_links() {
    let sets = ["machine=bgq", "topology.dims=[2, 2, 2, 2, 2]", "workload.sizes_B=[262144]"];
    let gb_per_s = |partner: u32| {
        let study = study(&format!("program = 'bw', window = 4, ranks = 32, partner = {partner}"), &sets);
        figure(&study, &run(&study, 1), "bandwidth_GB_per_s")
    };
    let (in_a, in_e) = (gb_per_s(1), gb_per_s(16));
    assert!((1.9..2.05).contains(&(in_e / in_a)), "{in_e}, {in_a}");
}

/// MPI's channels on TH Express-2: an immediate put is faster than a mini-packet, whose descriptor and packet
/// are longer (Pang et al., section 5). A hybrid takes the one until the other has been created.
#[test]
fn channels_of_th_express_differ() {
    let machine = ["machine=th", "topology.down=[8,2]", "messaging.glex.exclusive_ns=0"];
    let figure = |program: &str, key: &str, sets: &[&str]| {
        let study = study(program, &[&machine, sets].concat());
        figure(&study, &run(&study, 1), key)
    };
    let latency = |sets: &[&str]| figure("program = 'latency', warmup = 64", "latency_us_at_8_B", sets);
    let (shared, exclusive) = ("messaging.glex.channel=shared", "messaging.glex.channel=exclusive");
    let [by_mini_packet, by_put] = [latency(&[shared]), latency(&[exclusive])];
    assert!((0.35..0.5).contains(&(by_mini_packet - by_put)), "{by_mini_packet}, {by_put}");
    let hybrid = |after: u32| {
        let after = format!("messaging.glex.exclusive_after={after}");
        latency(&["messaging.glex.channel=hybrid", &after])
    };
    assert_eq!(hybrid(1000), by_mini_packet);
    assert!((hybrid(40) / by_put - 1.0).abs() < 0.01, "{}, {by_put}", hybrid(40));
    // A receiver without a ring refuses.
    assert_eq!(latency(&[exclusive, "messaging.glex.exclusive_max=0"]), by_mini_packet);
    // Each end takes the library's time.
    let slower = latency(&[exclusive, "messaging.glex.exclusive_ns=200"]);
    assert!((0.39..0.43).contains(&(slower - by_put)), "{slower}, {by_put}");
    // With one block at a time nothing overlaps.
    let bandwidth = |sets: &[&str]| {
        let program = "program = 'bw', window = 4";
        let sets = [sets, &["workload.sizes_B=[65536]"]].concat();
        figure(program, "bandwidth_GB_per_s", &sets)
    };
    let (many, one) = (bandwidth(&[shared]), bandwidth(&[shared, "messaging.glex.blocks=1"]));
    assert!(many > 1.5 * one, "{many}, {one}");
    // A processor needs 1.37 us to copy a block of 8 KiB, and 0.48 us to write the mini-packet that announces it.
    assert!((0.85..1.0).contains(&(many / (8.192 / 1.85))), "{many}");
    // Longer messages are not copied.
    assert!(bandwidth(&[shared, "messaging.eager_max_B=8192"]) > 1.6 * many);
}

/// A benchmark beside other traffic is one of several jobs, and measures that it is not alone.
#[test]
fn a_benchmark_may_be_a_job() {
    let text = "name = 'p2p'\nmachine = 'bgl'\nset.topology.dims = [4, 4, 4]\n\
                workload = { kind = 'jobs', alone = false, placement = 'round-robin', jobs = [\n\
                { nodes = 8, workload = { kind = 'point-to-point', program = 'latency', sizes_B = [512], partner = 5 } },\n\
                { nodes = 56, load = { packets_per_us = LOAD }, workload = { kind = 'uniform' } } ] }\n\
                measure.window_us = 5\n";
    let latency = |load: &str| {
        let study =
            resolve(SourceFile::new("p2p.toml", text.replace("LOAD", load)), Path::new("."), &[]).unwrap();
        let result = run(&study, 2);
        assert_eq!(result.measured[0].title, "job 1: Latency, ranks 0 and 5, 2 hops", "{:?}", result.partial);
        figure(&study, &result, "latency_us")
    };
    let (quiet, busy) = (latency("0.00175"), latency("0.7"));
    assert!(busy > 1.02 * quiet, "{busy}, {quiet}");
}

/// The figures can be expected and claimed.
#[test]
fn figures_are_expected_by_their_names() {
    let mut study = study("program = 'latency'", &[]);
    study.study.expect.insert("measured.latency_us_at_8_B".into(), (0.0, 1000.0));
    let result = run(&study, 1);
    assert!(netloom_study::run::unmet(&study, &result).is_empty());
    study.study.expect.insert("measured.latency_us".into(), (0.0, 1000.0));
    assert!(netloom_study::run::unmet(&study, &result)[0].contains("is not a number"));
}
