//! The `[[claim]]` tables of a study, judged by the points of its sweep, or by one run.

use crate::published::compare::judge;
use crate::published::{Entry, published};
use netloom_study::claims::{Claim, Measured, Read, Word, figure};
use netloom_study::diagnose::Problem;
use netloom_study::number::short;
use netloom_study::resolve::ResolvedStudy;
use netloom_study::result::{Ended, RunResult};
use netloom_study::tree::Tree;
use serde::Serialize;

/// The verdict of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It holds.
    Holds,
    /// It does not.
    Fails,
    /// The sweep or the run does not have what it takes to judge it.
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
    /// Its statement: its own words, the published entry, or the figure.
    pub says: String,
    /// The value that was read, if there is one.
    pub value: Option<f64>,
    /// The expected range, in words.
    pub expected: String,
    /// Its verdict.
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

/// A point of a sweep that has run, as claims read it.
pub struct Ran<'a> {
    /// Name of the point.
    pub name: &'a str,
    /// Its study.
    pub study: &'a ResolvedStudy,
    /// Its result, with its curves over time.
    pub result: RunResult,
    /// Where it is in the sweep.
    pub parameters: Vec<(String, Tree)>,
}

impl Measured for Ran<'_> {
    fn parameters(&self) -> &[(String, Tree)] {
        &self.parameters
    }

    fn figure(&self, name: &str) -> Result<f64, String> {
        of_whole_run(self.study, &self.result, name)
    }

    fn description(&self) -> String {
        self.name.to_owned()
    }
}

/// A single run, as claims read it: it is at the point where its study and machine have the values that a
/// claim names.
struct Alone<'a> {
    study: &'a ResolvedStudy,
    result: &'a RunResult,
}

impl Measured for Alone<'_> {
    fn parameters(&self) -> &[(String, Tree)] {
        &[]
    }

    fn figure(&self, name: &str) -> Result<f64, String> {
        of_whole_run(self.study, self.result, name)
    }

    fn description(&self) -> String {
        "this run".into()
    }

    fn is_at(&self, parameter: &str, value: &Word) -> bool {
        self.study.value(parameter).is_some_and(|found| value.is(&found))
    }
}

/// A figure by name. Those of a run that did not come to its end are not those that were asked for.
fn of_whole_run(study: &ResolvedStudy, result: &RunResult, name: &str) -> Result<f64, String> {
    let found = figure(study, result, name)?;
    Ok(if result.partial.is_some() && name != "stalled" { f64::NAN } else { found })
}

/// Judges claims by points that have run; `whole` if all points of the sweep have.
///
/// # Errors
/// Errors of the published figures.
pub fn judge_points(claims: &[Claim], points: &[Ran], whole: bool) -> Result<Vec<Judged>, Problem> {
    judge_all(claims, |claim| if whole { claim.read(points) } else { Err("not all points have run".into()) })
}

/// Judges the claims of a study by a single run of it.
///
/// # Errors
/// Errors of the published figures.
pub fn judge_run(study: &ResolvedStudy, result: &RunResult) -> Result<Vec<Judged>, Problem> {
    let run = Alone { study, result };
    judge_all(&study.claims, |claim| {
        if result.simulated.ended == Ended::Interrupted {
            return Err("the run was interrupted".into());
        }
        match claim.beyond_one_run(&run, study.has_sweep) {
            Some(why) if study.has_sweep => Err(format!("{why}: `netloom sweep` judges it")),
            Some(why) => Err(why),
            None => claim.read(&[Alone { study, result }]),
        }
    })
}

/// Whether one of them does not hold.
pub fn any_fails(claims: &[Judged]) -> bool {
    claims.iter().any(|claim| claim.verdict == Verdict::Fails)
}

/// A line of each, as the terminal shows them.
pub fn lines(claims: &[Judged]) -> Vec<String> {
    claims.iter().map(|claim| format!("Claim {}\n", claim.line())).collect()
}

/// Judges claims; `read` reads a claim's figure.
fn judge_all(
    claims: &[Claim],
    read: impl Fn(&Claim) -> Result<Read, String>,
) -> Result<Vec<Judged>, Problem> {
    if claims.is_empty() {
        return Ok(vec![]);
    }
    let entries = published()?;
    Ok(claims.iter().map(|claim| judge_one(claim, &entries, read(claim))).collect())
}

fn judge_one(claim: &Claim, entries: &[Entry], read: Result<Read, String>) -> Judged {
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
