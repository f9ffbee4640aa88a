//! When a run has settled, and how well its mean is known: decided from simulated quantities alone.

use crate::measure;
use netloom_fabric::router::WindowRecord;
use netloom_study::interval::student;
use netloom_study::resolve::ResolvedStudy;
use netloom_study::result::Confidence;

/// Windows of each of the two stretches that are compared to find the end of the warm-up.
const STRETCH: usize = 3;
/// Windows that a mean needs at the least.
const WINDOWS_MIN: usize = 6;

/// Whether the last windows of a series continue those before them: the warm-up is over. The means of two
/// adjacent stretches may differ by `tolerance` (relative), or by what their own scatter explains.
pub fn settled(series: &[f64], tolerance: f64) -> bool {
    if series.len() < 2 * STRETCH {
        return false;
    }
    let (before, last) = series[series.len() - 2 * STRETCH..].split_at(STRETCH);
    let ((a, va), (b, vb)) = (moments(before), moments(last));
    // Neither may the stretch itself still run up or down.
    let drift = (last[STRETCH - 1] - before[0]).abs() / (2 * STRETCH - 1) as f64;
    let noise = ((va + vb) / STRETCH as f64).sqrt();
    (a - b).abs() <= (tolerance * a.abs()).max(noise) && drift <= (tolerance * a.abs()).max(noise)
}

/// Whether the warm-up of a study with this many links is over at the end of these windows.
pub fn has_settled(study: &ResolvedStudy, windows: &[WindowRecord], links: f64) -> bool {
    settled(&utilization(study, windows, links), study.study.measure.half_width) && moves(windows)
}

/// How well the mean of these windows is known.
pub fn confidence_of(study: &ResolvedStudy, windows: &[WindowRecord], links: f64) -> Option<Confidence> {
    confidence(&utilization(study, windows, links)).map(|(mean, half)| Confidence {
        quantity: "mean utilization of the links".into(),
        mean,
        half_width_95: half,
        windows: windows.len() as u64,
    })
}

/// Whether a mean is known as well as the study asks for, from windows in which something moved.
pub fn is_known(study: &ResolvedStudy, of: Option<&Confidence>, windows: &[WindowRecord]) -> bool {
    let narrow = |c: &Confidence| c.half_width_95 <= study.study.measure.half_width * c.mean;
    // Where nothing arrives, there is no mean to be known.
    of.is_some_and(narrow) && moves(windows)
}

/// Mean utilization of the links in each window.
fn utilization(study: &ResolvedStudy, windows: &[WindowRecord], links: f64) -> Vec<f64> {
    windows.iter().map(|w| measure::utilization(study, w, links)).collect()
}

/// Whether packets arrived in the last windows: a network in which nothing moves has not settled.
pub fn moves(windows: &[WindowRecord]) -> bool {
    windows[windows.len().saturating_sub(2 * STRETCH)..].iter().any(|window| window.delivered > 0)
}

fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    (mean, variance)
}

/// Mean of a series and the half width of its 95% confidence interval: Student's t over the windows, widened
/// for windows that resemble their predecessors.
pub fn confidence(series: &[f64]) -> Option<(f64, f64)> {
    if series.len() < WINDOWS_MIN {
        return None;
    }
    let n = series.len() as f64;
    let (mean, variance) = moments(series);
    let lag: f64 = series.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum::<f64>() / (n - 1.0);
    let correlation = if variance > 0.0 { (lag / variance).clamp(0.0, 0.9) } else { 0.0 };
    let inflated = variance * (1.0 + correlation) / (1.0 - correlation);
    Some((mean, student(series.len() - 1) * (inflated / n).sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use netloom_engine::Stream;

    #[test]
    fn a_ramp_is_not_settled_and_a_plateau_is() {
        let ramp: Vec<f64> = (0..10).map(|i| f64::from(i) * 0.1).collect();
        assert!(!(1..=10).any(|n| settled(&ramp[..n], 0.005)));
        let flat: Vec<f64> = ramp.iter().copied().chain([0.98, 0.981, 0.979, 0.98, 0.982, 0.98]).collect();
        assert!(settled(&flat, 0.005));
        assert!(!settled(&flat[..12], 0.005));
    }

    /// The interval covers the true mean about as often as its level promises, also for correlated windows.
    #[test]
    fn intervals_cover() {
        let mut stream = Stream::new(3, 0, 0);
        for correlation in [0.0, 0.4] {
            let trials = 2000;
            let covered = (0..trials)
                .filter(|_| {
                    let mut last = 0.0;
                    let series: Vec<f64> = (0..40)
                        .map(|_| {
                            last = correlation * last + (0..12).map(|_| stream.unit() - 0.5).sum::<f64>();
                            5.0 + last
                        })
                        .collect();
                    let (mean, half) = confidence(&series[8..]).expect("enough");
                    (mean - 5.0).abs() <= half
                })
                .count();
            let share = covered as f64 / f64::from(trials);
            assert!((0.90..0.99).contains(&share), "correlation {correlation}: {share}");
        }
    }
}
