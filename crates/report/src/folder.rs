//! The folder that a result goes to.

use netloom_study::diagnose::Problem;
use std::hash::BuildHasher;
use std::path::{Path, PathBuf};

/// Treatment of an existing folder of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfExists {
    /// Refuse.
    Refuse,
    /// Replace what a run writes, in a folder that has a result.
    Replace,
    /// Take the next free name: `…-2`, `…-3`.
    Next,
}

/// Files of which each folder of a result has one: the report, and what says whose a sweep is that has begun.
const OF_A_RESULT: [&str; 2] = ["report.html", "sweep.toml"];

/// The folder that a run will write, created and made sure of before the run starts.
///
/// # Errors
/// One that exists, unless that is allowed for; one that cannot be written.
pub fn output_folder(wanted: &Path, if_exists: IfExists) -> Result<PathBuf, Problem> {
    let folder = free_folder(wanted, if_exists)?;
    let probe = folder.join(format!(".netloom-{}.part", own_number()));
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(&probe, ""))
        .and_then(|()| std::fs::remove_file(&probe))
        .map_err(|e| {
            Problem::new(format!("cannot write to {}: {e}", folder.display()))
                .help("give another folder with --out DIR")
        })?;
    Ok(folder)
}

/// A number for a temporary file, which no other process takes either, also if it runs on another computer.
pub(crate) fn own_number() -> u64 {
    std::hash::RandomState::new().hash_one(std::process::id())
}

fn free_folder(wanted: &Path, if_exists: IfExists) -> Result<PathBuf, Problem> {
    let taken =
        |path: &Path| path.is_file() || path.read_dir().is_ok_and(|mut entries| entries.next().is_some());
    if !taken(wanted) {
        return Ok(wanted.to_owned());
    }
    let refuse =
        |what: &str, help: &str| Err(Problem::new(format!("{} {what}", wanted.display())).help(help));
    let is_result = OF_A_RESULT.iter().any(|name| wanted.join(name).is_file());
    match if_exists {
        IfExists::Refuse if is_result => refuse(
            "already exists",
            "nothing is overwritten unless asked: give another folder with --out DIR, or --force to replace this one",
        ),
        IfExists::Refuse => refuse("already exists", "give another folder with --out DIR"),
        IfExists::Replace if wanted.is_file() => {
            refuse("is a file, not a folder", "give another folder with --out DIR")
        }
        IfExists::Replace if !is_result => refuse(
            "has files, but no result of a run",
            "--force replaces results, and nothing else: give another folder with --out DIR",
        ),
        IfExists::Replace => Ok(wanted.to_owned()),
        IfExists::Next => {
            let name = wanted.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let free = (2..).map(|i| wanted.with_file_name(format!("{name}-{i}"))).find(|path| !taken(path));
            Ok(free.expect("there is always another number"))
        }
    }
}
