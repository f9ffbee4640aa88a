//! Clocks ("System Functionality"): each NIC's event timer, which nobody has set and whose frequency is a little off; and the global clock,
//! which pulses synchronise that come over the network.
//!
//! Of the pulses the paper tells no more than that they exist, and that a link's tenth flit carries them. Here **(ours)** the first node's router
//! makes them at a period. At each link a pulse waits for the next tenth flit, any time up to that of ten flits. What a pulse takes besides is
//! the same each time, and known since the machine was started; so is the mean of what it waits. Between pulses a NIC's own timer counts.
//! Pulses take no room from packets and are never lost.

use super::node::Common;
use netloom_engine::Stream;
use netloom_node::time::Microticks;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a machine says of its clocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClockConfig {
    /// From one pulse to the next; 0: there are none.
    pub pulse_milliticks: u64,
    /// Most that a pulse waits at a link.
    pub link_milliticks: u64,
    /// Most that a timer's frequency is off, parts of 10^9.
    pub drift_ppb: u64,
    /// Most that a timer is ahead when the machine starts.
    pub offset_milliticks: u64,
}

/// A timer that is so much off, after so long.
fn drifted(elapsed: Microticks, ppb: i64) -> Microticks {
    let off = i128::from(elapsed.0) * i128::from(ppb) / 1_000_000_000;
    Microticks((i128::from(elapsed.0) + off) as u64)
}

/// What is not the same at any two nodes.
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

    /// What a node's event timer shows at a time.
    pub fn timer(&self, node: u32, now: Microticks) -> Microticks {
        let own = self.own(node);
        own.offset + drifted(now, own.ppb)
    }

    /// How late a pulse comes to a node, beyond what is known, microticks: may be less than nothing.
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

    /// What a node's global clock shows at a time.
    pub fn global_clock(&self, node: u32, now: Microticks) -> Microticks {
        let period = Microticks::of_milliticks(self.config.clock.pulse_milliticks);
        let Own { ppb, .. } = self.own(node);
        // The last pulse that has come; that of the machine's start has come everywhere.
        let newest = now.0.checked_div(period.0).map_or(0, |pulse| pulse + 1);
        let come = |pulse: u64| {
            Microticks((pulse * period).0.checked_add_signed(self.lateness(node, pulse)).unwrap_or(0))
        };
        let pulse = (newest.saturating_sub(2)..=newest).rev().find(|&pulse| come(pulse) <= now).unwrap_or(0);
        pulse * period + drifted(now.saturating_sub(come(pulse)), ppb)
    }
}
