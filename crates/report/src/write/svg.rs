//! A small writer of SVG: text, lines, and the frame of a chart. Drawings follow the reader's light or dark
//! theme.

use netloom_study::number::{tick_label, ticks};
use std::fmt::Write;

/// Width of every drawing, px.
pub const WIDTH: f64 = 860.0;
/// Colours of curves, by number.
pub const COLOURS: usize = 7;

const STYLE: &str = "<style>\
.nl{font:12px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;--ink:#1c2127;--soft:#5a646f;\
--grid:#e4e7eb;--paper:#fff;--band:#f1f5f9;--empty:#d5d9de;--c0:#1664b0;--c1:#d8651b;--c2:#1d8a5a;--c3:#a23e9b;\
--c4:#8b6d00;--c5:#c4313d;--c6:#4f5b66}\
@media(prefers-color-scheme:dark){.nl{--ink:#e7eaee;--soft:#a0a9b3;--grid:#2c333a;--paper:#15191d;--band:#1e252c;\
--empty:#3a424a;--c0:#62aef5;--c1:#f59a56;--c2:#5acb98;--c3:#dc86d6;--c4:#d6b73c;--c5:#f27983;--c6:#b4bec8}}\
.nl text{fill:var(--ink)}.nl .s{fill:var(--soft)}.nl .t{font-size:14px;font-weight:600}\
.nl .g{stroke:var(--grid)}.nl .a{stroke:var(--soft)}.nl .l{fill:none;stroke-width:1.7;stroke-linejoin:round}\
</style>";

/// A drawing under construction.
pub struct Svg {
    body: String,
    height: f64,
}

impl Svg {
    /// An empty drawing, px high, [`WIDTH`] wide.
    pub fn new(height: f64) -> Svg {
        Svg { body: String::new(), height }
    }

    /// Adds raw SVG.
    pub fn raw(&mut self, text: &str) {
        self.body.push_str(text);
        self.body.push('\n');
    }

    /// Adds text. `class` is `s` (soft), `t` (title) or empty; `anchor` is `start`, `middle` or `end`.
    pub fn text(&mut self, x: f64, y: f64, anchor: &str, class: &str, text: &str) {
        let text = escape(text);
        let _ = writeln!(
            self.body,
            r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" class="{class}">{text}</text>"#
        );
    }

    /// Adds text that reads upwards and ends below this place.
    fn upright(&mut self, x: f64, y: f64, text: &str) {
        let (text, x) = (escape(text), x + 4.0);
        let _ = writeln!(
            self.body,
            r#"<text x="{x:.1}" y="{y:.1}" text-anchor="end" transform="rotate(-90 {x:.1} {y:.1})" class="s">{text}</text>"#
        );
    }

    /// Adds a line.
    pub fn line(&mut self, x1: f64, y1: f64, x2: f64, y2: f64, class: &str) {
        let _ = writeln!(
            self.body,
            r#"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" class="{class}"/>"#
        );
    }

    /// Makes it at least so high, px.
    pub fn grow_to(&mut self, height: f64) {
        self.height = self.height.max(height);
    }

    /// Adds a row of names with the numbers of their curves' colours; returns the height that it takes, px.
    pub fn legend(&mut self, x: f64, y: f64, names: &[(usize, &str)]) -> f64 {
        let (mut at, mut row) = (x, 0.0);
        for (colour, name) in names {
            let width = 30.0 + text_width(name);
            if at + width > WIDTH - 10.0 && at > x {
                at = x;
                row += 18.0;
            }
            let (line_y, colour) = (y + row - 4.0, colour % COLOURS);
            let _ = writeln!(
                self.body,
                r#"<line x1="{at:.1}" y1="{line_y:.1}" x2="{:.1}" y2="{line_y:.1}" class="l" style="stroke:var(--c{colour});stroke-width:3"/>"#,
                at + 16.0
            );
            self.text(at + 21.0, y + row, "start", "", name);
            at += width;
        }
        row + 18.0
    }

    /// Adds a legend of lines and marks; returns its height, px.
    pub fn key(&mut self, x: f64, y: f64, samples: &[(Sample, &str)]) -> f64 {
        let mut at = x;
        let line_y = y - 4.0;
        for (sample, text) in samples {
            let dashes = dashes(*sample == Sample::Dashed);
            let end = at + 22.0;
            let shape = match sample {
                Sample::Hollow => format!(
                    r#"<circle cx="{:.1}" cy="{line_y:.1}" r="4" style="fill:var(--paper);stroke:var(--soft);stroke-width:1.7"/>"#,
                    at + 11.0
                ),
                Sample::Solid | Sample::Dashed => format!(
                    r#"<line x1="{at:.1}" y1="{line_y:.1}" x2="{end:.1}" y2="{line_y:.1}" class="l" style="stroke:var(--soft){dashes}"/>"#
                ),
            };
            self.raw(&shape);
            self.text(at + 27.0, y, "start", "s", text);
            at += 45.0 + text_width(text);
        }
        18.0
    }

