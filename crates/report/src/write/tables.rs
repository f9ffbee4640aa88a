//! Tables as Parquet: `series.parquet`, `links.parquet`, `latency.parquet`, `reordering.parquet`.

use netloom_fabric::router::LinkErrors;
use netloom_study::diagnose::Problem;
use netloom_study::result::{
    ExtentBin, LatencyStats, LinkErrorRow, LinkRow, PortRow, RunResult, Series, direction_name,
};
use netloom_workload::config::letter;
use parquet::basic::Compression;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::record::RowAccessor;
use parquet::schema::parser::parse_message_type;
use std::sync::Arc;

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Whole numbers.
    Integers(Vec<i64>),
    /// Numbers.
    Numbers(Vec<f64>),
    /// True or false, or neither.
    Flags(Vec<Option<bool>>),
    /// Text.
    Texts(Vec<String>),
}

impl Column {
    fn len(&self) -> usize {
        match self {
            Column::Integers(values) => values.len(),
            Column::Numbers(values) => values.len(),
            Column::Flags(values) => values.len(),
            Column::Texts(values) => values.len(),
        }
    }

    /// A value as text; empty where there is none, or a number that is none.
    fn text(&self, row: usize) -> String {
        match self {
            Column::Integers(values) => values[row].to_string(),
            Column::Numbers(values) if !values[row].is_finite() => String::new(),
            Column::Numbers(values) => values[row].to_string(),
            Column::Flags(values) => values[row].map_or(String::new(), |flag| flag.to_string()),
            Column::Texts(values) => values[row].clone(),
        }
    }
}

/// A table: columns of equal length, by name. A column's unit is in its name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table(pub Vec<(String, Column)>);

impl Table {
    fn add(&mut self, name: impl Into<String>, column: Column) {
        self.0.push((name.into(), column));
    }

    /// The table as a Parquet file, compressed with Snappy.
    ///
    /// # Errors
    /// None that a table of equal columns can cause.
    pub fn to_parquet(&self) -> Result<Vec<u8>, Problem> {
        self.encode().map_err(|e| Problem::new(format!("cannot write a table: {e}")))
    }

    /// The table as CSV with a line of names; a number that is none is empty.
    ///
    /// # Errors
    /// None that a table of equal columns can cause.
    pub fn to_csv(&self) -> Result<Vec<u8>, Problem> {
        let problem = |e: &dyn std::fmt::Display| Problem::new(format!("cannot write a table: {e}"));
        let mut writer = csv::Writer::from_writer(vec![]);
        writer.write_record(self.0.iter().map(|(name, _)| name)).map_err(|e| problem(&e))?;
        let rows = self.0.first().map_or(0, |(_, column)| column.len());
        for row in 0..rows {
            writer
                .write_record(self.0.iter().map(|(_, column)| column.text(row)))
                .map_err(|e| problem(&e))?;
        }
        writer.into_inner().map_err(|e| problem(&e))
    }

    fn encode(&self) -> Result<Vec<u8>, ParquetError> {
        let fields: Vec<String> = self
            .0
            .iter()
            .map(|(name, column)| match column {
                Column::Integers(_) => format!("required int64 {name};"),
                Column::Numbers(_) => format!("required double {name};"),
                Column::Flags(_) => format!("optional boolean {name};"),
                Column::Texts(_) => format!("required binary {name} (UTF8);"),
            })
            .collect();
        let schema = Arc::new(parse_message_type(&format!("message table {{ {} }}", fields.join(" ")))?);
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
        let mut group = writer.next_row_group()?;
        let mut columns = self.0.iter();
        while let Some(mut into) = group.next_column()? {
            match (&columns.next().expect("the schema has these columns").1, into.untyped()) {
                (Column::Integers(v), ColumnWriter::Int64ColumnWriter(w)) => w.write_batch(v, None, None)?,
                (Column::Numbers(v), ColumnWriter::DoubleColumnWriter(w)) => w.write_batch(v, None, None)?,
                (Column::Flags(v), ColumnWriter::BoolColumnWriter(w)) => {
                    let known: Vec<bool> = v.iter().flatten().copied().collect();
                    let levels: Vec<i16> = v.iter().map(|flag| flag.is_some().into()).collect();
                    w.write_batch(&known, Some(&levels), None)?
                }
                (Column::Texts(v), ColumnWriter::ByteArrayColumnWriter(w)) => {
                    let bytes: Vec<ByteArray> = v.iter().map(|s| s.as_str().into()).collect();
                    w.write_batch(&bytes, None, None)?
                }
                _ => unreachable!("the schema follows the columns"),
            };
            into.close()?;
        }
        group.close()?;
        writer.into_inner()
    }
}

