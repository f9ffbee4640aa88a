//! Netloom as a library: a study is read, run, and its result looked at. Nothing is written, so that neither
//! `netloom-report` nor `netloom-validate` is compiled.
//!
//! ```text
//! cargo run --example all_to_all -p netloom-study
//! ```

use netloom_simulate::Fabric;
use netloom_study::resolve::load;
use netloom_study::run::{Quiet, Simulate, threads_here};
use std::sync::atomic::AtomicBool;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let stop = AtomicBool::new(false);
    for routing in ["static", "dynamic"] {
        let study =
            load("all-to-all", &["topology.dims=[8,8,8]".into(), format!("traffic.routing={routing}")])?;
        let result = Fabric.simulate(&study, &Quiet(&stop), threads_here())?;
        let (links, latency) = (&result.links, &result.latency.network);
        println!(
            "{routing:<8} links {:.1}% busy, p99 {:.0} ns",
            100.0 * links.mean_utilization,
            latency.p99_ns
        );
    }
    Ok(())
}
