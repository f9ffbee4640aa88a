//! A sweep with a search for saturation is run for claims as `netloom sweep` runs it.

use netloom_simulate::Fabric;
use netloom_study::claims::Measured;
use netloom_study::diagnose::SourceFile;
use netloom_study::resolve::resolve;
use netloom_study::run::Quiet;
use netloom_study::sweep::{NoStore, points, run_all, saturation};
use netloom_study::tree::Tree;
use netloom_validate::judges::runs::{StudyFile, run};
use netloom_validate::judges::{Bench, Finding, judge};
use std::path::Path;
use std::sync::atomic::AtomicBool;

const LOAD: &str = "traffic.load.link_utilization";

const STUDY: &str = "
name = 'search'
machine = 'bgl'
set.topology.dims = [4, 4, 2]
workload = { kind = 'uniform' }
traffic.load.link_utilization = 0.5
measure = { until = 'time', time_us = 60, warmup_us = 20, window_us = 4, per_link = false }

[sweep]
traffic.routing = ['static', 'dynamic']

[sweep.saturation]
load = 'traffic.load.link_utilization'
from = 0.2
to = 1.0
tolerance = 0.1

[[claim]]
says = 'close below saturation the network keeps up'
of = 'throughput.accepted'
at = { 'traffic.routing' = 'dynamic', 'traffic.load.link_utilization' = SATURATION }
between = [1, 10_000]
";

#[test]
fn a_claim_is_read_at_the_points_that_a_search_finds() {
    let stop = AtomicBool::new(false);
    let quiet = Quiet(&stop);
    let bench = Bench { simulator: &Fabric, progress: &quiet, threads: 2, quick: false };

    let text = STUDY.replace("SATURATION", "0.5");
    let study = resolve(SourceFile::new("search.toml", &*text), Path::new("."), &[]).expect("a study");
    let first = points(&study).expect("its points");
    let (swept, halt) = run_all(&study, first.clone(), &Fabric, &NoStore, &quiet, 2).expect("a sweep");
    assert!(halt.is_none() && swept.len() > first.len(), "{} points", swept.len());

    let file = [StudyFile::read("search.toml", &text, false).expect("the same study")];
    let ran = run(&bench, &file).expect("the same sweep");
    let values: Vec<Vec<Tree>> = ran[0]
        .iter()
        .map(|point| point.parameters().iter().map(|(_, value)| value.clone()).collect())
        .collect();
    let of_sweep: Vec<Vec<Tree>> = swept.iter().map(|outcome| outcome.point.values.clone()).collect();
    assert_eq!(values, of_sweep);

    // No sweep begins with this load.
    let found = saturation::found(&study, &swept).pop().and_then(|found| found.load()).expect("a load");
    assert!(
        study
            .axes
            .iter()
            .find(|axis| axis.path == LOAD)
            .is_some_and(|axis| { axis.values.iter().all(|value| value.number() != Some(found)) })
    );
    let text = STUDY.replace("SATURATION", &found.to_string());
    let findings = judge(&bench, "bgl.search", &[("search.toml", &text)]).expect("a point at this load");
    assert!(matches!(&findings[..], [Finding::Shape { holds: true, .. }]), "{findings:?}");
}
