//! The drawings of a sweep: over time, of what programs measure, and of its figures over its parameters.

use super::figure::{Figure, OF_SWITCHES, OF_TORI};
use super::layout::{Layout, combinations};
use super::sheet::{Row, Sheet, label};
use super::table::{SATURATED, SATURATION_LOAD};
use super::{Outcome, measured, over_time, where_time_goes};
use crate::write::Plot;
use crate::write::chart::Chart;
use netloom_study::machine::NetworkOutline;
use netloom_study::resolve::ResolvedStudy;
use netloom_study::sweep::saturation::{self, Saturation};
use netloom_study::tree::Tree;
use std::borrow::Cow;
use std::path::Path;

/// The drawings: curves over time of all points if they are few, then figures over the parameters.
pub fn plots(study: &ResolvedStudy, outcomes: &[Outcome], folder: &Path) -> Vec<Plot> {
    let mut plots: Vec<Plot> = where_time_goes::plot(outcomes).into_iter().collect();
    plots.extend(saturation_load(study, &saturation::found(study, outcomes)));
    plots.extend(over_time::plots(outcomes, folder));
    plots.extend(measured::plots(outcomes));
    plots.extend(over_parameters(&saturation::with_all_loads(study, outcomes), outcomes));
    plots
}

/// Most figures of a kind, unless panels are asked for: more are not looked at.
const PANELS_MAX: usize = 12;

/// Figures over the parameters, as they are laid out.
fn over_parameters(study: &ResolvedStudy, outcomes: &[Outcome]) -> Vec<Plot> {
    let rows: Vec<Row> = outcomes.iter().filter_map(Row::of).collect();
    let Some(layout) = Layout::of(study, None) else { return vec![] };
    let sheets = Sheets::new(study, &rows, &layout);
    if rows.is_empty() || (sheets.all.len() > PANELS_MAX && study.plot.panels.0.is_empty()) {
        return vec![];
    }
    let figures = match study.network {
        NetworkOutline::Torus(_) => &OF_TORI[..],
        NetworkOutline::Switched(_) => &OF_SWITCHES[..],
    };
    let known = |figure: &&Figure| rows.iter().any(|row| row.has(figure.column));
    let measured = measured::single(outcomes);
    let measured = measured.iter().map(|(key, title, unit)| Figure::new(key, title, unit, 1.0));
    let own = figures.iter().filter(known).flat_map(|figure| sheets.all[0].1.apart_if_many(figure));
    let figures: Vec<Figure> = measured.chain(own).collect();
    // All figures of a panel together.
    let plots: Vec<Vec<Plot>> = figures.iter().map(|figure| sheets.plots(figure, "")).collect();
    (0..sheets.all.len()).flat_map(|panel| plots.iter().map(move |of| of[panel].clone())).collect()
}

/// The load at which the network is saturated, over the other parameters of a sweep that searched for it.
fn saturation_load(study: &ResolvedStudy, found: &[Saturation]) -> Vec<Plot> {
    let (Some(search), Some(load)) = (&study.saturation, saturation::load_axis(study)) else { return vec![] };
    let Some(layout) = Layout::of(study, Some(load)) else { return vec![] };
    let row = |found: &Saturation| {
        let mut values = found.values.clone();
        values.insert(load, study.axes[load].values[0].clone());
        // Where the search ended without saturation, its end is drawn hollow.
        let mut figures = vec![];
        figures.extend(found.keeps_up.map(|x| (Cow::Borrowed(SATURATION_LOAD), x)));
        figures.push((Cow::Borrowed(SATURATED), f64::from(u8::from(found.saturated.is_none()))));
        Row { values: Cow::Owned(values), figures }
    };
    let rows: Vec<Row> = found.iter().map(row).collect();
    let at_once = found.iter().filter(|f| f.keeps_up.is_none()).count();
    if at_once == found.len() {
        return vec![];
    }
    let mut remark =
        format!(" The highest load at which the network keeps up, to within {}.", search.tolerance());
    if at_once > 0 {
        remark += &format!(
            " Not drawn: {at_once} of {} that are saturated at {} already.",
            found.len(),
            search.from
        );
    }
    let figure = Figure {
        hollow: "not saturated up to this load",
        ..Figure::new(SATURATION_LOAD, "Saturation load", &search.load, 1.0)
    };
    Sheets::new(study, &rows, &layout).plots(&figure, &remark)
}

/// The data of the panels of a sweep's figures.
struct Sheets<'a> {
    /// The name of each panel, and its sheet.
    all: Vec<(String, Sheet<'a>)>,
    /// Where runs differ in their seed alone: that points are means of them.
    seeds: String,
}

impl<'a> Sheets<'a> {
    fn new(study: &'a ResolvedStudy, rows: &'a [Row<'a>], layout: &Layout) -> Sheets<'a> {
        let panel = |values: Vec<Tree>| {
            let is_here =
                |row: &&Row| layout.panels.iter().zip(&values).all(|(&i, value)| row.values[i] == *value);
            let of = rows.iter().filter(is_here).collect();
            (label(study, &layout.panels, &values), Sheet::new(study, of, layout))
        };
        let drawn =
            |axis: usize| axis == layout.x || layout.curves.contains(&axis) || layout.panels.contains(&axis);
        let seeds = match study.axes.iter().position(|axis| axis.path == "seed") {
            Some(axis) if !drawn(axis) => {
                format!(", mean of {} seeds with 95% intervals", study.axes[axis].values.len())
            }
            _ => String::new(),
        };
        let all = combinations(&study.axes, &layout.panels).into_iter().map(panel).collect();
        Sheets { all, seeds }
    }

    /// A figure in each panel, all with the same scales.
    fn plots(&self, figure: &Figure, remark: &str) -> Vec<Plot> {
        let least =
            self.all.iter().filter_map(|(_, sheet)| sheet.least(figure)).fold(f64::INFINITY, f64::min);
        let at = |name: &str| if name.is_empty() { String::new() } else { format!(", {name}") };
        let mut charts: Vec<Chart> = self
            .all
            .iter()
            .map(|(name, sheet)| sheet.chart(figure, &at(name), least * figure.ends_at))
            .collect();
        let high = charts.iter().map(|chart| chart.y.high).fold(0.0, f64::max);
        charts.iter_mut().for_each(|chart| chart.y.high = high);
        let several = self.all.len() > 1;
        let plot = |(number, ((name, sheet), chart)): (usize, (&(String, Sheet), Chart))| {
            let caption = format!(
                "{} at each point of the sweep{}{}.{}{}{}{remark}",
                figure.title,
                at(name),
                self.seeds,
                figure.beside.map_or("", |_| " Dashed: network latency, without the source queue."),
                figure.ends(),
                if sheet.bounds(figure).is_empty() {
                    ""
                } else {
                    " Dashed: at which the first link is full."
                }
            );
            let number = if several { format!("-{}", number + 1) } else { String::new() };
            Plot::of(format!("sweep-{}{number}", figure.column.replace('_', "-")), caption, chart)
        };
        self.all.iter().zip(charts).enumerate().map(plot).collect()
    }
}
