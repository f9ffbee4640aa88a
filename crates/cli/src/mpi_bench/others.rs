//! Other MPI libraries of this computer: where they are, and how a program runs on them.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The launchers that are looked for in `PATH`.
const LAUNCHERS: [&str; 4] = ["mpiexec.mpich", "mpiexec.openmpi", "mpiexec", "mpirun"];
const ABI_LIBRARY: &str = "libmpi_abi.so.1";

/// Another library.
#[derive(Debug, PartialEq)]
pub struct Other {
    launcher: PathBuf,
    program: PathBuf,
    /// The folder of its library with the standard ABI, if the program is the one of this library.
    libraries: Option<PathBuf>,
}

/// The libraries of these launchers, or those in `PATH` if there are none, with the program compiled for
/// each; and why some are left out.
pub fn find(wanted: &[PathBuf], program: &Path, folder: &Path) -> (Vec<Other>, Vec<String>) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path = || {
        let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
        let place = |name: &&str| folders.iter().map(|folder| folder.join(name)).find(|file| file.is_file());
        LAUNCHERS.iter().filter_map(place).collect::<Vec<_>>()
    };
    let launchers = if wanted.is_empty() { in_path() } else { wanted.to_vec() };
    let (mut found, mut left_out, mut known) = (vec![], vec![], vec![]);
    for launcher in launchers {
        let Ok(file) = launcher.canonicalize() else {
            left_out.push(format!("{}: there is no such file.", launcher.display()));
            continue;
        };
        // One launcher may have several names.
        if known.contains(&file) {
            continue;
        }
        known.push(file);
        match prepare(&launcher, program, &folder.join(format!("bench-{}", known.len()))) {
            Ok(other) => found.push(other),
            Err(reason) => left_out.push(reason),
        }
    }
    if found.is_empty() && left_out.is_empty() {
        left_out.push("Other MPI libraries: no mpiexec in PATH, and none is given by --beside.".into());
    }
    (found, left_out)
}

/// The library of a launcher: with the standard ABI the same program runs, otherwise its compiler makes one.
fn prepare(launcher: &Path, program: &Path, compiled: &Path) -> Result<Other, String> {
    let bin = launcher.parent().unwrap_or(Path::new("."));
    let libraries = bin.parent().map(|above| above.join("lib"));
    let launcher = launcher.to_owned();
    if let Some(libraries) = libraries.filter(|folder| folder.join(ABI_LIBRARY).exists()) {
        return Ok(Other { launcher, program: program.into(), libraries: Some(libraries) });
    }
    let compiler = compiler_of(&launcher);
    let source = program.with_extension("c");
    let made = Command::new(&compiler).arg("-O2").arg("-o").arg(compiled).arg(source).output();
    match made {
        Ok(output) if output.status.success() => {
            Ok(Other { launcher, program: compiled.into(), libraries: None })
        }
        Ok(output) => Err(format!(
            "{}: {} fails: {}",
            launcher.display(),
            compiler.display(),
            last_line(&output.stderr)
        )),
        Err(error) => Err(format!(
            "{}: it has no {ABI_LIBRARY}, and {} cannot be run: {error}.",
            launcher.display(),
            compiler.display()
        )),
    }
}

/// The compiler beside a launcher: `mpicc.openmpi` for `mpiexec.openmpi`.
fn compiler_of(launcher: &Path) -> PathBuf {
    let name = launcher.file_name().unwrap_or_default().to_string_lossy();
    let suffix = name.trim_start_matches("mpiexec").trim_start_matches("mpirun");
    launcher.with_file_name(format!("mpicc{suffix}"))
}

/// The last line that says something: messages may have rules around them.
fn last_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let says = |line: &&str| line.contains(char::is_alphanumeric);
    text.lines().rev().find(says).unwrap_or("without a message.").trim().to_owned()
}

impl Other {
    /// What it calls itself, or its launcher if it has not run.
    pub fn named(&self, name: String) -> String {
        if name.is_empty() { self.launcher.display().to_string() } else { name }
    }

    /// Runs the program; returns what it has printed.
    pub fn run(&self, ranks: usize, arguments: &[&str], limit: Duration) -> Result<String, String> {
        let mut command = Command::new(&self.launcher);
        // MPICH and Open MPI have these.
        command.args(["--bind-to", "core", "-n", &ranks.to_string()]).arg(&self.program).args(arguments);
        // Open MPI refuses to run for root, as in a container, unless both of these are set.
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        if let Some(libraries) = &self.libraries {
            command.env("LD_LIBRARY_PATH", libraries);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let failed = |reason: String| format!("{} with {ranks} ranks: {reason}", self.launcher.display());
        let mut running = command.spawn().map_err(|error| failed(error.to_string()))?;
        let [out, err] = [read_all(running.stdout.take()), read_all(running.stderr.take())];
        let began = Instant::now();
        let status = loop {
            match running.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if began.elapsed() < limit => std::thread::sleep(Duration::from_millis(20)),
                _ => {
                    let _ = running.kill();
                    let _ = running.wait();
                    return Err(failed(format!("it did not end within {} s.", limit.as_secs())));
                }
            }
        };
        let [out, err] = [out, err].map(|text| text.join().unwrap_or_default());
        if !status.success() {
            return Err(failed(format!("{status}: {}", last_line(&err))));
        }
        Ok(String::from_utf8_lossy(&out).into_owned())
    }
}

/// Reads a pipe to its end, in a thread of its own: a process that nobody reads from waits.
fn read_all(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = vec![];
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        bytes
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn script(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn compilers_are_those_of_their_launchers() {
        for (launcher, compiler) in [
            ("/a/mpiexec", "/a/mpicc"),
            ("/a/mpirun.mpich", "/a/mpicc.mpich"),
            ("/a/mpiexec.x", "/a/mpicc.x"),
        ] {
            assert_eq!(compiler_of(launcher.as_ref()), Path::new(compiler));
        }
    }

    #[test]
    fn a_library_with_the_standard_abi_runs_the_same_program_and_another_is_compiled_for() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        script(&at("same/bin/mpiexec"), "echo \"$LD_LIBRARY_PATH $*\"");
        std::fs::create_dir_all(at("same/lib")).unwrap();
        std::fs::write(at("same/lib").join(ABI_LIBRARY), "").unwrap();
        script(&at("own/bin/mpiexec"), "printf -- '----\\nno slots\\n----\\n' >&2; exit 3");
        script(&at("own/bin/mpicc"), "test -n \"$4\"");
        script(&at("bare/bin/mpiexec"), "");
        let launchers = ["same", "own", "bare", "none"].map(|name| at(name).join("bin/mpiexec"));
        let twice = [&launchers[..], &launchers[..1]].concat();
        let (found, left_out) = find(&twice, &at("bench"), folder.path());
        assert_eq!((found.len(), left_out.len()), (2, 2), "{left_out:?}");
        assert!(
            left_out[0].contains("no libmpi_abi.so.1") && left_out[1].contains("no such file"),
            "{left_out:?}"
        );
        let printed = found[0].run(2, &["collectives"], Duration::from_secs(10)).unwrap();
        let expected =
            format!("{} --bind-to core -n 2 {} collectives", at("same/lib").display(), at("bench").display());
        assert_eq!(printed.trim(), expected);
        assert_eq!(found[1].program, at("bench-2"));
        let reason = found[1].run(2, &[], Duration::from_secs(10)).unwrap_err();
        assert!(reason.contains("no slots") && reason.contains('3'), "{reason}");
    }
}
