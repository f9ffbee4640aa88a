//! The C programs of `tests/pami`, compiled against `pami.h` and linked with `libpami.so`.

#[path = "../kept/mod.rs"]
mod kept;

use std::path::{Path, PathBuf};
use std::process::Command;

/// The programs.
pub fn sources() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/pami");
    let files = std::fs::read_dir(folder).expect("the folder of the programs");
    let mut list: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    list.retain(|path| path.extension().is_some_and(|end| end == "c"));
    list.sort();
    assert!(list.len() > 10);
    list
}

/// The folder of `libpami.so`, which Cargo builds before this test.
pub fn library() -> PathBuf {
    let folder = std::env::current_exe().unwrap().parent().unwrap().to_path_buf();
    assert!(folder.join("libpami.so").is_file(), "no libpami.so in {}", folder.display());
    folder
}

/// Compiles a program into a folder.
pub fn compile(source: &Path, to: &Path) -> PathBuf {
    let program = to.join(source.file_stem().unwrap());
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../include");
    kept::once(&program, source, &include, || {
        let mut compiler = Command::new("cc");
        compiler.args([
            "-std=gnu99",
            "-O1",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-Wno-missing-field-initializers",
        ]);
        compiler.arg("-I").arg(&include).arg(source).arg("-o").arg(&program);
        compiler.arg("-L").arg(library()).args(["-lpami", "-lpthread"]);
        let compiled = compiler.output().expect("a C compiler");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    });
    program
}
