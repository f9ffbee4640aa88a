//! The `[[claim]]` tables of a study, judged by the points of its sweep.

use super::{Outcome, over_time};
use crate::published::compare::judge;
use crate::published::{Entry, published};
use netloom_study::claims::{Claim, Measured, figure};
use netloom_study::diagnose::Problem;
use netloom_study::number::short;
use netloom_study::result::RunResult;
use netloom_study::tree::Tree;
use serde::Serialize;
use std::path::Path;

/// What became of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It holds.
    Holds,
    /// It does not.
    Fails,
    /// The sweep does not have what it takes to judge it.
    NotJudged,
}

impl Verdict {
    /// For people.
    fn name(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Fails => "FAILS",
            Verdict::NotJudged => "not judged",
        }
    }
}

/// A claim and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// What it says: its own words, the published entry, or the figure.
    pub says: String,
    /// The value that was read, if there is one.
    pub value: Option<f64>,
    /// What was expected, in words.
    pub expected: String,
    /// What became of it.
    pub verdict: Verdict,
    /// Why it was not judged; else empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
}

impl Judged {
    /// A line for people.
    pub fn line(&self) -> String {
        let value = self.value.map_or("no number".into(), short);
        match self.verdict {
            Verdict::NotJudged => format!("{}: {} ({})", self.verdict.name(), self.says, self.note),
            _ => format!("{}: {} ({value}, expected {})", self.verdict.name(), self.says, self.expected),
        }
    }
}

/// A point that has run, as claims read it.
struct Ran<'a> {
    outcome: &'a Outcome,
    result: RunResult,
    parameters: Vec<(String, Tree)>,
}

impl Measured for Ran<'_> {
    fn parameters(&self) -> &[(String, Tree)] {
        &self.parameters
    }

    fn figure(&self, name: &str) -> Result<f64, String> {
        let found = figure(&self.outcome.point.study, &self.result, name)?;
        // The figures of a run that did not come to its end are not those that were asked for.
        Ok(if self.result.partial.is_some() && name != "stalled" { f64::NAN } else { found })
    }

    fn told(&self) -> String {
        self.outcome.point.name.clone()
    }
}

/// Judges claims by the points of a sweep over these parameters.
///
/// # Errors
/// Of the published figures.
pub fn judge_all(
    claims: &[Claim],
    paths: &[String],
    outcomes: &[Outcome],
    folder: &Path,
) -> Result<Vec<Judged>, Problem> {
    if claims.is_empty() {
        return Ok(vec![]);
    }
    let entries = published()?;
    fn ran<'a>(outcome: &'a Outcome, paths: &[String], folder: &Path) -> Option<Ran<'a>> {
        let Outcome { point, result, .. } = outcome;
        let mut result = result.clone()?;
        result.series = over_time::series(outcome, folder).unwrap_or_default();
        let parameters = paths.iter().cloned().zip(point.values.iter().cloned()).collect();
        Some(Ran { outcome, result, parameters })
    }
    let points: Vec<Ran> = outcomes.iter().filter_map(|outcome| ran(outcome, paths, folder)).collect();
    let whole = points.len() == outcomes.len();
    Ok(claims.iter().map(|claim| judge_one(claim, &entries, &points, whole)).collect())
}

fn judge_one(claim: &Claim, entries: &[Entry], points: &[Ran], whole: bool) -> Judged {
    let entry = claim.entry.as_ref().and_then(|id| entries.iter().find(|entry| entry.id == *id));
    let published = entry.and_then(|entry| entry.published.as_ref()?.number());
    let (low, high) = claim.range(false);
    let mut judged = Judged {
        says: match (&claim.entry, claim.says.as_str()) {
            (Some(id), "") => id.clone(),
            (None, "") => claim.of.clone(),
            (_, says) => says.to_owned(),
        },
        value: None,
        expected: match (&claim.entry, published) {
            (Some(_), Some(figure)) => format!("{} as published", short(figure)),
            (Some(_), None) => "a published number".into(),
            (None, _) => format!("{low} to {high}"),
        },
        verdict: Verdict::NotJudged,
        note: String::new(),
    };
    let read = if whole { claim.read(points) } else { Err("not all points have run".into()) };
    let value = match read {
        Ok(read) => read.value,
        Err(why) => return Judged { note: why, ..judged },
    };
    judged.value = Some(value).filter(|value| value.is_finite());
    let holds = match (&claim.entry, entry, published) {
        (None, ..) => (low..=high).contains(&value),
        (Some(_), Some(entry), Some(figure)) => judge(figure, value, entry.bound, entry.allowed).0,
        (Some(_), ..) => return Judged { note: "no published number has this name".into(), ..judged },
    };
    judged.verdict = if holds { Verdict::Holds } else { Verdict::Fails };
    judged
}
