//! The clocked reference alone: tests that detect an error in it before the fabric is compared with it.

mod arbitration;
mod bubble;
mod figures;
#[path = "../reference/mod.rs"]
mod reference;
mod routes;

use netloom_fabric::config::{Router, TorusConfig};
use reference::random::Random;
use reference::statistics::Means;
use reference::{Reference, workload};

/// BlueGene/L with the given dimensions and some changes to its routers.
fn bluegene(dims: &[u32], change: impl FnOnce(&mut Router)) -> TorusConfig {
    let mut config = TorusConfig::bluegene_l(dims);
    change(&mut config.router);
    config
}

/// The same as a mesh.
fn mesh(dims: &[u32]) -> TorusConfig {
    let mut config = TorusConfig::bluegene_l(dims);
    config.topology.wrap = vec![false; dims.len()];
    config
}

/// Means from 20,000 to 60,000 ticks of saturated uniform traffic of full packets.
fn saturated(config: &TorusConfig) -> (Means, Reference) {
    let mut reference = Reference::new(config, 3);
    let mut random = Random::new(4);
    workload::flood(&mut reference, 60_000, &mut random, |_, _| ());
    (reference.statistics.means(20_000, 60_000), reference)
}
