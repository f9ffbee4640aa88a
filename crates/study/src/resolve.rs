//! From files and flags to a study that can run: the study's file, its machine, its `[set]` table and `--set` flags,
//! each laid over the one before, then read and checked.

use crate::claims;
use crate::claims::Claim;
use crate::decode::decode;
use crate::diagnose::{Problem, SourceFile, nearest, suggest};
use crate::machine::size;
use crate::machine::{MACHINE_KEYS, Machine, NetworkOutline, SwitchedOutline, TorusMachine, machine_source};
use crate::number::grouped;
use crate::renamed;
use crate::study::{MeasureConfig, STUDY_KEYS, Study, Until};
use crate::tree::{Entry, Tree, Value, entry_at, parse_set};
use crate::windows::Windows;
use netloom_fabric::config::{ConfigError, Outline};
use netloom_fabric::topology::torus::Torus;
use netloom_nic::config::{Dealing, FifoConfig};
use netloom_workload::config::{TrafficConfig, WorkloadConfig};
use netloom_workload::mapping::MappingConfig;
use netloom_workload::shape::Shape;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The studies that come with Netloom: name and TOML text. The first is the main example.
pub const EXAMPLES: &[(&str, &str)] = &[
    ("all-to-all", include_str!("../../../studies/all-to-all.toml")),
    ("hot-region", include_str!("../../../studies/hot-region.toml")),
    ("light-traffic", include_str!("../../../studies/light-traffic.toml")),
    ("injection-fifos", include_str!("../../../studies/injection-fifos.toml")),
];

/// The axis of a sweep that goes over tables of changes, each with a `name`, rather than over values of one parameter:
/// `curve = [{ name = "one path", router.paths = 1 }, ...]`.
pub const CURVE: &str = "curve";

/// A parameter of a sweep and its values.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Dotted path of the parameter, or [`CURVE`].
    pub path: String,
    /// Its values.
    pub values: Vec<Tree>,
}

/// A study with everything that it needs, read and checked.
#[derive(Clone, Debug)]
pub struct ResolvedStudy {
    /// What it says.
    pub study: Study,
    /// Its machine, with the study's changes.
    pub machine: Machine,
    /// The machine's network, without what only its routers know.
    pub network: NetworkOutline,
    /// Folder that file names in the study are relative to.
    pub directory: PathBuf,
    /// The parameters that it sweeps over; none for a single run.
    pub axes: Vec<Axis>,
    /// What its sweep is to show.
    pub claims: Vec<Claim>,
    windows: Windows,
    study_tree: Tree,
    machine_tree: Tree,
    /// The machine as the study names it.
    machine_value: Tree,
    /// What the study and flags change of its machine.
    changes: Vec<Entry>,
}

/// Everything that a run follows from, as it is written out.
#[derive(Serialize)]
pub struct Configuration<'a> {
    /// The study.
    #[serde(flatten)]
    pub study: &'a Study,
    /// The machine.
    pub machine: &'a Machine,
}

/// Reads a study from a file, or one of the examples by name.
///
/// # Errors
/// What is wrong with the study, its machine, or a flag, in its place.
pub fn load(path_or_name: &str, sets: &[String]) -> Result<ResolvedStudy, Problem> {
    let path = Path::new(path_or_name);
    if let Some((name, text)) = EXAMPLES.iter().find(|(name, _)| *name == path_or_name && !path.is_file()) {
        return resolve(
            SourceFile::new(format!("studies/{name}.toml (built in)"), *text),
            Path::new("."),
            sets,
        );
    }
    let text = std::fs::read_to_string(path).map_err(|e| {
        let known: Vec<&str> = EXAMPLES.iter().map(|(name, _)| *name).collect();
        let help = nearest(path_or_name, known.iter().copied()).map_or_else(
            || format!("give the path of a study's TOML file, or an example by name: {}", known.join(", ")),
            |name| format!("did you mean `{name}`?"),
        );
        Problem::new(format!("cannot read the study {path_or_name}: {e}")).help(help)
    })?;
    let directory = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    resolve(SourceFile::new(path_or_name, text), directory, sets)
}

