//! The drawings of a sweep over one or two parameters.

use super::table::{RUN_TIME, SATURATED};
use super::{Outcome, columns, measured, over_time, short_names, shown, where_time_goes};
use crate::write::Plot;
use crate::write::chart::{Chart, Curve, from_zero};
use crate::write::svg::{self, Mark, Sample};
use netloom_study::interval::half_width_95;
use netloom_study::machine::NetworkOutline;
use netloom_study::resolve::{Axis, ResolvedStudy};
use netloom_study::tree::{Tree, Value};
use std::path::Path;

/// A value as a number, if it is one.
pub fn number(value: &Tree) -> Option<f64> {
    match value.value {
        Value::Integer(i) => Some(i as f64),
        Value::Float(f) => Some(f),
        _ => None,
    }
}

/// What is drawn: a column of the sweep's table.
#[derive(Clone, Copy)]
struct Figure<'a> {
    column: &'a str,
    title: &'a str,
    unit: &'a str,
    /// Brings the column's values to the unit.
    factor: f64,
    /// The drawing ends at so many times the minimum: latencies beyond saturation only tell how long the run was.
    ends_at: f64,
    /// The column of what it cannot be above, where that is known, in the same unit.
    bound: Option<&'a str>,
    /// Another column of the same unit, drawn dashed beside it.
    beside: Option<&'a Figure<'a>>,
}

impl<'a> Figure<'a> {
    const fn new(column: &'a str, title: &'a str, unit: &'a str, factor: f64) -> Figure<'a> {
        Figure { column, title, unit, factor, ends_at: f64::INFINITY, bound: None, beside: None }
    }

    /// Where its curves end, in words.
    fn ends(&self) -> String {
        if self.ends_at.is_infinite() {
            return String::new();
        }
        format!(" Curves end where they pass {} times the minimum.", self.ends_at)
    }
}

/// Latency in the network alone.
static NETWORK_LATENCY: Figure<'static> = Figure::new("latency_mean_ns", "Mean network latency", "ns", 1.0);
/// Latency since packets were made.
const TOTAL_LATENCY: Figure<'static> = Figure {
    ends_at: 10.0,
    beside: Some(&NETWORK_LATENCY),
    ..Figure::new("total_latency_mean_ns", "Mean total latency (source queue included)", "ns", 1.0)
};
const RUN_TIME_OF_PROGRAMS: Figure<'static> =
    Figure::new(RUN_TIME, "Run time, until the last rank ended", "us", 1.0);

const OF_TORI: [Figure<'static>; 5] = [
    RUN_TIME_OF_PROGRAMS,
    TOTAL_LATENCY,
    Figure::new("mean_utilization", "Mean link utilization", "%", 100.0),
    Figure::new("payload_utilization", "Payload utilization", "%", 100.0),
    Figure::new("dynamic_buffer_fraction", "Occupancy of the dynamic VCs", "%", 100.0),
];

const OF_SWITCHES: [Figure<'static>; 8] = [
    RUN_TIME_OF_PROGRAMS,
    TOTAL_LATENCY,
    Figure {
        bound: Some("bound_flits_per_tick"),
        ..Figure::new("accepted_flits_per_tick", "Accepted throughput", "flits/tick per node", 1.0)
    },
    Figure::new("nonminimal_share", "Packets on non-minimal routes", "%", 100.0),
    Figure::new("global_max_utilization", "Utilization of the busiest global link", "%", 100.0),
    Figure::new("slowdown_of_job_1", "Latency of the first job, in times of that alone", "times", 1.0),
    Figure::new("slowdown_of_job_2", "Latency of the second job, in times of that alone", "times", 1.0),
    Figure::new("reordered_share", "Packets that arrive out of order", "%", 100.0),
];

/// The drawings: curves over time of all points if they are few, then figures over the parameters if those are one or two.
pub fn plots(study: &ResolvedStudy, outcomes: &[Outcome], folder: &Path) -> Vec<Plot> {
    let mut plots: Vec<Plot> = where_time_goes::plot(outcomes).into_iter().collect();
    plots.extend(over_time::plots(outcomes, folder));
    plots.extend(measured::plots(outcomes));
    plots.extend(over_parameters(study, outcomes));
    plots
}

