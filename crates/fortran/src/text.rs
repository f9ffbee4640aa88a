//! Lines of Fortran.

/// The longest line, in free form.
const LINE_MAX: usize = 100;

/// A statement in lines of free form, broken after commas.
pub fn statement(indent: usize, text: &str) -> String {
    let (mut lines, mut line) = (String::new(), " ".repeat(indent));
    for piece in text.split_inclusive(", ") {
        if line.len() + piece.len() > LINE_MAX && !line.trim().is_empty() {
            lines.push_str(line.trim_end());
            lines.push_str(" &\n");
            line = " ".repeat(indent + 4);
        }
        line.push_str(piece);
    }
    lines.push_str(line.trim_end());
    lines.push('\n');
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_statements_continue() {
        assert_eq!(statement(2, "a, b"), "  a, b\n");
        let names: Vec<String> = (0..20).map(|i| format!("argument_{i}")).collect();
        let text = statement(2, &format!("call f({})", names.join(", ")));
        assert!(text.lines().count() == 3 && text.lines().all(|line| line.len() <= LINE_MAX + 2));
        assert!(text.lines().take(2).all(|line| line.ends_with(", &")));
    }
}
