//! Curves over time: one drawing for each chart of the result.

use super::Plot;
use super::chart::{Chart, Curve, from_zero};
use super::svg::Axis;
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
            let drawn = over_time(chart, &curves, Some(&result.simulated));
            Some(Plot::of(file_name(chart), caption(&curves) + &zero, drawn))
        })
        .collect()
}

/// A curve below this fraction cannot be distinguished from zero.
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

/// Throughput, use of the links, latency and, where counted, token-acks that free a packet: each in one chart
/// for several runs, by their names.
pub fn compared(runs: &[(String, Vec<Series>)]) -> Vec<Plot> {
    let chart = |chart: &&str| {
        let first = |all: &'_ Vec<Series>| all.iter().position(|s| s.chart == *chart);
        let curves: Vec<(&str, &Series)> =
            runs.iter().filter_map(|(name, all)| Some((name.as_str(), &all[first(all)?]))).collect();
        let (_, first) = curves.first()?;
        Some(Plot::of(
            format!("sweep-{}-over-time", file_name(chart)),
            format!("Of each point: {}. {}", first.name, caption(&curves)),
            over_time(chart, &curves, None),
        ))
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

/// What the curves of virtual channels are called. They have a panel each: they lie upon one another where
/// traffic is spread evenly.
const VC: &str = "VC";

/// Curves by their names; the measured span shaded, if there is one for all.
fn over_time(chart: &str, curves: &[(&str, &Series)], simulated: Option<&Simulated>) -> Chart {
    let first = curves[0].1;
    let as_percent = first.unit == "fraction";
    let scale = if as_percent { 100.0 } else { 1.0 };
    let end = curves.iter().map(|(_, c)| c.window_us * c.values.len() as f64).fold(1e-9, f64::max);
    let of = |(colour, (name, series)): (usize, &(&str, &Series))| {
        let group = series.values.len().div_ceil(POINTS_MAX).max(1);
        let point = |(j, values): (usize, &[f64])| {
            let mean = values.iter().sum::<f64>() / values.len() as f64 * scale;
            let middle = (j * group) as f64 + values.len() as f64 / 2.0;
            mean.is_finite().then_some((middle * series.window_us, mean))
        };
        let points = series.values.chunks(group).enumerate().filter_map(point).collect();
        Curve { name: (*name).to_owned(), colour, points, ..Curve::default() }
    };
    let curves: Vec<Curve> = curves.iter().enumerate().map(of).collect();
    let top = curves.iter().flat_map(|c| &c.points).map(|p| p.1).fold(0.0, f64::max);
    let measured = simulated.filter(|s| s.measured_us > 0.0 && s.measured_from_us < end);
    Chart {
        title: chart.to_owned(),
        described: format!("{chart} over simulated time"),
        x: Axis { high: end, label: "simulated time, us".into(), ..Axis::default() },
        y: from_zero(top, if as_percent { "%" } else { &first.unit }),
        panels: curves.iter().all(|curve| curve.name.contains(VC)),
        curves,
        shaded: measured.map(|s| {
            (s.measured_from_us, (s.measured_from_us + s.measured_us).min(end), "measured".to_owned())
        }),
        ..Chart::default()
    }
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
