//! A chart of curves. It is made once: the drawing that every reader sees and the data that the page's script
//! makes an interactive chart of are both written from it.

use super::bars;
use super::svg::{Axis, COLOURS, Frame, Mark, Sample, Svg, WIDTH, level, line_marked, path, ring, whisker};
use serde_json::{Value, json};

/// A chart of curves over numbers.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// What it shows, above it.
    pub title: String,
    /// The same for those who cannot see it, with what it is drawn over.
    pub described: String,
    /// Across.
    pub x: Axis,
    /// Up.
    pub y: Axis,
    /// Its curves.
    pub curves: Vec<Curve>,
    /// The part of the horizontal axis that is shaded, and why.
    pub shaded: Option<(f64, f64, String)>,
    /// What kinds of lines and marks mean.
    pub key: Vec<(Sample, &'static str)>,
    /// A remark at the upper right.
    pub remark: String,
    /// Whether the drawing has a panel per curve, so that none hides another.
    pub panels: bool,
}

/// A curve of a chart.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    /// Its name in the legend.
    pub name: String,
    /// Number of its colour.
    pub colour: usize,
    /// Whether it stands beside another one of its colour, and so is dashed and absent from the drawing's
    /// legend.
    pub beside: bool,
    /// Whether each value holds up to the next point, and the area below is shaded.
    pub steps: bool,
    /// Its points, from left to right.
    pub points: Vec<(f64, f64)>,
    /// Marks of its first points; of points without a mark only the line is drawn.
    pub marks: Vec<Mark>,
    /// Points to compare it with.
    pub rings: Vec<(f64, f64)>,
    /// 95% intervals: where, from, to.
    pub intervals: Vec<(f64, f64, f64)>,
    /// Level lines that it cannot be above: from, to, how high.
    pub bounds: Vec<(f64, f64, f64)>,
}

/// Most panels beside one another.
const PANELS_ACROSS: usize = 3;
/// Height of a panel with what is around it, px.
const PANEL: f64 = 150.0;

impl Chart {
    /// The drawing.
    pub fn svg(&self) -> String {
        if self.panels && self.curves.len() > 1 { self.svg_of_panels() } else { self.svg_of_all() }
    }

    /// All curves in one frame.
    fn svg_of_all(&self) -> String {
        let mut svg = Svg::new(310.0);
        svg.text(14.0, 22.0, "start", "t", &self.title);
        let mut top = 62.0;
        let named: Vec<&Curve> = self.curves.iter().filter(|c| !c.beside).collect();
        if named.len() > 1 || named.iter().any(|c| !c.name.is_empty() && c.name != self.title) {
            let names: Vec<(usize, &str)> = named.iter().map(|c| (c.colour, c.name.as_str())).collect();
            top += svg.legend(14.0, 44.0, &names);
        }
        if !self.key.is_empty() {
            top += svg.key(14.0, top - 18.0, &self.key);
        }
        if !self.remark.is_empty() {
            svg.text(WIDTH - 24.0, 22.0, "end", "s", &self.remark);
        }
        let frame = Frame {
            left: 70.0,
            right: WIDTH - 24.0,
            top,
            bottom: top + 198.0,
            x: self.x.clone(),
            y: self.y.clone(),
        };
        svg.grow_to(frame.bottom + 50.0);
        self.shade(&mut svg, &frame, true);
        frame.draw(&mut svg);
        for (number, curve) in self.curves.iter().enumerate() {
            match self.x.names.is_empty() {
                true => curve.draw(&mut svg, &frame),
                false => bars::draw(&mut svg, &frame, (number, self.curves.len()), curve),
            }
        }
        svg.finish(&self.described)
    }

