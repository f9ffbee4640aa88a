//! The contents of a study: what the nodes do, what is measured, and over which parameters.

use crate::claims::Claim;
use crate::published::Beside;
use crate::resolve::{PlotConfig, SaturationConfig};
use crate::timeline::TimelineConfig;
use netloom_fabric::config::ConfigError;
use netloom_workload::config::{TrafficConfig, WorkloadConfig};
use netloom_workload::mapping::MappingConfig;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// A study, without its machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Short name, also of the folder of results.
    pub name: String,
    /// A line for people; the name if omitted. `{dims}` and `{nodes}` stand for the machine's size, so that
    /// the line stays true when that is changed.
    #[serde(default)]
    pub title: String,
    /// Its description.
    #[serde(default)]
    pub description: String,
    /// Seed of all random choices.
    #[serde(default = "one")]
    pub seed: u64,
    /// Minimum number of nodes of the machine, whatever its shape: the machine is enlarged to have at least
    /// as many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u32>,
    /// Mapping of ranks to nodes.
    #[serde(default)]
    pub mapping: MappingConfig,
    /// The workload of the nodes.
    pub workload: WorkloadConfig,
    /// Their packets.
    #[serde(default)]
    pub traffic: TrafficConfig,
    /// The measurements, and their duration.
    #[serde(default)]
    pub measure: MeasureConfig,
    /// A timeline of some nodes, if requested: also by `netloom run --timeline FILE`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<TimelineConfig>,
    /// Published figures to be shown beside what the program measures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<Beside>,
    /// Ranges that figures of the summary must lie in, by dotted path:
    /// `"links.mean_utilization" = [0.95, 1.0]`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub expect: BTreeMap<String, (f64, f64)>,
}

fn one() -> u64 {
    1
}

/// The keys of a study's file besides a [`Study`]; the reader takes it out key by key.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct Surroundings {
    /// The machine: the name of a built-in one, the path of a TOML file, or a table.
    machine: String,
    /// Changes of the machine, by dotted key.
    #[serde(default)]
    set: BTreeMap<String, serde_json::Value>,
    /// Parameters to sweep over, by dotted key, each with a list of values; or `curve`, with a list of tables
    /// of changes.
    #[serde(default)]
    sweep: SweepTables,
    /// Changes for `netloom validate --quick`, by dotted key.
    #[serde(default)]
    quick: BTreeMap<String, serde_json::Value>,
    /// Claims that the results must satisfy: judged by runs, by sweeps and by `netloom validate`.
    #[serde(default)]
    claim: Vec<Claim>,
}

/// The keys of `[sweep]` besides parameters.
#[derive(Default, Serialize, JsonSchema)]
struct SweepTables {
    /// The axes of the figures of the sweep.
    #[serde(skip_serializing_if = "Option::is_none")]
    plot: Option<PlotConfig>,
    /// A search for the load at which the network is saturated, for every combination of the other swept
    /// keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    saturation: Option<SaturationConfig>,
}

/// When a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Until {
    /// When all programs have returned and all traffic has arrived.
    Finished,
    /// When the confidence interval of the mean link utilization is as narrow as `half_width`.
    Converged,
    /// At a given time.
    Time,
}

/// The start of a run that is left out of the means.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Warmup {
    /// Found from the run itself.
    #[default]
    Auto,
    /// This long, us.
    Micros(f64),
}

impl Serialize for Warmup {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Warmup::Auto => serializer.serialize_str("auto"),
            Warmup::Micros(us) => serializer.serialize_f64(*us),
        }
    }
}

impl JsonSchema for Warmup {
    fn schema_name() -> Cow<'static, str> {
        "Warmup".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["number", "string"] })
    }
}

