//! The packets that a workload sends: their sizes, how many, and how they travel.

use super::refuse;
use netloom_fabric::config::{ConfigError, Outline};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// Sizes of packets: chunks and their weights. If omitted: full packets, whatever the network's are.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct PacketMix(pub Vec<(u32, f64)>);

impl PacketMix {
    /// Whether there is none: packets are full, or programs decide.
    fn is_open(&self) -> bool {
        self.0.is_empty()
    }

    /// Defaults to full packets, of `chunks` chunks, if a study sets no sizes.
    pub fn or_full(&mut self, chunks: u32) {
        if self.0.is_empty() {
            self.0.push((chunks, 1.0));
        }
    }

    /// Mean size, chunks.
    pub fn mean_chunks(&self) -> f64 {
        let weight: f64 = self.0.iter().map(|m| m.1).sum();
        self.0.iter().map(|m| f64::from(m.0) * m.1).sum::<f64>() / weight
    }
}

impl JsonSchema for PacketMix {
    fn schema_name() -> Cow<'static, str> {
        "PacketMix".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["integer", "array"] })
    }
}

impl<'de> Deserialize<'de> for PacketMix {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = PacketMix;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str(
                    "a number of chunks, or pairs of chunks and weight such as [[8, 0.75], [1, 0.25]]",
                )
            }
            fn visit_i64<E: de::Error>(self, chunks: i64) -> Result<PacketMix, E> {
                let chunks = u32::try_from(chunks)
                    .map_err(|_| E::invalid_value(de::Unexpected::Signed(chunks), &"a number of chunks"))?;
                Ok(PacketMix(vec![(chunks, 1.0)]))
            }
            fn visit_u64<E: de::Error>(self, chunks: u64) -> Result<PacketMix, E> {
                self.visit_i64(i64::try_from(chunks).unwrap_or(-1))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<PacketMix, A::Error> {
                let mut mix = Vec::new();
                while let Some(pair) = seq.next_element()? {
                    mix.push(pair);
                }
                if mix.is_empty() {
                    return Err(de::Error::invalid_length(0, &"at least one size"));
                }
                Ok(PacketMix(mix))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// How much traffic the nodes offer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    /// Everything at the start, as early as the FIFOs take it; then no more.
    #[default]
    Burst,
    /// Always another packet waiting.
    Infinite,
    /// Open loop: mean utilization of the links that is aimed at, a fraction of the raw rate, all bytes
    /// counted.
    #[schemars(extend("x-families" = ["torus", "queued-torus"]))]
    LinkUtilization(f64),
    /// Open loop: packets that a node generates per microsecond.
    PacketsPerUs(f64),
    /// Open loop: flits that a node generates per nanosecond. Of machines whose packets are counted in flits.
    #[schemars(extend("x-families" = ["tiled"]))]
    FlitsPerNs(f64),
    /// Open loop: data that a node sends, GB/s. Likewise.
    #[schemars(extend("x-families" = ["tiled"]))]
    #[serde(rename = "GB_per_s")]
    GbPerS(f64),
}

impl Load {
    /// Refuses a rate that is none.
    pub(super) fn check_rate(self) -> Result<(), ConfigError> {
        // Far more than any port carries.
        const MOST: f64 = 1e9;
        let (key, rate) = match self {
            Load::Burst | Load::Infinite | Load::LinkUtilization(_) => return Ok(()),
            Load::PacketsPerUs(rate) => ("packets_per_us", rate),
            Load::FlitsPerNs(rate) => ("flits_per_ns", rate),
            Load::GbPerS(rate) => ("GB_per_s", rate),
        };
        match rate > 0.0 && rate <= MOST {
            true => Ok(()),
            false => refuse(
                &format!("traffic.load.{key}"),
                format!("expected a rate above 0, at most {MOST}, found {rate}"),
            ),
        }
    }
}

/// What is generated per tick at a rate per nanosecond; likewise per 1000 ticks at a rate per microsecond.
pub(crate) fn per_tick(rate: f64, ticks_per_second: u64) -> f64 {
    let rate = rate / (ticks_per_second as f64 / 1e9);
    // The last digits of a conversion are noise: 0.2625 flits/ns at 875 MHz are exactly 0.3 flits per tick.
    format!("{rate:.14e}").parse().unwrap_or(rate)
}

/// How packets are routed: the first two of tori, the first and the others of machines of switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Routing {
    /// Each hop by what is free downstream; on a machine of switches its usual adaptive routing.
    #[default]
    Dynamic,
    /// One fixed path, on the escape VC.
    Static,
    /// The lightest of several outputs, with the first of four biases.
    #[serde(rename = "adaptive-0")]
    Adaptive0,
    /// The same with the second.
    #[serde(rename = "adaptive-1")]
    Adaptive1,
    /// The same with the third.
    #[serde(rename = "adaptive-2")]
    Adaptive2,
    /// The same with the fourth.
    #[serde(rename = "adaptive-3")]
    Adaptive3,
    /// A fixed minimal path for each pair of nodes.
    MinimalHash,
    /// A fixed non-minimal path for each pair of nodes.
    NonminimalHash,
    /// A minimal path at random.
    Minimal,
    /// Through a random router.
    Valiant,
    /// Through a random group.
    ValiantGroup,
    /// Minimal or through another group, by the queues of the first router.
    UgalL,
    /// The same, by the queues of the global links.
    UgalG,
    /// As UGAL-L, decided again at each router of the first group.
    Par,
}

