//! The module `mpi_f08`.

use crate::constants::Constant;
use crate::interfaces::{ATTRIBUTE_KINDS, EXTRA_INTERFACES, Style, has_twin, interface, sizeof_interface};
use crate::roles::{Role, is_deprecated, parameters, role};
use crate::table::Function;
use crate::text::statement;
use std::fmt::Write as _;

/// Whether a function has buffers, so that C gets their descriptors.
pub fn has_choice(function: &Function) -> bool {
    parameters(function).any(|of| matches!(role(function, of, false), Role::Choice { .. }))
}

/// Whether there is a string beside the buffers, whose length is an argument of its own.
fn has_text(function: &Function) -> bool {
    has_choice(function) && parameters(function).any(|of| matches!(role(function, of, false), Role::Text(_)))
}

/// The functions that have a name of their own for long counts, as their arguments are the same otherwise.
pub fn has_own_name(function: &Function) -> bool {
    matches!(&*function.name, "Op_create" | "Register_datarep")
}

/// The specific name, without the prefix.
pub fn specific(function: &Function, is_long: bool) -> String {
    let long = if is_long { "_c" } else { "" };
    let suffix = if has_choice(function) { "f08ts" } else { "f08" };
    format!("{}{long}_{suffix}", function.name)
}

/// One of a generic interface's procedures; those that have to be written are added to `contained`.
fn procedure(function: &Function, is_long: bool, profiled: &str, contained: &mut String) -> String {
    let of = interface(Style::Types, function, is_long);
    let specific = specific(function, is_long);
    let name = format!("{profiled}MPI_{specific}");
    let symbol = format!("{}mpi_{}_", profiled.to_lowercase(), specific.to_lowercase());
    if has_text(function) {
        let text = "datarep";
        let mut passed = interface(Style::Types, function, is_long);
        passed.arguments.push("length".into());
        passed.declarations.push("integer(c_size_t), value :: length".into());
        for declaration in &mut passed.declarations {
            if declaration.ends_with(":: datarep") {
                *declaration = "character(kind=c_char), intent(in) :: datarep(*)".into();
            }
        }
        let inner = format!("{profiled}pass_{}", specific.to_lowercase());
        let arguments = of.arguments.join(", ");
        contained.push_str(&format!("\n{}", statement(2, &format!("subroutine {name}({arguments})"))));
        for declaration in &of.declarations {
            contained.push_str(&statement(4, declaration));
        }
        contained.push_str("    interface\n");
        contained.push_str(&passed.write(&inner, &format!(" bind(C, name=\"{symbol}\")"), 6));
        contained.push_str("    end interface\n");
        let call = format!("call {inner}({arguments}, len({text}, kind=c_size_t))");
        contained.push_str(&statement(4, &call));
        let _ = writeln!(contained, "  end subroutine {name}");
        return format!("    module procedure {name}\n");
    }
    let bound = if has_choice(function) { format!(" bind(C, name=\"{symbol}\")") } else { String::new() };
    of.write(&name, &bound, 4)
}

/// The interfaces of functions of the program.
fn callbacks() -> String {
    let mut text = String::from("\n  abstract interface\n");
    let mut add = |name: &str, arguments: &str, declarations: &[&str]| {
        text.push_str(&statement(4, &format!("subroutine {name}({arguments})")));
        text.push_str("      import\n");
        for declaration in declarations {
            text.push_str(&statement(6, declaration));
        }
        let _ = writeln!(text, "    end subroutine {name}");
    };
    let value = "integer(kind=MPI_ADDRESS_KIND)";
    for (suffix, count) in [("", "integer"), ("_c", "integer(kind=MPI_COUNT_KIND)")] {
        add(
            &format!("MPI_User_function{suffix}"),
            "invec, inoutvec, len, datatype",
            &[
                "type(c_ptr), value :: invec, inoutvec",
                &format!("{count} :: len"),
                "type(MPI_Datatype) :: datatype",
            ],
        );
        add(
            &format!("MPI_Datarep_conversion_function{suffix}"),
            "userbuf, datatype, count, filebuf, position, extra_state, ierror",
            &[
                "type(c_ptr), value :: userbuf, filebuf",
                "type(MPI_Datatype) :: datatype",
                &format!("{count} :: count"),
                "integer :: ierror",
                "integer(kind=MPI_OFFSET_KIND) :: position",
                &format!("{value} :: extra_state"),
            ],
        );
    }
    add(
        "MPI_Datarep_extent_function",
        "datatype, extent, extra_state, ierror",
        &["type(MPI_Datatype) :: datatype", &format!("{value} :: extent, extra_state"), "integer :: ierror"],
    );
    for (kind, of) in [("Comm", "MPI_Comm"), ("Type", "MPI_Datatype"), ("Win", "MPI_Win")] {
        let lower = kind.to_lowercase();
        let (old, keyval) = (
            if kind == "Type" { "oldtype".into() } else { format!("old{lower}") },
            format!("{lower}_keyval"),
        );
        add(
            &format!("MPI_{kind}_copy_attr_function"),
            &format!("{old}, {keyval}, extra_state, attribute_val_in, attribute_val_out, flag, ierror"),
            &[
                &format!("type({of}) :: {old}"),
                &format!("integer :: {keyval}, ierror"),
                &format!("{value} :: extra_state, attribute_val_in, attribute_val_out"),
                "logical :: flag",
            ],
        );
        let named = if kind == "Type" { "datatype" } else { &lower };
        add(
            &format!("MPI_{kind}_delete_attr_function"),
            &format!("{named}, {keyval}, attribute_val, extra_state, ierror"),
            &[
                &format!("type({of}) :: {named}"),
                &format!("integer :: {keyval}, ierror"),
                &format!("{value} :: attribute_val, extra_state"),
            ],
        );
    }
    for kind in ["Comm", "Win", "File", "Session"] {
        let lower = kind.to_lowercase();
        add(
            &format!("MPI_{kind}_errhandler_function"),
            &format!("{lower}, error_code"),
            &[&format!("type(MPI_{kind}) :: {lower}"), "integer :: error_code"],
        );
    }
    let state = format!("{value} :: extra_state");
    add(
        "MPI_Grequest_query_function",
        "extra_state, status, ierror",
        &["type(MPI_Status) :: status", &state, "integer :: ierror"],
    );
    add("MPI_Grequest_free_function", "extra_state, ierror", &[&state, "integer :: ierror"]);
    add(
        "MPI_Grequest_cancel_function",
        "extra_state, complete, ierror",
        &[&state, "logical :: complete", "integer :: ierror"],
    );
    text.push_str("  end interface\n");
    text
}

