//! A study written out, so that its run can be repeated.

use super::{PlotConfig, ResolvedStudy};
use crate::claims::Claim;
use crate::machine::Machine;
use crate::study::Study;
use netloom_workload::goal;
use netloom_workload::mapping::MappingConfig;
use serde::Serialize;

/// Everything that a run follows from, as it is written out.
#[derive(Serialize)]
pub struct Configuration<'a> {
    /// The study.
    #[serde(flatten)]
    pub study: &'a Study,
    /// The machine.
    pub machine: &'a Machine,
}

/// The claims of a study as it is written out.
#[derive(Serialize)]
struct Claims<'a> {
    claim: &'a [Claim],
}

impl ResolvedStudy {
    /// Everything that the run follows from.
    pub fn configuration(&self) -> Configuration<'_> {
        Configuration { study: &self.study, machine: &self.machine }
    }

    /// The same as one TOML file, complete: running it from anywhere repeats the run. File names are
    /// absolute.
    pub fn to_toml(&self) -> String {
        // The machine below has its size already, which a change of it may have made another than asked for.
        let mut study = Study { nodes: None, ..self.study.clone() };
        let absolute = |file: &mut String| {
            if goal::is_built_in(file) {
                return;
            }
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

    /// The claims as TOML, to be written after all else of the study; empty where there are none. They are no
    /// part of what a run follows from.
    pub fn claims_to_toml(&self) -> String {
        match &self.claims[..] {
            [] => String::new(),
            claim => {
                let text = toml::to_string(&Claims { claim }).expect("claims can be written as TOML");
                format!("\n{text}")
            }
        }
    }

    /// Its search for saturation as text that can stand behind the sweep's parameters; empty without one.
    pub fn saturation_to_toml(&self) -> String {
        self.saturation.as_ref().map_or(String::new(), |search| table("saturation", search))
    }

    /// What its figures are drawn over, likewise; empty where that is left to the sweep.
    pub fn plot_to_toml(&self) -> String {
        if self.plot == PlotConfig::default() { String::new() } else { table("plot", &self.plot) }
    }
}

/// A table in `[sweep]`.
fn table(name: &str, values: &impl Serialize) -> String {
    format!("\n[sweep.{name}]\n{}", toml::to_string(values).expect("keys and values are plain"))
}
