//! Judges of published figures: they run a table's studies and evaluate what the studies claim.
//!
//! A study that serves `netloom validate` is a study like any other, with two tables more:
//!
//! - `[quick]`: changes for `--quick`, by dotted path, laid over the study and its machine;
//! - `[[claim]]`: what its results must show. A claim names a figure (`of`, see
//!   [`figure`](netloom_study::claims::figure)), the points of the sweep that it is read at (`at`), perhaps
//!   points to divide by (`over`) and a place between the points (`when`), and either the published entry
//!   that it is compared with (`entry`, and how the figure is obtained, `evidence`, where not by the run
//!   alone) or the range that it must lie in (`between`).
//!
//! What a judge obtains without a run, or from another entry's figure, it marks as such ([`Evidence`]), where
//! it obtains it.
//!
//! All numbers stand in those files and in `published/`; the judge only evaluates.

pub mod bgl;
pub mod bgq;
mod faults;
pub mod further;
pub mod pami;
pub mod programs;
pub mod runs;
pub mod th;
pub mod xc;
pub mod xc_interface;

use netloom_study::claims::Evidence;
use netloom_study::diagnose::Problem;
use netloom_study::machine::{Facts, TorusFacts};
use netloom_study::resolve::load_machine;
use netloom_study::run::{ProgressSink, Simulate};

/// What a judge found.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// A figure, for an entry by its name.
    Figure {
        /// The entry, `paper.table[row].column`.
        id: String,
        /// The simulated figure, in the entry's unit.
        simulated: f64,
        /// What it comes from, in words.
        note: String,
        /// How it is obtained.
        evidence: Evidence,
    },
    /// Whether a behaviour that the paper gives in words is there, for a table by its name.
    Shape {
        /// The table, `paper.table`.
        id: String,
        /// Whether it is there.
        holds: bool,
        /// What was seen.
        note: String,
    },
    /// The same of another machine, or of another run, than the paper's.
    Proxy {
        /// What it is instead.
        other: String,
        /// What was found.
        finding: Box<Finding>,
    },
    /// Why nothing was run for a table.
    NotRun {
        /// The table, `paper.table`.
        id: String,
        /// Why.
        note: String,
    },
}

impl Finding {
    /// A figure that a run measured.
    pub fn run(id: impl Into<String>, simulated: f64, note: impl Into<String>) -> Finding {
        Finding::figure(id, simulated, note, Evidence::Run)
    }

    /// A figure that is obtained in this manner.
    pub fn figure(
        id: impl Into<String>,
        simulated: f64,
        note: impl Into<String>,
        evidence: Evidence,
    ) -> Finding {
        Finding::Figure { id: id.into(), simulated, note: note.into(), evidence }
    }

    /// The same, of something else than the paper had, if it is that.
    pub fn instead(self, other: Option<String>) -> Finding {
        match other {
            Some(other) => Finding::Proxy { other, finding: Box::new(self) },
            None => self,
        }
    }

    /// The same figure, obtained in another manner than by a run.
    fn by(mut self, how: Evidence) -> Finding {
        if let Finding::Figure { evidence, .. } = &mut self {
            *evidence = how;
        }
        self
    }
}

/// What a judge may use.
pub struct Bench<'a> {
    /// The simulator.
    pub simulator: &'a dyn Simulate,
    /// Receives progress, and reports whether to stop.
    pub progress: &'a dyn ProgressSink,
    /// Threads.
    pub threads: usize,
    /// Whether smaller machines and shorter runs will do.
    pub quick: bool,
}

/// Runs what it takes to judge a table of published figures.
pub struct Judge {
    /// The table, `paper.table`.
    pub table: &'static str,
    /// Runs it.
    pub judge: fn(&Bench) -> Result<Vec<Finding>, Problem>,
}

/// Those who judge, in the order in which they run. A table without one is not run.
pub fn judges() -> Vec<Judge> {
    let mut judges = bgl::judges();
    judges.extend(bgq::judges());
    judges.extend(pami::judges());
    judges.extend(xc::judges());
    judges.extend(xc_interface::judges());
    judges.extend(th::judges());
    judges.extend(further::judges());
    judges
}

/// Runs the studies of a table and judges their claims.
///
/// # Errors
/// A study with a mistake; what the simulator refuses; a claim about what is not there.
pub fn judge(bench: &Bench, table: &str, studies: &[(&str, &str)]) -> Result<Vec<Finding>, Problem> {
    let files = studies
        .iter()
        .map(|(name, text)| runs::StudyFile::read(name, text, bench.quick))
        .collect::<Result<Vec<_>, _>>()?;
    let points = runs::run(bench, &files)?;
    if bench.progress.stop() {
        return Ok(vec![]);
    }
    let mut findings = Vec::new();
    let (mut seen, mut missed, mut others) = (Vec::new(), Vec::new(), Vec::<String>::new());
    for (file, points) in files.iter().zip(&points) {
        for claim in file.claims.iter().filter(|c| c.is_judged(bench.quick)) {
            let read = claim.read(points).map_err(|m| Problem::new(format!("{}: {m}", file.name)))?;
            match &claim.entry {
                Some(id) => {
                    let note = format!("{}: {}", file.name, read.from);
                    let figure = Finding::figure(id, read.value, note, claim.evidence);
                    findings.push(figure.instead(file.proxy.clone()));
                }
                None => {
                    let (holds, text) = claim.judge(&read, bench.quick);
                    others.extend(file.proxy.clone().filter(|other| !others.contains(other)));
                    if holds { &mut seen } else { &mut missed }.push(format!("{}: {text}", file.name));
                }
            }
        }
    }
    if !seen.is_empty() || !missed.is_empty() {
        let reported = |head: &str, list: &[String]| {
            if list.is_empty() { String::new() } else { format!("{head}: {}. ", list.join("; ")) }
        };
        let note = reported("Not seen", &missed) + &reported("Seen", &seen);
        let shape =
            Finding::Shape { id: table.into(), holds: missed.is_empty(), note: note.trim_end().into() };
        findings.push(shape.instead((!others.is_empty()).then(|| others.join(", "))));
    }
    Ok(findings)
}

/// What can be said of a torus of this shape without a run.
fn torus_facts(machine: &str, dims: &str) -> Result<TorusFacts, Problem> {
    match load_machine(machine, &[format!("topology.dims={dims}")])?.facts() {
        Facts::Torus(facts) => Ok(facts),
        Facts::Switched(_) => Err(Problem::new(format!("{machine} is no torus"))),
    }
}
