//! Generates the exported functions from functions.txt, and links libpami.so.

use std::env;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

mod table {
    #![allow(dead_code)] // The declarations in C are the tests'.
    include!("table.rs");
}
use table::{Function, Parameter, parse, rust_result, rust_type};

/// How a parameter is passed to the function that carries a call out.
fn argument(function: &Function, kind: &str, name: &str, is_long: bool) -> String {
    match kind {
        // Null handles have names too.
        "comm" | "type" | "win" if function.name.ends_with("get_name") => name.into(),
        // Attributes belong to the handle.
        "type" if function.carried_out_by.as_ref().is_some_and(|by| by.starts_with("attributes::")) => {
            name.into()
        }
        "count" => format!("Count::check(\"{name}\", {name})?"),
        "extent" | "step" if is_long => name.into(),
        "extent" | "unit" | "step" => format!("{name} as i64"),
        "*newtype" => format!("({name}, {is_long})"),
        "*extent" => format!("{name}.cast::<i64>()"),
        "reduction" => format!("({name}, {is_long})"),
        "*count" if is_long => format!("CountPlace::Long({name})"),
        "*count" => format!("CountPlace::Short({name})"),
        "type" => format!("crate::types::find(\"{name}\", {name})?"),
        "group" => format!("library.group(\"{name}\", {name})?"),
        "op" => format!("library.op(\"{name}\", {name})?"),
        // Read by one rank alone.
        "comm" if name == "peer_comm" => name.into(),
        "comm" => format!("library.comm(\"{name}\", {name})?"),
        "win" => format!("library.win(\"{name}\", {name})?"),
        // Error handlers are those of MPI_FILE_NULL, too.
        "file" if function.name.ends_with("errhandler") => name.into(),
        "file" => format!("library.file(\"{name}\", {name})?"),
        "session" => format!("library.session(\"{name}\", {name})?"),
        "*unit" if is_long => format!("CountPlace::Long({name}.cast())"),
        "*unit" => format!("CountPlace::Short({name})"),
        _ => name.into(),
    }
}

/// Whether a function plans a collective.
fn is_collective(by: &str) -> bool {
    ["collectives::", "neighborhood::"].iter().any(|module| by.starts_with(module))
}

/// The same for a communicator of one group and, where there is a condition, for one of two.
fn choose_groups(by: &str, is_inter: &str, planned: impl Fn(&str) -> String) -> String {
    match by.strip_prefix("collectives::") {
        Some(of) => {
            let inter = planned(&format!("intercollectives::{of}"));
            format!("if {is_inter} {{ {inter} }} else {{ {} }}", planned(by))
        }
        None => planned(by),
    }
}

/// Whether a parameter is a place for one result, which a program has to give.
fn is_place(function: &Function, parameter: &Parameter) -> bool {
    let is_optional = match &*parameter.kind {
        // MPI_STATUS_IGNORE.
        "*status" => true,
        "*argv" => true,
        "*int" => function.name.starts_with("Init") && parameter.name == "argc",
        // A length of 0 asks for the length alone.
        "*text" => matches!(&*function.name, "Session_get_nth_pset" | "Info_get_string"),
        kind => kind.starts_with("*["),
    };
    // Functions have such kinds too.
    parameter.kind.starts_with('*') && !is_optional && rust_type(&parameter.kind, false).starts_with("*mut")
}

/// Makes the linker export what assembler defines. rustc's list of names to export (a version script) has
/// names of Rust's items alone. Linkers take these as patterns, so one item has a pattern as its name; it is
/// hidden, and not exported itself.
const EXPORTED: &str = r#"
#[unsafe(export_name = "MPI_*")]
pub static WEAK_NAMES: [u8; 0] = [];
global_asm!(".hidden \"MPI_*\"");
"#;

