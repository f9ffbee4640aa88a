//! The command as its users meet it: the program itself for what needs no simulation, its library with a
//! stand-in for the simulator for the rest.

mod checkpoint;
#[path = "../../../report/tests/common/mod.rs"]
mod common;
mod threads;

use common::Fake;
use netloom_cli::{FAILED, MISTAKE, OK, STOPPED, World, run};
use netloom_study::diagnose::Problem;
use netloom_study::run::Simulate;
use netloom_validate::judges::{Bench, Finding, Judge};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::AtomicBool;

fn netloom(args: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    Command::new(env!("CARGO_BIN_EXE_netloom")).args(args).current_dir(folder.path()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Status, standard output and standard error of a command with a simulator of the test's.
fn with(simulator: &dyn Simulate, judges: &[Judge], args: &[&str]) -> (u8, String, String) {
    with_stop(false, simulator, judges, args)
}

/// The same, and it may be stopped at once.
fn with_stop(stop: bool, simulator: &dyn Simulate, judges: &[Judge], args: &[&str]) -> (u8, String, String) {
    let stop = AtomicBool::new(stop);
    let world = World { simulator, gpu: None, judges, stop: &stop, memory: Some(4 << 30), peers: None };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let args = ["netloom"].iter().chain(args).copied();
    let status = run(args, &world, &mut out, &mut err).unwrap();
    (status, text(&out), text(&err))
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_machine_to_start_from_is_valid_and_what_it_rounds_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    for kind in ["torus", "dragonfly", "fat-tree"] {
        let output = netloom(&["machines", "new", kind]);
        std::fs::write(&file, &output.stdout).unwrap();
        let output = netloom(&["machines", "check", path(&file)]);
        let reported = text(&output.stdout);
        assert!(
            output.status.success() && reported.contains("is valid") && !reported.contains("rounded"),
            "{reported}"
        );
    }
    let output = netloom(&["machines", "check", "bgl", "--set", "link.wire_ns=30"]);
    let reported = text(&output.stdout);
    assert!(
        reported.contains("link.wire_ns = 30 ns is simulated as 28.5714 ns (-4.8%): wire_ticks = 5"),
        "{reported}"
    );
    let output = netloom(&["machines", "describe", "xc", "--ticks"]);
    assert!(text(&output.stdout).contains("latency_ticks = 50"), "{}", text(&output.stdout));
    assert_eq!(netloom(&["machines", "new", "ring"]).status.code(), Some(2));
}

/// The simulator on a graphics processor is another one, is said to be missing where it is not built in, and is
/// for one run.
#[test]
fn a_run_on_a_gpu() {
    let folder = tempfile::tempdir().unwrap();
    let study = |name: &str, of: &str| {
        let file = folder.path().join(format!("{name}.toml"));
        std::fs::write(
            &file,
            format!("name = \"{name}\"\nmachine = \"bgl\"\n{of}\n[workload]\nkind = \"uniform\"\n"),
        )
        .unwrap();
        file
    };
    let (one, many) = (study("one", ""), study("many", "[sweep]\nseed = [1, 2]\n"));
    let out = folder.path().join("out");
    let (status, _, err) = with(&Fake::default(), &[], &["run", path(&one), "--gpu", "--out", path(&out)]);
    assert!(status == MISTAKE && err.contains("--features gpu") && !out.exists(), "{err}");
    let (status, _, err) = with(&Fake::default(), &[], &["sweep", path(&many), "--gpu", "--out", path(&out)]);
    assert!(status == MISTAKE && err.contains("--gpu is for one run") && !out.exists(), "{err}");

    let (threads, device) = (Fake::default(), Fake::default());
    let stop = AtomicBool::new(false);
    // Less memory than the machine has here: it is the device's.
    let world = World {
        simulator: &threads,
        gpu: Some(&device),
        judges: &[],
        stop: &stop,
        memory: Some(1 << 20),
        peers: None,
    };
    let (mut said, mut err) = (Vec::new(), Vec::new());
    let args = ["netloom", "run", path(&one), "--gpu", "--out", path(&out)];
    assert_eq!(run(args, &world, &mut said, &mut err).unwrap(), OK, "{}", text(&err));
    assert_eq!((threads.runs.into_inner(), device.runs.into_inner()), (0, 1));
}

#[test]
fn help_teaches() {
    for (args, expected) in [
        (vec!["--help"], "netloom machines describe bgl"),
        (vec!["run", "--help"], "--set topology.dims=[16,16,16]"),
        (vec!["sweep", "--help"], "resumes where it was"),
        (vec!["machines", "--help"], "netloom machines new dragonfly > mine.toml"),
        (vec!["validate", "--help"], "paper.table[row].column"),
        (vec!["completions", "--help"], "bash-completion"),
    ] {
        let output = netloom(&args);
        assert!(output.status.success());
        assert!(text(&output.stdout).contains(expected), "{args:?}: {}", text(&output.stdout));
    }
}

#[test]
fn machines_are_described() {
    let output = netloom(&["machines", "describe", "bgl", "--set", "topology.dims=[8,8,8]"]);
    let described = text(&output.stdout);
    for expected in
        ["512", "3,072 (each direction counted)", "175 MB/s", "97.1 ns", "44.8 GB/s", "100.0% of the links"]
    {
        assert!(described.contains(expected), "{expected} in {described}");
    }
    assert!(text(&netloom(&["machines"]).stdout).contains("bgl"));
    assert!(text(&netloom(&["machines", "show", "bgl"]).stdout).contains("[T 2]"));
    assert!(text(&netloom(&["machines", "check", "bgl"]).stdout).contains("is valid"));
    let json = netloom(&["machines", "describe", "bgl", "--json"]).stdout;
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["facts"]["nodes"], 32_768);
}

#[test]
fn machines_of_cabinets_are_described() {
    let output = netloom(&["machines", "describe", "xc", "--groups", "8", "--cables", "34"]);
    let described = text(&output.stdout);
    for expected in [
        "3,072",
        "952 between groups",
        "20,400 GB/s over 544 cables",
        "warning: topology.cables",
        "16, 48 chassis",
    ] {
        assert!(described.contains(expected), "{expected} in {described}");
    }
    let grow = ["machines", "describe", "xc", "--upgrade-to-groups", "8"];
    let described = text(&netloom(&grow).stdout);
    assert!(described.contains("to 8 groups: 180 cables stay, 0 are removed, 156 are new"), "{described}");
    let json = netloom(&[&grow[..], &["--json"]].concat()).stdout;
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(
        (&json["upgrade"]["kept"], &json["facts"]["packaging"]["cabinets"]),
        (&180.into(), &12.into())
    );
    let output = netloom(&["machines", "describe", "dragonfly", "--upgrade-to-groups", "20"]);
    assert_eq!(output.status.code(), Some(i32::from(MISTAKE)));
    assert!(text(&output.stderr).contains("has no bundles of cables"), "{}", text(&output.stderr));
    let output = netloom(&["machines", "describe", "bgl", "--groups", "2"]);
    assert!(text(&output.stderr).contains("unknown key `topology.groups`"), "{}", text(&output.stderr));
}

#[test]
fn completions_are_printed() {
    for shell in ["bash", "zsh", "fish"] {
        let output = netloom(&["completions", shell]);
        assert!(output.status.success() && text(&output.stdout).contains("netloom"));
    }
}

#[test]
fn mistakes_have_their_own_status() {
    let output = netloom(&["run", "all-to-all", "--set", "router.pahts=1"]);
    assert_eq!(output.status.code(), Some(i32::from(MISTAKE)));
    let reported = text(&output.stderr);
    assert!(reported.contains("--set:1:8") && reported.contains("did you mean `paths`?"), "{reported}");
    assert!(!reported.contains('\u{1b}'), "no colours without a terminal");

    let output = netloom(&["run", "all-to-al"]);
    assert!(text(&output.stderr).contains("did you mean `all-to-all`?"));
    let output = netloom(&["run", "all-to-all", "--json", "--set", "seed=x"]);
    let error: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(error["error"]["file"], "--set");
    assert_eq!(error["error"]["line"], 1);
    assert_eq!(error["other_errors"], serde_json::Value::Null);
    let output =
        netloom(&["run", "all-to-all", "--json", "--set", "sed=1", "--set", "traffic.routng=static"]);
    let error: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(error["other_errors"].as_array().map(Vec::len), Some(1), "{error}");
    assert_eq!(netloom(&["runn"]).status.code(), Some(i32::from(MISTAKE)));
    assert_eq!(netloom(&["run", "all-to-all", "--threads", "0"]).status.code(), Some(i32::from(MISTAKE)));
}

/// Wherever it is called: no file of the repository is needed.
#[test]
fn all_studies_are_built_in() {
    let listed = text(&netloom(&["studies"]).stdout);
    for name in ["all-to-all ", "xc/put-rates ", "programs/lulesh "] {
        assert!(listed.contains(name), "{listed}");
    }
    let json: serde_json::Value =
        serde_json::from_slice(&netloom(&["studies", "list", "--json"]).stdout).unwrap();
    assert!(json.as_array().unwrap().len() > 50 && json[0]["points"].is_number());
    assert!(text(&netloom(&["studies", "show", "xc/put-rates"]).stdout).contains("put-rates"));
    let reported = text(&netloom(&["run", "put-rates"]).stderr);
    assert!(reported.contains("did you mean `xc/put-rates`?"), "{reported}");
    let reported = text(&netloom(&["studies", "show", "nothing"]).stderr);
    assert!(reported.contains("no built-in study `nothing`"), "{reported}");
}

#[test]
fn either_verb_runs_the_study_as_written() {
    let root = tempfile::tempdir().unwrap();
    let (one, many) = (root.path().join("one"), root.path().join("many"));
    let set = ["--set", "topology.dims=[4,4,4]", "--threads", "1", "--out"];
    let args = [&["sweep", "all-to-all"][..], &set, &[path(&one)]].concat();
    let (status, _, reported) = with(&Fake::default(), &[], &args);
    assert!(
        status == OK && reported.contains("one run follows") && one.join("summary.json").is_file(),
        "{reported}"
    );
    let args = [&["run", "light-traffic"][..], &set, &[path(&many)]].concat();
    let (_, shown, reported) = with(&Fake::default(), &[], &args);
    assert!(reported.contains("runs follow") && many.join("sweep.csv").is_file(), "{reported}{shown}");
}

#[test]
fn results_are_compared() {
    let root = tempfile::tempdir().unwrap();
    let [a, b, page] = ["a", "b", "page.html"].map(|name| root.path().join(name));
    for (out, seed) in [(&a, "seed=1"), (&b, "seed=2")] {
        let small = ["run", "all-to-all", "--set", "topology.dims=[4,4,4]", "--threads", "1"];
        let args = [&small[..], &["--set", seed, "--out", path(out)]].concat();
        assert_eq!(with(&Fake::default(), &[], &args).0, OK);
    }
    let args = ["compare", path(&a), path(&b), "--html", path(&page)];
    let (status, shown, reported) = with(&Fake::default(), &[], &args);
    assert!(
        status == OK && shown.contains("seed") && reported.contains("Page:") && page.is_file(),
        "{shown}{reported}"
    );
    let (_, json, _) = with(&Fake::default(), &[], &["compare", path(&a), path(&b), "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["configuration"][0]["key"], "seed");
    let (_, shown, _) = with(&Fake::default(), &[], &["compare", path(&a), path(&a)]);
    assert!(shown.contains("figures are the same."), "{shown}");
    let (status, _, reported) = with(&Fake::default(), &[], &["compare", path(&a), path(root.path())]);
    assert!(status == MISTAKE && reported.contains("holds no result"), "{reported}");
}

#[test]
fn keys_and_commands_are_explained() {
    let reported = text(&netloom(&["help", "keys", "measure.window_us"]).stdout);
    assert!(reported.contains("us") && reported.contains("type"), "{reported}");
    assert!(text(&netloom(&["help", "run"]).stdout).contains("--force-memory"));
    assert!(text(&netloom(&["help", "machines", "show"]).stdout).contains("MACHINE"));
    let wrong = netloom(&["help", "keys", "measure.window_u"]);
    assert_eq!(wrong.status.code(), Some(i32::from(MISTAKE)));
    assert!(text(&wrong.stderr).contains("did you mean `measure.window_us`?"));
    assert!(text(&netloom(&["help", "runn"]).stderr).contains("did you mean `run`?"));
    assert!(
        text(&netloom(&["man"]).stdout).starts_with(".ie") || text(&netloom(&["man"]).stdout).contains(".TH")
    );
}

#[test]
fn a_run_writes_a_folder_and_never_over_another() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("result");
    let args = ["run", "all-to-all", "--set", "topology.dims=[4,4,4]", "--out", path(&out), "--threads", "1"];
    let (status, shown, reported) = with(&Fake::default(), &[], &args);
    assert_eq!(status, OK, "{reported}");
    assert!(shown.contains("mean utilization") && shown.contains("64 nodes"), "{shown}");
    assert!(reported.contains("report.html"));
    for file in
        ["summary.json", "study.toml", "series.parquet", "links.parquet", "latency.parquet", "links-x.svg"]
    {
        assert!(out.join(file).is_file(), "{file}");
    }
    let before = std::fs::read(out.join("summary.json")).unwrap();
    let (status, _, reported) = with(&Fake::default(), &[], &args);
    assert_eq!(status, MISTAKE);
    assert!(reported.contains("already exists") && reported.contains("--force"), "{reported}");
    assert_eq!(std::fs::read(out.join("summary.json")).unwrap(), before);
    let forced: Vec<&str> = args.iter().copied().chain(["--force", "--json"]).collect();
    let (status, shown, _) = with(&Fake::default(), &[], &forced);
    assert_eq!(status, OK);
    let summary: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(summary["host"]["threads"], 1);
    // What a run wrote repeats it.
    let again = root.path().join("again");
    let study = out.join("study.toml");
    assert_eq!(
        with(&Fake::default(), &[], &["run", path(&study), "--out", path(&again), "--threads", "1"]).0,
        OK
    );
    assert_eq!(std::fs::read(again.join("summary.json")).unwrap(), before);
}

#[test]
fn a_sweep_goes_on_when_asked_again() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("sweep");
    let args =
        ["sweep", "light-traffic", "--set", "topology.dims=[4,4]", "--out", path(&out), "--threads", "2"];
    let stopped = Fake { stop_at: Some(3), ..Fake::default() };
    let (status, shown, reported) = with(&stopped, &[], &args);
    assert_eq!(status, STOPPED);
    assert!(shown.contains("not run") && reported.contains("9 of 12 points to go"), "{shown}{reported}");
    let (status, shown, _) = with(&Fake::default(), &[], &args);
    assert_eq!(status, OK);
    assert!(!shown.contains("not run"));
    let other = ["sweep", "light-traffic", "--set", "seed=9", "--out", path(&out)];
    assert_eq!(with(&Fake::default(), &[], &other).0, MISTAKE, "another sweep does not go into this folder");
}

fn right(_: &Bench) -> Result<Vec<Finding>, Problem> {
    let id = "bgl.all_to_all_32k.link_utilization".to_owned();
    Ok(vec![Finding::run(id, 0.975, "a stand-in")])
}

fn almost_right(_: &Bench) -> Result<Vec<Finding>, Problem> {
    Ok(vec![Finding::run("bgl.all_to_all_32k.link_utilization", 0.976, "a stand-in")])
}

fn wrong(_: &Bench) -> Result<Vec<Finding>, Problem> {
    let id = "bgl.all_to_all_32k.link_utilization".to_owned();
    Ok(vec![Finding::run(id, 0.8, "a stand-in")])
}

#[test]
fn validation_fails_when_a_figure_does() {
    let judge = |judge| [Judge { table: "bgl.all_to_all_32k", judge }];
    let args = ["validate", "bgl.all_to_all_32k", "--json"];
    let (status, shown, _) = with(&Fake::default(), &judge(right), &args);
    assert_eq!(status, OK);
    let entries: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(entries[0]["id"], "bgl.all_to_all_32k.link_utilization");
    assert_eq!(entries[0]["verdict"], "pass");
    assert_eq!(entries[0]["role"], "predict");
    assert_eq!(entries[1]["verdict"], "not-run");
    let keys: Vec<&str> = entries[0].as_object().unwrap().keys().map(String::as_str).collect();
    let expected =
        "id quantity setup unit published simulated difference tolerance role kind evidence verdict note";
    assert_eq!(keys.join(" "), expected);

    let (status, shown, _) = with(&Fake::default(), &judge(wrong), &["validate", "bgl.all_to_all_32k"]);
    assert_eq!(status, FAILED);
    assert!(
        shown.contains("fail") && shown.contains("predictions measured in runs: 0 pass, 1 fail"),
        "{shown}"
    );
    assert_eq!(with(&Fake::default(), &[], &["validate", "bgl.all_to_all"]).0, MISTAKE);
    assert_eq!(with(&Fake::default(), &[], &["validate"]).0, OK);
}

#[test]
fn verdicts_are_recorded_and_compared() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("verdicts.toml");
    std::fs::write(
        &list,
        "# Why.\n\n[full]\n\"bgl.all_to_all_32k.link_utilization\" = \"fail\"\n\n[quick]\n",
    )
    .unwrap();
    let judge = |judge| [Judge { table: "bgl.all_to_all_32k", judge }];
    let validate = |judges: &[Judge], flag: &str| {
        with(&Fake::default(), judges, &["validate", "bgl.all_to_all_32k", flag, path(&list)])
    };
    // Better than the list: no failure, but the list is out of date.
    let (status, _, reported) = validate(&judge(right), "--against");
    assert_eq!(status, OK);
    assert!(
        reported.contains("was fail, is pass") && reported.contains("out of date; `--record "),
        "{reported}"
    );
    assert_eq!(validate(&judge(right), "--record").0, OK);
    let text = std::fs::read_to_string(&list).unwrap();
    assert!(text.contains("link_utilization\" = { verdict = \"pass\", simulated = 0.975 }"), "{text}");
    let (status, _, reported) = validate(&judge(right), "--against");
    assert!(status == OK && !reported.contains("out of date"), "{reported}");
    let (status, _, reported) = validate(&judge(wrong), "--against");
    assert!(status == FAILED && reported.contains("worse: "), "{reported}");
    // What was recorded within a day is not judged again.
    let resume = ["validate", "bgl.all_to_all_32k", "--record", path(&list), "--resume"];
    let (status, shown, reported) = with(&Fake::default(), &judge(wrong), &resume);
    assert!(status == OK && !reported.contains("judging") && !shown.contains("fail "), "{shown}{reported}");
    assert!(reported.contains("2 figures are left out, as the list has them; 0 of them fail"), "{reported}");
    // What failed then fails still.
    assert_eq!(validate(&judge(wrong), "--record").0, FAILED);
    let (status, _, reported) = with(&Fake::default(), &judge(right), &resume);
    assert!(status == FAILED && reported.contains("1 of them fail"), "{reported}");
    assert_eq!(validate(&judge(right), "--record").0, OK);
    let quick = [&resume[..], &["--quick"]].concat();
    let (_, _, reported) = with(&Fake::default(), &judge(right), &quick);
    assert!(reported.contains("judging bgl.all_to_all_32k"), "{reported}");
    // Another figure under the same verdict.
    let (status, _, reported) = validate(&judge(almost_right), "--against");
    assert!(
        status == FAILED
            && reported.contains("changed: bgl.all_to_all_32k.link_utilization was 0.975, is 0.976")
    );
}

