//! Declarations of parameters, and the module `mpi`.

use crate::constants::Constant;
use crate::roles::{Number, Passed, Role, is_ambiguous, parameters, role};
use crate::table::Function;
use crate::text::statement;
use std::fmt::Write as _;

/// Whose interface it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// The module `mpi`: handles are integers.
    Plain,
    /// The same where pointers to memory are of the type `c_ptr`.
    Pointers,
    /// The module `mpi_f08`: handles have types, and buffers descriptors.
    Types,
}

/// An interface of a function.
#[derive(Debug)]
pub struct Interface {
    /// The names of its arguments.
    pub arguments: Vec<String>,
    /// Their declarations.
    pub declarations: Vec<String>,
    /// The type of its result, if it is a function.
    pub result: Option<&'static str>,
}

impl Interface {
    /// The statements under a name, after which `bound` is written.
    pub fn write(&self, name: &str, bound: &str, indent: usize) -> String {
        let what = if self.result.is_some() { "function" } else { "subroutine" };
        let typed = self.result.map_or(String::new(), |result| format!("{result} "));
        let first = format!("{typed}{what} {name}({}){bound}", self.arguments.join(", "));
        let mut text = statement(indent, &first);
        let _ = writeln!(text, "{}import", " ".repeat(indent + 2));
        for declaration in &self.declarations {
            if declaration.starts_with('!') {
                let _ = writeln!(text, "{}{declaration}", " ".repeat(indent + 2));
            } else {
                text.push_str(&statement(indent + 2, declaration));
            }
        }
        let _ = writeln!(text, "{}end {what} {name}", " ".repeat(indent));
        text
    }
}

/// Whether a call may use its buffers after it has returned.
fn is_asynchronous(function: &Function) -> bool {
    let name = &*function.name;
    let is_file = name.starts_with("File_");
    name.starts_with('I')
        || name.contains("_init")
        || (name.starts_with('R') && name.contains("put"))
        || (name.starts_with('R') && (name.starts_with("Rget") || name.starts_with("Raccumulate")))
        || ["Put", "Get", "Accumulate", "Get_accumulate", "Fetch_and_op", "Compare_and_swap", "Get_address"]
            .contains(&name)
        || ["Win_create", "Win_attach", "Win_detach"].contains(&name)
        || name.ends_with("uffer_attach")
        || name.ends_with("attach_buffer")
        || (is_file && (name.starts_with("File_i") || name.ends_with("_begin") || name.ends_with("_end")))
}

fn intent(style: Style, passed: Passed) -> &'static str {
    match (style, passed) {
        (Style::Plain | Style::Pointers, _) => "",
        (_, Passed::In | Passed::Array) => ", intent(in)",
        (_, Passed::Out | Passed::OutArray) => ", intent(out)",
        (_, Passed::InOut | Passed::InOutArray) => ", intent(inout)",
    }
}

