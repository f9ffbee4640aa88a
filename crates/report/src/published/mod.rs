//! Published figures, entry by entry, from the files in `published/`.
//!
//! An entry's name is `paper.table[row].column`: the paper's file in `published/`, its table, the key of the
//! row (left out where a table has one row), and the column (left out where the paper gives no numbers, only
//! a behaviour).

mod beside;
pub mod compare;

pub use beside::WithPublished;
use compare::{Bound, Published, Tolerance, Verdict};
use netloom_study::claims::Evidence;
use netloom_study::diagnose::{Problem, SourceFile};
use netloom_study::tree::{Tree, Value};
use serde::Serialize;

/// The papers' figures: short name and TOML text.
pub const PAPERS: &[(&str, &str)] = &[
    ("bgl", include_str!("../../../../published/bgl.toml")),
    ("bgq", include_str!("../../../../published/bgq-network.toml")),
    ("cray-xc", include_str!("../../../../published/cray-xc.toml")),
    ("pami", include_str!("../../../../published/pami.toml")),
    ("th-express-2", include_str!("../../../../published/th-express-2.toml")),
    ("further", include_str!("../../../../published/further.toml")),
];

/// A published figure and what became of it: one element of `netloom validate --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// `paper.table[row].column`.
    pub id: String,
    /// The column, or `shape` for a behaviour in words.
    pub quantity: String,
    /// The machine and the workload that gave it.
    pub setup: String,
    /// The unit, from the column's name; empty where there is none.
    pub unit: String,
    /// The published figure.
    pub published: Option<Published>,
    /// The simulated one.
    pub simulated: Option<f64>,
    /// Their difference: in the unit for an absolute tolerance, else as a fraction of the published figure.
    pub difference: Option<f64>,
    /// Tolerance, as the table states it.
    pub tolerance: String,
    /// `predict`, `calibrate` or `parameter`.
    pub role: String,
    /// `measured`, `simulated`, `projected` or `design`.
    pub kind: String,
    /// How the simulated figure is obtained; `None` of a behaviour in words and of what was not run.
    pub evidence: Option<Evidence>,
    /// Its verdict.
    pub verdict: Verdict,
    /// The run's note, else the paper's.
    pub note: String,
    /// The table, `paper.table`.
    #[serde(skip)]
    pub table: String,
    /// How the published figure bounds the simulated one.
    #[serde(skip)]
    pub bound: Bound,
    /// Tolerance; `None` if the table has none.
    #[serde(skip)]
    pub allowed: Option<Tolerance>,
}

/// The published entries of all papers.
///
/// # Errors
/// A table that breaks the rules of `published/README.md`.
pub fn published() -> Result<Vec<Entry>, Problem> {
    let mut all = Vec::new();
    for (paper, text) in PAPERS {
        all.extend(read_paper(paper, text)?);
    }
    Ok(all)
}

/// The entries of one paper.
///
/// # Errors
/// A table that breaks the rules of `published/README.md`, in its place.
pub fn read_paper(paper: &str, text: &str) -> Result<Vec<Entry>, Problem> {
    let tree = Tree::parse(&SourceFile::new(format!("published/{paper}.toml"), text))?;
    let mut all = Vec::new();
    for table in tree.entries() {
        read_table(&format!("{paper}.{}", table.key), &table.value, &mut all)
            .map_err(|message| Problem::new(format!("{paper}.{}: {message}", table.key)).at(&table.origin))?;
    }
    Ok(all)
}

