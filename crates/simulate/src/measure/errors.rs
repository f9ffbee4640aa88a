//! What went wrong on links and in buffers, and was made good, as figures; and what could not be made good,
//! as the reason why a run failed.

use netloom_fabric::config::QueuedRouter;
use netloom_fabric::router::{Network, NodeBlock};
use netloom_fabric::topology::torus::Torus;
use netloom_study::machine::Routers;
use netloom_study::number::short;
use netloom_study::resolve::ResolvedStudy;
use netloom_study::result::{LinkErrorRow, RunResult, TorusFigures, direction_name, sender};

/// Whether anything is to go wrong in a study.
fn expected(study: &ResolvedStudy) -> bool {
    let soft = |r: &QueuedRouter| r.soft_error_rate > 0.0 || !r.soft_errors.is_empty();
    study.torus().link.may_corrupt() || matches!(&study.torus_machine().router, Routers::Queued(r) if soft(r))
}

/// A port of a node, in words.
fn place(torus: &Torus, node: u32, port: usize) -> String {
    let (node, direction) = sender(torus, node, port);
    format!("{} of node {:?}", direction_name(direction), coordinates(torus, node))
}

/// Coordinates of a node, as many as there are dimensions.
fn coordinates(torus: &Torus, node: u32) -> Vec<u32> {
    torus.coordinates(node)[..torus.dimensions()].iter().map(|&x| x.into()).collect()
}

/// The figures, where anything is to go wrong.
pub(super) fn figures<B: NodeBlock>(
    result: &mut RunResult,
    torus: &mut TorusFigures,
    study: &ResolvedStudy,
    network: &mut Network<B>,
) {
    if !expected(study) {
        return;
    }
    torus.errors = Some(network.errors());
    if study.study.measure.per_link {
        let links = network.link_errors();
        let torus = network.torus();
        let row = |&(node, port, errors): &(u32, usize, _)| {
            let (node, direction) = sender(torus, node, port);
            LinkErrorRow { node: coordinates(torus, node), direction, errors }
        };
        result.link_errors = links.iter().map(row).collect();
    }
}

/// Why the network cannot be trusted any more, if a unit has stopped.
pub(super) fn stopped<B: NodeBlock>(study: &ResolvedStudy, network: &mut Network<B>) -> Option<String> {
    let units = network.stopped();
    let first = units.first()?;
    let torus = network.torus();
    let others = match units.len() - 1 {
        0 => String::new(),
        n => format!("; so did {n} more"),
    };
    Some(format!(
        "the receiver {} stopped at {} us: two wrong bits in a word of a packet from node {:?} in its {}, of which \
         nothing left it{others}",
        place(torus, first.node, first.port),
        short(study.micros(first.at.ticks())),
        coordinates(torus, first.source),
        study.torus().vcs[first.vc].name
    ))
}

/// At the end, when nothing is in flight: whether the CRCs of all packets sent and received show that an
/// error escaped all checks.
pub(super) fn escaped<B: NodeBlock>(network: &mut Network<B>) -> Option<String> {
    let links = network.crc_mismatches();
    let &(node, port, system) = links.first()?;
    let torus = network.torus();
    let whose = if system { "the system's" } else { "the users'" };
    let others = match links.len() - 1 {
        0 => String::new(),
        n => format!(", and {n} more"),
    };
    Some(format!(
        "an error got through all checks: the CRCs of {whose} packets sent and received differ on link {}{others}",
        place(torus, node, port)
    ))
}
