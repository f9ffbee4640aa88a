//! Clocks ("System Functionality"): each NIC's event timer, which is not synchronised and whose frequency is
//! slightly off; and the global clock, synchronised by pulses over the network.
//!
//! The paper says only that the pulses exist, and that a link's tenth flit carries them. Here **(ours)** the
//! first node's router generates them periodically. At each link a pulse waits for the next tenth flit, for
//! up to the time of ten flits. The rest of a pulse's delay is constant, and known from the machine's start;
//! so is the mean of its waiting time. Between pulses a NIC's own timer counts. Pulses take no bandwidth from
//! packets and are never lost.

use super::node::Common;
use netloom_engine::Stream;
use netloom_node::time::Microticks;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Configuration of the clocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClockConfig {
    /// Period of the pulses; 0 for none.
    pub pulse_milliticks: u64,
    /// Maximum waiting time of a pulse at a link.
    pub link_milliticks: u64,
    /// Maximum frequency error of a timer, parts per 10^9.
    pub drift_ppb: u64,
    /// Maximum offset of a timer at the machine's start.
    pub offset_milliticks: u64,
}

/// The error of a timer with this frequency error, after this time.
fn drifted(elapsed: Microticks, ppb: i64) -> Microticks {
    let off = i128::from(elapsed.0) * i128::from(ppb) / 1_000_000_000;
    Microticks((i128::from(elapsed.0) + off) as u64)
}

/// The parameters of a node's own timer.
struct Own {
    offset: Microticks,
    ppb: i64,
}

impl Common {
    fn own(&self, node: u32) -> Own {
        let c = &self.config.clock;
        let mut random = Stream::new(self.seed, 14, node.into());
        let offset = Microticks::of_milliticks(random.below(c.offset_milliticks + 1));
        Own { offset, ppb: random.below(2 * c.drift_ppb + 1).cast_signed() - c.drift_ppb.cast_signed() }
    }

    /// A node's event timer at a time.
    pub fn timer(&self, node: u32, now: Microticks) -> Microticks {
        let own = self.own(node);
        own.offset + drifted(now, own.ppb)
    }

    /// The delay of a pulse at a node in excess of the known part, microticks; may be negative.
    fn lateness(&self, node: u32, pulse: u64) -> i64 {
        let most = Microticks::of_milliticks(self.config.clock.link_milliticks).0;
        let links = self.links.get_or_init(|| {
            let wiring = self.topology.wiring();
            let links = wiring.links_from(wiring.home(0).0);
            (0..wiring.nodes()).map(|node| links[wiring.home(node).0 as usize]).collect()
        });
        let links = u64::from(links[node as usize]);
        let mut random = Stream::new(self.seed ^ pulse, 15, node.into());
        let waits: u64 = (0..links).map(|_| random.below(most + 1)).sum();
        waits.cast_signed() - (links * most / 2).cast_signed()
    }

    /// A node's global clock at a time.
    pub fn global_clock(&self, node: u32, now: Microticks) -> Microticks {
        let period = Microticks::of_milliticks(self.config.clock.pulse_milliticks);
        let Own { ppb, .. } = self.own(node);
        // The last pulse that has arrived; the one of the machine's start has arrived everywhere.
        let newest = now.0.checked_div(period.0).map_or(0, |pulse| pulse + 1);
        let come = |pulse: u64| {
            Microticks((pulse * period).0.checked_add_signed(self.lateness(node, pulse)).unwrap_or(0))
        };
        let pulse = (newest.saturating_sub(2)..=newest).rev().find(|&pulse| come(pulse) <= now).unwrap_or(0);
        pulse * period + drifted(now.saturating_sub(come(pulse)), ppb)
    }
}
