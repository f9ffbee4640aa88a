//! `netloom fc`: the programs of `tests/fortran`, natively and as guests of a simulated Blue Gene/Q. Each
//! checks its data itself. They are skipped where there is no gfortran.
#![cfg(target_os = "linux")]

mod installation;

use installation::{command, installed, output, text};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Whether there is a compiler that `netloom fc` takes.
fn has_compiler() -> bool {
    let version = Command::new("gfortran").arg("-dumpfullversion").output();
    let major =
        version.ok().and_then(|said| text(&said.stdout).split('.').next()?.trim().parse::<u32>().ok());
    let is_there = major.is_some_and(|major| major >= 12);
    if !is_there {
        eprintln!("skipped: there is no gfortran of version 12 or later");
    }
    is_there
}

fn sources() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fortran");
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

/// Compiles a program in the folder.
fn compile(at: &Path, source: &Path) -> String {
    let name = source.file_stem().unwrap().to_str().unwrap();
    output(command(at.join("own/bin/netloom"), at).args(["fc", "-O1", "-o", name]).arg(source));
    format!("./{name}")
}

/// In one folder, since the interfaces are compiled once for each.
#[test]
fn programs_run_in_both_worlds_and_tools_see_their_calls() {
    if !has_compiler() {
        return;
    }
    let (_folder, at) = installed("own");
    programs_check_their_data(&at);
    c_uses_handles_of_fortran(&at);
    a_solver_prints_what_that_in_c_prints(&at);
    tools_in_either_language_see_the_calls(&at);
}

fn programs_check_their_data(at: &Path) {
    for source in sources() {
        let program = compile(at, &source);
        for ranks in ["1", "2", "3", "8"] {
            let printed =
                output(command(at.join("own/bin/netloom"), at).args(["exec", "-n", ranks, &program]));
            assert_eq!(printed.lines().count(), 1, "{program} with {ranks} ranks: {printed}");
        }
        for (ranks, per_node) in [("2", "1"), ("5", "1"), ("8", "4")] {
            let options = ["mpirun", "--machine", "bgq", "-q", "-n", ranks, "--ppn", per_node, &program];
            output(command(at.join("own/bin/netloom"), at).args(options));
        }
    }
}

fn c_uses_handles_of_fortran(at: &Path) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fortran_and_c");
    let netloom = at.join("own/bin/netloom");
    output(command(&netloom, at).args(["cc", "-c", "-o", "called.o"]).arg(folder.join("called.c")));
    let sources = [folder.join("handles.f90"), at.join("called.o")];
    output(command(&netloom, at).args(["fc", "-o", "with_c"]).args(sources));
    for words in ["exec -n 3 ./with_c", "mpirun --machine bgq -q -n 2 ./with_c"] {
        let printed = output(command(&netloom, at).args(words.split(' ')));
        assert_eq!(printed.trim(), "C and Fortran agree");
    }
}

fn a_solver_prints_what_that_in_c_prints(at: &Path) {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/mpi");
    let netloom = at.join("own/bin/netloom");
    let solver = compile(at, &examples.join("heat.f90"));
    let in_c = examples.join("jacobi.c");
    output(command(&netloom, at).args(["cc", "-O1", "-o", "jacobi"]).arg(in_c).arg("-lm"));
    let first = |words: &str| {
        let printed = output(command(&netloom, at).args(words.split(' ')));
        printed.lines().next().map(String::from)
    };
    let expected = first("exec -n 2 ./jacobi");
    assert!(expected.as_ref().is_some_and(|line| line.contains("2000 steps")), "{expected:?}");
    for words in ["exec -n 1", "exec -n 3", "mpirun --machine bgq -q -n 4"] {
        assert_eq!(first(&format!("{words} {solver}")), expected);
    }
}

