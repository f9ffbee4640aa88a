//! The Fortran interfaces of MPI 5.0 (chapter 19) as source code: the modules `mpi` and `mpi_f08`, `mpif.h`,
//! and the library that passes their calls on to the functions in C of the standard ABI.
//!
//! All but a few functions are written from the table of functions in C, the rest is in `glue/`. The sources
//! are compiled where a Fortran compiler is, since a module's file is that compiler's alone.

mod constants;
mod f08;
mod glue;
mod interfaces;
mod mpif;
mod roles;
mod sections;
mod text;

#[path = "../../capi/mpi/table.rs"]
#[allow(dead_code)] // What the library in C needs, and its header.
mod table;

/// A file that is compiled or included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub text: String,
}

/// The Fortran sources in the order in which they are compiled: modules first that others use.
pub const MODULES: [&str; 5] = ["facts.f90", "mpi_constants.f90", "mpi_types.f90", "mpi.f90", "mpi_f08.f90"];
/// The C sources.
pub const GLUE: [&str; 4] = ["support.c", "sections.c", "mpi_names.c", "pmpi_names.c"];
/// The file that programs include.
pub const INCLUDED: &str = "mpif.h";

fn functions() -> Vec<table::Function> {
    let all = table::parse(include_str!("../../capi/mpi/functions.txt"));
    all.into_iter().filter(roles::is_fortran).collect()
}

/// All files, with those that others include.
pub fn sources() -> Vec<Source> {
    let functions = functions();
    let constants = constants::read(include_str!("../../capi/mpi/head.h"));
    let file = |name, text: String| Source { name, text };
    let names = |profiled: &str| {
        format!("{profiled}#include \"special.c\"\n#include \"removed.c\"\n#include \"calls.c\"\n")
    };
    vec![
        file("mpi_constants.f90", constants::module(&constants)),
        file("mpi_types.f90", constants::types_module()),
        file("mpi.f90", interfaces::module(&functions, &constants)),
        file("mpi_f08.f90", f08::module(&functions, &constants)),
        file("mpif.h", mpif::header(&functions, &constants)),
        file("support.h", include_str!("../glue/support.h").into()),
        file("support.c", include_str!("../glue/support.c").into()),
        file("sections.c", include_str!("../glue/sections.c").into()),
        file("facts.f90", include_str!("../glue/facts.f90").into()),
        file("special.c", include_str!("../glue/special.c").into()),
        file("removed.c", include_str!("../glue/removed.c").into()),
        file("calls.c", glue::calls(&functions)),
        file("mpi_names.c", names("")),
        file("pmpi_names.c", names("#define PROFILED\n")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_files_that_are_compiled_are_there() {
        let names: Vec<&str> = sources().iter().map(|source| source.name).collect();
        for name in MODULES.iter().chain(&GLUE).chain(&[INCLUDED]) {
            assert!(names.contains(name), "{name}");
        }
        if let Some(folder) = std::env::var_os("NETLOOM_FORTRAN_SOURCES") {
            for source in sources() {
                std::fs::write(std::path::Path::new(&folder).join(source.name), source.text).unwrap();
            }
        }
    }
}
