//! Configuration of a machine's messaging library.

mod buffers;
mod channels;

pub use buffers::BuffersConfig;
pub use channels::{Channel, ChannelsConfig, DescriptorPath};

use netloom_fabric::config::ConfigError;
use netloom_node::time::Microticks;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When a rank's library makes progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProgressMode {
    /// Only while the rank waits for a message, as in MPI libraries without a progress thread.
    #[default]
    InCalls,
    /// Also while the rank computes, as if by another hardware thread.
    Always,
}

/// The protocols of a machine's messaging library, and the time of its instructions. Without a table,
/// messages of all lengths are sent eagerly, and the library takes no time of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[allow(non_snake_case)]
pub struct MessagingConfig {
    /// Data of the longest message that is sent eagerly, bytes; longer ones by rendezvous. If omitted: all
    /// eagerly, as far as the interface can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eager_max_B: Option<u64>,
    /// The library's instructions for a send, besides those of the interface below it, ns. If omitted: not
    /// known, and taken as 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_ns: Option<f64>,
    /// The same for a receive: matching, and completing the request, ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_ns: Option<f64>,
    /// Least time between the begins of two sends of a rank, ns.
    pub gap_ns: f64,
    /// Where software puts packets one by one: for each packet that it sends, and that it receives, ns.
    pub packet_send_ns: f64,
    /// See `packet_send_ns`.
    pub packet_receive_ns: f64,
    /// How fast the processor copies data of eager messages, at either end, GB/s. If omitted: in no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy_GB_per_s: Option<f64>,
    /// To load a line of memory that another core of the node has written, or to change one: twice for each
    /// packet between processes of a node, ns. If omitted: not known, and taken as 0. With `pami`, its
    /// `atomic_ns` is that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_line_ns: Option<f64>,
    /// Eager messages in flight to one process at once, where each has a buffer there.
    pub credits: u32,
    /// The channels of MPI on TH Express NICs. If omitted: the shared one, by PIO and without connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub glex: Option<ChannelsConfig>,
    /// The buffers of MPI on Aries NICs. If omitted: those of Cray MPI.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gni: Option<BuffersConfig>,
    /// When the library makes progress.
    pub progress: ProgressMode,
    /// The time of PAMI's instructions, for programs that use it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pami: Option<PamiConfig>,
    /// The time of MPI's instructions over PAMI, for programs that use it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mpi: Option<MpiConfig>,
}

impl Default for MessagingConfig {
    fn default() -> Self {
        MessagingConfig {
            eager_max_B: None,
            send_ns: None,
            receive_ns: None,
            gap_ns: 0.0,
            packet_send_ns: 0.0,
            packet_receive_ns: 0.0,
            copy_GB_per_s: None,
            shared_line_ns: None,
            credits: 16,
            glex: None,
            gni: None,
            progress: ProgressMode::InCalls,
            pami: None,
            mpi: None,
        }
    }
}

