//! Runs that are stopped: what they keep, and how they continue.

use super::common::Fake;
use super::{path, with, with_stop};
use netloom_cli::{MISTAKE, OK, STOPPED};
use std::path::Path;

#[test]
fn a_stopped_run_keeps_what_it_has() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("result");
    let fake = Fake { stop_at: Some(0), ..Fake::default() };
    let args = ["run", "all-to-all", "--set", "topology.dims=[4,4,4]", "--out", path(&out)];
    let (status, shown, _) = with(&fake, &[], &args);
    assert_eq!(status, STOPPED);
    assert!(shown.contains("PARTIAL RESULT"));
    assert!(std::fs::read_to_string(out.join("summary.json")).unwrap().contains("stopped by the user"));
}

/// The same command does the rest of a run that was stopped; mistakes lose nothing.
#[test]
fn a_run_continues_from_its_checkpoint() {
    let root = tempfile::tempdir().unwrap();
    let [whole, out, file, other] =
        ["whole", "parts", "checkpoint", "other"].map(|name| root.path().join(name));
    let of = |study: &'static str, out: &Path, more: &[&str]| -> Vec<String> {
        let small = ["run", study, "--set", "topology.dims=[4,4,4]", "--out", path(out)];
        small.iter().chain(more).map(|&word| word.to_owned()).collect()
    };
    let run = |stop: bool, args: &[String]| {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        with_stop(stop, &netloom_simulate::Fabric, &[], &args)
    };
    let summary = |folder: &Path| {
        let text = std::fs::read_to_string(folder.join("summary.json")).unwrap();
        let mut summary: serde_json::Value = serde_json::from_str(&text).unwrap();
        summary["host"].take();
        summary
    };
    assert_eq!(run(false, &of("all-to-all", &whole, &[])).0, OK);
    let parts = of("all-to-all", &out, &["--checkpoint", path(&file)]);
    let (status, _, reported) = run(true, &parts);
    assert!(status == STOPPED && reported.contains("the same command continues from it"), "{reported}");
    let kept = std::fs::read(&file).unwrap();
    for (study, place, expected) in [
        ("bgl/asymmetric", file.as_path(), "is a checkpoint of another study"),
        ("lulesh", &other, "programs have no checkpoints"),
        ("all-to-all", &root.path().join("no/folder"), "cannot write the checkpoint"),
        ("all-to-all", &out.join("summary.json"), "is no checkpoint of netloom"),
    ] {
        let mistaken = of(study, &other, &["--checkpoint", path(place)]);
        let (status, _, reported) = run(false, &mistaken);
        assert!(status == MISTAKE && reported.contains(expected), "{expected}: {reported}");
    }
    for damaged in [&kept[..kept.len() / 2], &kept[..24], &[&kept[..200], &[0], &kept[201..]].concat()] {
        std::fs::write(&other, damaged).unwrap();
        let mistaken = of("all-to-all", &out, &["--checkpoint", path(&other)]);
        let (status, _, reported) = run(false, &mistaken);
        assert!(status == MISTAKE && reported.contains("remove the file"), "{reported}");
    }
    assert_eq!(std::fs::read(&file).unwrap(), kept);
    let (status, _, reported) = run(false, &parts);
    assert!(status == OK && reported.contains("reads the checkpoint"), "{reported}");
    assert_eq!(summary(&out), summary(&whole));
    // A result that is whole is not replaced.
    assert_eq!(run(false, &parts).0, MISTAKE);
}
