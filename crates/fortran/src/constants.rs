//! Constants: those of the header in C, with the values of the standard ABI, and those of Fortran alone.

use crate::text::statement;
use std::fmt::Write as _;

/// A constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    pub name: String,
    /// The type of a handle, `MPI_Comm` for example; none for an integer.
    pub handle: Option<String>,
    pub value: i64,
}

/// Strings in Fortran have no final NUL.
const WITHOUT_NUL: &str = "MPI_MAX_";
/// What Fortran does not have.
const OF_C: [&str; 2] = ["MPI_F_", "MPI_T_"];

fn number(text: &str) -> Option<i64> {
    let text = text.trim().trim_end_matches(',');
    match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Reads the constants of the header.
pub fn read(header: &str) -> Vec<Constant> {
    let mut list: Vec<Constant> = vec![];
    for line in header.lines() {
        let (name, of) = if let Some(rest) = line.strip_prefix("#define MPI_") {
            let Some((name, of)) = rest.split_once(' ') else { continue };
            (name, of.trim())
        } else if let Some((name, of)) =
            line.trim().strip_prefix("MPI_").and_then(|rest| rest.split_once('='))
        {
            (name.trim(), of.trim())
        } else {
            continue;
        };
        let name = format!("MPI_{name}");
        if OF_C.iter().any(|of_c| name.starts_with(of_c)) && !name.starts_with("MPI_T_ERR_") {
            continue;
        }
        let constant = if let Some(value) = number(of) {
            let value = value - i64::from(name.starts_with(WITHOUT_NUL));
            Some(Constant { name, handle: None, value })
        } else if let Some(same) = list.iter().find(|known| known.name == of) {
            Some(Constant { name, ..same.clone() })
        } else {
            // `((MPI_Comm) 0x101)`; of pointers, those of functions, and of offsets there are others below.
            of.strip_prefix("((MPI_").and_then(|of| of.strip_suffix(')')).and_then(|of| {
                let (handle, value) = of.split_once(") ")?;
                let is_handle = handle.chars().all(char::is_alphanumeric) && handle != "Offset";
                is_handle.then_some(Constant {
                    name,
                    handle: Some(format!("MPI_{handle}")),
                    value: number(value)?,
                })
            })
        };
        list.extend(constant);
    }
    list
}

/// Variables whose addresses have a meaning: names, types and shapes.
pub const ADDRESSES: [(&str, &str, &str); 8] = [
    ("MPI_BOTTOM", "integer", ""),
    ("MPI_IN_PLACE", "integer", ""),
    ("MPI_BUFFER_AUTOMATIC", "integer", ""),
    ("MPI_UNWEIGHTED", "integer", "(1)"),
    ("MPI_WEIGHTS_EMPTY", "integer", "(1)"),
    ("MPI_ERRCODES_IGNORE", "integer", "(1)"),
    ("MPI_ARGV_NULL", "character(len=1)", "(1)"),
    ("MPI_ARGVS_NULL", "character(len=1)", "(1, 1)"),
];

/// The name of the common block of an address; the symbol has an underscore after it.
pub fn common_block(name: &str) -> String {
    name.to_lowercase().replacen("mpi_", "mpifort_", 1)
}

/// Constants that are no handles, for all modules.
pub fn module(constants: &[Constant]) -> String {
    let mut text = String::from(
        "module mpi_constants\n  use, intrinsic :: iso_c_binding, only: c_char\n  implicit none\n  public\n\n  \
         integer, parameter :: MPI_ADDRESS_KIND = 8\n  integer, parameter :: MPI_COUNT_KIND = 8\n  \
         integer, parameter :: MPI_OFFSET_KIND = 8\n  integer, parameter :: MPI_INTEGER_KIND = kind(0)\n  \
         integer, parameter :: MPI_STATUS_SIZE = 8\n  integer, parameter :: MPI_SOURCE = 1\n  \
         integer, parameter :: MPI_TAG = 2\n  integer, parameter :: MPI_ERROR = 3\n  \
         integer(kind=MPI_OFFSET_KIND), parameter :: MPI_DISPLACEMENT_CURRENT = -1\n",
    );
    for constant in constants.iter().filter(|of| of.handle.is_none()) {
        let _ = writeln!(text, "  integer, parameter :: {} = {}", constant.name, constant.value);
    }
    text.push_str("\n  ! Addresses with a meaning.\n");
    for (name, kind, shape) in ADDRESSES {
        let kind = if kind.starts_with("character") { "character(kind=c_char)" } else { kind };
        let bound = format!("{kind}, bind(C, name=\"{}_\") :: {name}{shape}", common_block(name));
        text.push_str(&statement(2, &bound));
    }
    text.push_str("end module mpi_constants\n");
    text
}

/// The derived types, with their comparisons.
pub fn types_module() -> String {
    let names: Vec<&str> = {
        let mut seen: Vec<&str> = vec![];
        for handle in &crate::roles::HANDLES {
            if !seen.contains(&handle.name) {
                seen.push(handle.name);
            }
        }
        seen
    };
    let mut text = String::from("module mpi_types\n  implicit none\n  private\n\n");
    text.push_str(
        "  type, bind(C), public :: MPI_Status\n    integer :: MPI_SOURCE\n    integer :: MPI_TAG\n    \
         integer :: MPI_ERROR\n    integer, private :: of_the_library(5)\n  end type MPI_Status\n",
    );
    for name in &names {
        let _ =
            write!(text, "\n  type, bind(C), public :: {name}\n    integer :: MPI_VAL\n  end type {name}\n");
    }
    text.push_str("\n  public :: operator(==), operator(/=)\n");
    for (operator, suffix) in [("==", "is"), ("/=", "is_not")] {
        let _ = writeln!(text, "\n  interface operator({operator})");
        for name in &names {
            let _ = writeln!(text, "    module procedure {}_{suffix}", &name[4..]);
        }
        text.push_str("  end interface\n");
    }
    text.push_str("\ncontains\n");
    for (operator, suffix) in [("==", "is"), ("/=", "is_not")] {
        for name in &names {
            let function = format!("{}_{suffix}", &name[4..]);
            let _ = write!(
                text,
                "\n  elemental logical function {function}(a, b)\n    type({name}), intent(in) :: a, b\n    \
                 {function} = a%MPI_VAL {operator} b%MPI_VAL\n  end function {function}\n"
            );
        }
    }
    text.push_str("end module mpi_types\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_have_the_values_of_the_header() {
        let list = read(include_str!("../../capi/mpi/head.h"));
        let of =
            |name: &str| list.iter().find(|of| of.name == name).map(|of| (of.handle.as_deref(), of.value));
        assert_eq!(of("MPI_COMM_WORLD"), Some((Some("MPI_Comm"), 0x101)));
        assert_eq!(of("MPI_C_COMPLEX"), of("MPI_C_FLOAT_COMPLEX"));
        assert_eq!(of("MPI_ANY_TAG"), Some((None, -2)));
        assert_eq!(of("MPI_WIN_MODEL"), Some((None, 605)));
        // Without the final NUL.
        assert_eq!(of("MPI_MAX_ERROR_STRING"), Some((None, 511)));
        assert_eq!(of("MPI_BSEND_OVERHEAD"), Some((None, 512)));
        for absent in
            ["MPI_BOTTOM", "MPI_F_SOURCE", "MPI_T_ENUM_NULL", "MPI_DUP_FN", "MPI_DISPLACEMENT_CURRENT"]
        {
            assert_eq!(of(absent), None, "{absent}");
        }
        assert!(list.len() > 280, "{}", list.len());
    }
}
