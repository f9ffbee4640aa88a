//! A claim of a study: which figure, where it is read, and what it is held against.

use super::Measured;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A value of a parameter, as a claim names it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Word {
    /// A number.
    Number(f64),
    /// A word, or the name of a curve.
    Text(String),
}

/// Parameters and the values that choose points.
pub type At = BTreeMap<String, Word>;

fn word(word: &Word) -> String {
    match word {
        Word::Number(x) => x.to_string(),
        Word::Text(text) => text.clone(),
    }
}

/// A place in a sweep, in words.
fn place(at: &At) -> String {
    let parts: Vec<String> = at.iter().map(|(key, value)| format!("{key} = {}", word(value))).collect();
    if parts.is_empty() { "any place".into() } else { parts.join(", ") }
}

/// Reduction of the figures of several points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Take {
    /// There must be one only.
    #[default]
    One,
    /// The least.
    Min,
    /// The greatest.
    Max,
    /// Their mean.
    Mean,
}

/// How a simulated figure is obtained: what it is evidence of. `pass` is only for what a run predicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// It is measured in a run, which could have come out otherwise.
    #[default]
    Run,
    /// It is a parameter of the machine, read back.
    Echo,
    /// It is another entry's figure in other units, or follows from it.
    Derived,
    /// It is computed from the machine's file, its wiring or its route tables, without a run.
    ClosedForm,
}

/// A claim.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Its statement, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub says: String,
    /// The published entry that it is compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// How the figure is obtained, where it is compared with an entry: `derived` for another entry's figure
    /// in other units.
    #[serde(default)]
    pub evidence: Evidence,
    /// The figure.
    pub of: String,
    /// The points that it is read at; all if omitted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub at: At,
    /// Read between the points: where this figure has this value, by straight lines.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub when: BTreeMap<String, f64>,
    /// With `when` and `over`: the condition is read off the points divided by alone, and the others are
    /// taken where this figure is the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same: Option<String>,
    /// Reduction of several points.
    #[serde(default)]
    pub take: Take,
    /// The points whose figure it is divided by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<At>,
    /// The figure that it is divided by, where it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_of: Option<String>,
    /// One minus the quotient.
    #[serde(default)]
    pub reduction: bool,
    /// The range that it must lie in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between: Option<(f64, f64)>,
    /// The range for small machines, where it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quick_between: Option<(f64, f64)>,
    /// Whether small machines can show it.
    #[serde(default = "yes")]
    pub quick: bool,
}

fn yes() -> bool {
    true
}

/// The measured value of a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    /// The value.
    pub value: f64,
    /// The points that it comes from, in words.
    pub from: String,
}

impl Claim {
    /// Whether it is judged in quick or in full runs.
    pub fn is_judged(&self, quick: bool) -> bool {
        self.quick || !quick
    }

    /// The range that it must lie in: none of the numbers where it gives none.
    pub fn range(&self, quick: bool) -> (f64, f64) {
        let range = if quick { self.quick_between.or(self.between) } else { self.between };
        range.unwrap_or((f64::NAN, f64::NAN))
    }

    /// The figures that it names.
    pub fn figures(&self) -> impl Iterator<Item = &str> {
        let of = [Some(&self.of), self.same.as_ref(), self.over_of.as_ref()];
        of.into_iter().flatten().chain(self.when.keys()).map(String::as_str)
    }

    /// What the claim must have.
    ///
    /// # Errors
    /// What is missing.
    pub fn check(&self) -> Result<(), String> {
        match (&self.entry, self.between) {
            (None, None) => Err(format!("the claim of `{}` has neither `entry` nor `between`", self.of)),
            (Some(_), Some(_)) => Err(format!("the claim of `{}` has both `entry` and `between`", self.of)),
            _ if self.same.is_some() && (self.when.is_empty() || self.over.is_none()) => {
                Err(format!("the claim of `{}` has `same` without `when` and `over`", self.of))
            }
            _ if self.when.len() > 1 => Err(format!("the claim of `{}` has two conditions", self.of)),
            _ if [self.between, self.quick_between].iter().flatten().any(|(low, high)| low > high) => {
                Err(format!("the claim of `{}` has a range whose first value is the larger one", self.of))
            }
            _ => Ok(()),
        }
    }

    /// Reads it from a study's points.
    ///
    /// # Errors
    /// Points or figures that are not there.
    pub fn read<M: Measured>(&self, points: &[M]) -> Result<Read, String> {
        let mut when = self.when.first_key_value().map(|(figure, &place)| (figure.as_str(), place));
        if let (Some(same), Some(over)) = (&self.same, &self.over) {
            when = Some((same, self.value(same, over, when, points)?.0));
        }
        let (above, from) = self.value(&self.of, &self.at, when, points)?;
        let value = match (&self.over, &self.over_of) {
            (None, None) => above,
            (over, of) => {
                let of = of.as_ref().unwrap_or(&self.of);
                above / self.value(of, over.as_ref().unwrap_or(&self.at), when, points)?.0
            }
        };
        Ok(Read { value: if self.reduction { 1.0 - value } else { value }, from })
    }

