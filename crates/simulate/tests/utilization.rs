//! The links' use of a saturated machine: no more than all of it, and the same by links as over time.

use netloom_simulate::Fabric;
use netloom_study::resolve::load;
use netloom_study::run::{Quiet, Simulate};
use std::sync::atomic::AtomicBool;

#[test]
fn links_and_series_agree() {
    let sets = ["topology.dims=[4,4,4]", "measure={}", "measure.until=time", "measure.time_us=40"];
    let more = ["measure.warmup_us=20", "measure.window_us=4", "measure.per_link=true"];
    let sets: Vec<String> = sets.into_iter().chain(more).map(str::to_owned).collect();
    let study = load("all-to-all", &sets).unwrap();
    let result = Fabric.simulate(&study, &Quiet(&AtomicBool::new(false)), 1).unwrap();
    assert_eq!((result.simulated.measured_from_us, result.simulated.measured_us), (20.0, 20.0));
    let links = &result.links;
    let directions = &links.torus.as_ref().unwrap().by_direction;
    assert!(links.mean_utilization > 0.9 && links.max_utilization <= 1.0, "{links:?}");
    assert_eq!((result.per_link.len(), directions.len()), (384, 6));
    assert!(result.per_link.iter().all(|row| row.utilization <= links.max_utilization));
    let close = |a: f64, what: &str| {
        assert!(
            (a / links.mean_utilization - 1.0).abs() < 1e-9,
            "{what}: {a} beside {}",
            links.mean_utilization
        );
    };
    let series = result.series.iter().find(|s| s.chart == "Link utilization").unwrap();
    close(series.values[5..10].iter().sum::<f64>() / 5.0, "the series");
    close(result.per_link.iter().map(|row| row.utilization).sum::<f64>() / 384.0, "the links");
    close(directions.iter().map(|d| d.utilization).sum::<f64>() / 6.0, "the directions");
}

#[test]
fn a_run_that_ends_before_its_warm_up_is_measured_whole_and_reports_it() {
    let sets = [
        "topology.dims=[4,4,4]",
        "measure={}",
        "measure.until=finished",
        "traffic.load=burst",
        "measure.warmup_us=9000",
    ];
    let study = load("all-to-all", &sets.map(str::to_owned)).unwrap();
    let result = Fabric.simulate(&study, &Quiet(&AtomicBool::new(false)), 1).unwrap();
    assert_eq!(result.simulated.measured_from_us, 0.0);
    assert!(result.simulated.measured_us > 10.0 && result.simulated.measured_us == result.simulated.us);
    assert!(result.partial.is_some_and(|why| why.contains("warm-up")));
    assert!((0.1..1.0).contains(&result.links.mean_utilization), "{:?}", result.links);
}
