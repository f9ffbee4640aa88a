//! Figures that only machines of switches have.

use super::{Group, count, group, stats};
use netloom_study::number::{percent, short};
use netloom_study::result::{FaultFigures, RunResult, SwitchedFigures, Throughput};

/// Offered and accepted load of nodes, and the paths of packets.
pub(super) fn throughput(s: &SwitchedFigures, load: Option<&Throughput>) -> Vec<Group> {
    let accepted = || vec![("accepted", format!("{} flits/tick per node", short(s.accepted_flits_per_tick)))];
    let mut rates = load.map_or_else(accepted, Throughput::rows);
    rates.push(("accepted data", format!("{} GB/s per node", short(s.accepted_payload_GB_per_s))));
    let bound = |bound: f64| format!("{} flits/tick per node", short(bound));
    rates.extend(s.bound_flits_per_tick.map(|most| ("first link is full at", bound(most))));
    let mut groups = vec![
        group("Throughput", rates),
        group(
            "Routes",
            vec![
                ("hops", format!("{} on average, {} at most", short(s.hops_mean), s.hops_max)),
                ("non-minimal", format!("{} of the packets", percent(s.nonminimal_share))),
            ],
        ),
    ];
    if let Some(r) = &s.reordering {
        let extent = format!(
            "{} packets on average; 99% of all packets within {}, {} at most",
            short(r.extent_mean),
            count(r.extent_p99),
            count(r.extent_max)
        );
        let share = format!("{} of {} packets", percent(r.reordered_share), count(r.packets));
        groups.push(group("Order", vec![("reordered", share), ("extent of those", extent)]));
    }
    if let Some(r) = &s.responses {
        groups.push(group(
            "Requests and responses",
            vec![
                (
                    "requests",
                    format!("{}, {} flits/tick per node", count(r.requests), short(r.request_flits_per_tick)),
                ),
                (
                    "responses",
                    format!(
                        "{}, {} flits/tick per node",
                        count(r.responses),
                        short(r.response_flits_per_tick)
                    ),
                ),
                ("round trip", stats(&r.round_trip)),
            ],
        ));
    }
    groups
}

/// Errors and failures, and the recovery from them.
pub(super) fn faults(f: &FaultFigures) -> Group {
    let mut rows = vec![
        (
            "wrong on links",
            format!(
                "{} sets of flits, sent again with what went behind them; {} that no CRC showed",
                count(f.corrupted_sets),
                count(f.escaped_sets)
            ),
        ),
        (
            "packets lost",
            format!(
                "{} with links, {} with routers, {} without a route, {} without a header",
                count(f.lost_on_links),
                count(f.lost_in_routers),
                count(f.without_route),
                count(f.without_header)
            ),
        ),
        (
            "upset words",
            format!("{} corrected, {} contained", count(f.words_corrected), count(f.words_contained)),
        ),
        ("packets damaged", format!("{}, as their CRCs showed", count(f.damaged))),
        ("time-outs", count(f.timeouts)),
    ];
    rows.extend(f.reroutes.iter().map(|r| {
        let left = if r.left == 0 { String::new() } else { format!(", with {} left", count(r.left)) };
        let reported = format!(
            "of what failed at {} us: known after {} us, computed in {} us, quiet in {} us{left}, released at {} us",
            short(r.failed_at_us),
            short(r.notice_us),
            short(r.compute_us),
            short(r.quiesce_us),
            short(r.released_at_us)
        );
        ("new route tables", reported)
    }));
    if let Some(first) = f.first_errors.first() {
        let reported =
            format!("{} at {} us, {} tile {}", first.what, short(first.at_us), first.place, first.tile);
        rows.push(("first error", reported));
    }
    group("Faults", rows)
}

/// Use of the links, all and by class.
pub(super) fn links(result: &RunResult, s: &SwitchedFigures) -> Group {
    let links = &result.links;
    let mut group = group(
        "Links",
        vec![
            ("mean utilization", percent(links.mean_utilization)),
            (
                "min and max",
                format!("{} and {}", percent(links.min_utilization), percent(links.max_utilization)),
            ),
        ],
    );
    group.rows.extend(s.classes.iter().map(|c| {
        let mut used = format!(
            "mean {}, min {}, max {}",
            percent(c.mean_utilization),
            percent(c.min_utilization),
            percent(c.max_utilization)
        );
        if let Some(hops) = c.hops.filter(|_| s.accepted_flits_per_tick > 0.0) {
            used += &format!("; {} per packet", short(hops));
        }
        (c.class.clone(), used)
    }));
    group.rows.extend(s.levels.iter().map(|level| (level.name(), level.description())));
    group
}
