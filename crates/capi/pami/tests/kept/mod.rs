//! C programs that several tests run are compiled once.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// Puts a program in its place: one that was compiled of the same texts before, which is kept in Cargo's folder for
/// tests, or else what `compile` puts there.
pub fn once(program: &Path, source: &Path, include: &Path, compile: impl FnOnce()) {
    let mut hash = DefaultHasher::new();
    let is_header = |path: &PathBuf| path.extension().is_some_and(|end| end == "h");
    let mut texts = vec![source.to_path_buf()];
    for folder in [source.parent().expect("a folder"), include] {
        let files = std::fs::read_dir(folder).expect("a folder").map(|file| file.unwrap().path());
        texts.extend(files.filter(is_header));
    }
    texts.sort();
    texts.iter().for_each(|text| std::fs::read(text).expect("a text").hash(&mut hash));
    let name = program.file_name().expect("a name").to_string_lossy();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs");
    let kept = folder.join(format!("{name}-{:016x}", hash.finish()));
    if kept.is_file() {
        std::fs::copy(&kept, program).expect("a copy");
        return;
    }
    compile();
    std::fs::create_dir_all(&folder).expect("a folder");
    // Another test may do the same: each finds a whole one.
    let own = folder.join(format!("{name}-{}", std::process::id()));
    std::fs::copy(program, &own).and_then(|_| std::fs::rename(&own, &kept)).expect("a copy");
}
