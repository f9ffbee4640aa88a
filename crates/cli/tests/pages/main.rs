//! The commands that the guide quotes are run, page by page, and their quoted output is compared with what
//! they print. What the comments in the pages mean is in `CONTRIBUTING.md`. With `NETLOOM_UPDATE` set the
//! quoted output is written anew.

mod links;
mod page;
mod quote;

use page::{Page, Part};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The pages whose commands are run: the tutorial, the how-to, and the README.
fn pages() -> Vec<PathBuf> {
    let mut pages = vec![root().join("README.md")];
    for folder in ["docs/tutorial", "docs/how-to"] {
        let files = std::fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
        pages.extend(files.filter(|path| path.extension().is_some_and(|ending| ending == "md")));
    }
    pages.sort();
    pages
}

/// Runs a command of a page in its folder: what it prints on both streams, and its exit status.
fn run(command: &str, folder: &Path) -> (String, i32) {
    let programs = Path::new(env!("CARGO_BIN_EXE_netloom")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{{ {command}\n}} 2>&1")]).env("PATH", path);
    // As many commands run at once as there are cores.
    shell.env("NETLOOM_THREADS", "1");
    let output = shell.current_dir(folder).output().unwrap();
    (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code().unwrap_or(-1))
}

/// What is wrong with a page; its text with the output that its commands print now.
fn check(page: &Page) -> (Vec<String>, String) {
    let folder = tempfile::tempdir().unwrap();
    for name in ["studies", "machines", "examples"] {
        std::os::unix::fs::symlink(root().join(name), folder.path().join(name)).unwrap();
    }
    let (mut wrong, mut text) = (vec![], String::new());
    for part in &page.parts {
        match part {
            Part::Text(lines) => text += lines,
            Part::File { name, content, adds } => {
                let file = folder.path().join(name);
                let before = std::fs::read_to_string(&file).unwrap_or_default();
                let before = if *adds { before + "\n" } else { String::new() };
                std::fs::write(file, before + content).unwrap();
            }
            Part::Command { line, command, quoted, status } => {
                let (output, found) = run(command, folder.path());
                let at = format!("{}:{line}: `{command}`", page.name);
                if found != *status {
                    wrong.push(format!("{at} exits with {found}, expected {status}:\n{output}"));
                }
                let compared = quote::compare(quoted, &output);
                if let Some(missing) = compared.missing {
                    wrong.push(format!("{at} does not print\n{missing}\n  but\n{output}"));
                }
                text += &compared.updated;
            }
        }
    }
    (wrong, text)
}

#[test]
fn commands_print_what_is_quoted() {
    let update = std::env::var_os("NETLOOM_UPDATE").is_some();
    let pages = pages();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let wrong = std::sync::Mutex::new(vec![]);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, |n| n.get()) {
            scope.spawn(|| {
                while let Some(path) = pages.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    let name = path.strip_prefix(root()).unwrap().display().to_string();
                    let before = std::fs::read_to_string(path).unwrap();
                    let page = Page::read(&name, &before);
                    let (of_page, text) = check(&page);
                    let mut wrong = wrong.lock().unwrap();
                    wrong.extend(page.unmarked);
                    wrong.extend(of_page);
                    if update && text != before {
                        std::fs::write(path, text).unwrap();
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    let help = "`NETLOOM_UPDATE=1 cargo test -p netloom-cli --test pages` writes the quoted output anew";
    assert!(wrong.is_empty(), "{}\n{help}", wrong.join("\n"));
}
