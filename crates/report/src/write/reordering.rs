//! By how much packets arrived out of order: the fraction of them with at least a given reordering extent,
//! packets.

use super::Plot;
use super::chart::{Chart, Curve};
use super::svg::{Axis, Mark};
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
    let title = "Packets that arrive out of order";
    let log = |low, high, label: &str| Axis { low, high, label: label.into(), log: true, names: vec![] };
    let chart = Chart {
        title: title.into(),
        described: title.into(),
        x: log(1.0, last.0.max(2.0) * 1.1, "extent, packets (logarithmic)"),
        y: log(last.1 / 1.3, first.1 * 1.3, "% of packets with this extent or more (logarithmic)"),
        curves: vec![Curve {
            name: "packets".into(),
            marks: vec![Mark::Full; points.len()],
            points,
            ..Curve::default()
        }],
        ..Chart::default()
    };
    Some(Plot::of(
        "reordering".into(),
        format!(
            "Among the packets from one node to another, {} arrive after one that was sent later. The extent of such a packet is the number of \
             arrivals from the first of those to itself (RFC 4737), {} on average.",
            percent(reordering.reordered_share),
            short(reordering.extent_mean)
        ),
        chart,
    ))
}
