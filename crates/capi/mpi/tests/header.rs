//! `mpi.h` is that of the table. With `NETLOOM_UPDATE=1` it is written anew.

use std::fmt::Write as _;
use std::path::Path;

mod table {
    #![allow(dead_code)] // What the build script alone uses.
    include!("../table.rs");
}

/// Sizes that the standard gives (chapter 20): 664 functions.
const FUNCTIONS: usize = 664;

fn header() -> (String, usize) {
    let functions = table::parse(include_str!("../functions.txt"));
    let mut text = String::from(include_str!("../head.h"));
    let mut count = 0;
    for (prefix, what) in [
        ("MPI_", "Functions"),
        ("PMPI_", "The same for programs that have put their own in place of the above"),
    ] {
        let mut chapter = "";
        let _ = writeln!(text, "\n/* {what} */");
        for function in &functions {
            if prefix == "MPI_" && function.chapter != chapter {
                chapter = &function.chapter;
                let _ = writeln!(text, "\n/* {chapter} */");
            }
            let prototypes = table::c_prototypes(function, prefix);
            count += prototypes.lines().count();
            text.push_str(&prototypes);
        }
    }
    text.push_str("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    (text, count)
}

#[test]
fn the_header_declares_all_functions_twice() {
    let (text, count) = header();
    assert_eq!(count, 2 * FUNCTIONS);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../include/mpi.h");
    if std::env::var("NETLOOM_UPDATE").is_ok_and(|value| value == "1") {
        std::fs::write(&path, &text).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == text, "{} is not that of the table: NETLOOM_UPDATE=1 writes it anew", path.display());
}