/// The module.
pub fn module(functions: &[Function], constants: &[Constant]) -> String {
    let mut text = String::from(
        "module mpi_f08\n  use, intrinsic :: iso_c_binding, only: c_char, c_ptr, c_size_t\n  use mpi_constants\n  \
         use mpi_types\n  implicit none\n  public\n  private :: c_char, c_ptr, c_size_t\n\n  \
         logical, parameter :: MPI_SUBARRAYS_SUPPORTED = .true.\n  \
         logical, parameter :: MPI_ASYNC_PROTECTS_NONBLOCKING = .true.\n",
    );
    for constant in constants {
        if let Some(handle) = &constant.handle {
            let (name, value) = (&constant.name, constant.value);
            let _ = writeln!(text, "  type({handle}), parameter :: {name} = {handle}({value})");
        }
    }
    for (name, shape) in [("MPI_STATUS_IGNORE", ""), ("MPI_STATUSES_IGNORE", "(1)")] {
        // Compilers reject one symbol of two types, where a file uses two modules.
        let symbol = crate::constants::common_block(name);
        let _ = writeln!(text, "  type(MPI_Status), bind(C, name=\"{symbol}_f08_\") :: {name}{shape}");
    }
    text.push_str(&callbacks());
    text.push_str("\n  ! Functions of the library that copy attributes or delete them.\n");
    for (upper, kind) in ATTRIBUTE_KINDS.iter().zip(["Comm", "Type", "Win"]) {
        let _ = writeln!(
            text,
            "  procedure(MPI_{kind}_copy_attr_function) :: MPI_{upper}_NULL_COPY_FN, MPI_{upper}_DUP_FN"
        );
        let _ = writeln!(text, "  procedure(MPI_{kind}_delete_attr_function) :: MPI_{upper}_NULL_DELETE_FN");
    }
    for suffix in ["", "_c"] {
        let _ = writeln!(
            text,
            "  procedure(MPI_Datarep_conversion_function{suffix}) :: MPI_CONVERSION_FN_NULL{suffix}"
        );
    }
    let mut contained = String::new();
    for profiled in ["", "P"] {
        for function in functions.iter().filter(|of| !is_deprecated(of)) {
            let name = format!("{profiled}MPI_{}", function.name);
            let name = name.trim_end_matches("_c").to_string();
            let _ = writeln!(text, "\n  interface {name}");
            text.push_str(&procedure(function, false, profiled, &mut contained));
            if has_own_name(function) {
                let _ = write!(text, "  end interface {name}\n\n  interface {name}_c\n");
                text.push_str(&procedure(function, true, profiled, &mut contained));
                let _ = writeln!(text, "  end interface {name}_c");
                continue;
            }
            if has_twin(function) {
                text.push_str(&procedure(function, true, profiled, &mut contained));
            }
            let _ = writeln!(text, "  end interface {name}");
        }
        text.push_str("\n  interface\n");
        for extra in EXTRA_INTERFACES {
            text.push_str(&extra.replacen("MPI_Status_f", &format!("{profiled}MPI_Status_f"), 1));
        }
        let symbol = format!("{}mpi_", profiled.to_lowercase());
        text.push_str(&sizeof_interface(&format!("{profiled}MPI_Sizeof"), &format!("{symbol}sizeof_"), 4));
        let _ = write!(
            text,
            "    subroutine {profiled}MPI_F_sync_reg(buf) bind(C, name=\"{symbol}f_sync_reg_f08ts_\")\n      \
             type(*), dimension(..), asynchronous :: buf\n    end subroutine\n"
        );
        text.push_str("  end interface\n");
    }
    if !contained.is_empty() {
        text.push_str("\ncontains\n");
        text.push_str(&contained);
    }
    text.push_str("end module mpi_f08\n");
    text
}
