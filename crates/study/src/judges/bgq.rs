//! The Blue Gene/Q paper: studies in `studies/bgq/`, and what follows from a machine's shape in closed form.

use super::{Bench, Finding, Judge, judge};
use crate::diagnose::Problem;
use crate::machine::Facts;
use crate::resolve::load_machine;

/// The studies of each table: path and TOML text.
pub const STUDIES: &[(&str, &[(&str, &str)])] = &[(
    "bgq.zone_routing",
    &[("studies/bgq/zones.toml", include_str!("../../../../studies/bgq/zones.toml"))],
)];

/// Those who judge the paper's tables.
pub fn judges() -> Vec<Judge> {
    vec![
        Judge { table: "bgq.bisection", judge: bisection },
        Judge { table: "bgq.large_system", judge: large_system },
        Judge { table: "bgq.zone_routing", judge: |bench| table(bench, "bgq.zone_routing") },
    ]
}

fn table(bench: &Bench, table: &str) -> Result<Vec<Finding>, Problem> {
    let found = STUDIES.iter().find(|(name, _)| *name == table);
    judge(bench, table, found.expect("each judge has its studies").1)
}

/// What can be said of a machine of this shape without a run.
fn facts(machine: &str, dims: &str) -> Result<Facts, Problem> {
    Ok(load_machine(machine, &[format!("topology.dims={dims}")])?.facts())
}

/// The machines with as many nodes that the paper compares, in closed form.
fn bisection(_: &Bench) -> Result<Vec<Finding>, Problem> {
    let bgq = facts("bgq", "[16,16,16,12,2]")?;
    let mut findings = vec![];
    for (name, other) in [("bgl", facts("bgl", "[64,48,32]")?), ("bgp", facts("bgp", "[64,48,32]")?)] {
        let of_node = |f: &Facts| f.links as f64 / f.nodes as f64 * f.link_mb_per_s;
        for (column, ours, theirs) in [
            ("times", bgq.bisection_gb_per_s, other.bisection_gb_per_s),
            ("link_times", bgq.link_mb_per_s, other.link_mb_per_s),
            ("node_bandwidth_times", of_node(&bgq), of_node(&other)),
        ] {
            findings.push(Finding::Figure {
                id: format!("bgq.bisection.{column}_{name}"),
                simulated: ours / theirs,
                note: format!("16x16x16x12x2 against {name} of 64x48x32, in closed form"),
            });
        }
    }
    Ok(findings)
}

/// Of the largest machine: what needs no run.
fn large_system(_: &Bench) -> Result<Vec<Finding>, Problem> {
    Ok(vec![Finding::Figure {
        id: "bgq.large_system[mean hops, random traffic].value".into(),
        simulated: facts("bgq", "[16,16,16,12,2]")?.mean_hops,
        note: "in closed form".into(),
    }])
}
