//! Curves over time of the points of a sweep, side by side.

use super::{Outcome, shown};
use crate::write::Plot;
use crate::write::curves::compared;
use crate::write::svg::COLOURS;
use crate::write::tables::read_series;
use netloom_study::result::Series;
use std::path::Path;

/// The curves over time of a point: those of the run, or those that an earlier run of the sweep left in the
/// folder.
pub(super) fn series(outcome: &Outcome, folder: &Path) -> Option<Vec<Series>> {
    let result = outcome.result.as_ref()?;
    if !result.series.is_empty() {
        return Some(result.series.clone());
    }
    let file = folder.join("points").join(&outcome.point.name).join("series.parquet");
    read_series(std::fs::File::open(file).ok()?)
}

/// Curves over time of all points, unless there are too many to distinguish.
pub(super) fn plots(outcomes: &[Outcome], folder: &Path) -> Vec<Plot> {
    if outcomes.len() > COLOURS {
        return vec![];
    }
    let name = |o: &Outcome| o.point.values.iter().map(shown).collect::<Vec<_>>().join(", ");
    let runs = outcomes.iter().filter_map(|o| Some((name(o), series(o, folder)?)));
    compared(&runs.filter(|(_, series)| !series.is_empty()).collect::<Vec<_>>())
}
