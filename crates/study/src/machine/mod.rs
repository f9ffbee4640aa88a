//! Machines: a network with its nodes, as a TOML file. Those that Netloom brings are part of the program. Here is what can be
//! asked of all of them; what tori and networks of switches have of their own is in a file each.

mod packaging;
pub(crate) mod size;
mod switched;
mod torus;

pub use packaging::{CableFacts, PackagingFacts};
pub use switched::{ClassFacts, SwitchedFacts, SwitchedMachine, SwitchedOutline};
pub use torus::{Routers, TorusFacts, TorusMachine, TorusNetwork};

use crate::decode::decode;
use crate::diagnose::{Problem, SourceFile, nearest};
use crate::tree::Tree;
use netloom_fabric::config::{Cabling, ConfigError, Outline, SwitchedTopology};
use netloom_messaging::config::MessagingConfig;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The machines that come with Netloom: name and TOML text.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("bgl", include_str!("../../../../machines/bgl.toml")),
    ("bgp", include_str!("../../../../machines/bgp.toml")),
    ("bgq", include_str!("../../../../machines/bgq.toml")),
    ("xc", include_str!("../../../../machines/xc.toml")),
    ("th", include_str!("../../../../machines/th.toml")),
    ("dragonfly", include_str!("../../../../machines/dragonfly.toml")),
    ("fat-tree", include_str!("../../../../machines/fat-tree.toml")),
    ("torus", include_str!("../../../../machines/torus.toml")),
];

/// The families of networks that the fabric can build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Tori of BlueGene/L's routers and their variants.
    Torus,
    /// Tori of Blue Gene/Q's routers, whose VCs have several queues.
    QueuedTorus,
    /// Networks of tiled routers that several nodes share: Cray XC's.
    Tiled,
}

/// Top-level keys of a machine that a study may change.
pub const MACHINE_KEYS: &[&str] = &[
    "family",
    "ticks_per_second",
    "topology",
    "packet",
    "link",
    "router",
    "routing",
    "nic",
    "message_unit",
    "link_control",
    "faults",
    "aries",
    "th",
    "messaging",
];

/// A machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Machine {
    /// Every node has a router of its own in a torus.
    Torus(Box<TorusMachine>),
    /// Nodes share routers, which stand in groups or stages.
    Switched(Box<SwitchedMachine>),
}

/// Figures of a machine in closed form.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Facts {
    /// Of a torus.
    Torus(TorusFacts),
    /// Of a network of switches.
    Switched(SwitchedFacts),
}

/// What the layers above need to know of a machine's network.
#[derive(Clone, Debug)]
pub enum NetworkOutline {
    /// Of a torus.
    Torus(Box<Outline>),
    /// Of a network of switches.
    Switched(SwitchedOutline),
}

impl NetworkOutline {
    /// Nodes, those out of order included.
    pub fn nodes(&self) -> usize {
        match self {
            NetworkOutline::Torus(torus) => torus.nodes(),
            NetworkOutline::Switched(switched) => switched.wiring.nodes() as usize,
        }
    }

    /// The outline of a torus, if it is one.
    pub fn torus(&self) -> Option<&Outline> {
        match self {
            NetworkOutline::Torus(torus) => Some(torus),
            NetworkOutline::Switched(_) => None,
        }
    }

    /// The outline of a network of switches, if it is one.
    pub fn switched(&self) -> Option<&SwitchedOutline> {
        match self {
            NetworkOutline::Torus(_) => None,
            NetworkOutline::Switched(switched) => Some(switched),
        }
    }
}

impl Machine {
    /// Reads a machine, whose `family` says what it has.
    ///
    /// # Errors
    /// Unknown keys, wrong types, unknown alternatives and missing keys, in their place.
    pub fn read(tree: &Tree) -> Result<Machine, Problem> {
        // Without a family, the reader of tori says so, in its place.
        match tree.get("family").map(decode::<Family>).transpose()? {
            Some(Family::Tiled) => decode(tree).map(|m| Machine::Switched(Box::new(m))),
            Some(Family::Torus | Family::QueuedTorus) | None => {
                TorusMachine::read(tree).map(|m| Machine::Torus(Box::new(m)))
            }
        }
    }

