//! The measurements of programs at the points of a sweep, side by side: where each point has a table over
//! some setting, such as the size of messages, a table and a drawing of each figure with a row or a curve for
//! each point.

use super::{Outcome, shown};
use crate::text_table::aligned;
use crate::write::Plot;
use crate::write::measured::{Curve, across, plot, points};
use crate::write::svg::COLOURS;
use netloom_study::number::{grouped, short};

/// A figure of several points.
pub(super) struct Beside {
    /// The figure, with its unit.
    figure: String,
    /// The independent variable, with its unit.
    setting: String,
    /// Its unit; empty for counts, which are not drawn.
    unit: String,
    /// The points' names and figures.
    curves: Vec<Curve>,
}

/// Most values of a setting that have columns.
const COLUMNS_MAX: usize = 16;

/// The figures that are tables at the points.
pub(super) fn figures(outcomes: &[Outcome]) -> Vec<Beside> {
    let mut all: Vec<Beside> = vec![];
    for outcome in outcomes {
        let name = outcome.point.values.iter().map(shown).collect::<Vec<_>>().join(", ");
        for table in outcome.result.iter().flat_map(|result| &result.measured) {
            let Some(x) = across(table) else { continue };
            let setting = table.columns[x].heading();
            for (column, of) in table.columns.iter().enumerate().filter(|(_, column)| !column.is_setting) {
                let figure = of.heading();
                let known = all.iter().position(|b| b.figure == figure && b.setting == setting);
                let at = known.unwrap_or_else(|| {
                    let (setting, unit) = (setting.clone(), of.unit.clone());
                    all.push(Beside { figure, setting, unit, curves: vec![] });
                    all.len() - 1
                });
                let points = points(table, x, column);
                all[at].curves.push(Curve { name: name.clone(), points, published: vec![] });
            }
        }
    }
    all.retain(|beside| beside.curves.len() > 1);
    all
}

impl Beside {
    /// Its heading, the names of its columns, and its cells.
    pub fn table(&self) -> Option<(String, Vec<String>, Vec<Vec<String>>)> {
        let mut places: Vec<f64> = self.curves.iter().flat_map(|curve| &curve.points).map(|p| p.0).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        if places.len() > COLUMNS_MAX {
            return None;
        }
        let cell = |curve: &Curve, x: f64| {
            curve.points.iter().find(|p| p.0 == x).map_or_else(|| "-".to_owned(), |p| short(p.1))
        };
        let row = |curve: &Curve| {
            [curve.name.clone()].into_iter().chain(places.iter().map(|&x| cell(curve, x))).collect()
        };
        let place = |&x: &f64| if x.fract() == 0.0 { grouped(x as i64) } else { short(x) };
        let head = [self.setting.clone()].into_iter().chain(places.iter().map(place));
        Some((self.heading(), head.collect(), self.curves.iter().map(row).collect()))
    }

    fn heading(&self) -> String {
        let figure = &self.figure;
        format!("{}{}", figure[..1].to_uppercase(), &figure[1..])
    }

    fn plot(&self) -> Option<Plot> {
        let fits = !self.unit.is_empty() && self.curves.len() <= COLOURS;
        fits.then(|| plot(&self.heading(), &self.setting, &self.unit, &self.curves))
    }
}

/// The tables, for people.
pub(super) fn text(outcomes: &[Outcome]) -> String {
    let tables = figures(outcomes).into_iter().filter_map(|beside| beside.table());
    tables.map(|(heading, head, rows)| format!("\n{heading}\n{}", aligned(&head, &rows))).collect()
}

/// The drawings.
pub(super) fn plots(outcomes: &[Outcome]) -> Vec<Plot> {
    figures(outcomes).iter().filter_map(Beside::plot).collect()
}

/// The figures that every point has one of: key, title and unit.
pub(super) fn single(outcomes: &[Outcome]) -> Vec<(String, String, String)> {
    let mut all: Vec<(String, String, String)> = vec![];
    let tables = outcomes.iter().flat_map(|o| &o.result).flat_map(|result| &result.measured);
    for table in tables.filter(|table| table.rows.len() == 1) {
        for column in table.columns.iter().filter(|column| !column.is_setting && !column.unit.is_empty()) {
            let what = if column.label.is_empty() { String::new() } else { format!(": {}", column.label) };
            // After a comma, a title has what differs from point to point.
            let title = table.title.split(',').next().unwrap_or_default();
            let figure = (column.key(), format!("{title}{what}"), column.unit.clone());
            if all.iter().all(|known| known.0 != figure.0) {
                all.push(figure);
            }
        }
    }
    all
}
