//! Errors in a text, and their messages.

use crate::goal::OtherCollectives;

/// An error in a text, with its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {fault}")]
pub struct TextError {
    /// The line, from 1.
    pub line: u64,
    /// The column, from 1, in bytes.
    pub column: u64,
    /// The error.
    pub fault: TextFault,
}

/// An error in a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextFault {
    /// Another token is expected here.
    #[error("expected {expected}, found {found}{}", suggestion(nearest))]
    Unexpected {
        /// The allowed tokens.
        expected: &'static str,
        /// The token found.
        found: String,
        /// The most similar keyword allowed here.
        nearest: Option<String>,
    },
    /// A number exceeds its limit.
    #[error("{what} may be at most {max}, found {found}")]
    TooLarge {
        /// The meaning of the number.
        what: &'static str,
        /// The maximum.
        max: u64,
        /// The digits.
        found: String,
    },
    /// Ranks are not in order.
    #[error("expected rank {expected}: ranks come in order from 0; found rank {found}")]
    RankOrder {
        /// The expected rank.
        expected: u32,
        /// The rank found.
        found: u32,
    },
    /// The text ends before its last rank.
    #[error("expected rank {expected} of {declared}, found the end of the file")]
    MissingRank {
        /// The expected rank.
        expected: u32,
        /// The value of `num_ranks`.
        declared: u32,
    },
    /// A peer is not among the ranks.
    #[error("rank {peer} does not exist: there are {ranks}, from 0")]
    PeerOutOfRange {
        /// The peer.
        peer: u32,
        /// The value of `num_ranks`.
        ranks: u32,
    },
    /// A label is defined twice in its rank.
    #[error("label `{label}` is already defined in line {first_line}")]
    DuplicateLabel {
        /// The label.
        label: String,
        /// The line of its first definition.
        first_line: u64,
    },
    /// A dependency names a label that its rank has not defined yet.
    #[error("label `{label}` is not defined above in this rank{}", suggestion(nearest))]
    UnknownLabel {
        /// The label.
        label: String,
        /// The most similar label defined.
        nearest: Option<String>,
    },
    /// An operation depends on itself.
    #[error("`{label}` cannot depend on itself")]
    SelfDependency {
        /// Its label.
        label: String,
    },
    /// Operations wait for each other in a cycle. The position is that of the first one.
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

/// Maximum number of labels of a cycle in an error.
pub const CYCLE_LABELS_MAX: usize = 10;

fn suggestion(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|word| format!(" (did you mean `{word}`?)")).unwrap_or_default()
}

/// The word among `words` that is most similar to `found`, if any is similar at all.
pub(super) fn nearest<'a>(found: &str, words: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let (distance, word) = words
        .into_iter()
        .map(|word| (strsim::damerau_levenshtein(found, word), word))
        .min_by_key(|&(d, _)| d)?;
    (distance <= 1 + word.len() / 4 && distance < word.len()).then(|| word.to_owned())
}