/// The tables of a result and their file names.
pub fn tables(result: &RunResult) -> Vec<(&'static str, Table)> {
    let mut tables = vec![("series.parquet", series(&result.series)), ("latency.parquet", latency(result))];
    if !result.per_link.is_empty() {
        tables.push(("links.parquet", links(&result.per_link)));
    }
    if !result.link_errors.is_empty() {
        tables.push(("errors.parquet", errors(&result.link_errors)));
    }
    if !result.ports.is_empty() {
        tables.push(("links.parquet", ports(&result.ports)));
    }
    if let Some(r) = result.switched.as_ref().and_then(|s| s.reordering.as_ref()) {
        tables.push(("reordering.parquet", reordering(&r.histogram)));
    }
    tables
}

/// One row for each bin of the histogram of extents.
fn reordering(bins: &[ExtentBin]) -> Table {
    let integers = |of: fn(&ExtentBin) -> u64| Column::Integers(bins.iter().map(|b| of(b) as i64).collect());
    let mut table = Table::default();
    table.add("extent_from", integers(|b| b.from));
    table.add("extent_to", integers(|b| b.to));
    table.add("packets", integers(|b| b.packets));
    table
}

/// One row for each window of each curve.
pub fn series(all: &[Series]) -> Table {
    let each = || all.iter().flat_map(|s| (0..s.values.len()).map(move |i| (s, i)));
    let mut table = Table::default();
    table.add("chart", Column::Texts(each().map(|(s, _)| s.chart.clone()).collect()));
    table.add("series", Column::Texts(each().map(|(s, _)| s.name.clone()).collect()));
    table.add("unit", Column::Texts(each().map(|(s, _)| s.unit.clone()).collect()));
    table.add("from_us", Column::Numbers(each().map(|(s, i)| i as f64 * s.window_us).collect()));
    table.add("window_us", Column::Numbers(each().map(|(s, _)| s.window_us).collect()));
    table.add("value", Column::Numbers(each().map(|(s, i)| s.values[i]).collect()));
    table
}

/// The curves of a file that holds [`series`], in its order; none if it does not.
pub fn read_series(file: std::fs::File) -> Option<Vec<Series>> {
    let mut all: Vec<Series> = vec![];
    for row in SerializedFileReader::new(file).ok()?.get_row_iter(None).ok()? {
        let row = row.ok()?;
        let text = |i: usize| row.get_string(i).ok();
        let (chart, name) = (text(0)?, text(1)?);
        let value = row.get_double(5).ok()?;
        match all.last_mut().filter(|s| s.chart == *chart && s.name == *name) {
            Some(series) => series.values.push(value),
            None => all.push(Series {
                chart: chart.clone(),
                name: name.clone(),
                unit: text(2)?.clone(),
                window_us: row.get_double(4).ok()?,
                values: vec![value],
            }),
        }
    }
    Some(all)
}

/// One row for each bin of each histogram.
fn latency(result: &RunResult) -> Table {
    let all: [(&str, &LatencyStats); 2] =
        [("network", &result.latency.network), ("total", &result.latency.total)];
    let each = || all.iter().flat_map(|(name, stats)| stats.bins.iter().map(move |b| (*name, b)));
    let mut table = Table::default();
    table.add("latency", Column::Texts(each().map(|(name, _)| name.to_owned()).collect()));
    table.add("from_ns", Column::Numbers(each().map(|(_, b)| b.from_ns).collect()));
    table.add("to_ns", Column::Numbers(each().map(|(_, b)| b.to_ns).collect()));
    table.add("packets", Column::Integers(each().map(|(_, b)| b.count as i64).collect()));
    table
}