    /// A panel per curve, all with the same axes.
    fn svg_of_panels(&self) -> String {
        let columns = self.curves.len().min(PANELS_ACROSS);
        let rows = self.curves.len().div_ceil(columns);
        let mut svg = Svg::new(66.0 + PANEL * rows as f64);
        svg.text(14.0, 22.0, "start", "t", &self.title);
        let width = (WIDTH - 24.0) / columns as f64;
        for (i, curve) in self.curves.iter().enumerate() {
            let (left, top) = (56.0 + width * (i % columns) as f64, 66.0 + PANEL * (i / columns) as f64);
            let bottom = top + PANEL - 50.0;
            let (last_row, first) = (i + columns >= self.curves.len(), i % columns == 0);
            let label = |shown: bool, label: &str| if shown { label.to_owned() } else { String::new() };
            let x = Axis { label: label(last_row, &self.x.label), ..self.x.clone() };
            let y = Axis { label: label(first, &self.y.label), ..self.y.clone() };
            let frame = Frame { left, right: left + width - 56.0, top, bottom, x, y };
            self.shade(&mut svg, &frame, false);
            frame.draw_with(&mut svg, 3, 3);
            svg.text(frame.right, top - 12.0, "end", "", &curve.name);
            curve.draw(&mut svg, &frame);
        }
        svg.text(WIDTH - 24.0, 22.0, "end", "s", &self.remarks().join("; "));
        svg.finish(&self.described)
    }

    fn shade(&self, svg: &mut Svg, frame: &Frame, explained: bool) {
        let Some((from, to, why)) = &self.shaded else { return };
        let ((x1, y1), (x2, y2)) = (frame.at(*from, frame.y.high), frame.at(*to, frame.y.low));
        svg.raw(&format!(
            r#"<rect x="{x1:.1}" y="{y1:.1}" width="{:.1}" height="{:.1}" style="fill:var(--band)"/>"#,
            x2 - x1,
            y2 - y1
        ));
        if explained {
            svg.text(x2, y1 - 6.0, "end", "s", &format!("shaded: {why}"));
        }
    }

    /// What its lines, marks and shades mean, in words.
    fn remarks(&self) -> Vec<String> {
        let shaded = self.shaded.iter().map(|(.., why)| format!("shaded: {why}"));
        let key = self.key.iter().map(|(sample, text)| match sample {
            Sample::Hollow => format!("hollow: {text}"),
            Sample::Solid => format!("solid: {text}"),
            Sample::Dashed => format!("dashed: {text}"),
        });
        let remark = (!self.remark.is_empty()).then(|| self.remark.clone());
        shaded.chain(key).chain(remark).collect()
    }

    /// The data for the page's script; `None` where there is nothing to look at more closely.
    pub fn data(&self) -> Option<Value> {
        if !self.x.names.is_empty() || self.curves.iter().all(|curve| curve.points.len() < 2) {
            return None;
        }
        let axis = |axis: &Axis| json!({ "label": axis.label, "low": rounded(axis.low), "high": rounded(axis.high), "log": axis.log });
        Some(json!({
            "title": self.title,
            "x": axis(&self.x),
            "y": axis(&self.y),
            "shaded": self.shaded.as_ref().map(|(from, to, _)| [rounded(*from), rounded(*to)]),
            "remarks": self.remarks(),
            // Every other curve is dashed then: what is below it is seen.
            "overlap": self.panels,
            "curves": self.curves.iter().map(Curve::data).collect::<Vec<_>>(),
        }))
    }
}

impl Curve {
    fn draw(&self, svg: &mut Svg, frame: &Frame) {
        let colour = self.colour % COLOURS;
        if self.steps {
            let mut points = vec![];
            points.extend(self.points.first().map(|p| frame.at(p.0, frame.y.low)));
            for pair in self.points.windows(2) {
                points.extend([frame.at(pair[0].0, pair[0].1), frame.at(pair[1].0, pair[0].1)]);
            }
            points.extend(self.points.last().map(|p| frame.at(p.0, frame.y.low)));
            svg.raw(&format!(
                r#"<path d="{}" class="l" style="stroke:var(--c{colour});fill:var(--c{colour});fill-opacity:.16"/>"#,
                path(points)
            ));
        } else {
            // A point alone is no line.
            let alone = [Mark::Full];
            let marks =
                if self.points.len() == 1 && self.marks.is_empty() { &alone[..] } else { &self.marks };
            line_marked(svg, frame, self.colour, &self.points, marks, self.beside);
        }
        for &(x, low, high) in &self.intervals {
            whisker(svg, frame.at(x, 0.0).0, (frame.at(x, low).1, frame.at(x, high).1));
        }
        self.bounds.iter().for_each(|&bound| level(svg, frame, colour, bound));
        self.rings.iter().for_each(|&point| ring(svg, frame, self.colour, point));
    }

