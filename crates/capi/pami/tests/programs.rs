//! The C programs of `tests/pami` as jobs: compiled against `pami.h`, linked with `libpami.so`, with 1 to 8
//! tasks, and once more where no task may read another's memory. Each checks its data itself.

mod common;

use common::{compile, library, sources};
use netloom_shm::launch::{Bind, Job, launch};
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

fn run(program: &Path, tasks: u32, single_copy: bool) {
    let variable = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
    let job = Job {
        program: program.into(),
        arguments: vec![],
        tasks,
        bind: Bind::None,
        label: true,
        time_limit: Some(Duration::from_secs(120)),
        grace: Duration::from_secs(10),
        environment: vec![variable("NETLOOM_SINGLE_COPY", if single_copy { "1" } else { "0" })],
        folder: None,
        libraries: Some(library()),
        universe: None,
    };
    let (mut out, mut err) = (vec![], vec![]);
    let outcome = launch(&job, &mut out, &mut err).expect("the job starts");
    let status = outcome.status();
    let output = || format!("{}{}", String::from_utf8_lossy(&out), String::from_utf8_lossy(&err));
    // 77: it needs more tasks.
    let mut is_expected = status == 0 || status == 77 && tasks < 2;
    if tasks > 1 && program.ends_with("dies") {
        let others = output().lines().filter(|line| line.ends_with("PAMI_SHUTDOWN")).count();
        is_expected = status == 3 && others == tasks as usize - 1;
    }
    assert!(is_expected, "{} with {tasks} tasks: {outcome:?}\n{}", program.display(), output());
}

#[test]
fn programs_in_c_check_their_data() {
    let folder = tempfile::tempdir().unwrap();
    for source in sources() {
        let program = compile(&source, folder.path());
        for tasks in [1, 2, 3, 8] {
            run(&program, tasks, true);
        }
        run(&program, 3, false);
    }
}

/// The names in backticks of a cell of a table.
fn names(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// `docs/pami-functions.md` says where each function is: each row's file has the functions of the row, and
/// the rows have all functions of `pami.h`, once.
#[test]
fn functions_are_where_the_documentation_says() {
    const DOCUMENT: &str = include_str!("../../../../docs/pami-functions.md");
    const HEADER: &str = include_str!("../../include/pami.h");
    let begin = "## Where functions are, and what they do not do\n";
    let section = DOCUMENT.split_once(begin).expect("the section is there").1;
    let section = section.split("\n## ").next().unwrap_or_default();
    let mut found = vec![];
    for row in section.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.trim_matches('|').splitn(3, " | ").map(str::trim).collect();
        let [functions, file, missing] = cells[..] else { panic!("a row has three cells: {row}") };
        let [file] = names(file)[..] else { panic!("a row has one file: {row}") };
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(file);
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for name in names(functions) {
            assert!(text.contains(&format!("fn {name}(")), "{name} is not in {file}");
            found.push(name);
        }
        assert!(!missing.is_empty(), "the row of {functions} says nothing");
    }
    // Prototypes begin in the first column; constants and types have no lower-case letter after their prefix.
    let is_function =
        |name: &&str| name.starts_with("PAMI_") && name.contains(|c: char| c.is_ascii_lowercase());
    let prototypes = HEADER.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_alphabetic()));
    let mut expected: Vec<&str> = prototypes
        .filter_map(|line| line.split_once('(')?.0.split([' ', '*']).next_back())
        .filter(is_function)
        .collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(expected.len(), 66);
    assert_eq!(found, expected);
}
