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
