// The table of functions, read by the build script and by tests: see functions.txt.
//
// | kind | in C | |
// |---|---|---|
// | `count`, `*count`, `[count]` | `int`, and `MPI_Count` with the suffix _c | counts |
// | `step` | `int`, and `MPI_Count` with the suffix _c | a distance in elements, which may be negative |
// | `*newtype` | `MPI_Datatype *` | a type that is made |
// | `[displ]`, `unit`, `*unit` | `int`, and `MPI_Aint` | displacements in elements, units of them |
// | `extent`, `*extent`, `[extent]` | `MPI_Aint`, and `MPI_Count` | distances in bytes |
// | `aint`, `offset`, `long`, `int` | `MPI_Aint`, `MPI_Offset`, `MPI_Count`, `int` | |
// | `dest`, `source`, `root`, `target`, `tag` | `int` | ranks and tags |
// | `data`, `space` | `const void *`, `void *` | buffers |
// | `text`, `*text`, `text[]` | `const char *`, `char *`, `const char[]` | strings |
// | `argv`, `*argv`, `[argv]` | `char *[]`, `char ***`, `char **[]` | command lines |
// | `comm`, `type`, ... | `MPI_Comm`, `MPI_Datatype`, ... | handles |
// | `reduction`, `conversion` | a function, and one with `MPI_Count` | |
// | `*K`, `[K]`, `*[K]` | `K *`, `const K[]`, `K[]` | results, arrays, arrays of results |
// | `...` | `...` | |
// | others | `MPI_` and the kind | |

use std::fmt::Write as _;

/// A function of MPI.
pub struct Function {
    pub chapter: String,
    /// Without the prefix.
    pub name: String,
    /// Whether it has a twin with longer counts.
    pub has_twin: bool,
    pub result: Option<String>,
    /// The function that carries it out.
    pub carried_out_by: Option<String>,
    /// Whether it may be called at any time.
    pub is_any_time: bool,
    /// Whether it needs no library, so that it may be called within a reduction of the program.
    pub needs_no_library: bool,
    pub parameters: Vec<Parameter>,
}

pub struct Parameter {
    pub kind: String,
    pub name: String,
}

/// Reads the table.
pub fn parse(text: &str) -> Vec<Function> {
    let mut lines: Vec<String> = vec![];
    for line in text.lines() {
        match line.strip_prefix("  ") {
            Some(rest) if !lines.is_empty() => {
                let last = lines.last_mut().expect("there is one");
                last.push(' ');
                last.push_str(rest);
            }
            _ => lines.push(line.into()),
        }
    }
    let (mut chapter, mut list) = (String::new(), vec![]);
    for line in lines.iter().filter(|line| !line.is_empty()) {
        if let Some(title) = line.strip_prefix("## ") {
            chapter = title.into();
        } else if !line.starts_with('#') {
            list.push(function(&chapter, line));
        }
    }
    list
}

fn function(chapter: &str, line: &str) -> Function {
    let mut words = line.split_whitespace().peekable();
    let first = words.next().expect("a name");
    let name = first.trim_end_matches('+');
    let mut after =
        |mark: &str| words.next_if(|word| *word == mark).map(|_| words.next().expect("a word").to_string());
    let (result, by) = (after("->"), after("="));
    let parameter = |word: &str| match word.split_once(':') {
        Some((kind, name)) => Parameter { kind: kind.into(), name: name.into() },
        None => Parameter { kind: word.into(), name: String::new() },
    };
    Function {
        chapter: chapter.into(),
        name: name.into(),
        has_twin: first != name,
        result,
        is_any_time: by.as_ref().is_some_and(|by| by.ends_with('!')),
        needs_no_library: by.as_ref().is_some_and(|by| by.ends_with('~')),
        carried_out_by: by.map(|by| by.trim_end_matches(['!', '~']).into()),
        parameters: words.map(parameter).collect(),
    }
}

/// Kinds that are handles, and their types in C.
const HANDLES: [(&str, &str); 12] = [
    ("comm", "MPI_Comm"),
    ("type", "MPI_Datatype"),
    ("newtype", "MPI_Datatype"),
    ("request", "MPI_Request"),
    ("info", "MPI_Info"),
    ("file", "MPI_File"),
    ("op", "MPI_Op"),
    ("win", "MPI_Win"),
    ("group", "MPI_Group"),
    ("session", "MPI_Session"),
    ("errhandler", "MPI_Errhandler"),
    ("message", "MPI_Message"),
];

