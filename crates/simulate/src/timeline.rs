//! The timeline of a run, from what its ranks and its hosts noted.

use super::driver::Driver;
use super::observed::Scope;
use netloom_fabric::router::{Network, RouterBlock};
use netloom_messaging::program::Collective;
use netloom_messaging::rank::{Awaited, RankReport};
use netloom_messaging::timeline as noted;
use netloom_messaging::timeline::RankTimeline;
use netloom_node::time::Microticks;
use netloom_study::number::grouped;
use netloom_study::resolve::ResolvedStudy;
use netloom_study::result::RunResult;
use netloom_study::timeline::{Activity, MessageSpan, NodeTimeline, StepSpan, Timeline};

/// Description of what a rank waits for.
pub(crate) fn awaited(
    receive: Option<Awaited>,
    send_to: Option<u32>,
    collective: Option<Collective>,
) -> String {
    let word = |x: Option<u32>| x.map_or("any".to_owned(), |x| x.to_string());
    match (receive, send_to, collective) {
        (.., Some(what)) => format!("the end of the {} by hardware", what.name()),
        (Some((source, tag)), ..) => format!("a message from rank {} with tag {}", word(source), word(tag)),
        (None, Some(to), None) => format!("rank {to} to receive its message"),
        (None, None, None) => "an operation that never ends".into(),
    }
}

/// The recorder of a rank's timeline, if a study has a timeline of its node.
pub(crate) fn of_rank(study: &ResolvedStudy, node: u32) -> Option<Box<RankTimeline>> {
    let scope = Scope::of(study).filter(|scope| scope.has(node))?;
    let [from, to] = [scope.from, scope.to].map(Microticks::at);
    Some(Box::new(RankTimeline::new(from, to, scope.node_events_max)))
}

/// Adds to a result the timeline of a run, if the study has one: the packets that its hosts recorded.
pub(crate) fn add_packets<B: RouterBlock<Host: Driver>>(
    study: &ResolvedStudy,
    network: &mut Network<B>,
    result: &mut RunResult,
) {
    let Some(scope) = Scope::of(study) else { return };
    let nodes = scope.nodes.iter().map(|&node| NodeTimeline { node, ..NodeTimeline::default() });
    let mut timeline = Timeline { nodes: nodes.collect(), ..Timeline::default() };
    let mut own = (vec![], 0);
    for block in network.blocks() {
        let (packets, dropped) = block.host().observed();
        own.0.extend_from_slice(packets);
        own.1 += dropped;
    }
    for (packets, dropped) in network.gather(own) {
        timeline.packets.extend(packets.iter().map(|packet| packet.span(study)));
        timeline.dropped += dropped;
    }
    // The order of blocks is not that of time.
    timeline.packets.sort_by(|a, b| {
        let order = |p: &netloom_study::timeline::PacketSpan| (p.destination, p.source, p.length);
        let times = |p: &netloom_study::timeline::PacketSpan| [p.to_ns, p.from_ns, p.made_ns];
        let [x, y] = [a, b].map(times);
        let by_time = x.iter().zip(&y).map(|(x, y)| x.total_cmp(y)).find(|o| o.is_ne());
        by_time.unwrap_or_else(|| order(a).cmp(&order(b)))
    });
    result.timeline = Some(timeline);
}

/// Adds the steps and messages of a rank on a node to the timeline of a result.
pub(crate) fn add_rank(
    study: &ResolvedStudy,
    result: &mut RunResult,
    node: u32,
    rank: u32,
    report: &RankReport,
) {
    let (Some(timeline), Some(noted)) = (&mut result.timeline, &report.timeline) else { return };
    timeline.dropped += noted.dropped;
    let Ok(place) = timeline.nodes.binary_search_by_key(&node, |of| of.node) else { return };
    let ns = |time: Microticks| study.micros(1) * 1e3 * time.0 as f64 / 1e6;
    let activity = |activity: &noted::Activity| match activity {
        noted::Activity::Compute => Activity::Compute,
        noted::Activity::Software => Activity::Software,
        noted::Activity::Injection => Activity::Injection,
        noted::Activity::Wait(wait) => Activity::Wait {
            awaited: awaited(wait.receive, wait.send_to, wait.collective),
            partner_ns: ns(wait.partner),
            wire_ns: ns(wait.wire),
            queueing_ns: ns(wait.queueing),
        },
    };
    let step =
        |s: &noted::Step| StepSpan { from_ns: ns(s.from), to_ns: ns(s.to), activity: activity(&s.activity) };
    let message = |end: &noted::MessageEnd| MessageSpan {
        from_ns: ns(end.from),
        to_ns: ns(end.to),
        peer: end.peer,
        number: end.number,
        tag: end.tag,
        bytes: end.bytes,
    };
    let of = &mut timeline.nodes[place];
    of.rank = Some(rank);
    of.steps = noted.steps.iter().map(step).collect();
    of.sends = noted.sends.iter().map(message).collect();
    of.receives = noted.receives.iter().map(message).collect();
}

/// Warns of events that the timeline of a result left out.
pub(crate) fn warn(study: &ResolvedStudy, result: &mut RunResult) {
    let (Some(timeline), Some(asked)) = (&result.timeline, &study.study.timeline) else { return };
    if timeline.dropped > 0 {
        let (left, most) = (grouped(timeline.dropped as i64), grouped(asked.node_events_max.into()));
        result.warnings.push(format!(
            "the timeline leaves out {left} events: it keeps {most} of a node and kind; show less with timeline.from_us, \
             timeline.to_us and timeline.nodes, or raise timeline.node_events_max"
        ));
    }
}