/// A packet's priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Priority {
    /// Dynamic and escape VCs.
    #[default]
    Normal,
    /// The high-priority VC.
    High,
}

/// The common properties of a workload's packets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[allow(non_snake_case)]
pub struct TrafficConfig {
    /// Sizes of the packets: chunks, or pairs of chunks and weight. Full packets if omitted.
    #[schemars(extend("x-families" = ["torus", "queued-torus"]))]
    #[serde(skip_serializing_if = "PacketMix::is_open")]
    pub packet_chunks: PacketMix,
    /// Flits of each packet, of machines whose packets are counted in flits. Full packets where neither this
    /// nor `data_B` is given.
    #[schemars(extend("x-families" = ["tiled"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_flits: Option<u32>,
    /// Data of each packet instead, bytes.
    #[schemars(extend("x-families" = ["tiled"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_B: Option<u32>,
    /// Whether each packet is a request that its destination answers with a header alone. Of the same
    /// machines.
    #[schemars(extend("x-families" = ["tiled"]))]
    #[serde(skip_serializing_if = "is_false")]
    pub responses: bool,
    /// How much traffic is offered.
    pub load: Load,
    /// Packets that each node sends in all. If omitted: what the workload has, or no end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets_per_node: Option<u64>,
    /// How the packets are routed.
    pub routing: Routing,
    /// The zone that they name: which set of zone masks they obey, on machines that have such. 0 if omitted.
    #[schemars(extend("x-families" = ["queued-torus"]))]
    #[serde(skip_serializing_if = "is_zero")]
    pub zone: u8,
    /// Their priority.
    #[schemars(extend("x-families" = ["torus", "queued-torus"]))]
    pub priority: Priority,
    /// Fraction of the packets that are sent at high priority instead, 0 to 1.
    #[schemars(extend("x-families" = ["torus", "queued-torus"]))]
    pub high_fraction: f64,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_zero(zone: &u8) -> bool {
    *zone == 0
}

impl TrafficConfig {
    /// Refuses what the network cannot carry.
    ///
    /// # Errors
    /// The first invalid value, with its key (`traffic.…`) and what was expected.
    pub fn check(&self, network: &Outline) -> Result<(), ConfigError> {
        self.check_for_tori()?;
        let max = network.packet.chunks_max;
        for &(chunks, weight) in &self.packet_chunks.0 {
            if !(1..=max).contains(&chunks) {
                return refuse(
                    "traffic.packet_chunks",
                    format!("expected 1 to {max} chunks, found {chunks}"),
                );
            }
            if !(weight.is_finite() && weight > 0.0) {
                return refuse("traffic.packet_chunks", format!("expected weights above 0, found {weight}"));
            }
        }
        if self.zone != 0 && usize::from(self.zone) >= network.zones {
            let expected = match network.zones {
                0 => "expected none: this machine's routers know no zones".to_owned(),
                zones => format!("expected 0 to {}, found {}", zones - 1, self.zone),
            };
            return refuse("traffic.zone", expected);
        }
        match self.load {
            Load::LinkUtilization(u) if !(u > 0.0 && u <= 1.0) => {
                return refuse(
                    "traffic.load.link_utilization",
                    format!("expected a fraction above 0 and up to 1, found {u}"),
                );
            }
            load => load.check_rate()?,
        }
        self.check_count()?;
        if !(0.0..=1.0).contains(&self.high_fraction) {
            return refuse(
                "traffic.high_fraction",
                format!("expected a fraction from 0 to 1, found {}", self.high_fraction),
            );
        }
        Ok(())
    }

