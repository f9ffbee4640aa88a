//! The tables in `[sweep]` that are no parameters: how its figures are drawn, and the search for saturation.

use super::axes::{Axis, side};
use super::mistakes::{explained, not_a};
use crate::decode::decode_below;
use crate::diagnose::{Problem, nearest};
use crate::keys;
use crate::sweep::short_names;
use crate::tree::{Entry, Tree, Value, entry_at};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tables in `[sweep]` that are no parameters.
pub(super) const TABLES: [&str; 2] = ["plot", "saturation"];

/// The axes of the figures of a sweep. Keys are swept ones, whole or by as much of their end as distinguishes
/// them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PlotConfig {
    /// The key that goes across. If omitted: the load of a search for saturation, else a key whose values are
    /// numbers, else the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub x: Option<String>,
    /// The key, or a list of keys, whose values distinguish curves. If omitted: the last that is neither
    /// `x` nor distinguished by panels.
    #[serde(skip_serializing_if = "Keys::is_empty")]
    pub curves: Keys,
    /// The key, or a list of keys, each of whose values has figures of its own, all with the same scales. If
    /// omitted: all that remain.
    #[serde(skip_serializing_if = "Keys::is_empty")]
    pub panels: Keys,
}

/// A key, or a list of keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "OneOrMany", into = "Vec<String>")]
#[schemars(with = "OneOrMany")]
pub struct Keys(pub Vec<String>);

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum OneOrMany {
    /// One.
    One(String),
    /// Several.
    Many(Vec<String>),
}

impl Keys {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<OneOrMany> for Keys {
    fn from(keys: OneOrMany) -> Keys {
        match keys {
            OneOrMany::One(key) => Keys(vec![key]),
            OneOrMany::Many(keys) => Keys(keys),
        }
    }
}

impl From<Keys> for Vec<String> {
    fn from(keys: Keys) -> Vec<String> {
        keys.0
    }
}

/// A search for the load at which the network is saturated, for every combination of the other swept keys: a
/// bisection between two loads, which ends when they are no further apart than the tolerance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SaturationConfig {
    /// The key of the load, such as `traffic.load.flits_per_ns`.
    pub load: String,
    /// The lowest load of the search, in the unit of the key.
    pub from: f64,
    /// The highest load of the search, in the unit of the key.
    pub to: f64,
    /// The largest distance of the two loads between which saturation lies, in the unit of the key. If
    /// omitted: a hundredth of the range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
    /// A run is saturated if it accepts less than this fraction of the offered load. If omitted: if it
    /// accepts less than is offered by more than 1%, even at the upper end of the 95% interval, as runs
    /// report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_fraction: Option<f64>,
}

/// Most halvings of a search: more is surely a slip in the tolerance.
const HALVINGS_MAX: u32 = 30;

impl SaturationConfig {
    /// The largest distance of the two loads between which saturation lies.
    pub fn tolerance(&self) -> f64 {
        self.tolerance.unwrap_or((self.to - self.from) / 100.0)
    }

    /// How often the range is halved until it is no longer than the tolerance.
    pub fn halvings(&self) -> u32 {
        ((self.to - self.from) / self.tolerance()).log2().ceil().max(0.0) as u32
    }

    /// The first invalid value: its key and what was expected.
    fn invalid(&self) -> Option<(&'static str, String)> {
        let (from, to, tolerance) = (self.from, self.to, self.tolerance());
        if !(from.is_finite() && from > 0.0) {
            return Some(("from", "a load above 0".into()));
        }
        if !(to.is_finite() && to > from) {
            return Some(("to", format!("a load above `from`, {from}")));
        }
        if !(tolerance > 0.0 && self.halvings() <= HALVINGS_MAX) {
            return Some((
                "tolerance",
                format!("more than 0, and no more than {HALVINGS_MAX} halvings of the range"),
            ));
        }
        let fraction = self.accepted_fraction.filter(|f| !(*f > 0.0 && *f < 1.0));
        fraction.map(|_| ("accepted_fraction", "a fraction above 0 and below 1".into()))
    }
}