impl MessagingConfig {
    /// Refuses what cannot be.
    ///
    /// # Errors
    /// The first invalid value, with its key (`messaging.…`) and what was expected.
    pub fn check(&self) -> Result<(), ConfigError> {
        let refuse =
            |key: &str, message: String| Err(ConfigError { key: format!("messaging.{key}"), message });
        for (key, ns) in [
            ("send_ns", self.send_ns.unwrap_or(0.0)),
            ("receive_ns", self.receive_ns.unwrap_or(0.0)),
            ("gap_ns", self.gap_ns),
            ("shared_line_ns", self.shared_line_ns.unwrap_or(0.0)),
            ("packet_send_ns", self.packet_send_ns),
            ("packet_receive_ns", self.packet_receive_ns),
            ("pami.immediate_ns", self.pami.map_or(0.0, |pami| pami.immediate_ns)),
            ("pami.send_ns", self.pami.map_or(0.0, |pami| pami.send_ns)),
            ("pami.packet_ns", self.pami.map_or(0.0, |pami| pami.packet_ns)),
            ("pami.dispatch_ns", self.pami.map_or(0.0, |pami| pami.dispatch_ns)),
            ("pami.poll_ns", self.pami.map_or(0.0, |pami| pami.poll_ns)),
            ("pami.clock_ns", self.pami.map_or(0.0, |pami| pami.clock_ns)),
            ("pami.collective_ns", self.pami.map_or(0.0, |pami| pami.collective_ns)),
            ("pami.atomic_ns", self.pami.map_or(0.0, |pami| pami.atomic_ns)),
            ("pami.reduction_ns", self.pami.map_or(0.0, |pami| pami.reduction_ns)),
            ("mpi.send_ns", self.mpi.map_or(0.0, |mpi| mpi.send_ns)),
            ("mpi.receive_ns", self.mpi.map_or(0.0, |mpi| mpi.receive_ns)),
            ("mpi.search_ns", self.mpi.map_or(0.0, |mpi| mpi.search_ns)),
            ("mpi.element_ns", self.mpi.map_or(0.0, |mpi| mpi.element_ns)),
            ("mpi.complete_ns", self.mpi.map_or(0.0, |mpi| mpi.complete_ns)),
            ("mpi.free_ns", self.mpi.map_or(0.0, |mpi| mpi.free_ns)),
            ("mpi.handle_ns", self.mpi.map_or(0.0, |mpi| mpi.handle_ns)),
            ("mpi.collective_ns", self.mpi.map_or(0.0, |mpi| mpi.collective_ns)),
        ] {
            if !(0.0..=1e9).contains(&ns) {
                return refuse(key, format!("expected a time from 0 to 1e9 ns, found {ns}"));
            }
        }
        let pami = self.pami.and_then(|pami| pami.copy_GB_per_s);
        for (key, rate) in [("copy_GB_per_s", self.copy_GB_per_s), ("pami.copy_GB_per_s", pami)] {
            if let Some(rate) = rate.filter(|rate| !(rate.is_finite() && *rate > 0.0)) {
                return refuse(key, format!("expected a rate above 0, found {rate}"));
            }
        }
        if !(1..=1024).contains(&self.credits) {
            return refuse("credits", format!("expected 1 to 1024, found {}", self.credits));
        }
        self.glex.iter().try_for_each(ChannelsConfig::check)?;
        self.gni.iter().try_for_each(BuffersConfig::check)
    }

    /// Refuses what belongs to another network interface than that of the machine's nodes.
    ///
    /// # Errors
    /// If there is such.
    pub fn check_interface(&self, has_th_express: bool, has_aries: bool) -> Result<(), ConfigError> {
        for (key, is_there, has_interface, what) in [
            (
                "glex",
                self.glex.is_some(),
                has_th_express,
                "channels of MPI on TH Express NICs, as th has them",
            ),
            ("gni", self.gni.is_some(), has_aries, "buffers of MPI on Aries NICs, as xc has them"),
        ] {
            if is_there && !has_interface {
                let message = format!("this machine has no such NICs: the table is for {what}; leave it out");
                return Err(ConfigError { key: format!("messaging.{key}"), message });
            }
        }
        Ok(())
    }

    /// A warning if several processes run on a node, for what they send to one another.
    pub fn warning_of_nodes(&self) -> Option<String> {
        if self.pami.is_some() {
            return None;
        }
        let unknown = [
            ("messaging.shared_line_ns", self.shared_line_ns.is_none()),
            ("messaging.copy_GB_per_s", self.copy_GB_per_s.is_none()),
        ];
        let unknown: Vec<&str> = unknown.into_iter().filter(|(_, is)| *is).map(|(key, _)| key).collect();
        (!unknown.is_empty()).then(|| {
            format!(
                "the machine does not set {}, so messages between tasks of a node are faster than on a real one",
                unknown.join(" and ")
            )
        })
    }

    /// A warning for the reader of the result if the machine does not set the library's times.
    pub fn warning(&self) -> Option<String> {
        let is_said = self.send_ns.is_some() || self.receive_ns.is_some();
        let takes_time = self.packet_send_ns > 0.0 || self.packet_receive_ns > 0.0;
        (!is_said && !takes_time).then(|| {
            "the machine does not set the time of its messaging library's instructions, so they take no time: messages are \
             faster than on a real one; set messaging.send_ns and messaging.receive_ns (0 if that is intended)"
                .to_owned()
        })
    }
}