fn export(function: &Function, is_long: bool) -> String {
    let name = format!("{}{}", function.name, if is_long { "_c" } else { "" });
    let parameters: Vec<_> = function.parameters.iter().filter(|parameter| parameter.kind != "...").collect();
    let declared: Vec<String> = parameters
        .iter()
        .map(|parameter| format!("{}: {}", parameter.name, rust_type(&parameter.kind, is_long)))
        .collect();
    let argument_list = |given: &[&Parameter]| -> Vec<String> {
        let mut list = vec![];
        let mut rest = given;
        while let [first, after @ ..] = rest {
            rest = after;
            let to_const = if first.kind == "space" { ".cast_const()" } else { "" };
            list.push(match after {
                _ if function.is_any_time => first.name.clone(),
                // An address, a count and a type are a buffer.
                [count, of, others @ ..]
                    if matches!(&*first.kind, "data" | "space")
                        && count.kind == "count"
                        && of.kind == "type" =>
                {
                    rest = others;
                    let (address, count, of) = (&first.name, &count.name, &of.name);
                    let names = format!("[\"{address}\", \"{count}\", \"{of}\"]");
                    format!("Buffer::new({names}, {address}{to_const}, {count}, {of})")
                }
                // With a number of partitions between them.
                [partitions, count, of, others @ ..]
                    if matches!(&*first.kind, "data" | "space")
                        && partitions.name == "partitions"
                        && count.kind == "count"
                        && of.kind == "type" =>
                {
                    rest = others;
                    let (address, count, of) = (&first.name, &count.name, &of.name);
                    let names = format!("[\"{address}\", \"{count}\", \"{of}\"]");
                    format!("Buffer::new({names}, {address}{to_const}, {count}, {of}), {}", partitions.name)
                }
                [counts, displs, of, others @ ..]
                    if counts.kind == "[count]" && displs.kind == "[displ]" && of.kind == "type" =>
                {
                    rest = others;
                    let (address, counts, at, of) = (&first.name, &counts.name, &displs.name, &of.name);
                    let names = format!("[\"{address}\", \"{counts}\", \"{of}\"]");
                    format!("Pieces::new({names}, {address}{to_const}, {counts}, {at}, {of})")
                }
                [counts, displs, types, others @ ..]
                    if matches!(&*first.kind, "data" | "space")
                        && counts.kind == "[count]"
                        && types.kind == "[type]" =>
                {
                    rest = others;
                    let (address, counts, at, of) = (&first.name, &counts.name, &displs.name, &types.name);
                    let names = format!("[\"{address}\", \"{counts}\", \"{of}\"]");
                    format!("Pieces::of_types({names}, {address}{to_const}, {counts}, {at}, {of})")
                }
                [counts, of, others @ ..]
                    if first.kind == "space" && counts.kind == "[count]" && of.kind == "type" =>
                {
                    rest = others;
                    let (address, counts, of) = (&first.name, &counts.name, &of.name);
                    let names = format!("[\"{address}\", \"{counts}\", \"{of}\"]");
                    format!("Counted::new({names}, {address}{to_const}, {counts}, {of})")
                }
                [at, count, of, others @ ..]
                    if first.kind == "target" && count.kind == "count" && of.kind == "type" =>
                {
                    rest = others;
                    let (rank, at, count, of) = (&first.name, &at.name, &count.name, &of.name);
                    format!("Remote::new({rank}, {at}, {count}, {of})")
                }
                // Who does not need the library asks for it while no function of the program runs.
                _ if function.needs_no_library && matches!(&*first.kind, "comm" | "win") => {
                    first.name.clone()
                }
                _ => argument(function, &first.kind, &first.name, is_long),
            });
        }
        list
    };
    let arguments = |given: &[&Parameter]| argument_list(given).join(", ");
    let result = rust_result(function);
    // Whose error handler is told of errors.
    let raised_on = |kind: &str| parameters.iter().find(|of| of.kind == kind).map(|of| &*of.name);
    let freed = raised_on("*win").or(raised_on("*file").filter(|_| function.name == "File_close"));
    let freed = freed.map(|of| format!("if {of}.is_null() {{ 0 }} else {{ *{of} }}"));
    let comm = match &*function.name {
        // These have no file yet.
        "File_open" | "File_delete" | "Register_datarep" => "crate::files::FILE_NULL",
        _ => {
            let named = ["comm", "win", "session", "file"].into_iter().find_map(raised_on);
            named.or(freed.as_deref()).unwrap_or("0")
        }
    };
    // The tools interface takes NULL for what is not asked for.
    let places = parameters.iter().filter(|of| !function.is_any_time && is_place(function, of));
    let places: String = places.map(|of| format!("place(\"{0}\", {0})?; ", of.name)).collect();
    let body = match &function.carried_out_by {
        None => panic!("{name} has no function that carries it out"),
        Some(by) if function.is_any_time => {
            format!("at_any_time(&\"MPI_{name}\", crate::{by}({}))", arguments(&parameters))
        }
        Some(by) if function.needs_no_library => {
            let call = format!("crate::{by}({})", arguments(&parameters));
            format!("run_alone(&\"MPI_{name}\", {comm}, || {{ {places}{call} }})")
        }
        // A persistent collective keeps its arguments, and is planned at each start.
        Some(by) if is_collective(by) && name.contains("_init") => {
            let [given @ .., info, request] = &parameters[..] else { panic!("{name} returns a request") };
            assert!(info.kind == "info" && request.kind == "*request", "{name}");
            // Of arrays it keeps copies, where the call reads them at all.
            let keep = |argument: String| match argument.split_once("::").map(|of| of.0) {
                Some("Pieces") if argument.contains("[\"send") => format!("{argument}.kept(to)"),
                Some("Pieces") => format!("{argument}.kept(from)"),
                Some("Counted") => format!("{argument}.kept(own)"),
                _ => argument,
            };
            let root = given.iter().find(|of| of.kind == "root");
            let root = root.map_or("None".into(), |root| format!("Some({})", root.name));
            let is_neighborhood = by.starts_with("neighborhood::");
            let given: Vec<String> = argument_list(given).into_iter().map(keep).collect();
            let kept_at: Vec<String> = (0..given.len()).map(|at| format!("given.{at}")).collect();
            let (kept, given) = (given.join(", "), kept_at.join(", "));
            let copied = if kept.contains("::new(") || kept.contains("::of_types(") {
                "let given = given.clone();"
            } else {
                ""
            };
            let boxed = |by: &str| format!("Ok(Box::pin(crate::{by}(library, {given})?) as _)");
            let planned = choose_groups(by, &format!("library.is_inter({comm})"), boxed);
            let (info, request) = (&info.name, &request.name);
            format!(
                "run(&\"MPI_{name}\", {comm}, |library| {{ {places}let at = library.comm(\"{comm}\", {comm})?; \
                 let [to, from, own] = library.significant(at, {root}, {is_neighborhood}); let _ = (to, from, own); \
                 crate::info::check({info})?; let given = ({kept},); \
                 let plan = move |library: &mut Library| {{ {copied} \
                 {planned} }}; \
                 library.plan_collective(at, plan, {request}) }})"
            )
        }
        // What a collective has to do is planned, and then waited for or given to the program as a request.
        Some(by) if is_collective(by) => {
            let (given, then) = match parameters.split_last() {
                Some((last, given)) if last.kind == "*request" => {
                    (given, Some(format!("library.start(plan, {})", last.name)))
                }
                _ => (&parameters[..], None),
            };
            let given = arguments(given);
            let planned = |by: &str| {
                let plan = format!("crate::{by}(library, {given})");
                match &then {
                    Some(then) => format!("{{ let plan = {plan}?; {then} }}"),
                    None => format!("{{ let plan = std::pin::pin!({plan}); library.carry_out(plan) }}"),
                }
            };
            let planned = choose_groups(by, &format!("library.is_inter({comm})"), planned);
            format!("run(&\"MPI_{name}\", {comm}, |library| {{ {places}{planned} }})")
        }
        // With communication threads these may go past the library's lock.
        Some(by) if matches!(&**by, "sends::send" | "sends::isend") => {
            let call = format!("crate::{by}(library, {})", arguments(&parameters));
            let (of, request) = match by.ends_with("isend") {
                true => ("isend", ", request"),
                false => ("send", ""),
            };
            format!(
                "send_without_lock(&\"MPI_{name}\", || crate::handoff::{of}(buf, count, datatype, (dest, tag, comm){request}), \
                 || run(&\"MPI_{name}\", {comm}, |library| {{ {places}{call} }}))"
            )
        }
        Some(by) => {
            let arguments = arguments(&parameters);
            let comma = if arguments.is_empty() { "" } else { ", " };
            let call = format!("crate::{by}(library{comma}{arguments})");
            format!("run(&\"MPI_{name}\", {comm}, |library| {{ {places}{call} }})")
        }
    };
    let jump = if cfg!(target_arch = "aarch64") { "b" } else { "jmp" };
    let mut text = String::new();
    let _ = writeln!(
        text,
        "#[unsafe(no_mangle)] pub unsafe extern \"C\" fn PMPI_{name}({}) -> {result} {{ unsafe {{ {body} }} }}",
        declared.join(", ")
    );
    // The weak name, which programs and tools replace. In assembler, since a naked function's name is strong.
    let symbol = format!("MPI_{name}");
    let _ = writeln!(
        text,
        "global_asm!(\".pushsection .text.{symbol},\\\"ax\\\"\", \".weak {symbol}\", \".type {symbol}, %function\", \
         \"{symbol}:\", \"{jump} {{}}\", \".size {symbol}, . - {symbol}\", \".popsection\", sym PMPI_{name});"
    );
    text
}

