//! Link utilization of a dragonfly: between each two groups, and inside one of them, as matrices of who sends
//! to whom.

use super::Plot;
use super::cells::Names;
use super::links::{legend, range};
use super::matrix::Matrix;
use super::svg::{Svg, WIDTH};
use netloom_fabric::config::{Cabling, DragonflyConfig, SwitchedTopology};
use netloom_study::number::percent;
use netloom_study::result::PortRow;

/// Left and right margin, px.
const MARGIN: f64 = 28.0;
/// Room between two matrices, px.
const GAP: f64 = 14.0;
/// Room for a name above a matrix, px.
const NAME: f64 = 15.0;
/// Most of a cell's side, px.
const CELL_MAX: f64 = 22.0;
/// Most of the side of the matrix of groups, px.
const SIDE_MAX: f64 = 480.0;

/// The drawings, where the links' figures were kept: the links between groups, and those of the group whose
/// own links are busiest.
pub fn plots(topology: &SwitchedTopology, rows: &[PortRow]) -> Vec<Plot> {
    let SwitchedTopology::Dragonfly(dragonfly) = topology else { return vec![] };
    between(dragonfly, rows).into_iter().chain(inside(dragonfly, rows)).collect()
}

/// Mean, least and most, in words.
fn reported(values: impl Iterator<Item = f64> + Clone) -> String {
    let count = values.clone().count().max(1) as f64;
    let (sum, least, most) =
        values.fold((0.0, f64::INFINITY, 0.0f64), |(s, l, m), u| (s + u, l.min(u), m.max(u)));
    format!("mean {}, least {}, most {}", percent(sum / count), percent(least), percent(most))
}

/// What links carry from each group to each other.
fn between(dragonfly: &DragonflyConfig, rows: &[PortRow]) -> Option<Plot> {
    let groups = dragonfly.groups as usize;
    let global = || rows.iter().filter(|r| r.group != r.to_group);
    let colours = range(global().map(|r| r.utilization))?;
    let mut matrix = Matrix::new(groups, groups);
    global().for_each(|r| matrix.add(r.group as usize, r.to_group as usize, r.utilization));
    let cell = (SIDE_MAX / groups as f64).min(CELL_MAX);
    let (width, height) = matrix.size((cell, cell));
    let (left, top) = ((WIDTH - width) / 2.0, 92.0);
    let mut svg = Svg::new(top + height + 20.0);
    let title = "Utilization of the links between groups";
    svg.text(14.0, 22.0, "start", "t", title);
    legend(&mut svg, colours.0, colours.1);
    svg.text(14.0, 60.0, "start", "", &reported(global().map(|r| r.utilization)));
    let names = Names::new("", "to group ", "from group ");
    matrix.draw(&mut svg, (left, top), (cell, cell), colours, &names);
    // As many numbers as there is room for.
    let step = ((20.0 / cell).ceil() as usize).max(1);
    for group in (0..groups).step_by(step) {
        let middle = (group as f64 + 0.5) * cell;
        svg.text(left + middle, top - 6.0, "middle", "s", &group.to_string());
        svg.text(left - 6.0, top + middle + 4.0, "end", "s", &group.to_string());
    }
    svg.text(left + width + 8.0, top - 6.0, "start", "s", "to \u{2192}");
    svg.text(left - 28.0, top - 6.0, "end", "s", "from \u{2193}");
    let caption = "Each row is a group that sends, each column one that receives: the mean of the links that join them.";
    Some(Plot::drawn("links-between-groups", caption.into(), svg.finish(title)))
}

/// What there is to draw of a class of links: a title, and matrices with their names.
struct Panel {
    title: String,
    matrices: Vec<(String, Matrix)>,
    /// What columns and rows are.
    across: String,
    along: String,
}

impl Panel {
    /// Matrices beside one another.
    fn columns(&self) -> usize {
        let count = self.matrices.len();
        if count <= 6 { count } else { count.div_ceil(2) }
    }

    fn cell(&self) -> f64 {
        let widest = self.matrices.iter().map(|m| m.1.columns()).max().unwrap_or(1) as f64;
        let room = (WIDTH - 2.0 * MARGIN + GAP) / self.columns() as f64 - GAP;
        (room / widest).min(CELL_MAX)
    }

    fn height(&self) -> f64 {
        let tallest =
            self.matrices.iter().map(|m| m.1.size((self.cell(), self.cell())).1).fold(0.0, f64::max);
        let rows = self.matrices.len().div_ceil(self.columns()) as f64;
        34.0 + rows * (tallest + NAME + GAP)
    }

    fn draw(&self, svg: &mut Svg, top: f64, colours: (f64, f64)) {
        svg.text(14.0, top + 14.0, "start", "", &self.title);
        let cell = self.cell();
        let (width, height) = self.matrices.first().map_or((0.0, 0.0), |m| m.1.size((cell, cell)));
        for (i, (name, matrix)) in self.matrices.iter().enumerate() {
            let (column, row) = (i % self.columns(), i / self.columns());
            let x = MARGIN + column as f64 * (width + GAP);
            let y = top + 24.0 + row as f64 * (height + NAME + GAP) + NAME;
            svg.text(x, y - 4.0, "start", "s", name);
            let names = Names::new(name, &self.across, &self.along);
            matrix.draw(svg, (x, y), (cell, cell), colours, &names);
        }
    }
}