/// The time of PAMI's own instructions on Blue Gene/Q, besides those of the system programming interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[allow(non_snake_case)]
pub struct PamiConfig {
    /// A send in one packet, ns.
    pub immediate_ns: f64,
    /// Any other send, ns.
    pub send_ns: f64,
    /// To take a packet and do what it asks for, ns.
    pub packet_ns: f64,
    /// To call the dispatch function of a message, ns.
    pub dispatch_ns: f64,
    /// A poll that finds nothing, ns.
    pub poll_ns: f64,
    /// To read the clock, ns.
    pub clock_ns: f64,
    /// To begin a collective operation of the network, and to end it, ns.
    pub collective_ns: f64,
    /// The same for a reduction, in addition: types and operation are looked up, ns.
    pub reduction_ns: f64,
    /// An atomic operation of the L2, or a load of a line that another core has written: how processes of a
    /// node pass packets to each other, ns.
    pub atomic_ns: f64,
    /// How fast a processor copies data between a packet and memory, GB/s. If omitted: in no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy_GB_per_s: Option<f64>,
}

/// The time of MPI's own instructions on Blue Gene/Q, besides those of PAMI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MpiConfig {
    /// A send begins: arguments are checked, the communicator's object is found, a request is made, ns.
    pub send_ns: f64,
    /// A receive begins, likewise, ns.
    pub receive_ns: f64,
    /// A queue is searched for a match, ns.
    pub search_ns: f64,
    /// Each element of the queue that the search looks at, ns.
    pub element_ns: f64,
    /// A message that has found its receive completes it, ns.
    pub complete_ns: f64,
    /// A call that waits for a request has found it completed, and frees it, ns.
    pub free_ns: f64,
    /// The handle of a request becomes its object, ns.
    pub handle_ns: f64,
    /// A collective begins: arguments are checked, an algorithm is chosen, ns.
    pub collective_ns: f64,
}

/// Times of the library.
#[derive(Clone, Debug)]
pub struct Steps {
    /// See [`MessagingConfig`].
    pub send: Microticks,
    /// See [`MessagingConfig`].
    pub receive: Microticks,
    /// See [`MessagingConfig`].
    pub gap: Microticks,
    /// See [`MessagingConfig`].
    pub packet_send: Microticks,
    /// See [`MessagingConfig`].
    pub packet_receive: Microticks,
    /// To copy a byte, microticks.
    pub copy_per_byte: f64,
    /// A nanosecond, microticks.
    pub nanosecond: f64,
}

impl Steps {
    /// The steps of a machine with this number of ticks per second.
    pub fn new(config: &MessagingConfig, ticks_per_second: u64) -> Self {
        // Microticks of a nanosecond.
        let nanosecond = ticks_per_second as f64 * 1e6 / 1e9;
        let of = |ns: f64| Microticks::of_f64(ns * nanosecond);
        Steps {
            send: of(config.send_ns.unwrap_or(0.0)),
            receive: of(config.receive_ns.unwrap_or(0.0)),
            gap: of(config.gap_ns),
            packet_send: of(config.packet_send_ns),
            packet_receive: of(config.packet_receive_ns),
            copy_per_byte: config.copy_GB_per_s.map_or(0.0, |rate| nanosecond / rate),
            nanosecond,
        }
    }

    /// Only the time of copies.
    #[allow(non_snake_case)]
    pub fn copies(copy_GB_per_s: Option<f64>, ticks_per_second: u64) -> Self {
        Steps::new(&MessagingConfig { copy_GB_per_s, ..MessagingConfig::default() }, ticks_per_second)
    }

    /// Time to copy this number of bytes.
    pub fn copy(&self, bytes: u64) -> Microticks {
        Microticks::of_f64(self.copy_per_byte * bytes as f64)
    }
}