/// The names of a Fortran wrapper, and CMake, pkg-config and what they ask.
#[test]
fn build_tools_find_what_is_needed() {
    if !has_compiler() {
        return;
    }
    let (_folder, at) = installed("own");
    let hello =
        std::fs::canonicalize(sources().into_iter().find(|of| of.ends_with("hello.f90")).unwrap()).unwrap();
    let mpifort = at.join("links/bin/mpifort");
    output(command(&mpifort, &at).args(["-c", "-o", "hello.o"]).arg(&hello));
    output(command(at.join("links/bin/mpif90"), &at).args(["-o", "hello", "hello.o"]));
    assert_eq!(output(command(at.join("links/bin/mpiexec"), &at).args(["-n", "3", "./hello"])), "3 ranks\n");
    let version = output(command(&mpifort, &at).arg("--version"));
    assert_eq!(version, output(command("gfortran", &at).arg("--version")));
    // Variables that name this program.
    output(
        command(&mpifort, &at).env("FC", &mpifort).env("MPI_FC", &mpifort).args(["-o", "again", "hello.o"]),
    );
    let netloom = at.join("own/bin/netloom");
    let own = format!("{} fc", netloom.display());
    output(command(&netloom, &at).env("FC", own).args(["fc", "-o", "again", "hello.o"]));
    let ask = |question: &str| output(command(&mpifort, &at).arg(question)).trim_end().to_owned();
    let folders = ask("-showme:incdirs");
    let interfaces = folders.split(' ').next().unwrap();
    assert!(Path::new(interfaces).join("mpi_f08.mod").is_file(), "{folders}");
    let lib = at.join("own/lib");
    let linked = format!(
        "-L{interfaces} -Wl,-rpath,{interfaces} -lmpifort_abi -L{0} -Wl,-rpath,{0} -lmpi_abi",
        lib.display()
    );
    assert_eq!(ask("-showme:link"), linked);
    assert!(Path::new(interfaces).starts_with(lib.join("fortran")), "{interfaces}");
    // Compiled once.
    let kept = || std::fs::read_dir(lib.join("fortran")).unwrap().count();
    assert_eq!(kept(), 2, "interfaces, and a lock");

    output(command(at.join("own/bin/netloom"), &at).args(["fc", "--install-links", "links"]));
    assert!(at.join("links/include/mpif.h").is_file() && at.join("links/lib/libmpifort_abi.so").is_file());
    if Command::new("pkg-config").arg("--version").output().is_ok() {
        let mut shell = command("sh", &at);
        shell.env("PKG_CONFIG_PATH", at.join("links/lib/pkgconfig"));
        let flags = "$(pkg-config --cflags --libs mpi-fort)";
        let script = format!("eval gfortran -o by_flags {} {flags} && ./by_flags", hello.display());
        assert_eq!(output(shell.args(["-c", &script])), "1 ranks\n");
    }
    if Command::new("cmake").arg("--version").output().is_ok() {
        let lists = format!(
            "cmake_minimum_required(VERSION 3.12)\nproject(ranks Fortran)\nfind_package(MPI REQUIRED COMPONENTS Fortran)\n\
             if(NOT MPI_Fortran_HAVE_F08_MODULE OR NOT MPI_Fortran_HAVE_F90_MODULE OR NOT MPI_Fortran_HAVE_F77_HEADER)\n  \
             message(FATAL_ERROR \"an interface is missing\")\nendif()\nadd_executable(hello {})\n\
             target_link_libraries(hello MPI::MPI_Fortran)\n",
            hello.display()
        );
        std::fs::write(at.join("CMakeLists.txt"), lists).unwrap();
        let configured = output(command("cmake", &at).args(["-S", ".", "-B", "build", "-DMPI_HOME=links"]));
        assert!(configured.contains("(found version \"5.0\")"), "{configured}");
        output(command("cmake", &at).args(["--build", "build"]));
        assert_eq!(output(&mut command("build/hello", &at)), "1 ranks\n");
    }
    assert_eq!(kept(), 2);
}

