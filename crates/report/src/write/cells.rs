//! Pictures of coloured cells, one for each link or for several: each has a description, and gives the page's
//! script the names and values of its cells.

use super::colour::picture;
use super::svg::{Svg, escape};
use netloom_study::number::percent;
use serde_json::json;

/// The names of a picture's cells.
pub(super) struct Names {
    /// Their common prefix.
    pub of: String,
    /// The text before the number of a column.
    pub across: String,
    /// The text before the number of a row.
    pub along: String,
    /// Whether rows are counted from below.
    pub upwards: bool,
    /// By how much the number grows from a column to the next.
    pub step: usize,
}

impl Names {
    /// Names with these words before the numbers of columns and rows.
    pub fn new(of: impl Into<String>, across: impl Into<String>, along: impl Into<String>) -> Names {
        Names { of: of.into(), across: across.into(), along: along.into(), upwards: false, step: 1 }
    }
}

/// Most cells of a picture whose values the page knows: more only make it large.
const CELLS_MAX: usize = 8192;

/// Draws utilizations row by row from the top; `low` and `high` are the ends of the colours.
pub(super) fn draw(
    svg: &mut Svg,
    (x, y, width, height): (f64, f64, f64, f64),
    (columns, values): (usize, &[Option<f64>]),
    (low, high): (f64, f64),
    names: &Names,
) {
    let shares: Vec<Option<f64>> =
        values.iter().map(|value| value.map(|u| (u - low) / (high - low))).collect();
    svg.raw(&format!(
        r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" style="fill:var(--empty)"/><image x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" preserveAspectRatio="none" style="image-rendering:pixelated" href="{}"{}><title>{}</title></image>"#,
        picture(columns, &shares),
        data(columns, values, names),
        escape(&summary(values, names))
    ));
}

/// All cells, in words.
fn summary(values: &[Option<f64>], names: &Names) -> String {
    let known = || values.iter().flatten().copied();
    let mean = known().sum::<f64>() / known().count().max(1) as f64;
    let (least, most) = (known().fold(f64::INFINITY, f64::min), known().fold(0.0, f64::max));
    let of = if names.of.is_empty() { String::new() } else { format!("{}: ", names.of) };
    format!("{of}mean {}, min {}, max {}", percent(mean), percent(least.min(most)), percent(most))
}

/// The attribute with names and values of the cells; the values are in tenths of a percent, -1 where there is
/// no link.
fn data(columns: usize, values: &[Option<f64>], names: &Names) -> String {
    if values.len() > CELLS_MAX {
        return String::new();
    }
    let values: Vec<i64> =
        values.iter().map(|value| value.map_or(-1, |u| (u * 1000.0).round() as i64)).collect();
    let Names { of, across, along, upwards, step } = names;
    let data = json!({
        "columns": columns, "values": values, "of": of, "across": across, "along": along, "upwards": upwards, "step": step,
    });
    format!(r#" data-cells="{}""#, escape(&data.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_have_names_and_values() {
        let mut svg = Svg::new(100.0);
        let names = Names::new("z=1, +x", "x=", "y=");
        draw(
            &mut svg,
            (0.0, 0.0, 20.0, 20.0),
            (2, &[Some(0.25), None, Some(0.5), Some(0.75)]),
            (0.0, 1.0),
            &names,
        );
        let svg = svg.finish("links");
        assert!(svg.contains("<title>z=1, +x: mean 50.0%, min 25.0%, max 75.0%</title>"), "{svg}");
        assert!(svg.contains("&quot;values&quot;:[250,-1,500,750]"), "{svg}");
    }
}
