//! How runs end, and what is said of those that are shorter than what is measured.

use netloom_report::{terminal, write};
use netloom_simulate::Fabric;
use netloom_study::diagnose::SourceFile;
use netloom_study::resolve::resolve;
use netloom_study::result::{Ended, RunResult};
use netloom_study::run::{Quiet, Simulate};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// A run, with what a person and a program read of it.
struct Run {
    result: RunResult,
    summary: String,
    json: serde_json::Value,
    page: String,
}

fn run_in(folder: &Path, text: &str, sets: &[&str]) -> Run {
    let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
    let study = resolve(SourceFile::new("study.toml", text), folder, &sets).unwrap();
    let result = Fabric.simulate(&study, &Quiet(&AtomicBool::new(false)), 1).unwrap();
    let plots = write::plots(&study, &result);
    Run {
        summary: terminal::summary(&study, &result, &[]),
        json: serde_json::from_str(&write::summary::to_json(&study, &result, &[])).unwrap(),
        page: write::report::to_html(&study, &result, &plots, &[]),
        result,
    }
}

fn run(text: &str, sets: &[&str]) -> Run {
    run_in(Path::new("."), text, sets)
}

fn refused(text: &str, sets: &[&str]) -> String {
    let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
    let study = resolve(SourceFile::new("study.toml", text), Path::new("."), &sets);
    study.err().map(|problem| problem.render(false)).expect("this should be refused")
}

fn assert_mentions(text: &str, expected: &[&str]) {
    for expected in expected {
        assert!(text.contains(expected), "{expected} in {text}");
    }
}

const TRAFFIC: &str = "name = 'traffic'\nmachine = 'bgl'\nset.topology.dims = [4, 4, 4]\n\
                       workload.kind = 'uniform'\ntraffic.load.link_utilization = 0.3\nmeasure.per_link = false\n";

/// A program that computes for 2 ms before it sends anything: a mean of nothing never converges.
#[test]
fn a_program_ends_when_it_has_finished() {
    let folder = tempfile::tempdir().unwrap();
    let trace = "num_ranks 2\nrank 0 {\nl1: calc 2000000\nl2: send 1000b to 1\nl2 requires l1\n}\n\
                 rank 1 {\nl1: recv 1000b from 0\n}\n";
    std::fs::write(folder.path().join("late.goal"), trace).unwrap();
    let study = "name = 'late'\nmachine = 'bgl'\nset.topology.dims = [4, 4]\nworkload.kind = 'trace'\n\
                 workload.file = 'late.goal'\n";
    for sets in [&[][..], &["measure.until=converged"]] {
        let run = run_in(folder.path(), study, sets);
        assert_eq!((run.result.simulated.ended, &run.result.partial), (Ended::Finished, &None));
        let (end, run_time) = (run.result.simulated.us, run.result.simulated.run_time_us.unwrap());
        assert!((2000.0..2100.0).contains(&run_time) && run_time <= end, "{run_time} us of {end} us");
        assert_eq!(run.result.programs.as_ref().unwrap().messages, 1);
        assert_eq!(run.json["simulated"]["ended"], "finished");
        assert_mentions(&run.summary, &["ended                 finished: "]);
        assert_mentions(&run.page, &["us simulated \u{b7} finished<"]);
    }
    // A rank that waits for what never comes.
    let lost = trace.replace("send 1000b to 1", "send 1000b to 1 tag 3").replace("from 0", "from 0 tag 4");
    std::fs::write(folder.path().join("late.goal"), lost).unwrap();
    let run = run_in(folder.path(), study, &[]);
    assert_eq!((run.result.simulated.ended, run.result.simulated.run_time_us), (Ended::Stalled, None));
    assert_mentions(&run.summary, &["PARTIAL RESULT: 1 of 2 ranks never end", "stalled: "]);
    // One that sends a message that is never received.
    let unreceived = "num_ranks 2\nrank 0 {\nl1: send 100000b to 1\n}\nrank 1 {\nl1: calc 1000\n}\n";
    std::fs::write(folder.path().join("late.goal"), unreceived).unwrap();
    let run = run_in(folder.path(), study, &["messaging.eager_max_B=1000"]);
    assert_mentions(&run.summary, &["rank 0 waits for rank 1 to receive its message"]);
    // One that is sent whole, and has come before the receiver's end or comes later.
    for (calc, one) in [(1000, None), (1_000_000, Some("as one from rank 0 to rank 1 with tag 0"))] {
        let short = unreceived.replace("100000b", "5b").replace("calc 1000", &format!("calc {calc}"));
        std::fs::write(folder.path().join("late.goal"), short).unwrap();
        let run = run_in(folder.path(), study, &[]);
        assert_eq!((run.result.simulated.ended, &run.result.partial), (Ended::Finished, &None));
        let warning = run.result.warnings.iter().find(|text| text.contains("sent and never received"));
        let warning = warning.unwrap_or_else(|| panic!("{:?}", run.result.warnings));
        assert!(
            warning.starts_with("1 message was") && one.is_none_or(|one| warning.contains(one)),
            "{warning}"
        );
    }
}

