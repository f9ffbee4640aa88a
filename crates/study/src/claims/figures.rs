//! Figures of a result by name: those of its summary by dotted path (`links.mean_utilization`), those that
//! programs measured (`measured.latency_us`, or `measured.latency_us_at_8_B` of a table over sizes), and
//! those that are read off its curves over time and its links.
//!
//! | name | what it is |
//! |---|---|
//! | `stalled` | 1 where the network stood still, else 0 |
//! | `offered` | the load that the traffic aims at, as a share of the links |
//! | `peak_of_shape` | highest link utilization that an all-to-all can reach on this shape, in closed form |
//! | `throughput.peak` | the highest window |
//! | `throughput.level` | mean of the last third |
//! | `throughput.fall_us` | from the peak until half-way down to the level |
//! | `throughput.lowest` | the lowest window after the peak |
//! | `throughput.swing` | greatest less least window of the second half, over its mean; windows averaged by threes |
//! | `throughput.turns` | how often that stretch turns by more than a fifth of its mean: waves |
//! | `escape.level` | share of the packets' bytes on escape VCs, last third |
//! | `unblocking.swing` | as of the throughput, of the probability that a token-ack to a node with blocked packets frees one |
//! | `unblocking.follows` | its correlation with the throughput over the windows after the first tenth |
//! | `hot_region.entering` | mean utilization of the links into the hot region |

use crate::machine::Facts;
use crate::resolve::ResolvedStudy;
use crate::result::{Ended, RunResult};
use netloom_workload::config::{Load, WorkloadConfig};

/// Names of the table above.
pub(super) const OWN: [&str; 13] = [
    "stalled",
    "offered",
    "peak_of_shape",
    "throughput.peak",
    "throughput.level",
    "throughput.fall_us",
    "throughput.lowest",
    "throughput.swing",
    "throughput.turns",
    "unblocking.swing",
    "unblocking.follows",
    "escape.level",
    "hot_region.entering",
];

/// A figure of a result.
///
/// # Errors
/// A name that is no figure of this result.
pub fn figure(study: &ResolvedStudy, result: &RunResult, name: &str) -> Result<f64, String> {
    let curve = |chart: &str, name: &str| -> Result<Vec<f64>, String> {
        let found = result.series.iter().find(|s| s.chart == chart && (name.is_empty() || s.name == name));
        found.map(|s| s.values.clone()).ok_or_else(|| format!("the run has no curve \"{chart}\""))
    };
    let throughput = || curve("Throughput", "payload delivered");
    let unblocking = || curve("Token-acks that free a blocked packet", "");
    let window_us = result.series.first().map_or(0.0, |s| s.window_us);
    Ok(match name {
        "stalled" => f64::from(u8::from(result.simulated.ended == Ended::Stalled)),
        "offered" => match study.study.traffic.load {
            Load::LinkUtilization(share) => share,
            _ => return Err("the traffic aims at no utilization of the links".into()),
        },
        "peak_of_shape" => match study.machine.facts() {
            Facts::Torus(torus) => torus.peak_all_to_all_link_utilization,
            Facts::Switched(_) => return Err("only tori have a peak of their shape".into()),
        },
        "throughput.peak" => peak(&throughput()?).1,
        "throughput.level" => level(&throughput()?),
        "throughput.fall_us" => fall(&throughput()?) * window_us,
        "throughput.lowest" => lowest(&throughput()?),
        "throughput.swing" => swing(&throughput()?),
        "throughput.turns" => turns(&throughput()?),
        "unblocking.swing" => swing(&unblocking()?),
        "unblocking.follows" => {
            let (a, b) = (throughput()?, unblocking()?);
            let from = a.len() / 10;
            correlation(&a[from..], &b[from..])
        }
        "escape.level" => {
            let of = |escape: bool| {
                let curves = result.series.iter().filter(|s| s.chart == "Link utilization by VC");
                let curves = curves.filter(|s| !escape || s.name.starts_with("escape"));
                curves.map(|s| level(&s.values)).sum::<f64>()
            };
            of(true) / of(false)
        }
        "hot_region.entering" => entering(study, result)?,
        path => result.figure(path).ok_or_else(|| format!("`{path}` is no figure of a run"))?,
    })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The highest window: place and value.
fn peak(curve: &[f64]) -> (usize, f64) {
    curve.iter().copied().enumerate().fold((0, f64::NEG_INFINITY), |a, b| if b.1 > a.1 { b } else { a })
}

/// Mean of the last third.
fn level(curve: &[f64]) -> f64 {
    mean(&curve[curve.len() * 2 / 3..])
}

/// Windows from the peak until half-way down to the level; NaN for a curve that does not come down.
fn fall(curve: &[f64]) -> f64 {
    let ((at, top), level) = (peak(curve), level(curve));
    let half = f64::midpoint(top, level);
    if top < level * 1.02 {
        return f64::NAN;
    }
    let below = curve[at..].iter().position(|&x| x < half);
    below.map_or(f64::NAN, |i| {
        let (before, after) = (curve[at + i - 1], curve[at + i]);
        i as f64 - 1.0 + (before - half) / (before - after)
    })
}

/// The lowest window after the peak.
fn lowest(curve: &[f64]) -> f64 {
    curve[peak(curve).0..].iter().copied().fold(f64::INFINITY, f64::min)
}

/// The second half, its windows averaged by threes so that noise does not count as movement.
fn smoothed(curve: &[f64]) -> Vec<f64> {
    curve[curve.len() / 2..].windows(3).map(mean).collect()
}

fn swing(curve: &[f64]) -> f64 {
    let half = smoothed(curve);
    let (low, high) = half.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &x| (l.min(x), h.max(x)));
    (high - low) / mean(&half)
}

