//! Figures that only machines of switches have.

use super::{Group, count, group, stats};
use crate::result::{RunResult, SwitchedFigures};
use crate::write::number::{percent, short};

/// What nodes offered and took, and by which ways it came.
pub(super) fn throughput(s: &SwitchedFigures) -> Vec<Group> {
    let offered = s
        .offered_flits_per_tick
        .map_or("as much as goes".into(), |rate| format!("{} flits/tick a node", short(rate)));
    let accepted = format!(
        "{} flits/tick a node; {} GB/s of data",
        short(s.accepted_flits_per_tick),
        short(s.accepted_payload_GB_per_s)
    );
    let mut groups = vec![
        group("Throughput", vec![("offered", offered), ("accepted", accepted)]),
        group(
            "Ways",
            vec![
                ("hops", format!("{} on average, {} at most", short(s.hops_mean), s.hops_max)),
                ("by way of others", format!("{} of the packets", percent(s.nonminimal_share))),
            ],
        ),
    ];
    if let Some(r) = &s.responses {
        groups.push(group(
            "Requests and responses",
            vec![
                (
                    "requests",
                    format!("{}, {} flits/tick a node", count(r.requests), short(r.request_flits_per_tick)),
                ),
                (
                    "responses",
                    format!("{}, {} flits/tick a node", count(r.responses), short(r.response_flits_per_tick)),
                ),
                ("round trip", stats(&r.round_trip)),
            ],
        ));
    }
    groups
}

/// Use of the links, all and by class.
pub(super) fn links(result: &RunResult, s: &SwitchedFigures) -> Group {
    let links = &result.links;
    let mut group = group(
        "Links",
        vec![
            ("mean utilization", percent(links.mean_utilization)),
            (
                "least and most used",
                format!("{} and {}", percent(links.min_utilization), percent(links.max_utilization)),
            ),
        ],
    );
    group.rows.extend(s.classes.iter().map(|c| {
        let used = format!(
            "mean {}, least {}, most {}; {} a packet",
            percent(c.mean_utilization),
            percent(c.min_utilization),
            percent(c.max_utilization),
            short(c.hops)
        );
        (c.class.clone(), used)
    }));
    group
}
