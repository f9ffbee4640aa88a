//! Jobs side by side as figures: each among the others, and beside itself alone.

use super::latency;
use crate::resolve::ResolvedStudy;
use crate::result::{JobAlone, JobFigures};
use netloom_fabric::topology::wiring::Wiring;
use netloom_workload::config::JobsConfig;
use netloom_workload::traffic::{Counts, JobCounts, SwitchedPlan};
use std::collections::BTreeSet;

/// The figures of each job over so many ticks, none of which has run alone yet.
pub(crate) fn figures(
    study: &ResolvedStudy,
    config: &JobsConfig,
    plan: &SwitchedPlan,
    counts: &Counts,
    ticks: f64,
) -> Vec<JobFigures> {
    let wiring = &study.switched().wiring;
    let nothing = JobCounts::default();
    let job = |(number, job): (usize, &netloom_workload::config::JobConfig)| {
        let counts = counts.jobs.get(number).unwrap_or(&nothing);
        let nodes = plan.plan().jobs().map_or(&[][..], |jobs| jobs.nodes(number));
        JobFigures {
            name: job.name(number),
            nodes: job.nodes,
            routers: count(nodes, |node| wiring.home(node).0),
            groups: count(nodes, |node| group(wiring, node)),
            packets: counts.arrived.packets,
            offered_flits_per_tick: plan.plan().rates()[number].offered,
            accepted_flits_per_tick: counts.arrived.size as f64 / (ticks * f64::from(job.nodes)).max(1.0),
            latency: latency(study, &counts.latency),
            last_arrival_us: study.micros(counts.last),
            alone: None,
        }
    };
    config.jobs.iter().enumerate().map(job).collect()
}

fn group(wiring: &Wiring, node: u32) -> u32 {
    wiring.group(wiring.home(node).0)
}

/// How many different places nodes have.
fn count(nodes: &[u32], place: impl Fn(u32) -> u32) -> u32 {
    nodes.iter().map(|&node| place(node)).collect::<BTreeSet<_>>().len() as u32
}

impl JobFigures {
    /// Puts the figures of the same job alone beside these.
    pub(crate) fn beside(&mut self, alone: &JobFigures) {
        let ratio = |among: f64, alone: f64| if alone > 0.0 { among / alone } else { 0.0 };
        self.alone = Some(JobAlone {
            accepted_flits_per_tick: alone.accepted_flits_per_tick,
            latency: alone.latency.clone(),
            last_arrival_us: alone.last_arrival_us,
            latency_slowdown: ratio(self.latency.mean_ns, alone.latency.mean_ns),
            throughput_share: ratio(self.accepted_flits_per_tick, alone.accepted_flits_per_tick),
        });
    }
}
