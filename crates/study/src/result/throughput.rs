//! Offered and accepted load of synthetic traffic.

use crate::number::{percent, short};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Offered and accepted load of synthetic traffic: means per node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Throughput {
    /// The unit, per node: `MB/s` of payload on tori, `flits/tick` on machines of switches.
    pub unit: String,
    /// Offered load; `None` if nodes always have another packet.
    pub offered: Option<f64>,
    /// Accepted load; of the requests, if packets are answered.
    pub accepted: f64,
    /// Half width of the 95% confidence interval of what arrives, by batch means over the measured windows;
    /// none where those are too few.
    pub accepted_half_width_95: Option<f64>,
    /// Measured windows.
    pub windows: u64,
    /// Whether the network accepts less than is offered: by more than 1%, even at the upper end of the
    /// interval. None where no load is given, where the traffic ends, where packets were lost, and where
    /// chance may have made fewer packets, or none has arrived.
    pub saturated: Option<bool>,
}

impl Throughput {
    /// For people: names and values.
    pub fn rows(&self) -> Vec<(&'static str, String)> {
        let unit = &self.unit;
        let offered = self
            .offered
            .map_or("as much as the network accepts".into(), |x| format!("{} {unit} per node", short(x)));
        let accepted = match self.accepted_half_width_95 {
            Some(half) => format!(
                "{} \u{b1} {} {unit} per node (95%, {} windows)",
                short(self.accepted),
                short(half),
                self.windows
            ),
            None => format!("{} {unit} per node", short(self.accepted)),
        };
        let mut rows = vec![("offered", offered), ("accepted", accepted)];
        match self.saturated {
            Some(true) => rows.push(("saturated", format!("yes: {}", self.saturation().unwrap_or_default()))),
            Some(false) => rows.push(("saturated", "no".into())),
            None => {}
        }
        rows
    }

    /// What saturation means for the other figures, if there is any.
    pub fn saturation(&self) -> Option<String> {
        let share = self.accepted / self.offered.filter(|_| self.saturated == Some(true))?;
        Some(format!(
            "the network accepts {} of the offered load; source queues grow, and total latency with the length of the run",
            percent(share)
        ))
    }

    /// Names of the columns of a table: offered, accepted, half width of the interval.
    pub fn columns(&self) -> [&'static str; 3] {
        if self.unit == "MB/s" {
            ["offered_MB_per_s", "accepted_MB_per_s", "accepted_half_width_MB_per_s"]
        } else {
            ["offered_flits_per_tick", "accepted_flits_per_tick", "accepted_half_width_flits_per_tick"]
        }
    }
}