    /// The finished drawing, with what it shows for those who cannot see it.
    pub fn finish(self, title: &str) -> String {
        let (h, title) = (self.height, escape(title));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"nl\" viewBox=\"0 0 {WIDTH} {h:.0}\" width=\"{WIDTH}\" \
             height=\"{h:.0}\" role=\"img\" aria-label=\"{title}\">\n<title>{title}</title>\n{STYLE}\n\
             <rect width=\"100%\" height=\"100%\" style=\"fill:var(--paper)\"/>\n{}</svg>\n",
            self.body
        )
    }
}

/// A kind of line or mark, as a drawing's key explains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    /// A solid line.
    Solid,
    /// A dashed line.
    Dashed,
    /// A hollow mark.
    Hollow,
}

/// Text as it may stand in SVG and HTML.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Width of a text of the drawings' size, px, estimated.
pub fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * 6.9
}

/// Height of a line of text, px.
const ROW: f64 = 15.0;

/// A text in lines of `width` px, broken between words.
fn wrapped(text: &str, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = vec![];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if text_width(line) + text_width(word) + text_width(" ") <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    lines
}

/// An axis: its range, what it shows, and whether it is logarithmic.
#[derive(Clone, Debug, Default)]
pub struct Axis {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// What it shows, with its unit.
    pub label: String,
    /// Whether equal ratios take equal room.
    pub log: bool,
    /// Names of the values 0, 1, 2 … where it has names instead of numbers.
    pub names: Vec<String>,
}

impl Axis {
    /// Where a value lies, 0 to 1.
    pub fn at(&self, x: f64) -> f64 {
        match self.log {
            true => (x.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
            false => (x - self.low) / (self.high - self.low),
        }
    }

    fn ticks(&self, count: usize) -> Vec<(f64, String)> {
        if !self.names.is_empty() {
            return self.names.iter().enumerate().map(|(i, name)| (i as f64, name.clone())).collect();
        }
        if !self.log {
            let all = ticks(self.low, self.high, count);
            let step = all.get(1).map_or(1.0, |t| t - all[0]);
            return all.into_iter().map(|t| (t, tick_label(t, step))).collect();
        }
        // Whole decades, and 2 and 5 of each where there is room.
        let decades = (self.high / self.low).log10();
        let steps: &[f64] = if decades > 4.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let first = self.low.log10().floor() as i32;
        let last = self.high.log10().ceil() as i32;
        (first..=last)
            .flat_map(|d| steps.iter().map(move |s| s * 10f64.powi(d)))
            .filter(|t| (self.low * 0.999..=self.high * 1.001).contains(t))
            .map(|t| (t, if t >= 1000.0 { netloom_study::number::grouped(t as i64) } else { format!("{t}") }))
            .collect()
    }
}

/// The frame of a chart: where its two axes lie, px.
pub struct Frame {
    /// Left edge.
    pub left: f64,
    /// Right edge.
    pub right: f64,
    /// Upper edge.
    pub top: f64,
    /// Lower edge.
    pub bottom: f64,
    /// Across.
    pub x: Axis,
    /// Up.
    pub y: Axis,
}

impl Frame {
    /// Where a point lies, px.
    pub fn at(&self, x: f64, y: f64) -> (f64, f64) {
        let (fx, fy) = (self.x.at(x), self.y.at(y));
        (self.left + fx * (self.right - self.left), self.bottom - fy * (self.bottom - self.top))
    }

    /// Draws grid, ticks and labels.
    pub fn draw(&self, svg: &mut Svg) {
        self.draw_with(svg, 8, 5);
    }

    /// Draws grid, labels, and about this number of ticks across and up.
    pub fn draw_with(&self, svg: &mut Svg, across: usize, up: usize) {
        for (value, label) in self.y.ticks(up) {
            let (_, y) = self.at(self.x.low, value);
            svg.line(self.left, y, self.right, y, "g");
            svg.text(self.left - 8.0, y + 4.0, "end", "s", &label);
        }
        let room = (self.right - self.left) / self.x.names.len().max(1) as f64 - 10.0;
        // Names with a word that is wider than its place would run into each other: they stand upright.
        let is_wide = |name: &String| wrapped(name, room).iter().any(|line| text_width(line) > room + 8.0);
        let are_upright = self.x.names.iter().any(is_wide);
        let mut rows = 1;
        for (value, label) in self.x.ticks(across) {
            let (x, _) = self.at(value, self.y.low);
            svg.line(x, self.bottom, x, self.bottom + 5.0, "a");
            if are_upright {
                svg.upright(x, self.bottom + 10.0, &label);
                rows = rows.max((text_width(&label) / ROW).ceil() as usize);
                continue;
            }
            let lines = if self.x.names.is_empty() { vec![label] } else { wrapped(&label, room) };
            for (row, line) in lines.iter().enumerate() {
                // A wide label at the right end stays inside the drawing.
                let middle = x.min(WIDTH - 4.0 - text_width(line) / 2.0);
                svg.text(middle, self.bottom + 19.0 + ROW * row as f64, "middle", "s", line);
            }
            rows = rows.max(lines.len());
        }
        // Names of several lines push what follows down.
        let more = ROW * (rows - 1) as f64;
        svg.height += more;
        svg.line(self.left, self.bottom, self.right, self.bottom, "a");
        if !self.x.label.is_empty() {
            svg.text((self.left + self.right) / 2.0, self.bottom + 38.0 + more, "middle", "", &self.x.label);
        }
        if !self.y.label.is_empty() {
            svg.text(self.left - 8.0, self.top - 12.0, "start", "s", &self.y.label);
        }
    }
}

/// The points of a path through some places, px.
pub fn path(points: impl IntoIterator<Item = (f64, f64)>) -> String {
    let mut d = String::new();
    for (i, (x, y)) in points.into_iter().enumerate() {
        let _ = write!(d, "{}{x:.1} {y:.1}", if i == 0 { 'M' } else { 'L' });
    }
    d
}

/// The style of a dashed line, if it is one.
pub fn dashes(dashed: bool) -> &'static str {
    if dashed { ";stroke-dasharray:5 4" } else { "" }
}

