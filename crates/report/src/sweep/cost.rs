//! What the networks of a sweep are made of, beside the most that they carry: for sweeps that compare
//! networks of switches.

use super::{Outcome, shown};
use netloom_study::machine::{Facts, SwitchedFacts};
use netloom_study::number::{grouped, short};
use netloom_study::resolve::ResolvedStudy;
use netloom_study::tree::Tree;

/// A table: names of its columns, and rows.
pub type Rows = (Vec<String>, Vec<Vec<String>>);

/// A row for each value of the axis that changes what the network is made of; empty if no axis does.
pub fn table(study: &ResolvedStudy, outcomes: &[Outcome]) -> Option<Rows> {
    let facts: Vec<Option<SwitchedFacts>> = outcomes.iter().map(|o| facts(&o.point.study)).collect();
    let made_of = |i: usize| facts[i].as_ref().map(|f| (f.routers, f.links));
    let first_with = |axis: usize, value: &Tree| outcomes.iter().position(|o| o.point.values[axis] == *value);
    let axis = (0..study.axes.len()).find(|&axis| {
        let mut all = study.axes[axis].values.iter().filter_map(|value| made_of(first_with(axis, value)?));
        all.next().is_some_and(|first| all.any(|other| other != first))
    })?;
    // What each carries is listed by the first of three axes, as the drawings are.
    let apart = (study.axes.len() == 3 && axis != 0).then(|| &study.axes[0]);
    let path = &study.axes[axis].path;
    let mut head: Vec<String> =
        [path.as_str(), "nodes", "routers", "links", "a node", "by class"].map(String::from).into();
    match apart {
        Some(other) => {
            head.extend(other.values.iter().map(|value| format!("most accepted, {}", shown(value))))
        }
        None => head.push("most accepted".into()),
    }
    let row = |value: &Tree| -> Option<Vec<String>> {
        let facts = facts[first_with(axis, value)?].as_ref()?;
        let links = facts.links / 2;
        let classes = facts.classes.iter().map(|c| format!("{} {}", grouped(c.links as i64 / 2), c.class));
        let mut row = vec![
            shown(value),
            grouped(facts.nodes as i64),
            grouped(facts.routers as i64),
            grouped(links as i64),
            short(links as f64 / facts.nodes as f64),
            classes.collect::<Vec<_>>().join(", "),
        ];
        let most = |of: &dyn Fn(&Outcome) -> bool| {
            let here = outcomes.iter().filter(|o| o.point.values[axis] == *value && of(o));
            let accepted =
                here.filter_map(|o| Some(o.result.as_ref()?.switched.as_ref()?.accepted_flits_per_tick));
            accepted.fold(None, |most: Option<f64>, x| Some(most.map_or(x, |most| most.max(x))))
        };
        let reported = |most: Option<f64>| most.map_or("-".into(), short);
        match apart {
            Some(other) => {
                row.extend(other.values.iter().map(|v| reported(most(&|o| o.point.values[0] == *v))))
            }
            None => row.push(reported(most(&|_| true))),
        }
        Some(row)
    };
    Some((head, study.axes[axis].values.iter().filter_map(row).collect()))
}

fn facts(study: &ResolvedStudy) -> Option<SwitchedFacts> {
    match study.machine.facts() {
        Facts::Switched(facts) => Some(facts),
        Facts::Torus(_) => None,
    }
}