/// Reads a study from its text.
///
/// # Errors
/// What is wrong with the study, its machine, or a flag, in its place.
pub fn resolve(
    file: std::sync::Arc<SourceFile>,
    directory: &Path,
    sets: &[String],
) -> Result<ResolvedStudy, Problem> {
    let mut study_tree = Tree::parse(&file)?;
    renamed::check(&study_tree)?;
    if let Some(entry) = study_tree.entries().iter().find(|e| !STUDY_KEYS.contains(&e.key.as_str())) {
        return Err(not_of_a_study(entry));
    }
    let mut machine_sets = Vec::new();
    for flag in sets {
        let entry = parse_set(flag)?;
        renamed::check_entry(&entry)?;
        match side(&entry)? {
            Side::Study => study_tree.lay(&entry),
            Side::Machine => machine_sets.push(entry),
        }
    }
    // This is for `netloom validate`.
    study_tree.take("quick");
    let claims = study_tree.take("claim").map_or(Ok(vec![]), |claims| claims::read(&claims.value))?;
    for key in ["set", "sweep"] {
        if let Some(value) = study_tree.get(key).filter(|v| !matches!(v.value, Value::Table(_))) {
            return Err(not_a(&format!("`{key}` has the wrong type of value"), "a table", value));
        }
    }
    let changes = study_tree.take("set");
    let axes = study_tree.take("sweep").map_or(Ok(vec![]), |sweep| axes_of(&sweep))?;
    let machine = study_tree.take("machine").ok_or_else(|| {
        Problem::new("`machine` is missing")
            .help("add `machine = \"bgl\"`, or the path of a machine's TOML file")
            .at(&study_tree.origin)
    })?;
    let mut changes = changes.map_or(vec![], |changes| flatten(&changes.value));
    changes.extend(machine_sets);
    let machine_tree = changed_machine(&machine.value, directory, nodes_of(&study_tree), &changes)?;
    let whole = finish(study_tree, (machine.value, machine_tree), directory.to_owned())?;
    Ok(ResolvedStudy { axes, changes, claims, ..whole })
}

/// The tree of a machine by name, path or as a table, with changes laid over it.
fn changed_machine(
    machine: &Tree,
    directory: &Path,
    nodes: Option<(u32, &Tree)>,
    changes: &[Entry],
) -> Result<Tree, Problem> {
    let mut tree = match &machine.value {
        Value::Text(name) => {
            let source = machine_source(name, directory).map_err(|p| p.at(&machine.origin))?;
            let tree = Tree::parse(&source)?;
            renamed::check(&tree)?;
            tree
        }
        Value::Table(_) => machine.clone(),
        _ => return Err(not_a("`machine` is no machine", "a name or a path in quotes", machine)),
    };
    if let Some((nodes, value)) = nodes {
        let sized = size::topology_of(&Machine::read(&tree)?, nodes);
        let sized = sized.map_err(|e| not_a("`nodes` has an invalid value", &e.message, value))?;
        if let Some((key, lengths)) = sized {
            let text = match lengths[..] {
                [groups] if key.ends_with("groups") => groups.to_string(),
                _ => format!("{lengths:?}"),
            };
            tree.lay(&parse_set(&format!("{key}={text}"))?);
        }
    }
    changes.iter().for_each(|change| tree.lay(change));
    Ok(tree)
}

/// How many nodes a study asks for, and where it does.
fn nodes_of(study: &Tree) -> Option<(u32, &Tree)> {
    let value = study.get("nodes")?;
    match value.value {
        // Values that are none are refused where the study is read.
        Value::Integer(nodes) => u32::try_from(nodes).ok().map(|nodes| (nodes, value)),
        _ => None,
    }
}

/// Reads and checks a machine by name or path, with changes.
///
/// # Errors
/// What is wrong with it, in its place.
pub fn load_machine(name: &str, sets: &[String]) -> Result<Machine, Problem> {
    let mut tree = Tree::parse(&machine_source(name, Path::new("."))?)?;
    renamed::check(&tree)?;
    for flag in sets {
        let entry = parse_set(flag)?;
        renamed::check_entry(&entry)?;
        if !MACHINE_KEYS.contains(&entry.key.as_str()) {
            return Err(unknown(&entry, MACHINE_KEYS));
        }
        tree.lay(&entry);
    }
    checked_machine(&tree)
}

/// A machine from its tree, with everything that can be said against it.
fn checked_machine(tree: &Tree) -> Result<Machine, Problem> {
    let machine = Machine::read(tree).map_err(|p| elsewhere(p, MACHINE_KEYS))?;
    checked(machine.check(), tree)?;
    Ok(machine)
}

