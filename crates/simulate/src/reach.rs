//! Whether the messages of programs have a route around dead nodes and links. Synthetic traffic checks before
//! it sends and skips nodes that it cannot reach; a program cannot continue without its message, so a study
//! with a message without a route is refused.

use netloom_fabric::config::ConfigError;
use netloom_fabric::topology::torus::Torus;
use netloom_messaging::transit::Hops;
use netloom_nic::detour;
use netloom_study::resolve::ResolvedStudy;
use netloom_workload::config::{Priority, RankPrograms, Routing};
use netloom_workload::program::destinations;

/// Refuses programs with a rank on a dead node, or a message that no plan leads to its destination. `nodes`
/// are those of the ranks, which are so far apart. If the messages are not known beforehand, the programs
/// report them.
pub(crate) fn check(
    study: &ResolvedStudy,
    program: &RankPrograms,
    nodes: &[u32],
    hops: &Hops,
) -> Result<(), ConfigError> {
    let Some(planner) = detour::planner(study.torus()) else { return Ok(()) };
    let torus = Torus::new(&study.torus().topology);
    let refuse = |key: &str, message: String| Err(ConfigError { key: key.into(), message });
    let place = |rank: u32| {
        let at = torus.coordinates(nodes[rank as usize]);
        format!("rank {rank} on node {:?}", &at[..torus.dimensions()])
    };
    if let Some(rank) = nodes.iter().position(|node| torus.dead_nodes().binary_search(node).is_ok()) {
        let message = format!(
            "expected nodes that work, found {}, one of topology.dead_nodes; name others in a file (mapping = {{ file = … }})",
            place(rank as u32)
        );
        return refuse("mapping", message);
    }
    let traffic = &study.study.traffic;
    let (is_static, high) = (traffic.routing == Routing::Static, traffic.priority == Priority::High);
    let reaches = |from: u32, to: u32| {
        let (a, b) = (nodes[from as usize], nodes[to as usize]);
        if from == to || planner.plan_for(a, b, is_static || high).is_some() {
            return Ok(());
        }
        let (key, route, other) = match (planner.unreachable(a, b), is_static) {
            (true, _) => ("mapping", "route", "other nodes, or fewer dead ones"),
            (false, true) => {
                ("traffic.routing", "static route", "\"dynamic\", other nodes, or fewer dead ones")
            }
            (false, false) => {
                ("traffic.priority", "route for high priority", "\"normal\", other nodes, or fewer dead ones")
            }
        };
        refuse(
            key,
            format!(
                "{} sends to {}, and no {route} leads there around dead nodes and links; expected {other}",
                place(from),
                place(to)
            ),
        )
    };
    if program.messages.is_empty() {
        for (rank, mut program) in (0..).zip((program.programs)(hops)) {
            destinations(&mut *program).into_iter().try_for_each(|to| reaches(rank, to))?;
        }
        return Ok(());
    }
    let mut pairs: Vec<(u32, u32)> = program.messages.iter().map(|m| (m.0, m.1)).collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs.into_iter().try_for_each(|(from, to)| reaches(from, to))
}
