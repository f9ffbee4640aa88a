//! Comparisons of collectives with point-to-point traffic on the same machine, and their tolerances.

use crate::agreement_queued::load::Load;
use crate::agreement_queued::models::{
    Arrived, CYCLE, Run, arrived_in_fabric, arrived_in_reference, counted, run_fabric, run_reference,
};
use crate::agreement_queued::reference_queued::rules::{COMMWORLD, SUBCOMM};
use crate::agreement_queued::trees::{Collectives, packets, routed};
use crate::traffic::script::Packet;
use netloom_fabric::config::QueuedConfig;
use netloom_fabric::packet::Header;

/// A machine and its collectives.
#[derive(Clone, Copy)]
pub struct Setup<'a> {
    pub config: &'a QueuedConfig,
    pub collectives: &'a [Collectives],
}

/// The traffic of both models, which is the same unless a test checks that a difference is found, for a
/// number of cycles.
pub struct Mix<'a> {
    pub clocked: Setup<'a>,
    pub fabric: Setup<'a>,
    pub loads: &'a [Load],
    /// Number of runs with different packet lists.
    pub runs: u64,
    /// The window, cycles.
    pub from: u64,
    pub to: u64,
}

/// Observations of a run of either model.
struct Seen {
    utilization: f64,
    /// Chunks in the collective VCs of a receiver.
    occupancy: f64,
    /// The tick at which each point-to-point packet of the list was delivered.
    delivered: Vec<Option<u64>>,
    arrived: Vec<Arrived>,
}

/// Compared names and values.
type Figures = Vec<(String, f64)>;

const OCCUPANCY: &str = "occupancy of the collective VCs";
const COLLECTIVE_VCS: [usize; 2] = [COMMWORLD, SUBCOMM];

/// Tolerances of values and of VC occupancy.
const WITHIN: f64 = 0.02;
const OCCUPANCY_WITHIN: f64 = 0.05;

impl<'a> Mix<'a> {
    /// Two runs of 22,000 cycles, of which the first 2,000 are warm-up.
    pub fn new(config: &'a QueuedConfig, collectives: &'a [Collectives], loads: &'a [Load]) -> Self {
        let setup = Setup { config, collectives };
        Mix { clocked: setup, fabric: setup, loads, runs: 2, from: 2000, to: 22_000 }
    }

    /// The packets of a run.
    fn list(&self, setup: Setup, run: u64) -> Vec<Packet> {
        let loads = self.loads.iter().zip(10 * run..);
        let mut list = packets(setup.collectives, run);
        list.extend(loads.flat_map(|(load, seed)| load.packets(setup.config, self.to, seed)));
        list
    }

    /// Link utilization and the occupancy of the collective VCs; arrivals in the window of point-to-point
    /// packets, by priority, and of each class; and mean latencies of open-loop traffic.
    fn figures(&self, list: &[Packet], seen: &Seen) -> Figures {
        let window = CYCLE * self.from..CYCLE * self.to;
        let mut figures =
            vec![("utilization".to_owned(), seen.utilization), (OCCUPANCY.to_owned(), seen.occupancy)];
        let mut add = |name: String, latencies: Vec<u64>, is_open: bool| {
            if is_open {
                let mean =
                    latencies.iter().sum::<u64>() as f64 / (CYCLE * latencies.len().max(1) as u64) as f64;
                figures.push((format!("latency of {name}"), mean));
            }
            figures.push((name, latencies.len() as f64));
        };
        let as_many_as_go = self.clocked.collectives.iter().any(|c| c.interval == 0);
        let priority = |p: &Packet| match p.flags {
            _ if p.system => "system",
            Header::HIGH => "high",
            _ => "normal",
        };
        for name in ["normal", "high", "system"] {
            let is_of_it = |p: &Packet| p.collective.is_none() && priority(p) == name;
            let of = list.iter().zip(&seen.delivered).filter(|(p, _)| is_of_it(p));
            let came = of.filter_map(|(p, at)| Some(((*at)?, p.made)));
            let latencies = came.filter(|(at, _)| window.contains(at)).map(|(at, made)| at - made).collect();
            // Saturating packets are created at the start of the run; with saturating collectives, links of
            // trees carry less than the offered traffic.
            let is_open = !as_many_as_go && list.iter().any(|p| is_of_it(p) && p.made > 0);
            add(name.to_owned(), latencies, is_open);
        }
        let mut classes: Vec<_> =
            self.clocked.collectives.iter().map(|c| (usize::from(c.tree.class), c.interval > 0)).collect();
        // Several trees may share a number.
        classes.dedup();
        for (class, is_open) in classes {
            let of = seen.arrived.iter().filter(|a| a.class == class && window.contains(&a.at));
            add(format!("class {class}"), of.map(|a| a.at - a.made).collect(), is_open);
        }
        figures
    }

    fn clocked(&self, seed: u64) -> Figures {
        let (setup, list) = (self.clocked, self.list(self.clocked, seed));
        let (routed, to) = (&routed(setup.collectives), Some(self.to));
        let run = Run { routed, to, seed, ..Run::new(setup.config, &list) };
        let (reference, delivered) = run_reference(&run);
        let means = reference.statistics.means(self.from, self.to);
        let seen = Seen {
            utilization: means.utilization(),
            occupancy: COLLECTIVE_VCS.iter().map(|&vc| means.chunks[vc]).sum(),
            delivered,
            arrived: arrived_in_reference(&reference),
        };
        self.figures(&list, &seen)
    }

    fn fabric(&self, seed: u64) -> Figures {
        let (setup, list) = (self.fabric, self.list(self.fabric, seed));
        let (routed, to) = (&routed(setup.collectives), Some(self.to));
        let run = Run { routed, to, seed, ..Run::new(setup.config, &list) };
        let (mut network, delivered) = run_fabric(&run);
        let (counted, link_ticks) = counted(&mut network, self.from, self.to);
        let occupancy: u64 = COLLECTIVE_VCS.iter().map(|&vc| counted.occupancy[vc]).sum();
        let seen = Seen {
            utilization: counted.busy as f64 / link_ticks,
            occupancy: occupancy as f64 / link_ticks,
            delivered,
            arrived: arrived_in_fabric(&mut network),
        };
        self.figures(&list, &seen)
    }

    /// Means over the runs.
    fn mean(&self, of: impl Fn(u64) -> Figures) -> Figures {
        let mut runs = (1..=self.runs).map(of);
        let mut mean = runs.next().expect("a run");
        runs.for_each(|run| mean.iter_mut().zip(run).for_each(|(sum, more)| sum.1 += more.1));
        mean.iter_mut().for_each(|sum| sum.1 /= self.runs as f64);
        mean
    }

    /// The differences beyond tolerance.
    pub fn differences(&self, name: &str) -> Vec<String> {
        let (clocked, fabric) = (self.mean(|run| self.clocked(run)), self.mean(|run| self.fabric(run)));
        println!("{name}");
        let mut differences = vec![];
        for ((what, a), (_, b)) in clocked.iter().zip(&fabric).filter(|((_, a), _)| *a > 0.0) {
            println!("  {what}: {a:.4} clocked, {b:.4} fabric, {:+.2}%", 100.0 * (b / a - 1.0));
            let within = if what == OCCUPANCY { OCCUPANCY_WITHIN } else { WITHIN };
            if (a - b).abs() > within * a {
                differences.push(format!("{what}: {a} clocked, {b} fabric"));
            }
        }
        differences
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