/// Windows become longer instead of many, and times have an end.
#[test]
fn programs_may_compute_for_long() {
    let folder = tempfile::tempdir().unwrap();
    let study = "name = 'x'\ntitle = 'x'\nmachine = 'bgq'\nset.topology.dims = [2, 2, 2, 2, 2]\nworkload.kind = 'trace'\n\
                 workload.file = 'long.goal'\n";
    let run = |calc: u64| {
        let trace = format!(
            "num_ranks 2\nrank 0 {{\na: calc {calc}\nb: send 5000b to 1\nb requires a\n}}\nrank 1 {{\nl: recv 5000b from 0\n}}\n"
        );
        std::fs::write(folder.path().join("long.goal"), trace).unwrap();
        run_in(folder.path(), study, &[])
    };
    let (short, long) = (run(1_000_000), run(100_000_000_000));
    for (run, us) in [(&short, 1e3), (&long, 1e8)] {
        assert_eq!((run.result.simulated.ended, &run.result.partial), (Ended::Finished, &None));
        let run_time = run.result.simulated.run_time_us.unwrap();
        assert!((us..us + 20.0).contains(&run_time), "{run_time}");
        let series = &run.result.series;
        assert!(!series.is_empty() && series.iter().all(|curve| curve.values.len() <= 1 << 14));
        let length = series[0].window_us * series[0].values.len() as f64;
        assert!((0.9 * us..=us + 20.0).contains(&length), "{length}");
    }
    assert_eq!(short.result.totals.packet_hops, long.result.totals.packet_hops);
    let never = run(u64::MAX);
    assert_eq!(never.result.simulated.ended, Ended::TimeLimit);
    assert_mentions(
        &never.summary,
        &["PARTIAL RESULT: reached 1,729 s, the longest time of a run on this machine"],
    );
}

#[test]
fn traffic_ends_as_it_is_asked_to() {
    let run = |sets: &[&str]| run(TRAFFIC, sets);
    let converged = run(&["measure.half_width=0.1"]);
    assert_eq!(converged.json["simulated"]["ended"], "converged");
    assert_mentions(&converged.summary, &["ended                 converged: "]);
    let limited = run(&["measure.max_time_us=400", "measure.half_width=1e-6"]);
    assert_eq!(limited.json["simulated"]["ended"], "time-limit");
    assert_mentions(&limited.summary, &["PARTIAL RESULT: reached max_time_us", "time limit: "]);
    let finished = run(&["traffic.packets_per_node=3", "measure.until=finished"]);
    assert_eq!(finished.json["simulated"]["ended"], "finished");
    assert_mentions(&finished.summary, &["finished: "]);
}

#[test]
fn old_names_are_refused_with_the_new_ones() {
    let study = |line: &str| format!("{TRAFFIC}{line}\n");
    let window =
        ["`measure.window_cycles` is now called `measure.window_us`", "in microseconds instead of ticks"];
    assert_mentions(&refused(&study("measure.window_cycles = 500"), &[]), &window);
    assert_mentions(&refused(&study("measure.window_cycles = 500"), &[]), &["study.toml:7:9"]);
    assert_mentions(&refused(TRAFFIC, &["measure.window_cycles=500"]), &window);
    assert_mentions(&refused(&study("quick.measure.window_cycles = 500"), &[]), &window);
    assert_mentions(&refused(&study("sweep.'measure.window_cycles' = [500, 600]"), &[]), &window);
    assert_mentions(
        &refused(&study("sweep.curve = [{ name = 'a', measure.window_cycles = 5 }]"), &[]),
        &window,
    );
    assert_mentions(&refused(TRAFFIC, &["measure.warmup=5"]), &["is now called `measure.warmup_us`"]);
    assert_mentions(
        &refused(&study("measure.until = 'steady'"), &[]),
        &["is now called \"converged\"", "study.toml:7:17"],
    );
    assert_mentions(
        &refused(&study("sweep.measure.until = ['time', 'done']"), &[]),
        &["is now called \"finished\""],
    );
    assert_mentions(&refused(TRAFFIC, &["measure.until=done"]), &["write measure.until = \"finished\""]);
}

