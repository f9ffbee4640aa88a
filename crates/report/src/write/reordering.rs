//! By how much packets arrived out of order: the share of them whose extent is at least so many packets.

use super::Plot;
use super::svg::{Axis, Frame, Svg, WIDTH, line};
use netloom_study::number::{percent, short};
use netloom_study::result::Reordering;

/// The drawing, if any packet was reordered.
pub fn plot(reordering: &Reordering) -> Option<Plot> {
    let packets = reordering.packets as f64;
    let mut above = reordering.packets;
    let mut points = vec![];
    for bin in &reordering.histogram {
        if bin.from > 0 {
            points.push((bin.from as f64, above as f64 / packets * 100.0));
        }
        above -= bin.packets;
    }
    let (&first, &last) = (points.first()?, points.last()?);
    let mut svg = Svg::new(310.0);
    let title = "Packets that arrive out of order";
    svg.text(14.0, 22.0, "start", "t", title);
    let frame = Frame {
        left: 70.0,
        right: WIDTH - 24.0,
        top: 62.0,
        bottom: 260.0,
        x: Axis {
            low: 1.0,
            high: last.0.max(2.0) * 1.1,
            label: "extent, packets (logarithmic)".into(),
            log: true,
            names: vec![],
        },
        y: Axis {
            low: last.1 / 1.3,
            high: first.1 * 1.3,
            label: "% of packets with this extent or more (logarithmic)".into(),
            log: true,
            names: vec![],
        },
    };
    frame.draw(&mut svg);
    line(&mut svg, &frame, 0, &points);
    Some(Plot {
        name: "reordering".into(),
        caption: format!(
            "Among the packets from one node to another, {} arrive after one that was sent later. The extent of such a packet is the number of \
             arrivals from the first of those to itself (RFC 4737), {} on average.",
            percent(reordering.reordered_share),
            short(reordering.extent_mean)
        ),
        svg: svg.finish(title),
    })
}
