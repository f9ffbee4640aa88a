//! Netloom as it is installed, with its libraries, in a folder of a test.
#![allow(dead_code)] // Each test uses a part.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A program for C and C++ that checks the number of ranks and one message.
const PROGRAM: &str = r#"
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
    int rank, size, sum, one = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("%d of %d %s\n", sum, size, argc > 1 ? argv[1] : "");
    MPI_Finalize();
    return sum != size;
}
"#;

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A command in a folder, without what Cargo and users set.
pub fn command(program: impl AsRef<std::ffi::OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder);
    for name in [
        "CC",
        "CXX",
        "FC",
        "MPI_CC",
        "MPI_CXX",
        "MPI_FC",
        "MPICH_CC",
        "MPICH_CXX",
        "MPICH_FC",
        "MPIEXEC_TIMEOUT",
        "LD_LIBRARY_PATH",
    ] {
        command.env_remove(name);
    }
    command
}

pub fn output(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    assert!(status.success(), "{command:?}: {status}\n{}{}", text(&stdout), text(&stderr));
    text(&stdout)
}

/// A folder with `NAME/bin/netloom`, its libraries, the program's source, and `links`, made by `netloom cc
/// --install-links`.
pub fn installed(name: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().canonicalize().unwrap();
    let own = at.join(name);
    for name in ["bin", "lib"] {
        std::fs::create_dir_all(own.join(name)).unwrap();
    }
    let (from, to) = (env!("CARGO_BIN_EXE_netloom"), own.join("bin/netloom"));
    std::fs::hard_link(from, &to).or_else(|_| std::fs::copy(from, &to).map(|_| ())).unwrap();
    let built = std::env::current_exe().unwrap().parent().unwrap().to_path_buf();
    for name in ["libmpi_abi.so", "libmpi_abi.so.1", "libpami.so"] {
        std::os::unix::fs::symlink(built.join(name), own.join("lib").join(name)).unwrap();
    }
    for source in ["a.c", "a.cpp"] {
        std::fs::write(at.join(source), PROGRAM).unwrap();
    }
    // Twice: links that are there are brought up to date.
    for _ in 0..2 {
        let printed = output(command(&to, &at).args(["cc", "--install-links", "links"]));
        assert_eq!(printed, format!("{}\n", at.join("links").display()));
    }
    (folder, at)
}
