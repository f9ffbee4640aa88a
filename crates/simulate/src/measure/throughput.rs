//! Whether the network accepts what synthetic traffic offers.

use netloom_study::interval;
use netloom_study::resolve::ResolvedStudy;
use netloom_study::result::{RunResult, Throughput};

/// Offered load and the accepted load of the measured windows, per node.
pub(crate) struct Load {
    pub unit: &'static str,
    /// None for as much as the network accepts.
    pub offered: Option<f64>,
    /// A mean per window.
    pub accepted: Vec<f64>,
}

/// Accepted load that is less than offered by no more than this fraction is not yet saturation.
const TOLERANCE: f64 = 0.01;

impl Load {
    /// The figures; none of a run without a whole window.
    pub fn figures(&self, study: &ResolvedStudy, result: &RunResult) -> Option<Throughput> {
        let windows = self.accepted.len();
        if windows == 0 {
            return None;
        }
        let interval = interval::confidence(&self.accepted);
        let (accepted, half) = match interval {
            Some((mean, half)) => (mean, Some(half)),
            None => (self.accepted.iter().sum::<f64>() / windows as f64, None),
        };
        let packets = result.latency.total.count as f64;
        // Too few windows for an interval: at least what chance does to the number of packets.
        let margin = half.unwrap_or(1.96 * accepted / packets.max(1.0).sqrt());
        let ends = study.study.traffic.packets_per_node.is_some();
        let saturated = |offered: f64| match accepted + margin < (1.0 - TOLERANCE) * offered {
            false => Some(false),
            true => {
                let is_known =
                    waits_at_sources(result) || interval::is_beyond_chance(packets, accepted / offered);
                is_known.then_some(true)
            }
        };
        Some(Throughput {
            unit: self.unit.into(),
            offered: self.offered,
            accepted,
            accepted_half_width_95: half,
            windows: windows as u64,
            saturated: self.offered.filter(|_| !ends && !lost(result)).and_then(saturated),
        })
    }
}

/// Whether packets wait in source queues, as those of a saturated torus do. On machines of switches this is part of
/// their time in the network.
fn waits_at_sources(result: &RunResult) -> bool {
    let [total, network] = [&result.latency.total, &result.latency.network].map(|of| of.mean_ns);
    total > 1.02 * network
}

/// Whether packets were lost, so that less arrives than the network accepts.
fn lost(result: &RunResult) -> bool {
    let faults = result.switched.as_ref().and_then(|s| s.faults.as_ref());
    faults.is_some_and(|f| f.lost_on_links + f.lost_in_routers + f.without_route + f.without_header > 0)
}
