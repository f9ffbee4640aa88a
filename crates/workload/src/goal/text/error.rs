//! What is wrong with a text, in words.

use crate::goal::OtherCollectives;

/// What is wrong with a text, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {fault}")]
pub struct TextError {
    /// The line, from 1.
    pub line: u64,
    /// The column, from 1, in bytes.
    pub column: u64,
    /// What is wrong there.
    pub fault: TextFault,
}

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextFault {
    /// Something else should stand here.
    #[error("expected {expected}, found {found}{}", suggestion(nearest))]
    Unexpected {
        /// What may stand here.
        expected: &'static str,
        /// What stands here.
        found: String,
        /// The keyword allowed here that looks most like it.
        nearest: Option<String>,
    },
    /// A number is beyond what its place can hold.
    #[error("{what} may be at most {max}, found {found}")]
    TooLarge {
        /// What the number is.
        what: &'static str,
        /// The greatest allowed.
        max: u64,
        /// The digits.
        found: String,
    },
    /// Ranks do not come in order.
    #[error("expected rank {expected}: ranks come in order from 0; found rank {found}")]
    RankOrder {
        /// The next rank.
        expected: u32,
        /// The one that came.
        found: u32,
    },
    /// The text ends before its last rank.
    #[error("expected rank {expected} of {declared}, found the end of the file")]
    MissingRank {
        /// The next rank.
        expected: u32,
        /// What `num_ranks` says.
        declared: u32,
    },
    /// A peer is not among the ranks.
    #[error("rank {peer} does not exist: there are {ranks}, from 0")]
    PeerOutOfRange {
        /// The peer.
        peer: u32,
        /// What `num_ranks` says.
        ranks: u32,
    },
    /// A label is defined twice in its rank.
    #[error("label `{label}` is already defined in line {first_line}")]
    DuplicateLabel {
        /// The label.
        label: String,
        /// Where it was defined first.
        first_line: u64,
    },
    /// A dependency names a label that its rank has not defined so far.
    #[error("label `{label}` is not defined above in this rank{}", suggestion(nearest))]
    UnknownLabel {
        /// The label.
        label: String,
        /// The defined label that looks most like it.
        nearest: Option<String>,
    },
    /// An operation depends on itself.
    #[error("`{label}` cannot depend on itself")]
    SelfDependency {
        /// Its label.
        label: String,
    },
    /// Operations wait for each other. The place is that of the first one.
    #[error("these wait for each other, each for the next and the last for the first: {}", labels.join(", "))]
    Cycle {
        /// Their labels, at most [`CYCLE_LABELS_MAX`] of them and then `...`.
        labels: Vec<String>,
    },
    /// An option is given twice.
    #[error("`{option}` is already given")]
    DuplicateOption {
        /// `tag`, `cpu` or `nic`.
        option: &'static str,
    },
    /// A rank takes part in other collective operations than rank 0.
    #[error(transparent)]
    Collectives(#[from] OtherCollectives),
    /// A comment has no end.
    #[error("this comment is never closed with `*/`")]
    UnclosedComment,
    /// A rank has more operations or dependencies than fit its indices.
    #[error("a rank may have fewer than 2^31 operations and 2^32 dependencies")]
    RankTooLong,
}

/// Most labels of a cycle that an error names.
pub const CYCLE_LABELS_MAX: usize = 10;

fn suggestion(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|word| format!(" (did you mean `{word}`?)")).unwrap_or_default()
}

/// The word among `words` that looks most like `found`, if any looks like it at all.
pub(super) fn nearest<'a>(found: &str, words: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let (distance, word) = words
        .into_iter()
        .map(|word| (strsim::damerau_levenshtein(found, word), word))
        .min_by_key(|&(d, _)| d)?;
    (distance <= 1 + word.len() / 4 && distance < word.len()).then(|| word.to_owned())
}
