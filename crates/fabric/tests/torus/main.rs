//! Tori of BlueGene/L's routers, run. One program, so that the routers with the same hosts are compiled once.

mod agreement;
mod bubble;
mod counting;
mod faults_runs;
mod invariants;
mod links;
#[path = "../reference/mod.rs"]
mod reference;
#[path = "../traffic/mod.rs"]
mod traffic;