/// A tool in C sees the calls of a program in Fortran; one in Fortran calls what is beneath.
fn tools_in_either_language_see_the_calls(at: &Path) {
    let tool = "#include <mpi.h>\n#include <stdio.h>\nstatic int calls;\n\
                int MPI_Barrier(MPI_Comm comm) { calls++; return PMPI_Barrier(comm); }\n\
                int MPI_Finalize(void) { printf(\"%d in C\\n\", calls); return PMPI_Finalize(); }\n";
    let program = "program p\n  use mpi_f08\n  call MPI_Init()\n  call MPI_Barrier(MPI_COMM_WORLD)\n  \
                   call PMPI_Barrier(MPI_COMM_WORLD)\n  call MPI_Finalize()\nend program\n";
    let replaced = "      subroutine MPI_BARRIER(comm, ierror)\n      integer comm, ierror\n      print '(a)', 'in Fortran'\n      \
                    call PMPI_BARRIER(comm, ierror)\n      end\n";
    let plain = "      program p\n      include 'mpif.h'\n      integer ierror\n      call MPI_INIT(ierror)\n      \
                 call MPI_BARRIER(MPI_COMM_WORLD, ierror)\n      call MPI_FINALIZE(ierror)\n      end\n";
    for (name, written) in
        [("tool.c", tool), ("p.f90", program), ("replaced.f", replaced), ("plain.f", plain)]
    {
        std::fs::write(at.join(name), written).unwrap();
    }
    let netloom = at.join("own/bin/netloom");
    output(command(&netloom, at).args(["fc", "-o", "p", "p.f90", "tool.c"]));
    assert_eq!(output(&mut command("./p", at)), "1 in C\n");
    output(command(&netloom, at).args(["fc", "-o", "plain", "plain.f", "replaced.f", "tool.c"]));
    assert_eq!(output(&mut command("./plain", at)), "in Fortran\n0 in C\n");
}

/// What a program does wrong, or a computer lacks, is reported.
#[test]
fn what_is_missing_is_reported() {
    let (_folder, at) = installed("own");
    std::fs::write(at.join("p.f90"), "use mpi\nend\n").unwrap();
    let refused = |compiler: &str, flag: &str| {
        let mut netloom = command(at.join("own/bin/netloom"), &at);
        let output = netloom.env("FC", compiler).args(["fc", "-o", "p", flag, "p.f90"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        text(&output.stderr)
    };
    let said = refused("no-such-compiler", "-O1");
    assert!(said.contains("cannot run the Fortran compiler `no-such-compiler`"), "{said}");
    assert!(said.contains("Install a Fortran compiler, or set FC to its name"), "{said}");
    let said = refused("cc", "-O1");
    assert!(said.contains("`cc` is not GNU Fortran") && said.contains("Set FC to GNU Fortran 12"), "{said}");
    let said = refused("gfortran", "-fdefault-integer-8");
    assert!(said.contains("-fdefault-integer-8 makes an INTEGER of 8 bytes, and MPI's has 4"), "{said}");
    assert!(!at.join("own/lib/fortran").exists());
}

/// Several compile at the same time, where the interfaces are not there yet, and where the library's folder
/// cannot be written.
#[test]
fn several_calls_at_a_time_compile_the_interfaces_once() {
    if !has_compiler() {
        return;
    }
    let (_folder, at) = installed("own");
    std::fs::write(at.join("p.f90"), "use mpi_f08\ncall MPI_Init()\ncall MPI_Finalize()\nend\n").unwrap();
    // No folder can be made where a file is.
    std::fs::write(at.join("own/lib/fortran"), "").unwrap();
    let cache = at.join("cache");
    let children: Vec<_> = (0..4)
        .map(|i| {
            let mut netloom = command(at.join("own/bin/netloom"), &at);
            netloom.env("XDG_CACHE_HOME", &cache).args(["fc", "-o", &format!("p{i}"), "p.f90"]);
            netloom.spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    for i in 0..4 {
        output(&mut command(format!("./p{i}"), &at));
    }
    assert_eq!(
        std::fs::read_dir(cache.join("netloom/fortran")).unwrap().count(),
        2,
        "interfaces, and a lock"
    );
}
