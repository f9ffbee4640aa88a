//! The cases of a test, in two processes at once: a launcher waits for all children of its process, so that one
//! process runs one job at a time, and a job of guests uses one core.

use netloom_shm::launch::share_core_of;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

/// The variable with the folder in which such processes claim cases: each is a file.
const CLAIMS: &str = "NETLOOM_TEST_CLAIMS";

/// The variable with the number of such a process: each has a core of its own.
const NUMBER: &str = "NETLOOM_TEST_NUMBER";

/// Checks each case, on one core. `test` is the name of the calling test, as its program lists it.
pub fn check_each<T>(test: &str, cases: impl IntoIterator<Item = T>, mut check: impl FnMut(T)) {
    if let Some(folder) = std::env::var_os(CLAIMS) {
        let number = std::env::var(NUMBER).expect("it is set beside the claims");
        share_core_of(number.parse().expect("a number"));
        let is_own = |number: usize| File::create_new(Path::new(&folder).join(number.to_string())).is_ok();
        return cases
            .into_iter()
            .enumerate()
            .filter(|&(number, _)| is_own(number))
            .for_each(|(_, case)| check(case));
    }
    let claims = tempfile::tempdir().expect("a folder");
    let processes = [0, 1].map(|number| {
        let mut process = Command::new(std::env::current_exe().expect("this program"));
        process.args([test, "--exact", "--include-ignored", "--nocapture"]).env(CLAIMS, claims.path());
        process.env(NUMBER, number.to_string());
        process.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("another process")
    });
    for process in processes {
        let end = process.wait_with_output().expect("its output");
        let [out, err] = [end.stdout, end.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        // A test that is not there would pass.
        assert!(end.status.success() && out.contains("1 passed"), "{out}{err}");
    }
    let claimed = std::fs::read_dir(claims.path()).expect("the claims").count();
    assert_eq!(claimed, cases.into_iter().count(), "each case is checked");
}