/// The type of a kind without `*` and `[]`, in C and in Rust.
fn base(kind: &str, is_long: bool) -> (String, &'static str) {
    let (c, rust) = match (kind, is_long) {
        ("count" | "displ" | "unit" | "step", false) => ("int", "c_int"),
        ("int" | "dest" | "source" | "root" | "target" | "tag", _) => ("int", "c_int"),
        ("count" | "step", true) | ("extent", true) | ("long", _) => ("MPI_Count", "i64"),
        ("displ" | "unit", true) | ("extent", false) | ("aint", _) => ("MPI_Aint", "isize"),
        ("offset", _) => ("MPI_Offset", "i64"),
        ("status", _) => ("MPI_Status", "Status"),
        ("text", _) => ("char", "c_char"),
        ("double", _) => ("double", "f64"),
        ("T_cb_safety" | "T_source_order", _) => return (format!("MPI_{kind}"), "c_int"),
        (other, _) => match HANDLES.iter().find(|handle| handle.0 == other) {
            Some(handle) => (handle.1, "usize"),
            None => return (format!("MPI_{other}"), "usize"),
        },
    };
    (c.into(), rust)
}

/// The type of a kind in Rust.
pub fn rust_type(kind: &str, is_long: bool) -> String {
    let bare = kind.trim_matches(|c| "*[]".contains(c));
    match kind {
        "data" => "*const c_void".into(),
        "space" => "*mut c_void".into(),
        "text" | "text[]" => "*const c_char".into(),
        "*argv" => "*mut *mut *mut c_char".into(),
        "argv" => "*mut *mut c_char".into(),
        "[argv]" => "*mut *mut *mut c_char".into(),
        "int[][3]" => "*const c_int".into(),
        "reduction" | "conversion" => "usize".into(),
        "status" => "*const Status".into(),
        _ if bare.ends_with("function") => "usize".into(),
        _ if kind.starts_with('*') => format!("*mut {}", base(bare, is_long).1),
        _ if kind.starts_with('[') => format!("*const {}", base(bare, is_long).1),
        _ => base(bare, is_long).1.into(),
    }
}

/// The declaration of a parameter in C.
fn c_declaration(Parameter { kind, name }: &Parameter, is_long: bool) -> String {
    let bare = kind.trim_matches(|c| "*[]".contains(c));
    let suffix = if is_long { "_c" } else { "" };
    match kind.as_str() {
        "..." => "...".into(),
        "data" => format!("const void *{name}"),
        "space" => format!("void *{name}"),
        "text" => format!("const char *{name}"),
        "text[]" => format!("const char {name}[]"),
        "argv" => format!("char *{name}[]"),
        "*argv" => format!("char ***{name}"),
        "[argv]" => format!("char **{name}[]"),
        "int[][3]" => format!("int {name}[][3]"),
        "status" => format!("const MPI_Status *{name}"),
        "reduction" => format!("MPI_User_function{suffix} *{name}"),
        "conversion" => format!("MPI_Datarep_conversion_function{suffix} *{name}"),
        // C compilers warn of arrays at the addresses of MPI_UNWEIGHTED and MPI_WEIGHTS_EMPTY.
        "[int]" if name.ends_with("weights") => format!("const int *{name}"),
        "*[int]" if name.ends_with("weights") => format!("int *{name}"),
        _ => {
            let (of, _) = base(bare, is_long);
            match kind.split_at(kind.len() - kind.trim_start_matches(|c| "*[".contains(c)).len()).0 {
                "*[" => format!("{of} {name}[]"),
                "*" => format!("{of} *{name}"),
                "[" => format!("const {of} {name}[]"),
                _ => format!("{of} {name}"),
            }
        }
    }
}

/// The declarations of a function and its twin, with this prefix.
pub fn c_prototypes(function: &Function, prefix: &str) -> String {
    let mut text = String::new();
    for is_long in [false, true].into_iter().filter(|&is_long| !is_long || function.has_twin) {
        let result = function.result.as_deref().map_or("int".into(), |kind| base(kind, false).0);
        let parameters: Vec<String> =
            function.parameters.iter().map(|parameter| c_declaration(parameter, is_long)).collect();
        let parameters = if parameters.is_empty() { "void".into() } else { parameters.join(", ") };
        let suffix = if is_long { "_c" } else { "" };
        let _ = writeln!(text, "{result} {prefix}{}{suffix}({parameters});", function.name);
    }
    text
}

/// The result of a function in Rust.
pub fn rust_result(function: &Function) -> &'static str {
    function.result.as_deref().map_or("c_int", |kind| base(kind, false).1)
}
