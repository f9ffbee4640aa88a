//! A folder that build tools take for an installed MPI: links to this program, the headers and the libraries,
//! and files of pkg-config.

use super::{Folders, LIBRARY, MPI_LIBRARY, fortran, mpi_library};
use crate::Trouble;
use netloom_study::diagnose::Problem;
use std::io::{Error, ErrorKind, Write};
use std::path::Path;

const HEADERS: [&str; 4] = ["mpi.h", "pami.h", "pami_ext.h", "pami_sys.h"];
/// Files of pkg-config, and the library of each.
const PACKAGES: [(&str, &str, &str); 3] = [
    ("mpi_abi.pc", "mpi_abi", "MPI with the standard ABI of MPI 5.0"),
    ("mpi.pc", "mpi_abi", "MPI with the standard ABI of MPI 5.0"),
    ("pami.pc", "pami", "PAMI"),
];

/// Makes the folder, or brings its links up to date.
pub fn install(folder: &Path, from: &Folders, out: &mut dyn Write) -> Result<u8, Trouble> {
    let library = from.library.expect("links lead to libraries");
    mpi_library(library)?;
    let folder = make(folder, from, library)
        .map_err(|e| Problem::new(format!("cannot make links in {}: {e}", folder.display())))?;
    writeln!(out, "{}", folder.display())?;
    Ok(crate::OK)
}

fn make(folder: &Path, from: &Folders, library: &Path) -> Result<std::path::PathBuf, Error> {
    let headers = from.header;
    for name in ["bin", "include", "lib/pkgconfig"] {
        std::fs::create_dir_all(folder.join(name))?;
    }
    let folder = folder.canonicalize()?;
    let own = std::env::current_exe()?;
    for (name, _) in crate::names::NAMES {
        link(&own, &folder.join("bin").join(name))?;
    }
    for name in HEADERS.iter().filter(|name| headers.join(name).is_file()) {
        link(&headers.join(name), &folder.join("include").join(name))?;
    }
    for name in [MPI_LIBRARY, &format!("{MPI_LIBRARY}.1"), LIBRARY] {
        if library.join(name).is_file() {
            link(&library.join(name), &folder.join("lib").join(name))?;
        }
    }
    for (file, name, description) in PACKAGES {
        let text = package(name, description, headers, library);
        std::fs::write(folder.join("lib/pkgconfig").join(file), text)?;
    }
    if let Some(interfaces) = from.fortran {
        for name in std::fs::read_dir(interfaces)?.map(|entry| Ok::<_, Error>(entry?.file_name())) {
            let name = name?;
            let is_library = name == *fortran::LIBRARY;
            let place = folder.join(if is_library { "lib" } else { "include" }).join(&name);
            link(&interfaces.join(&name), &place)?;
        }
        let text = fortran_package(interfaces);
        std::fs::write(folder.join("lib/pkgconfig/mpi-fort.pc"), text)?;
    }
    Ok(folder)
}

/// A link in place of another one. What is no link stays, and is an error unless it is the same file.
fn link(to: &Path, at: &Path) -> Result<(), Error> {
    match at.symlink_metadata() {
        Ok(found) if found.is_symlink() => std::fs::remove_file(at)?,
        Ok(_) if at.canonicalize()? == to.canonicalize()? => return Ok(()),
        Ok(_) => {
            let why = format!("{} exists and is no link", at.display());
            return Err(Error::new(ErrorKind::AlreadyExists, why));
        }
        Err(_) => {}
    }
    #[cfg(unix)]
    return std::os::unix::fs::symlink(to, at);
    #[cfg(not(unix))]
    return Err(Error::new(ErrorKind::Unsupported, "links need Unix"));
}

/// A file of pkg-config. The folders are those of the libraries and headers, not those of the links, so a
/// program that was linked finds them when the links have been removed.
fn package(name: &str, description: &str, headers: &Path, library: &Path) -> String {
    format!(
        "includedir={}\nlibdir={}\n\nName: {name}\nDescription: {description}, of Netloom\nVersion: {}\n\
         Cflags: -I${{includedir}}\nLibs: -L${{libdir}} -Wl,-rpath,${{libdir}} -l{name}\n",
        escaped(headers),
        escaped(library),
        env!("CARGO_PKG_VERSION"),
    )
}

/// The same for programs in Fortran, which need both libraries.
fn fortran_package(interfaces: &Path) -> String {
    format!(
        "fortrandir={}\n\nName: {name}\nDescription: MPI's interfaces for Fortran, of Netloom\nVersion: {}\nRequires: mpi_abi\n\
         Cflags: -I${{fortrandir}} {}\nLibs: -L${{fortrandir}} -Wl,-rpath,${{fortrandir}} -l{name}\n",
        escaped(interfaces),
        env!("CARGO_PKG_VERSION"),
        fortran::COMPILE_FLAGS.join(" "),
        name = fortran::LIBRARY_NAME,
    )
}

/// A path as pkg-config reads it.
fn escaped(path: &Path) -> String {
    path.display().to_string().replace('\\', "\\\\").replace(' ', "\\ ")
}
