//! Figures that only tori have.

use super::{Group, count, group, stats};
use netloom_fabric::router::LinkErrors;
use netloom_study::number::{percent, short};
use netloom_study::resolve::ResolvedStudy;
use netloom_study::result::{RunResult, TorusFigures, TorusLinks};

/// Use of the links.
pub(super) fn links(study: &ResolvedStudy, result: &RunResult) -> Group {
    let none = TorusLinks::default();
    let (links, carried) = (&result.links, result.links.torus.as_ref().unwrap_or(&none));
    let mut rows = vec![
        ("mean utilization", percent(links.mean_utilization)),
        ("payload", percent(carried.payload_utilization)),
        ("headers", percent(carried.header_utilization)),
        ("trailers", percent(carried.trailer_utilization)),
        ("acknowledgements", percent(carried.ack_utilization)),
        ("min and max", format!("{} and {}", percent(links.min_utilization), percent(links.max_utilization))),
        (
            "by VC",
            format!(
                "dynamic {}, escape {}, high priority {}",
                percent(carried.by_class.dynamic),
                percent(carried.by_class.escape),
                percent(carried.by_class.high)
            ),
        ),
    ];
    if !carried.by_direction.is_empty() {
        let each = carried.by_direction.iter().map(|d| format!("{} {}", d.direction, percent(d.utilization)));
        rows.push(("by direction", each.collect::<Vec<_>>().join(", ")));
    }
    let peak = study.torus_machine().facts().peak_all_to_all_link_utilization;
    if study.study.workload.kind() == "all-to-all" && peak > 0.0 && links.mean_utilization > 0.0 {
        let share = percent(links.mean_utilization / peak);
        rows.push(("of this shape's peak", format!("{share} of {}", percent(peak))));
    }
    group("Links", rows)
}

/// Buffers, and what they are to do with.
pub(super) fn buffers(study: &ResolvedStudy, torus: &TorusFigures) -> Vec<Group> {
    let mut groups = vec![];
    let (chunks, fraction) = (&torus.occupancy.mean_chunks, &torus.occupancy.fraction);
    let class = |chunks: f64, fraction: f64| format!("{} chunks, {} full", short(chunks), percent(fraction));
    groups.push(group(
        "Buffers of a receiver",
        vec![
            ("dynamic VCs", class(chunks.dynamic, fraction.dynamic)),
            ("escape VCs", class(chunks.escape, fraction.escape)),
            ("high-priority VC", class(chunks.high, fraction.high)),
            ("hops on escape VCs", percent(torus.escape_share)),
        ],
    ));
    let waited = [
        ("dynamic VCs", &torus.waits.dynamic),
        ("escape VCs", &torus.waits.escape),
        ("high-priority VC", &torus.waits.high),
    ];
    let rows: Vec<_> =
        waited.into_iter().filter(|w| w.1.count > 0).map(|(name, w)| (name, stats(w))).collect();
    if !rows.is_empty() {
        groups.push(group("Waits in buffers", rows));
    }
    if let Some(c) = &torus.counters {
        let [user, system, partition, others] = c.chunks.map(count);
        groups.push(group(
            "Performance counters",
            vec![
                ("chunks sent", format!("user {user}, system {system}, collective {partition} and {others}")),
                ("packets received", count(c.packets)),
                ("mean queue", format!("{} packets a receiver", short(c.queue_packets))),
                (
                    "mean wait",
                    format!(
                        "{} ns by Little's law, {} ns measured",
                        short(c.wait_ns),
                        short(c.measured_wait_ns)
                    ),
                ),
            ],
        ));
    }
    if let Some(e) = &torus.errors {
        groups.push(group("Errors made good", errors(e)));
    }
    if study.study.measure.unblocking {
        let share = percent(torus.unblock_probability);
        groups.push(group("Token-acks to blocked nodes", vec![("that unblock a packet", share)]));
    }
    groups
}

/// Corrected errors: the kinds that occurred, of those that may.
fn errors(e: &LinkErrors) -> Vec<(&'static str, String)> {
    let [spare, data @ ..] = {
        let mut fibres = e.fibre_errors;
        fibres.rotate_right(1);
        fibres
    };
    let header = format!("{}, {} seen at the header", count(e.corrupted), count(e.bad_headers));
    let ghosts = format!("{}, over {} more links", count(e.ghosts), count(e.ran_on));
    let fibres = format!("{} on data fibres, {} on spares", count(data.iter().sum()), count(spare));
    let rows = [
        ("packets corrupted", header, e.corrupted),
        ("packets refused", count(e.refused), e.refused),
        ("packets sent again", count(e.retransmitted), e.retransmitted),
        ("ghosts discarded", ghosts, e.ghosts),
        ("acknowledgements lost", count(e.acks_lost), e.acks_lost),
        ("ack-only packets", count(e.ack_only), e.ack_only),
        ("barrier packets lost", count(e.barriers_lost), e.barriers_lost),
        ("barrier packets again", count(e.barriers_resent), e.barriers_resent),
        ("wrong bits", fibres, e.fibre_errors.iter().sum()),
        ("words corrected", count(e.words_corrected), e.words_corrected),
        ("fibres replaced", count(e.fibres_replaced), e.fibres_replaced),
        ("buffer words corrected", count(e.soft_corrected), e.soft_corrected),
    ];
    let mut rows: Vec<_> = rows.into_iter().filter(|r| r.2 > 0).map(|(name, text, _)| (name, text)).collect();
    if rows.is_empty() {
        rows.push(("all kinds", "none".into()));
    }
    rows
}
