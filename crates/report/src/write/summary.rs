//! `summary.json`: the result's figures, and with them all that it takes to repeat the run.

use crate::claims::Judged;
use crate::limits::{self, BusyLink, Finding};
use netloom_study::resolve::{Configuration, ResolvedStudy};
use netloom_study::result::RunResult;
use netloom_study::run::unmet;
use serde::Serialize;

#[derive(Serialize)]
struct Summary<'a> {
    format: u32,
    version: &'static str,
    configuration: Configuration<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unmet_expectations: Vec<String>,
    #[serde(skip_serializing_if = "<[Judged]>::is_empty")]
    claims: &'a [Judged],
    /// The bottleneck of the run: sentences, and the busiest links.
    limits: Vec<Finding>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    busiest_links: Vec<BusyLink>,
    #[serde(flatten)]
    result: &'a RunResult,
}

/// The summary as JSON, indented. Everything outside `host` is the same on every computer.
pub fn to_json(study: &ResolvedStudy, result: &RunResult, claims: &[Judged]) -> String {
    let summary = Summary {
        format: 1,
        version: env!("CARGO_PKG_VERSION"),
        configuration: study.configuration(),
        unmet_expectations: unmet(study, result),
        claims,
        limits: limits::findings(study, result),
        busiest_links: limits::busiest(study, result),
        result,
    };
    let mut text = serde_json::to_string_pretty(&summary).expect("a summary is plain data");
    text.push('\n');
    text
}