/// Figures over one or two parameters, or over two for each value of the first of three; runs that differ in nothing but their seed count as one.
fn over_parameters(study: &ResolvedStudy, outcomes: &[Outcome]) -> Vec<Plot> {
    let mut axes: Vec<usize> = (0..study.axes.len()).filter(|&i| study.axes[i].path != "seed").collect();
    if axes.is_empty() {
        axes = (0..study.axes.len()).collect();
    }
    if outcomes.iter().all(|o| o.result.is_none()) {
        return vec![];
    }
    match axes[..] {
        [first, .., _, _] if axes.len() == 3 => {
            let one = |(number, value): (usize, &Tree)| {
                let of: Vec<Outcome> =
                    outcomes.iter().filter(|o| o.point.values[first] == *value).cloned().collect();
                let name = short_names(&study.axes.iter().map(|a| a.path.as_str()).collect::<Vec<_>>());
                let which = format!("{} {}", name[first], shown(value));
                over(study, &of, axes[1..].to_vec(), Some((number + 1, &which)))
            };
            study.axes[first].values.iter().enumerate().flat_map(one).collect()
        }
        [] | [_] | [_, _] => over(study, outcomes, axes, None),
        _ => vec![],
    }
}

/// Figures over one or two parameters, of those points at which another one has a value: its number and what it is.
fn over(
    study: &ResolvedStudy,
    outcomes: &[Outcome],
    mut axes: Vec<usize>,
    at: Option<(usize, &str)>,
) -> Vec<Plot> {
    // Numbers go across, names tell curves apart.
    let numeric = |axis: &usize| study.axes[*axis].values.iter().all(|v| number(v).is_some());
    if axes.len() == 2 && !numeric(&axes[0]) && numeric(&axes[1]) {
        axes.reverse();
    }
    let names = short_names(&study.axes.iter().map(|a| a.path.as_str()).collect::<Vec<_>>());
    let sheet = Sheet {
        across: &study.axes[axes[0]],
        place: axes[0],
        numeric: numeric(&axes[0]),
        apart: axes.get(1).map(|&i| (i, names[i].as_str(), study.axes[i].values.as_slice())),
        outcomes,
    };
    let seeds = match study.axes.iter().find(|a| a.path == "seed") {
        Some(axis) if axes.iter().all(|&i| study.axes[i].path != "seed") => {
            format!(", mean of {} seeds with 95% intervals", axis.values.len())
        }
        _ => String::new(),
    };
    let (number, where_) = match at {
        Some((number, which)) => (format!("-{number}"), format!(", {which}")),
        None => (String::new(), String::new()),
    };
    let plot = |figure: &Figure| {
        let caption = format!(
            "{} at each point of the sweep{where_}{seeds}.{}{}{}",
            figure.title,
            figure.beside.map_or("", |_| " Dashed: network latency, without the source queue."),
            figure.ends(),
            if sheet.bounds(figure).is_empty() { "" } else { " Dashed: at which the first link is full." }
        );
        let name = format!("sweep-{}{number}", figure.column.replace('_', "-"));
        Plot::of(name, caption, sheet.chart(figure, &where_))
    };
    let figures = match study.network {
        NetworkOutline::Torus(_) => &OF_TORI[..],
        NetworkOutline::Switched(_) => &OF_SWITCHES[..],
    };
    let known: Vec<_> = outcomes.iter().filter_map(|o| o.result.as_ref()).flat_map(columns).collect();
    let known = |figure: &&Figure| known.iter().any(|(name, _)| name == figure.column);
    let measured = measured::single(outcomes);
    let measured = measured.iter().map(|(key, title, unit)| Figure::new(key, title, unit, 1.0));
    let own = figures.iter().filter(known).flat_map(|figure| sheet.apart_if_many(figure));
    measured.chain(own).map(|figure| plot(&figure)).collect()
}

/// Most curves of a drawing that has another column beside them.
const CURVES_BESIDE_MAX: usize = 4;

/// The points of a curve, each with the values of all runs there.
type Samples = Vec<(f64, Vec<f64>)>;

/// What the drawings of a sweep have in common.
struct Sheet<'a> {
    /// The parameter that goes across, its place among the sweep's parameters, and whether its values are numbers.
    across: &'a Axis,
    place: usize,
    numeric: bool,
    /// That which tells curves apart, if there is one: its place, name and values.
    apart: Option<(usize, &'a str, &'a [Tree])>,
    outcomes: &'a [Outcome],
}

