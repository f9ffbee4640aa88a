//! Confidence intervals of means.

/// Half width of the 95% confidence interval of the mean of independent values; `None` for fewer than two.
pub fn half_width_95(values: &[f64]) -> Option<f64> {
    let n = values.len();
    if n < 2 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n as f64;
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1) as f64;
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
