//! Results side by side: what differs between their configurations, and between their figures.
//!
//! | file | what |
//! |---|---|
//! | `read.rs` | the results in a folder: that of a run, or those of a sweep's points |
//! | `show.rs` | the comparison as text and as a page |

mod read;
mod show;

pub use read::{Stored, read};
pub use show::{page, text};

use serde::Serialize;

/// Results side by side. Every list has an element per result; the first result is what the others are
/// compared with.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// Where the results are.
    pub results: Vec<String>,
    /// Keys of the configuration that are not the same in all results.
    pub configuration: Vec<Setting>,
    /// Figures, in the order of a summary.
    pub figures: Vec<Figure>,
    /// Points of sweeps that are not in all of them.
    pub unmatched_points: Vec<String>,
}

/// A key of the configuration.
#[derive(Debug, Serialize)]
pub struct Setting {
    /// The point of a sweep; empty of a run.
    pub point: String,
    /// Its path.
    pub key: String,
    /// Its values as TOML-like text; `None` where it is absent.
    pub values: Vec<Option<String>>,
}

/// A figure of the results.
#[derive(Debug, Serialize)]
pub struct Figure {
    /// The point of a sweep; empty of a run.
    pub point: String,
    /// Its path in the summary, or `measured.KEY`.
    pub name: String,
    /// Its values; `None` where it is absent.
    pub values: Vec<Option<f64>>,
    /// Relative differences from the first result; `None` where there is none to compute.
    pub differences: Vec<Option<f64>>,
    /// Half widths of the 95% confidence intervals, where they are known.
    pub half_widths: Vec<Option<f64>>,
}

impl Figure {
    /// Whether the values are not all the same.
    pub fn differs(&self) -> bool {
        self.values.iter().any(|value| *value != self.values[0])
    }

    /// Whether a result differs from the first by more than the confidence intervals of both explain; `None`
    /// where they are unknown.
    ///
    /// The difference of two independent means has a half width that is the root of the sum of the squares of
    /// theirs.
    pub fn exceeds_intervals(&self, result: usize) -> Option<bool> {
        let (first, other) = (self.values[0]?, self.values[result]?);
        let (a, b) = (self.half_widths[0]?, self.half_widths[result]?);
        Some((first - other).abs() > a.hypot(b))
    }
}

/// Compares results.
///
/// # Panics
/// If there is none.
pub fn compare(results: &[(String, Vec<Stored>)]) -> Comparison {
    let (_, first) = results.first().expect("at least one result");
    let is_everywhere =
        |point: &str| results.iter().all(|(_, points)| points.iter().any(|p| p.point == point));
    let mut unmatched: Vec<String> = vec![];
    for point in results.iter().flat_map(|(_, points)| points) {
        if !is_everywhere(&point.point) && !unmatched.contains(&point.point) {
            unmatched.push(point.point.clone());
        }
    }
    let (mut configuration, mut figures) = (vec![], vec![]);
    for point in first.iter().filter(|stored| is_everywhere(&stored.point)) {
        let find = |points: &'_ [Stored]| points.iter().position(|p| p.point == point.point);
        let all: Vec<&Stored> =
            results.iter().filter_map(|(_, points)| find(points).map(|at| &points[at])).collect();
        for key in names(&all, |stored| &stored.settings) {
            let values: Vec<_> = all.iter().map(|s| value(&s.settings, &key).cloned()).collect();
            if values.iter().any(|value| *value != values[0]) {
                configuration.push(Setting { point: point.point.clone(), key, values });
            }
        }
        for name in names(&all, |stored| &stored.figures) {
            figures.push(figure(point, &name, &all));
        }
    }
    // Settings that differ everywhere alike are listed once.
    let repeated: Vec<Setting> = std::mem::take(&mut configuration);
    for setting in repeated {
        if !configuration
            .iter()
            .any(|known: &Setting| known.key == setting.key && known.values == setting.values)
        {
            configuration.push(setting);
        }
    }
    let results = results.iter().map(|(name, _)| name.clone()).collect();
    Comparison { results, configuration, figures, unmatched_points: unmatched }
}

/// All names of a list, in the order of the first result that has them.
fn names<T>(all: &[&Stored], list: impl Fn(&Stored) -> &Vec<(String, T)>) -> Vec<String> {
    let mut names: Vec<String> = vec![];
    let mut known = std::collections::BTreeSet::new();
    for (name, _) in all.iter().flat_map(|stored| list(stored)) {
        if known.insert(name.clone()) {
            names.push(name.clone());
        }
    }
    names
}

fn value<'a, T>(list: &'a [(String, T)], name: &str) -> Option<&'a T> {
    list.iter().find(|(known, _)| known == name).map(|(_, value)| value)
}

fn figure(point: &Stored, name: &str, all: &[&Stored]) -> Figure {
    let values: Vec<Option<f64>> = all.iter().map(|stored| value(&stored.figures, name).copied()).collect();
    let difference = |value: &Option<f64>| match (values[0], *value) {
        (Some(first), Some(value)) if first == value => Some(0.0),
        (Some(first), Some(value)) if first != 0.0 => Some((value - first) / first.abs()),
        _ => None,
    };
    Figure {
        point: point.point.clone(),
        name: name.to_owned(),
        differences: values.iter().map(difference).collect(),
        half_widths: all.iter().map(|stored| value(&stored.half_widths, name).copied()).collect(),
        values,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(utilization: f64, half: f64, seed: &str) -> Stored {
        Stored {
            point: String::new(),
            settings: vec![("seed".into(), seed.into()), ("machine".into(), "bgl".into())],
            figures: vec![("links.mean_utilization".into(), utilization), ("totals.packets".into(), 7.0)],
            half_widths: vec![("links.mean_utilization".into(), half)],
        }
    }

    #[test]
    fn intervals_distinguish_noise_from_difference() {
        let results = [(0.5, "1"), (0.52, "2"), (0.6, "2")]
            .map(|(u, seed)| (u.to_string(), vec![stored(u, 0.02, seed)]));
        let all = compare(&results);
        assert_eq!(all.configuration.len(), 1);
        assert_eq!(all.configuration[0].key, "seed");
        let figure = &all.figures[0];
        assert!(figure.differs() && !all.figures[1].differs());
        assert_eq!((figure.exceeds_intervals(1), figure.exceeds_intervals(2)), (Some(false), Some(true)));
        assert!((figure.differences[2].unwrap() - 0.2).abs() < 1e-12);
        let text = text(&all, false);
        assert!(text.contains("+20.0%") && text.contains("within the intervals"), "{text}");
        assert!(!text.contains("totals.packets"), "{text}");
    }

    #[test]
    fn points_that_not_all_have_are_named() {
        let point = |name: &str| Stored { point: name.into(), ..stored(0.5, 0.1, "1") };
        let all =
            compare(&[("a".into(), vec![point("x=1"), point("x=2")]), ("b".into(), vec![point("x=1")])]);
        assert_eq!(all.unmatched_points, ["x=2"]);
        assert!(text(&all, false).contains("the same in all results"));
    }
}
