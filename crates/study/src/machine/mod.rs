//! Machines: a network with its nodes, as a TOML file. Those that Netloom brings are part of the program.
//! Here is what can be asked of all of them; what tori and networks of switches are is in a folder each.

mod size;
mod switched;
mod torus;
mod units;

pub use switched::{CableFacts, ClassFacts, PackagingFacts, SwitchedFacts, SwitchedMachine, SwitchedOutline};
pub use torus::{Routers, TorusFacts, TorusMachine, TorusNetwork};
pub use units::{Rounding, roundings};
pub(crate) use units::{error_of_file, name_in_file};

use crate::decode::decode;
use crate::diagnose::{Problem, SourceFile, nearest};
use crate::interfaces::has_interface_for;
use crate::memory::Estimate;
use crate::resolve::ResolvedStudy;
use crate::study::Study;
use crate::tree::Tree;
use netloom_fabric::config::{Cabling, ConfigError, Outline, SwitchedTopology};
use netloom_messaging::config::MessagingConfig;
use netloom_workload::config::{KINDS, Machines};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use size::Change;
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

/// Kinds of networks with a commented file to start a machine of one's own from: name and TOML text.
pub const NEW: &[(&str, &str)] = &[
    ("torus", include_str!("../../../../machines/new/torus.toml")),
    ("dragonfly", include_str!("../../../../machines/new/dragonfly.toml")),
    ("fat-tree", include_str!("../../../../machines/new/fat-tree.toml")),
];

/// Other names that built-in machines go by.
const ALSO_CALLED: [(&str, &str); 2] = [("th-express-2", "th"), ("cray-xc", "xc")];

/// The families of networks that the fabric can build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Tori of BlueGene/L's routers and their variants.
    Torus,
    /// Tori of Blue Gene/Q's routers, whose VCs have several queues.
    QueuedTorus,
    /// Networks of tiled routers that several nodes share: Cray XC's.
    Tiled,
}

/// A family of machines: how its file is read, and which keys that may have.
pub struct FamilyEntry {
    /// The value of `family`.
    pub family: Family,
    /// The same as a word.
    pub name: &'static str,
    /// What it is.
    pub help: &'static str,
    /// Whether its machines are tori or have switches, for checks of the workloads that they run.
    pub machines: Machines,
    /// Reads a machine of it.
    pub(crate) read: fn(&Tree) -> Result<Machine, Problem>,
    /// The JSON schema of its file.
    pub(crate) schema: fn() -> serde_json::Value,
}

impl FamilyEntry {
    /// Whether it is among the machines that take a kind of workload.
    pub(crate) fn is_among(&self, machines: Machines) -> bool {
        machines == Machines::All || machines == self.machines
    }
}

/// All families. Whoever adds one adds a line here and a value of [`Family`].
pub const FAMILIES: &[FamilyEntry] = &[torus::TORUS, torus::QUEUED_TORUS, switched::TILED];

/// The interface of every kind of machine. The folders below implement it, and everything else uses it.
trait MachineKind {
    /// The keys of every machine's file.
    fn common(&self) -> Common<'_>;
    /// See [`Machine::check`].
    fn check(&self) -> Result<(), ConfigError>;
    /// See [`Machine::shape`].
    fn shape(&self) -> String;
    /// See [`Machine::nodes`].
    fn nodes(&self) -> u64;
    /// See [`Machine::outline`].
    fn outline(&self) -> NetworkOutline;
    /// See [`Machine::facts`].
    fn facts(&self) -> Facts;
    /// See [`Machine::sized`].
    fn sized(&self, nodes: u32) -> Result<Option<Change>, ConfigError>;
    /// See [`Machine::fit`].
    fn fit(&self, study: &mut Study, network: &NetworkOutline) -> Result<(), ConfigError>;
    /// See [`Machine::memory`].
    fn memory(&self, study: &ResolvedStudy) -> Estimate;
}

/// The keys of every machine's file.
struct Common<'a> {
    /// See [`Machine::name`].
    name: &'a str,
    /// See [`Machine::title`].
    title: &'a str,
    /// See [`Machine::ticks_per_second`].
    ticks_per_second: u64,
    /// See [`Machine::messaging`].
    messaging: &'a MessagingConfig,
}

/// A machine.
#[derive(Clone, Debug, PartialEq)]
pub enum Machine {
    /// Every node has a router of its own in a torus.
    Torus(Box<TorusMachine>),
    /// Nodes share routers, which stand in groups or stages.
    Switched(Box<SwitchedMachine>),
}

