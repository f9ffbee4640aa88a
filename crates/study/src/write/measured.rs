//! What programs measured themselves: a drawing of each table, and the table for people.

use super::Plot;
use super::number::short;
use super::svg::{Axis, Frame, Svg, WIDTH, line};
use crate::compare::aligned;
use crate::result::MeasuredTable;

/// The table's columns over its first; nothing where there is but one point.
pub fn plot(table: &MeasuredTable) -> Option<Plot> {
    if table.rows.len() < 2 {
        return None;
    }
    let (x, columns) = table.columns.split_first()?;
    let (first, last) = (table.rows.first()?, table.rows.last()?);
    let (low, high) = (*first.first()?, *last.first()?);
    let top = table.rows.iter().flat_map(|row| row.iter().skip(1)).copied().fold(0.0, f64::max);
    let mut svg = Svg::new(340.0);
    svg.text(14.0, 22.0, "start", "t", &table.title);
    let names: Vec<&str> = columns.iter().map(String::as_str).collect();
    svg.legend(14.0, 44.0, &names);
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
            label: x.clone(),
            log,
            names: vec![],
        },
        y: Axis { low: 0.0, high: top * 1.06, label: String::new(), log: false, names: vec![] },
    };
    frame.draw(&mut svg);
    for curve in 0..columns.len() {
        let points: Vec<(f64, f64)> =
            table.rows.iter().filter_map(|row| Some((*row.first()?, *row.get(curve + 1)?))).collect();
        line(&mut svg, &frame, curve, &points);
    }
    Some(Plot {
        name: super::curves::file_name(&table.title),
        caption: format!("{} by {x}.", columns.join(", ")),
        svg: svg.finish(&table.title),
    })
}

/// The table in aligned columns.
pub fn text(table: &MeasuredTable) -> String {
    let rows: Vec<Vec<String>> =
        table.rows.iter().map(|row| row.iter().copied().map(short).collect()).collect();
    format!("{}\n{}", table.title, aligned(&table.columns, &rows))
}