enum Side {
    Study,
    Machine,
}

/// Whether a key belongs to the study or to its machine.
fn side(entry: &Entry) -> Result<Side, Problem> {
    if STUDY_KEYS.contains(&entry.key.as_str()) {
        Ok(Side::Study)
    } else if MACHINE_KEYS.contains(&entry.key.as_str()) {
        Ok(Side::Machine)
    } else {
        Err(unknown(entry, &[STUDY_KEYS, MACHINE_KEYS].concat()))
    }
}

fn not_a(message: &str, expected: &str, found: &Tree) -> Problem {
    let mut problem = Problem::new(message).at(&found.origin);
    problem.label = format!("expected {expected}, found {}", found.inline());
    problem
}

/// A key that a study's file may not have at its top.
fn not_of_a_study(entry: &Entry) -> Problem {
    let mut problem = Problem::new(format!("unknown key `{}`", entry.key)).at(&entry.origin);
    problem.label = "not a key of a study".into();
    problem.help(if MACHINE_KEYS.contains(&entry.key.as_str()) {
        format!("it is the machine's: write it as `set.{}`, or under [set]", entry.key)
    } else {
        suggest(&entry.key, STUDY_KEYS)
    })
}

/// The dotted paths that begin with one of these keys, as far as the examples show them: every value that a study or a
/// machine has, but those of workloads and the like that no example chooses.
fn paths(known: &[&str]) -> Vec<String> {
    fn gather(tree: &Tree, above: &str, paths: &mut Vec<String>) {
        for entry in tree.entries() {
            let path = if above.is_empty() { entry.key.clone() } else { format!("{above}.{}", entry.key) };
            gather(&entry.value, &path, paths);
            paths.push(path);
        }
    }
    let mut paths: Vec<String> = known.iter().map(|&key| key.into()).collect();
    for (name, text) in EXAMPLES {
        let example = resolve(SourceFile::new(*name, *text), Path::new("."), &[]);
        let Ok(mut tree) = example.and_then(|e| Tree::parse(&SourceFile::new(*name, e.to_toml()))) else {
            continue;
        };
        if let Some(machine) = tree.take("machine") {
            gather(&machine.value, "", &mut paths);
        }
        gather(&tree, "", &mut paths);
    }
    paths.retain(|path| known.contains(&path.split('.').next().unwrap_or(path)));
    paths
}

fn unknown(entry: &Entry, known: &[&str]) -> Problem {
    // The key may be a good one that was written without its tables.
    let paths = paths(known);
    let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
    let names: Vec<String> = paths.iter().map(|path| last(path)).collect();
    let path = nearest(&entry.key, names.iter().map(String::as_str)).and_then(|name| {
        paths.iter().filter(|path| last(path) == name).min_by_key(|path| path.matches('.').count())
    });
    let help = path.map_or_else(|| suggest(&entry.key, known), |path| format!("did you mean `{path}`?"));
    let mut problem = Problem::new(format!("unknown key `{}`", entry.key)).help(help);
    problem.label = "not a key of a study or a machine".into();
    problem.at(&entry.origin)
}

/// A key that does not exist where it stands may do so in another table: below its own, or else in the nearest to the top.
fn elsewhere(problem: Problem, known: &[&str]) -> Problem {
    let Some((table, name)) = problem.unknown.as_deref().and_then(|path| path.rsplit_once('.')) else {
        return problem;
    };
    let (below, end) = (format!("{table}."), format!(".{name}"));
    let rank = |path: &&String| (!path.starts_with(&below), path.matches('.').count());
    match paths(known)
        .iter()
        .filter(|path| path.ends_with(&end) && Some(path.as_str()) != problem.unknown.as_deref())
        .min_by_key(rank)
    {
        Some(path) => problem.help(format!("did you mean `{path}`?")),
        None => problem,
    }
}

/// A key that this machine does not have, although others do, may be one of the study's, written without its table.
fn of_the_study(problem: Problem) -> Problem {
    let Some(name) = problem.unknown.as_deref().filter(|path| !path.contains('.')) else { return problem };
    let end = format!(".{name}");
    let found = paths(STUDY_KEYS).into_iter().filter(|path| path.ends_with(&end));
    match found.min_by_key(|path| path.matches('.').count()) {
        Some(path) => problem.help(format!("did you mean `{path}`?")),
        None => problem,
    }
}

