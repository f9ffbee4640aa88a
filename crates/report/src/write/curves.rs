//! Curves over time: one drawing for each chart of the result.

use super::Plot;
use super::svg::{Axis, COLOURS, Frame, Svg, WIDTH, path};
use netloom_study::result::{RunResult, Series, Simulated};

/// Most points that a curve is drawn with; more are averaged.
const POINTS_MAX: usize = 800;

/// A drawing for each chart, in the order of their first curves.
pub fn plots(result: &RunResult) -> Vec<Plot> {
    let mut charts: Vec<&str> = Vec::new();
    for series in &result.series {
        if !charts.contains(&series.chart.as_str()) {
            charts.push(&series.chart);
        }
    }
    charts
        .into_iter()
        .filter_map(|chart| {
            let all = result.series.iter().filter(|s| s.chart == chart).map(|s| (s.name.as_str(), s));
            let (curves, zero) = without_zeros(all.collect())?;
            let zero = if zero.is_empty() { zero } else { format!(" Zero throughout, not drawn: {zero}.") };
            Some(Plot {
                name: file_name(chart),
                caption: caption(&curves) + &zero,
                svg: draw(chart, &curves, Some(&result.simulated)),
            })
        })
        .collect()
}

/// A curve below this fraction cannot be told from zero.
const ZERO: f64 = 1e-4;

/// The curves that are not zero throughout, and the names of those that are; `None` if all are.
fn without_zeros<'a>(curves: Vec<(&'a str, &'a Series)>) -> Option<(Vec<(&'a str, &'a Series)>, String)> {
    let least = |series: &Series| if series.unit == "fraction" { ZERO } else { 0.0 };
    let (shown, zero): (Vec<_>, Vec<_>) = curves
        .into_iter()
        .partition(|(_, series)| series.values.iter().any(|value| value.abs() > least(series)));
    let zero = zero.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    (!shown.is_empty()).then_some((shown, zero))
}

/// Throughput, use of the links, latency and, where counted, token-acks that free a packet: each in one chart for several runs, by
/// their names.
pub fn compared(runs: &[(String, Vec<Series>)]) -> Vec<Plot> {
    let chart = |chart: &&str| {
        let first = |all: &'_ Vec<Series>| all.iter().position(|s| s.chart == *chart);
        let curves: Vec<(&str, &Series)> =
            runs.iter().filter_map(|(name, all)| Some((name.as_str(), &all[first(all)?]))).collect();
        let (_, first) = curves.first()?;
        Some(Plot {
            name: format!("sweep-{}-over-time", file_name(chart)),
            caption: format!("Of each point: {}. {}", first.name, caption(&curves)),
            svg: draw(chart, &curves, None),
        })
    };
    COMPARED.iter().filter_map(chart).collect()
}

/// Charts whose first curve stands for the whole.
const COMPARED: [&str; 4] =
    ["Throughput", "Token-acks that free a blocked packet", "Link utilization", "Latency"];

/// A chart's title as the name of a file.
pub fn file_name(chart: &str) -> String {
    let words = chart.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join("-")
}

fn caption(curves: &[(&str, &Series)]) -> String {
    format!("Means over windows of {:.1} us.", curves[0].1.window_us)
}

/// Curves by their names; the measured span shaded, if there is one for all.
fn draw(chart: &str, curves: &[(&str, &Series)], simulated: Option<&Simulated>) -> String {
    let first = curves[0].1;
    let as_percent = first.unit == "fraction";
    let scale = if as_percent { 100.0 } else { 1.0 };
    let end = curves.iter().map(|(_, c)| c.window_us * c.values.len() as f64).fold(1e-9, f64::max);
    let values = curves.iter().flat_map(|(_, c)| &c.values).filter(|v| v.is_finite());
    let top = values.fold(0.0f64, |m, &v| m.max(v)) * scale;
    let mut svg = Svg::new(300.0);
    svg.text(14.0, 22.0, "start", "t", chart);
    let mut frame_top = 62.0;
    if curves.len() > 1 {
        let names: Vec<&str> = curves.iter().map(|(name, _)| *name).collect();
        frame_top += svg.legend(14.0, 44.0, &names);
    }
    let frame = Frame {
        left: 70.0,
        right: WIDTH - 24.0,
        top: frame_top,
        bottom: 250.0,
        x: Axis { low: 0.0, high: end, label: "simulated time, us".into(), log: false, names: vec![] },
        y: Axis {
            low: 0.0,
            high: if top > 0.0 { top * 1.06 } else { 1.0 },
            label: if as_percent { "%".into() } else { first.unit.clone() },
            log: false,
            names: vec![],
        },
    };
    if let Some(simulated) = simulated
        && simulated.measured_us > 0.0
        && simulated.measured_from_us < end
    {
        let (x1, y1) = frame.at(simulated.measured_from_us, frame.y.high);
        let (x2, y2) = frame.at((simulated.measured_from_us + simulated.measured_us).min(end), 0.0);
        svg.raw(&format!(
            r#"<rect x="{x1:.1}" y="{y1:.1}" width="{:.1}" height="{:.1}" style="fill:var(--band)"/>"#,
            x2 - x1,
            y2 - y1
        ));
        svg.text(x2, y1 - 6.0, "end", "s", "shaded: measured");
    }
    frame.draw(&mut svg);
    for (i, (_, curve)) in curves.iter().enumerate() {
        let group = curve.values.len().div_ceil(POINTS_MAX).max(1);
        let points = curve.values.chunks(group).enumerate().filter_map(|(j, values)| {
            let mean = values.iter().sum::<f64>() / values.len() as f64 * scale;
            let middle = (j * group) as f64 + values.len() as f64 / 2.0;
            mean.is_finite().then(|| frame.at(middle * curve.window_us, mean))
        });
        let points: Vec<(f64, f64)> = points.collect();
        let style = format!("stroke:var(--c{})", i % COLOURS);
        match points[..] {
            [(x, y)] => svg.raw(&format!(
                r#"<circle cx="{x:.1}" cy="{y:.1}" r="3" style="fill:var(--c{})"/>"#,
                i % COLOURS
            )),
            _ => svg.raw(&format!(r#"<path d="{}" class="l" style="{style}"/>"#, path(points))),
        }
    }
    svg.finish(&format!("{chart} over simulated time"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str, value: f64) -> Series {
        let (chart, unit) = ("A chart".into(), "us".into());
        Series { chart, name: name.into(), unit, window_us: 1.0, values: vec![0.0, value, value] }
    }

    #[test]
    fn curves_of_zeros_are_named_but_not_drawn() {
        let result = |series| RunResult { series, ..RunResult::default() };
        let plots = plots(&result(vec![series("one", 1.0), series("none", 0.0), series("two", 2.0)]));
        assert!(plots[0].caption.contains("not drawn: none") && !plots[0].svg.contains("none</text>"));
        assert!(super::plots(&result(vec![series("none", 0.0)])).is_empty());
    }
}
