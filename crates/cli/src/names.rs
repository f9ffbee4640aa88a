//! The names under which build tools and scripts look for MPI's compilers and launcher. Called by such a
//! name, through a link, the program is the command of its own that does that.

use std::ffi::OsString;
use std::path::Path;

/// The names, and their commands.
pub const NAMES: [(&str, &str); 9] = [
    ("mpicc", "cc"),
    ("mpicxx", "c++"),
    ("mpic++", "c++"),
    ("mpiCC", "c++"),
    ("mpifort", "fc"),
    ("mpif90", "fc"),
    ("mpif77", "fc"),
    ("mpiexec", "exec"),
    ("mpirun", "exec"),
];

/// The arguments as those of `netloom`.
///
/// # Errors
/// What a launcher of that name does and this one does not.
pub fn as_netloom(args: Vec<OsString>) -> Result<Vec<OsString>, String> {
    let called = args.first().and_then(|path| Path::new(path).file_name()?.to_str());
    let Some(&(name, command)) = NAMES.iter().find(|(name, _)| Some(*name) == called) else {
        return Ok(args);
    };
    let words = &args[1..];
    let mut line: Vec<OsString> = vec!["netloom".into(), command.into()];
    if command == "exec" {
        if words.iter().any(|word| word == ":") {
            return Err(format!("{name} starts one program: `:` between several is not possible"));
        }
        if matches!(words.first().and_then(|word| word.to_str()), Some("-V" | "-version" | "--version")) {
            return Ok(vec!["netloom".into(), "--version".into()]);
        }
        if let Some(limit) = std::env::var_os("MPIEXEC_TIMEOUT").filter(|limit| !limit.is_empty()) {
            line.extend(["--timeout".into(), limit]);
        }
        line.extend(launcher_options(words));
    } else {
        // All arguments are the compiler's, even `--help`.
        line.extend(["--wrapper".into(), "--".into()]);
        line.extend_from_slice(words);
    }
    Ok(line)
}

/// Options of other launchers, up to the program, as those of `netloom exec`.
fn launcher_options(words: &[OsString]) -> Vec<OsString> {
    let mut line: Vec<OsString> = vec![];
    let mut words = words.iter().peekable();
    while let Some(word) = words.peek().and_then(|word| word.to_str()).filter(|word| word.starts_with('-')) {
        words.next();
        let name = word.trim_start_matches('-');
        match name {
            "" => {
                line.push(word.into());
                break;
            }
            "n" | "np" | "c" => line.extend(["-n".into()].into_iter().chain(words.next().cloned())),
            "wd" | "wdir" => line.extend(["--wdir".into()].into_iter().chain(words.next().cloned())),
            "env" | "genv" => {
                let mut variable = words.next().cloned().unwrap_or_default();
                variable.push("=");
                variable.push(words.next().cloned().unwrap_or_default());
                line.extend(["-x".into(), variable]);
            }
            // Without a value it is one that tasks have anyway, as they have all of the launcher's.
            "x" => {
                let variable = words.next().cloned().unwrap_or_default();
                if variable.to_string_lossy().contains('=') {
                    line.extend(["-x".into(), variable]);
                }
            }
            "bind-to" => {
                let to = words.next().and_then(|word| word.to_str()).unwrap_or_default();
                if ["core", "none"].contains(&to) {
                    line.extend(["--bind".into(), to.into()]);
                }
            }
            "initial-errhandler" => {
                line.extend(["--initial-errhandler".into()].into_iter().chain(words.next().cloned()));
            }
            "tag-output" | "prepend-rank" => line.push("--label".into()),
            "genvall" | "envall" | "oversubscribe" | "allow-run-as-root" => {}
            // The rest are its own; of one dash and several letters, none.
            _ if name.len() > 1
                && !word.starts_with("--")
                && !name.contains(|c: char| c.is_ascii_digit()) =>
            {
                line.push(format!("--{name}").into());
            }
            _ => {
                line.push(word.into());
                if ["timeout", "grace", "bind", "tasks"].contains(&name) {
                    line.extend(words.next().cloned());
                }
            }
        }
    }
    line.extend(words.cloned());
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(line: &str) -> String {
        let words = as_netloom(line.split(' ').map(Into::into).collect()).unwrap_or_else(|e| vec![e.into()]);
        words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn other_names_are_commands() {
        assert_eq!(line("/a/netloom run x"), "/a/netloom run x");
        assert_eq!(line("/a/mpicc --help -O2 a.c"), "netloom cc --wrapper -- --help -O2 a.c");
        assert_eq!(line("mpif90 a.f90"), "netloom fc --wrapper -- a.f90");
        assert_eq!(line("mpic++ -show"), "netloom c++ --wrapper -- -show");
        assert_eq!(line("mpiexec -n 4 ./p -n 3 -x"), "netloom exec -n 4 ./p -n 3 -x");
        assert_eq!(line("mpiexec --version"), "netloom --version");
    }

    #[test]
    fn options_of_other_launchers_are_understood() {
        let check = |options: &str, expected: &str| {
            assert_eq!(
                line(&format!("mpirun {options} p -env a b")),
                format!("netloom exec {expected} p -env a b")
            );
        };
        check("-np 2 --oversubscribe --allow-run-as-root", "-n 2");
        check("-genv A 1 -env B x=y -n 2", "-x A=1 -x B=x=y -n 2");
        check("-x HOME -x A=1 --bind-to none --bind-to socket", "-x A=1 --bind none");
        check("-wdir /tmp -l --timeout 3 --tag-output", "--wdir /tmp -l --timeout 3 --label");
        check("-initial-errhandler mpi_errors_abort", "--initial-errhandler mpi_errors_abort");
        check("-n2 --", "-n2 --");
        // An error of `netloom exec`, not the letters -h, -o, -s, -t.
        check("-host a", "--host a");
        assert!(line("mpiexec -n 1 a : -n 1 b").contains("one program"));
    }
}
