//! What build tools ask a compiler wrapper, in the words of MPICH's and of Open MPI's.

use super::{Folders, fortran, shell_line};
use std::ffi::OsString;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Query {
    /// The command line that would be run.
    Command,
    /// The same without what links.
    CompileCommand,
    /// The same with only what links.
    LinkCommand,
    /// Flags to compile with.
    CompileFlags,
    /// Flags to link with.
    LinkFlags,
    /// The folder of the header.
    IncludeFolder,
    /// The folder of the library.
    LibraryFolder,
    /// The library.
    Library,
    /// The compiler.
    Compiler,
    /// The version.
    Version,
}

/// The words, after one dash or two.
const QUERIES: [(&str, Query); 15] = [
    ("show", Query::Command),
    ("showme", Query::Command),
    ("compile-info", Query::CompileCommand),
    ("compile_info", Query::CompileCommand),
    ("show-compile-info", Query::CompileCommand),
    ("link-info", Query::LinkCommand),
    ("link_info", Query::LinkCommand),
    ("show-link-info", Query::LinkCommand),
    ("showme:compile", Query::CompileFlags),
    ("showme:link", Query::LinkFlags),
    ("showme:incdirs", Query::IncludeFolder),
    ("showme:libdirs", Query::LibraryFolder),
    ("showme:libs", Query::Library),
    ("showme:command", Query::Compiler),
    ("showme:version", Query::Version),
];

/// The first query among the compiler's arguments, and the other arguments.
pub fn query(args: &[OsString]) -> Option<(Query, Vec<OsString>)> {
    let of = |word: &OsString| {
        let word = word.to_str()?.strip_prefix('-')?;
        let word = word.strip_prefix('-').unwrap_or(word);
        QUERIES.iter().find(|(name, _)| *name == word).map(|&(_, query)| query)
    };
    let at = args.iter().position(|word| of(word).is_some())?;
    let others = args.iter().enumerate().filter(|&(i, _)| i != at).map(|(_, word)| word.clone());
    Some((of(&args[at])?, others.collect()))
}

/// The answer; `line` is the whole command line. Flags are those of MPI alone: who asks uses no PAMI.
pub fn answer(query: Query, compiler: &str, folders: &Folders, line: &[OsString]) -> String {
    let compile = shell_line(&folders.compile_flags());
    let mut link = folders.folder_flags();
    link.push("-lmpi_abi".into());
    let link = shell_line(&link);
    // Those of Fortran first, as on the command line.
    let listed = |of: Option<&std::path::Path>, fortran: Option<&std::path::Path>| {
        let all: Vec<OsString> = fortran.into_iter().chain(of).map(OsString::from).collect();
        shell_line(&all)
    };
    match query {
        Query::Command => shell_line(line),
        Query::CompileCommand => format!("{compiler} {compile}"),
        Query::LinkCommand => format!("{compiler} {link}"),
        Query::CompileFlags => compile,
        Query::LinkFlags => link,
        Query::IncludeFolder => listed(Some(folders.header), folders.fortran),
        Query::LibraryFolder => listed(folders.library, folders.fortran),
        Query::Library if folders.fortran.is_some() => format!("{} mpi_abi", fortran::LIBRARY_NAME),
        Query::Library => "mpi_abi".into(),
        Query::Compiler => compiler.into(),
        Query::Version => format!("netloom {}, MPI 5.0", env!("CARGO_PKG_VERSION")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(Into::into).collect()
    }

    #[test]
    fn a_query_is_found_among_the_compilers_arguments() {
        let check = |line: &str, expected: Option<(Query, &str)>| {
            let expected = expected.map(|(query, others)| (query, words(others)));
            assert_eq!(query(&words(line)), expected, "{line}");
        };
        check("-show", Some((Query::Command, "")));
        check("-O2 --showme:link a.c", Some((Query::LinkFlags, "-O2 a.c")));
        check("-compile_info", Some((Query::CompileCommand, "")));
        check("-O2 -shared show -c", None);
    }

    #[test]
    fn answers_name_the_folders() {
        let folders = Folders { header: "/i".as_ref(), fortran: None, library: Some("/l l".as_ref()) };
        let answer = |query| answer(query, "gcc -g", &folders, &words("gcc a.c"));
        assert_eq!(answer(Query::Command), "gcc a.c");
        assert_eq!(answer(Query::CompileCommand), "gcc -g -I/i");
        assert_eq!(answer(Query::LinkFlags), "'-L/l l' '-Wl,-rpath,/l l' -lmpi_abi");
        assert_eq!(answer(Query::LibraryFolder), "'/l l'");
    }
}
