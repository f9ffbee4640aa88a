//! Link utilization laid out over the torus: for each dimension a drawing of its two directions, plane by
//! plane.

use super::Plot;
use super::cells::{self, Names};
use super::colour::picture;
use super::svg::{Svg, WIDTH, text_width};
use netloom_study::number::percent;
use netloom_study::result::{LinkRow, direction_name};
use netloom_workload::config::letter;

/// Room between two planes, px.
const GAP: f64 = 12.0;
/// Room for the name of a plane above it, px.
const NAME: f64 = 15.0;
/// Left and right margin of the planes, px.
const LEFT: f64 = 28.0;
const RIGHT: f64 = 14.0;

/// How the planes of a machine are laid out on the page.
struct Layout {
    /// The dimensions that are longer than one node: the first goes across a plane, the second up, the rest
    /// from plane to plane.
    axes: Vec<usize>,
    /// The lengths of all dimensions.
    dims: Vec<usize>,
    /// Nodes across and up in one plane.
    across: usize,
    up: usize,
    planes: usize,
    columns: usize,
    /// Side of a node, px.
    cell: f64,
    /// From the left of one plane to the left of the next, px: wide enough for its name.
    pitch: f64,
}

impl Layout {
    fn new(dims: &[u32]) -> Layout {
        let dims: Vec<usize> = dims.iter().map(|&k| k as usize).collect();
        let axes: Vec<usize> = (0..dims.len()).filter(|&d| dims[d] > 1).collect();
        let length = |i: usize| axes.get(i).map_or(1, |&d| dims[d]);
        let (across, up) = (length(0), length(1));
        let planes: usize = axes.iter().skip(2).map(|&d| dims[d]).product();
        let room = WIDTH - LEFT - RIGHT;
        // The widest cells with which all planes fit into a panel that is no higher than half its width.
        let name = text_width(&plane_name(&axes, &dims, planes - 1)) + 2.0;
        let pitch = |cell: f64| (across as f64 * cell).max(name) + GAP;
        let fit = |columns: usize| {
            let rows = planes.div_ceil(columns) as f64;
            let by_width = ((room + GAP) / columns as f64 - GAP) / across as f64;
            let by_height = (room * 0.55 / rows - GAP - NAME) / up as f64;
            by_width.min(by_height).clamp(0.4, 26.0)
        };
        let fits = |columns: &usize| *columns as f64 * pitch(fit(*columns)) <= room + GAP + 0.01;
        let best = |all: &mut dyn Iterator<Item = usize>| {
            all.filter(fits).max_by(|&a, &b| fit(a).total_cmp(&fit(b)).then(a.cmp(&b)))
        };
        let columns = best(&mut (1..=planes)).unwrap_or(1);
        // Prefer full rows, as long as cells stay nearly as large.
        let full = |c: &usize| planes.is_multiple_of(*c) && fit(*c) >= fit(columns) * 0.9;
        let columns = best(&mut (1..=planes).filter(full)).unwrap_or(columns);
        let (cell, pitch) = (fit(columns), pitch(fit(columns)));
        Layout { axes, dims, across, up, planes, columns, cell, pitch }
    }

    /// Height of a plane, px; that of a line is not its nodes' alone.
    fn plane_height(&self) -> f64 {
        let height = self.up as f64 * self.cell;
        if self.up == 1 { height.max(18.0) } else { height }
    }

    fn height(&self) -> f64 {
        self.planes.div_ceil(self.columns) as f64 * (self.plane_height() + NAME + GAP)
    }

    /// Plane, row and column of a node.
    fn place(&self, node: &[u32]) -> (usize, usize, usize) {
        let c = |i: usize| self.axes.get(i).map_or(0, |&d| node[d] as usize);
        let plane = (2..self.axes.len()).rev().fold(0, |plane, i| plane * self.dims[self.axes[i]] + c(i));
        (plane, c(1), c(0))
    }

    /// The letter of the dimension that goes across (0) or up (1).
    fn letter(&self, i: usize) -> Option<char> {
        self.axes.get(i).map(|&d| letter(d))
    }
}

/// A drawing for each dimension that has links.
pub fn plots(dims: &[u32], rows: &[LinkRow]) -> Vec<Plot> {
    let of_the_torus = rows.iter().filter(|r| usize::from(r.direction) < 2 * dims.len());
    let Some((low, high)) = range(of_the_torus.map(|r| r.utilization)) else { return vec![] };
    let layout = Layout::new(dims);
    (0..dims.len())
        .filter(|&d| rows.iter().any(|r| usize::from(r.direction / 2) == d))
        .map(|d| {
            let svg = draw(&layout, rows, d, low, high);
            let axes = match (layout.letter(0), layout.letter(1)) {
                (Some(x), Some(y)) => format!("in each map {x} runs to the right and {y} upwards"),
                (x, _) => format!("{} runs to the right", x.unwrap_or('x')),
            };
            let caption = format!(
                "Each map is a plane of the torus, each point the link that leaves a node in the direction shown; {axes}. \
                 All drawings share one scale."
            );
            Plot::drawn(&format!("links-{}", letter(d)), caption, svg)
        })
        .collect()
}

