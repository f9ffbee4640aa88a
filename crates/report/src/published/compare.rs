//! Published beside simulated: when two figures agree.

use serde::Serialize;

/// A published value.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Published {
    /// A number.
    Number(f64),
    /// A switch.
    Flag(bool),
    /// A word.
    Text(String),
}

impl Published {
    /// The number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Published::Number(x) => Some(*x),
            _ => None,
        }
    }
}

/// How a published figure bounds the simulated one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bound {
    /// It is the figure.
    #[default]
    Equal,
    /// No more than it.
    AtMost,
    /// No less than it.
    AtLeast,
    /// Near it.
    About,
}

/// How far apart two figures may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// By a fraction of the published one.
    Relative(f64),
    /// By so much in the figure's own unit.
    Absolute(f64),
}

/// The tolerance of `about` where a table gives none.
pub const ABOUT: Tolerance = Tolerance::Relative(0.1);

impl Tolerance {
    /// Reads `0.02`, `"0.02"`, `"2%"`, `"0.02 absolute"` or `"3 ns"`.
    pub fn parse(text: &str) -> Option<Tolerance> {
        let text = text.trim();
        if let Some(percent) = text.strip_suffix('%') {
            return percent.trim().parse().ok().map(|p: f64| Tolerance::Relative(p / 100.0));
        }
        let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
        let number: f64 = number.parse().ok().filter(|n: &f64| n.is_finite() && *n >= 0.0)?;
        Some(if unit.trim().is_empty() { Tolerance::Relative(number) } else { Tolerance::Absolute(number) })
    }

    /// The difference of two figures as this tolerance counts it.
    pub fn difference(self, published: f64, simulated: f64) -> f64 {
        match self {
            Tolerance::Absolute(_) => simulated - published,
            Tolerance::Relative(_) if published == 0.0 => simulated,
            Tolerance::Relative(_) => (simulated - published) / published.abs(),
        }
    }

    fn limit(self) -> f64 {
        match self {
            Tolerance::Relative(x) | Tolerance::Absolute(x) => x,
        }
    }
}

/// The tolerance of a figure for which a table gives none: it is known to the digits that are printed. One
/// without a fraction is exact.
fn printed(published: f64) -> Tolerance {
    let text = published.to_string();
    match text.split_once('.') {
        Some((_, fraction)) => Tolerance::Absolute(0.5 * 10f64.powi(-(fraction.len() as i32))),
        None => Tolerance::Relative(0.0),
    }
}

/// The verdict of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The figures agree, and the simulated one is a prediction: a run measured it and it could have failed.
    Pass,
    /// They do not.
    Fail,
    /// The behaviour that the paper describes in words is there.
    ShapePass,
    /// It is not.
    ShapeFail,
    /// They agree, and constants were fitted to this entry.
    Calibrated,
    /// They agree: the figure is a parameter of the machine, read back.
    Echo,
    /// They agree: it is another entry's figure in other units, or follows from it.
    Derived,
    /// They agree: it is computed without a run.
    ClosedForm,
    /// It is within the bound by more than a factor of [`LOOSE`]: almost anything is.
    LooseBound,
    /// A quick run on another machine, or of another length, than the published one: it says nothing of it.
    Proxy,
    /// Nothing was run for it.
    NotRun,
}

/// How far inside a one-sided bound a figure is still evidence: by this factor.
pub const LOOSE: f64 = 3.0;

impl Verdict {
    /// All verdicts.
    pub const ALL: [Verdict; 11] = [
        Verdict::Pass,
        Verdict::Fail,
        Verdict::ShapePass,
        Verdict::ShapeFail,
        Verdict::Calibrated,
        Verdict::Echo,
        Verdict::Derived,
        Verdict::ClosedForm,
        Verdict::LooseBound,
        Verdict::Proxy,
        Verdict::NotRun,
    ];

