//! From files and flags to a study that can run: the study's file, its machine, its `[set]` table and `--set`
//! flags, each laid over the one before, then read and checked.
//!
//! | file | what |
//! |---|---|
//! | `layers.rs` | files and flags, laid over one another; a point of a sweep |
//! | `axes.rs` | the parameters of a sweep; which keys are the machine's |
//! | `expectations.rs` | `[expect]`: the names of figures |
//! | `flag_files.rs` | file names in `--set` flags |
//! | `finish.rs` | values read from the layers and checked against each other |
//! | `mistakes.rs` | what is said of keys and values that cannot be |
//! | `sweep_tables.rs` | `[sweep.plot]` and `[sweep.saturation]` |
//! | `written.rs` | a study written out again |

mod axes;
mod expectations;
mod finish;
mod flag_files;
mod layers;
mod mistakes;
mod sweep_tables;
mod written;

pub use axes::{Axis, CURVE};
pub(crate) use expectations::unknown_figure;
pub use layers::{load, load_machine, machine_roundings, resolve};
pub use sweep_tables::{Keys, PlotConfig, SaturationConfig, axis_named};
pub use written::Configuration;

use crate::claims::Claim;
use crate::diagnose::{Problem, SourceFile};
use crate::machine::{Machine, NetworkOutline, SwitchedOutline, TorusMachine};
use crate::number::grouped;
use crate::study::{Study, Until};
use crate::tree::{Entry, Tree};
use crate::windows::Windows;
use mistakes::of_either;
use netloom_fabric::config::{ConfigError, Outline};
use netloom_workload::goal;
use std::path::PathBuf;

/// A study with everything that it needs, read and checked.
#[derive(Clone, Debug)]
pub struct ResolvedStudy {
    /// The study itself.
    pub study: Study,
    /// Its machine, with the study's changes.
    pub machine: Machine,
    /// The machine's network, without what only its routers know.
    pub network: NetworkOutline,
    /// Folder that file names in the study are relative to.
    pub directory: PathBuf,
    /// The parameters that it sweeps over; none for a single run.
    pub axes: Vec<Axis>,
    /// The axes of the figures of its sweep.
    pub plot: PlotConfig,
    /// The search for saturation at each point of its sweep.
    pub saturation: Option<SaturationConfig>,
    /// The claims that its results must satisfy.
    pub claims: Vec<Claim>,
    /// Whether its file has a `[sweep]` table, so that one run of it is a point among others.
    pub has_sweep: bool,
    windows: Windows,
    /// Warnings about the machine: values that are simulated quite differently, another number of dimensions.
    about_machine: Vec<String>,
    study_tree: Tree,
    /// The machine, with what the study and flags change of it.
    machine_layers: MachineLayers,
    /// The changes of the study and of flags to its machine.
    changes: Vec<Entry>,
}

/// A machine's file with changes laid over it.
#[derive(Clone, Debug)]
struct MachineLayers {
    /// The machine as the study names it.
    value: Tree,
    /// Its file, changed.
    tree: Tree,
    /// Dimensions of its own torus, before changes; `None` if the study describes the machine itself, or it
    /// is no torus.
    own_dimensions: Option<usize>,
}

/// A window that few runs are longer than, ticks.
const LONG_WINDOW: u64 = 1 << 32;

impl ResolvedStudy {
    /// The path of a file that the study names: relative to its own folder, unless it is the name of a
    /// built-in trace.
    pub fn path_of(&self, file: &str) -> String {
        if goal::is_built_in(file) {
            return file.to_owned();
        }
        self.directory.join(file).to_string_lossy().into_owned()
    }

    /// The network of a study on a torus.
    ///
    /// # Panics
    /// If the machine is not a torus; callers must know that it is.
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
    /// If the machine is not one of switches; callers must know that it is.
    pub fn switched(&self) -> &SwitchedOutline {
        self.network.switched().expect("switches")
    }

    /// The value that the study or its machine has for a parameter, by its dotted key: as it is written, or
    /// the one that holds where it is left out.
    pub fn value(&self, path: &str) -> Option<Tree> {
        let written = self.study_tree.at(path).or_else(|| self.machine_layers.tree.at(path));
        written.cloned().or_else(|| {
            let whole = Tree::parse(&SourceFile::new("study.toml", self.to_toml())).ok()?;
            whole.at(path).or_else(|| whole.get("machine")?.at(path)).cloned()
        })
    }

    /// An error that is found only when the study is built, with its place.
    pub fn impossible(&self, e: ConfigError) -> Problem {
        of_either(e, &self.study_tree, &self.machine_layers.tree)
    }

    /// The study's title, or its name where there is none, with the size of the machine filled in.
    pub fn heading(&self) -> String {
        let title = if self.study.title.is_empty() { &self.study.name } else { &self.study.title };
        let nodes = grouped(self.network.nodes() as i64);
        title.replace("{dims}", &self.machine.shape()).replace("{nodes}", &nodes)
    }

    /// Length of a measuring window, ticks.
    pub fn window(&self) -> u64 {
        self.windows.ticks
    }

    /// The same study run to its end, in windows so long that nothing is kept of its course, and without a
    /// timeline.
    pub fn to_its_end(&self) -> ResolvedStudy {
        let mut study = self.clone();
        study.study.timeline = None;
        let measure = &mut study.study.measure;
        (measure.until, measure.time_us, measure.max_time_us) = (Some(Until::Finished), None, None);
        study.windows = Windows { ticks: LONG_WINDOW, warnings: vec![] };
        study
    }

    /// The same study with measuring windows that fit into a run of `ticks` ticks.
    pub fn in_windows_for(&self, ticks: u64) -> ResolvedStudy {
        let windows = self.windows.shortened(ticks, self.machine.ticks_per_second());
        ResolvedStudy { windows, ..self.clone() }
    }

    /// Makes measuring windows twice as long.
    pub fn widen_windows(&mut self) {
        self.windows.ticks *= 2;
    }

    /// Warnings for the reader of the result that are known before the run.
    pub fn warnings(&self) -> Vec<String> {
        [&self.windows.warnings[..], &self.about_machine].concat()
    }

    /// Microseconds of a number of ticks.
    pub fn micros(&self, ticks: u64) -> f64 {
        ticks as f64 * 1e6 / self.machine.ticks_per_second() as f64
    }
}
