//! Machines, as the table of a study that is otherwise right: no text panics the reader, and what can be said
//! of an accepted machine without a run can be said.
#![no_main]

use libfuzzer_sys::fuzz_target;
use netloom_study::diagnose::SourceFile;
use netloom_study::resolve::resolve;
use std::path::Path;

fuzz_target!(|text: &str| {
    let tables = text.replace("\n[", "\n[machine.");
    let text = format!("name = \"fuzz\"\nworkload.kind = \"uniform\"\n[machine]\n{tables}");
    match resolve(SourceFile::new("study.toml", text), Path::new("no such folder"), &[]) {
        Err(problem) => assert!(!problem.render(false).is_empty()),
        Ok(study) => drop(study.machine.facts()),
    }
});
