//! What a parameter of a function in C is in Fortran.

use crate::table::{Function, Parameter};

/// A handle.
#[derive(Debug, PartialEq, Eq)]
pub struct Handle {
    /// The kind in the table.
    pub kind: &'static str,
    /// Its type in C, and its derived type in Fortran.
    pub name: &'static str,
    /// The first part of its conversion functions, such as `Comm` of `MPI_Comm_fromint`.
    pub conversion: &'static str,
}

const fn handle(kind: &'static str, name: &'static str, conversion: &'static str) -> Handle {
    Handle { kind, name, conversion }
}

/// All handles.
pub const HANDLES: [Handle; 12] = [
    handle("comm", "MPI_Comm", "Comm"),
    handle("type", "MPI_Datatype", "Type"),
    handle("newtype", "MPI_Datatype", "Type"),
    handle("request", "MPI_Request", "Request"),
    handle("info", "MPI_Info", "Info"),
    handle("file", "MPI_File", "File"),
    handle("op", "MPI_Op", "Op"),
    handle("win", "MPI_Win", "Win"),
    handle("group", "MPI_Group", "Group"),
    handle("session", "MPI_Session", "Session"),
    handle("errhandler", "MPI_Errhandler", "Errhandler"),
    handle("message", "MPI_Message", "Message"),
];

/// The type of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    Int,
    Address,
    Count,
    Offset,
}

impl Number {
    /// Its type in C.
    pub fn in_c(self) -> &'static str {
        match self {
            Number::Int => "int",
            Number::Address => "MPI_Aint",
            Number::Count => "MPI_Count",
            Number::Offset => "MPI_Offset",
        }
    }

    /// Its type in Fortran.
    pub fn in_fortran(self) -> &'static str {
        match self {
            Number::Int => "integer",
            Number::Address => "integer(kind=MPI_ADDRESS_KIND)",
            Number::Count => "integer(kind=MPI_COUNT_KIND)",
            Number::Offset => "integer(kind=MPI_OFFSET_KIND)",
        }
    }

    /// The same kind of integer has one name here: no two interfaces of a generic name may differ in it.
    pub fn bytes(self) -> usize {
        if self == Number::Int { 4 } else { 8 }
    }
}

/// How a parameter is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    In,
    Out,
    InOut,
    /// An array that is read.
    Array,
    OutArray,
    InOutArray,
}

impl Passed {
    pub fn is_array(self) -> bool {
        matches!(self, Passed::Array | Passed::OutArray | Passed::InOutArray)
    }

    pub fn is_read(self) -> bool {
        !matches!(self, Passed::Out | Passed::OutArray)
    }

    pub fn is_written(self) -> bool {
        !matches!(self, Passed::In | Passed::Array)
    }
}

/// What a parameter is in Fortran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    Number(Number, Passed),
    /// Weights of edges, for which there are constants at addresses.
    Weights(Passed),
    /// The errors of processes that are started.
    ErrorCodes,
    /// Three numbers for each range.
    Ranges,
    Logical(Passed),
    /// A position in an array, or several, from 1 on.
    Index(Passed),
    Handle(&'static Handle, Passed),
    Status(Passed),
    Text(Passed),
    /// Words of a command line, or commands.
    Words,
    /// Words of several command lines.
    WordsOfEach,
    /// A buffer of any type.
    Choice {
        is_read_only: bool,
    },
    /// Where memory begins, which is returned.
    BasePointer,
    /// The same, which only `mpi_f08` returns.
    BufferAddress,
    /// A value that attributes and callbacks hand on.
    Value(Passed),
    /// A function of the program, with the name of its interface.
    Procedure(String),
}

/// Functions that Fortran has too.
pub fn is_fortran(function: &Function) -> bool {
    let is_tool = function.chapter.starts_with("15 ");
    let is_conversion = function.name.ends_with("_toint") || function.name.ends_with("_fromint");
    // What registers facts of a compiler is called in C, by this library.
    let is_registration =
        function.name.starts_with("Abi_set_") || function.name == "Abi_get_fortran_booleans";
    !is_tool && !is_conversion && !is_registration
}

