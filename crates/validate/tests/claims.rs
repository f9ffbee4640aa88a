//! The claims of the studies behind `netloom validate`: each passes on what it describes and fails on a wrong
//! curve.

use netloom_study::claims::Measured;
use netloom_study::claims::{At, Claim, Word};
use netloom_study::tree::Tree;
use netloom_validate::judges::runs::StudyFile;
use netloom_validate::judges::{bgl, bgq};

/// A point of a study's sweep whose figures are made up.
struct MadeUp<'a> {
    parameters: Vec<(String, Tree)>,
    /// What the claim reads here, and elsewhere, and where "here" is.
    of: &'a str,
    over_of: &'a str,
    at: &'a At,
    here: f64,
    elsewhere: f64,
}

impl Measured for MadeUp<'_> {
    fn parameters(&self) -> &[(String, Tree)] {
        &self.parameters
    }
    fn figure(&self, name: &str) -> Result<f64, String> {
        let is_here = self.at.iter().all(|(k, v)| self.is_at(k, v));
        match name {
            _ if name == self.of && is_here => Ok(self.here),
            _ if name == self.of || name == self.over_of => Ok(self.elsewhere),
            _ => Err(format!("the claim does not read `{name}`")),
        }
    }
    fn description(&self) -> String {
        "made up".into()
    }
}

fn value(claim: &Claim, file: &StudyFile, here: f64, elsewhere: f64) -> f64 {
    // A claim about all points, over one of them, takes that one as elsewhere.
    let nowhere = At::from([("nothing".to_owned(), Word::Number(0.0))]);
    let of_all = claim.at.is_empty() && claim.over.is_some();
    let points: Vec<MadeUp> = file
        .points
        .iter()
        .map(|point| MadeUp {
            parameters: file.parameters(point),
            of: &claim.of,
            over_of: claim.over_of.as_deref().unwrap_or(&claim.of),
            at: if of_all { &nowhere } else { &claim.at },
            here,
            elsewhere,
        })
        .map(|mut p| {
            if of_all && !claim.over.as_ref().is_some_and(|o| o.iter().all(|(k, v)| p.is_at(k, v))) {
                p.elsewhere = here;
            }
            p
        })
        .collect();
    claim.read(&points).unwrap_or_else(|e| panic!("{}: {}: {e}", file.name, claim.says)).value
}

#[test]
fn every_claim_fails_on_a_wrong_curve() {
    let mut claims = 0;
    for quick in [false, true] {
        for (name, text) in bgl::STUDIES.iter().chain(bgq::STUDIES).flat_map(|(_, studies)| *studies) {
            let file = StudyFile::read(name, text, quick).unwrap();
            for claim in file.claims.iter().filter(|c| c.entry.is_none() && c.is_judged(quick)) {
                let (low, high) = claim.range(quick);
                let holds = |x: f64| (low..=high).contains(&x);
                let unit = if claim.over.is_some() || claim.over_of.is_some() { 40.0 } else { 1.0 };
                let at = |x: f64| value(claim, &file, x * unit, unit);
                let middle = f64::midpoint(low, high);
                assert!(holds(at(middle)), "{name}: {}: {middle} came out at {}", claim.says, at(middle));
                // On the wrong side of either end, where there can be anything.
                assert!(!holds(at(high * 1.05 + 0.01)), "{name}: {}: too much passes", claim.says);
                if low > 0.0 {
                    assert!(!holds(at(low * 0.95)), "{name}: {}: too little passes", claim.says);
                }
                assert!(!holds(f64::NAN));
                // Nothing happened at all: where a curve must be unlike another, two equal ones fail.
                if unit > 1.0 && !holds(1.0) {
                    assert!(!holds(at(1.0)), "{name}: {}: no difference passes", claim.says);
                }
                claims += 1;
            }
        }
    }
    assert!(claims > 60, "{claims}");
}

#[test]
fn every_figure_that_is_compared_is_published() {
    let published = netloom_validate::published::published().unwrap();
    for (table, studies) in bgl::STUDIES.iter().chain(bgq::STUDIES) {
        for (name, text) in *studies {
            for claim in StudyFile::read(name, text, false).unwrap().claims {
                if let Some(id) = claim.entry {
                    assert!(published.iter().any(|e| e.id == id && e.table == *table), "{name}: {id}");
                }
            }
        }
    }
}

#[test]
fn every_predicted_entry_has_a_judge() {
    let judges = netloom_validate::judges::judges();
    for entry in netloom_validate::published::published().unwrap() {
        if entry.id.starts_with("bgl.") && entry.role != "parameter" {
            assert!(judges.iter().any(|j| j.table == entry.table), "{}", entry.id);
        }
    }
}

#[test]
fn figures_run_at_the_machines_that_the_paper_names() {
    for (_, studies) in bgl::STUDIES {
        for (name, text) in *studies {
            let nodes: usize = StudyFile::read(name, text, false).unwrap().points[0].study.network.nodes();
            let name = name.trim_start_matches("studies/bgl/").trim_end_matches(".toml");
            let expected = match name {
                "figure-2" | "figure-4" | "figure-6" => 32_768,
                "asymmetric" => 8192,
                n if n.starts_with("figure-") => 4096,
                _ => continue,
            };
            assert_eq!(nodes, expected, "{name}");
        }
    }
}