    fn data(&self) -> Value {
        let of = |which: fn(&(f64, f64)) -> f64| -> Vec<f64> {
            self.points.iter().map(|point| rounded(which(point))).collect()
        };
        let triples = |all: &[(f64, f64, f64)]| -> Vec<[f64; 3]> {
            all.iter().map(|t| [rounded(t.0), rounded(t.1), rounded(t.2)]).collect()
        };
        let hollow: Vec<usize> = self
            .marks
            .iter()
            .enumerate()
            .filter(|(_, mark)| **mark == Mark::Hollow)
            .map(|(i, _)| i)
            .collect();
        json!({
            "name": self.name,
            "colour": self.colour % COLOURS,
            "dashed": self.beside,
            "steps": self.steps,
            "x": of(|p| p.0),
            "y": of(|p| p.1),
            "marked": self.marks.len(),
            "hollow": hollow,
            "rings": self.rings.iter().map(|p| [rounded(p.0), rounded(p.1)]).collect::<Vec<_>>(),
            "intervals": triples(&self.intervals),
            "bounds": triples(&self.bounds),
        })
    }
}

/// A number with six significant digits: more cannot be seen, and makes pages large.
fn rounded(x: f64) -> f64 {
    format!("{x:.5e}").parse().unwrap_or(x)
}

/// An axis of figures from zero to a little above the largest. Shares, in percent, get the whole range where
/// the largest is above half of it: how much is left is seen then.
pub fn from_zero(top: f64, label: &str) -> Axis {
    let whole = label == "%" && top > 50.0 && top <= 100.0;
    let high = match top {
        _ if whole => 100.0,
        _ if top > 0.0 => top * 1.06,
        _ => 1.0,
    };
    Axis { low: 0.0, high, label: label.to_owned(), ..Axis::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart() -> Chart {
        let curve = |name: &str, colour| Curve {
            name: name.into(),
            colour,
            points: vec![(0.0, 10.0), (1.0, 20.123_456_789)],
            marks: vec![Mark::Full, Mark::Hollow],
            ..Curve::default()
        };
        Chart {
            title: "Throughput".into(),
            described: "Throughput over load".into(),
            x: Axis { high: 1.0, label: "load".into(), ..Axis::default() },
            y: from_zero(20.0, "MB/s"),
            curves: vec![curve("one", 0), curve("two", 1)],
            ..Chart::default()
        }
    }

    #[test]
    fn drawing_and_data_show_the_same() {
        let chart = chart();
        let (svg, data) = (chart.svg(), chart.data().expect("curves"));
        for text in ["Throughput", ">one<", ">two<", ">load<", ">MB/s<"] {
            assert!(svg.contains(text), "{text}");
        }
        assert_eq!(data["curves"][1]["name"], "two");
        assert_eq!(data["curves"][1]["y"], json!([10.0, 20.1235]));
        assert_eq!(data["curves"][0]["hollow"], json!([1]));
        assert_eq!((&data["x"]["label"], &data["y"]["label"]), (&json!("load"), &json!("MB/s")));
    }

    #[test]
    fn a_panel_per_curve_has_the_same_axes() {
        let svg = Chart { panels: true, ..chart() }.svg();
        // Each panel has its own ticks, and the label of the figures stands once in a row.
        assert_eq!((svg.matches(">20<").count(), svg.matches(">MB/s<").count()), (2, 1));
    }

    #[test]
    fn single_points_are_nothing_to_look_into() {
        let mut chart = chart();
        chart.curves.iter_mut().for_each(|curve| curve.points.truncate(1));
        assert_eq!(chart.data(), None);
    }

    #[test]
    fn shares_above_half_get_the_whole_range() {
        let high = |top, label| (from_zero(top, label).high * 10.0).round() / 10.0;
        assert_eq!(high(60.0, "%"), 100.0);
        assert_eq!(high(40.0, "%"), 42.4);
        assert_eq!(high(60.0, "ns"), 63.6);
        assert_eq!(high(120.0, "%"), 127.2, "sums of shares may be above");
    }
}
