//! The number of threads: by an option, or by the environment.

use crate::text;
use std::process::Command;

/// Threads that a run reports, or what it has to say.
fn run(variable: Option<&str>, option: &[&str]) -> Result<u64, String> {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_netloom"));
    command.args(["run", "all-to-all", "--json", "--out", "out"]).args(option).current_dir(folder.path());
    let short = ["topology.dims=[2,2,2]", "measure={}", "measure.until=time", "measure.time_us=20"];
    command.args(short.iter().flat_map(|set| ["--set", *set]));
    match variable {
        Some(value) => command.env("NETLOOM_THREADS", value),
        None => command.env_remove("NETLOOM_THREADS"),
    };
    let output = command.output().unwrap();
    if !output.status.success() {
        return Err(text(&output.stderr));
    }
    let summary = std::fs::read_to_string(folder.path().join("out/summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    Ok(summary["host"]["threads"].as_u64().expect("a number"))
}

#[test]
fn the_environment_says_how_many_threads_unless_an_option_does() {
    assert_eq!(run(Some("1"), &[]), Ok(1));
    assert_eq!(run(Some("1"), &["--threads", "2"]), Ok(2));
    let hint = "NETLOOM_THREADS";
    assert!(run(Some("none"), &[]).unwrap_err().contains(hint));
    assert!(!run(None, &["--threads", "none"]).unwrap_err().contains(hint));
}
