//! The `[[claim]]` tables of a study: what its results must show. A claim names a figure (`of`, see
//! [`figure`]), the points of the sweep that it is read at, and the range or the published entry that it is
//! compared with. A single run is one point: what is read at others cannot be judged by it
//! ([`Claim::beyond_one_run`]).

mod claim;
mod figures;

pub use claim::{At, Claim, Evidence, Read, Take, Word};
pub use figures::figure;

use crate::decode::decode;
use crate::diagnose::Problem;
use crate::resolve::unknown_figure;
use crate::sweep::shown;
use crate::tree::{Tree, Value};

/// Reads the claims of a study.
///
/// # Errors
/// The error of a claim, with its place.
pub fn read(claims: &Tree) -> Result<Vec<Claim>, Problem> {
    let Value::List(list) = &claims.value else {
        let mut problem = Problem::new("`claim` has the wrong type of value").at(&claims.origin);
        problem.label = "expected tables, each written [[claim]]".into();
        return Err(problem);
    };
    let one = |tree: &Tree| {
        let claim: Claim = decode(tree)?;
        claim.check().map_err(|message| Problem::new(message).at(&tree.origin))?;
        for name in claim.figures() {
            if let Some(help) = unknown_figure(name, &figures::OWN) {
                let problem = Problem::new(format!("a claim is of `{name}`, which is no figure of a run"));
                return Err(problem.help(help).at(&tree.origin));
            }
        }
        Ok(claim)
    };
    let (mut claims, mut problems) = (vec![], vec![]);
    for tree in list {
        match one(tree) {
            Ok(claim) => claims.push(claim),
            Err(problem) => problems.push(problem),
        }
    }
    Problem::of_all(problems).map_or(Ok(claims), Err)
}

/// A point of a study as claims read it: its parameters and its figures.
pub trait Measured {
    /// Where the point is: parameters of the sweep and their values.
    fn parameters(&self) -> &[(String, Tree)];
    /// A figure by name.
    ///
    /// # Errors
    /// An unknown figure, in words.
    fn figure(&self, name: &str) -> Result<f64, String>;
    /// Where the point is and how it was measured, in words.
    fn description(&self) -> String;

    /// Whether the point has this value of this parameter.
    fn is_at(&self, parameter: &str, value: &Word) -> bool {
        self.parameters().iter().any(|(path, found)| path == parameter && value.is(found))
    }
}

impl Word {
    /// Whether this is the word for a parameter's value.
    pub fn is(&self, found: &Tree) -> bool {
        match (self, &found.value) {
            (Word::Number(x), Value::Integer(i)) => *x == *i as f64,
            (Word::Number(x), Value::Float(f)) => x == f,
            (Word::Text(text), _) => *text == shown(found),
            _ => false,
        }
    }
}
