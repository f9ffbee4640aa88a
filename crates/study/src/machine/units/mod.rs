//! The units of machine files: nanoseconds, GB/s, bytes. The simulator counts ticks, flits and chunks; a
//! value is converted once, when a machine is read, and back when a machine is written.
//!
//! Nothing is listed by key. The end of a key's name in the simulator's configuration (`latency_ticks`)
//! determines its name and unit in files (`latency_ns`), by the rules of [`RULES`].
//!
//! | file | what |
//! |---|---|
//! | `mod.rs` | the rules: names and factors |
//! | `read.rs` | a machine's file in the simulator's units; what was rounded |
//! | `write.rs` | a machine in the units of files |
//! | `words.rs` | messages about the simulator's values, in the units of files |

mod read;
mod words;
mod write;

pub(super) use read::to_engine;
pub use read::{Rounding, roundings};
pub(crate) use words::error_of_file;
pub(super) use words::problem_of_file;
pub(super) use write::serialize;

use crate::tree::{Tree, Value};

/// Factors between the units of the simulator and those of files.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(non_snake_case)]
pub(crate) struct Base {
    /// Ticks per second.
    ticks_per_second: f64,
    /// Bytes of a flit; 1 on machines that have none.
    flit_B: f64,
    /// Bytes of a chunk; 1 on machines that have none.
    chunk_B: f64,
}

impl Base {
    /// The base of a machine's file. What is missing or wrong there is refused where the machine is read:
    /// until then, it is 1.
    fn of_file(tree: &Tree) -> Base {
        let number = |path: &str, factor: f64| {
            let value = tree.at(path).and_then(number).filter(|value| *value > 0.0 && value.is_finite());
            value.map_or(1.0, |value| value * factor)
        };
        Base {
            // A clock is a whole number of ticks per second.
            ticks_per_second: number("clock_MHz", 1e6).round().max(1.0),
            flit_B: number("packet.flit_bits", 0.125),
            chunk_B: number("packet.chunk_B", 1.0),
        }
    }
}

/// The number that a value is, if it is one.
fn number(tree: &Tree) -> Option<f64> {
    match tree.value {
        Value::Integer(i) => Some(i as f64),
        Value::Float(f) => Some(f),
        _ => None,
    }
}

/// How a value in a file relates to the simulator's.
#[derive(Clone, Copy)]
enum Relation {
    /// A file's value is the simulator's times this.
    Times(fn(Base) -> f64),
    /// A file's value is this divided by the simulator's: a rate, where the simulator has the time of a byte
    /// or a flit.
    Over(fn(Base) -> f64),
}

/// A rule: how a name ends in the simulator's configuration, how in files, and how the values relate.
pub(crate) struct Rule {
    engine: &'static str,
    file: &'static str,
    relation: Relation,
    /// Whether a value between two whole ones counts as the lower: room for half a flit is room for none.
    rounds_down: bool,
}

const fn rule(engine: &'static str, file: &'static str, relation: Relation) -> Rule {
    Rule { engine, file, relation, rounds_down: false }
}

const fn room(engine: &'static str, file: &'static str, relation: Relation) -> Rule {
    Rule { engine, file, relation, rounds_down: true }
}

/// All rules. The first whose end fits a name holds.
const RULES: &[Rule] = &[
    rule("ticks_per_second", "clock_MHz", Relation::Times(|_| 1e-6)),
    rule("ticks_per_byte", "bandwidth_GB_per_s", Relation::Over(|base| base.ticks_per_second * 1e-9)),
    rule("bytes_per_tick", "bandwidth_GB_per_s", Relation::Times(|base| base.ticks_per_second * 1e-9)),
    rule(
        "flits_per_tick",
        "bandwidth_GB_per_s",
        Relation::Times(|base| base.flit_B * base.ticks_per_second * 1e-9),
    ),
    rule(
        "flit_milliticks",
        "bandwidth_GB_per_s",
        Relation::Over(|base| base.flit_B * base.ticks_per_second * 1e-6),
    ),
    rule("dword_microticks", "bandwidth_GB_per_s", Relation::Over(|base| 4.0 * base.ticks_per_second * 1e-3)),
    rule("_microticks", "_ns", Relation::Times(|base| 1e3 / base.ticks_per_second)),
    rule("_milliticks", "_ns", Relation::Times(|base| 1e6 / base.ticks_per_second)),
    rule("_ticks", "_ns", Relation::Times(|base| 1e9 / base.ticks_per_second)),
    room("input_flits", "input_buffer_KiB", Relation::Times(|base| base.flit_B / 1024.0)),
    room("input_reserved_flits", "input_reserved_B", Relation::Times(|base| base.flit_B)),
    room("subswitch_flits", "subswitch_buffer_B", Relation::Times(|base| base.flit_B)),
    room("column_flits", "column_buffer_B", Relation::Times(|base| base.flit_B)),
    room("send_buffer_flits", "send_buffer_KiB", Relation::Times(|base| base.flit_B / 1024.0)),
    room("chunks_max", "max_B", Relation::Times(|base| base.chunk_B)),
];

