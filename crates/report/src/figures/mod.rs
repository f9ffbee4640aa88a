//! The figures of a result for people, in groups: those of all machines here, those of each kind in a file of
//! its own.

mod jobs;
mod switched;
mod torus;

use netloom_study::number::{grouped, scaled, short};
use netloom_study::resolve::ResolvedStudy;
use netloom_study::result::{LatencyStats, RunResult};
use netloom_workload::config::Runs;

/// Figures that belong together.
pub struct Group {
    /// Their subject.
    pub title: String,
    /// Name and value of each.
    pub rows: Vec<(String, String)>,
}

/// The figures of a result, for people.
pub fn figures(study: &ResolvedStudy, result: &RunResult) -> Vec<Group> {
    if let Runs::Packaging(_) = study.study.workload.runs() {
        return vec![];
    }
    let (s, totals) = (&result.simulated, &result.totals);
    let mut run = vec![
        ("ended", format!("{}: {}", s.ended.name(), s.ended.meaning())),
        ("simulated", format!("{} us", short(s.us))),
        ("measured", format!("{} us from {} us on", short(s.measured_us), short(s.measured_from_us))),
        (
            "packets delivered",
            format!("{} of {}", count(totals.packets_delivered), count(totals.packets_injected)),
        ),
        ("packet-hops", count(totals.packet_hops)),
    ];
    if totals.payload_bytes > 0 {
        run.insert(4, ("payload delivered", format!("{}B", scaled(totals.payload_bytes as f64))));
    }
    if let Some(us) = s.run_time_us {
        run.insert(1, ("run time", format!("{} us, until the last rank ended", short(us))));
    }
    if let Some(c) = &result.confidence {
        let mean =
            format!("{} \u{b1} {} (95%, {} windows)", short(c.mean), short(c.half_width_95), c.windows);
        run.push(("confidence", format!("{}: {mean}", c.quantity)));
    }
    // Of rates per tick.
    if result.throughput.is_some() && result.switched.is_some() {
        run.push(("tick", format!("{} ns", short(study.micros(1) * 1e3))));
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
        if p.hardware_collectives > 0 {
            rows.insert(2, ("hardware collectives", count(p.hardware_collectives)));
        }
        let parts = [
            ("computing", p.compute_us),
            ("messaging software", p.software_us),
            ("injection", p.injection_us),
            ("queueing", p.queueing_us),
            ("wire", p.wire_us),
            ("waiting for the partner", p.partner_us),
        ];
        let parts: Vec<String> = parts.iter().map(|(what, us)| format!("{what} {} us", short(*us))).collect();
        rows.push(("a rank's time", format!("{} (means)", parts.join(", "))));
        if let (Some(bytes), Some(messages)) = (p.mean_hops_by_bytes, p.mean_hops_by_messages) {
            let hops = format!("{} hops per byte, {} per message", short(bytes), short(messages));
            rows.push(("mapping", hops));
        }
        groups.push(group("Programs", rows));
    }
    if let Some(torus) = &result.torus {
        groups.extend(result.throughput.as_ref().map(|t| group("Throughput", t.rows())));
        groups.push(torus::links(study, result));
        groups.push(latency(result));
        groups.extend(torus::buffers(study, torus));
    }
    if let Some(switched) = &result.switched {
        if switched.accepted_flits_per_tick > 0.0 {
            groups.extend(switched::throughput(switched, result.throughput.as_ref()));
        }
        groups.push(latency(result));
        groups.push(switched::links(result, switched));
        groups.extend(switched.faults.as_ref().map(switched::faults));
    }
    groups.extend(result.jobs.iter().map(jobs::job));
    groups
}

/// Rows under a title.
fn group(title: &str, rows: Vec<(&str, String)>) -> Group {
    Group { title: title.into(), rows: rows.into_iter().map(|(name, value)| (name.into(), value)).collect() }
}

/// Latency of packets.
fn latency(result: &RunResult) -> Group {
    group(
        "Latency",
        vec![
            ("network latency", stats(&result.latency.network)),
            ("total latency", format!("{} (source queue included)", stats(&result.latency.total))),
        ],
    )
}

/// A distribution of times, in a line.
fn stats(s: &LatencyStats) -> String {
    let [mean, p50, p90, p99, max] = [s.mean_ns, s.p50_ns, s.p90_ns, s.p99_ns, s.max_ns].map(short);
    format!("mean {mean} ns; p50 {p50}, p90 {p90}, p99 {p99}, max {max}")
}

fn count(n: u64) -> String {
    grouped(i64::try_from(n).unwrap_or(i64::MAX))
}
