//! Arguments from Python: a study, and how to run it.

use crate::watch::Listener;
use netloom_report::folder::IfExists;
use netloom_study::diagnose::{Problem, SourceFile};
use netloom_study::memory;
use netloom_study::resolve::{ResolvedStudy, load, resolve};
use netloom_study::run::threads_here;
use pyo3::prelude::*;
use std::path::{Path, PathBuf};

/// Where a study comes from, and what is changed of it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Source {
    /// A path or the name of an example; empty where there is a text.
    pub name: String,
    /// Its TOML text.
    pub text: Option<String>,
    /// Changes, as the command's `--set` takes them.
    pub sets: Vec<String>,
}

impl Source {
    /// The study, read and checked.
    pub fn study(&self) -> Result<ResolvedStudy, Problem> {
        match &self.text {
            None => load(&self.name, &self.sets),
            Some(text) => resolve(SourceFile::new(&*self.name, &**text), Path::new("."), &self.sets),
        }
    }
}

/// How a study is run.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Options {
    /// The folder of the result; nothing is written where there is none.
    pub out: Option<PathBuf>,
    /// Files that the study names, written once the folder is there: paths and contents.
    pub files: Vec<(PathBuf, Vec<u8>)>,
    /// Threads; those of this computer if omitted.
    pub threads: Option<usize>,
    /// Whether the result that is in the folder is replaced.
    pub force: bool,
    /// Whether to run what is estimated to need more memory than is available.
    pub force_memory: bool,
    /// Receives the progress.
    pub progress: Option<Py<PyAny>>,
}

impl Options {
    /// Threads to use.
    pub fn threads(&self) -> usize {
        self.threads.unwrap_or_else(threads_here)
    }

    /// Memory that is available, bytes, where it counts.
    pub fn memory(&self) -> Option<u64> {
        memory::available().filter(|_| !self.force_memory)
    }

    /// What to do with a folder that holds something.
    pub fn if_exists(&self) -> IfExists {
        if self.force { IfExists::Replace } else { IfExists::Refuse }
    }

    /// Receives the progress of a study.
    pub fn listener(&self, py: Python, study: &ResolvedStudy) -> Listener {
        let callable = self.progress.as_ref().map(|p| p.clone_ref(py));
        Listener { callable, us_per_tick: study.micros(1) }
    }

    /// Writes the files that the study names.
    pub fn write_files(&self) -> Result<(), Problem> {
        self.files.iter().try_for_each(|(path, bytes)| {
            std::fs::write(path, bytes)
                .map_err(|e| Problem::new(format!("cannot write {}: {e}", path.display())))
        })
    }

    /// Removes what was written for a run that was refused. If the folder holds something else, it stays.
    pub fn discard(&self, folder: Option<&Path>) {
        let Some(folder) = folder else { return };
        for (path, _) in &self.files {
            let _ = std::fs::remove_file(path);
        }
        let _ = std::fs::remove_dir(folder);
    }
}