/// The links of a group, dimension by dimension, and those that leave it.
fn inside(dragonfly: &DragonflyConfig, rows: &[PortRow]) -> Option<Plot> {
    let group = busiest(dragonfly, rows)?;
    let of_group: Vec<&PortRow> = rows.iter().filter(|r| r.group == group).collect();
    let first = group * dragonfly.routers_per_group();
    let place = |router: u32, d: usize| match d {
        0 => ((router - first) % dragonfly.blades()) as usize,
        _ => ((router - first) / dragonfly.blades()) as usize,
    };
    let lengths = [dragonfly.blades() as usize, dragonfly.chassis_of(group) as usize];
    let words = if dragonfly.cabling == Cabling::Bundles { ["blade", "chassis"] } else { ["column", "row"] };
    let mut panels = vec![];
    for d in 0..dragonfly.group.len() {
        let leads = |r: &&&PortRow| r.to_group == group && place(r.router, d) != place(r.to, d);
        let of: Vec<&&PortRow> = of_group.iter().filter(leads).collect();
        let Some(class) = of.first().map(|r| r.class.clone()) else { continue };
        // Along the other dimension lie the lines of this one.
        let mut lines: Vec<Matrix> =
            (0..lengths[1 - d]).map(|_| Matrix::new(lengths[d], lengths[d])).collect();
        of.iter().for_each(|r| {
            lines[place(r.router, 1 - d)].add(place(r.router, d), place(r.to, d), r.utilization)
        });
        let name = |i| if lengths[1 - d] > 1 { format!("{} {i}", words[1 - d]) } else { String::new() };
        panels.push(Panel {
            title: format!("{class} links: {}", reported(of.iter().map(|r| r.utilization))),
            matrices: lines.into_iter().enumerate().map(|(i, matrix)| (name(i), matrix)).collect(),
            across: format!("to {} ", words[d]),
            along: format!("from {} ", words[d]),
        });
    }
    let leaving: Vec<&&PortRow> = of_group.iter().filter(|r| r.to_group != group).collect();
    if let Some(one) = leaving.first() {
        let mut routers = Matrix::new(lengths[0], lengths[1]);
        leaving.iter().for_each(|r| routers.add(place(r.router, 1), place(r.router, 0), r.utilization));
        panels.push(Panel {
            title: format!(
                "{} links that leave it, by router: {}",
                one.class,
                reported(leaving.iter().map(|r| r.utilization))
            ),
            matrices: vec![(String::new(), routers)],
            across: format!("{} ", words[0]),
            along: format!("{} ", words[1]),
        });
    }
    let colours = range(of_group.iter().map(|r| r.utilization))?;
    let mut svg = Svg::new(50.0 + panels.iter().map(Panel::height).sum::<f64>());
    let title = format!("Utilization of the links of group {group}");
    svg.text(14.0, 22.0, "start", "t", &title);
    legend(&mut svg, colours.0, colours.1);
    let mut top = 46.0;
    for panel in &panels {
        panel.draw(&mut svg, top, colours);
        top += panel.height();
    }
    let caption = "The group whose own links are busiest. In each square, rows are routers that send, columns those that receive; links \
                   between the same two are averaged.";
    Some(Plot::drawn("links-of-a-group", caption.into(), svg.finish(&title)))
}

/// The group whose own links are busiest.
fn busiest(dragonfly: &DragonflyConfig, rows: &[PortRow]) -> Option<u32> {
    let mut sums = vec![(0.0, 0u32); dragonfly.groups as usize];
    for row in rows.iter().filter(|r| r.group == r.to_group) {
        let sum = &mut sums[row.group as usize];
        *sum = (sum.0 + row.utilization, sum.1 + 1);
    }
    let means =
        (0..).zip(sums).filter(|(_, sum)| sum.1 > 0).map(|(group, sum)| (group, sum.0 / f64::from(sum.1)));
    // Of equals the first.
    means.reduce(|best, next| if next.1 > best.1 { next } else { best }).map(|(group, _)| group)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of all links of a dragonfly, with utilization as a function of both ends.
    fn rows(dragonfly: &DragonflyConfig, used: impl Fn(u32, u32) -> f64) -> Vec<PortRow> {
        let wiring = dragonfly.wiring();
        let row = |router, port| {
            let end = wiring.end(router, port)?;
            Some(PortRow {
                router,
                port: port as u8,
                group: wiring.group(router),
                class: wiring.classes()[usize::from(end.class)].clone(),
                to: end.router,
                to_group: wiring.group(end.router),
                utilization: used(wiring.group(router), wiring.group(end.router)),
                ..PortRow::default()
            })
        };
        let of = |router| (0..wiring.ports()).filter_map(move |port| row(router, port)).collect::<Vec<_>>();
        (0..wiring.routers()).flat_map(of).collect()
    }

    #[test]
    fn groups_and_the_busiest_of_them_are_drawn() {
        let xc = DragonflyConfig { last_group_chassis: Some(2), ..DragonflyConfig::cray_xc(4, 12) };
        let rows = rows(&xc, |from, to| if (from, to) == (2, 2) { 0.9 } else { 0.3 });
        let plots = plots(&SwitchedTopology::Dragonfly(xc.clone()), &rows);
        let names: Vec<_> = plots.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names, ["links-between-groups", "links-of-a-group"]);
        let inside = &plots[1].svg;
        for text in
            ["group 2", "green links", "black links", "blue links that leave it", "chassis 5", "blade 15"]
        {
            assert!(inside.contains(text), "{text}");
        }
        // Six rows of blades, sixteen columns of chassis, one picture of routers, and the scale.
        assert_eq!(inside.matches("<image").count(), 6 + 16 + 1 + 1);
        // Nothing to draw where figures of links were not kept.
        assert!(super::plots(&SwitchedTopology::Dragonfly(xc), &[]).is_empty());
    }
}
