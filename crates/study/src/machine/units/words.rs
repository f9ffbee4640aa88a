//! Messages about the simulator's values, in the names and units of files.

use super::{Base, Relation, Rule, name_in_file, rule_of};
use crate::diagnose::Problem;
use crate::number::plain;
use crate::tree::Tree;
use netloom_fabric::config::ConfigError;

/// A problem found while the simulator's values were read, in the words of files.
pub(crate) fn problem_of_file(problem: Problem) -> Problem {
    problem.map_each(one_of_file)
}

fn one_of_file(mut problem: Problem) -> Problem {
    problem.message = names_of_file(&problem.message);
    problem.label = names_of_file(&problem.label);
    problem.help = problem.help.map(|help| names_of_file(&help));
    problem.rename_key(names_of_file);
    problem
}

/// An invalid value of a machine, in the words and units of its file.
pub(crate) fn error_of_file(e: ConfigError, machine: &Tree) -> ConfigError {
    let base = Base::of_file(machine);
    let name = e.key.rsplit('.').next().unwrap_or_default();
    let message = match rule_of(name) {
        Some(rule) => in_units_of_file(&e.message, rule, base),
        None => e.message,
    };
    ConfigError { key: names_of_file(&e.key), message: names_of_file(&message) }
}

/// A text with each name of the simulator replaced by that of files.
fn names_of_file(text: &str) -> String {
    pieces(text).map(|piece| name_in_file(piece).unwrap_or_else(|| piece.to_owned())).collect()
}

/// A text as words, numbers, and what is between them.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let first = rest.chars().next()?;
        let end = rest.find(|c: char| is_word(c) != is_word(first)).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece)
    })
}

/// A message of the form `expected [at least, at most] N [to N], …, found N` with its numbers in the unit of
/// files. Another message stays as it is: its numbers may count something else.
fn in_units_of_file(message: &str, rule: &Rule, base: Base) -> String {
    let Some(limits) = message.strip_prefix("expected ") else { return message.to_owned() };
    let (bound, limits) = ["at least ", "at most ", ""]
        .iter()
        .find_map(|bound| Some((*bound, limits.strip_prefix(bound)?)))
        .unwrap_or(("", limits));
    if !limits.starts_with(|c: char| c.is_ascii_digit()) {
        return message.to_owned();
    }
    let unit = rule.unit();
    let convert = |number: f64| format!("{} {unit}", plain(rule.in_file(number, base)));
    let mut numbers = vec![];
    let mut words = String::new();
    // Other numbers count something else: VCs, packets.
    let mut is_value = true;
    for word in limits.split(' ') {
        let bare = word.trim_end_matches(',');
        let number = bare.parse::<f64>().ok().filter(|_| is_value);
        is_value = ["to", "found"].contains(&bare);
        match number.ok_or(()) {
            Ok(number) => {
                words += &format!(" \u{0}{}", &word[bare.len()..]);
                numbers.push(number);
            }
            // The unit of the number before it.
            Err(()) if ["tick", "ticks", "flit", "flits", "chunks"].contains(&bare) => {
                words += &word[bare.len()..];
            }
            Err(()) => words += &format!(" {word}"),
        }
    }
    let is_range = words.starts_with(" \u{0} to \u{0}");
    let mut bound = bound;
    if let Relation::Over(_) = rule.relation {
        // The longest time is the lowest rate.
        bound = match bound {
            "at least " => "at most ",
            "at most " => "at least ",
            other => other,
        };
        if is_range {
            numbers.swap(0, 1);
        }
    }
    let mut parts = words.split('\u{0}');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for (part, number) in parts.zip(numbers) {
        text += &convert(number);
        text += part;
    }
    format!("expected {bound}{}", text.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(key: &str, message: &str) -> String {
        let base = Base { ticks_per_second: 1e9, flit_B: 8.0, chunk_B: 32.0 };
        names_of_file(&in_units_of_file(message, rule_of(key).expect(key), base))
    }

    #[test]
    fn limits_are_in_the_units_of_files() {
        assert_eq!(
            reported("latency_ticks", "expected 1 to 100000 ticks, found 0"),
            "expected 1 ns to 100000 ns, found 0 ns"
        );
        assert_eq!(
            reported("flit_milliticks", "expected 1 to 1000, found 2000"),
            "expected 8 GB/s to 8000 GB/s, found 4 GB/s"
        );
        assert_eq!(
            reported("ticks_per_byte", "expected at most 10, found 20"),
            "expected at least 0.1 GB/s, found 0.05 GB/s"
        );
        assert_eq!(reported("ticks_per_byte", "expected at least 1 tick"), "expected at most 1 GB/s");
        let reserved = "expected at least 112 flits, what is reserved for 8 VCs, found 17";
        let in_file = "expected at least 896 B, what is reserved for 8 VCs, found 136 B";
        assert_eq!(reported("input_reserved_flits", reserved), in_file);
        let other = "expected a value for each of the 5 dimensions, found 3";
        assert_eq!(reported("trace_ticks", other), other);
        assert_eq!(reported("wire_ticks", "more than ack_only_after_ticks"), "more than ack_only_after_ns");
    }
}