/// All studies that come with Netloom use the names of today; their windows are what they were in ticks.
#[test]
fn the_studies_have_no_old_names() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let folders = std::fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path());
    let folders: Vec<_> = folders.filter(|path| path.is_dir()).chain([root.clone()]).collect();
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let files: Vec<_> = files.map(|entry| entry.unwrap().path()).filter(|p| p.is_file()).collect();
    assert!(files.len() > 40, "{files:?}");
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
        let study = resolve(SourceFile::new(&name, text), path.parent().unwrap(), &[]);
        let study = study.unwrap_or_else(|problem| panic!("{}", problem.render(false)));
        let expected = match name.as_str() {
            "bgl/figure-2.toml" | "bgl/figure-4.toml" | "bgl/figure-6.toml" => 5000,
            "bgl/arbitration-gap.toml" => 200,
            "bgq/zones.toml" => 160_000,
            "bgq/nearest-neighbour.toml" => 8_000_000,
            "xc/loads.toml" | "xc/taper.toml" | "th/taper.toml" => 500,
            "xc/quiet.toml" => 100_000,
            "fft.toml" | "halo.toml" => 1000,
            "bgl/figure-3.toml" | "xc/allreduce.toml" | "th/latency.toml" | "lulesh.toml" => 10_000,
            _ => continue,
        };
        assert_eq!(study.window(), expected, "{name}");
        let of_shape = |warning: &String| warning.starts_with("topology.dims has 4 dimensions");
        let mut warnings = study.warnings();
        warnings.retain(|warning| !(name == "bgq/zones.toml" && of_shape(warning)));
        assert_eq!(warnings, Vec::<String>::new(), "{name}");
    }
}

#[test]
fn windows_are_given_in_time() {
    let window = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
        resolve(SourceFile::new("study.toml", TRAFFIC), Path::new("."), &sets).unwrap().window()
    };
    assert_eq!(window(&[]), 10_000);
    assert_eq!(window(&["measure.window_us=28.5714"]), 5000);
    assert_eq!(window(&["machine=bgq", "measure.window_us=10"]), 80_000);
    let text = refused(TRAFFIC, &["measure.window_us=0.001"]);
    assert_mentions(
        &text,
        &["`measure.window_us`", "at least a tick of this machine, 0.0057 us, found 0.001"],
    );
    assert_mentions(&refused(TRAFFIC, &["measure.window_us=0"]), &["expected a time above 0 us, found 0"]);
}

/// A run shorter than its windows has shorter ones; a warm-up that is not left out is reported.
#[test]
fn short_runs_are_reported() {
    let short = ["measure.until=time", "measure.time_us=40"];
    let cold = run(TRAFFIC, &short);
    assert_eq!(cold.result.simulated.ended, Ended::TimeLimit);
    let [windows, warmup] = &cold.result.warnings[..] else { panic!("{:?}", cold.result.warnings) };
    assert_mentions(
        windows,
        &[
            "a measuring window of 57.1 us does not fit into the 40.0 us that are measured: windows of 2.00 us",
        ],
    );
    assert_mentions(warmup, &["measure.warmup_us is \"auto\"", "the means include the start of the run"]);
    assert!(cold.result.series.iter().all(|series| series.values.len() == 20));
    assert_mentions(&cold.summary, &["WARNING: a measuring window", "WARNING: measure.warmup_us"]);
    assert_mentions(&cold.page, &["<b>Warning:</b> a measuring window"]);
    assert_eq!(cold.json["warnings"].as_array().unwrap().len(), 2);
    assert_eq!(cold.json["simulated"]["window_us"], 2.0);
    // With a warm-up that leaves less than a window.
    let warm = run(TRAFFIC, &["measure.until=time", "measure.time_us=60", "measure.warmup_us=20"]);
    assert_eq!((warm.result.simulated.measured_from_us, warm.result.warnings.len()), (20.0, 1));
    assert_eq!(warm.result.partial, None);
    let text = refused(TRAFFIC, &["measure.max_time_us=50", "measure.warmup_us=50"]);
    assert_mentions(&text, &["`measure.warmup_us`", "expected less than the run's 50 us, found 50"]);
    // Traffic that ends within the first window: no empty charts.
    let burst =
        ["workload.kind=nearest-neighbour", "traffic={}", "traffic.load=burst", "measure.until=finished"];
    let long = run(TRAFFIC, &[&burst[..], &["measure.window_us=57"]].concat());
    assert_mentions(
        &long.result.warnings[0],
        &["within its first measuring window of 57.0 us: there are no curves"],
    );
    assert!(long.result.series.is_empty() && !long.page.contains("over simulated time"));
    // Unless the study does not set the windows.
    let burst = run(TRAFFIC, &burst);
    assert_mentions(&burst.result.warnings[0], &["a measuring window of 57.1 us does not fit into the "]);
    assert!(burst.result.series.iter().all(|series| series.values.len() >= 20));
    // That nothing is left to do is seen within a hop.
    assert!(burst.result.simulated.ticks.abs_diff(long.result.simulated.ticks) < 17);
    assert_eq!(burst.result.latency, long.result.latency);
    // A run whose warm-up is never over.
    let whole = run(TRAFFIC, &["traffic.packets_per_node=30", "measure.half_width=1e-6"]);
    assert_mentions(whole.result.warnings.last().unwrap(), &["finished before its warm-up was over"]);
    // A run in which nothing arrives.
    let load = ["traffic.load={packets_per_us=1e-10}", "measure.max_time_us=2000"];
    let idle = run(TRAFFIC, &load);
    assert_eq!(idle.json["simulated"]["ended"], "time-limit");
    assert_mentions(idle.result.warnings.last().unwrap(), &["no packet arrived in the measured part"]);
}