/// Functions that `mpi_f08` does not have.
pub fn is_deprecated(function: &Function) -> bool {
    ["Attr_delete", "Attr_get", "Attr_put", "Keyval_create", "Keyval_free"].contains(&&*function.name)
}

/// Functions whose calls are passed on by `glue/special.c`.
pub fn is_special(function: &Function) -> bool {
    let name = function.name.trim_end_matches("_c");
    ["_create_keyval", "_create_errhandler", "_get_attr", "_set_attr"].iter().any(|end| name.ends_with(end))
        || [
            "Aint_add",
            "Aint_diff",
            "Attr_get",
            "Attr_put",
            "Comm_spawn",
            "Comm_spawn_multiple",
            "Grequest_start",
            "Info_create_env",
            "Info_get",
            "Info_get_string",
            "Init",
            "Init_thread",
            "Keyval_create",
            "Op_create",
            "Pcontrol",
            "Register_datarep",
            "Session_get_nth_pset",
            "Session_init",
            "Wtick",
            "Wtime",
        ]
        .contains(&name)
}

/// The parameters that Fortran has.
pub fn parameters(function: &Function) -> impl Iterator<Item = &Parameter> {
    let has_command_line = !function.name.starts_with("Comm_spawn");
    function
        .parameters
        .iter()
        .filter(move |of| of.kind != "..." && !(has_command_line && matches!(&*of.name, "argc" | "argv")))
}

/// Whether handles that a function takes by address are read.
fn is_updated(function: &Function) -> bool {
    let name = &*function.name;
    ["free", "_commit", "_disconnect", "_finalize", "_close"].iter().any(|end| name.ends_with(end))
        || ["Wait", "Test", "Start", "Cancel", "Mrecv", "Imrecv"].contains(&name)
}

const LOGICAL: [&str; 7] = ["flag", "commute", "periods", "reorder", "remain_dims", "high", "weighted"];
/// Numbers that a function takes by address, and reads.
const UPDATED: [&str; 4] = ["position", "dims", "buflen", "pset_len"];

/// What a parameter is.
pub fn role(function: &Function, parameter: &Parameter, is_long: bool) -> Role {
    let Parameter { kind, name } = parameter;
    let bare = kind.trim_matches(|c| "*[]".contains(c));
    let mut passed = match kind.split(bare).next().unwrap_or_default() {
        "*[" => Passed::OutArray,
        "*" => Passed::Out,
        "[" => Passed::Array,
        _ => Passed::In,
    };
    let attribute = &*function.name;
    match &**kind {
        "data" if name == "buffer_addr" => return Role::BufferAddress,
        "data" => return Role::Choice { is_read_only: true },
        "space" => {
            return match &**name {
                "extra_state" => Role::Value(Passed::In),
                "attribute_val" if attribute.ends_with("et_attr") || attribute == "Attr_get" => {
                    let is_get = attribute.contains("get");
                    Role::Value(if is_get { Passed::Out } else { Passed::In })
                }
                "attribute_val" => Role::Value(Passed::In),
                "baseptr" => Role::BasePointer,
                "buffer_addr" => Role::BufferAddress,
                _ => Role::Choice { is_read_only: false },
            };
        }
        "int[][3]" => return Role::Ranges,
        "[argv]" => return Role::WordsOfEach,
        "argv" => return Role::Words,
        "reduction" => {
            return Role::Procedure(format!("MPI_User_function{}", if is_long { "_c" } else { "" }));
        }
        "conversion" => {
            let suffix = if is_long { "_c" } else { "" };
            return Role::Procedure(format!("MPI_Datarep_conversion_function{suffix}"));
        }
        _ if bare.ends_with("function") => return Role::Procedure(format!("MPI_{bare}")),
        _ => {}
    }
    if matches!(bare, "text") {
        return Role::Text(if kind.starts_with('*') { Passed::Out } else { Passed::In });
    }
    if bare == "status" {
        let passed = match (kind.starts_with('*'), &**name) {
            (true, "array_of_statuses") => Passed::OutArray,
            (true, _) if function.name.starts_with("Status_set") => Passed::InOut,
            (true, _) => Passed::Out,
            _ => Passed::In,
        };
        return Role::Status(passed);
    }
    if let Some(of) = HANDLES.iter().find(|of| of.kind == bare) {
        if passed == Passed::Out && is_updated(function) {
            passed = Passed::InOut;
        }
        // Those of Type_get_contents alone are not read.
        if passed == Passed::OutArray && bare == "request" {
            passed = Passed::InOutArray;
        }
        return Role::Handle(of, passed);
    }
    if name.ends_with("weights") {
        return Role::Weights(passed);
    }
    if name == "array_of_errcodes" {
        return Role::ErrorCodes;
    }
    if LOGICAL.contains(&&**name) {
        return Role::Logical(passed);
    }
    let is_index = name == "array_of_indices" || (name == "indx" && passed == Passed::Out);
    if is_index {
        return Role::Index(passed);
    }
    if UPDATED.contains(&&**name) && passed == Passed::Out {
        passed = Passed::InOut;
    }
    if name == "dims" && passed == Passed::OutArray && function.name == "Dims_create" {
        passed = Passed::InOutArray;
    }
    if bare == "int" && name.ends_with("keyval") && is_updated(function) {
        passed = Passed::InOut;
    }
    Role::Number(number(bare, is_long), passed)
}