    /// Why one run is not enough to judge it; `None` if it is. `of_a_sweep` where the run is one point of a
    /// sweep, and not all that there is of its study.
    pub fn beyond_one_run(&self, run: &impl Measured, of_a_sweep: bool) -> Option<String> {
        let another = |at: &At| {
            let (parameter, value) = at.iter().find(|(parameter, value)| !run.is_at(parameter, value))?;
            Some(format!("{parameter} = {}, which is not this run", word(value)))
        };
        if !self.when.is_empty() {
            return Some("it is read between the points of a sweep, and a run is one point".into());
        }
        let taken = match self.take {
            Take::One => None,
            Take::Min => Some("minimum"),
            Take::Max => Some("maximum"),
            Take::Mean => Some("mean"),
        };
        if let (Some(taken), true) = (taken, of_a_sweep) {
            return Some(format!(
                "it takes the {taken} of several points of a sweep, and a run is one point"
            ));
        }
        another(&self.at).map(|point| format!("it is read at {point}")).or_else(|| {
            another(self.over.as_ref()?).map(|point| format!("it is divided by the figure at {point}"))
        })
    }

    /// Whether it holds, and the claim's statement with the value that was read.
    pub fn judge(&self, read: &Read, quick: bool) -> (bool, String) {
        let (low, high) = self.range(quick);
        let says = if self.says.is_empty() { &self.of } else { &self.says };
        let holds = (low..=high).contains(&read.value);
        (holds, format!("{says} ({:.4}, expected {low} to {high})", read.value))
    }

    fn value<M: Measured>(
        &self,
        of: &str,
        at: &At,
        when: Option<(&str, f64)>,
        points: &[M],
    ) -> Result<(f64, String), String> {
        let of_interest: Vec<&M> = points.iter().filter(|p| at.iter().all(|(k, v)| p.is_at(k, v))).collect();
        let reported = of_interest.iter().map(|p| p.description()).collect::<Vec<_>>();
        let from = match reported.len() {
            0 => return Err(format!("no point of the sweep is at {}", place(at))),
            1..=3 => reported.join("; "),
            n => format!("{n} points, such as {}", reported[0]),
        };
        let figures = of_interest.iter().map(|p| p.figure(of)).collect::<Result<Vec<f64>, String>>()?;
        if let Some((condition, place)) = when {
            let places =
                of_interest.iter().map(|p| p.figure(condition)).collect::<Result<Vec<f64>, String>>()?;
            let curve = places.into_iter().zip(figures).collect();
            return Ok((interpolated(curve, place), from));
        }
        let value = match self.take {
            Take::One if figures.len() > 1 => {
                return Err(format!(
                    "{} points are at {}: set which, or how to `take` them",
                    figures.len(),
                    place(at)
                ));
            }
            Take::One => figures[0],
            Take::Min => figures.iter().copied().fold(f64::INFINITY, f64::min),
            Take::Max => figures.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            Take::Mean => figures.iter().sum::<f64>() / figures.len() as f64,
        };
        Ok((value, from))
    }
}

/// A curve's value at a place, by a straight line between its neighbours; not a number beyond its ends.
fn interpolated(mut curve: Vec<(f64, f64)>, place: f64) -> f64 {
    curve.sort_by(|a, b| a.0.total_cmp(&b.0));
    curve
        .windows(2)
        .find(|w| (w[0].0..=w[1].0).contains(&place))
        .map_or(f64::NAN, |w| w[0].1 + (w[1].1 - w[0].1) * (place - w[0].0) / (w[1].0 - w[0].0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;

    /// A load of a policy: what it carries, how busy that makes the links, and how long a packet takes.
    struct Load(&'static str, [f64; 3]);

    impl Measured for Load {
        fn parameters(&self) -> &[(String, Tree)] {
            &[]
        }
        fn is_at(&self, _: &str, value: &Word) -> bool {
            *value == Word::Text(self.0.into())
        }
        fn figure(&self, name: &str) -> Result<f64, String> {
            Ok(self.1[["carried", "busy", "time"].iter().position(|&n| n == name).unwrap()])
        }
        fn description(&self) -> String {
            self.0.into()
        }
    }

    /// The base is 0.9 busy where it carries 0.8. The other is as busy with less, and is read where it
    /// carries as much.
    #[test]
    fn two_curves_are_read_where_they_carry_the_same() {
        let points = [
            Load("base", [0.7, 0.8, 10.0]),
            Load("base", [0.9, 1.0, 30.0]),
            Load("other", [0.7, 0.9, 8.0]),
            Load("other", [0.9, 1.0, 24.0]),
        ];
        let mut text =
            "of = 'time'\nat = { c = 'other' }\nover = { c = 'base' }\nwhen = { busy = 0.9 }\n".to_owned();
        let read = |text: &str| toml::from_str::<Claim>(text).unwrap().read(&points).unwrap().value;
        assert!((read(&text) - 8.0 / 20.0).abs() < 1e-12);
        text += "same = 'carried'";
        assert!((read(&text) - 16.0 / 20.0).abs() < 1e-12);
        assert!(
            toml::from_str::<Claim>("of = 'time'\nsame = 'carried'\nentry = 'a'").unwrap().check().is_err()
        );
    }

    #[test]
    fn between_points_by_straight_lines_and_nothing_beyond() {
        let curve = vec![(0.9, 4.0), (0.7, 2.0), (0.95, 6.0)];
        assert!((interpolated(curve.clone(), 0.8) - 3.0).abs() < 1e-12);
        assert!((interpolated(curve.clone(), 0.95) - 6.0).abs() < 1e-12);
        assert!(interpolated(curve.clone(), 0.96).is_nan());
        assert!(interpolated(curve, 0.6).is_nan());
    }
}