/// The declarations of a parameter.
fn declare(style: Style, function: &Function, name: &str, role: &Role) -> Vec<String> {
    let array = |passed: Passed| if passed.is_array() { "(*)" } else { "" };
    let of_type = |kind: &str, passed: Passed| {
        vec![format!("{kind}{} :: {name}{}", intent(style, passed), array(passed))]
    };
    let bare = |kind: &str, shape: &str| vec![format!("{kind} :: {name}{shape}")];
    let is_typed = style == Style::Types;
    match role {
        Role::Number(number, passed) => of_type(number.in_fortran(), *passed),
        // The constants are variables, and may not be changed.
        Role::Weights(Passed::OutArray) | Role::ErrorCodes => bare("integer", "(*)"),
        Role::Weights(passed) => of_type("integer", *passed),
        Role::Ranges if is_typed => bare("integer, intent(in)", "(3, *)"),
        Role::Ranges => bare("integer", "(3, *)"),
        Role::Logical(passed) => of_type("logical", *passed),
        Role::Index(passed) => of_type("integer", *passed),
        Role::Handle(of, passed) if is_typed => of_type(&format!("type({})", of.name), *passed),
        Role::Handle(_, passed) => of_type("integer", *passed),
        Role::Status(passed) if is_typed => match passed {
            Passed::In => bare("type(MPI_Status), intent(in)", ""),
            Passed::InOut => bare("type(MPI_Status), intent(inout)", ""),
            passed => bare("type(MPI_Status)", array(*passed)),
        },
        Role::Status(passed) if passed.is_array() => bare("integer", "(MPI_STATUS_SIZE, *)"),
        Role::Status(_) => bare("integer", "(MPI_STATUS_SIZE)"),
        Role::Text(passed) => of_type("character(len=*)", *passed).into_iter().collect(),
        Role::Words if is_typed => bare("character(len=*), intent(in)", "(*)"),
        Role::Words => bare("character(len=*)", "(*)"),
        // As many lines as commands.
        Role::WordsOfEach if is_typed => bare("character(len=*), intent(in)", "(count, *)"),
        Role::WordsOfEach => bare("character(len=*)", "(count, *)"),
        Role::BufferAddress if is_typed => bare("type(c_ptr), intent(out)", ""),
        Role::BasePointer if is_typed => bare("type(c_ptr), intent(out)", ""),
        Role::BasePointer if style == Style::Pointers => bare("type(c_ptr)", ""),
        Role::BasePointer => bare(Number::Address.in_fortran(), ""),
        Role::Choice { is_read_only } if is_typed => {
            let read = if *is_read_only { ", intent(in)" } else { "" };
            let later = if is_asynchronous(function) { ", asynchronous" } else { "" };
            vec![format!("type(*), dimension(..){read}{later} :: {name}")]
        }
        Role::Choice { .. } | Role::BufferAddress => unchecked(name),
        Role::Value(passed) if function.name.starts_with("Attr") || function.name == "Keyval_create" => {
            of_type("integer", *passed)
        }
        Role::Value(passed) => of_type(Number::Address.in_fortran(), *passed),
        Role::Procedure(of) if is_typed => bare(&format!("procedure({of})"), ""),
        Role::Procedure(_) => vec![format!("external :: {name}")],
    }
}

/// A buffer of any type and shape, contiguous: what compilers have for it.
pub fn unchecked(name: &str) -> Vec<String> {
    vec![
        format!("!GCC$ ATTRIBUTES NO_ARG_CHECK :: {name}"),
        format!("!DIR$ IGNORE_TKR {name}"),
        format!("type(*), dimension(*) :: {name}"),
    ]
}

/// The interface of a function.
pub fn interface(style: Style, function: &Function, is_long: bool) -> Interface {
    let (mut arguments, mut declarations) = (vec![], vec![]);
    for parameter in parameters(function) {
        let role = role(function, parameter, is_long);
        arguments.push(parameter.name.clone());
        declarations.extend(declare(style, function, &parameter.name, &role));
    }
    // What is needed to declare others comes first.
    declarations.sort_by_key(|of| !of.ends_with(":: count"));
    let result = match function.result.as_deref() {
        Some("double") => Some("double precision"),
        Some("aint") => Some(Number::Address.in_fortran()),
        Some(other) => panic!("no function of Fortran returns {other}"),
        None => None,
    };
    if result.is_none() && function.name != "Pcontrol" {
        arguments.push("ierror".into());
        let kind = if style == Style::Types { "integer, optional, intent(out)" } else { "integer" };
        declarations.push(format!("{kind} :: ierror"));
    }
    Interface { arguments, declarations, result }
}

/// Whether a function returns memory.
fn returns_memory(function: &Function) -> bool {
    parameters(function).any(|of| role(function, of, false) == Role::BasePointer)
}

/// Functions that copy attributes or delete them, of the library: kinds, and the types of their arguments.
pub const ATTRIBUTE_KINDS: [&str; 3] = ["COMM", "TYPE", "WIN"];

/// Interfaces of the library's functions that copy attributes or delete them.
fn attribute_functions(text: &mut String) {
    let address = Number::Address.in_fortran();
    for (kind, value) in [("COMM_", address), ("TYPE_", address), ("WIN_", address), ("", "integer")] {
        for name in ["NULL_COPY_FN", "DUP_FN"] {
            let _ = write!(
                text,
                "    subroutine MPI_{kind}{name}(old, keyval, extra_state, value_in, value_out, flag, ierror)\n      import\n      \
                 integer :: old, keyval, ierror\n      {value} :: extra_state, value_in, value_out\n      logical :: flag\n    \
                 end subroutine\n"
            );
        }
        let _ = write!(
            text,
            "    subroutine MPI_{kind}NULL_DELETE_FN(old, keyval, value, extra_state, ierror)\n      import\n      \
             integer :: old, keyval, ierror\n      {value} :: value, extra_state\n    end subroutine\n"
        );
    }
}

