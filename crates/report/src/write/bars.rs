//! Curves over names, which nothing lies between: a bar for each point, beside those of the other curves.

use super::chart::Curve;
use super::svg::{COLOURS, Frame, Mark, Svg, escape, level, text_width, whisker};
use netloom_study::number::short;

/// Draws the bars of a curve, each with its value; `place` is the curve's number and how many there are.
/// Those of hollow points are hollow.
pub(super) fn draw(svg: &mut Svg, frame: &Frame, place: (usize, usize), curve: &Curve) {
    let colour = curve.colour % COLOURS;
    for (i, &(x, value)) in curve.points.iter().enumerate() {
        let ((_, top), (_, bottom)) = (frame.at(x, value), frame.at(x, 0.0));
        let (left, middle, width) = bar(frame, place, x);
        let hollow = match curve.marks.get(i) {
            Some(Mark::Hollow) => format!(";fill-opacity:.2;stroke:var(--c{colour})"),
            _ => String::new(),
        };
        let at = frame.x.names.get(x as usize).map_or("", String::as_str);
        let parts: Vec<&str> =
            [curve.name.as_str(), at].into_iter().filter(|part| !part.is_empty()).collect();
        let tip = escape(&format!("{}: {} {}", parts.join(", "), short(value), frame.y.label));
        svg.raw(&format!(
            r#"<rect x="{:.1}" y="{top:.1}" width="{:.1}" height="{:.1}" style="fill:var(--c{colour}){hollow}"><title>{tip}</title></rect>"#,
            left + 1.0,
            width - 2.0,
            bottom - top
        ));
        let text = short(value);
        if text_width(&text) <= width {
            svg.text(middle, top - 5.0, "middle", "s", &text);
        }
    }
    for &(x, low, high) in &curve.intervals {
        whisker(svg, bar(frame, place, x).1, (frame.at(x, low).1, frame.at(x, high).1));
    }
    curve.bounds.iter().for_each(|&bound| level(svg, frame, colour, bound));
}

/// The bar of a curve at a name: its left end, its middle and its width.
fn bar(frame: &Frame, (curve, curves): (usize, usize), x: f64) -> (f64, f64, f64) {
    let ((left, _), (right, _)) = (frame.at(x - 0.4, 0.0), frame.at(x + 0.4, 0.0));
    let (width, middle) = (((right - left) / curves as f64).min(80.0), (left + right) / 2.0);
    let left = middle + width * (curve as f64 - curves as f64 / 2.0);
    (left, left + width / 2.0, width)
}
