//! Jobs side by side as figures.

use super::{Span, latency};
use crate::driver::Driver;
use netloom_fabric::router::{Network, RouterBlock};
use netloom_study::resolve::ResolvedStudy;
use netloom_study::result::JobFigures;
use netloom_workload::config::WorkloadConfig;
use netloom_workload::traffic::{JobCounts, Plan, Rate};
use std::collections::BTreeSet;

/// The rates of a job in the unit of its kind of machine.
pub(crate) struct Unit<'a> {
    pub name: &'static str,
    /// Offered load per node.
    pub offered: &'a dyn Fn(&Rate) -> Option<f64>,
    /// Accepted load per node, from what arrived at all nodes of a job in all ticks, divided by those nodes
    /// and ticks.
    pub accepted: &'a dyn Fn(&JobCounts, f64) -> f64,
}

/// The figures of each job over a span, none of which has run alone yet; empty if there are no jobs.
pub(crate) fn figures<B: RouterBlock<Host: Driver>>(
    study: &ResolvedStudy,
    network: &mut Network<B>,
    plan: Option<&Plan>,
    span: Span,
    unit: &Unit,
) -> Vec<JobFigures> {
    let (WorkloadConfig::Jobs(config), Some(plan)) = (&study.study.workload, plan) else { return vec![] };
    let Some(jobs) = plan.jobs() else { return vec![] };
    let add = |all: &mut Vec<JobCounts>, others: &[JobCounts]| {
        all.iter_mut().zip(others).for_each(|(all, other)| all.add(other));
    };
    let none = vec![JobCounts::default(); config.jobs.len()];
    let (mut own, mut counts) = (none.clone(), none);
    network.blocks().for_each(|block| add(&mut own, block.host().jobs()));
    network.gather(own).iter().for_each(|of| add(&mut counts, of));
    let shape = plan.pattern().shape();
    let ticks = (span.to - span.from) as f64;
    let figures = |(number, job): (usize, &netloom_workload::config::JobConfig)| {
        let (counts, nodes) = (&counts[number], jobs.nodes(number));
        JobFigures {
            name: job.name(number),
            kind: job.workload.kind().into(),
            nodes: job.nodes,
            routers: count(nodes, |node| shape.router(node)),
            groups: count(nodes, |node| shape.group(node)),
            packets: counts.arrived.packets,
            unit: unit.name.into(),
            offered: if job.is_program() { None } else { (unit.offered)(&plan.rates()[number]) },
            accepted: (unit.accepted)(counts, (ticks * f64::from(job.nodes)).max(1.0)),
            latency: latency(study, &counts.latency),
            last_arrival_us: study.micros(counts.last.ticks()),
            ..JobFigures::default()
        }
    };
    config.jobs.iter().enumerate().map(figures).collect()
}

/// How many different places nodes have.
fn count(nodes: &[u32], place: impl Fn(u32) -> u32) -> u32 {
    nodes.iter().map(|&node| place(node)).collect::<BTreeSet<_>>().len() as u32
}