    /// The word for it, as in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Fail => "fail",
            Verdict::ShapePass => "shape-pass",
            Verdict::ShapeFail => "shape-fail",
            Verdict::Calibrated => "calibrated",
            Verdict::Echo => "echo",
            Verdict::Derived => "derived",
            Verdict::ClosedForm => "closed-form",
            Verdict::LooseBound => "loose-bound",
            Verdict::Proxy => "proxy",
            Verdict::NotRun => "not-run",
        }
    }

    /// The verdict that a word is for.
    pub fn from_word(word: &str) -> Option<Verdict> {
        Verdict::ALL.into_iter().find(|v| v.word() == word)
    }

    /// Whether it counts against the simulator.
    pub fn failed(self) -> bool {
        matches!(self, Verdict::Fail | Verdict::ShapeFail)
    }
}

/// Whether a simulated figure agrees with a published one, and by how much they differ. A figure that is not
/// a number never agrees.
pub fn judge(published: f64, simulated: f64, bound: Bound, tolerance: Option<Tolerance>) -> (bool, f64) {
    let tolerance = tolerance.unwrap_or(if bound == Bound::About { ABOUT } else { printed(published) });
    let difference = tolerance.difference(published, simulated);
    // Rounding of the last digit of a double is no difference.
    let limit = tolerance.limit() + 1e-9 * published.abs().max(1.0);
    let agrees = match bound {
        Bound::Equal | Bound::About => difference.abs() <= limit,
        Bound::AtMost => difference <= limit,
        Bound::AtLeast => difference >= -limit,
    };
    (agrees && simulated.is_finite(), difference)
}

/// Whether a figure that satisfies a one-sided bound does so by more than a factor of [`LOOSE`].
pub fn is_loose(published: f64, simulated: f64, bound: Bound) -> bool {
    match bound {
        Bound::AtMost => simulated * LOOSE < published,
        Bound::AtLeast => simulated > published * LOOSE,
        Bound::Equal | Bound::About => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerances_are_relative_unless_they_have_a_unit() {
        assert_eq!(Tolerance::parse("0.02"), Some(Tolerance::Relative(0.02)));
        assert_eq!(Tolerance::parse("2%"), Some(Tolerance::Relative(0.02)));
        assert_eq!(Tolerance::parse("0.02 absolute"), Some(Tolerance::Absolute(0.02)));
        assert_eq!(Tolerance::parse("3 ns"), Some(Tolerance::Absolute(3.0)));
        assert_eq!(Tolerance::parse("some"), None);
    }

    #[test]
    fn wrong_figures_fail() {
        let agrees = |p, s, b, t| judge(p, s, b, t).0;
        let absolute = Some(Tolerance::Absolute(0.02));
        assert!(agrees(0.98, 0.965, Bound::Equal, absolute));
        assert!(!agrees(0.98, 0.95, Bound::Equal, absolute));
        assert!(!agrees(0.98, 1.01, Bound::Equal, absolute));
        assert!(agrees(622.0, 625.0, Bound::Equal, Some(Tolerance::Relative(0.01))));
        assert!(!agrees(622.0, 640.0, Bound::Equal, Some(Tolerance::Relative(0.01))));
        assert!(agrees(500.0, 420.0, Bound::AtMost, None));
        assert!(!agrees(500.0, 501.0, Bound::AtMost, None));
        assert!(!agrees(3.0, 2.0, Bound::AtLeast, None));
        assert!(agrees(1.3, 1.4, Bound::About, None));
        assert!(!agrees(1.3, 1.5, Bound::About, None));
        assert!(!agrees(0.98, f64::NAN, Bound::Equal, absolute));
        assert!(!agrees(0.98, f64::NAN, Bound::AtMost, absolute));
    }

    #[test]
    fn a_bound_that_anything_satisfies_is_loose() {
        assert!(is_loose(2000.0, 590.0, Bound::AtMost) && !is_loose(500.0, 496.0, Bound::AtMost));
        assert!(is_loose(15.0, 46.0, Bound::AtLeast) && !is_loose(7250.0, 7501.0, Bound::AtLeast));
        assert!(!is_loose(2000.0, 590.0, Bound::About));
    }
}
