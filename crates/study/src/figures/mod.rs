//! The figures of a result for people, in groups: those of all machines here, those of each kind in a file of its own.

mod switched;
mod torus;

use crate::resolve::ResolvedStudy;
use crate::result::{Ended, LatencyStats, RunResult};
use crate::write::number::{grouped, scaled, short};
use netloom_workload::config::WorkloadConfig;

/// Figures that belong together.
pub struct Group {
    /// What they are about.
    pub title: String,
    /// Name and value of each.
    pub rows: Vec<(String, String)>,
}

/// The figures of a result, for people.
pub fn figures(study: &ResolvedStudy, result: &RunResult) -> Vec<Group> {
    if let WorkloadConfig::Packaging(_) = study.study.workload {
        return vec![];
    }
    let (s, totals) = (&result.simulated, &result.totals);
    let ended = match s.ended {
        Ended::Done => "all traffic had arrived",
        Ended::Steady => "the mean was known well enough",
        Ended::Time => "its time was over",
        Ended::Stopped => "it was asked to stop",
        Ended::Stalled => "the network stood still",
        Ended::Failed => "something could not be made good",
    };
    let mut run = vec![
        ("simulated", format!("{} us; ended when {ended}", short(s.us))),
        ("measured", format!("{} us from {} us on", short(s.measured_us), short(s.measured_from_us))),
        (
            "packets delivered",
            format!("{} of {}", count(totals.packets_delivered), count(totals.packets_injected)),
        ),
        ("packet-hops", count(totals.packet_hops)),
    ];
    if totals.payload_bytes > 0 {
        run.insert(3, ("payload delivered", format!("{}B", scaled(totals.payload_bytes as f64))));
    }
    if let Some(c) = &result.confidence {
        let mean =
            format!("{} \u{b1} {} (95%, {} windows)", short(c.mean), short(c.half_width_95), c.windows);
        run.push(("confidence", format!("{}: {mean}", c.quantity)));
    }
    let mut groups = vec![group("Run", run)];
    if let Some(p) = &result.programs {
        let mut rows = vec![
            ("ranks", count(p.ranks.into())),
            ("messages received", format!("{}, {}B", count(p.messages), scaled(p.message_bytes as f64))),
            (
                "last rank ends",
                format!("{} us; ranks end at {} us on average", short(p.last_end_us), short(p.mean_end_us)),
            ),
        ];
        let [compute, software, injection, waiting] =
            [p.compute_us, p.software_us, p.injection_us, p.waiting_us].map(short);
        rows.push((
            "a rank's time",
            format!(
                "computing {compute} us, messaging software {software} us, injection {injection} us, waiting {waiting} us (means)"
            ),
        ));
        if p.mean_hops_by_bytes > 0.0 {
            let hops = format!(
                "{} hops a byte, {} a message",
                short(p.mean_hops_by_bytes),
                short(p.mean_hops_by_messages)
            );
            rows.push(("mapping", hops));
        }
        groups.push(group("Programs", rows));
    }
    if let Some(torus) = &result.torus {
        groups.push(torus::links(study, result));
        groups.push(latency(result));
        groups.extend(torus::buffers(study, torus));
    }
    if let Some(switched) = &result.switched {
        if switched.accepted_flits_per_tick > 0.0 {
            groups.extend(switched::throughput(switched));
        }
        groups.push(latency(result));
        groups.push(switched::links(result, switched));
        groups.extend(switched.faults.as_ref().map(switched::faults));
    }
    groups
}

/// Rows under a title.
fn group(title: &str, rows: Vec<(&str, String)>) -> Group {
    Group { title: title.into(), rows: rows.into_iter().map(|(name, value)| (name.into(), value)).collect() }
}

/// How long packets were on their way.
fn latency(result: &RunResult) -> Group {
    group(
        "Latency",
        vec![("in the network", stats(&result.latency.network)), ("in all", stats(&result.latency.total))],
    )
}

/// A distribution of times, in a line.
fn stats(s: &LatencyStats) -> String {
    let [mean, p50, p90, p99, max] = [s.mean_ns, s.p50_ns, s.p90_ns, s.p99_ns, s.max_ns].map(short);
    format!("mean {mean} ns; half {p50}, 90% {p90}, 99% {p99}, all {max}")
}

fn count(n: u64) -> String {
    grouped(i64::try_from(n).unwrap_or(i64::MAX))
}
