//! Lists the studies of the repository, which are built into the program: `studies/**/*.toml`, by their paths
//! without the ending.

use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(&std::env::var("CARGO_MANIFEST_DIR")?).join("../../studies").canonicalize()?;
    println!("cargo::rerun-if-changed={}", root.display());
    let mut files = vec![];
    collect(&root, &mut files)?;
    files.sort();
    let mut list = String::from("&[\n");
    for file in &files {
        let name = file.strip_prefix(&root)?.with_extension("");
        let name = name.to_str().ok_or("a name that is not UTF-8")?.replace('\\', "/");
        writeln!(list, "    ({name:?}, include_str!({:?})),", file.display().to_string())?;
    }
    list.push(']');
    fs::write(Path::new(&std::env::var("OUT_DIR")?).join("studies.rs"), list)?;
    Ok(())
}

/// The TOML files in a folder and in those in it.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|ending| ending == "toml") {
            files.push(path);
        }
    }
    Ok(())
}
