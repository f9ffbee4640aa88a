//! The results of a sweep's search for saturation, as a table.

use super::{Outcome, short_names, shown, value_json};
use netloom_study::number::short;
use netloom_study::resolve::ResolvedStudy;
use netloom_study::sweep::saturation::{Saturation, found, load_axis, without_load};

/// The heading of the table.
pub(super) const HEADING: &str = "Saturation";

/// Names of its columns, and a row for each combination of the other parameters; `None` for a sweep without a
/// search.
pub(super) fn table(study: &ResolvedStudy, outcomes: &[Outcome]) -> Option<(Vec<String>, Vec<Vec<String>>)> {
    let load = load_axis(study)?;
    let mut names = short_names(&study.axes.iter().map(|a| a.path.as_str()).collect::<Vec<_>>());
    let name = names.remove(load);
    let unit = outcomes.iter().find_map(|o| Some(o.result.as_ref()?.throughput.as_ref()?.unit.clone()));
    let mut head = names;
    head.extend([format!("saturation {name}"), "saturated at".into()]);
    head.push(format!("most accepted {}", unit.unwrap_or_default()));
    let row = |found: &Saturation| {
        let end = |load: Option<f64>| load.map_or("-".into(), short);
        let mut row: Vec<String> = found.values.iter().map(shown).collect();
        let most = accepted(found, load, outcomes).reduce(f64::max);
        row.extend([found.description(), end(found.saturated), end(most)]);
        row
    };
    Some((head, found(study, outcomes).iter().map(row).collect()))
}

/// Accepted load at the points of a combination.
fn accepted<'a>(
    found: &'a Saturation,
    load: usize,
    outcomes: &'a [Outcome],
) -> impl Iterator<Item = f64> + 'a {
    let here = move |o: &&Outcome| without_load(&o.point.values, load) == found.values;
    outcomes.iter().filter(here).filter_map(|o| Some(o.result.as_ref()?.throughput.as_ref()?.accepted))
}

/// The saturation load of the combination that a point belongs to.
pub(super) fn load_of(all: &[Saturation], load: Option<usize>, outcome: &Outcome) -> Option<f64> {
    let values = without_load(&outcome.point.values, load?);
    all.iter().find(|found| found.values == values)?.load()
}

/// The same for `sweep.json`.
pub(super) fn json(study: &ResolvedStudy, outcomes: &[Outcome]) -> Vec<serde_json::Value> {
    let Some(load) = load_axis(study) else { return vec![] };
    let others =
        || study.axes.iter().enumerate().filter(|(i, _)| *i != load).map(|(_, axis)| axis.path.clone());
    let one = |found: Saturation| {
        let parameters: serde_json::Map<String, serde_json::Value> =
            others().zip(found.values.iter().map(value_json)).collect();
        serde_json::json!({
            "parameters": parameters,
            "load": found.load(),
            "keeps_up_at": found.keeps_up,
            "saturated_at": found.saturated,
        })
    };
    found(study, outcomes).into_iter().map(one).collect()
}