#[test]
fn the_bench_compares_with_its_budgets() {
    let (status, shown, _) = with(&Fake::default(), &[], &["bench", "--quick"]);
    assert_eq!(status, OK);
    assert!(shown.contains("18.40 M") && shown.contains("MISSED"), "{shown}");
}

/// Memory of a task, with its node's if it has one of its own, in the few kilobytes that it is known to take.
#[test]
#[cfg(target_os = "linux")]
fn the_bench_of_memory_has_bytes_per_task() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_netloom"));
    let output = command.args(["bench", "memory", "--quick", "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let figures: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let cases = figures["cases"].as_array().unwrap();
    assert_eq!(cases.iter().map(|case| case["tasks"].as_u64()).collect::<Vec<_>>(), [Some(4096); 4]);
    for (case, most) in cases.iter().zip([30e3, 60e3, 30e3, 60e3]) {
        assert!((5e3..most).contains(&case["bytes_per_task"].as_f64().unwrap()), "{figures}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn the_bench_of_messages_has_all_figures() {
    let bench = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_netloom"));
        command.args(["bench", "messaging", "--quick"]).args(args).output().unwrap()
    };
    let output = bench(&["--json"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    if errors.contains("one core only") {
        return;
    }
    assert!(output.status.success(), "{errors}");
    let figures: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let cases = figures["cases"].as_array().unwrap();
    let number = |case: &serde_json::Value, key: &str| case[key].as_f64().unwrap();
    assert!(cases.iter().all(|case| number(case, "value") > 0.0), "{figures}");
    for name in ["cache line, half round trip", "PAMI_Send_immediate, message rate"] {
        assert!(cases.iter().any(|case| case["name"] == name), "{figures}");
    }
    let sends: Vec<_> = cases.iter().filter(|case| case["name"] == "PAMI_Send, 4 KiB pages").collect();
    assert!(sends.len() > 4 && sends.iter().all(|case| number(case, "ratio") > 0.0), "{figures}");
    let refused = bench(&["--cores", "0,99999"]);
    assert_eq!(refused.status.code(), Some(i32::from(MISTAKE)));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("may not use core 99999"));
}

/// A study of a program whose second point waits for a message that never comes, and which claims too much.
#[test]
fn a_sweep_with_bad_points_or_claims_has_a_status() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    for (name, tag) in [("good.goal", 3), ("lost.goal", 4)] {
        let trace = format!(
            "num_ranks 2\nrank 0 {{\nl1: send 8b to 1 tag 3\n}}\nrank 1 {{\nl1: recv 8b from 0 tag {tag}\n}}\n"
        );
        std::fs::write(at(name), trace).unwrap();
    }
    let study = "name = 'programs'\nmachine = 'bgl'\nset.topology.dims = [4, 4]\n\
                 workload = { kind = 'trace', file = 'good.goal' }\n[sweep]\nworkload.file = ['good.goal']\n\
                 [[claim]]\nof = 'programs.messages'\nbetween = [1, 1]\n";
    std::fs::write(at("study.toml"), study).unwrap();
    std::fs::write(at("greedy.toml"), study.replace("[1, 1]", "[2, 2]")).unwrap();
    let fabric = netloom_simulate::Fabric;
    let sweep = |study: &str, more: &[&str], out: &str| {
        let (study, out) = (at(study), at(out));
        with(&fabric, &[], &[&["sweep", path(&study), "--out", path(&out)][..], more].concat())
    };
    let (status, shown, reported) = sweep("study.toml", &[], "good");
    assert_eq!(status, OK, "{reported}");
    assert!(shown.contains("Claim holds: programs.messages (1.00, expected 1 to 1)"), "{shown}");
    let (status, shown, _) = sweep("greedy.toml", &[], "greedy");
    assert_eq!(status, FAILED);
    assert!(shown.contains("Claim FAILS: programs.messages"), "{shown}");
    // Files in flags are relative to the current folder, not to the study's.
    let (good, lost) = (at("good.goal"), at("lost.goal"));
    let (status, _, reported) = sweep("study.toml", &["--set", "workload.file=lost.goal"], "missing");
    assert_eq!(status, MISTAKE);
    assert!(
        reported.contains("the study's folder has it")
            && reported.contains(&format!("workload.file={}", path(&lost))),
        "{reported}"
    );
    let files = format!("sweep.workload.file=['{}','{}']", path(&good), path(&lost));
    let (status, shown, reported) = sweep("study.toml", &["--set", &files], "bad");
    assert_eq!(status, FAILED);
    assert!(
        shown.contains("stalled") && reported.contains("1 of 2 points stalled, the first points/"),
        "{reported}"
    );
    // One run of it alone.
    let (study, out) = (at("study.toml"), at("one"));
    let file = format!("workload.file={}", path(&lost));
    let sets = ["--set", "sweep={}", "--set", &file];
    let run = [&["run", path(&study), "--out", path(&out)][..], &sets].concat();
    assert_eq!(with(&fabric, &[], &run).0, FAILED);
}

/// A run judges the claims for which one point is enough and reports why it does not judge others; its
/// written result gives the same judgements.
#[test]
fn a_run_judges_claims() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    std::fs::write(
        at("one.goal"),
        "num_ranks 2\nrank 0 {\nl1: send 8b to 1\n}\nrank 1 {\nl1: recv 8b from 0\n}\n",
    )
    .unwrap();
    let study = "name = 'claims'\nmachine = 'bgl'\nset.topology.dims = [4, 4]\n\
                 workload = { kind = 'trace', file = 'one.goal' }\n[sweep]\nrouter.paths = [1, 2]\n\
                 [[claim]]\nsays = 'one message'\nof = 'programs.messages'\nat = { 'router.paths' = 2 }\n\
                 between = [1, 1]\n\
                 [[claim]]\nof = 'programs.messages'\nat = { 'router.paths' = 1 }\nbetween = [1, 1]\n\
                 [[claim]]\nsays = 'the most'\nof = 'programs.messages'\ntake = 'max'\nbetween = [1, 1]\n\
                 [[claim]]\nsays = 'a ratio'\nof = 'programs.messages'\nat = { 'router.paths' = 2 }\n\
                 over = { 'router.paths' = 1 }\nbetween = [1, 1]\n";
    std::fs::write(at("good.toml"), study).unwrap();
    std::fs::write(at("wrong.toml"), study.replacen("[1, 1]", "[2, 2]", 1)).unwrap();
    let run = |study: &str, out: &str, more: &[&str]| {
        let (study, out) = (at(study), at(out));
        let args = [&["run", path(&study), "--out", path(&out), "--set", "sweep={}"][..], more].concat();
        with(&netloom_simulate::Fabric, &[], &args)
    };
    let reported = |text: &str| {
        for expected in [
            "holds: one message (1.00, expected 1 to 1)",
            "not judged: programs.messages (it is read at router.paths = 1, which is not this run: `netloom sweep` judges it)",
            "not judged: the most (it takes the maximum of several points of a sweep, and a run is one point: `netloom sweep`",
            "not judged: a ratio (it is divided by the figure at router.paths = 1, which is not this run",
        ] {
            assert!(text.contains(expected), "{expected} in {text}");
        }
    };
    let second = ["--set", "router.paths=2"];
    let (status, shown, _) = run("good.toml", "good", &second);
    assert_eq!(status, OK);
    reported(&shown);
    reported(&std::fs::read_to_string(at("good").join("report.html")).unwrap());
    let summary = std::fs::read(at("good").join("summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_slice(&summary).unwrap();
    let verdicts = |summary: &serde_json::Value| {
        let of = summary["claims"].as_array().unwrap().iter().map(|claim| claim["verdict"].clone());
        of.collect::<Vec<_>>()
    };
    assert_eq!(verdicts(&summary), ["holds", "not-judged", "not-judged", "not-judged"]);
    // What it wrote judges the same again.
    let written = at("good").join("study.toml");
    let (status, shown, err) = run(path(&written), "again", &["--json"]);
    assert_eq!(status, OK, "{err}");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap()["claims"], summary["claims"]);

    let (status, shown, _) = run("wrong.toml", "wrong", &second);
    assert_eq!(status, FAILED);
    assert!(shown.contains("Claim FAILS: one message (1.00, expected 2 to 2)"), "{shown}");
    let page = std::fs::read_to_string(at("wrong").join("report.html")).unwrap();
    assert!(page.contains("<b>Claim:</b> FAILS: one message"), "{page}");
}

/// What was found is shown even where it cannot be written.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported_after_the_figures() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("result");
    std::fs::create_dir(&out).unwrap();
    // Of a run before, so that it may be replaced.
    std::fs::write(out.join("report.html"), "").unwrap();
    std::os::unix::fs::symlink("/dev/full", out.join(".summary.json.part")).unwrap();
    let args = ["run", "all-to-all", "--set", "topology.dims=[4,4,4]", "--force", "--out", path(&out)];
    let (status, shown, reported) = with(&Fake::default(), &[], &args);
    assert_eq!(status, FAILED);
    assert!(shown.contains("mean utilization"), "{shown}");
    assert!(reported.contains("summary.json") && reported.contains("No space left"), "{reported}");
    assert!(std::fs::metadata(out.join("report.html")).unwrap().len() > 0);
    let args = ["sweep", "light-traffic", "--set", "topology.dims=[4,4]", "--force", "--out", path(&out)];
    // The names of a sweep's temporary files are not known before.
    std::fs::create_dir(out.join("sweep.parquet")).unwrap();
    let (status, shown, reported) = with(&Fake::default(), &[], &args);
    assert_eq!(status, FAILED);
    assert!(shown.contains("dynamic"), "{shown}");
    assert!(reported.contains("sweep.parquet") && reported.contains("cannot write"), "{reported}");
}

#[test]
fn a_machine_that_does_not_fit_into_memory_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("result");
    let args = |command, study, dims| [command, study, "--set", dims, "--out", path(&out), "--threads", "2"];
    let (status, _, reported) =
        with(&Fake::default(), &[], &args("run", "all-to-all", "topology.dims=[128,128,64]"));
    assert_eq!(status, MISTAKE);
    for part in
        ["needs about 15.02 GB of memory, and 4.29 GB are available", "routers and links 2.64 GB", "workload"]
    {
        assert!(reported.contains(part), "{part} in {reported}");
    }
    assert!(reported.contains("--force-memory") && !out.exists(), "{reported}");
    // Two points side by side, of which one would fit.
    let sweep = args("sweep", "light-traffic", "topology.dims=[64,64,48]");
    let (status, _, reported) = with(&Fake::default(), &[], &sweep);
    assert_eq!(status, MISTAKE);
    assert!(reported.contains("for 2 runs side by side"), "{reported}");
    let small = args("run", "all-to-all", "topology.dims=[4,4,4]");
    assert_eq!(with(&Fake::default(), &[], &small).0, OK);
}

/// A batch system's SIGTERM does what Ctrl-C does, also where no packet has come yet. `timeout` sends two at once.
#[cfg(unix)]
#[test]
fn a_terminated_run_keeps_what_it_has() {
    terminate("traffic.load.link_utilization=0.5", "measure={until='time',time_us=1e9}");
    terminate("traffic.load.link_utilization=1e-9", "measure={until='converged'}");
}

#[cfg(unix)]
fn terminate(load: &str, measure: &str) {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("result");
    let mut run = Command::new(env!("CARGO_BIN_EXE_netloom"))
        .args([
            "run",
            "all-to-all",
            "--set",
            "topology.dims=[4,4,4]",
            "--set",
            measure,
            "--set",
            "traffic={}",
            "--set",
            load,
            "--threads",
            "1",
        ])
        .args(["--out", path(&out)])
        .stderr(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(700));
    let id = run.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id, &id]).status().unwrap().success());
    assert_eq!(run.wait().unwrap().code(), Some(i32::from(STOPPED)));
    let summary = std::fs::read_to_string(out.join("summary.json")).unwrap();
    assert!(summary.contains("\"ended\": \"interrupted\""), "{summary}");
}
