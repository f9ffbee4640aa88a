//! A study written out, so that its run can be repeated.

use super::ResolvedStudy;
use crate::machine::Machine;
use crate::study::Study;
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

impl ResolvedStudy {
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
}
