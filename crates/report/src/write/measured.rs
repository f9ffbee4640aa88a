//! What programs measured themselves: drawings of each table, with published points beside its curves, and
//! the table for people.

use super::Plot;
use super::chart::{self, Chart, from_zero};
use super::svg::{Axis, Mark};
use crate::text_table::aligned;
use netloom_study::number::{grouped, short};
use netloom_study::result::{Column, MeasuredTable};

/// A curve: its name, its points, and published ones.
pub struct Curve {
    /// What it is.
    pub name: String,
    /// Its points.
    pub points: Vec<(f64, f64)>,
    /// Published points.
    pub published: Vec<(f64, f64)>,
}

/// The setting that figures are drawn over: the first that is not the same in all rows; `None` if there is
/// one point only.
pub fn across(table: &MeasuredTable) -> Option<usize> {
    let varies = |column: usize| table.rows.windows(2).any(|rows| rows[0].get(column) != rows[1].get(column));
    (0..table.columns.len()).find(|&column| table.columns[column].is_setting && varies(column))
}

/// The points of a column over another.
pub fn points(table: &MeasuredTable, x: usize, column: usize) -> Vec<(f64, f64)> {
    table.rows.iter().filter_map(|row| Some((*row.get(x)?, *row.get(column)?))).collect()
}

/// A drawing for each unit among the table's figures.
pub fn plots(table: &MeasuredTable) -> Vec<Plot> {
    let Some(x) = across(table) else { return vec![] };
    let drawn: Vec<usize> = (0..table.columns.len())
        .filter(|&column| !table.columns[column].is_setting && !table.columns[column].unit.is_empty())
        .collect();
    let mut units: Vec<&str> = vec![];
    for &column in &drawn {
        let unit = table.columns[column].unit.as_str();
        if !units.contains(&unit) {
            units.push(unit);
        }
    }
    let curve = |column: usize| {
        let name = table.columns[column].heading();
        let published = table.published.iter().find(|curve| curve.column == name);
        let published = published.map_or(vec![], |curve| curve.points.clone());
        Curve { name, points: points(table, x, column), published }
    };
    let plot_of = |unit: &&str| {
        let curves: Vec<Curve> =
            drawn.iter().filter(|&&c| table.columns[c].unit == **unit).map(|&c| curve(c)).collect();
        let title = if units.len() == 1 { table.title.clone() } else { format!("{}, {unit}", table.title) };
        plot(&title, &table.columns[x].heading(), unit, &curves)
    };
    units.iter().map(plot_of).collect()
}

/// Some curves of a unit over what they depend on.
pub fn plot(title: &str, label: &str, unit: &str, curves: &[Curve]) -> Plot {
    let across = || curves.iter().flat_map(|curve| &curve.points).map(|point| point.0);
    let (low, high) = (across().fold(f64::INFINITY, f64::min), across().fold(f64::NEG_INFINITY, f64::max));
    // A quick run has fewer rows than the paper: points outside them are not shown.
    let near = |point: &&(f64, f64)| (low..=high).contains(&point.0);
    let drawn = |curve| {
        let Curve { points, published, .. }: &Curve = curve;
        points.iter().chain(published.iter().filter(near)).map(|point| point.1).collect::<Vec<_>>()
    };
    let heights: Vec<f64> = curves.iter().flat_map(drawn).collect();
    let has_published = curves.iter().any(|curve| curve.published.iter().any(|p| near(&p)));
    // Sizes that double go over a logarithmic axis, and so does what grows with them.
    let log = low > 0.0 && high / low > FAR_APART;
    let curve = |(colour, curve): (usize, &Curve)| chart::Curve {
        name: curve.name.clone(),
        colour,
        points: curve.points.clone(),
        marks: vec![Mark::Full; curve.points.len()],
        rings: curve.published.iter().filter(near).copied().collect(),
        ..chart::Curve::default()
    };
    let chart = Chart {
        title: title.to_owned(),
        described: title.to_owned(),
        x: Axis {
            low,
            high: if high > low { high } else { low + 1.0 },
            label: label.to_owned(),
            log,
            names: vec![],
        },
        y: upward(&heights, unit, log),
        curves: curves.iter().enumerate().map(curve).collect(),
        remark: if has_published { "rings: published".into() } else { String::new() },
        ..Chart::default()
    };
    let names: Vec<&str> = curves.iter().map(|curve| curve.name.as_str()).collect();
    let beside = if has_published { " Rings are published figures." } else { "" };
    Plot::of(super::curves::file_name(title), format!("{} by {label}.{beside}", names.join(", ")), chart)
}