/// The rule for a key of the simulator, by its name.
pub(crate) fn rule_of(name: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| {
        let before = name.strip_suffix(rule.engine);
        before
            .is_some_and(|before| rule.engine.starts_with('_') || before.is_empty() || before.ends_with('_'))
    })
}

/// The name in files of a key of the simulator.
pub(crate) fn name_in_file(name: &str) -> Option<String> {
    let rule = rule_of(name)?;
    Some(format!("{}{}", name.strip_suffix(rule.engine)?, rule.file))
}

impl Rule {
    /// The unit in files: what ends the name.
    fn unit(&self) -> &'static str {
        match self.file {
            "bandwidth_GB_per_s" => "GB/s",
            name => name.rsplit('_').next().unwrap_or_default(),
        }
    }

    /// A value of the simulator in the unit of files.
    fn in_file(&self, engine: f64, base: Base) -> f64 {
        match self.relation {
            Relation::Times(factor) => engine * factor(base),
            Relation::Over(factor) => factor(base) / engine,
        }
    }

    /// A value of a file in the simulator's unit, not rounded.
    fn in_engine(&self, file: f64, base: Base) -> f64 {
        match self.relation {
            Relation::Times(factor) => file / factor(base),
            Relation::Over(factor) => factor(base) / file,
        }
    }

    /// Whether a faster clock has finer steps: it has none for sizes, and coarser ones for what is counted
    /// per cycle.
    fn is_finer_by_clock(&self, base: Base) -> bool {
        let faster = Base { ticks_per_second: 2.0 * base.ticks_per_second, ..base };
        match self.relation {
            Relation::Times(factor) => factor(faster) < factor(base),
            Relation::Over(_) => true,
        }
    }

    /// The whole number nearest to a value in the simulator's unit, or the one below it.
    fn whole(&self, engine: f64) -> f64 {
        // Factors such as 1/3 leave the last bits of a whole number wrong.
        if self.rounds_down { (engine + 1e-6).floor() } else { engine.round() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_files_end_with_the_unit() {
        let names = [
            ("latency_ticks", "latency_ns"),
            ("crossing_milliticks", "crossing_ns"),
            ("cycle_microticks", "cycle_ns"),
            ("flit_milliticks", "bandwidth_GB_per_s"),
            ("netlink_flit_milliticks", "netlink_bandwidth_GB_per_s"),
            ("dword_microticks", "bandwidth_GB_per_s"),
            ("bus_flits_per_tick", "bus_bandwidth_GB_per_s"),
            ("ddr_bytes_per_tick", "ddr_bandwidth_GB_per_s"),
            ("ticks_per_second", "clock_MHz"),
            ("input_flits", "input_buffer_KiB"),
            ("chunks_max", "max_B"),
        ];
        for (engine, file) in names {
            assert_eq!(name_in_file(engine).as_deref(), Some(file));
        }
        // Counts of flits are counts in files too: they are part of a format.
        for engine in ["request_header_flits", "set_flits", "flit_bits", "vc_B", "attempts_max"] {
            assert_eq!(name_in_file(engine), None);
        }
    }

    #[test]
    fn room_rounds_down_and_times_to_the_nearest() {
        assert_eq!(rule_of("chunks_max").expect("a size").whole(15.6), 15.0);
        assert_eq!(rule_of("latency_ticks").expect("a time").whole(15.6), 16.0);
    }

    #[test]
    fn a_faster_clock_has_finer_steps_of_times_only() {
        let base = Base { ticks_per_second: 1e9, flit_B: 8.0, chunk_B: 32.0 };
        let finer = |name| rule_of(name).expect(name).is_finer_by_clock(base);
        assert!(finer("latency_ticks") && finer("ticks_per_byte") && finer("flit_milliticks"));
        assert!(!finer("input_flits") && !finer("chunks_max") && !finer("bus_flits_per_tick"));
    }

    #[test]
    fn values_convert_there_and_back() {
        let base = Base { ticks_per_second: 875e6, flit_B: 6.0, chunk_B: 1.0 };
        for (name, engine, file) in [
            ("latency_ticks", 35.0, 40.0),
            ("flit_milliticks", 1000.0, 5.25),
            ("dword_microticks", 218_750.0, 16.0),
            ("input_flits", 640.0, 3.75),
            ("bus_flits_per_tick", 1.0, 5.25),
        ] {
            let rule = rule_of(name).expect(name);
            assert!((rule.in_file(engine, base) - file).abs() < 1e-9, "{name}");
            assert_eq!(rule.whole(rule.in_engine(file, base)), engine, "{name}");
        }
    }
}