// As its file has it, in the units of files.
impl Serialize for Machine {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Machine::Torus(machine) => units::serialize(machine, serializer),
            Machine::Switched(machine) => units::serialize(machine, serializer),
        }
    }
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

/// The properties of a machine's network that the layers above need.
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
    /// Reads a machine, whose `family` determines its keys.
    ///
    /// # Errors
    /// Unknown keys, wrong types, unknown alternatives and missing keys, in their place.
    pub fn read(tree: &Tree) -> Result<Machine, Problem> {
        let family: Option<Family> = tree.get("family").map(decode).transpose()?;
        let entry = FAMILIES.iter().find(|entry| Some(entry.family) == family);
        // Without a family, the reader of the first reports that, with its place.
        let (tree, mut problems) = units::to_engine(tree)?;
        match (entry.unwrap_or(&FAMILIES[0]).read)(&tree).map_err(units::problem_of_file) {
            Ok(machine) => Problem::of_all(problems).map_or(Ok(machine), Err),
            Err(problem) if problems.is_empty() => Err(problem),
            Err(problem) => {
                // A key may be missing because its value could not be converted.
                problems.extend(problem.without_missing());
                Err(Problem::of_all(problems).expect("there is one"))
            }
        }
    }

    fn kind(&self) -> &dyn MachineKind {
        match self {
            Machine::Torus(m) => &**m,
            Machine::Switched(m) => &**m,
        }
    }

    /// Refuses what cannot be built.
    ///
    /// # Errors
    /// The first invalid value, with its key and what was expected.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.kind().check()
    }

    /// The name that studies use.
    pub fn name(&self) -> &str {
        self.kind().common().name
    }

    /// A line for people.
    pub fn title(&self) -> &str {
        self.kind().common().title
    }

    /// Ticks per second.
    pub fn ticks_per_second(&self) -> u64 {
        self.kind().common().ticks_per_second
    }

    /// Its size and form as people write them: `32x32x32`, `33 groups of 8 routers`.
    pub fn shape(&self) -> String {
        self.kind().shape()
    }

    /// The properties of its network that the layers above need; for a checked machine.
    pub fn outline(&self) -> NetworkOutline {
        self.kind().outline()
    }

    /// Nodes; of a checked machine.
    pub fn nodes(&self) -> u64 {
        self.kind().nodes()
    }

    /// Whether it takes a kind of workload: by its network, and by the interface that programs of that kind
    /// are written for.
    pub fn takes(&self, kind: &str) -> bool {
        let own = if self.torus().is_some() { Machines::Tori } else { Machines::Switches };
        let entry = KINDS.iter().find(|entry| entry.name == kind);
        let fits = |machines| machines == Machines::All || machines == own;
        entry.is_some_and(|entry| fits((entry.machines)())) && has_interface_for(self, kind)
    }

    /// Figures of the machine that need no run; for a checked machine.
    pub fn facts(&self) -> Facts {
        self.kind().facts()
    }

    /// The messaging library of its nodes.
    pub fn messaging(&self) -> &MessagingConfig {
        self.kind().common().messaging
    }

    /// The change of its topology that gives it at least `nodes` nodes. `None` where it has enough.
    ///
    /// # Errors
    /// If it cannot have as many: what was expected. The caller knows what was found, and where.
    pub(crate) fn sized(&self, nodes: u32) -> Result<Option<Change>, ConfigError> {
        match nodes {
            0 => Err(ConfigError { key: "nodes".into(), message: "at least 1 node".into() }),
            _ => self.kind().sized(nodes),
        }
    }

    /// Checks a study against the machine, and fills in what follows from it.
    ///
    /// # Errors
    /// The first invalid value, with its key and what was expected.
    pub(crate) fn fit(&self, study: &mut Study, network: &NetworkOutline) -> Result<(), ConfigError> {
        self.kind().fit(study, network)
    }

    /// Memory of the network of a study on this machine.
    pub(crate) fn memory(&self, study: &ResolvedStudy) -> Estimate {
        self.kind().memory(study)
    }

    /// The cables between its groups that stay, go and are new when it becomes another machine; `None`
    /// without bundles of cables.
    pub fn cables_when(&self, after: &Machine) -> Option<CableFacts> {
        let of = |m: &Machine| match &m.switched()?.topology {
            SwitchedTopology::Dragonfly(d) if d.cabling == Cabling::Bundles => Some(d.clone()),
            _ => None,
        };
        Some(CableFacts::of_upgrade(&of(self)?, &of(after)?))
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

/// Whether a name is that of a built-in machine.
pub(crate) fn is_built_in(name: &str) -> bool {
    BUILT_IN.iter().chain(&ALSO_CALLED).any(|(known, _)| *known == name)
}

/// The text of a machine: built in, or a file relative to a study's folder.
///
/// # Errors
/// A name that is neither; a file that cannot be read.
pub fn machine_source(name: &str, directory: &Path) -> Result<Arc<SourceFile>, Problem> {
    let name = ALSO_CALLED.iter().find(|(other, _)| *other == name).map_or(name, |(_, name)| name);
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
            .help("`netloom machines new torus > mine.toml` gives a file to start from")
    })?;
    Ok(SourceFile::new(path.display().to_string(), text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_to_start_from_are_valid_and_exact() {
        for (kind, text) in NEW {
            let tree = Tree::parse(&SourceFile::new(*kind, *text)).unwrap();
            let machine = Machine::read(&tree).expect(kind);
            assert_eq!(machine.check(), Ok(()), "{kind}");
            let rounded: Vec<_> = roundings(&tree).into_iter().filter(|r| r.error().abs() > 1e-3).collect();
            assert_eq!(rounded, [], "{kind}");
        }
    }

    #[test]
    fn a_machine_that_is_written_out_reads_as_the_same() {
        for (name, _) in BUILT_IN {
            let source = machine_source(name, Path::new(".")).unwrap();
            let machine = Machine::read(&Tree::parse(&source).unwrap()).unwrap();
            let text = toml::to_string(&machine).expect("a machine is plain data");
            let again = Machine::read(&Tree::parse(&SourceFile::new(*name, text)).unwrap()).unwrap();
            assert_eq!(machine, again, "{name}");
        }
    }

    #[test]
    fn values_in_the_simulators_units_are_refused_with_those_of_files() {
        let (_, text) = BUILT_IN.iter().find(|(name, _)| *name == "xc").unwrap();
        let problem = |from: &str, to: &str| {
            assert!(text.contains(from), "{from}");
            let source = SourceFile::new("mine.toml", text.replacen(from, to, 1));
            let problem = Machine::read(&Tree::parse(&source).unwrap()).expect_err(to);
            format!("{} | {} | {}", problem.message, problem.label, problem.help.unwrap_or_default())
        };
        let old = problem("latency_ns = 57.14", "latency_ticks = 50");
        assert!(old.contains("`link.green.latency_ticks` is now called `link.green.latency_ns`"), "{old}");
        assert!(old.contains("write latency_ns = 57.14"), "{old}");
        let short = problem("route_ns = 13.71", "route_ns = 0.1");
        assert!(
            short.contains("a value that cannot be simulated") && short.contains("1.14286 ns"),
            "{short}"
        );
        let none = problem("bandwidth_GB_per_s = 4.725", "bandwidth_GB_per_s = 0");
        assert!(none.contains("`link.green.bandwidth_GB_per_s`") && none.contains("more than 0"), "{none}");
        let missing = problem("latency_ns = 57.14", "");
        assert!(missing.contains("`link.green.latency_ns` is missing"), "{missing}");
        let text = problem("latency_ns = 57.14", "latency_ns = \"57 ns\"");
        assert!(text.contains("wrong type") && text.contains("a number, in ns"), "{text}");
        let none = problem("clock_MHz = 875", "");
        assert!(none.contains("`clock_MHz` is missing"), "{none}");
        let none = problem("clock_MHz = 875", "clock_MHz = 0");
        assert!(none.contains("`clock_MHz` has an invalid value"), "{none}");
        let old = problem("clock_MHz = 875", "ticks_per_second = 875_000_000");
        assert!(old.contains("write clock_MHz = 875"), "{old}");
        let unknown = problem("latency_ns = 57.14", "latency_n = 57.14");
        assert!(unknown.contains("`link.green.latency_n`") && !unknown.contains("ticks"), "{unknown}");
    }

    #[test]
    fn other_names_are_those_of_built_in_machines() {
        let text = |name: &str| machine_source(name, Path::new(".")).unwrap().text.clone();
        for (other, name) in ALSO_CALLED {
            assert_eq!(text(other), text(name));
        }
    }
}