/// The entries of a table, with quoted dotted keys (`"router.paths"`) taken apart.
fn flatten(tree: &Tree) -> Vec<Entry> {
    tree.entries().iter().map(|e| entry_at(&e.key, e.origin.clone(), e.value.clone())).collect()
}

fn axes_of(sweep: &Entry) -> Result<Vec<Axis>, Problem> {
    fn gather(tree: &Tree, path: &str, axes: &mut Vec<Axis>) -> Result<(), Problem> {
        for entry in tree.entries() {
            let path = if path.is_empty() { entry.key.clone() } else { format!("{path}.{}", entry.key) };
            match &entry.value.value {
                Value::Table(_) => gather(&entry.value, &path, axes)?,
                Value::List(values) if !values.is_empty() => {
                    axes.push(Axis { path, values: values.clone() });
                }
                _ => {
                    let mut problem = Problem::new(format!("`sweep.{path}` has no values to sweep over"));
                    problem.label = "expected a list".into();
                    return Err(problem
                        .help(format!("write {path} = [first, second, …]"))
                        .at(&entry.value.origin));
                }
            }
        }
        Ok(())
    }
    for entry in flatten(&sweep.value).iter().filter(|e| e.key != CURVE) {
        side(entry)?;
    }
    let mut axes = Vec::new();
    gather(&sweep.value, "", &mut axes)?;
    Ok(axes)
}

fn checked(result: Result<(), ConfigError>, tree: &Tree) -> Result<(), Problem> {
    result.map_err(|e| impossible(e, tree))
}

fn impossible(e: ConfigError, tree: &Tree) -> Problem {
    let mut problem =
        Problem::new(format!("`{}` has an impossible value", e.key)).at(&tree.origin_of(&e.key));
    problem.label = e.message;
    if problem.origin.is_none() {
        problem.message = format!("{}: {}", problem.message, problem.label);
    }
    problem
}

/// Refuses a run that would never end, and traffic settings that a workload of programs has no use for.
fn ends(study: &Study) -> Result<(), ConfigError> {
    let refuse = |key: &str, message: &str| Err(ConfigError { key: key.into(), message: message.into() });
    let traffic = &study.traffic;
    if study.workload.is_program() {
        let usual = TrafficConfig {
            routing: traffic.routing,
            priority: traffic.priority,
            ..TrafficConfig::default()
        };
        if *traffic != usual {
            return refuse(
                "traffic",
                "programs decide what is sent: only routing and priority can be set here",
            );
        }
        return Ok(());
    }
    if study.measure.until() == Until::Finished && !study.workload.ends(traffic) {
        let message = "a run until \"finished\" needs traffic that ends: give traffic.packets_per_node, or for an \
                       all-to-all traffic.load = \"burst\"";
        return refuse("measure.until", message);
    }
    Ok(())
}

fn finish(
    study_tree: Tree,
    (machine_value, machine_tree): (Tree, Tree),
    directory: PathBuf,
) -> Result<ResolvedStudy, Problem> {
    let machine = checked_machine(&machine_tree).map_err(of_the_study)?;
    let mut study: Study = decode(&study_tree).map_err(|p| elsewhere(p, STUDY_KEYS))?;
    let own_end = if study.workload.runs_programs() { Until::Finished } else { Until::Converged };
    study.measure.until.get_or_insert(own_end);
    let network = machine.outline();
    match (&machine, &network) {
        (Machine::Torus(machine), NetworkOutline::Torus(network)) => {
            fits_torus(&mut study, machine, network, &study_tree, &machine_tree)?;
        }
        (_, NetworkOutline::Switched(network)) => checked(fits_switched(&mut study, network), &study_tree)?,
        _ => unreachable!("a machine's outline is of its own kind"),
    }
    checked(study.measure.check(), &study_tree)?;
    checked(ends(&study), &study_tree)?;
    if study.name.is_empty() || study.name.starts_with('.') || study.name.contains(['/', '\\']) {
        let mut problem = Problem::new("`name` cannot name a folder").at(&study_tree.origin_of("name"));
        problem.label = "expected a plain word, such as \"all-to-all\"".into();
        return Err(problem);
    }
    let windows = Windows::new(&study, machine.ticks_per_second()).map_err(|e| impossible(e, &study_tree))?;
    let (axes, changes, claims) = (vec![], vec![], vec![]);
    Ok(ResolvedStudy {
        study,
        machine,
        network,
        directory,
        axes,
        claims,
        windows,
        study_tree,
        machine_tree,
        machine_value,
        changes,
    })
}

