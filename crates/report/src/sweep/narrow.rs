//! The table of points for a terminal: as wide as a person can read it.

use crate::text_table::aligned;

/// Widest table of points, characters.
const WIDTH_MAX: usize = 200;
/// Figures that are kept whatever the width: what was offered and accepted, or run times and their parts,
/// come first.
const FIGURES_KEPT: usize = 4;
/// Columns that are kept besides those.
const ALWAYS: [&str; 2] = ["ended", "warnings"];

/// The table in aligned columns. Where it is too wide, columns that are the same at all points are named
/// below it instead, and then as many of the last figures are left out as it takes; `parameters` is the
/// number of columns before the figures.
pub(super) fn table(head: &[String], rows: &[Vec<String>], parameters: usize) -> String {
    let mut kept: Vec<usize> = (0..head.len()).collect();
    if width(head, rows, &kept) <= WIDTH_MAX {
        return aligned(head, rows);
    }
    let same = |column: usize| rows.windows(2).all(|pair| pair[0][column] == pair[1][column]);
    let is_fixed = |column: usize| column < parameters || ALWAYS.contains(&head[column].as_str());
    let constant: Vec<usize> = match rows.len() {
        0 | 1 => vec![],
        _ => kept.iter().copied().filter(|&column| same(column) && !is_fixed(column)).collect(),
    };
    kept.retain(|column| !constant.contains(column));
    let mut left_out: Vec<usize> = vec![];
    while width(head, rows, &kept) > WIDTH_MAX {
        let figures: Vec<usize> = kept.iter().copied().filter(|&column| !is_fixed(column)).collect();
        let Some(&last) = figures.get(FIGURES_KEPT..).and_then(<[usize]>::last) else { break };
        kept.retain(|&column| column != last);
        left_out.insert(0, last);
    }
    let of = |cells: &[String]| -> Vec<String> { kept.iter().map(|&column| cells[column].clone()).collect() };
    let mut text = aligned(&of(head), &rows.iter().map(|row| of(row)).collect::<Vec<_>>());
    if !constant.is_empty() {
        let all: Vec<String> =
            constant.iter().map(|&column| format!("{} {}", head[column], rows[0][column])).collect();
        text += &format!("At all points: {}.\n", all.join("; "));
    }
    if !left_out.is_empty() {
        let names: Vec<&str> = left_out.iter().map(|&column| head[column].as_str()).collect();
        text += &format!("Not shown, see report.html or sweep.csv: {}.\n", names.join(", "));
    }
    text
}

/// Width of a table of some of the columns.
fn width(head: &[String], rows: &[Vec<String>], columns: &[usize]) -> usize {
    let of = |&column: &usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).chain([&head[column]]);
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0) + 2
    };
    columns.iter().map(of).sum::<usize>().saturating_sub(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(all: &[&str]) -> Vec<String> {
        all.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn a_wide_table_keeps_what_varies_and_references_the_rest() {
        let long = "x".repeat(60);
        let head = texts(&["load", "a", "b", "c", "d", "e", "f", "ended", "folder"]);
        let row = |load: &str| {
            let wide = format!("{load}{long}");
            texts(&[load, "1", "2", "same", "4", &wide, &wide, "finished", &wide])
                .into_iter()
                .enumerate()
                .map(|(i, cell)| if (1..3).contains(&i) { format!("{load}{cell}") } else { cell })
                .collect::<Vec<_>>()
        };
        let text = table(&head, &[row("1"), row("2")], 1);
        let first = text.lines().next().expect("a head");
        let names: Vec<&str> = first.split_whitespace().collect();
        assert_eq!(names, ["load", "a", "b", "e", "f", "ended"], "{text}");
        assert!(text.contains("At all points: c same; d 4."), "{text}");
        assert!(text.contains("Not shown, see report.html or sweep.csv: folder."), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH_MAX), "{text}");
    }

    #[test]
    fn a_narrow_table_is_whole() {
        let (head, rows) = (texts(&["load", "a"]), [texts(&["1", "5"]), texts(&["2", "5"])]);
        assert_eq!(table(&head, &rows, 1), aligned(&head, &rows));
    }
}
