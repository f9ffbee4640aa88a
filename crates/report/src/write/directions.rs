//! Link utilization by direction: which dimension is busy, and how unevenly. The maps of `links.rs` then show
//! where.

use super::Plot;
use super::svg::{Axis, Frame, Svg, WIDTH};
use netloom_study::number::percent;
use netloom_study::result::{FROM_IO, LinkRow, TO_IO, direction_name};

/// Height of a direction's row, px.
const ROW: f64 = 24.0;
const TOP: f64 = 56.0;

/// The mean of each direction as a bar, and the least and most used link as a line across; nothing for fewer
/// than two dimensions.
pub fn plot(dims: &[u32], rows: &[LinkRow]) -> Option<Plot> {
    let of = |direction: u8| -> Vec<f64> {
        rows.iter().filter(|r| r.direction == direction).map(|r| r.utilization).collect()
    };
    let directions: Vec<(u8, Vec<f64>)> = (0..2 * dims.len() as u8)
        .chain([TO_IO, FROM_IO])
        .map(|d| (d, of(d)))
        .filter(|(_, links)| !links.is_empty())
        .collect();
    if directions.iter().all(|(d, _)| d / 2 == directions[0].0 / 2) {
        return None;
    }
    let most = directions.iter().flat_map(|(_, links)| links).copied().fold(0.0, f64::max);
    let bottom = TOP + ROW * directions.len() as f64;
    let title = "Utilization of the links by direction";
    let mut svg = Svg::new(bottom + 50.0);
    svg.text(14.0, 22.0, "start", "t", title);
    let x = Axis { low: 0.0, high: (100.0 * most).max(1.0), label: "%".into(), log: false, names: vec![] };
    let y = Axis { low: 0.0, high: 1.0, label: String::new(), log: false, names: vec![String::new()] };
    let frame = Frame { left: 60.0, right: WIDTH - 70.0, top: TOP, bottom, x, y };
    frame.draw(&mut svg);
    for (row, (direction, links)) in directions.iter().enumerate() {
        let (y, colour) = (TOP + ROW * row as f64, direction / 2);
        let mean = links.iter().sum::<f64>() / links.len() as f64;
        let at = |share: f64| frame.at(100.0 * share, 0.0).0;
        let (least, most) = links.iter().fold((1.0, 0.0), |(l, m): (f64, f64), &u| (l.min(u), m.max(u)));
        svg.text(52.0, y + 16.0, "end", "", &direction_name(*direction));
        svg.raw(&format!(
            r#"<rect x="{:.1}" y="{:.1}" width="{:.1}" height="{:.1}" style="fill:var(--c{colour});opacity:0.75"><title>{}: mean {}, min {}, max {}</title></rect>"#,
            frame.left,
            y + 4.0,
            at(mean) - frame.left,
            ROW - 8.0,
            direction_name(*direction),
            percent(mean),
            percent(least),
            percent(most)
        ));
        let middle = y + ROW / 2.0;
        svg.line(at(least), middle, at(most), middle, "a");
        [least, most].iter().for_each(|&end| svg.line(at(end), middle - 4.0, at(end), middle + 4.0, "a"));
        svg.text(WIDTH - 14.0, y + 16.0, "end", "s", &percent(mean));
    }
    let caption = "Bars are means of all links of a direction, lines reach from the minimum to the maximum.";
    Some(Plot::drawn("links-by-direction", caption.into(), svg.finish(title)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(direction: u8, utilization: f64) -> LinkRow {
        LinkRow { direction, utilization, ..LinkRow::default() }
    }

    #[test]
    fn each_direction_has_its_bar() {
        let rows = [link(0, 0.2), link(0, 0.4), link(1, 0.1), link(8, 0.9), link(9, 0.7)];
        let plot = plot(&[4, 1, 1, 1, 2], &rows).expect("two dimensions");
        assert_eq!(plot.svg.matches("<rect x").count(), 4);
        for text in ["+x", "-x", "+v", "-v", "30.0%", "90.0%"] {
            assert!(plot.svg.contains(text), "{text}");
        }
    }

    #[test]
    fn one_dimension_needs_no_comparison() {
        assert!(plot(&[8], &[link(0, 0.5), link(1, 0.5)]).is_none());
        assert!(plot(&[8, 8], &[]).is_none());
    }
}
