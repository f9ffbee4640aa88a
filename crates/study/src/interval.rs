//! Confidence intervals of means, and when a series has settled.

/// Windows of each of the two stretches that are compared to find the end of the warm-up.
pub const STRETCH: usize = 3;
/// Windows that a mean needs at the least.
const WINDOWS_MIN: usize = 6;

/// Half width of the 95% confidence interval of the mean of independent values; `None` for fewer than two.
pub fn half_width_95(values: &[f64]) -> Option<f64> {
    let n = values.len();
    if n < 2 {
        return None;
    }
    let (_, variance) = moments(values);
    Some(student(n - 1) * (variance / n as f64).sqrt())
}

/// The 97.5% point of Student's t: from a table up to four degrees of freedom, from there on by Cornish and
/// Fisher's expansion, exact to 1%.
///
/// # Panics
/// For no degrees of freedom.
pub fn student(degrees: usize) -> f64 {
    assert!(degrees > 0, "a mean of one value has no interval");
    if let Some(t) = [12.706, 4.303, 3.182, 2.776].get(degrees - 1) {
        return *t;
    }
    let (z, n) = (1.959_964_f64, degrees as f64);
    let z3 = z.powi(3);
    z + (z3 + z) / (4.0 * n)
        + (5.0 * z.powi(5) + 16.0 * z3 + 3.0 * z) / (96.0 * n * n)
        + (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z3 - 15.0 * z) / (384.0 * n.powi(3))
}

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

/// Whether so many packets, this fraction of those that were to be expected, are fewer than chance makes: by four
/// standard deviations. Of none it is not known whether any were made.
pub fn is_beyond_chance(packets: f64, fraction: f64) -> bool {
    const DEVIATIONS: f64 = 4.0;
    let expected = packets / fraction;
    packets > 0.0 && expected - packets > DEVIATIONS * expected.sqrt()
}

/// Mean and variance.
fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    (mean, variance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use netloom_engine::Stream;

    #[test]
    fn students_t() {
        for (degrees, t) in [(1, 12.706), (4, 2.776), (5, 2.571), (10, 2.228), (30, 2.042), (1000, 1.962)] {
            assert!((student(degrees) / t - 1.0).abs() < 0.01, "{degrees}: {}", student(degrees));
        }
    }

    #[test]
    fn an_interval_needs_two_values() {
        assert_eq!((half_width_95(&[]), half_width_95(&[3.0])), (None, None));
        // The standard error of 1, 2, 3 is 1 / sqrt(3).
        let half = half_width_95(&[1.0, 2.0, 3.0]).expect("three values");
        assert!((half - 4.303 / 3.0_f64.sqrt()).abs() < 1e-9, "{half}");
    }

    #[test]
    fn a_ramp_is_not_settled_and_a_plateau_is() {
        let ramp: Vec<f64> = (0..10).map(|i| f64::from(i) * 0.1).collect();
        assert!(!(1..=10).any(|n| settled(&ramp[..n], 0.005)));
        let flat: Vec<f64> = ramp.iter().copied().chain([0.98, 0.981, 0.979, 0.98, 0.982, 0.98]).collect();
        assert!(settled(&flat, 0.005));
        assert!(!settled(&flat[..12], 0.005));
    }

    #[test]
    fn few_packets_are_fewer_by_chance() {
        assert!(!is_beyond_chance(466.0, 0.909), "two deviations");
        assert!(is_beyond_chance(46_600.0, 0.909));
        assert!(is_beyond_chance(466.0, 0.5));
        assert!(!is_beyond_chance(0.0, 0.0));
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
