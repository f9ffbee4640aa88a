//! Tables of text.

/// Columns of text, aligned: the first to the left, numbers to the right. With a line under the head.
pub fn aligned(head: &[String], rows: &[Vec<String>]) -> String {
    let width = |i: usize| {
        rows.iter()
            .map(|r| r.get(i).map_or(0, |c| c.chars().count()))
            .chain([head[i].chars().count()])
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let is_number = |c: &String| c == "-" || c.starts_with(|c: char| c.is_ascii_digit() || "+-".contains(c));
    let right: Vec<bool> = (0..head.len())
        .map(|i| !rows.is_empty() && rows.iter().filter_map(|r| r.get(i)).all(is_number))
        .collect();
    let line = |cells: &[String]| {
        let cells = cells.iter().enumerate().map(|(i, c)| {
            let w = widths[i];
            if right[i] { format!("{c:>w$}") } else { format!("{c:<w$}") }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    let rule: Vec<String> = widths.iter().map(|w| "-".repeat(*w)).collect();
    let mut text = line(head) + &line(&rule);
    rows.iter().for_each(|r| text.push_str(&line(r)));
    text
}
