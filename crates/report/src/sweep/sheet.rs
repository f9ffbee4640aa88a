//! The charts of a sweep's figures over its parameters, of one panel.

use super::figure::Figure;
use super::layout::{Layout, combinations, is_numeric};
use super::table::SATURATED;
use super::{Outcome, columns, short_names, shown};
use crate::write::chart::{Chart, Curve, from_zero};
use crate::write::svg::{self, Mark, Sample};
use netloom_study::interval::half_width_95;
use netloom_study::resolve::{Axis, ResolvedStudy};
use netloom_study::tree::Tree;
use std::borrow::Cow;

/// Most curves of a drawing that has another column beside them.
const CURVES_BESIDE_MAX: usize = 4;

/// The points of a curve, each with the values of all runs there.
type Samples = Vec<(f64, Vec<f64>)>;

/// A point of a sweep: its parameters and figures.
pub(super) struct Row<'a> {
    /// Values of the parameters.
    pub values: Cow<'a, [Tree]>,
    /// Columns of the sweep's table.
    pub figures: Vec<(Cow<'static, str>, f64)>,
}

impl<'a> Row<'a> {
    /// The row of a point, if it has run.
    pub fn of(outcome: &'a Outcome) -> Option<Row<'a>> {
        let figures = columns(outcome.result.as_ref()?);
        Some(Row { values: Cow::Borrowed(&outcome.point.values), figures })
    }

    /// Whether it has a figure.
    pub fn has(&self, column: &str) -> bool {
        self.figures.iter().any(|(name, _)| name == column)
    }

    fn figure(&self, column: &str) -> Option<f64> {
        self.figures.iter().find(|(name, value)| name == column && value.is_finite()).map(|(_, value)| *value)
    }
}

/// Values of parameters with the names of those that have none of their own.
pub(super) fn label(study: &ResolvedStudy, axes: &[usize], values: &[Tree]) -> String {
    let names = short_names(&study.axes.iter().map(|a| a.path.as_str()).collect::<Vec<_>>());
    let one = |(&axis, value): (&usize, &Tree)| match value.get("name") {
        Some(_) => shown(value),
        None => format!("{} {}", names[axis], shown(value)),
    };
    axes.iter().zip(values).map(one).collect::<Vec<_>>().join(", ")
}

/// The common properties of a panel's drawings.
pub(super) struct Sheet<'a> {
    /// The parameter that goes across, its place among the sweep's parameters, and whether its values are
    /// numbers.
    across: &'a Axis,
    place: usize,
    numeric: bool,
    /// The parameters that distinguish curves, and the name and values of each curve.
    apart: Vec<usize>,
    named: Vec<(String, Vec<Tree>)>,
    rows: Vec<&'a Row<'a>>,
}

impl<'a> Sheet<'a> {
    /// The drawings of some points.
    pub fn new(study: &'a ResolvedStudy, rows: Vec<&'a Row<'a>>, layout: &Layout) -> Sheet<'a> {
        let across = &study.axes[layout.x];
        let named = combinations(&study.axes, &layout.curves);
        let named = named.into_iter().map(|values| (label(study, &layout.curves, &values), values)).collect();
        Sheet {
            across,
            place: layout.x,
            numeric: is_numeric(across),
            apart: layout.curves.clone(),
            named,
            rows,
        }
    }

    /// The least value of a figure.
    pub fn least(&self, figure: &Figure) -> Option<f64> {
        self.curves(figure.column, figure.factor).iter().flat_map(|c| &c.1).map(|p| p.1).reduce(f64::min)
    }

    /// A figure; or two, where what is beside it would be too much for one drawing.
    pub fn apart_if_many<'f>(&self, figure: &Figure<'f>) -> Vec<Figure<'f>> {
        let curves = self.named.len();
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
    pub fn bounds(&self, figure: &Figure) -> Vec<(usize, Vec<(f64, f64)>)> {
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

    /// By curve: the points with several runs, and the lower and upper end of the 95% confidence interval of
    /// their mean.
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
        let curve = |of_curve: &[Tree]| {
            let is_here =
                |row: &&&Row| self.apart.iter().zip(of_curve).all(|(&i, value)| row.values[i] == *value);
            let of_curve: Vec<&&Row> = self.rows.iter().filter(is_here).collect();
            let mut points: Samples = vec![];
            for (i, at) in self.across.values.iter().enumerate() {
                let here = of_curve.iter().filter(|row| row.values[self.place] == *at);
                let values: Vec<f64> = here.filter_map(|row| Some(row.figure(column)? * factor)).collect();
                let x = at.number().filter(|_| self.numeric).unwrap_or(i as f64);
                if !values.is_empty() {
                    points.push((x, values));
                }
            }
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            points
        };
        self.named.iter().map(|(name, values)| (name.clone(), curve(values))).collect()
    }

    /// A figure; its curves end where they pass `limit`.
    pub fn chart(&self, figure: &Figure, at: &str, limit: f64) -> Chart {
        let mut curves = self.curves(figure.column, figure.factor);
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
        let places = places.map(|(i, v)| v.number().filter(|_| numeric).unwrap_or(i as f64));
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
            key.push((Sample::Hollow, figure.hollow));
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

/// A bound is drawn if it is at most this multiple of what was reached.
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

/// Ends a curve where it first exceeds a value, at an interpolated point.
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
