//! `netloom cc`, `netloom c++` and `netloom fc`: the compilers, with what a program that uses MPI or PAMI
//! needs; and where that is.

mod fortran;
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

/// A flag and a path as one word.
fn joined(flag: &str, path: &Path) -> OsString {
    let mut word = OsString::from(flag);
    word.push(path);
    word
}

/// Where a compiler finds what it needs.
struct Folders<'a> {
    header: &'a Path,
    /// Modules, `mpif.h` and the library of Fortran, if that is the language.
    fortran: Option<&'a Path>,
    /// The libraries, if it links.
    library: Option<&'a Path>,
}

impl Folders<'_> {
    /// Flags to compile with.
    fn compile_flags(&self) -> Vec<OsString> {
        let mut flags = vec![joined("-I", self.header)];
        if let Some(folder) = self.fortran {
            flags.push(joined("-I", folder));
            flags.extend(fortran::COMPILE_FLAGS.map(OsString::from));
        }
        flags
    }

    /// Flags that find the libraries and link that of Fortran, which calls MPI's.
    fn folder_flags(&self) -> Vec<OsString> {
        let mut flags = vec![];
        if let Some(folder) = self.fortran {
            flags.extend([joined("-L", folder), joined("-Wl,-rpath,", folder)]);
            flags.push(format!("-l{}", fortran::LIBRARY_NAME).into());
        }
        if let Some(library) = self.library {
            flags.extend([joined("-L", library), joined("-Wl,-rpath,", library)]);
        }
        flags
    }
}

/// The command line: a compiler and its arguments.
fn command_line(compiler: &str, folders: &Folders, args: &[OsString]) -> Vec<OsString> {
    let mut line: Vec<OsString> = compiler.split_whitespace().map(Into::into).collect();
    line.extend(folders.compile_flags());
    line.extend_from_slice(args);
    if let Some(library) = folders.library {
        line.extend(folders.folder_flags());
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
    /// Whether it has modules, and a library of its own.
    is_fortran: bool,
}

pub const C: Language = Language {
    name: "C",
    variable: "CC",
    wrapper_variables: ["MPI_CC", "MPICH_CC"],
    usual: "cc",
    is_fortran: false,
};
pub const CXX: Language = Language {
    name: "C++",
    variable: "CXX",
    wrapper_variables: ["MPI_CXX", "MPICH_CXX"],
    usual: "c++",
    is_fortran: false,
};
pub const FORTRAN: Language = Language {
    name: "Fortran",
    variable: "FC",
    wrapper_variables: ["MPI_FC", "MPICH_FC"],
    usual: "gfortran",
    is_fortran: true,
};

impl Language {
    /// What to do if there is no compiler.
    fn missing(&self, variable: &str) -> String {
        format!("Install a {} compiler, or set {variable} to its name", self.name)
    }
}

/// Compiles, or answers what it was asked for.
pub fn compile(language: &Language, call: &CompilerArgs, out: &mut dyn Write) -> Result<u8, Trouble> {
    let headers = header_folder().ok_or_else(|| {
        Problem::new(format!("{HEADER} is not found"))
            .help("It belongs into the folder `include` beside that of netloom")
    })?;
    let variables: &[_] = if call.wrapper { &language.wrapper_variables } else { &[language.variable] };
    let named = variables.iter().filter_map(|name| std::env::var(name).ok());
    let mut named = named.into_iter().filter(|name| !name.trim().is_empty());
    let compiler = named.find(|name| !(language.is_fortran && fortran::is_own(name)));
    let compiler = compiler.unwrap_or_else(|| language.usual.into());
    // Who asks for the compiler's version compiles nothing.
    let has_file = call.args.iter().any(|word| !word.as_encoded_bytes().starts_with(b"-"));
    let asked = queries::query(&call.args);
    let is_needed = has_file || asked.is_some() || call.install_links.is_some() || call.show;
    let interfaces = match language.is_fortran && is_needed {
        true => Some(fortran::prepare(&compiler, variables[0], &headers, &library()?, &call.args)?),
        false => None,
    };
    let fortran = interfaces.as_deref();
    if let Some(folder) = &call.install_links {
        return links::install(
            folder,
            &Folders { header: &headers, fortran, library: Some(&library()?) },
            out,
        );
    }
    if let Some((query, args)) = asked {
        let library = library()?;
        let linked = links(&args).then_some(&*library);
        let line = command_line(&compiler, &Folders { header: &headers, fortran, library: linked }, &args);
        let folders = Folders { header: &headers, fortran, library: Some(&library) };
        writeln!(out, "{}", queries::answer(query, &compiler, &folders, &line))?;
        return Ok(crate::OK);
    }
    let library = if links(&call.args) { Some(library()?) } else { None };
    let folders = Folders { header: &headers, fortran, library: library.as_deref() };
    let line = command_line(&compiler, &folders, &call.args);
    if call.show {
        writeln!(out, "{}", shell_line(&line))?;
        return Ok(crate::OK);
    }
    // Where the variable names this program, as after `CC="netloom cc" ./configure`, the usual compiler
    // follows.
    let status = Command::new(&line[0]).args(&line[1..]).env_remove(variables[0]).status().map_err(|e| {
        let what = format!("cannot run the {} compiler `{}`: {e}", language.name, line[0].display());
        Problem::new(what).help(language.missing(variables[0]))
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

/// That MPI's library is there.
fn mpi_library(folder: &Path) -> Result<(), Problem> {
    if folder.join(MPI_LIBRARY).is_file() {
        return Ok(());
    }
    let release = if folder.ends_with("debug") { "" } else { " --release" };
    Err(Problem::new(format!("{MPI_LIBRARY} is not in {}", folder.display()))
        .help(format!("Build it: `cargo build{release} -p netloom-mpi-abi`")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(Into::into).collect()
    }

    #[test]
    fn a_command_line_has_the_header_first_and_the_library_last() {
        let header = Path::new("/i");
        let line =
            |library| command_line("gcc -g", &Folders { header, fortran: None, library }, &words("-o a a.c"));
        let linked = "gcc -g -I/i -o a a.c -L/l -Wl,-rpath,/l -lpami";
        assert_eq!(line(Some(Path::new("/l"))), words(linked));
        assert_eq!(line(None), words("gcc -g -I/i -o a a.c"));
        let folders = Folders { header, fortran: Some("/f".as_ref()), library: Some("/l".as_ref()) };
        let line = command_line("gfortran", &folders, &words("a.f90"));
        let linked = "gfortran -I/i -I/f -fallow-argument-mismatch a.f90 -L/f -Wl,-rpath,/f -lmpifort_abi -L/l \
                      -Wl,-rpath,/l -lpami";
        assert_eq!(line, words(linked));
        assert!(links(&words("-o a a.c -lc")) && !links(&words("-O2 -c a.c")));
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        let words = ["-Wl,-rpath,/a", "", "a b", "it's", "-DX=\"1\""].map(|word| quoted(word.as_ref()));
        assert_eq!(words, ["-Wl,-rpath,/a", "''", "'a b'", r"'it'\''s'", "'-DX=\"1\"'"]);
    }
}
