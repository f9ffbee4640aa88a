//! `mpi.h` and the list of functions in docs/mpi.md are those of the table. With `NETLOOM_UPDATE=1` they are
//! written anew.

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
    text.push_str(include_str!("../fortran.h"));
    text.push_str(include_str!("../removed.h"));
    text.push_str("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    (text, count)
}

#[test]
fn the_header_declares_all_functions_twice() {
    let (text, count) = header();
    assert_eq!(count, 2 * FUNCTIONS);
    compare("crates/capi/include/mpi.h", &text);
}

/// A file of the repository, with what it should hold.
fn compare(file: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join(file);
    if std::env::var("NETLOOM_UPDATE").is_ok_and(|value| value == "1") {
        std::fs::write(&path, expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "{file} is not that of the table: NETLOOM_UPDATE=1 writes it anew");
}

#[test]
fn the_page_lists_what_is_there() {
    const PAGE: &str = "docs/mpi.md";
    let functions = table::parse(include_str!("../functions.txt"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join(PAGE);
    let page = std::fs::read_to_string(path).unwrap();
    let (before, rest) = page.split_once("<!-- functions -->").expect("a mark");
    let (_, after) = rest.split_once("<!-- end of functions -->").expect("a mark");
    let (mut list, mut chapter) = (String::new(), "");
    for function in functions.iter().filter(|of| of.carried_out_by.is_some()) {
        if function.chapter != chapter {
            chapter = &function.chapter;
            let _ = write!(list, "\n- Chapter {chapter}:");
        }
        let _ = write!(list, " `{}`", function.name);
    }
    compare(PAGE, &format!("{before}<!-- functions -->\n{list}\n\n<!-- end of functions -->{after}"));
}