/// How a point of a curve is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A disc.
    Full,
    /// A circle.
    Hollow,
}

/// A curve over numbers whose first points have marks; dashed if asked.
pub fn line_marked(
    svg: &mut Svg,
    frame: &Frame,
    curve: usize,
    points: &[(f64, f64)],
    marks: &[Mark],
    dashed: bool,
) {
    let (colour, points) = (curve % COLOURS, points.iter().map(|&(x, y)| frame.at(x, y)));
    let dashes = dashes(dashed);
    svg.raw(&format!(
        r#"<path d="{}" class="l" style="stroke:var(--c{colour}){dashes}"/>"#,
        path(points.clone())
    ));
    for ((x, y), mark) in points.zip(marks) {
        let (r, style) = match mark {
            Mark::Full => (3.0, format!("fill:var(--c{colour})")),
            Mark::Hollow => (4.0, format!("fill:var(--paper);stroke:var(--c{colour});stroke-width:1.7")),
        };
        svg.raw(&format!(r#"<circle cx="{x:.1}" cy="{y:.1}" r="{r}" style="{style}"/>"#));
    }
}

/// A confidence interval as a line with ends, px.
pub fn whisker(svg: &mut Svg, x: f64, (low, high): (f64, f64)) {
    let mut line = |x1: f64, y1: f64, x2: f64, y2: f64| {
        svg.raw(&format!(
            r#"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" class="whisker" style="stroke:var(--ink);stroke-width:1.2"/>"#
        ));
    };
    line(x, low, x, high);
    line(x - 4.0, low, x + 4.0, low);
    line(x - 4.0, high, x + 4.0, high);
}

/// A dashed level line of a colour: from, to, how high.
pub fn level(svg: &mut Svg, frame: &Frame, colour: usize, (from, to, value): (f64, f64, f64)) {
    let ((x1, y), (x2, _)) = (frame.at(from, value), frame.at(to, value));
    svg.raw(&format!(
        r#"<path d="M{x1:.1} {y:.1}H{x2:.1}" class="l" style="stroke:var(--c{colour}){}"/>"#,
        dashes(true)
    ));
}

/// A point beside a curve, as a ring of its colour.
pub fn ring(svg: &mut Svg, frame: &Frame, curve: usize, (x, y): (f64, f64)) {
    let (colour, (x, y)) = (curve % COLOURS, frame.at(x, y));
    svg.raw(&format!(
        r#"<circle class="ring" cx="{x:.1}" cy="{y:.1}" r="6.5" style="fill:none;stroke:var(--c{colour});stroke-width:1.6"/>"#
    ));
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_break_between_words() {
        assert_eq!(super::wrapped("window 8", 200.0), ["window 8"]);
        assert_eq!(super::wrapped("paced at 0.90 of the peak", 70.0), ["paced at", "0.90 of", "the peak"]);
        assert_eq!(super::wrapped("unbreakable", 10.0), ["unbreakable"]);
    }

    /// A long word stands upright where many names share the axis, and not where few do.
    #[test]
    fn names_that_are_wider_than_their_place_stand_upright() {
        let drawn = |count: usize| {
            let names = (0..count).map(|n| format!("non-minimal {n}")).collect();
            let x = super::Axis { high: count as f64, names, ..Default::default() };
            let y = super::Axis { high: 1.0, ..Default::default() };
            let frame = super::Frame { left: 90.0, right: 1070.0, top: 80.0, bottom: 330.0, x, y };
            let mut svg = super::Svg::new(400.0);
            frame.draw(&mut svg);
            svg.finish("names")
        };
        assert!(drawn(25).contains("rotate(-90"));
        assert!(!drawn(3).contains("rotate(-90"));
    }
}
