//! Mistakes in files and flags: what is wrong, where it is written, what was expected, and the nearest valid
//! name.

use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A file that was read, or a flag of the command line.
#[derive(Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Its path, or the flag's name.
    pub name: String,
    /// All of its text.
    pub text: String,
}

impl SourceFile {
    /// A source by name and text.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Arc<SourceFile> {
        Arc::new(SourceFile { name: name.into(), text: text.into() })
    }
}

/// A place in a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The source.
    pub file: Arc<SourceFile>,
    /// Bytes of its text.
    pub span: Range<usize>,
}

impl Origin {
    /// The line, counted from 1.
    pub fn line(&self) -> usize {
        self.file.text[..self.span.start.min(self.file.text.len())].matches('\n').count() + 1
    }
}

/// A problem: an invalid input, and the cause.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The error, in one sentence.
    pub message: String,
    /// The label at its place.
    pub label: String,
    /// What to do instead.
    pub help: Option<String>,
    /// Its place.
    pub origin: Option<Origin>,
    /// The key that it is about, if it is unknown or missing.
    pub(crate) key: Option<Box<WrongKey>>,
    /// Other problems that were found in the same pass.
    others: Option<Box<Others>>,
    source: Option<Arc<NamedSource<String>>>,
}

/// Problems that were found with another.
#[derive(Clone, Debug)]
struct Others(Vec<Problem>);

/// A key that is not there where it stands, or not there where it must be: its dotted path.
#[derive(Clone, Debug)]
pub(crate) enum WrongKey {
    Unknown(String),
    Missing(String),
}

impl Problem {
    /// The dotted path of the key, if it is one that does not exist where it stands.
    pub fn unknown(&self) -> Option<&str> {
        match self.key.as_deref()? {
            WrongKey::Unknown(path) => Some(path),
            WrongKey::Missing(_) => None,
        }
    }

    /// The dotted path of the key that is missing, if one is.
    pub fn missing(&self) -> Option<&str> {
        match self.key.as_deref()? {
            WrongKey::Missing(path) => Some(path),
            WrongKey::Unknown(_) => None,
        }
    }

    /// Other problems that were found in the same pass.
    pub fn others(&self) -> &[Problem] {
        self.others.as_ref().map_or(&[], |others| &others.0)
    }

    /// Several problems as one: unknown keys first, the others in their order. `None` without any.
    pub fn of_all(problems: Vec<Problem>) -> Option<Problem> {
        let mut all: Vec<Problem> = problems.into_iter().flat_map(Problem::separate).collect();
        all.sort_by_key(|problem| problem.unknown().is_none());
        let others = all.split_off(all.len().min(1));
        let mut first = all.pop()?;
        first.others = (!others.is_empty()).then(|| Box::new(Others(others)));
        Some(first)
    }

    /// This problem and its others, as a list.
    fn separate(mut self) -> Vec<Problem> {
        let others = self.others.take().map_or(vec![], |others| others.0);
        [vec![self], others].concat()
    }

    /// Applies a change to this problem and to each of its others.
    #[must_use]
    pub(crate) fn map_each(self, change: impl Fn(Problem) -> Problem) -> Problem {
        let mut all = self.separate().into_iter().map(change);
        let mut first = all.next().expect("itself");
        let others: Vec<Problem> = all.collect();
        first.others = (!others.is_empty()).then(|| Box::new(Others(others)));
        first
    }

    /// This problem and its others without missing keys; `None` if nothing is left.
    pub(crate) fn without_missing(self) -> Option<Problem> {
        let rest = self.separate().into_iter().filter(|problem| problem.missing().is_none());
        Problem::of_all(rest.collect())
    }

    /// Gives the key that it is about another name.
    pub(crate) fn rename_key(&mut self, rename: impl Fn(&str) -> String) {
        if let Some(WrongKey::Unknown(path) | WrongKey::Missing(path)) = self.key.as_deref_mut() {
            *path = rename(path);
        }
    }

    /// A problem that has no place yet.
    pub fn new(message: impl Into<String>) -> Problem {
        let (message, label) = (message.into(), "here".into());
        Problem { message, label, help: None, origin: None, key: None, others: None, source: None }
    }

    /// The same with advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Problem {
        self.help = Some(help.into());
        self
    }

    /// The same in its place, if that is known.
    #[must_use]
    pub fn at(mut self, origin: &Option<Origin>) -> Problem {
        if let Some(origin) = origin {
            // Tables that nothing opens by name (a whole file) are shown by their first line.
            let mut span = origin.span.clone();
            // One letter at least; letters may be several bytes long.
            let text = &origin.file.text;
            let letter = text[span.start..].chars().next().map_or(0, char::len_utf8);
            span.end = span.end.max(span.start + letter);
            if let Some(newline) = text[span.clone()].find('\n') {
                span.end = span.start + newline.max(letter);
            }
            self.source = Some(Arc::new(NamedSource::new(&origin.file.name, origin.file.text.clone())));
            self.origin = Some(Origin { file: origin.file.clone(), span });
        }
        self
    }

    /// This problem and its others as text for people, with their lines of source; in colour if requested.
    pub fn render(&self, colour: bool) -> String {
        let others = self.others().iter().map(|problem| problem.render_alone(colour));
        std::iter::once(self.render_alone(colour)).chain(others).collect::<Vec<_>>().join("\n")
    }

    fn render_alone(&self, colour: bool) -> String {
        let theme = if colour { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
        let mut text = String::new();
        let handler = GraphicalReportHandler::new_themed(theme)
            .with_width(110)
            .with_context_lines(1)
            // Names are not broken at their hyphens.
            .with_word_splitter(textwrap::WordSplitter::NoHyphenation);
        if handler.render_report(&mut text, self).is_err() {
            text = self.message.clone();
        }
        text
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

impl miette::Diagnostic for Problem {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|h| Box::new(h) as Box<dyn fmt::Display>)
    }
    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        self.source.as_deref().map(|s| s as &dyn miette::SourceCode)
    }
    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let origin = self.origin.as_ref()?;
        let span = LabeledSpan::new(Some(self.label.clone()), origin.span.start, origin.span.len());
        Some(Box::new(std::iter::once(span)))
    }
}

impl From<std::io::Error> for Problem {
    fn from(error: std::io::Error) -> Problem {
        Problem::new(error.to_string())
    }
}

/// The valid name nearest to a wrong one, if one is near enough to be meant.
pub fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let score = |name: &str| {
        let (a, b) = (wrong.to_lowercase(), name.to_lowercase());
        // One slip of the fingers is a strong hint, however short the name.
        let slip = if strsim::damerau_levenshtein(&a, &b) <= 1 { 0.95 } else { 0.0 };
        strsim::jaro_winkler(&a, &b).max(slip)
    };
    known
        .into_iter()
        .map(|name| (score(name), name))
        .filter(|(score, _)| *score > 0.78)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

/// Advice for a wrong name: the nearest one, or all of them.
pub fn suggest(wrong: &str, known: &[&str]) -> String {
    match (nearest(wrong, known.iter().copied()), known) {
        (Some(name), _) => format!("did you mean `{name}`?"),
        (None, []) => "nothing is expected here".into(),
        (None, _) => format!(
            "expected one of {}",
            known.iter().map(|k| format!("`{k}`")).collect::<Vec<_>>().join(", ")
        ),
    }
}
