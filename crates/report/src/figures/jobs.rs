//! Figures of several jobs side by side.

use super::{Group, count, group, stats};
use netloom_study::number::{percent, scaled, short};
use netloom_study::result::JobFigures;

/// A job among the others and alone.
pub(super) fn job(j: &JobFigures) -> Group {
    let mut rows = vec![("nodes", format!("{} at {} routers in {} groups", j.nodes, j.routers, j.groups))];
    rows.extend(if j.programs.is_some() { program(j) } else { traffic(j) });
    group(&j.name, rows)
}

/// A skeleton or a trace.
fn program(j: &JobFigures) -> Vec<(&'static str, String)> {
    let mut rows = vec![];
    if let Some(p) = &j.programs {
        let messages = format!("{}, {}B", count(p.messages), scaled(p.message_bytes as f64));
        rows.extend([("ranks", count(p.ranks.into())), ("messages received", messages)]);
    }
    let time = |us: f64| format!("{} us", short(us));
    rows.extend(j.run_time_us.map(|us| ("run time", time(us))));
    if let Some(alone) = &j.alone {
        rows.extend(alone.run_time_us.map(|us| ("run time alone", time(us))));
        let slowdown = |times: f64| format!("run time {} times that alone", short(times));
        rows.extend(alone.run_time_slowdown.map(|times| ("slowed down", slowdown(times))));
    }
    rows
}

/// Synthetic traffic.
fn traffic(j: &JobFigures) -> Vec<(&'static str, String)> {
    let offered = j.offered.map_or("as much as the network takes".into(), short);
    let rate = |accepted: f64| format!("{} of {offered} {} per node", short(accepted), j.unit);
    let mut rows = vec![
        ("accepted", rate(j.accepted)),
        ("latency", stats(&j.latency)),
        ("last arrival", format!("{} us", short(j.last_arrival_us))),
    ];
    if let Some(alone) = &j.alone {
        rows.extend([
            ("accepted alone", rate(alone.accepted)),
            ("latency alone", stats(&alone.latency)),
            ("last arrival alone", format!("{} us", short(alone.last_arrival_us))),
            (
                "slowed down",
                format!(
                    "latency {} times that alone, throughput {}",
                    short(alone.latency_slowdown),
                    percent(alone.throughput_share)
                ),
            ),
        ]);
    }
    rows
}
