//! Output as a page quotes it, shortened, compared with what a command prints.
//!
//! A line of `...` stands for any lines, ` ...` within a line for anything. Lines between two of `...` follow
//! each other in the output. What is left out before the first and after the last needs no `...`. Where a
//! line of a table has ` ...`, its other lines may lack columns too.

/// What came of a comparison.
pub struct Compared {
    /// The first quoted lines that are not in the output.
    pub missing: Option<String>,
    /// The quote as the output is now.
    pub updated: String,
}

/// How alike two lines must be that one is taken for the other with new values, 0 to 1.
const ALIKE: f64 = 0.6;

fn is_gap(line: &str) -> bool {
    line.trim() == "..."
}

/// Whether a line of output is as quoted. `lacks_columns`: words of the output may be missing in the quote.
fn matches(quoted: &str, line: &str, lacks_columns: bool) -> bool {
    let (quoted, line) = (quoted.trim_end(), line.trim_end());
    if quoted == line {
        return true;
    }
    if lacks_columns {
        let mut words = line.split_whitespace();
        let mut quoted = quoted.split_whitespace().filter(|&word| word != "...").peekable();
        return quoted.peek().is_some() && quoted.all(|word| words.any(|found| found == word));
    }
    if !quoted.contains(" ...") {
        return false;
    }
    let mut parts = quoted.split(" ...");
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    quoted.ends_with(" ...") || rest.is_empty()
}

/// Lines between two gaps as the output has them from a line on, and the line after them.
fn updated(lines: &[&str], output: &[&str], mut from: usize, lacks_columns: bool) -> (String, usize) {
    let mut text = String::new();
    for line in lines {
        if line.is_empty() {
            from += usize::from(output.get(from) == Some(&""));
            text += "\n";
            continue;
        }
        let rest = &output[from..];
        let likeness = |now: &str| strsim::normalized_levenshtein(line.trim_end(), now.trim_end());
        let same = rest.iter().position(|now| matches(line, now, lacks_columns));
        let like = || {
            let alike = rest.iter().enumerate().map(|(at, now)| (at, likeness(now)));
            alike.filter(|&(_, by)| by >= ALIKE).max_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at)
        };
        // A line that there is no more is left out.
        let Some(at) = same.or_else(like) else { continue };
        if at > 0 && !text.is_empty() {
            text += "...\n";
        }
        text += &format!("{}\n", if same.is_some() { line } else { rest[at] });
        from += at + 1;
    }
    (text, from)
}

/// Compares a quote with the output of its command.
pub fn compare(quoted: &str, output: &str) -> Compared {
    let output: Vec<&str> = output.lines().collect();
    let quoted: Vec<&str> = quoted.lines().collect();
    // Empty lines at the end of a quote part two commands.
    let end = quoted.iter().rposition(|line| !line.is_empty()).map_or(0, |at| at + 1);
    let (quoted, empty) = quoted.split_at(end);
    let (mut text, mut missing, mut from) = (String::new(), None, 0);
    let lacks_columns = quoted.iter().any(|line| !is_gap(line) && line.contains(" ..."));
    for lines in quoted.chunk_by(|a, b| is_gap(a) == is_gap(b)) {
        if is_gap(lines[0]) {
            text += &(lines.join("\n") + "\n");
            continue;
        }
        // Empty lines beside a gap may belong to what is left out.
        let above = lines.iter().take_while(|line| line.is_empty()).count();
        let below = lines[above..].iter().rev().take_while(|line| line.is_empty()).count();
        text += &"\n".repeat(above);
        let lines = &lines[above..lines.len() - below];
        if lines.is_empty() {
            continue;
        }
        let is_there = |window: &[&str]| {
            lines.iter().zip(window).all(|(quoted, line)| matches(quoted, line, lacks_columns))
        };
        if let Some(at) = output[from..].windows(lines.len()).position(is_there) {
            text += &(lines.join("\n") + "\n");
            from += at + lines.len();
        } else {
            missing.get_or_insert_with(|| lines.join("\n"));
            let (now, after) = updated(lines, &output, from, lacks_columns);
            text += &now;
            from = after;
        }
        text += &"\n".repeat(below);
    }
    empty.iter().for_each(|_| text += "\n");
    Compared { missing, updated: text }
}

#[test]
fn quotes() {
    let output =
        "title\n\nRun\n  ended   done\n  speed   1 B/s\n\nLinks\n  mean    0.5   0.7\n  max     0.9   1.0\n";
    for quote in [
        "title\n...\n  ended   done\n",
        "  ended   done\n  ...\nLinks\n",
        "  mean ...   0.7\n",
        "  mean ...\n  max     1.0\n",
        "Links\n\n",
        "title\n...\n\n  ended   done\n\n...\n\nLinks\n",
        "",
    ] {
        let compared = compare(quote, output);
        assert_eq!((compared.missing, compared.updated.as_str()), (None, quote), "{quote}");
    }
    // Not next to each other, other values, no more there.
    for (quote, updated) in [
        ("title\n  ended   done\n", "title\n...\n  ended   done\n"),
        ("title\n...\n  mean    0.5   0.8\n", "title\n...\n  mean    0.5   0.7\n"),
        ("  mean    0.5   0.7\n  min     0.1   0.2\n\n", "  mean    0.5   0.7\n  max     0.9   1.0\n\n"),
        ("Run\n  something else entirely\n", "Run\n"),
    ] {
        let compared = compare(quote, output);
        assert!(compared.missing.is_some(), "{quote}");
        assert_eq!(compared.updated, updated);
    }
}
