//! Link utilization of a fat tree: level by level, up and down, and how evenly the links of each are used.

use super::Plot;
use super::cells::Names;
use super::chart::{Chart, Curve, from_zero};
use super::links::{legend, range};
use super::matrix::Matrix;
use super::svg::{Axis, Svg, WIDTH};
use netloom_fabric::config::SwitchedTopology;
use netloom_fabric::topology::wiring::Wiring;
use netloom_study::number::grouped;
use netloom_study::result::{LevelUse, PortRow};

/// Left and right margin, px.
const MARGIN: f64 = 28.0;
/// Gap between the pictures of both directions, px.
const GAP: f64 = 20.0;
/// Most columns of a picture; where there are more switches, neighbours share one.
const COLUMNS_MAX: usize = 380;
/// Most of a cell's width, px.
const WIDE: f64 = 22.0;
/// Least and most of its height, px.
const HIGH: (f64, f64) = (4.0, 12.0);
/// Most points of a curve.
const POINTS_MAX: usize = 400;

/// The drawings, where the links' figures were kept: the links between each two levels, and their loads in
/// order.
pub fn plots(topology: &SwitchedTopology, wiring: &Wiring, rows: &[PortRow]) -> Vec<Plot> {
    let SwitchedTopology::FatTree(tree) = topology else { return vec![] };
    let colours = range(rows.iter().map(|r| r.utilization));
    let levels: Vec<Level> = (0..tree.up.len()).map(|level| Level::new(level as u32, wiring, rows)).collect();
    colours.map(|colours| [pictures(&levels, colours), in_order(&levels)]).into_iter().flatten().collect()
}

/// The links between a level and the next.
struct Level {
    /// Up and down.
    directions: [(LevelUse, Matrix, Vec<f64>); 2],
    /// Switches that share a column.
    together: usize,
}

impl Level {
    fn new(level: u32, wiring: &Wiring, rows: &[PortRow]) -> Level {
        let switches = wiring.routers_of(level);
        let together = switches.len().div_ceil(COLUMNS_MAX);
        let parents = rows.iter().filter(|r| r.group == level && r.to_group > level).map(|r| r.port);
        let parents = parents.max().map_or(1, |port| usize::from(port) + 1);
        let direction = |up: bool| {
            let mut matrix = Matrix::new(switches.len().div_ceil(together), parents);
            let mut loads = vec![];
            for row in rows.iter().filter(|r| r.is_of(level, up)) {
                // The switch below, and which of its parents is above it.
                let (below, parent) = match up {
                    true => (row.router, row.port),
                    false => (row.to, wiring.end(row.router, row.port.into()).map_or(0, |end| end.port)),
                };
                matrix.add(parent.into(), (below - switches.start) as usize / together, row.utilization);
                loads.push(row.utilization);
            }
            loads.sort_by(f64::total_cmp);
            (LevelUse::of(level, up, rows), matrix, loads)
        };
        Level { directions: [direction(true), direction(false)], together }
    }

    fn cell(&self) -> (f64, f64) {
        let room = (WIDTH - 2.0 * MARGIN - GAP) / 2.0;
        let width = (room / self.directions[0].1.columns() as f64).min(WIDE);
        (width, width.clamp(HIGH.0, HIGH.1))
    }

    fn height(&self) -> f64 {
        self.directions[0].1.size(self.cell()).1 + 58.0
    }
}

/// Each link as a cell, the highest level above.
fn pictures(levels: &[Level], colours: (f64, f64)) -> Plot {
    let mut svg = Svg::new(50.0 + levels.iter().map(Level::height).sum::<f64>());
    let title = "Utilization of the links by level";
    svg.text(14.0, 22.0, "start", "t", title);
    legend(&mut svg, colours.0, colours.1);
    let mut top = 56.0;
    for level in levels.iter().rev() {
        for (i, (used, matrix, _)) in level.directions.iter().enumerate() {
            let x = MARGIN + i as f64 * ((WIDTH - 2.0 * MARGIN - GAP) / 2.0 + GAP);
            svg.text(
                x,
                top + 8.0,
                "start",
                "",
                &format!("{}: {} links", used.name(), grouped(used.links as i64)),
            );
            svg.text(x, top + 24.0, "start", "s", &used.description());
            let across = if level.together > 1 { "switches from " } else { "switch " };
            let names = Names { step: level.together, ..Names::new(used.name(), across, "parent ") };
            matrix.draw(&mut svg, (x, top + 32.0), level.cell(), colours, &names);
        }
        top += level.height();
    }
    let caption = "Each column is a switch of the lower level, or several that follow one another, each row one of its parents; colours are \
                   the links between them.";
    Plot::drawn("links-by-level", caption.into(), svg.finish(title))
}