/// The range of the colours: round, and no narrower than 5%.
pub(super) fn range(utilizations: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let first = utilizations.map(|u| (u, u));
    let (least, most) = first.reduce(|(least, most), (u, _)| (least.min(u), most.max(u)))?;
    let step = if most - least > 0.25 { 0.1 } else { 0.05 };
    let low = ((least / step + 1e-9).floor() * step).max(0.0);
    let high = ((most / step - 1e-9).ceil() * step).min(1.0);
    Some(if high - low < 0.05 {
        ((high - 0.05).max(0.0), (high - 0.05).max(0.0) + 0.05)
    } else {
        (low, high)
    })
}

fn draw(layout: &Layout, rows: &[LinkRow], d: usize, low: f64, high: f64) -> String {
    let panel = layout.height() + 30.0;
    let mut svg = Svg::new(74.0 + 2.0 * panel);
    svg.text(14.0, 22.0, "start", "t", &format!("Utilization of the {} links", letter(d)));
    legend(&mut svg, low, high);
    for side in 0..2u8 {
        let direction = 2 * d as u8 + side;
        let of: Vec<&LinkRow> = rows.iter().filter(|r| r.direction == direction).collect();
        let top = 66.0 + f64::from(side) * panel;
        let count = of.len().max(1) as f64;
        let mean = of.iter().map(|r| r.utilization).sum::<f64>() / count;
        let least = of.iter().map(|r| r.utilization).fold(f64::INFINITY, f64::min);
        let most = of.iter().map(|r| r.utilization).fold(0.0, f64::max);
        let title = match of.is_empty() {
            true => format!("{}: no links", direction_name(direction)),
            false => format!(
                "{}: mean {}, least {}, most {}",
                direction_name(direction),
                percent(mean),
                percent(least),
                percent(most)
            ),
        };
        svg.text(14.0, top, "start", "", &title);
        planes(&mut svg, layout, &of, top + 10.0, (low, high));
    }
    svg.finish(&format!("Utilization of the {} links over the torus", letter(d)))
}

/// The scale of the colours, at the top right of a drawing.
pub(super) fn legend(svg: &mut Svg, low: f64, high: f64) {
    let (left, width) = (WIDTH - 254.0, 240.0);
    let ramp: Vec<Option<f64>> = (0..128).map(|i| Some(f64::from(i) / 127.0)).collect();
    svg.raw(&format!(
        r#"<image x="{left}" y="12" width="{width}" height="12" preserveAspectRatio="none" href="{}"/>"#,
        picture(128, &ramp)
    ));
    for (share, anchor) in [(0.0, "start"), (0.5, "middle"), (1.0, "end")] {
        let value = percent(low + (high - low) * share);
        svg.text(left + width * share, 38.0, anchor, "s", &value);
    }
}

/// Draws the maps of one direction below `top`, px.
fn planes(svg: &mut Svg, layout: &Layout, rows: &[&LinkRow], top: f64, (low, high): (f64, f64)) {
    let direction = rows.first().map_or(String::new(), |row| direction_name(row.direction));
    let (across, up) = (layout.across, layout.up);
    let mut values = vec![None; across * up * layout.planes];
    for row in rows {
        let (plane, y, x) = layout.place(&row.node);
        // Pictures start at the top; y runs upwards.
        values[(plane * up + up - 1 - y) * across + x] = Some(row.utilization);
    }
    let (width, height) = (across as f64 * layout.cell, layout.plane_height());
    svg.text(
        LEFT + width,
        top + NAME + height + 10.0,
        "end",
        "s",
        &format!("{} \u{2192}", layout.letter(0).unwrap_or('x')),
    );
    if let Some(up) = layout.letter(1) {
        svg.text(LEFT - 4.0, top + NAME + 20.0, "end", "s", &up.to_string());
        svg.text(LEFT - 4.0, top + NAME + 9.0, "end", "s", "\u{2191}");
    }
    for plane in 0..layout.planes {
        let left = LEFT + (plane % layout.columns) as f64 * layout.pitch;
        let upper = top + (plane / layout.columns) as f64 * (height + NAME + GAP) + NAME;
        svg.text(left, upper - 3.0, "start", "s", &plane_name(&layout.axes, &layout.dims, plane));
        let name = plane_name(&layout.axes, &layout.dims, plane);
        let comma = if name.is_empty() { "" } else { ", " };
        let prefix = |i: usize| layout.letter(i).map_or(String::new(), |letter| format!("{letter}="));
        let names = Names {
            upwards: true,
            ..Names::new(format!("{name}{comma}{direction} link"), prefix(0), prefix(1))
        };
        let of_plane = &values[plane * across * up..(plane + 1) * across * up];
        cells::draw(svg, (left, upper, width, height), (across, of_plane), (low, high), &names);
    }
}

/// The coordinates that the nodes of a plane share; empty where there is one plane.
fn plane_name(axes: &[usize], dims: &[usize], plane: usize) -> String {
    let mut rest = plane;
    let parts = axes.iter().skip(2).map(|&d| {
        let c = rest % dims[d];
        rest /= dims[d];
        format!("{}={c}", letter(d))
    });
    parts.collect::<Vec<_>>().join(" ")
}
