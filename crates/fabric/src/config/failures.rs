//! Errors and failures in a network of switches, at a rate and at set times: wrong bits on lanes and in
//! memories, lanes, links and routers that fail, and who routes around them ("Network Reliability,
//! Availability and Serviceability").

use super::{ConfigError, refuse};
use crate::topology::wiring::Wiring;
use netloom_engine::{Stream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The link control blocks at both ends of each link ("Aries Router").
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkControl {
    /// Flits of packets in a set.
    pub set_flits: u32,
    /// Bits of a set on the wire, its CRC among them.
    pub set_bits: u32,
    /// Bits of a set's CRC: of all corrupted sets it misses one in two to this power.
    pub crc_bits: u32,
    /// Lanes of a link. With fewer lanes it continues at a proportionally lower rate.
    pub lanes: u32,
    /// Maximum number of sent, unacknowledged flits.
    pub send_buffer_flits: u32,
}

/// Errors and failures. None by default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SwitchedFaults {
    /// Probability that a bit on a lane is wrong.
    pub bit_error_rate: f64,
    /// Probability that a packet meets an upset word in the memories of a router.
    pub soft_error_rate: f64,
    /// Fraction of upset words with two wrong bits, which ECC detects and cannot correct.
    pub soft_double_share: f64,
    /// Failures at given places and times.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
    /// Failures at random places.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub random: Vec<RandomFailures>,
    /// The link failover manager, which routes around failures. If omitted: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manager: Option<FailoverManager>,
}

/// A failure in its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// When, microseconds.
    pub at_us: f64,
    /// The router: with all its links and nodes, unless `port` names one link.
    pub router: u32,
    /// Its port: the link there fails in both directions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u32>,
    /// Lanes that are left of that link, in both directions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lanes: Option<u32>,
}

/// Failures at random places.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RandomFailures {
    /// When, microseconds.
    pub at_us: f64,
    /// Share of all links that fail.
    #[serde(default)]
    pub links: f64,
    /// Share of all links of which lanes fail: each keeps at least one and loses at least one.
    #[serde(default)]
    pub degraded: f64,
    /// Routers that fail.
    #[serde(default)]
    pub routers: u32,
    /// Decides which; left out: the run's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

/// The link failover manager: hears of failures, quiesces the network, computes route tables, hands them out
/// and releases the traffic. Its times are seconds in a real machine **(ours: no text gives them)**: here as
/// long as a study can wait for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FailoverManager {
    /// From a failure until it knows of it, microseconds.
    pub notice_us: f64,
    /// How long it computes, and hands out what it has computed, microseconds.
    pub compute_us: f64,
    /// Maximum wait for packets in flight to arrive, microseconds.
    pub drain_max_us: f64,
}

/// The failure of a router, a link or lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    /// It fails.
    Router,
    /// The link at a port fails.
    Link(u32),
    /// The link at a port has this number of lanes left.
    Lanes(u32, u32),
}

/// A failure with its place and its time, ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Change {
    pub at: Time,
    pub router: u32,
    pub what: What,
}

/// The stream of a run from which random failures are drawn.
const FAILURES: u64 = 21;

impl SwitchedFaults {
    /// Whether nothing is said of any.
    pub fn is_default(&self) -> bool {
        *self == SwitchedFaults::default()
    }

    /// Whether nothing ever goes wrong.
    pub fn is_none(&self) -> bool {
        self.bit_error_rate == 0.0
            && self.soft_error_rate == 0.0
            && self.failures.is_empty()
            && self.random.is_empty()
    }

