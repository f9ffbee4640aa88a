//! `netloom cc`, as a program that is installed beside a library, and as one that has none.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::{Command, Output};

fn run(program: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(program);
    // Cargo puts the folder of the libraries that it built into LD_LIBRARY_PATH.
    command
        .env_remove("CC")
        .env_remove("CXX")
        .env_remove("LD_LIBRARY_PATH")
        .args(args)
        .current_dir(program.parent().unwrap())
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A folder with `bin/netloom`, without a library.
fn installed() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["bin", "lib", "include"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    let (from, to) = (env!("CARGO_BIN_EXE_netloom"), folder.path().join("bin/netloom"));
    std::fs::hard_link(from, &to).or_else(|_| std::fs::copy(from, &to).map(|_| ())).unwrap();
    folder
}

#[test]
fn without_a_library_it_compiles_and_reports_how_to_build_one() {
    let folder = installed();
    let netloom = folder.path().join("bin/netloom");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("capi/include");
    let output = run(&netloom, &["cc", "--show", "-c", "a b.c"]);
    assert_eq!(text(&output.stdout), format!("cc -I{} -c 'a b.c'\n", source.display()));
    let output = run(&netloom, &["c++", "--show", "-c", "a.cpp"]);
    assert_eq!(text(&output.stdout), format!("c++ -I{} -c a.cpp\n", source.display()));
    let output = run(&netloom, &["cc", "-o", "a", "a.c"]);
    let reported = text(&output.stderr);
    assert!(output.status.code() == Some(2) && reported.contains("libpami.so is not in"), "{reported}");
    assert!(reported.contains("`cargo build --release -p netloom-pami`"), "{reported}");
    std::fs::write(folder.path().join("bin/a.c"), "#include <pami.h>\npami_result_t result;\n").unwrap();
    let output = run(&netloom, &["cc", "-c", "a.c"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn a_program_finds_the_library_that_it_was_linked_with() {
    let folder = installed();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("include/pami.h"), "int PAMI_test(void);\n").unwrap();
    std::fs::write(at("pami.c"), "int PAMI_test(void) { return 7; }\n").unwrap();
    std::fs::write(at("bin/a.c"), "#include <pami.h>\nint main(void) { return PAMI_test(); }\n").unwrap();
    let library = ["-shared", "-fPIC", "-o", "lib/libpami.so", "pami.c"];
    let status = Command::new("cc").args(library).current_dir(folder.path()).status().unwrap();
    assert!(status.success());
    let netloom = at("bin/netloom");
    let folder = folder.path().display();
    let output = run(&netloom, &["cc", "--show", "-O2", "a.c"]);
    let expected = format!("cc -I{folder}/include -O2 a.c -L{folder}/lib -Wl,-rpath,{folder}/lib -lpami\n");
    assert_eq!(text(&output.stdout), expected);
    let output = run(&netloom, &["cc", "-o", "a", "a.c"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(run(&at("bin/a"), &[]).status.code(), Some(7));
    // Linked without a path to the library, it runs as a task.
    let plain = ["-I../include", "a.c", "-L../lib", "-lpami", "-o", "plain"];
    let status = Command::new("cc").args(plain).current_dir(at("bin")).status().unwrap();
    assert!(status.success());
    assert_eq!(run(&netloom, &["exec", "-n", "2", "./plain"]).status.code(), Some(7));
    assert_eq!(run(&at("bin/plain"), &[]).status.code(), Some(127));
    let output = run(&netloom, &["exec", "-x", "LD_LIBRARY_PATH=/a:/b", "sh", "-c", "echo $LD_LIBRARY_PATH"]);
    assert_eq!(text(&output.stdout), format!("{folder}/lib:/a:/b\n"));
}

#[test]
fn the_status_is_the_compilers() {
    let folder = installed();
    let netloom = folder.path().join("bin/netloom");
    std::fs::write(folder.path().join("bin/a.c"), "int broken = ;\n").unwrap();
    assert_eq!(run(&netloom, &["cc", "-c", "a.c"]).status.code(), Some(1));
    let mut command = Command::new(&netloom);
    let output = command.args(["cc", "-c", "a.c"]).env("CC", "no-such-compiler -g").output().unwrap();
    let reported = text(&output.stderr);
    assert!(output.status.code() == Some(2) && reported.contains("cannot run the C compiler"), "{reported}");
    assert!(reported.contains("set CC"), "{reported}");
}
