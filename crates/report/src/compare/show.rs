//! A comparison for people: as text, and as a page.

use super::{Comparison, Figure, Setting};
use crate::text_table::aligned;
use crate::write::page;
use crate::write::svg::escape;
use netloom_study::number::{grouped, short};
use std::fmt::Write;

/// As text. Figures that are the same in all results are left out, unless `all` are wanted.
pub fn text(comparison: &Comparison, all: bool) -> String {
    let mut text = String::from("Configuration\n");
    let (head, rows) = settings(comparison);
    if rows.is_empty() {
        text.push_str("  the same in all results\n");
    } else {
        text.push_str(&aligned(&head, &rows));
    }
    text.push_str("\nFigures\n");
    let (head, rows) = figures(comparison, all);
    if !rows.is_empty() {
        text.push_str(&aligned(&head, &rows));
    }
    let _ = writeln!(text, "{}", same(comparison, all));
    for point in &comparison.unmatched_points {
        let _ = writeln!(text, "not in all results: {point}");
    }
    text
}

/// As a page of its own, which needs no other file.
pub fn page(comparison: &Comparison, all: bool) -> String {
    let mut html = page::begin("Comparison", &comparison.results.join(", "), true);
    for point in &comparison.unmatched_points {
        page::warning(&mut html, "Not in all results:", point);
    }
    for (title, (head, rows)) in
        [("Configuration", settings(comparison)), ("Figures", figures(comparison, all))]
    {
        let _ = writeln!(html, "<h2>{title}</h2>");
        if rows.is_empty() {
            html.push_str("<p>The same in all results.</p>\n");
            continue;
        }
        page::table(&mut html, &head, &rows, &[]);
    }
    let _ = writeln!(html, "<p class=\"soft\">{}</p>", escape(&same(comparison, all)));
    page::end(&mut html, &[]);
    html
}

/// What is left out, and what the differences mean.
fn same(comparison: &Comparison, all: bool) -> String {
    let same = comparison.figures.iter().filter(|figure| !figure.differs()).count();
    let count = comparison.figures.len();
    match (same == count, all) {
        (true, _) => format!("All {} figures are the same.", grouped(count as i64)),
        (false, true) => "Differences are from the first result.".into(),
        (false, false) => format!(
            "Differences are from the first result. {} more figures are the same; --all shows them.",
            grouped(same as i64)
        ),
    }
}

/// Whether any of several results is of a point of a sweep.
fn has_points(mut points: impl Iterator<Item = bool>) -> bool {
    points.any(|is_point| is_point)
}

fn settings(comparison: &Comparison) -> (Vec<String>, Vec<Vec<String>>) {
    let with_point = has_points(comparison.configuration.iter().map(|setting| !setting.point.is_empty()));
    let mut head = vec!["key".to_owned()];
    if with_point {
        head.insert(0, "point".into());
    }
    head.extend(comparison.results.iter().cloned());
    let row = |setting: &Setting| {
        let mut row = vec![setting.key.clone()];
        if with_point {
            row.insert(0, setting.point.clone());
        }
        row.extend(setting.values.iter().map(|value| value.clone().unwrap_or_else(|| "-".into())));
        row
    };
    (head, comparison.configuration.iter().map(row).collect())
}

fn figures(comparison: &Comparison, all: bool) -> (Vec<String>, Vec<Vec<String>>) {
    let with_point = has_points(comparison.figures.iter().map(|figure| !figure.point.is_empty()));
    let shown: Vec<&Figure> = comparison.figures.iter().filter(|figure| all || figure.differs()).collect();
    let with_intervals = shown.iter().any(|figure| figure.half_widths[0].is_some());
    let mut head = vec!["figure".to_owned()];
    if with_point {
        head.insert(0, "point".into());
    }
    head.push(comparison.results[0].clone());
    for result in &comparison.results[1..] {
        head.extend([result.clone(), "difference".into()]);
        if with_intervals {
            head.push("95% intervals".into());
        }
    }
    let row = |figure: &&Figure| {
        let mut row = vec![figure.name.clone()];
        if with_point {
            row.insert(0, figure.point.clone());
        }
        row.push(value(figure, 0));
        for result in 1..figure.values.len() {
            row.push(value(figure, result));
            row.push(figure.differences[result].map_or("-".into(), difference));
            if with_intervals {
                row.push(match figure.exceeds_intervals(result) {
                    Some(true) => "beyond the intervals".into(),
                    Some(false) => "within the intervals".into(),
                    None => String::new(),
                });
            }
        }
        row
    };
    (head, shown.iter().map(row).collect())
}

/// A relative difference: in percent, or as a factor where it is large.
fn difference(relative: f64) -> String {
    if relative >= 9.0 {
        format!("{} times", short(1.0 + relative))
    } else {
        format!("{:+.1}%", 100.0 * relative)
    }
}

fn value(figure: &Figure, result: usize) -> String {
    match (figure.values[result], figure.half_widths[result]) {
        (None, _) => "-".into(),
        (Some(value), Some(half)) => format!("{} \u{b1} {}", short(value), short(half)),
        (Some(value), None) => short(value),
    }
}
