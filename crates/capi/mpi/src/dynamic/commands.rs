//! Which programs are to be started, of which processes how many: what `MPI_Comm_spawn` is given, and the
//! files that it means.

use crate::errhandlers::{self, INITIAL};
use crate::info::Info;
use netloom_mpi::error::{Class, Error};
use netloom_shm::launch::Command;
use std::ffi::{CStr, CString, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

fn refused(why: impl Into<String>) -> Error {
    Error::new(Class::Spawn, why.into())
}

/// Strings up to a NULL; none if the list is `MPI_ARGV_NULL`.
///
/// # Safety
/// The program gave such a list.
unsafe fn list(argv: *mut *mut c_char) -> Vec<Vec<u8>> {
    let mut all = vec![];
    // SAFETY: the caller's promise.
    unsafe {
        while !argv.is_null() && !(*argv.add(all.len())).is_null() {
            all.push(CStr::from_ptr(*argv.add(all.len())).to_bytes().to_vec());
        }
    }
    all
}

/// A command with its arguments, of so many processes, and hints.
///
/// # Safety
/// The program gave strings and list.
pub unsafe fn command(
    name: *const c_char,
    argv: *mut *mut c_char,
    maxprocs: i32,
    hints: &Info,
) -> Result<Command, Error> {
    if name.is_null() {
        return Err(Error::new(Class::Arg, "command is NULL"));
    }
    let Ok(most) = u32::try_from(maxprocs) else {
        return Err(Error::new(Class::Arg, format!("maxprocs is {maxprocs}, which is negative")));
    };
    // SAFETY: the caller's promise.
    let (name, arguments) = unsafe { (CStr::from_ptr(name).to_bytes().to_vec(), list(argv)) };
    if let Some(host) = hints.get("host") {
        check_host(host)?;
    }
    let counts = match hints.get("soft") {
        Some(soft) => counts(soft, most)?,
        None => vec![most],
    };
    let here = std::env::current_dir().map_err(|e| refused(format!("the current folder: {e}")))?;
    let folder = hints.get("wdir").map_or_else(|| here.clone(), |folder| here.join(folder));
    if !folder.is_dir() {
        return Err(refused(format!("wdir is `{}`, which is no folder", folder.display())));
    }
    let program = find(OsStr::from_bytes(&name), &here, &folder, hints.get("path"))?;
    let errhandler = hints.get("mpi_initial_errhandler").unwrap_or("mpi_errors_are_fatal");
    if errhandlers::predefined(errhandler).is_none() {
        let text =
            format!("mpi_initial_errhandler is `{errhandler}`, which is none of {}", errhandlers::NAMES);
        return Err(Error::new(Class::Arg, text));
    }
    let environment = vec![format!("{INITIAL}={errhandler}").into_bytes()];
    let bytes = |path: PathBuf| path.into_os_string().into_encoded_bytes();
    Ok(Command { program: bytes(program), name, arguments, folder: bytes(folder), environment, counts })
}

/// That processes on this host can be started.
fn check_host(host: &str) -> Result<(), Error> {
    let own = crate::environment::host_name();
    let short = own.split('.').next().unwrap_or_default();
    match host == "localhost" || host == "127.0.0.1" || host == own || host == short {
        true => Ok(()),
        false => Err(refused(format!("host is `{host}`, and processes run on {own} alone"))),
    }
}

/// The numbers of processes of `soft`, up to the greatest, which come first: "2:8:2,16".
fn counts(soft: &str, most: u32) -> Result<Vec<u32>, Error> {
    let invalid =
        || Error::new(Class::Arg, format!("soft is `{soft}`, which is no list of numbers and ranges"));
    let mut all = vec![];
    for range in soft.split(',') {
        let numbers: Result<Vec<i64>, _> = range.split(':').map(|number| number.trim().parse()).collect();
        let (first, last, step) = match numbers.map_err(|_| invalid())?[..] {
            [n] => (n, n, 1),
            [first, last] => (first, last, 1),
            [first, last, step] if step != 0 => (first, last, step),
            _ => return Err(invalid()),
        };
        let mut at = first;
        while (step > 0 && at <= last.min(most.into())) || (step < 0 && at >= last.max(1)) {
            all.extend(u32::try_from(at).ok().filter(|n| (1..=most).contains(n)));
            at = at.saturating_add(step);
        }
    }
    all.sort_unstable_by(|a, b| b.cmp(a));
    all.dedup();
    if all.is_empty() {
        Err(refused(format!("soft is `{soft}`, and maxprocs is {most}: no number is left")))
    } else {
        Ok(all)
    }
}

/// The file of a program: by its path, from this folder or from that in which it starts; or by its name in
/// the folders of the hint `path`, and in those of `PATH`.
fn find(name: &OsStr, here: &Path, folder: &Path, path: Option<&str>) -> Result<PathBuf, Error> {
    let shown = name.display();
    let is_path = name.as_bytes().contains(&b'/');
    let candidates: Vec<PathBuf> = if is_path {
        [here, folder].map(|from| from.join(name)).into()
    } else {
        let own = std::env::var_os("PATH").unwrap_or_default();
        let given = path.map(std::env::split_paths).into_iter().flatten();
        given.chain(std::env::split_paths(&own)).map(|from| here.join(from).join(name)).collect()
    };
    let mut found = candidates.iter().filter(|path| path.is_file()).peekable();
    let has_one = found.peek().is_some();
    match found.find(|path| is_executable(path)) {
        Some(path) => Ok(path.clone()),
        None if has_one => Err(refused(format!("`{shown}` is not executable"))),
        None if is_path => Err(refused(format!("there is no program `{shown}`"))),
        None if here.join(name).is_file() => Err(refused(format!(
            "there is no program `{shown}` in PATH; the one in this folder is `./{shown}`"
        ))),
        None => Err(refused(format!("there is no program `{shown}` in PATH"))),
    }
}

fn is_executable(path: &Path) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: a system call with a string.
    unsafe { libc::access(path.as_ptr(), libc::X_OK) == 0 }
}