impl Sheet<'_> {
    /// A figure; or two, where what is beside it would be too much for one drawing.
    fn apart_if_many<'f>(&self, figure: &Figure<'f>) -> Vec<Figure<'f>> {
        let curves = self.apart.map_or(1, |(_, _, values)| values.len());
        match figure.beside {
            Some(beside) if curves > CURVES_BESIDE_MAX || !self.numeric => {
                vec![Figure { beside: None, ..*figure }, Figure { ends_at: figure.ends_at, ..*beside }]
            }
            _ => vec![*figure],
        }
    }

    /// Where each curve's points are saturated.
    fn saturated(&self) -> Vec<Vec<f64>> {
        let of = |points: Vec<(f64, f64)>| points.iter().filter(|p| p.1 > 0.0).map(|p| p.0).collect();
        self.curves(SATURATED, 1.0).into_iter().map(|(_, points)| of(points)).collect()
    }

    /// What the curves cannot be above, of those of which that is known: the number of the curve, and points.
    fn bounds(&self, figure: &Figure) -> Vec<(usize, Vec<(f64, f64)>)> {
        let Some(bound) = figure.bound else { return vec![] };
        let curves = self.curves(bound, figure.factor).into_iter().map(|(_, points)| points).enumerate();
        curves.filter(|(_, points)| !points.is_empty()).collect()
    }

    /// The curves of a column: a name, and points with the means of all runs there.
    fn curves(&self, column: &str, factor: f64) -> Vec<(String, Vec<(f64, f64)>)> {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let of = |samples: Samples| samples.iter().map(|(x, values)| (*x, mean(values))).collect();
        self.samples(column, factor).into_iter().map(|(name, samples)| (name, of(samples))).collect()
    }

    /// By curve: the points with several runs, and the lower and upper end of the 95% confidence interval of their mean.
    fn intervals(&self, column: &str, factor: f64) -> Vec<Vec<(f64, f64, f64)>> {
        let of = |(x, values): &(f64, Vec<f64>)| {
            let half = half_width_95(values)?;
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            Some((*x, (mean - half).max(0.0), mean + half))
        };
        self.samples(column, factor)
            .iter()
            .map(|(_, samples)| samples.iter().filter_map(of).collect())
            .collect()
    }

    /// The curves of a column: a name, and points with the values of all runs there.
    fn samples(&self, column: &str, factor: f64) -> Vec<(String, Samples)> {
        let value = |o: &Outcome| {
            let all = columns(o.result.as_ref()?);
            all.iter().find(|(name, v)| name == column && v.is_finite()).map(|(_, v)| v * factor)
        };
        let curve = |of_curve: &dyn Fn(&Outcome) -> bool| {
            let mut points: Samples = vec![];
            for (i, at) in self.across.values.iter().enumerate() {
                let here = |o: &&Outcome| o.point.values[self.place] == *at && of_curve(o);
                let values: Vec<f64> = self.outcomes.iter().filter(here).filter_map(value).collect();
                let x = number(at).filter(|_| self.numeric).unwrap_or(i as f64);
                if !values.is_empty() {
                    points.push((x, values));
                }
            }
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            points
        };
        match self.apart {
            None => vec![(String::new(), curve(&|_| true))],
            Some((place, name, values)) => values
                .iter()
                .map(|v| {
                    // A value with a name of its own says what it is.
                    let own = v.get("name").is_some();
                    let label = if own { shown(v) } else { format!("{name} {}", shown(v)) };
                    (label, curve(&|o| o.point.values[place] == *v))
                })
                .collect(),
        }
    }

    fn chart(&self, figure: &Figure, at: &str) -> Chart {
        let mut curves = self.curves(figure.column, figure.factor);
        let least = curves.iter().flat_map(|c| &c.1).map(|p| p.1).fold(f64::INFINITY, f64::min);
        let limit = least * figure.ends_at;
        curves.iter_mut().for_each(|(_, points)| end_at(points, limit));
        let mut beside = figure.beside.map_or(vec![], |other| self.curves(other.column, other.factor));
        beside.iter_mut().for_each(|(_, points)| end_at(points, limit));
        let mut intervals = self.intervals(figure.column, figure.factor);
        intervals.iter_mut().for_each(|of_curve| of_curve.retain(|(.., high)| *high <= limit));
        let saturated = self.saturated();
        let marked = curves.iter().chain(&beside).zip(saturated.iter().chain(&saturated));
        let mut marked = marked.flat_map(|((_, points), at)| points.iter().filter(|p| at.contains(&p.0)));
        let any_saturated = marked.next().is_some();
        let (axis, numeric) = (self.across, self.numeric);
        let places = axis.values.iter().enumerate();
        let places = places.map(|(i, v)| number(v).filter(|_| numeric).unwrap_or(i as f64));
        let (least, most) = places.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)));
        // A bar takes its room at the ends too.
        let room = if !numeric || most == least { 0.5 } else { (most - least) * 0.05 };
        let top = curves.iter().chain(&beside).flat_map(|c| &c.1).map(|p| p.1).fold(0.0, f64::max);
        let top = intervals.iter().flatten().map(|interval| interval.2).fold(top, f64::max);
        // Bounds that are far above all that was reached would only press the curves down.
        let mut bounds = self.bounds(figure);
        bounds.retain(|(_, points)| points.iter().all(|p| p.1 <= BOUND_MAX * top));
        let top = bounds.iter().flat_map(|b| &b.1).map(|p| p.1).fold(top, f64::max);
        let mut key = vec![];
        if !beside.is_empty() {
            key.extend([(Sample::Solid, "total latency"), (Sample::Dashed, "network latency")]);
        }
        if any_saturated {
            key.push((Sample::Hollow, "saturated: accepts less than is offered"));
        }
        let is_full = |curve: usize, x: f64| !saturated.get(curve).is_some_and(|at| at.contains(&x));
        let curve = |number: usize, name: &str, points: &[(f64, f64)], beside: bool| {
            let measured = points.iter().filter(|p| p.1 != limit);
            let mark = |p: &(f64, f64)| if is_full(number, p.0) { Mark::Full } else { Mark::Hollow };
            Curve {
                name: name.to_owned(),
                colour: number,
                beside,
                points: points.to_vec(),
                marks: measured.map(mark).collect(),
                ..Curve::default()
            }
        };
        let mut drawn = vec![];
        for (number, (name, points)) in curves.iter().enumerate() {
            let of_other = beside.get(number);
            drawn.extend(
                of_other.map(|(name, points)| {
                    curve(number, format!("{name} (network)").trim_start(), points, true)
                }),
            );
            let bound = bounds.iter().filter(|b| b.0 == number);
            drawn.push(Curve {
                intervals: intervals.get(number).cloned().unwrap_or_default(),
                bounds: bound.flat_map(|(_, points)| steps(points, numeric)).collect(),
                ..curve(number, name, points, false)
            });
        }
        Chart {
            title: format!("{}{at}", figure.title),
            described: format!("{} over {}", figure.title, axis.path),
            x: svg::Axis {
                low: least - room,
                high: most + room,
                label: axis.path.clone(),
                log: false,
                names: if numeric { vec![] } else { axis.values.iter().map(shown).collect() },
            },
            y: from_zero(top, figure.unit),
            curves: drawn,
            key,
            ..Chart::default()
        }
    }
}

