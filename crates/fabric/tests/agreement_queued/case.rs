//! Comparisons of the two models, and their tolerances.

use crate::agreement_queued::load::Load;
use crate::agreement_queued::models::{Figures, by_fabric, by_reference};
use crate::traffic::script::Packet;
use netloom_fabric::config::QueuedConfig;

/// A comparison: the machines of both models, which are the same unless a test checks that a difference is
/// found, and their traffic.
pub struct Case<'a> {
    pub clocked: &'a QueuedConfig,
    pub fabric: &'a QueuedConfig,
    pub loads: &'a [Load],
    /// Number of runs with different packet lists.
    pub runs: u64,
    /// The window, cycles.
    pub from: u64,
    pub to: u64,
    /// Tolerance of the utilization.
    pub within: f64,
}

impl<'a> Case<'a> {
    /// One run of 20,000 cycles, of which the first 5,000 are warm-up.
    pub fn new(config: &'a QueuedConfig, loads: &'a [Load]) -> Self {
        Case { clocked: config, fabric: config, loads, runs: 1, from: 5000, to: 20_000, within: 0.01 }
    }

    /// The differences beyond tolerance. Occupancy may differ by 5%: between runs of one model with different
    /// packet lists it differs by 1 to 4%. A single VC's occupancy may also differ by 2% of all VCs', or by a
    /// hundredth of a full packet: small values are random.
    pub fn differences(&self, name: &str) -> Vec<String> {
        let &Case { from, to, .. } = self;
        let saturated = self.loads.iter().any(|load| load.fraction.is_none());
        let list = |run| -> Vec<Packet> {
            let lists = self.loads.iter().zip(0..).map(|(l, i)| l.packets(self.clocked, to, 10 * run + i));
            lists.flatten().collect()
        };
        let lists: Vec<_> = (1..=self.runs).map(list).collect();
        let by = |model: &dyn Fn(&[Packet]) -> Figures| -> Figures {
            Figures::mean(&lists.iter().map(|list| model(list)).collect::<Vec<_>>())
        };
        let clocked = by(&|list| by_reference(self.clocked, list, saturated, from, to));
        let fabric = by(&|list| by_fabric(self.fabric, list, saturated, from, to));
        let all = |f: &Figures| f.occupancy.iter().sum::<f64>();
        let mut compared = vec![];
        let mut compare = |what: &str, of: &dyn Fn(&Figures) -> f64, within: f64| {
            compared.push((what.to_owned(), of(&clocked), of(&fabric), within * of(&clocked)));
        };
        compare("utilization", &|f| f.utilization, self.within);
        compare("delivered", &|f| f.delivered, self.within);
        compare("occupancy", &all, 0.05);
        if !saturated {
            compare("latency", &|f| f.latency, 0.02);
        }
        for (vc, (&a, &b)) in clocked.occupancy.iter().zip(&fabric.occupancy).enumerate() {
            let allowed = (0.05 * a).max(0.02 * all(&clocked)).max(0.17);
            compared.push((format!("occupancy of VC {vc}"), a, b, allowed));
        }
        println!("{name}");
        for (what, a, b, _) in compared.iter().filter(|c| c.1 > 0.0) {
            println!("  {what}: {a:.4} clocked, {b:.4} fabric, {:+.2}%", 100.0 * (b / a - 1.0));
        }
        let differ = compared.into_iter().filter(|(_, a, b, allowed)| (a - b).abs() > *allowed);
        differ.map(|(what, a, b, _)| format!("{what}: {a} clocked, {b} fabric")).collect()
    }

    /// Compares both models.
    ///
    /// # Panics
    /// If they do not agree.
    pub fn agree(&self, name: &str) {
        let differences = self.differences(name);
        assert!(differences.is_empty(), "{name}: {differences:?}");
    }
}
