//! `netloom bench`: how fast the simulator is on this computer, beside its budgets.

use netloom_report::text_table::aligned;
use netloom_study::diagnose::{Problem, SourceFile};
use netloom_study::number::{counted, scaled};
use netloom_study::resolve::{ResolvedStudy, resolve};
use netloom_study::result::RunResult;
use netloom_study::run::{ProgressSink, Simulate};
use serde::Serialize;
use std::path::Path;

/// A measured figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Case {
    /// What was measured.
    pub name: String,
    /// The best of the repetitions.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// Threads that it was measured on.
    pub threads: usize,
    /// The design's budget, for people.
    #[serde(skip)]
    budget: Option<Budget>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Budget {
    AtLeast(f64),
    AtMost(f64),
}

/// All figures: what `netloom bench --json` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cases {
    /// In the order in which they were measured.
    pub cases: Vec<Case>,
}

const HALF_LOAD: &str = "workload.kind = 'uniform'\ntraffic.load.link_utilization = 0.5\n";
const SATURATED: &str = "workload.kind = 'all-to-all'\ntraffic.load = 'infinite'\n";

fn study(load: &str, us: f64, dims: [u32; 3]) -> Result<ResolvedStudy, Problem> {
    let text = format!(
        "name = 'bench'\nmachine = 'bgl'\n{load}\
         measure = {{ until = 'time', per_link = false, warmup_us = 0, window_us = 11.42857, time_us = {us:?} }}\n\
         set.topology.dims = {dims:?}\n"
    );
    resolve(SourceFile::new("bench", text), Path::new("."), &[])
}

/// Measures everything. Each figure is the best of three runs, or with `quick` of one shorter run: what else
/// the computer does only ever makes a run slower.
///
/// # Errors
/// What the simulator refuses.
pub fn run(
    simulator: &dyn Simulate,
    progress: &dyn ProgressSink,
    quick: bool,
    mut report: impl FnMut(&str),
) -> Result<Cases, Problem> {
    let (share, times) = if quick { (0.4, 1) } else { (1.0, 3) };
    let mut cases: Vec<Case> = vec![];
    let mut best = |study: &ResolvedStudy, threads: usize, rate: fn(&RunResult) -> f64| {
        report(&format!("{} on {}", study.machine.shape(), counted(threads, "thread")));
        let mut best: Option<RunResult> = None;
        for _ in 0..times {
            let result = simulator.simulate(study, progress, threads)?;
            if best.as_ref().is_none_or(|b| rate(&result) > rate(b)) {
                best = Some(result);
            }
        }
        Ok::<RunResult, Problem>(best.unwrap_or_default())
    };
    let hops = |r: &RunResult| r.host.packet_hops_per_s;
    let us = |r: &RunResult| r.host.simulated_us_per_s;
    let mut add = |name: &str, value: f64, unit, threads, budget| {
        cases.push(Case { name: name.into(), value, unit, threads, budget });
    };
    use Budget::{AtLeast, AtMost};
    let small = best(&study(HALF_LOAD, 4000.0 * share, [8, 8, 8])?, 1, hops)?;
    add("packet-hops, 8x8x8 at half load", hops(&small), "1/s", 1, Some(AtLeast(10e6)));
    let large = study(SATURATED, 230.0 * share, [32, 32, 32])?;
    let one = best(&large, 1, us)?;
    let two = best(&large, 2, us)?;
    add("simulated time, 32x32x32 saturated", us(&one), "us/s", 1, None);
    add("simulated time, 32x32x32 saturated", us(&two), "us/s", 2, Some(AtLeast(100.0)));
    add("second thread, 32x32x32 saturated", us(&two) / us(&one), "times", 2, Some(AtLeast(1.8)));
    add("state of a node", one.host.bytes_per_node, "B", 1, Some(AtMost(4096.0)));
    let largest = best(&study(HALF_LOAD, 115.0 * share, [64, 32, 32])?, 1, hops)?;
    add("building a 64x32x32 machine", largest.host.build_s, "s", 1, Some(AtMost(30.0)));
    let ns = |r: &RunResult| 1e9 / r.host.packet_hops_per_s;
    let medium = best(&study(HALF_LOAD, 1000.0 * share, [16, 16, 16])?, 1, hops)?;
    let half = best(&study(HALF_LOAD, 230.0 * share, [32, 32, 32])?, 1, hops)?;
    for (nodes, result) in [(512, &small), (4096, &medium), (32_768, &half), (65_536, &largest)] {
        add(&format!("packet-hop at half load, {nodes} nodes"), ns(result), "ns", 1, None);
    }
    Ok(Cases { cases })
}

/// The figures as a table, for people.
pub fn table(cases: &Cases) -> String {
    let head = ["what", "threads", "measured", "unit", "budget", ""].map(str::to_owned);
    let rows = cases.cases.iter().map(|c| {
        let (budget, kept) = match c.budget {
            Some(Budget::AtLeast(x)) => (format!(">= {}", scaled(x)), c.value >= x),
            Some(Budget::AtMost(x)) => (format!("<= {}", scaled(x)), c.value <= x),
            None => (String::new(), true),
        };
        let word = match (budget.is_empty(), kept) {
            (true, _) => "",
            (false, true) => "kept",
            (false, false) => "MISSED",
        };
        vec![c.name.clone(), c.threads.to_string(), scaled(c.value), c.unit.into(), budget, word.into()]
    });
    aligned(&head, &rows.collect::<Vec<_>>())
}