fn read_table(id: &str, table: &Tree, all: &mut Vec<Entry>) -> Result<(), String> {
    let text = |key: &str| {
        table.get(key).map(|v| v.text().map_or_else(|| v.inline(), str::to_owned)).unwrap_or_default()
    };
    let list = |key: &str| match table.get(key).map(|v| &v.value) {
        Some(Value::List(items)) => items.as_slice(),
        _ => &[],
    };
    let bound = match text("bound").as_str() {
        "" | "equal" => Bound::Equal,
        "at_most" => Bound::AtMost,
        "at_least" => Bound::AtLeast,
        "about" => Bound::About,
        other => return Err(format!("unknown bound \"{other}\"")),
    };
    let tolerance = text("tolerance");
    let allowed = match tolerance.as_str() {
        "" => None,
        some => Some(Tolerance::parse(some).ok_or_else(|| format!("unreadable tolerance \"{some}\""))?),
    };
    let role = text("role");
    let base = Entry {
        id: id.to_owned(),
        quantity: "shape".into(),
        setup: text("setup"),
        unit: String::new(),
        published: None,
        simulated: None,
        difference: None,
        tolerance,
        role: if role.is_empty() { "parameter".into() } else { role },
        kind: text("kind"),
        evidence: None,
        verdict: Verdict::NotRun,
        note: text("note"),
        table: id.to_owned(),
        bound,
        allowed,
    };
    if let Some(value) = table.get("value") {
        let published = Some(published_value(value).ok_or("`value` must be a number or text")?);
        all.push(Entry { quantity: "value".into(), unit: text("unit"), published, ..base });
        return Ok(());
    }
    let columns: Vec<&str> = list("columns").iter().filter_map(Tree::text).collect();
    let rows: Vec<&[Tree]> = list("rows")
        .iter()
        .filter_map(|r| match &r.value {
            Value::List(cells) => Some(cells.as_slice()),
            _ => None,
        })
        .collect();
    if rows.iter().any(|r| r.len() != columns.len()) {
        return Err(format!("every row needs {} values", columns.len()));
    }
    if rows.is_empty() {
        all.push(base);
        return Ok(());
    }
    let settings: Vec<&str> = list("settings").iter().filter_map(Tree::text).collect();
    if let Some(unknown) = settings.iter().find(|name| !columns.contains(name)) {
        return Err(format!("settings names no column: {unknown}"));
    }
    let fitted: Vec<String> = list("calibrate_rows").iter().map(plain).collect();
    let keys = match rows.len() {
        1 => 0,
        _ => key_columns(&rows, &fitted),
    };
    let mut found = vec![false; fitted.len()];
    for row in rows {
        let key = row[..keys].iter().map(plain).collect::<Vec<_>>().join("/");
        let row_id = if keys == 0 { id.to_owned() } else { format!("{id}[{key}]") };
        // A row with "at most" in its name is a bound whatever the table is.
        let bound = match (key.ends_with("at most"), key.ends_with("at least")) {
            (true, _) => Bound::AtMost,
            (_, true) => Bound::AtLeast,
            _ => bound,
        };
        let is_fitted = fitted
            .iter()
            .position(|f| *f == key || (keys == 0 && row.first().map(plain).as_ref() == Some(f)));
        if let Some(i) = is_fitted {
            found[i] = true;
        }
        let results = columns.iter().zip(row).skip(keys).filter(|(column, _)| !settings.contains(column));
        for (column, cell) in results {
            all.push(Entry {
                id: format!("{row_id}.{column}"),
                quantity: (*column).to_owned(),
                unit: unit_of(column).to_owned(),
                published: Some(published_value(cell).ok_or("rows hold numbers, text, true and false")?),
                role: if is_fitted.is_some() { "calibrate".into() } else { base.role.clone() },
                bound,
                ..base.clone()
            });
        }
    }
    match found.iter().position(|f| !f) {
        Some(i) => Err(format!("calibrate_rows names no row: {}", fitted[i])),
        None => Ok(()),
    }
}

/// Number of first columns that name a row: as many as `calibrate_rows` joins, else as few as distinguish all
/// rows.
fn key_columns(rows: &[&[Tree]], fitted: &[String]) -> usize {
    let columns = rows[0].len();
    let key = |row: &[Tree], n: usize| row[..n].iter().map(plain).collect::<Vec<_>>().join("/");
    if let Some(first) = fitted.first()
        && let Some(n) = (1..columns).find(|&n| rows.iter().any(|r| key(r, n) == *first))
    {
        return n;
    }
    let unique = |n: &usize| {
        let mut keys: Vec<String> = rows.iter().map(|r| key(r, *n)).collect();
        keys.sort();
        keys.dedup();
        keys.len() == rows.len()
    };
    (1..columns).find(unique).unwrap_or(1)
}

fn plain(value: &Tree) -> String {
    value.text().map_or_else(|| value.inline(), str::to_owned)
}

fn published_value(value: &Tree) -> Option<Published> {
    Some(match &value.value {
        Value::Integer(i) => Published::Number(*i as f64),
        Value::Float(f) => Published::Number(*f),
        Value::Bool(b) => Published::Flag(*b),
        Value::Text(text) => Published::Text(text.clone()),
        _ => return None,
    })
}

/// The unit that ends a column's name.
fn unit_of(column: &str) -> &'static str {
    const UNITS: &[(&str, &str)] = &[
        ("million_per_s", "M/s"),
        ("GB_per_s_per_node", "GB/s"),
        ("GB_per_s", "GB/s"),
        ("MB_per_s", "MB/s"),
        ("us_per_wall_s", "us/s"),
        ("updates_per_ns", "1/ns"),
        ("MHz", "MHz"),
        ("cycles", "cycles"),
        ("percent", "%"),
        ("bits", "bit"),
        ("us", "us"),
        ("ns", "ns"),
        ("B", "B"),
    ];
    UNITS
        .iter()
        .find(|(end, _)| column == *end || column.ends_with(&format!("_{end}")))
        .map_or("", |(_, unit)| unit)
}