/// A bound is drawn if it is no more than so many times what was reached.
const BOUND_MAX: f64 = 1.5;

/// A bound as level lines: from where to where, and how high. Over names it is as wide as a name's place.
fn steps(points: &[(f64, f64)], numeric: bool) -> Vec<(f64, f64, f64)> {
    if !numeric {
        return points.iter().map(|&(x, value)| (x - 0.4, x + 0.4, value)).collect();
    }
    let mut steps: Vec<(f64, f64, f64)> = vec![];
    for &(x, value) in points {
        match steps.last_mut() {
            Some(step) if (step.2 - value).abs() <= 1e-9 * value.abs() => step.1 = x,
            _ => steps.push((x, x, value)),
        }
    }
    steps
}

/// Ends a curve where it first goes above a value, on the way there.
fn end_at(points: &mut Vec<(f64, f64)>, most: f64) {
    let Some(first) = points.iter().position(|p| p.1 > most) else { return };
    let (x, y) = points[first];
    points.truncate(first);
    if let Some(&(x0, y0)) = points.last() {
        points.push((x0 + (x - x0) * (most - y0) / (y - y0), most));
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_bound_is_level_lines() {
        let points = [(0.1, 0.5), (0.2, 0.5), (0.3, 0.25), (0.4, 0.25)];
        assert_eq!(super::steps(&points, true), [(0.1, 0.2, 0.5), (0.3, 0.4, 0.25)]);
        assert_eq!(super::steps(&[(2.0, 0.5)], false), [(1.6, 2.4, 0.5)]);
    }

    #[test]
    fn a_curve_ends_where_it_leaves_the_drawing() {
        let mut points = vec![(0.1, 10.0), (0.2, 20.0), (0.3, 220.0), (0.4, 900.0)];
        super::end_at(&mut points, 120.0);
        assert_eq!(points[..2], [(0.1, 10.0), (0.2, 20.0)]);
        assert!(points.len() == 3 && (points[2].0 - 0.25).abs() < 1e-12 && points[2].1 == 120.0);
        super::end_at(&mut points, f64::INFINITY);
        assert_eq!(points.len(), 3);
    }
}
