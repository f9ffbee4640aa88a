//! The sum of the processes' measurements of their transactions.

use super::{
    CHECKED, COMPLETED, Drawn, Exchange, FAILED, FOUND, GIVEN_UP, ISSUED, Kind, PARTLY, RETURNED, WRONG,
};
use crate::measured::{Column, Measured};
use crate::processes::Measurements;
use std::collections::{HashMap, HashSet};

/// Numbers of transactions by outcome.
#[derive(Clone, Copy, Default)]
struct Tally {
    issued: u64,
    completed: u64,
    failed: u64,
    /// Neither ended nor given up, or more than once.
    unaccounted: u64,
    /// Reported as successful, but with missing data; or given up, since no notification would have come.
    missing: u64,
}

impl Tally {
    fn and(self, other: Tally) -> Tally {
        Tally {
            issued: self.issued + other.issued,
            completed: self.completed + other.completed,
            failed: self.failed + other.failed,
            unaccounted: self.unaccounted + other.unaccounted,
            missing: self.missing + other.missing,
        }
    }
}

impl Exchange {
    pub(crate) fn measured(&self, measurements: &Measurements, second: f64) -> Measured {
        let all = |kind: u64| {
            measurements.iter().flat_map(move |(node, _, measurements)| {
                measurements.iter().filter(move |n| n.key == kind).map(move |n| (*node, n.value))
            })
        };
        let nodes_of = |kind: u64| -> HashSet<u32> { all(kind).map(|(node, _)| node).collect() };
        let numbers_of = |kind: u64| -> HashSet<u64> { all(kind).map(|(_, number)| number).collect() };
        // Failed nodes do not report how their transactions ended.
        let (alive, checked, found) = (nodes_of(RETURNED), nodes_of(CHECKED), numbers_of(FOUND));
        let nodes = measurements.iter().map(|(node, ..)| node + 1).max().unwrap_or(0);
        let drawn: HashMap<u64, Drawn> = alive.iter().flat_map(|&from| self.all_of(from, nodes)).collect();
        let of_alive = |of: u64| all(of).filter(|(node, _)| alive.contains(node)).map(|(_, number)| number);
        let mut ends: HashMap<u64, u32> = HashMap::new();
        for of in [COMPLETED, FAILED, GIVEN_UP] {
            of_alive(of).for_each(|number| *ends.entry(number).or_default() += 1);
        }
        let tally = |kind: Kind| {
            let is_kind = |number: &u64| drawn[number].kind == kind;
            let count = |of: u64| of_alive(of).filter(is_kind).count() as u64;
            // The data must be present if the node still works. A get's data was verified when it ended.
            let is_missing = |number: &u64| {
                (kind == Kind::Get || checked.contains(&drawn[number].to)) && !found.contains(number)
            };
            let missing = of_alive(COMPLETED).filter(is_kind).filter(is_missing).count() as u64;
            Tally {
                issued: count(ISSUED),
                completed: count(COMPLETED),
                failed: count(FAILED),
                unaccounted: of_alive(ISSUED).filter(is_kind).filter(|n| ends.get(n) != Some(&1)).count()
                    as u64,
                missing: missing + count(GIVEN_UP),
            }
        };
        let by_kind: Vec<(&str, Tally)> =
            [(Kind::Put, "puts"), (Kind::Get, "gets"), (Kind::Atomic, "atomics")]
                .into_iter()
                .filter(|(kind, _)| self.has(*kind))
                .map(|(kind, name)| (name, tally(kind)))
                .collect();
        let sum = by_kind.iter().fold(Tally::default(), |sum, (_, tally)| sum.and(*tally));
        let ended = all(RETURNED).map(|(_, at)| at).max().unwrap_or(0) as f64 / second * 1e6;
        let mut cells: Vec<(Column, f64)> = [
            ("nodes", alive.len() as u64),
            ("issued", sum.issued),
            ("completed", sum.completed),
            ("reported as failed", sum.failed),
            ("unaccounted", sum.unaccounted),
            ("missing", sum.missing),
            ("partly there", numbers_of(PARTLY).len() as u64),
            ("wrong", numbers_of(WRONG).len() as u64),
        ]
        .map(|(name, count)| (Column { is_setting: name == "nodes", ..Column::new(name, "") }, count as f64))
        .to_vec();
        cells.push((Column::new("ended at", "us"), ended));
        if by_kind.len() > 1 {
            for (name, tally) in &by_kind {
                for (what, count) in [
                    ("issued", tally.issued),
                    ("completed", tally.completed),
                    ("failed", tally.failed),
                    ("missing", tally.missing),
                ] {
                    cells.push((Column::new(&format!("{name} {what}"), ""), count as f64));
                }
            }
        }
        let title = if by_kind.len() > 1 { "transactions" } else { by_kind[0].0 };
        let title = format!("{}{} at random", title[..1].to_uppercase(), &title[1..]);
        let (columns, row) = cells.into_iter().unzip();
        Measured { title, columns, rows: vec![row] }
    }

    /// All transactions of a node by number, drawn again.
    fn all_of(&self, from: u32, nodes: u32) -> Vec<(u64, Drawn)> {
        let mut plan = self.plan(from, nodes);
        (0..self.transactions).map(|n| (self.number(from, n), plan.next())).collect()
    }
}
