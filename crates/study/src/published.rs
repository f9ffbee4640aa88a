//! Published figures that a study wants beside what its program measures: it names the table, and which of
//! its columns belong to which of the program's. A run does without them; the crate `netloom-report` adds
//! them to its result.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The key `published` of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Beside {
    /// The table: `"bgq.table1_ping_pong"`.
    pub table: String,
    /// Factor from its rows' keys to those of the program: 1024 for KB.
    #[serde(default = "one")]
    pub row_scale: f64,
    /// The program's columns, and the published ones that belong to them.
    pub columns: BTreeMap<String, String>,
}

fn one() -> f64 {
    1.0
}
