//! `netloom._native`: the native part of the Python package. It takes and returns plain values (text, bytes,
//! JSON); everything that a user sees is in `python/netloom`.

mod errors;
mod machines;
mod request;
mod runs;
mod validation;
mod watch;

use pyo3::prelude::*;

/// Places large machines on huge pages.
#[global_allocator]
static MEMORY: netloom_engine::HugePages = netloom_engine::HugePages;

/// The functions that Python calls.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::machines::{machine_facts, machine_source, machines};
    #[pymodule_export]
    use super::runs::{check, run, studies, sweep};
    #[pymodule_export]
    use super::validation::validate;
}