fn number(bare: &str, is_long: bool) -> Number {
    match (bare, is_long) {
        ("count" | "step", true) | ("extent", true) | ("long", _) => Number::Count,
        ("displ" | "unit", true) | ("extent", false) | ("aint", _) => Number::Address,
        ("offset", _) => Number::Offset,
        ("count" | "step" | "displ" | "unit", false) => Number::Int,
        ("int" | "dest" | "source" | "root" | "target" | "tag", _) => Number::Int,
        (other, _) => panic!("the kind {other} has no role"),
    }
}

/// Whether a function and its twin have the same parameters to Fortran, so that a generic name can have only one of them.
pub fn is_ambiguous(function: &Function) -> bool {
    parameters(function).all(|of| {
        let size = |is_long| match role(function, of, is_long) {
            Role::Number(number, _) => number.bytes(),
            Role::Procedure(_) => 0,
            _ => 1,
        };
        size(false) == size(true)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role_of(function: &str, name: &str, is_long: bool) -> Role {
        let functions = crate::functions();
        let function = functions.iter().find(|of| of.name == function).expect("a function");
        let parameter = function.parameters.iter().find(|of| of.name == name).expect("a parameter");
        role(function, parameter, is_long)
    }

    #[test]
    fn parameters_have_the_types_of_the_standard() {
        assert_eq!(role_of("Send", "count", true), Role::Number(Number::Count, Passed::In));
        assert_eq!(role_of("Gatherv", "displs", true), Role::Number(Number::Address, Passed::Array));
        assert_eq!(role_of("Waitany", "indx", false), Role::Index(Passed::Out));
        assert_eq!(role_of("Graph_get", "indx", false), Role::Number(Number::Int, Passed::OutArray));
        assert_eq!(role_of("Graph_create", "indx", false), Role::Number(Number::Int, Passed::Array));
        assert_eq!(role_of("Cart_create", "periods", false), Role::Logical(Passed::Array));
        assert!(matches!(role_of("Comm_free", "comm", false), Role::Handle(_, Passed::InOut)));
        assert!(matches!(role_of("Comm_dup", "newcomm", false), Role::Handle(_, Passed::Out)));
        assert!(matches!(
            role_of("Waitall", "array_of_requests", false),
            Role::Handle(_, Passed::InOutArray)
        ));
        assert_eq!(role_of("Comm_get_attr", "attribute_val", false), Role::Value(Passed::Out));
        assert_eq!(role_of("Win_set_attr", "attribute_val", false), Role::Value(Passed::In));
    }

    #[test]
    fn twins_are_ambiguous_whose_counts_have_the_size_of_addresses() {
        let of = |name: &str| {
            is_ambiguous(crate::functions().iter().find(|of| of.name == name).expect("a function"))
        };
        assert!(of("Type_get_extent") && of("Type_create_resized") && of("Op_create"));
        assert!(!of("Send") && !of("Win_create") && !of("Type_size"));
    }
}
