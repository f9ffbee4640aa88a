//! What programs in Fortran need besides the libraries: modules, `mpif.h` and the library that passes calls
//! on, compiled once for each compiler and kept in a folder of its own.

use super::{FORTRAN, joined, mpi_library};
use netloom_fortran::{GLUE, INCLUDED, MODULES, sources};
use netloom_study::diagnose::Problem;
use std::ffi::OsString;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The library, and its name for the linker.
pub const LIBRARY: &str = "libmpifort_abi.so";
pub const LIBRARY_NAME: &str = "mpifort_abi";
/// Programs without a module pass buffers of different types to one function.
pub const COMPILE_FLAGS: [&str; 1] = ["-fallow-argument-mismatch"];
/// Earlier ones give C wrong descriptors of arrays.
const VERSION_MIN: u32 = 12;
/// With these an INTEGER has 8 bytes, and MPI's has 4.
const LONG_INTEGERS: [&str; 3] = ["-fdefault-integer-8", "-finteger-4-integer-8", "-i8"];

/// A Fortran compiler.
struct Compiler<'a> {
    /// The words of its command.
    words: Vec<&'a str>,
    version: String,
}

impl<'a> Compiler<'a> {
    fn find(command: &'a str, variable: &str) -> Result<Self, Problem> {
        let words: Vec<&str> = command.split_whitespace().collect();
        let ask = |question| {
            let mut command = Command::new(words[0]);
            command.args(&words[1..]).arg(question).env_remove(variable).output()
        };
        let output = ask("-dumpfullversion").map_err(|e| {
            Problem::new(format!("cannot run the Fortran compiler `{}`: {e}", words[0]))
                .help(FORTRAN.missing(variable))
        })?;
        let version = String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_string();
        let named = ask("--version").map(|output| output.stdout).unwrap_or_default();
        let is_gnu = named.starts_with(b"GNU Fortran");
        let help = format!("Set {variable} to GNU Fortran {VERSION_MIN} or later");
        let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
        match major.filter(|_| is_gnu) {
            Some(major) if major >= VERSION_MIN => Ok(Compiler { words, version }),
            Some(_) => {
                let what =
                    format!("`{}` is GNU Fortran {version}, whose descriptors of arrays are wrong", words[0]);
                Err(Problem::new(what).help(help))
            }
            None => Err(Problem::new(format!("`{}` is not GNU Fortran", words[0])).help(help)),
        }
    }

    /// The name of the folder: another compiler, other sources and another library have another one.
    fn folder_name(&self, header: &str, library: &Path) -> String {
        let mut hasher = DefaultHasher::new();
        (program(self.words[0]), &self.words[1..], &self.version, header, library).hash(&mut hasher);
        for source in sources() {
            (source.name, source.text).hash(&mut hasher);
        }
        format!("gfortran-{}-{:016x}", self.version, hasher.finish())
    }

    fn run(&self, folder: &Path, args: &[OsString]) -> Result<(), Problem> {
        // A path is one from the folder of the call.
        let is_path = Path::new(self.words[0]).components().count() > 1;
        let named = if is_path { std::path::absolute(self.words[0]).ok() } else { None };
        let mut command = Command::new(named.unwrap_or_else(|| self.words[0].into()));
        command.args(&self.words[1..]).args(args).current_dir(folder);
        let what = || format!("the Fortran interfaces are not compiled by `{}`", self.words[0]);
        let output = command.output().map_err(|e| Problem::new(format!("{}: {e}", what())))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr).lines().take(6).collect::<Vec<_>>().join("\n");
        Err(Problem::new(format!("{}:\n{said}", what()))
            .help("It also compiles a part in C, which needs gcc of the same version"))
    }
}

/// The file of a command, whatever it was called.
fn program(command: &str) -> PathBuf {
    let named = PathBuf::from(command);
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let in_path =
        || std::env::split_paths(&folders).map(|folder| folder.join(&named)).find(|at| at.is_file());
    let found = if named.components().count() > 1 { Some(named.clone()) } else { in_path() };
    found.and_then(|found| found.canonicalize().ok()).unwrap_or(named)
}

/// Whether a command is this program, as after `FC=mpifort ./configure`: then the usual compiler is meant.
pub fn is_own(command: &str) -> bool {
    let own = std::env::current_exe().and_then(|own| own.canonicalize()).ok();
    command.split_whitespace().next().is_some_and(|first| own == Some(program(first)))
}