    /// Refuses a number of packets that is none.
    pub(super) fn check_count(&self) -> Result<(), ConfigError> {
        if self.packets_per_node == Some(0) {
            let message = "expected at least 1 packet; leave it out for no limit";
            return refuse("traffic.packets_per_node", message);
        }
        Ok(())
    }

    /// Refuses what only machines of switches know.
    fn check_for_tori(&self) -> Result<(), ConfigError> {
        if let Some(flits) = self.packet_flits {
            let message =
                format!("packets of a torus are counted in chunks: expected packet_chunks, found {flits}");
            return refuse("traffic.packet_flits", message);
        }
        if let Some(bytes) = self.data_B {
            return refuse("traffic.data_B", format!("expected packet_chunks on a torus, found {bytes}"));
        }
        if self.responses {
            return refuse("traffic.responses", "expected none on a torus, found true");
        }
        match self.load {
            Load::FlitsPerNs(rate) => refuse(
                "traffic.load.flits_per_ns",
                format!("expected link_utilization or packets_per_us on a torus, found {rate}"),
            ),
            Load::GbPerS(rate) => refuse(
                "traffic.load.GB_per_s",
                format!("expected link_utilization or packets_per_us on a torus, found {rate}"),
            ),
            _ => Ok(()),
        }?;
        match self.routing {
            Routing::Dynamic | Routing::Static => Ok(()),
            other => refuse(
                "traffic.routing",
                format!("expected \"dynamic\" or \"static\" on a torus, found \"{}\"", other.word()),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netloom_fabric::config::TorusConfig;

    #[test]
    fn sizes_are_weighed() {
        assert_eq!(PacketMix(vec![(8, 3.0), (4, 1.0)]).mean_chunks(), 7.0);
    }

    #[test]
    fn rates_per_tick_are_exact() {
        for hundredths in 1..=200 {
            let per_tick_exact = f64::from(hundredths) / 100.0;
            for mhz in [175_u32, 850, 875, 1000, 8000] {
                // As a person writes it.
                let digits = format!("{:.8}", per_tick_exact * f64::from(mhz) / 1000.0);
                let rate = digits.parse().expect("a number");
                assert_eq!(
                    per_tick(rate, u64::from(mhz) * 1_000_000),
                    per_tick_exact,
                    "{digits} at {mhz} MHz"
                );
            }
        }
        assert_eq!(per_tick(5.25, 175_000_000), 30.0);
        assert_eq!(per_tick(0.004_375, 875_000_000), 0.005);
    }

    #[test]
    fn traffic_must_fit_the_packets() {
        let torus = TorusConfig::bluegene_l(&[4, 4, 4]).outline();
        let full = TrafficConfig { packet_chunks: PacketMix(vec![(8, 1.0)]), ..TrafficConfig::default() };
        assert_eq!(full.check(&torus), Ok(()));
        let big = TrafficConfig { packet_chunks: PacketMix(vec![(9, 1.0)]), ..TrafficConfig::default() };
        assert_eq!(big.check(&torus).unwrap_err().key, "traffic.packet_chunks");
    }
}