/// The module `mpi`.
pub fn module(functions: &[Function], constants: &[Constant]) -> String {
    let mut text = String::from(
        "module mpi\n  use, intrinsic :: iso_c_binding, only: c_ptr\n  use mpi_constants\n  use mpi_types\n  \
         implicit none\n  public\n  private :: c_ptr\n\n  \
         logical, parameter :: MPI_SUBARRAYS_SUPPORTED = .false.\n  \
         logical, parameter :: MPI_ASYNC_PROTECTS_NONBLOCKING = .false.\n",
    );
    for constant in constants.iter().filter(|of| of.handle.is_some()) {
        let _ = writeln!(text, "  integer, parameter :: {} = {}", constant.name, constant.value);
    }
    for (name, shape) in [("MPI_STATUS_IGNORE", ""), ("MPI_STATUSES_IGNORE", ", 1")] {
        let symbol = crate::constants::common_block(name);
        let _ = writeln!(text, "  integer, bind(C, name=\"{symbol}_\") :: {name}(MPI_STATUS_SIZE{shape})");
    }
    for profiled in ["", "P"] {
        text.push_str("\n  interface\n");
        for function in functions.iter().filter(|of| !returns_memory(of)) {
            let name = format!("{profiled}MPI_{}", function.name);
            text.push_str(&interface(Style::Plain, function, false).write(&name, "", 4));
        }
        for extra in EXTRA_INTERFACES {
            text.push_str(&extra.replacen("MPI_Status_f", &format!("{profiled}MPI_Status_f"), 1));
        }
        let synchronized = unchecked("buf").join("\n      ");
        let _ = write!(
            text,
            "    subroutine {profiled}MPI_F_sync_reg(buf)\n      {synchronized}\n    end subroutine\n"
        );
        let symbol = profiled.to_lowercase();
        text.push_str(&sizeof_interface(
            &format!("{profiled}MPI_Sizeof"),
            &format!("{symbol}mpi_sizeof_"),
            4,
        ));
        text.push_str("  end interface\n");
        for function in functions.iter().filter(|of| returns_memory(of)) {
            let name = format!("{profiled}MPI_{}", function.name);
            let _ = writeln!(text, "\n  interface {name}");
            text.push_str(&interface(Style::Plain, function, false).write(&name, "", 4));
            text.push_str(&interface(Style::Pointers, function, false).write(&format!("{name}_cptr"), "", 4));
            let _ = writeln!(text, "  end interface {name}");
        }
    }
    text.push_str("\n  interface\n");
    attribute_functions(&mut text);
    text.push_str("  end interface\n\n  external :: MPI_CONVERSION_FN_NULL\nend module mpi\n");
    text
}

/// Functions of Fortran alone.
pub const EXTRA_INTERFACES: [&str; 2] = [
    "    subroutine MPI_Status_f2f08(f_status, f08_status, ierror)\n      import\n      integer :: f_status(MPI_STATUS_SIZE)\n      \
     type(MPI_Status) :: f08_status\n      integer, optional :: ierror\n    end subroutine\n",
    "    subroutine MPI_Status_f082f(f08_status, f_status, ierror)\n      import\n      type(MPI_Status) :: f08_status\n      \
     integer :: f_status(MPI_STATUS_SIZE)\n      integer, optional :: ierror\n    end subroutine\n",
];

/// The function that returns a variable's size, of any type.
pub fn sizeof_interface(name: &str, symbol: &str, indent: usize) -> String {
    let interface = Interface {
        arguments: ["x", "size", "ierror"].map(String::from).to_vec(),
        declarations: [
            "type(*), dimension(..) :: x",
            "integer, intent(out) :: size",
            "integer, optional, intent(out) :: ierror",
        ]
        .map(String::from)
        .to_vec(),
        result: None,
    };
    interface.write(name, &format!(" bind(C, name=\"{symbol}\")"), indent)
}

/// Whether a function has a twin of its own in `mpi_f08`.
pub fn has_twin(function: &Function) -> bool {
    function.has_twin && !is_ambiguous(function)
}