impl<'de> Deserialize<'de> for Warmup {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = Warmup;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("\"auto\" or a time in microseconds")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Warmup, E> {
                match text {
                    "auto" => Ok(Warmup::Auto),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
            fn visit_f64<E: de::Error>(self, us: f64) -> Result<Warmup, E> {
                Ok(Warmup::Micros(us))
            }
            fn visit_i64<E: de::Error>(self, us: i64) -> Result<Warmup, E> {
                Ok(Warmup::Micros(us as f64))
            }
            fn visit_u64<E: de::Error>(self, us: u64) -> Result<Warmup, E> {
                Ok(Warmup::Micros(us as f64))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// Length of a measuring window where a study gives none, ticks: 57.1 us on BlueGene/L, 1.25 us on Blue
/// Gene/Q, 11.4 us on Cray XC, 10 us on TH Express-2 and on the machines of the literature.
pub const WINDOW_TICKS: u64 = 10_000;

/// The measurements, and their duration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MeasureConfig {
    /// When the run ends. If omitted: `finished` for programs, `converged` for traffic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// The end of a run until `time`, us.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_us: Option<f64>,
    /// The warm-up, which is left out of the means.
    pub warmup_us: Warmup,
    /// Length of a measuring window, us: curves over time have a point per window, confidence intervals are
    /// taken from the windows' means. If omitted: 10,000 ticks of the machine, and longer where there would be
    /// more than 16,384 windows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_us: Option<f64>,
    /// Half width of the 95% confidence interval at which a mean has converged, relative.
    pub half_width: f64,
    /// Whether the figures of each link are kept.
    pub per_link: bool,
    /// Whether to find out which token-acks free a blocked packet (takes time).
    #[schemars(extend("x-families" = ["torus", "queued-torus"]))]
    pub unblocking: bool,
    /// Whether it is counted by how much packets arrive out of order (machines of switches; takes time and
    /// memory).
    #[schemars(extend("x-families" = ["tiled"]))]
    pub reordering: bool,
    /// Whether the rate at which the first link is full is reported, where routing does not follow loads
    /// (machines of switches; takes time).
    #[schemars(extend("x-families" = ["tiled"]))]
    pub bound: bool,
    /// Whether the machine's own performance counters are on (Blue Gene/Q), and reported.
    #[schemars(extend("x-families" = ["queued-torus"]))]
    pub counters: bool,
    /// A run that has not ended by itself ends here, us. If omitted: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_time_us: Option<f64>,
}

impl Default for MeasureConfig {
    fn default() -> Self {
        MeasureConfig {
            until: None,
            time_us: None,
            warmup_us: Warmup::Auto,
            window_us: None,
            half_width: 0.005,
            per_link: true,
            unblocking: false,
            reordering: false,
            bound: false,
            counters: false,
            max_time_us: None,
        }
    }
}

impl MeasureConfig {
    /// Refuses what cannot be measured.
    ///
    /// # Errors
    /// The first invalid value, with its key (`measure.…`) and what was expected.
    pub fn check(&self) -> Result<(), ConfigError> {
        let refuse = |key: &str, message: String| Err(ConfigError { key: format!("measure.{key}"), message });
        let above_zero = |x: f64| x.is_finite() && x > 0.0;
        match (self.until, self.time_us) {
            (Some(Until::Time), None) => {
                return refuse("until", "a run until \"time\" needs time_us, the end in us".into());
            }
            (None | Some(Until::Finished | Until::Converged), Some(_)) => {
                return refuse("time_us", "is for until = \"time\"; max_time_us limits any run".into());
            }
            _ => {}
        }
        let times =
            [("time_us", self.time_us), ("max_time_us", self.max_time_us), ("window_us", self.window_us)];
        for (key, time) in times {
            if let Some(us) = time.filter(|&us| !above_zero(us)) {
                return refuse(key, format!("expected a time above 0 us, found {us}"));
            }
        }
        if let Warmup::Micros(us) = self.warmup_us {
            if !(us.is_finite() && us >= 0.0) {
                return refuse("warmup_us", format!("expected a time of 0 us or more, found {us}"));
            }
            if let Some(end) = self.time_us.or(self.max_time_us).filter(|&end| end <= us) {
                return refuse("warmup_us", format!("expected less than the run's {end} us, found {us}"));
            }
        }
        if !(self.half_width > 0.0 && self.half_width < 1.0) {
            return refuse(
                "half_width",
                format!("expected a fraction above 0 and below 1, found {}", self.half_width),
            );
        }
        Ok(())
    }
}
