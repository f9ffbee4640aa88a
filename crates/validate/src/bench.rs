//! `netloom bench`: how fast the simulator is on this computer, beside its budgets.

use netloom_report::text_table::aligned;
use netloom_study::diagnose::{Problem, SourceFile};
use netloom_study::number::{counted, scaled};
use netloom_study::resolve::{ResolvedStudy, resolve};
use netloom_study::result::RunResult;
use netloom_study::run::{ProgressSink, Simulate};
use serde::Serialize;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

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
    /// Packet-hops per second of that run over those of the engine's reference loop, measured just before it.
    pub hops_per_reference_hop: Option<f64>,
    /// The design's budget, for people.
    #[serde(skip)]
    budget: Option<Budget>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Budget {
    AtLeast(f64),
    AtMost(f64),
}

/// A run, and the packet-hops per second of the reference loop just before it.
#[derive(Default)]
struct Measured {
    result: RunResult,
    reference: f64,
}

impl Measured {
    fn hops(&self) -> f64 {
        self.result.host.packet_hops_per_s
    }

    fn relative(&self) -> Option<f64> {
        Some(self.hops() / self.reference).filter(|of| of.is_finite())
    }
}

/// Packet-hops per second of the reference loop.
fn reference_hops_per_s(ticks: usize) -> f64 {
    let begin = Instant::now();
    let (hops, _) = black_box(netloom_engine::reference::run(black_box(ticks)));
    hops as f64 / begin.elapsed().as_secs_f64()
}

/// All figures: what `netloom bench --json` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cases {
    /// In the order in which they were measured.
    pub cases: Vec<Case>,
}

const HALF_LOAD: &str = "workload.kind = 'uniform'\ntraffic.load.link_utilization = 0.5\n";
const SATURATED: &str = "workload.kind = 'all-to-all'\ntraffic.load = 'infinite'\n";
/// A program on each node's Message Unit.
const MESSAGES: &str = "workload = { kind = 'spi', program = 'all-to-all', bytes = 4096 }\n";
/// Programs that put 4 KB at random nodes, by the NICs of Cray XC and TH Express-2; longer than what is
/// measured.
const PUTS_ON_XC: &str = "workload = { kind = 'gni', program = 'exchange', transactions = 1000, bytes = 4096, \
                          interval_ns = 1092.0, outstanding = 4 }\n";
const PUTS_ON_TH: &str = "workload = { kind = 'glex', program = 'exchange', transactions = 10_000, bytes = 4096, \
                          interval_ns = 700.0, outstanding = 12 }\n";

fn study(load: &str, us: f64, dims: [u32; 3]) -> Result<ResolvedStudy, Problem> {
    study_of("bgl", load, us, &[&format!("topology.dims = {dims:?}")])
}

/// `sets` are keys of the machine with their values.
fn study_of(machine: &str, load: &str, us: f64, sets: &[&str]) -> Result<ResolvedStudy, Problem> {
    let sets: String = sets.iter().map(|set| format!("set.{set}\n")).collect();
    let text = format!(
        "name = 'bench'\nmachine = '{machine}'\n{load}\
         measure = {{ until = 'time', per_link = false, warmup_us = 0, window_us = 11.42857, time_us = {us:?} }}\n\
         {sets}"
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
    let mut best = |study: &ResolvedStudy, threads: usize| {
        report(&format!("{} on {}", study.machine.shape(), counted(threads, "thread")));
        let mut best = Measured::default();
        for _ in 0..times {
            let reference = reference_hops_per_s((200_000.0 * share) as usize);
            let result = simulator.simulate(study, progress, threads)?;
            if result.host.packet_hops_per_s > best.hops() {
                best = Measured { result, reference };
            }
        }
        Ok::<Measured, Problem>(best)
    };
    let us = |of: &Measured| of.result.host.simulated_us_per_s;
    let mut add = |name: &str, value: f64, unit, threads, budget, relative| {
        cases.push(Case {
            name: name.into(),
            value,
            unit,
            threads,
            budget,
            hops_per_reference_hop: relative,
        });
    };
    use Budget::{AtLeast, AtMost};
    let small = best(&study(HALF_LOAD, 4000.0 * share, [8, 8, 8])?, 1)?;
    add("packet-hops, 8x8x8 at half load", small.hops(), "1/s", 1, Some(AtLeast(10e6)), small.relative());
    let large = study(SATURATED, 230.0 * share, [32, 32, 32])?;
    let one = best(&large, 1)?;
    let two = best(&large, 2)?;
    add("simulated time, 32x32x32 saturated", us(&one), "us/s", 1, None, one.relative());
    add("simulated time, 32x32x32 saturated", us(&two), "us/s", 2, Some(AtLeast(100.0)), two.relative());
    add("second thread, 32x32x32 saturated", us(&two) / us(&one), "times", 2, Some(AtLeast(1.8)), None);
    add("state of a node", one.result.host.bytes_per_node, "B", 1, Some(AtMost(4096.0)), None);
    let largest = best(&study(HALF_LOAD, 115.0 * share, [64, 32, 32])?, 1)?;
    add("building a 64x32x32 machine", largest.result.host.build_s, "s", 1, Some(AtMost(30.0)), None);
    let medium = best(&study(HALF_LOAD, 1000.0 * share, [16, 16, 16])?, 1)?;
    let half = best(&study(HALF_LOAD, 230.0 * share, [32, 32, 32])?, 1)?;
    for (nodes, of) in [(512, &small), (4096, &medium), (32_768, &half), (65_536, &largest)] {
        add(
            &format!("packet-hop at half load, {nodes} nodes"),
            1e9 / of.hops(),
            "ns",
            1,
            None,
            of.relative(),
        );
    }
    let bgl = ("bgl", &["topology.dims = [8, 8, 8]"][..], "BlueGene/L, 8x8x8");
    let bgq = ("bgq", &["topology.dims = [4, 4, 4, 4, 2]"][..], "Blue Gene/Q, 4x4x4x4x2");
    let xc = ("xc", &["topology.groups = 4", "topology.cables = 10"][..], "Cray XC, 4 groups");
    let th = ("th", &[][..], "TH Express-2, 64 nodes");
    for ((machine, sets, on), what, load, time_us) in [
        (bgl, "saturated", SATURATED, 2000.0),
        (bgq, "at half load", HALF_LOAD, 200.0),
        (bgq, "saturated", SATURATED, 60.0),
        (bgq, "all-to-all of 4 KB by Message Units", MESSAGES, 60.0),
        (xc, "puts of 4 KB by NICs", PUTS_ON_XC, 5.0),
        (th, "puts of 4 KB by NICs", PUTS_ON_TH, 100.0),
    ] {
        let study = study_of(machine, load, time_us * share, sets)?;
        let (one, two) = (best(&study, 1)?, best(&study, 2)?);
        add(&format!("packet-hops, {on}, {what}"), one.hops(), "1/s", 1, None, one.relative());
        add(&format!("second thread, {on}, {what}"), two.hops() / one.hops(), "times", 2, None, None);
    }
    Ok(Cases { cases })
}

/// The figures as a table, for people.
pub fn table(cases: &Cases) -> String {
    let head =
        ["what", "threads", "measured", "unit", "budget", "", "hops per reference hop"].map(str::to_owned);
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
        let relative = c.hops_per_reference_hop.map_or(String::new(), |of| format!("{of:.4}"));
        vec![
            c.name.clone(),
            c.threads.to_string(),
            scaled(c.value),
            c.unit.into(),
            budget,
            word.into(),
            relative,
        ]
    });
    aligned(&head, &rows.collect::<Vec<_>>())
}
