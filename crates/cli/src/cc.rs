//! `netloom cc` and `netloom c++`: the compilers, with what a program that uses MPI or PAMI needs; and where
//! that is.

mod links;
mod queries;

use crate::Trouble;
use crate::args::CompilerArgs;
use netloom_study::diagnose::Problem;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

const LIBRARY: &str = "libpami.so";
/// MPI's library, which is linked by programs that use it if it is beside PAMI's.
const MPI_LIBRARY: &str = "libmpi_abi.so";
const HEADER: &str = "pami.h";
/// With these a compiler does not link.
const NO_LINK: [&str; 6] = ["-c", "-E", "-S", "-M", "-MM", "-fsyntax-only"];

/// The folder of this program.
fn own_folder() -> Option<PathBuf> {
    std::env::current_exe().ok()?.parent().map(Path::to_owned)
}

/// The folder of the libraries: this program's, or `lib` beside it.
pub fn library_folder() -> Option<PathBuf> {
    let own = own_folder()?;
    let folders = [Some(own.clone()), own.parent().map(|above| above.join("lib"))];
    folders.into_iter().flatten().find(|folder| folder.join(LIBRARY).is_file())
}

/// The folder of the headers: `include` beside this program's, or that of the source code.
fn header_folder() -> Option<PathBuf> {
    let installed = own_folder().and_then(|own| Some(own.parent()?.join("include")));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(|crates| crates.join("capi/include"));
    [installed, source].into_iter().flatten().find(|folder| folder.join(HEADER).is_file())
}

/// The command line: a compiler and its arguments.
fn command_line(compiler: &str, header: &Path, args: &[OsString], library: Option<&Path>) -> Vec<OsString> {
    let joined = |flag: &str, path: &Path| {
        let mut word = OsString::from(flag);
        word.push(path);
        word
    };
    let mut line: Vec<OsString> = compiler.split_whitespace().map(Into::into).collect();
    line.push(joined("-I", header));
    line.extend_from_slice(args);
    if let Some(library) = library {
        line.extend([joined("-L", library), joined("-Wl,-rpath,", library)]);
        if library.join(MPI_LIBRARY).is_file() {
            // A program has only what it uses, and of the C library's functions those of the C library, not
            // PAMI's in front of them, so that one that uses MPI alone runs on other MPI libraries.
            line.extend(["-Wl,--as-needed", "-lmpi_abi", "-lc"].map(OsString::from));
        }
        line.push("-lpami".into());
    }
    line
}

fn links(args: &[OsString]) -> bool {
    !args.iter().any(|arg| NO_LINK.iter().any(|flag| arg == flag))
}

/// A word as a shell reads it.
fn quoted(word: &OsStr) -> String {
    let text = word.to_string_lossy();
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=,+:@%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.into_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A language.
pub struct Language {
    /// Its name.
    name: &'static str,
    /// The variable of the environment that names the compiler.
    variable: &'static str,
    /// Those that do so for `mpicc` and `mpicxx`: ours, and that which CMake sets. In `CC` they may find
    /// their own names.
    wrapper_variables: [&'static str; 2],
    /// The compiler if no variable is set.
    usual: &'static str,
}

pub const C: Language =
    Language { name: "C", variable: "CC", wrapper_variables: ["MPI_CC", "MPICH_CC"], usual: "cc" };
pub const CXX: Language =
    Language { name: "C++", variable: "CXX", wrapper_variables: ["MPI_CXX", "MPICH_CXX"], usual: "c++" };

/// Compiles, or answers what it was asked for.
pub fn compile(language: &Language, call: &CompilerArgs, out: &mut dyn Write) -> Result<u8, Trouble> {
    let headers = header_folder().ok_or_else(|| {
        Problem::new(format!("{HEADER} is not found"))
            .help("It belongs into the folder `include` beside that of netloom")
    })?;
    if let Some(folder) = &call.install_links {
        return links::install(folder, &headers, &library()?, out);
    }
    let variables: &[_] = if call.wrapper { &language.wrapper_variables } else { &[language.variable] };
    let named = variables.iter().filter_map(|name| std::env::var(name).ok());
    let compiler =
        named.into_iter().find(|name| !name.trim().is_empty()).unwrap_or_else(|| language.usual.into());
    if let Some((query, args)) = queries::query(&call.args) {
        let library = library()?;
        let line = command_line(&compiler, &headers, &args, links(&args).then_some(&*library));
        writeln!(out, "{}", queries::answer(query, &compiler, &headers, &library, &line))?;
        return Ok(crate::OK);
    }
    let library = if links(&call.args) { Some(library()?) } else { None };
    let line = command_line(&compiler, &headers, &call.args, library.as_deref());
    if call.show {
        writeln!(out, "{}", shell_line(&line))?;
        return Ok(crate::OK);
    }
    // Where the variable names this program, as after `CC="netloom cc" ./configure`, the usual compiler
    // follows.
    let status = Command::new(&line[0]).args(&line[1..]).env_remove(variables[0]).status().map_err(|e| {
        let what = format!("cannot run the {} compiler `{}`: {e}", language.name, line[0].display());
        let help = format!("Install a {} compiler, or set {} to its name", language.name, variables[0]);
        Problem::new(what).help(help)
    })?;
    Ok(status.code().map_or(crate::FAILED, |code| code as u8))
}

/// A command line as a shell reads it.
fn shell_line(words: &[OsString]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn library() -> Result<PathBuf, Problem> {
    library_folder().ok_or_else(|| {
        let own = own_folder().unwrap_or_default();
        let release = if own.ends_with("debug") { "" } else { " --release" };
        Problem::new(format!("{LIBRARY} is not in {}", own.display()))
            .help(format!("Build it: `cargo build{release} -p netloom-pami`"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(Into::into).collect()
    }

    #[test]
    fn a_command_line_has_the_header_first_and_the_library_last() {
        let line = |library| command_line("gcc -g", "/i".as_ref(), &words("-o a a.c"), library);
        let linked = "gcc -g -I/i -o a a.c -L/l -Wl,-rpath,/l -lpami";
        assert_eq!(line(Some(Path::new("/l"))), words(linked));
        assert_eq!(line(None), words("gcc -g -I/i -o a a.c"));
        assert!(links(&words("-o a a.c -lc")) && !links(&words("-O2 -c a.c")));
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        let words = ["-Wl,-rpath,/a", "", "a b", "it's", "-DX=\"1\""].map(|word| quoted(word.as_ref()));
        assert_eq!(words, ["-Wl,-rpath,/a", "''", "'a b'", r"'it'\''s'", "'-DX=\"1\"'"]);
    }
}
