//! The latency histogram, over a logarithmic axis.

use super::Plot;
use super::chart::{Chart, Curve, from_zero};
use super::svg::Axis;
use netloom_study::number::short;
use netloom_study::result::{Latency, LatencyBin, LatencyStats};

/// Bars across the drawing.
const BARS: usize = 120;

/// The drawing, if any packet was measured.
pub fn plot(latency: &Latency) -> Option<Plot> {
    let mut shown: Vec<(&str, &LatencyStats)> = vec![("network latency", &latency.network)];
    if latency.total.bins != latency.network.bins {
        shown.push(("total latency, source queue included", &latency.total));
    }
    shown.retain(|(_, stats)| stats.bins.iter().any(|b| b.count > 0));
    let used = || shown.iter().flat_map(|(_, s)| &s.bins).filter(|b| b.count > 0);
    let low = used().map(|b| b.from_ns.max(1.0)).reduce(f64::min)?;
    let high = used().map(|b| b.to_ns).reduce(f64::max)?.max(low * 1.5);
    let shares: Vec<Vec<f64>> = shown.iter().map(|(_, stats)| spread(&stats.bins, low, high)).collect();
    let top = shares.iter().flatten().copied().fold(0.0, f64::max) * 100.0;

    let edge = |i: usize| low * (high / low).powf(i as f64 / BARS as f64);
    let curve = |(colour, ((name, _), shares)): (usize, (&(&str, &LatencyStats), &Vec<f64>))| Curve {
        name: (*name).to_owned(),
        colour,
        steps: true,
        points: shares.iter().chain([&0.0]).enumerate().map(|(i, share)| (edge(i), share * 100.0)).collect(),
        ..Curve::default()
    };
    let chart = Chart {
        title: "Latency of packets".into(),
        described: "Histogram of packet latency".into(),
        x: Axis { low, high, label: "latency, ns (logarithmic)".into(), log: true, names: vec![] },
        y: from_zero(top, "% of packets"),
        curves: shown.iter().zip(&shares).enumerate().map(curve).collect(),
        ..Chart::default()
    };
    let figures: Vec<String> = shown
        .iter()
        .map(|(name, s)| {
            let [mean, p50, p99] = [s.mean_ns, s.p50_ns, s.p99_ns].map(short);
            format!("{name}: mean {mean} ns, p50 {p50} ns, p99 {p99} ns")
        })
        .collect();
    Some(Plot::of("latency-of-packets".into(), format!("{}.", figures.join("; ")), chart))
}

/// The share of packets in each bar; a bin that lies across several is shared out among them.
fn spread(bins: &[LatencyBin], low: f64, high: f64) -> Vec<f64> {
    let total = bins.iter().map(|b| b.count).sum::<u64>().max(1) as f64;
    let place = |ns: f64| (ns.max(low) / low).ln() / (high / low).ln() * BARS as f64;
    let mut shares = vec![0.0; BARS];
    for bin in bins.iter().filter(|b| b.count > 0) {
        let share = bin.count as f64 / total;
        let (from, to) = (place(bin.from_ns), place(bin.to_ns).min(BARS as f64));
        let width = to - from;
        for (bar, sum) in shares.iter_mut().enumerate() {
            let overlap = (to.min(bar as f64 + 1.0) - from.max(bar as f64)).max(0.0);
            if width > 1e-9 {
                *sum += share * overlap / width;
            } else if bar == (from as usize).min(BARS - 1) {
                *sum += share;
            }
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_between_bars() {
        let bin = |from_ns, to_ns, count| LatencyBin { from_ns, to_ns, count };
        let shares =
            spread(&[bin(100.0, 130.0, 3), bin(130.0, 131.0, 1), bin(900.0, 1000.0, 4)], 100.0, 1000.0);
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn no_packets_no_drawing() {
        assert!(plot(&Latency::default()).is_none());
    }
}
