//! The link failover manager ("Network Reliability, Availability and Serviceability"): it is notified of
//! failed links and routers, computes route tables around them, and deploys them while no packet is in
//! flight, so that old and new routes never mix ("HSS can quiesce network traffic so that route table changes
//! can be deployed safely").

use super::TiledFamily;
use super::block::TiledBlock;
use super::tables::Tables;
use crate::config::{Change, What};
use crate::host::Host;
use crate::router::network::{Overseer, RouterBlock};
use borsh::{BorshDeserialize, BorshSerialize};
use netloom_engine::{Simulation, Time};
use std::collections::HashSet;
use std::io;
use std::sync::Arc;

/// Interval at which the manager checks for packets in flight **(ours)**, ticks.
const LOOK: u64 = 100;

/// A change of all route tables, and its cause. Times in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Reroute {
    /// The first of the failures that caused it.
    pub failed_at: Time,
    /// When the manager learned of it, and started to compute.
    pub noticed_at: Time,
    /// When the computation was done, and nodes stopped sending.
    pub quiesced_at: Time,
    /// When no packet was in flight, the tables were deployed, and nodes resumed sending.
    pub released_at: Time,
    /// Packets still in flight when the manager stopped waiting for them.
    pub left: u64,
}

/// The manager's current activity.
#[derive(BorshSerialize, BorshDeserialize)]
enum Activity {
    Watching,
    Computing(Reroute),
    Draining(Reroute),
}

/// The manager of a machine.
pub struct Failover {
    /// Links and routers that fail, in order of time, and the number of those known to it.
    failures: Vec<Change>,
    known: usize,
    /// Delay of each activity, ticks.
    notice: u64,
    compute: u64,
    drain_max: u64,
    activity: Activity,
    next: Option<Time>,
    /// The failures that the routers' tables lead around.
    deployed: usize,
    /// Completed reroutes.
    pub done: Vec<Reroute>,
    tables: Arc<Tables>,
}

impl Failover {
    pub(super) fn new(tables: &Arc<Tables>, schedule: &[Change]) -> Self {
        let config = &tables.config;
        let ticks = |us: f64| (us * config.ticks_per_second as f64 / 1e6).round() as u64;
        let is_failure = |change: &&Change| !matches!(change.what, What::Lanes(..));
        let manager = config.faults.manager.as_ref();
        let failures: Vec<Change> =
            manager.map_or(vec![], |_| schedule.iter().filter(is_failure).copied().collect());
        let of = |times: fn(&crate::config::FailoverManager) -> f64| manager.map_or(0, |m| ticks(times(m)));
        let mut failover = Failover {
            failures,
            known: 0,
            notice: of(|m| m.notice_us),
            compute: of(|m| m.compute_us),
            drain_max: of(|m| m.drain_max_us),
            activity: Activity::Watching,
            next: None,
            deployed: 0,
            done: vec![],
            tables: Arc::clone(tables),
        };
        failover.watch(Time::ZERO);
        failover
    }

    /// Sets when it learns of the next failure.
    fn watch(&mut self, now: Time) {
        self.activity = Activity::Watching;
        self.next = self.failures.get(self.known).map(|change| (change.at + self.notice).max(now));
    }

    /// Tables that route around all known failures.
    fn compute(&self) -> Tables {
        around(&self.tables, &self.failures[..self.known])
    }
}

/// Tables that route around failures.
pub(super) fn around(tables: &Tables, failures: &[Change]) -> Tables {
    let dead: HashSet<(u32, usize)> = failures
        .iter()
        .filter_map(|change| match change.what {
            What::Link(port) => Some((change.router, port as usize)),
            _ => None,
        })
        .collect();
    tables.around(|router, port| !dead.contains(&(router, port)))
}

impl<H: Host<TiledFamily>> Overseer<TiledBlock<H>> for Failover {
    fn next_time(&self) -> Option<Time> {
        self.next
    }

    fn holds(&self) -> bool {
        matches!(self.activity, Activity::Draining(_))
    }

    fn act(&mut self, now: Time, simulation: &mut Simulation<TiledBlock<H>>) {
        match std::mem::replace(&mut self.activity, Activity::Watching) {
            Activity::Watching => {
                let failed_at = self.failures[self.known].at;
                self.known = self.failures.iter().take_while(|change| change.at + self.notice <= now).count();
                self.activity =
                    Activity::Computing(Reroute { failed_at, noticed_at: now, ..Reroute::default() });
                self.next = Some(now + self.compute);
            }
            Activity::Computing(reroute) => {
                simulation.blocks().for_each(TiledBlock::quiesce);
                self.activity = Activity::Draining(Reroute { quiesced_at: now, ..reroute });
                self.next = Some(now);
            }
            Activity::Draining(reroute) => {
                let own: i64 = simulation.blocks().map(|block| block.in_flight()).sum();
                let left: i64 = simulation.gather(own).into_iter().sum();
                if left > 0 && now < reroute.quiesced_at + self.drain_max {
                    self.activity = Activity::Draining(reroute);
                    self.next = Some(now + LOOK);
                    return;
                }
                let tables = Arc::new(self.compute());
                simulation.blocks().for_each(|block| block.release(&tables, now));
                simulation.refresh();
                self.deployed = self.known;
                self.done.push(Reroute { left: left as u64, released_at: now, ..reroute });
                self.watch(now);
            }
        }
    }

    fn store(&self, to: &mut Vec<u8>) -> io::Result<()> {
        let Failover { known, activity, next, deployed, done, .. } = self;
        (known, activity, next, deployed, done).serialize(to)
    }

    fn load(&mut self, from: &mut &[u8], simulation: &mut Simulation<TiledBlock<H>>) -> io::Result<()> {
        (self.known, self.activity, self.next, self.deployed, self.done) =
            BorshDeserialize::deserialize(from)?;
        if self.known.max(self.deployed) > self.failures.len() {
            return Err(io::Error::other("there are fewer failures"));
        }
        if self.deployed > 0 {
            let tables = Arc::new(around(&self.tables, &self.failures[..self.deployed]));
            simulation.blocks().for_each(|block| block.tables = Arc::clone(&tables));
        }
        Ok(())
    }
}
