//! The studies that are built into the program: all of the repository's, by name.

use crate::diagnose::nearest;

/// Names and TOML texts, in the order of the names: `xc/put-rates` is `studies/xc/put-rates.toml`.
pub const STUDIES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/studies.rs"));

/// The study that runs when none is named.
pub const MAIN: &str = "all-to-all";

/// The text of a study, by its name. A path is no name: where a file of one's own is missing, no other study
/// may run in its place.
pub fn text_of(name: &str) -> Option<(&'static str, &'static str)> {
    STUDIES.iter().find(|(known, _)| *known == name).copied()
}

/// What a name that is no study's may stand for: studies whose names end like that, or the one that is spelt
/// most like it.
pub fn similar(name: &str) -> Vec<&'static str> {
    let name = name.strip_suffix(".toml").unwrap_or(name);
    let name = name.strip_prefix("studies/").unwrap_or(name);
    let last = |name: &'static str| name.rsplit('/').next().unwrap_or(name);
    let names = || STUDIES.iter().map(|(known, _)| *known);
    let same_end: Vec<_> = names().filter(|known| last(known) == name).collect();
    if !same_end.is_empty() {
        return same_end;
    }
    let whole = nearest(name, names());
    whole
        .or_else(|| names().find(|known| Some(last(known)) == nearest(name, names().map(last))))
        .into_iter()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn studies_are_found_by_name() {
        assert_eq!(text_of("xc/put-rates").map(|(name, _)| name), Some("xc/put-rates"));
        assert!(text_of(MAIN).is_some() && text_of("put-rates").is_none());
        // A file that is not there.
        assert!(text_of("halo.toml").is_none() && text_of("studies/xc/put-rates.toml").is_none());
    }

    #[test]
    fn what_is_meant_is_guessed() {
        assert_eq!(similar("put-rates"), ["xc/put-rates"]);
        assert_eq!(similar("studies/xc/put-rates.toml"), ["xc/put-rates"]);
        assert_eq!(similar("faults"), ["th/faults", "xc/faults"]);
        assert_eq!(similar("all-to-al"), ["all-to-all"]);
        assert_eq!(similar("xc/put-rate"), ["xc/put-rates"]);
        assert_eq!(similar("put-rate"), ["xc/put-rates"]);
        assert!(similar("nothing-like-it-at-all").is_empty());
    }
}
