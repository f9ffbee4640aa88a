//! The generated pages of the book are those of this program.

use std::path::Path;

/// A page as it is in the repository. With `NETLOOM_UPDATE` set it is written anew.
fn check(name: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name);
    if std::env::var_os("NETLOOM_UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let update = "NETLOOM_UPDATE=1 cargo test -p netloom-cli --test reference";
    assert!(found == expected, "docs/reference/{name} is out of date; `{update}` updates it");
}

#[test]
fn keys() {
    check("keys.md", &netloom_cli::reference::markdown());
}

#[test]
fn metrics() {
    check("metrics.md", &netloom_cli::reference::metrics_markdown());
}

#[test]
fn files() {
    check("files.md", &netloom_cli::reference::files_markdown());
}

#[test]
fn workloads() {
    check("workloads.md", &netloom_cli::reference::workloads_markdown().unwrap());
}
