//! `mpif.h`: constants, and the types of functions, in lines that are valid in fixed and in free form.

use crate::constants::{ADDRESSES, Constant, common_block};
use crate::table::Function;
use std::fmt::Write as _;

/// The file.
pub fn header(functions: &[Function], constants: &[Constant]) -> String {
    let mut text =
        String::from("! Constants of MPI 5.0, for programs that use no module. Deprecated since MPI 4.1.\n");
    let mut line = |words: &str| {
        debug_assert!(words.len() <= 66, "{words} is too long for fixed form");
        let _ = writeln!(text, "      {words}");
    };
    let mut parameter = |kind: &str, name: &str, value: &str| {
        line(&format!("{kind} {name}"));
        line(&format!("parameter ({name}={value})"));
    };
    for kind in ["ADDRESS", "COUNT", "OFFSET"] {
        parameter("integer", &format!("MPI_{kind}_KIND"), "8");
    }
    parameter("integer", "MPI_INTEGER_KIND", "4");
    for (name, value) in [("MPI_STATUS_SIZE", "8"), ("MPI_SOURCE", "1"), ("MPI_TAG", "2"), ("MPI_ERROR", "3")]
    {
        parameter("integer", name, value);
    }
    for name in ["MPI_SUBARRAYS_SUPPORTED", "MPI_ASYNC_PROTECTS_NONBLOCKING"] {
        parameter("logical", name, ".false.");
    }
    parameter("integer(kind=MPI_OFFSET_KIND)", "MPI_DISPLACEMENT_CURRENT", "-1");
    for constant in constants {
        parameter("integer", &constant.name, &constant.value.to_string());
    }
    let statuses = [
        ("MPI_STATUS_IGNORE", "integer", "(MPI_STATUS_SIZE)"),
        ("MPI_STATUSES_IGNORE", "integer", "(MPI_STATUS_SIZE,1)"),
    ];
    for (name, kind, shape) in ADDRESSES.iter().chain(&statuses) {
        let kind = if kind.starts_with("character") { "character*1" } else { kind };
        line(&format!("{kind} {name}{shape}"));
        line(&format!("common /{}/ {name}", common_block(name)));
    }
    for profiled in ["", "P"] {
        for function in functions.iter().filter(|of| of.result.is_some()) {
            let kind = match function.result.as_deref() {
                Some("double") => "double precision",
                _ => "integer(kind=MPI_ADDRESS_KIND)",
            };
            let name = format!("{profiled}MPI_{}", function.name.to_uppercase());
            line(&format!("{kind} {name}"));
            line(&format!("external {name}"));
        }
    }
    for kind in ["COMM_", "TYPE_", "WIN_", ""] {
        for name in ["NULL_COPY_FN", "DUP_FN", "NULL_DELETE_FN"] {
            line(&format!("external MPI_{kind}{name}"));
        }
    }
    line("external MPI_CONVERSION_FN_NULL");
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn lines_are_valid_in_both_forms() {
        let functions = crate::functions();
        let constants = crate::constants::read(include_str!("../../capi/mpi/head.h"));
        let text = super::header(&functions, &constants);
        let is_valid = |line: &str| line.starts_with('!') || (line.starts_with("      ") && line.len() <= 72);
        assert_eq!(text.lines().find(|line| !is_valid(line)), None);
        for words in
            ["parameter (MPI_COMM_WORLD=257)", "external PMPI_WTIME", "common /mpifort_bottom/ MPI_BOTTOM"]
        {
            assert!(text.contains(words), "{words}");
        }
    }
}
