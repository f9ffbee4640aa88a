//! Published figures beside what a program measures: a study names the table, and which of its columns belong to which of the program's.

use crate::published::{Entry, published};
use crate::result::PublishedCurve;
use netloom_fabric::config::ConfigError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The key `published` of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beside {
    /// The table: `"bgq.table1_ping_pong"`.
    pub table: String,
    /// What its rows' keys must be multiplied by to be the program's: 1024 for KB.
    #[serde(default = "one")]
    pub row_scale: f64,
    /// The program's columns, and the published ones that belong to them.
    pub columns: BTreeMap<String, String>,
}

fn one() -> f64 {
    1.0
}

impl Beside {
    /// Checks that there is such a table with such columns.
    ///
    /// # Errors
    /// The table or the column that there is not, and what there is.
    pub fn check(&self) -> Result<(), ConfigError> {
        let refuse =
            |key: &str, message: String| Err(ConfigError { key: format!("published.{key}"), message });
        let all = published().unwrap_or_default();
        let of_table: Vec<&Entry> = all.iter().filter(|e| e.table == self.table).collect();
        if of_table.is_empty() {
            let mut tables: Vec<&str> = all.iter().map(|e| e.table.as_str()).collect();
            tables.dedup();
            // Those of the paper, if it is one of the papers'.
            let paper = self.table.split('.').next().unwrap_or_default();
            if tables.iter().any(|t| t.split('.').next() == Some(paper)) {
                tables.retain(|t| t.split('.').next() == Some(paper));
            }
            let list = tables.join(", ");
            return refuse("table", format!("expected one of {list}; found \"{}\"", self.table));
        }
        for quantity in self.columns.values() {
            if of_table.iter().all(|e| e.quantity != *quantity) {
                let mut there: Vec<&str> = of_table.iter().map(|e| e.quantity.as_str()).collect();
                there.sort_unstable();
                there.dedup();
                let message =
                    format!("expected columns of {}: {}; found \"{quantity}\"", self.table, there.join(", "));
                return refuse("columns", message);
            }
        }
        Ok(())
    }

    /// The published points, by the program's columns.
    pub fn curves(&self) -> Vec<PublishedCurve> {
        let all = published().unwrap_or_default();
        let of = |(column, quantity): (&String, &String)| {
            let entries = all.iter().filter(|e| e.table == self.table && e.quantity == *quantity);
            let point = |e: &Entry| Some((row(&e.id)? * self.row_scale, e.published.as_ref()?.number()?));
            PublishedCurve { column: column.clone(), points: entries.filter_map(point).collect() }
        };
        self.columns.iter().map(of).collect()
    }
}

/// The key of an entry's row, as a number: of `bgq.table[4096].column`, 4096.
fn row(id: &str) -> Option<f64> {
    let (_, rest) = id.split_once('[')?;
    rest.split_once(']')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beside(table: &str, quantity: &str) -> Beside {
        let columns = [("hardware ns".to_owned(), quantity.to_owned())].into();
        Beside { table: table.into(), row_scale: 2.0, columns }
    }

    #[test]
    fn points_come_from_the_table() {
        let curves = beside("bgq.table1_ping_pong", "hardware_ns").curves();
        assert_eq!(curves[0].points[..2], [(2.0, 622.0), (4.0, 671.0)]);
        assert_eq!(curves[0].points.len(), 13);
    }

    #[test]
    fn what_is_not_there_is_told() {
        assert!(beside("bgq.table1_ping_pong", "hardware_ns").check().is_ok());
        let told = beside("bgq.table9", "x").check().expect_err("none").message;
        assert!(told.contains("bgq.table1_ping_pong") && !told.contains("bgl."), "{told}");
        let told = beside("bgq.table1_ping_pong", "x").check().expect_err("none").message;
        assert!(told.contains("hardware_and_software_ns"), "{told}");
    }
}