/// Checks what a study says against its torus.
fn fits_torus(
    study: &mut Study,
    machine: &TorusMachine,
    network: &Outline,
    study_tree: &Tree,
    machine_tree: &Tree,
) -> Result<(), Problem> {
    let dims = &network.topology.dims;
    if !study.workload.is_program() {
        study.traffic.packet_chunks.or_full(network.packet.chunks_max);
    }
    checked(study.workload.check(&Shape::of_torus(&Torus::new(&network.topology))), study_tree)?;
    checked(of_switches(&study.measure), study_tree)?;
    checked(io_program(&study.workload, network), study_tree)?;
    checked(io_nodes(&study.workload, network), machine_tree)?;
    checked(study.traffic.check(network), study_tree)?;
    if let WorkloadConfig::Jobs(jobs) = &study.workload {
        checked(jobs.check_loads(&study.traffic, |own| own.check(network)), study_tree)?;
    }
    checked(dealing(&machine.nic, &study.workload), machine_tree)?;
    checked(study.mapping.check(dims), study_tree)
}

/// Refuses what is measured of machines of switches only.
fn of_switches(measure: &MeasureConfig) -> Result<(), ConfigError> {
    let asked = [("measure.reordering", measure.reordering), ("measure.bound", measure.bound)];
    let message = "expected false on a torus, found true: it is for machines of switches".into();
    match asked.iter().find(|(_, asked)| *asked) {
        Some((key, _)) => Err(ConfigError { key: (*key).into(), message }),
        None => Ok(()),
    }
}

/// Checks what a study says against its network of switches.
fn fits_switched(study: &mut Study, network: &SwitchedOutline) -> Result<(), ConfigError> {
    let refuse = |key: &str, message: &str| Err(ConfigError { key: key.into(), message: message.into() });
    study.workload.check(&Shape::of_switches(&network.wiring))?;
    study.traffic.check_switched(&network.config)?;
    if let WorkloadConfig::Jobs(jobs) = &study.workload {
        jobs.check_loads(&study.traffic, |own| own.check_switched(&network.config))?;
    }
    if matches!(study.mapping, MappingConfig::Dimensions(_)) {
        return refuse(
            "mapping",
            "expected \"in-order\", \"random\" or a file on a machine without dimensions",
        );
    }
    if study.measure.unblocking {
        return refuse("measure.unblocking", "expected false: routers of this machine send no token-acks");
    }
    if study.measure.reordering && study.workload.is_program() {
        return refuse(
            "measure.reordering",
            "expected false with programs, whose NICs keep the order that they promise",
        );
    }
    if study.measure.counters {
        return refuse("measure.counters", "expected false: only Blue Gene/Q's routers have such counters");
    }
    Ok(())
}

impl ResolvedStudy {
    /// The network of a study on a torus.
    ///
    /// # Panics
    /// Of a study on another machine: those who ask know that it is a torus.
    pub fn torus(&self) -> &Outline {
        self.network.torus().expect("a torus")
    }

    /// The machine of a study on a torus.
    ///
    /// # Panics
    /// As [`Self::torus`].
    pub fn torus_machine(&self) -> &TorusMachine {
        self.machine.torus().expect("a torus")
    }

    /// The network of a study on a machine of switches.
    ///
    /// # Panics
    /// Of a study on another machine: those who ask know that it is one.
    pub fn switched(&self) -> &SwitchedOutline {
        self.network.switched().expect("switches")
    }

    /// The same study with some parameters changed: one point of a sweep.
    ///
    /// # Errors
    /// A value that does not fit, in its place in the study.
    pub fn at_point(&self, point: &[(String, Tree)]) -> Result<ResolvedStudy, Problem> {
        let (mut study, mut machine) = (self.study_tree.clone(), self.machine_tree.clone());
        let mut machine_value = self.machine_value.clone();
        for (path, value) in point {
            let changes = match path.as_str() {
                CURVE => flatten(value).into_iter().filter(|e| e.key != "name").collect(),
                _ => vec![entry_at(path, value.origin.clone(), value.clone())],
            };
            // A machine and its size come before what is changed of it.
            let (base, changes): (Vec<_>, Vec<_>) =
                changes.into_iter().partition(|entry| ["machine", "nodes"].contains(&entry.key.as_str()));
            if !base.is_empty() {
                for entry in base {
                    match entry.key.as_str() {
                        "machine" => machine_value = entry.value,
                        _ => study.lay(&entry),
                    }
                }
                machine = changed_machine(&machine_value, &self.directory, nodes_of(&study), &self.changes)?;
            }
            for entry in changes {
                match side(&entry)? {
                    Side::Study => study.lay(&entry),
                    Side::Machine => machine.lay(&entry),
                }
            }
        }
        finish(study, (machine_value, machine), self.directory.clone())
    }