/// A swept key by its whole path, or by as much of its end as distinguishes it.
pub fn axis_named(axes: &[Axis], key: &str) -> Option<usize> {
    let paths: Vec<&str> = axes.iter().map(|axis| axis.path.as_str()).collect();
    let whole = paths.iter().position(|path| *path == key);
    whole.or_else(|| short_names(&paths).iter().position(|name| name == key))
}

/// A value for each key that a search must have.
const EXAMPLES: [(&str, &str); 3] =
    [("load", "\"traffic.load.link_utilization\""), ("from", "0.1"), ("to", "1.0")];

/// The same problem, with an example of the key that is missing.
fn with_example(mut problem: Problem) -> Problem {
    let name = problem.missing().and_then(|path| path.rsplit('.').next());
    let example = EXAMPLES.iter().find(|(key, _)| Some(*key) == name);
    if let (Some((key, value)), Some(help)) = (example, &problem.help) {
        problem.help = Some(help.replacen(&format!("{key} = …"), &format!("{key} = {value}"), 1));
    }
    problem
}

/// Reads `[sweep.saturation]` and lets its load be swept: over both ends of the range, besides what loads the
/// sweep has.
///
/// # Errors
/// Its errors, with their places.
pub(super) fn saturation(entry: &Entry, axes: &mut Vec<Axis>) -> Result<SaturationConfig, Problem> {
    let search: SaturationConfig = decode_below("sweep.saturation", &entry.value)
        .map_err(|problem| with_example(explained(problem, &entry.value, keys::of_studies())))?;
    let at = |key: &str| entry.value.get(key).unwrap_or(&entry.value);
    if let Some((key, expected)) = search.invalid() {
        return Err(not_a(&format!("`sweep.saturation.{key}` has an invalid value"), &expected, at(key)));
    }
    side(&entry_at(&search.load, at("load").origin.clone(), at("load").clone()))?;
    let ends = ["from", "to"].map(|key| at(key).clone());
    match axes.iter_mut().find(|axis| axis.path == search.load) {
        Some(axis) => {
            let all: Option<Vec<f64>> = axis.values.iter().map(Tree::number).collect();
            let Some(all) = all else {
                return Err(not_a("the load of a search for saturation", "numbers", &axis.values[0]));
            };
            axis.values
                .extend(ends.into_iter().filter(|end| end.number().is_some_and(|x| !all.contains(&x))));
            let load = |value: &Tree| value.number().unwrap_or_default();
            axis.values.sort_by(|a, b| load(a).total_cmp(&load(b)));
        }
        None => axes.push(Axis { path: search.load.clone(), values: ends.into() }),
    }
    Ok(search)
}

/// Reads `[sweep.plot]`.
///
/// # Errors
/// A key that is not swept, or one that is named twice, in its place.
pub(super) fn plot(entry: &Entry, axes: &[Axis]) -> Result<PlotConfig, Problem> {
    let plot: PlotConfig = decode_below("sweep.plot", &entry.value)?;
    let mut used: Vec<usize> = vec![];
    for (of, keys) in
        [("x", plot.x.as_slice()), ("curves", &plot.curves.0[..]), ("panels", &plot.panels.0[..])]
    {
        let place = entry.value.get(of).unwrap_or(&entry.value);
        for key in keys {
            let here = match &place.value {
                Value::List(items) => items.iter().find(|item| item.text() == Some(key)).unwrap_or(place),
                _ => place,
            };
            let Some(axis) = axis_named(axes, key) else {
                let paths: Vec<&str> = axes.iter().map(|axis| axis.path.as_str()).collect();
                let short = short_names(&paths);
                let mut problem = not_a(&format!("`{key}` is not swept"), "a key of this sweep", here);
                let names = paths.iter().copied().chain(short.iter().map(String::as_str));
                let meant =
                    nearest(key, names).map_or(String::new(), |name| format!("did you mean `{name}`? "));
                problem.help = Some(match paths.is_empty() {
                    true => "nothing is swept".into(),
                    false => format!("{meant}this sweep goes over `{}`", paths.join("`, `")),
                });
                return Err(problem);
            };
            if used.contains(&axis) {
                let message = format!("`{key}` is named twice in `sweep.plot`");
                return Err(not_a(&message, "each key once", here));
            }
            used.push(axis);
        }
    }
    Ok(plot)
}