/// Number of times that the second half changes direction by more than a fifth of its mean.
fn turns(curve: &[f64]) -> f64 {
    let half = smoothed(curve);
    let step = mean(&half) / 5.0;
    let Some(&first) = half.first() else { return 0.0 };
    // The extremes since the last turn, and whether the curve goes up or down since then.
    let (mut low, mut high, mut up, mut turns) = (first, first, None, 0);
    for &x in &half {
        (low, high) = (low.min(x), high.max(x));
        let now_up = match up {
            Some(true) | None if high - x > step => false,
            Some(false) | None if x - low > step => true,
            _ => continue,
        };
        turns += u32::from(up.is_some());
        (low, high, up) = (x, x, Some(now_up));
    }
    f64::from(turns)
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let (ma, mb) = (mean(a), mean(b));
    let sum = |f: &dyn Fn(f64, f64) -> f64| a.iter().zip(b).map(|(x, y)| f(x - ma, y - mb)).sum::<f64>();
    sum(&|x, y| x * y) / (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt()
}

/// Mean utilization of the links whose sender is outside the hot region and whose receiver is inside.
fn entering(study: &ResolvedStudy, result: &RunResult) -> Result<f64, String> {
    let WorkloadConfig::HotRegion(hot) = &study.study.workload else {
        return Err("the workload has no hot region".into());
    };
    let dims = &study.torus().topology.dims;
    let origin = |d: usize| hot.origin.get(d).copied().unwrap_or(0);
    let inside =
        |at: &[u32]| at.iter().enumerate().all(|(d, &c)| (c + dims[d] - origin(d)) % dims[d] < hot.region[d]);
    let links = result.per_link.iter().filter(|l| {
        let (d, minus) = (usize::from(l.direction / 2), l.direction % 2 == 1);
        let mut to = l.node.clone();
        to[d] = (to[d] + if minus { dims[d] - 1 } else { 1 }) % dims[d];
        !inside(&l.node) && inside(&to)
    });
    let of: Vec<f64> = links.map(|l| l.utilization).collect();
    if of.is_empty() { Err("the run kept no figures of links".into()) } else { Ok(mean(&of)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rise, a fall with a half-life of `half` windows, and a level.
    fn falls(half: f64) -> Vec<f64> {
        (0..60)
            .map(|i| if i < 2 { 60.0 } else { 100.0 + 50.0 * 0.5f64.powf(f64::from(i - 2) / half) })
            .collect()
    }

    fn waves(amplitude: f64) -> Vec<f64> {
        (0..90).map(|i| 100.0 + amplitude * (f64::from(i) / 3.0).sin()).collect()
    }

    #[test]
    fn a_fall_is_timed_and_a_rise_has_none() {
        for half in [2.0, 5.0, 8.0] {
            let (curve, found) = (falls(half), fall(&falls(half)));
            assert!((found / half - 1.0).abs() < 0.15, "{half}: {found}");
            assert!((peak(&curve).1 - 150.0).abs() < 1e-9 && (level(&curve) - 100.0).abs() < 2.0);
            assert!(lowest(&curve) >= 100.0);
        }
        assert!(fall(&(0..60).map(f64::from).collect::<Vec<_>>()).is_nan());
        assert!(fall(&[100.0; 60]).is_nan());
    }

    #[test]
    fn waves_turn_and_levels_do_not() {
        assert!(turns(&waves(40.0)) >= 3.0 && swing(&waves(40.0)) > 0.5);
        assert!(turns(&waves(5.0)) == 0.0 && swing(&waves(5.0)) < 0.12);
        assert!(turns(&falls(3.0)) == 0.0 && turns(&[100.0; 60]) == 0.0);
        // A single fall is no wave.
        assert!(turns(&(0..90).map(|i| 200.0 - f64::from(i)).collect::<Vec<_>>()) == 0.0);
    }

    #[test]
    fn what_follows_correlates() {
        let wave = waves(40.0);
        let with: Vec<f64> = wave.iter().map(|x| 0.1 + x / 1000.0).collect();
        let against: Vec<f64> = wave.iter().map(|x| 0.9 - x / 1000.0).collect();
        assert!(correlation(&wave, &with) > 0.99 && correlation(&wave, &against) < -0.99);
    }
}