/// From this ratio on values cannot be distinguished on a linear axis.
const FAR_APART: f64 = 50.0;

/// The axis of figures: logarithmic where that across is, and they are as far apart.
fn upward(heights: &[f64], unit: &str, across_is_log: bool) -> Axis {
    let low = heights.iter().copied().fold(f64::INFINITY, f64::min);
    let high = heights.iter().copied().fold(0.0, f64::max);
    if across_is_log && low > 0.0 && high / low > FAR_APART {
        let label = format!("{unit} (logarithmic)");
        return Axis { low: low / 1.2, high: high * 1.2, label, log: true, names: vec![] };
    }
    from_zero(high, unit)
}

/// The table in aligned columns.
pub fn text(table: &MeasuredTable) -> String {
    format!("{}\n{}", table.title, aligned(&headings(table), &cells(table)))
}

/// The headings of its columns.
pub fn headings(table: &MeasuredTable) -> Vec<String> {
    table.columns.iter().map(Column::heading).collect()
}

/// The cells of a table for people, row by row. Columns of whole numbers have no decimals.
pub fn cells(table: &MeasuredTable) -> Vec<Vec<String>> {
    let is_whole = |column: usize| {
        let of_column = table.rows.iter().filter_map(|row| row.get(column));
        of_column.clone().all(|value| value.fract() == 0.0 && value.abs() < 1e15)
    };
    let cell = |(column, &value): (usize, &f64)| match is_whole(column) {
        true => grouped(value as i64),
        false => short(value),
    };
    table.rows.iter().map(|row| row.iter().enumerate().map(cell).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use netloom_study::result::PublishedCurve;
    use netloom_workload::measured::columns;

    fn table(columns: Vec<Column>, rows: &[&[f64]]) -> MeasuredTable {
        MeasuredTable {
            title: "Allreduce".into(),
            columns,
            rows: rows.iter().map(|&r| r.into()).collect(),
            published: vec![],
        }
    }

    #[test]
    fn a_drawing_for_each_unit() {
        let figures = [("hardware", "ns"), ("both", "ns"), ("throughput", "GB/s"), ("wrong words", "")];
        let columns = columns(&[("nodes", ""), ("message", "B")], &figures);
        let rows: [&[f64]; 2] = [&[512.0, 8.0, 10.0, 12.0, 0.8, 0.0], &[512.0, 16.0, 20.0, 22.0, 0.9, 0.0]];
        let mut table = table(columns, &rows);
        let curve = |points| PublishedCurve { column: "both ns".into(), points };
        table.published = vec![curve(vec![(8.0, 11.0), (4096.0, 900.0)])];
        let plots = plots(&table);
        let names: Vec<&str> = plots.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names, ["allreduce-ns", "allreduce-gb-s"]);
        assert!(plots[0].caption.contains("by message B") && plots[0].caption.contains("Rings"));
        // The one that is within the run's rows.
        assert_eq!(plots[0].svg.matches("class=\"ring\"").count(), 1);
        assert!(!plots[1].caption.contains("Rings"));
    }

    #[test]
    fn what_is_far_apart_goes_over_logarithmic_axes() {
        let sizes = [1.0, 64.0, 4096.0, 1e6];
        let curve = |times: [f64; 4]| Curve {
            name: "time".into(),
            points: sizes.into_iter().zip(times).collect(),
            published: vec![],
        };
        let of = |times| upward(&curve(times).points.iter().map(|p| p.1).collect::<Vec<_>>(), "ns", true);
        let axis = of([1.0, 1.1, 8.0, 2000.0]);
        assert!(axis.log && axis.low < 1.0 && axis.high > 2000.0);
        assert!(
            plot("Latency, ns", "size", "ns", &[curve([1.0, 1.1, 8.0, 2000.0])]).svg.contains("logarithmic")
        );
        // Near one another; and what has no logarithm.
        assert!(!of([1.0, 1.1, 8.0, 20.0]).log);
        assert!(!of([0.0, 1.1, 8.0, 2000.0]).log);
    }

    #[test]
    fn whole_numbers_have_no_decimals() {
        let table = table(columns(&[("nodes", "")], &[("", "ns")]), &[&[1056.0, 2.0], &[12.0, 2.5]]);
        assert_eq!(cells(&table), [["1,056", "2.00"], ["12", "2.50"]]);
    }

    #[test]
    fn one_point_is_no_curve() {
        assert!(plots(&table(columns(&[("hops", "")], &[("", "ns")]), &[&[1.0, 2.0]])).is_empty());
    }
}