/// The loads of the links of each level and direction, in rising order.
fn in_order(levels: &[Level]) -> Plot {
    let uses: Vec<&(LevelUse, Matrix, Vec<f64>)> =
        levels.iter().flat_map(|level| &level.directions).collect();
    let most = uses.iter().map(|used| used.0.max_utilization).fold(0.01, f64::max) * 100.0;
    let curve = |(colour, (used, _, loads)): (usize, &&(LevelUse, Matrix, Vec<f64>))| {
        let last = loads.len().saturating_sub(1);
        let point = |point: usize| {
            let share = point as f64 / POINTS_MAX as f64;
            Some((share * 100.0, loads.get((share * last as f64).round() as usize)? * 100.0))
        };
        let points = (0..=POINTS_MAX).filter_map(point).collect();
        Curve { name: used.name(), colour, points, ..Curve::default() }
    };
    let title = "Utilization of the links in rising order";
    let chart = Chart {
        title: title.into(),
        described: title.into(),
        x: Axis { high: 100.0, label: "% of the links, by rising utilization".into(), ..Axis::default() },
        y: from_zero(most, "%"),
        curves: uses.iter().enumerate().map(curve).collect(),
        ..Chart::default()
    };
    let caption = "A level line is traffic that is spread evenly; one that rises at its end is a few links that carry more than the others.";
    Plot::of("links-by-load".into(), caption.into(), chart)
}

#[cfg(test)]
mod tests {
    use super::*;
    use netloom_fabric::config::FatTreeConfig;

    /// Rows of all links of a fat tree, with utilization as a function of both ends and the port.
    fn rows(wiring: &Wiring, used: impl Fn(u32, u32, u8) -> f64) -> Vec<PortRow> {
        let row = |router, port: usize| {
            let end = wiring.end(router, port)?;
            Some(PortRow {
                router,
                port: port as u8,
                group: wiring.group(router),
                to: end.router,
                to_group: wiring.group(end.router),
                utilization: used(wiring.group(router), wiring.group(end.router), port as u8),
                ..PortRow::default()
            })
        };
        let of = |router| (0..wiring.ports()).filter_map(move |port| row(router, port)).collect::<Vec<_>>();
        (0..wiring.routers()).flat_map(of).collect()
    }

    #[test]
    fn each_level_has_its_links_up_and_down() {
        let tree = SwitchedTopology::FatTree(FatTreeConfig {
            down: vec![4, 3, 5],
            up: vec![2, 3],
            link_classes: vec![],
        });
        let wiring = tree.wiring();
        let rows = rows(&wiring, |from, to, port| match (from, to) {
            (0, 1) => f64::from(port),
            (2, 1) => 0.25,
            _ => 0.5,
        });
        let first = LevelUse::of(0, true, &rows);
        // Fifteen leaves with two parents each: half of the links have a load of 1.
        let figures = (first.links, first.mean_utilization, first.median_utilization, first.max_utilization);
        assert_eq!(figures, (30, 0.5, 0.5, 1.0));
        let plots = plots(&tree, &wiring, &rows);
        let names: Vec<_> = plots.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names, ["links-by-level", "links-by-load"]);
        for text in [
            "up, level 1 to 2: 30 links",
            "down, level 2 to 1: 30 links",
            "mean 25.0%, median 25.0%, most 25.0%",
        ] {
            assert!(plots[0].svg.contains(text), "{text}");
        }
        // Two levels, two directions each, and the scale.
        assert_eq!(plots[0].svg.matches("<image").count(), 2 * 2 + 1);
        assert!(super::plots(&tree, &wiring, &[]).is_empty());
    }
}