/// The folder of the profile, such as target/release.
fn profile_folder(out: &Path) -> PathBuf {
    out.ancestors().nth(3).expect("target/PROFILE/build/PACKAGE/out").into()
}

fn main() {
    println!("cargo::rerun-if-changed=functions.txt");
    println!("cargo::rerun-if-changed=table.rs");
    let text = std::fs::read_to_string("functions.txt").expect("the table is beside this file");
    let functions = parse(&text);
    let exports: String = functions
        .iter()
        .flat_map(|of| [Some(export(of, false)), of.has_twin.then(|| export(of, true))])
        .flatten()
        .chain([EXPORTED.into()])
        .collect();
    let out = PathBuf::from(env::var("OUT_DIR").expect("Cargo sets it"));
    std::fs::write(out.join("exports.rs"), exports).expect("Cargo's folder is writable");

    let folder = profile_folder(&out);
    println!("cargo::rustc-link-arg-cdylib=-Wl,-soname,libmpi_abi.so.1");
    println!("cargo::rustc-link-arg-cdylib=-Wl,-Bsymbolic-functions");
    println!("cargo::rustc-link-arg-cdylib=-L{}", folder.join("deps").display());
    println!("cargo::rustc-link-arg-cdylib=-lpami");
    println!("cargo::rustc-link-arg-cdylib=-Wl,-z,defs");
    println!("cargo::rustc-link-arg-cdylib=-Wl,-rpath,$ORIGIN");
    // Programs ask for the library by the name that the ABI gives it.
    #[cfg(unix)]
    for folder in [folder.join("deps"), folder] {
        let _ = std::os::unix::fs::symlink("libmpi_abi.so", folder.join("libmpi_abi.so.1"));
    }
}
