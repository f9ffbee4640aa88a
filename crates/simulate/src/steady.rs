//! When a run has settled, and how well its mean is known: decided from simulated quantities alone.

use crate::measure;
use netloom_fabric::router::WindowRecord;
use netloom_study::interval::{STRETCH, confidence, settled};
use netloom_study::resolve::ResolvedStudy;
use netloom_study::result::Confidence;

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
