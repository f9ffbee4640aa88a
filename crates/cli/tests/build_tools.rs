//! Netloom as the MPI that build tools find: compilers and a launcher by their usual names, pkg-config,
//! CMake.
#![cfg(target_os = "linux")]

mod installation;

use installation::{command, installed, output, text};
use std::path::Path;
use std::process::Command;

const CMAKE: &str = r#"
cmake_minimum_required(VERSION 3.12)
project(ranks C CXX)
enable_testing()
find_package(MPI REQUIRED)
add_executable(in_c a.c)
target_link_libraries(in_c MPI::MPI_C)
add_executable(in_cxx a.cpp)
target_link_libraries(in_cxx MPI::MPI_CXX)
foreach(program in_c in_cxx)
    add_test(NAME ${program}
        COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 3 ${MPIEXEC_PREFLAGS} $<TARGET_FILE:${program}> done)
    set_tests_properties(${program} PROPERTIES PASS_REGULAR_EXPRESSION "3 of 3 done")
endforeach()
"#;

fn is_there(program: &str) -> bool {
    let is_there = Command::new(program).arg("--version").output().is_ok();
    if !is_there {
        eprintln!("skipped: {program} is not installed");
    }
    is_there
}

#[test]
fn mpicc_compiles_and_mpiexec_runs() {
    let (_folder, at) = installed("own");
    let bin = at.join("links/bin");
    output(command(bin.join("mpicc"), &at).args(["-o", "a", "a.c"]));
    output(command(bin.join("mpicxx"), &at).args(["-o", "b", "a.cpp"]));
    assert_eq!(output(command(bin.join("mpiexec"), &at).args(["-n", "2", "./a", "-n"])), "2 of 2 -n\n");
    let options = ["-np", "3", "--oversubscribe", "-genv", "A", "1", "./b"];
    assert_eq!(output(command(bin.join("mpirun"), &at).args(options)), "3 of 3 \n");
    // Without a launcher it is a world of one.
    assert_eq!(output(&mut command("./a", &at)), "1 of 1 \n");
    // The compiler's own options, and variables that name this program.
    let version = output(command(bin.join("mpicc"), &at).arg("--version"));
    assert_eq!(version, output(command("cc", &at).arg("--version")));
    let mpicc = bin.join("mpicc");
    output(command(&mpicc, &at).env("CC", &mpicc).env("MPI_CC", &mpicc).args(["-o", "a", "a.c"]));
    let netloom = at.join("own/bin/netloom");
    output(command(&netloom, &at).env("CC", format!("{} cc", netloom.display())).args(["cc", "-c", "a.c"]));
}

#[test]
fn a_wrapper_answers_as_those_of_other_libraries() {
    let (_folder, at) = installed("own");
    let lib = at.join("own/lib");
    let lib = lib.display();
    let ask = |question: &str| {
        let mut mpicc = command(at.join("links/bin/mpicc"), &at);
        output(mpicc.env("MPICH_CC", "gcc").args(question.split(' '))).trim_end().to_owned()
    };
    let include = ask("-showme:incdirs");
    assert!(Path::new(&include).join("mpi.h").is_file());
    assert_eq!(ask("-showme:compile"), format!("-I{include}"));
    assert_eq!(ask("--showme:link"), format!("-L{lib} -Wl,-rpath,{lib} -lmpi_abi"));
    assert_eq!(ask("-compile_info"), format!("gcc -I{include}"));
    assert_eq!(ask("-link-info"), format!("gcc -L{lib} -Wl,-rpath,{lib} -lmpi_abi"));
    let linked = format!("-L{lib} -Wl,-rpath,{lib} -Wl,--as-needed -lmpi_abi -lc -lpami");
    assert_eq!(ask("-show a.c"), format!("gcc -I{include} a.c {linked}"));
    assert_eq!(ask("-c -show a.c"), format!("gcc -I{include} -c a.c"));
}

#[test]
fn what_is_no_link_is_not_replaced() {
    let (_folder, at) = installed("own");
    let header = at.join("links/include/mpi.h");
    std::fs::remove_file(&header).unwrap();
    std::fs::write(&header, "another").unwrap();
    let mut again = command(at.join("own/bin/netloom"), &at);
    let output = again.args(["cc", "--install-links", "links"]).output().unwrap();
    let reported = text(&output.stderr);
    assert!(output.status.code() == Some(2) && reported.contains("exists and is no link"), "{reported}");
    assert_eq!(std::fs::read_to_string(&header).unwrap(), "another");
}

#[test]
fn pkg_config_has_the_flags() {
    if !is_there("pkg-config") {
        return;
    }
    let (_folder, at) = installed("an own");
    for package in ["mpi_abi", "mpi"] {
        let mut shell = command("sh", &at);
        shell.env("PKG_CONFIG_PATH", at.join("links/lib/pkgconfig"));
        let script =
            format!("eval cc -o {package} a.c \"$(pkg-config --cflags --libs {package})\" && ./{package}");
        assert_eq!(output(shell.args(["-c", &script])), "1 of 1 \n");
    }
}

#[test]
fn cmake_finds_mpi() {
    if !is_there("cmake") || !is_there("c++") {
        return;
    }
    let (_folder, at) = installed("own");
    std::fs::write(at.join("CMakeLists.txt"), CMAKE).unwrap();
    let configured = output(command("cmake", &at).args(["-S", ".", "-B", "build", "-DMPI_HOME=links"]));
    assert!(configured.contains("(found version \"5.0\")"), "{configured}");
    output(command("cmake", &at).args(["--build", "build"]));
    let tested = output(&mut command("ctest", &at.join("build")));
    assert!(tested.contains("100% tests passed, 0 tests failed out of 2"), "{tested}");
}

/// Each figure that the program prints gets into the table.
#[test]
fn bench_mpi_has_figures() {
    let (_folder, at) = installed("own");
    let printed =
        output(command(at.join("own/bin/netloom"), &at).args(["bench", "mpi", "--quick", "--json"]));
    let figures: serde_json::Value = serde_json::from_str(&printed).unwrap();
    let cases = figures["cases"].as_array().unwrap();
    assert!(cases.len() >= 4, "{printed}");
    assert!(cases.iter().all(|case| case["netloom"].as_f64().unwrap() > 0.0), "{printed}");
}
