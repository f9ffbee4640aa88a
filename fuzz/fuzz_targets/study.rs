//! Studies: no text panics the reader, what it refuses it can show, and what it accepts comes back the same
//! from the file that repeats the run.
#![no_main]

use libfuzzer_sys::fuzz_target;
use netloom_study::diagnose::SourceFile;
use netloom_study::resolve::resolve;
use std::path::Path;

fuzz_target!(|text: &str| {
    let read = |text: &str| resolve(SourceFile::new("study.toml", text), Path::new("no such folder"), &[]);
    match read(text) {
        Err(problem) => assert!(!problem.render(false).is_empty()),
        Ok(study) => {
            let written = study.to_toml();
            assert_eq!(read(&written).unwrap().to_toml(), written);
        }
    }
});
