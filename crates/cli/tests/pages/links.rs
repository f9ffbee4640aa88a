//! Links between the pages of the repository, and to its files.

use super::root;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The pages: the guide and what lies at the root.
fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].iter().map(|name| root().join(name)).collect();
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            match entry.is_dir() {
                true => folders.push(entry),
                false if entry.extension().is_some_and(|ending| ending == "md") => pages.push(entry),
                false => {}
            }
        }
    }
    pages
}

/// The lines of a page outside its blocks of code.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// A line without its spans of code.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

/// The anchors of a page: its headings as GitHub and mdBook name them, and those that are written out.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for (_, line) in prose(text) {
        if let Some(heading) = line.strip_prefix('#') {
            let heading = heading.trim_start_matches('#').trim();
            let name: String = heading
                .chars()
                .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
                .map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() })
                .collect();
            let number = (1..).find(|n| !anchors.contains(&numbered(&name, *n))).unwrap();
            anchors.insert(numbered(&name, number));
        }
        for part in line.split("id=\"").skip(1).chain(line.split("name=\"").skip(1)) {
            anchors.extend(part.split('"').next().map(str::to_owned));
        }
    }
    anchors
}

/// The n-th anchor of a name.
fn numbered(name: &str, n: usize) -> String {
    if n == 1 { name.into() } else { format!("{name}-{}", n - 1) }
}

/// What is wrong with a link of a page, if anything is.
fn fault(page: &Path, link: &str) -> Option<String> {
    let (file, anchor) = link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor)));
    let target = if file.is_empty() { page.to_owned() } else { page.parent().unwrap().join(file) };
    if !target.exists() {
        return Some("no such file".into());
    }
    let anchor = anchor.filter(|_| target.extension().is_some_and(|ending| ending == "md"))?;
    let text = std::fs::read_to_string(&target).unwrap();
    (!anchors(&text).contains(anchor)).then(|| format!("no heading `#{anchor}` there"))
}

#[test]
fn every_link_leads_somewhere() {
    let mut wrong = vec![];
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for (number, line) in prose(&text) {
            for part in without_code(line).split("](").skip(1) {
                let link = part.split([')', ' ']).next().unwrap_or_default();
                if link.contains("://") || link.starts_with("mailto:") {
                    continue;
                }
                if let Some(fault) = fault(&page, link) {
                    let page = page.strip_prefix(root()).unwrap().display();
                    wrong.push(format!("{page}:{number}: {link}: {fault}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "dead links:\n{}", wrong.join("\n"));
}

#[test]
fn anchors_of_headings() {
    let page = "# The `X` of Y, and Z\n## Run\n```\n# no heading\n```\n## Run\n<a id=\"here\"></a>\n";
    let expected = ["here", "run", "run-1", "the-x-of-y-and-z"];
    assert!(anchors(page).iter().eq(expected), "{:?}", anchors(page));
}