/// Folders in which interfaces are kept: beside the library, or the user's.
fn places(library: &Path) -> Vec<PathBuf> {
    let of_user = std::env::var_os("XDG_CACHE_HOME").filter(|path| Path::new(path).is_absolute());
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let cache = of_user.map(PathBuf::from).or_else(home);
    [Some(library.join("fortran")), cache.map(|cache| cache.join("netloom/fortran"))]
        .into_iter()
        .flatten()
        .collect()
}

/// The folder with modules, `mpif.h` and the library, which are compiled if they are not there.
pub fn prepare(
    command: &str,
    variable: &str,
    headers: &Path,
    library: &Path,
    args: &[OsString],
) -> Result<PathBuf, Problem> {
    mpi_library(library)?;
    let words = command.split_whitespace().map(OsString::from);
    if let Some(flag) =
        words.chain(args.iter().cloned()).find(|word| LONG_INTEGERS.iter().any(|of| word == of))
    {
        return Err(Problem::new(format!("{} makes an INTEGER of 8 bytes, and MPI's has 4", flag.display()))
            .help("Declare the integers that need 8 bytes with a kind, and pass others to MPI"));
    }
    let compiler = Compiler::find(command, variable)?;
    let header = fs::read_to_string(headers.join("mpi.h"))
        .map_err(|e| Problem::new(format!("cannot read {}: {e}", headers.join("mpi.h").display())))?;
    let name = compiler.folder_name(&header, library);
    let places = places(library);
    if let Some(found) = places.iter().map(|place| place.join(&name)).find(|folder| folder.is_dir()) {
        return Ok(found);
    }
    let mut whys = vec![];
    for place in &places {
        match lock(place) {
            Ok(_locked) => {
                let folder = place.join(&name);
                // Another process was first.
                if !folder.is_dir() {
                    build(&compiler, place, &folder, headers, library)?;
                }
                return Ok(folder);
            }
            Err(e) => whys.push(format!("{}: {e}", place.display())),
        }
    }
    Err(Problem::new(format!("the Fortran interfaces cannot be kept: {}", whys.join("; ")))
        .help("Set XDG_CACHE_HOME to a folder that can be written"))
}

/// One process at a time compiles: the others wait for what it makes.
fn lock(place: &Path) -> Result<File, Error> {
    fs::create_dir_all(place)?;
    let file = File::create(place.join("lock"))?;
    file.lock()?;
    Ok(file)
}

/// Compiles in a folder of its own, which gets its name when all is there.
fn build(
    compiler: &Compiler,
    place: &Path,
    folder: &Path,
    headers: &Path,
    library: &Path,
) -> Result<(), Problem> {
    let failed = |e: Error| Problem::new(format!("cannot write to {}: {e}", place.display()));
    let scratch = tempfile::Builder::new().prefix("build-").tempdir_in(place).map_err(failed)?;
    let made = scratch.path().join("made");
    fs::create_dir(&made).map_err(failed)?;
    for source in sources() {
        fs::write(scratch.path().join(source.name), source.text).map_err(failed)?;
    }
    let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
    let mut link = words("-shared -o");
    link.push(joined("made/", LIBRARY.as_ref()));
    let compile_modules = || {
        for name in MODULES {
            let line = format!("-O1 -fPIC -w -Jmade -c {name} -o {name}.o");
            compiler.run(scratch.path(), &words(&line))?;
        }
        Ok::<(), Problem>(())
    };
    let compile_glue = |names: &[&str]| {
        for name in names {
            let mut line =
                words(&format!("-std=gnu11 -O1 -fPIC -fvisibility=hidden -w -c {name} -o {name}.o"));
            line.push(joined("-I", headers));
            compiler.run(scratch.path(), &line)?;
        }
        Ok::<(), Problem>(())
    };
    // The two longest files at the same time.
    let (first, second) = GLUE.split_at(GLUE.len() - 1);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| compile_glue(second));
        compile_modules()?;
        compile_glue(first)?;
        other.join().expect("it does not panic")
    })?;
    link.extend(MODULES.iter().chain(&GLUE).map(|name| OsString::from(format!("{name}.o"))));
    link.extend(words(&format!("-Wl,-soname,{LIBRARY} -Wl,-z,defs -lmpi_abi -lpthread")));
    link.extend([joined("-L", library), joined("-Wl,-rpath,", library)]);
    compiler.run(scratch.path(), &link)?;
    fs::copy(scratch.path().join(INCLUDED), made.join(INCLUDED)).map_err(failed)?;
    fs::rename(&made, folder).map_err(failed)
}