    /// What is found impossible only when the study is built, in its place.
    pub fn impossible(&self, e: ConfigError) -> Problem {
        let of_machine = e.key.split('.').next().is_some_and(|key| MACHINE_KEYS.contains(&key));
        impossible(e, if of_machine { &self.machine_tree } else { &self.study_tree })
    }

    /// The study's title, or its name where there is none, with the size of the machine filled in.
    pub fn heading(&self) -> String {
        let title = if self.study.title.is_empty() { &self.study.name } else { &self.study.title };
        let nodes = grouped(self.network.nodes() as i64);
        title.replace("{dims}", &self.machine.shape()).replace("{nodes}", &nodes)
    }

    /// Everything that the run follows from.
    pub fn configuration(&self) -> Configuration<'_> {
        Configuration { study: &self.study, machine: &self.machine }
    }

    /// The same as one TOML file, complete: running it from anywhere repeats the run. File names are absolute.
    pub fn to_toml(&self) -> String {
        let mut study = self.study.clone();
        let absolute = |file: &mut String| {
            let path = self.directory.join(&*file);
            *file = std::path::absolute(&path).unwrap_or(path).to_string_lossy().into_owned();
        };
        study.workload.each_file(&absolute);
        if let MappingConfig::File(file) = &mut study.mapping {
            absolute(file);
        }
        let configuration = Configuration { study: &study, machine: &self.machine };
        toml::to_string_pretty(&configuration).expect("a configuration can be written as TOML")
    }

    /// Length of a measuring window, ticks.
    pub fn window(&self) -> u64 {
        self.windows.ticks
    }

    /// The same study with measuring windows that fit into a run of so many ticks.
    pub(crate) fn in_windows_for(&self, ticks: u64) -> ResolvedStudy {
        let windows = self.windows.shortened(ticks, self.machine.ticks_per_second());
        ResolvedStudy { windows, ..self.clone() }
    }

    /// What a reader of the result must know that is clear before the run.
    pub fn warnings(&self) -> &[String] {
        &self.windows.warnings
    }

    /// Microseconds of a number of ticks.
    pub fn micros(&self, ticks: u64) -> f64 {
        ticks as f64 * 1e6 / self.machine.ticks_per_second() as f64
    }
}

/// Checks a program against the machine's IO nodes.
fn io_program(workload: &WorkloadConfig, network: &Outline) -> Result<(), ConfigError> {
    let WorkloadConfig::Spi(program) = workload else { return Ok(()) };
    let under = |e: ConfigError| ConfigError { key: format!("workload.{}", e.key), ..e };
    program.check_io(network.topology.io.as_ref()).map_err(under)
}

/// Refuses IO nodes that nothing would use.
fn io_nodes(workload: &WorkloadConfig, network: &Outline) -> Result<(), ConfigError> {
    if network.topology.io.is_none() || matches!(workload, WorkloadConfig::Spi(_)) {
        return Ok(());
    }
    let message =
        "expected none with this workload: only programs on Message Units (kind = \"spi\") run on IO nodes";
    Err(ConfigError { key: "topology.io".into(), message: message.into() })
}

/// Programs send a message through one endless FIFO, so nothing is left to deal.
fn dealing(nic: &FifoConfig, workload: &WorkloadConfig) -> Result<(), ConfigError> {
    if !workload.runs_programs() || nic.dealing == Dealing::InTurn || nic.injection_fifo_B.is_some() {
        return Ok(());
    }
    let message = "programs deal their messages to endless FIFOs in turn; expected \"in-turn\", or FIFOs with a size \
                   (`nic.injection_fifo_B`)";
    Err(ConfigError { key: "nic.dealing".into(), message: message.into() })
}
