//! Measurements of workloads, as data: tables whose columns have labels and units, which is all that a report
//! needs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A column of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Column {
    /// Its name; may be empty if the unit implies it.
    pub label: String,
    /// Its unit; empty of a plain count, which no curve is drawn of.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// Whether it is a setting, such as the size of messages, rather than a result.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_setting: bool,
}

impl Column {
    /// A result column.
    pub fn new(label: &str, unit: &str) -> Column {
        Column { label: label.into(), unit: unit.into(), is_setting: false }
    }

    /// A setting column.
    pub fn setting(label: &str, unit: &str) -> Column {
        Column { is_setting: true, ..Column::new(label, unit) }
    }

    /// For display: `"put ns"`.
    pub fn heading(&self) -> String {
        format!("{} {}", self.label, self.unit).trim().to_owned()
    }

    /// For programs: `put_ns`, `bandwidth_GB_per_s`.
    pub fn key(&self) -> String {
        let spelt = self.heading().replace('/', "_per_");
        spelt.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
    }
}

/// Columns of tables: first settings, then results, each with its unit.
pub fn columns(settings: &[(&str, &str)], figures: &[(&str, &str)]) -> Vec<Column> {
    let settings = settings.iter().map(|(label, unit)| Column::setting(label, unit));
    settings.chain(figures.iter().map(|(label, unit)| Column::new(label, unit))).collect()
}

/// The measurements of a workload, as a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Its title.
    pub title: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows.
    pub rows: Vec<Vec<f64>>,
}

/// The results of a table by their keys: unchanged if it has one row; otherwise with the settings at which
/// they were measured, as in `latency_us_at_8_B`.
pub fn figures(columns: &[Column], rows: &[Vec<f64>]) -> Vec<(String, f64)> {
    let varies = |column: usize| rows.windows(2).any(|two| two[0].get(column) != two[1].get(column));
    let at: Vec<usize> = (0..columns.len()).filter(|&c| columns[c].is_setting && varies(c)).collect();
    let of_row = |row: &Vec<f64>| {
        let places: Vec<String> = at
            .iter()
            .filter_map(|&c| Some(Column { label: row.get(c)?.to_string(), ..columns[c].clone() }.key()))
            .collect();
        let suffix = if places.is_empty() { String::new() } else { format!("_at_{}", places.join("_")) };
        let figures = columns.iter().zip(row).filter(|(column, _)| !column.is_setting);
        figures.map(|(column, &value)| (column.key() + &suffix, value)).collect::<Vec<_>>()
    };
    if rows.len() > 1 && at.is_empty() {
        return vec![];
    }
    rows.iter().flat_map(of_row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_words() {
        assert_eq!(Column::new("sent and received", "GB/s").key(), "sent_and_received_GB_per_s");
        assert_eq!(Column::setting("", "B").heading(), "B");
    }

    #[test]
    fn figures_are_named_by_what_they_depend_on() {
        let columns = columns(&[("nodes", ""), ("message", "B")], &[("latency", "us")]);
        let rows = [vec![2.0, 8.0, 1.5], vec![2.0, 64.0, 1.75]];
        let named = figures(&columns, &rows);
        assert_eq!(named, [("latency_us_at_8_B".into(), 1.5), ("latency_us_at_64_B".into(), 1.75)]);
        assert_eq!(figures(&columns, &rows[..1]), [("latency_us".into(), 1.5)]);
        assert!(
            figures(&columns, &[rows[0].clone(), rows[0].clone()]).is_empty(),
            "nothing distinguishes them"
        );
    }
}