    /// Refuses what cannot be.
    ///
    /// # Errors
    /// The first invalid value, with its key and what was expected.
    pub(super) fn check(&self, wiring: &Wiring, control: Option<&LinkControl>) -> Result<(), ConfigError> {
        for (key, rate) in
            [("faults.bit_error_rate", self.bit_error_rate), ("faults.soft_error_rate", self.soft_error_rate)]
        {
            if !(0.0..=0.1).contains(&rate) {
                return refuse(key, format!("expected a probability of at most 0.1, found {rate}"));
            }
        }
        let share = |key: &str, share: f64| {
            if (0.0..=1.0).contains(&share) {
                return Ok(());
            }
            refuse(key, format!("expected a share from 0 to 1, found {share}"))
        };
        share("faults.soft_double_share", self.soft_double_share)?;
        let time = |key: &str, us: f64| {
            if (0.0..=1e9).contains(&us) {
                return Ok(());
            }
            refuse(key, format!("expected 0 to 1e9 us, found {us}"))
        };
        let needs_control = self.bit_error_rate > 0.0
            || self.failures.iter().any(|f| f.lanes.is_some())
            || self.random.iter().any(|r| r.degraded > 0.0);
        if needs_control && control.is_none() {
            return refuse("link_control", "expected this table: wrong bits and lanes are its business");
        }
        for failure in &self.failures {
            let key = "faults.failures";
            time(key, failure.at_us)?;
            if failure.router >= wiring.routers() {
                let message =
                    format!("expected a router below {}, found {}", wiring.routers(), failure.router);
                return refuse(key, message);
            }
            if let Some(port) = failure.port
                && (port as usize >= wiring.ports() || wiring.end(failure.router, port as usize).is_none())
            {
                let message =
                    format!("expected a port with a link, found port {port} of router {}", failure.router);
                return refuse(key, message);
            }
            if let (Some(lanes), Some(control)) = (failure.lanes, control) {
                if failure.port.is_none() {
                    return refuse(key, format!("expected a port beside lanes = {lanes}"));
                }
                if !(1..control.lanes).contains(&lanes) {
                    let message =
                        format!("expected 1 to {} lanes that are left, found {lanes}", control.lanes - 1);
                    return refuse(key, message);
                }
            }
        }
        for random in &self.random {
            time("faults.random", random.at_us)?;
            share("faults.random", random.links)?;
            share("faults.random", random.degraded)?;
            if random.routers > wiring.routers() {
                let message =
                    format!("expected at most all {} routers, found {}", wiring.routers(), random.routers);
                return refuse("faults.random", message);
            }
        }
        let Some(manager) = &self.manager else { return Ok(()) };
        time("faults.manager.notice_us", manager.notice_us)?;
        time("faults.manager.compute_us", manager.compute_us)?;
        time("faults.manager.drain_max_us", manager.drain_max_us)
    }

    /// The failures in a run with this seed, in order of time; for a checked configuration.
    pub(crate) fn schedule(
        &self,
        wiring: &Wiring,
        lanes: u32,
        ticks_per_second: u64,
        seed: u64,
    ) -> Vec<Change> {
        let ticks = |us: f64| Time::at((us * ticks_per_second as f64 / 1e6).round() as u64);
        let mut list = vec![];
        let link = |list: &mut Vec<Change>, at, router, port: u32, what: &dyn Fn(u32) -> What| {
            let Some(end) = wiring.end(router, port as usize) else { return };
            list.push(Change { at, router, what: what(port) });
            list.push(Change { at, router: end.router, what: what(end.port.into()) });
        };
        let router = |list: &mut Vec<Change>, at, number: u32| {
            list.push(Change { at, router: number, what: What::Router });
            (0..wiring.ports() as u32).for_each(|port| link(list, at, number, port, &What::Link));
        };
        for failure in &self.failures {
            let at = ticks(failure.at_us);
            match (failure.port, failure.lanes) {
                (None, _) => router(&mut list, at, failure.router),
                (Some(port), None) => link(&mut list, at, failure.router, port, &What::Link),
                (Some(port), Some(lanes)) => {
                    link(&mut list, at, failure.router, port, &|port| What::Lanes(port, lanes));
                }
            }
        }
        for (i, random) in self.random.iter().enumerate() {
            let at = ticks(random.at_us);
            let mut stream = Stream::new(random.seed.unwrap_or(seed), FAILURES, i as u64);
            // Each link once: from the lower of its ends.
            let mut links: Vec<(u32, u32)> = (0..wiring.routers())
                .flat_map(|router| (0..wiring.ports() as u32).map(move |port| (router, port)))
                .filter(|&(router, port)| {
                    let end = wiring.end(router, port as usize);
                    end.is_some_and(|end| (router, port) < (end.router, end.port.into()))
                })
                .collect();
            let all = links.len() as f64;
            let mut draw = |share: f64, stream: &mut Stream| {
                let count = ((all * share).round() as usize).min(links.len());
                let drawn: Vec<_> = (0..count)
                    .map(|_| links.swap_remove(stream.below(links.len() as u64) as usize))
                    .collect();
                drawn
            };
            for (number, port) in draw(random.links, &mut stream) {
                link(&mut list, at, number, port, &What::Link);
            }
            for (number, port) in draw(random.degraded, &mut stream) {
                let left = 1 + stream.below(u64::from(lanes.max(2) - 1)) as u32;
                link(&mut list, at, number, port, &|port| What::Lanes(port, left));
            }
            let mut routers: Vec<u32> = (0..wiring.routers()).collect();
            for _ in 0..random.routers {
                let which = stream.below(routers.len() as u64) as usize;
                router(&mut list, at, routers.swap_remove(which));
            }
        }
        list.sort_unstable();
        list.dedup();
        list
    }
}