/// One row for each link: what went wrong there and was made good.
pub fn errors(rows: &[LinkErrorRow]) -> Table {
    let numbers = |of: &dyn Fn(&LinkErrors) -> u64| {
        Column::Integers(rows.iter().map(|r| of(&r.errors) as i64).collect())
    };
    let mut table = Table::default();
    for d in 0..rows.first().map_or(0, |row| row.node.len()) {
        table.add(letter(d), Column::Integers(rows.iter().map(|r| i64::from(r.node[d])).collect()));
    }
    table.add("direction", Column::Texts(rows.iter().map(|r| direction_name(r.direction)).collect()));
    table.add("corrupted", numbers(&|e| e.corrupted));
    table.add("bad_headers", numbers(&|e| e.bad_headers));
    table.add("refused", numbers(&|e| e.refused));
    table.add("retransmitted", numbers(&|e| e.retransmitted));
    table.add("ran_on", numbers(&|e| e.ran_on));
    table.add("ghosts", numbers(&|e| e.ghosts));
    table.add("acks_lost", numbers(&|e| e.acks_lost));
    table.add("ack_only", numbers(&|e| e.ack_only));
    table.add("barriers_lost", numbers(&|e| e.barriers_lost));
    table.add("barriers_resent", numbers(&|e| e.barriers_resent));
    for (fibre, name) in FIBRES.into_iter().enumerate() {
        table.add(name, numbers(&|e| e.fibre_errors[fibre]));
    }
    table.add("words_corrected", numbers(&|e| e.words_corrected));
    table.add("fibres_replaced", numbers(&|e| e.fibres_replaced));
    table.add("soft_corrected", numbers(&|e| e.soft_corrected));
    table
}

/// Columns of the fibres of an optical link.
const FIBRES: [&str; 5] = ["fibre_0", "fibre_1", "fibre_2", "fibre_3", "spare_fibre"];

/// One row for each link.
pub fn links(rows: &[LinkRow]) -> Table {
    let numbers = |of: fn(&LinkRow) -> f64| Column::Numbers(rows.iter().map(of).collect());
    let mut table = Table::default();
    for d in 0..rows.first().map_or(0, |row| row.node.len()) {
        table.add(letter(d), Column::Integers(rows.iter().map(|r| i64::from(r.node[d])).collect()));
    }
    table.add("direction", Column::Texts(rows.iter().map(|r| direction_name(r.direction)).collect()));
    table.add("utilization", numbers(|r| r.utilization));
    table.add("payload", numbers(|r| r.payload));
    table.add("acks", numbers(|r| r.acks));
    table.add("dynamic", numbers(|r| r.by_class.dynamic));
    table.add("escape", numbers(|r| r.by_class.escape));
    table.add("high", numbers(|r| r.by_class.high));
    table
}

/// One row for each link of a machine of switches.
pub fn ports(rows: &[PortRow]) -> Table {
    let integers = |of: fn(&PortRow) -> i64| Column::Integers(rows.iter().map(of).collect());
    let mut table = Table::default();
    table.add("router", integers(|r| r.router.into()));
    table.add("port", integers(|r| r.port.into()));
    table.add("group", integers(|r| r.group.into()));
    table.add("class", Column::Texts(rows.iter().map(|r| r.class.clone()).collect()));
    table.add("to_router", integers(|r| r.to.into()));
    table.add("to_group", integers(|r| r.to_group.into()));
    table.add("utilization", Column::Numbers(rows.iter().map(|r| r.utilization).collect()));
    table.add("flits", integers(|r| r.flits as i64));
    table.add("packets", integers(|r| r.packets as i64));
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_quotes_what_needs_it_and_leaves_out_what_is_no_number() {
        let texts = Column::Texts(vec!["plain".into(), "a, \"b\"".into()]);
        let table = Table(vec![
            ("name".into(), texts),
            ("x".into(), Column::Numbers(vec![0.5, f64::NAN])),
            ("n".into(), Column::Integers(vec![-1, 2])),
            ("ok".into(), Column::Flags(vec![Some(true), None])),
        ]);
        let csv = String::from_utf8(table.to_csv().unwrap()).unwrap();
        assert_eq!(csv, "name,x,n,ok\nplain,0.5,-1,true\n\"a, \"\"b\"\"\",,2,\n");
    }
}
