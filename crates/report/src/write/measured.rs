//! What programs measured themselves: drawings of each table, with published points beside its curves, and the table for people.

use super::Plot;
use super::svg::{Axis, Frame, Svg, WIDTH, line, ring};
use crate::text_table::aligned;
use netloom_study::number::{grouped, short};
use netloom_study::result::MeasuredTable;

/// Units of what is worth a curve: the last words of columns.
const UNITS: [&str; 5] = ["ns", "us", "GB/s", "peak", "MB/s"];

/// A drawing for each unit among the table's columns, over the first column that is not the same in all rows; none where there is but
/// one point.
pub fn plots(table: &MeasuredTable) -> Vec<Plot> {
    let varies = |column: usize| table.rows.windows(2).any(|rows| rows[0].get(column) != rows[1].get(column));
    let Some(x) = (0..table.columns.len()).find(|&column| varies(column)) else { return vec![] };
    let unit = |column: usize| table.columns[column].rsplit(' ').next().unwrap_or_default();
    let of_unit = |wanted: &&str| -> Vec<usize> {
        (0..table.columns.len()).filter(|&column| column != x && unit(column) == *wanted).collect()
    };
    let groups: Vec<(&str, Vec<usize>)> =
        UNITS.iter().map(|u| (*u, of_unit(u))).filter(|(_, columns)| !columns.is_empty()).collect();
    let is_one = groups.len() == 1;
    groups.iter().map(|(unit, columns)| plot(table, x, columns, (!is_one).then_some(*unit))).collect()
}

/// Some columns over another.
fn plot(table: &MeasuredTable, x: usize, columns: &[usize], unit: Option<&str>) -> Plot {
    let points = |column: usize| -> Vec<(f64, f64)> {
        table.rows.iter().filter_map(|row| Some((*row.get(x)?, *row.get(column)?))).collect()
    };
    let published = |column: usize| {
        let of = table.published.iter().find(|curve| curve.column == table.columns[column]);
        of.map_or(&[][..], |curve| &curve.points)
    };
    let across: Vec<f64> = table.rows.iter().filter_map(|row| row.get(x).copied()).collect();
    let low = across.iter().copied().fold(f64::INFINITY, f64::min);
    let high = across.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // A quick run has fewer rows than the paper: what is beyond them is not shown.
    let near = |point: &&(f64, f64)| (low..=high).contains(&point.0);
    let highest = |column: usize| {
        let all = points(column).into_iter().chain(published(column).iter().filter(near).copied());
        all.map(|(_, y)| y).fold(0.0, f64::max)
    };
    let top = columns.iter().map(|&column| highest(column)).fold(0.0, f64::max);
    let title = unit.map_or_else(|| table.title.clone(), |unit| format!("{}, {unit}", table.title));
    let has_published = columns.iter().any(|&column| published(column).iter().any(|p| near(&p)));
    let mut svg = Svg::new(340.0);
    svg.text(14.0, 22.0, "start", "t", &title);
    let names: Vec<&str> = columns.iter().map(|&column| table.columns[column].as_str()).collect();
    svg.legend(14.0, 44.0, &names);
    if has_published {
        svg.text(WIDTH - 24.0, 22.0, "end", "s", "rings: published");
    }
    // Sizes that double go over a logarithmic axis.
    let log = low > 0.0 && high / low > 50.0;
    let frame = Frame {
        left: 70.0,
        right: WIDTH - 24.0,
        top: 84.0,
        bottom: 290.0,
        x: Axis {
            low,
            high: if high > low { high } else { low + 1.0 },
            label: table.columns[x].clone(),
            log,
            names: vec![],
        },
        y: Axis { low: 0.0, high: top * 1.06, label: String::new(), log: false, names: vec![] },
    };
    frame.draw(&mut svg);
    for (curve, &column) in columns.iter().enumerate() {
        line(&mut svg, &frame, curve, &points(column));
        published(column).iter().filter(near).for_each(|&point| ring(&mut svg, &frame, curve, point));
    }
    let beside = if has_published { " Rings are published figures." } else { "" };
    Plot {
        name: super::curves::file_name(&title),
        caption: format!("{} by {}.{beside}", names.join(", "), table.columns[x]),
        svg: svg.finish(&title),
    }
}

/// The table in aligned columns.
pub fn text(table: &MeasuredTable) -> String {
    format!("{}\n{}", table.title, aligned(&table.columns, &cells(table)))
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

    fn table(columns: &[&str], rows: &[&[f64]]) -> MeasuredTable {
        MeasuredTable {
            title: "Allreduce".into(),
            columns: columns.iter().map(|&c| c.into()).collect(),
            rows: rows.iter().map(|&r| r.into()).collect(),
            published: vec![],
        }
    }

    #[test]
    fn a_drawing_for_each_unit() {
        let columns = ["nodes", "message B", "hardware ns", "both ns", "throughput GB/s", "wrong words"];
        let rows: [&[f64]; 2] = [&[512.0, 8.0, 10.0, 12.0, 0.8, 0.0], &[512.0, 16.0, 20.0, 22.0, 0.9, 0.0]];
        let mut table = table(&columns, &rows);
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
    fn whole_numbers_have_no_decimals() {
        let table = table(&["nodes", "ns"], &[&[1056.0, 2.0], &[12.0, 2.5]]);
        assert_eq!(cells(&table), [["1,056", "2.00"], ["12", "2.50"]]);
    }

    #[test]
    fn one_point_is_no_curve() {
        assert!(plots(&table(&["hops", "ns"], &[&[1.0, 2.0]])).is_empty());
    }
}