    /// Refuses what cannot be built.
    ///
    /// # Errors
    /// The first impossible value, with its key and what was expected.
    pub fn check(&self) -> Result<(), ConfigError> {
        match self {
            Machine::Torus(m) => m.check(),
            Machine::Switched(m) => m.check(),
        }
    }

    /// The name that studies use.
    pub fn name(&self) -> &str {
        match self {
            Machine::Torus(m) => &m.name,
            Machine::Switched(m) => &m.name,
        }
    }

    /// A line for people.
    pub fn title(&self) -> &str {
        match self {
            Machine::Torus(m) => &m.title,
            Machine::Switched(m) => &m.title,
        }
    }

    /// Ticks a second.
    pub fn ticks_per_second(&self) -> u64 {
        match self {
            Machine::Torus(m) => m.ticks_per_second,
            Machine::Switched(m) => m.ticks_per_second,
        }
    }

    /// Its size and form as people write them: `32x32x32`, `33 groups of 8 routers`.
    pub fn shape(&self) -> String {
        match self {
            Machine::Torus(m) => m.shape(),
            Machine::Switched(m) => m.shape(),
        }
    }

    /// What the layers above need to know of its network; of a checked machine.
    pub fn outline(&self) -> NetworkOutline {
        match self {
            Machine::Torus(m) => NetworkOutline::Torus(Box::new(m.network().outline())),
            Machine::Switched(m) => NetworkOutline::Switched(m.outline()),
        }
    }

    /// Nodes; of a checked machine.
    pub fn nodes(&self) -> u64 {
        match self {
            Machine::Torus(m) => m.topology.nodes() as u64,
            Machine::Switched(m) => m.nodes(),
        }
    }

    /// What can be said of the machine without a run; of a checked machine.
    pub fn facts(&self) -> Facts {
        match self {
            Machine::Torus(m) => Facts::Torus(m.facts()),
            Machine::Switched(m) => Facts::Switched(m.facts()),
        }
    }

    /// What becomes of the cables between its groups when it is made another machine; none where there are no bundles of cables.
    pub fn cables_when(&self, after: &Machine) -> Option<CableFacts> {
        let of = |m: &Machine| match &m.switched()?.topology {
            SwitchedTopology::Dragonfly(d) if d.cabling == Cabling::Bundles => Some(d.clone()),
            _ => None,
        };
        Some(CableFacts::of_upgrade(&of(self)?, &of(after)?))
    }

    /// The messaging library of its nodes.
    pub fn messaging(&self) -> &MessagingConfig {
        match self {
            Machine::Torus(m) => &m.messaging,
            Machine::Switched(m) => &m.messaging,
        }
    }

    /// The torus, if it is one.
    pub fn torus(&self) -> Option<&TorusMachine> {
        match self {
            Machine::Torus(m) => Some(m),
            Machine::Switched(_) => None,
        }
    }

    /// The network of switches, if it is one.
    pub fn switched(&self) -> Option<&SwitchedMachine> {
        match self {
            Machine::Torus(_) => None,
            Machine::Switched(m) => Some(m),
        }
    }
}

/// The text of a machine: built in, or a file relative to a study's folder.
///
/// # Errors
/// A name that is neither; a file that cannot be read.
pub fn machine_source(name: &str, directory: &Path) -> Result<Arc<SourceFile>, Problem> {
    if let Some((_, text)) = BUILT_IN.iter().find(|(n, _)| *n == name) {
        return Ok(SourceFile::new(format!("machines/{name}.toml (built in)"), *text));
    }
    let path = if directory == Path::new(".") { PathBuf::from(name) } else { directory.join(name) };
    if !name.ends_with(".toml") && !path.is_file() {
        let known: Vec<&str> = BUILT_IN.iter().map(|(n, _)| *n).collect();
        let help = nearest(name, known.iter().copied()).map_or_else(
            || format!("give a built-in machine ({}) or the path of a machine's TOML file", known.join(", ")),
            |name| format!("did you mean `{name}`?"),
        );
        return Err(Problem::new(format!("unknown machine `{name}`")).help(help));
    }
    let text = std::fs::read_to_string(&path).map_err(|e| {
        Problem::new(format!("cannot read the machine {}: {e}", path.display()))
            .help("`netloom machines show bgl > mine.toml` gives a file to start from")
    })?;
    Ok(SourceFile::new(path.display().to_string(), text))
}
