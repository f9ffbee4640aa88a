//! The drawings of a sweep over one or two parameters.

use super::{Outcome, columns, short_names, shown};
use crate::resolve::ResolvedStudy;
use crate::tree::{Tree, Value};
use crate::write::Plot;
use crate::write::curves::compared;
use crate::write::number::short;
use crate::write::svg::{Axis, COLOURS, Frame, Svg, WIDTH, path};
use crate::write::tables::read_series;
use std::path::Path;

/// A value as a number, if it is one.
pub fn number(value: &Tree) -> Option<f64> {
    match value.value {
        Value::Integer(i) => Some(i as f64),
        Value::Float(f) => Some(f),
        _ => None,
    }
}

/// What is drawn: column, title, unit, and the factor that brings it to the unit.
const SHOWN: [(&str, &str, &str, f64); 3] = [
    ("latency_mean_ns", "Mean latency in the network", "ns", 1.0),
    ("mean_utilization", "Mean link utilization", "%", 100.0),
    ("payload_utilization", "Payload utilization", "%", 100.0),
];

/// The drawings: curves over time of all points if they are few, then figures over the parameters if those are one or two.
pub fn plots(study: &ResolvedStudy, outcomes: &[Outcome], folder: &Path) -> Vec<Plot> {
    let mut plots = over_time(outcomes, folder);
    plots.extend(over_parameters(study, outcomes));
    plots
}

/// Curves over time of all points, unless there are more than can be told apart.
fn over_time(outcomes: &[Outcome], folder: &Path) -> Vec<Plot> {
    if outcomes.len() > COLOURS {
        return vec![];
    }
    let name = |o: &Outcome| o.point.values.iter().map(shown).collect::<Vec<_>>().join(", ");
    let series = |o: &Outcome| {
        let result = o.result.as_ref()?;
        if !result.series.is_empty() {
            return Some(result.series.clone());
        }
        // Of a point that an earlier run of the sweep left.
        let file = folder.join("points").join(&o.point.name).join("series.parquet");
        read_series(std::fs::File::open(file).ok()?)
    };
    let runs: Vec<_> = outcomes.iter().filter_map(|o| Some((name(o), series(o)?))).collect();
    compared(&runs)
}

fn over_parameters(study: &ResolvedStudy, outcomes: &[Outcome]) -> Vec<Plot> {
    if study.axes.len() > 2 || outcomes.iter().all(|o| o.result.is_none()) {
        return vec![];
    }
    // Numbers go across, names tell curves apart.
    let numeric = |axis: usize| study.axes[axis].values.iter().all(|v| number(v).is_some());
    let across = usize::from(study.axes.len() == 2 && !numeric(0) && numeric(1));
    SHOWN
        .iter()
        .map(|&(column, title, unit, factor)| Plot {
            name: format!("sweep-{}", column.replace('_', "-")),
            caption: format!("{title} at each point of the sweep."),
            svg: draw(study, outcomes, across, numeric(across), column, title, unit, factor),
        })
        .collect()
}

#[allow(clippy::too_many_arguments)]
fn draw(
    study: &ResolvedStudy,
    outcomes: &[Outcome],
    across: usize,
    numeric: bool,
    column: &str,
    title: &str,
    unit: &str,
    factor: f64,
) -> String {
    let axis = &study.axes[across];
    let names = short_names(&study.axes.iter().map(|a| a.path.as_str()).collect::<Vec<_>>());
    let curves: Vec<Option<&Tree>> = match study.axes.get(1 - across).filter(|_| study.axes.len() == 2) {
        Some(other) => other.values.iter().map(Some).collect(),
        None => vec![None],
    };
    let value = |o: &Outcome| {
        let all = columns(o.result.as_ref()?);
        all.iter().find(|(name, _)| *name == column).map(|(_, v)| v * factor)
    };
    let place = |v: &Tree| match numeric {
        true => number(v).unwrap_or(0.0),
        false => axis.values.iter().position(|x| x == v).unwrap_or(0) as f64,
    };
    let places: Vec<f64> = axis.values.iter().map(place).collect();
    let (least, most) =
        places.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &x| (a.min(x), b.max(x)));
    // A bar takes its room at the ends too.
    let room = if !numeric || most == least { 0.5 } else { (most - least) * 0.05 };
    let top = outcomes.iter().filter_map(value).fold(0.0, f64::max);
    let mut svg = Svg::new(310.0);
    svg.text(14.0, 22.0, "start", "t", title);
    let mut upper = 62.0;
    if curves.len() > 1 {
        let labels: Vec<String> =
            curves.iter().flatten().map(|v| format!("{} {}", names[1 - across], shown(v))).collect();
        upper += svg.legend(14.0, 44.0, &labels.iter().map(String::as_str).collect::<Vec<_>>());
    }
    let frame = Frame {
        left: 70.0,
        right: WIDTH - 24.0,
        top: upper,
        bottom: 260.0,
        x: Axis {
            low: least - room,
            high: most + room,
            label: axis.path.clone(),
            log: false,
            names: if numeric { vec![] } else { axis.values.iter().map(shown).collect() },
        },
        y: Axis {
            low: 0.0,
            high: if top > 0.0 { top * 1.1 } else { 1.0 },
            label: unit.into(),
            log: false,
            names: vec![],
        },
    };
    frame.draw(&mut svg);
    for (i, curve) in curves.iter().enumerate() {
        let of_curve = |o: &&Outcome| curve.is_none_or(|v| o.point.values[1 - across] == *v);
        let mut points: Vec<(f64, f64)> = outcomes
            .iter()
            .filter(of_curve)
            .filter_map(|o| Some((place(&o.point.values[across]), value(o)?)))
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let colour = i % COLOURS;
        if !numeric && curves.len() == 1 {
            points.iter().for_each(|&(x, y)| bar(&mut svg, &frame, x, y));
            continue;
        }
        let points: Vec<(f64, f64)> = points.into_iter().map(|(x, y)| frame.at(x, y)).collect();
        for (x, y) in &points {
            svg.raw(&format!(r#"<circle cx="{x:.1}" cy="{y:.1}" r="3" style="fill:var(--c{colour})"/>"#));
        }
        // Between names there is nothing.
        if numeric {
            svg.raw(&format!(r#"<path d="{}" class="l" style="stroke:var(--c{colour})"/>"#, path(points)));
        }
    }
    svg.finish(&format!("{title} over {}", axis.path))
}

/// A value with a name instead of a number, and its height.
fn bar(svg: &mut Svg, frame: &Frame, x: f64, value: f64) {
    let ((left, top), (right, bottom)) = (frame.at(x - 0.22, value), frame.at(x + 0.22, 0.0));
    svg.raw(&format!(
        r#"<rect x="{left:.1}" y="{top:.1}" width="{:.1}" height="{:.1}" style="fill:var(--c0)"/>"#,
        right - left,
        bottom - top
    ));
    svg.text((left + right) / 2.0, top - 5.0, "middle", "s", &short(value));
}
