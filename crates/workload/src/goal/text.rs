//! The text form of GOAL, read in one pass.
//!
//! ```text
//! num_ranks 2
//! rank 0 {
//! a: calc 1500 cpu 0
//! b: send 64b to 1 tag 7
//! b requires a
//! }
//! rank 1 {
//! recv 64b from -1 tag -1
//! }
//! ```
//!
//! Collective operations of all ranks **(ours)** are statements too: `barrier`, `bcast 64b` (from rank 0),
//! `reduce 64b` (to rank 0), `allreduce 64b`, `allgather 64b`, `alltoall 64b`, `alltoallv 64b 0b 8b` (this
//! rank's block for each rank, itself included). All ranks take part in the same ones, in the same order.
//!
//! A statement ends with its line or before a `}`; blanks and comments may separate any two words. `tag`,
//! `cpu` and `nic` may be in any order. A label is optional, and local to its rank. A dependency names labels
//! that its rank has already defined.

mod error;

pub use error::{CYCLE_LABELS_MAX, TextError, TextFault};

use super::{ANY, COLLECTIVES, Kind, Node, RankBuilder, RankTrace, Trace, Unsound, same_collectives};
use crate::matching::KeyMap;
use crate::skeleton::collective::Operation;
use error::nearest;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a [u8]),
    /// Digits.
    Number(&'a [u8]),
    /// `-1`, which matches any.
    MinusOne,
    Open,
    Close,
    Colon,
    NewLine,
    End,
    /// A byte that starts no token.
    Other(u8),
}

impl Token<'_> {
    fn describe(self) -> String {
        match self {
            Self::Word(bytes) | Self::Number(bytes) => format!("`{}`", shown(bytes)),
            Self::MinusOne => "`-1`".into(),
            Self::Open => "`{`".into(),
            Self::Close => "`}`".into(),
            Self::Colon => "`:`".into(),
            Self::NewLine => "the end of the line".into(),
            Self::End => "the end of the file".into(),
            Self::Other(byte) if byte.is_ascii_graphic() => format!("`{}`", char::from(byte)),
            Self::Other(byte) => format!("the byte 0x{byte:02x}"),
        }
    }
}

/// A word shortened for messages. Words are ASCII.
fn shown(bytes: &[u8]) -> String {
    const MAX: usize = 40;
    let cut = &bytes[..bytes.len().min(MAX)];
    format!("{}{}", String::from_utf8_lossy(cut), if bytes.len() > MAX { "..." } else { "" })
}

#[derive(Clone, Copy)]
struct Place {
    line: u64,
    column: u64,
}

impl Place {
    fn error(self, fault: TextFault) -> TextError {
        TextError { line: self.line, column: self.column, fault }
    }
}

struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
    line: u64,
    line_start: usize,
}

impl<'a> Lexer<'a> {
    fn place(&self, at: usize) -> Place {
        Place { line: self.line, column: (at - self.line_start) as u64 + 1 }
    }

    fn new_line(&mut self, after: usize) {
        self.line += 1;
        self.line_start = after;
    }

    /// The next token and its position.
    fn next(&mut self) -> Result<(Token<'a>, Place), TextError> {
        loop {
            let start = self.at;
            let place = self.place(start);
            let Some(&byte) = self.text.get(start) else {
                return Ok((Token::End, place));
            };
            self.at += 1;
            let token = match byte {
                b' ' | b'\t' | b'\r' => continue,
                b'\n' => {
                    self.new_line(start + 1);
                    Token::NewLine
                }
                b'{' => Token::Open,
                b'}' => Token::Close,
                b':' => Token::Colon,
                b'0'..=b'9' => {
                    self.skip(|b| b.is_ascii_digit());
                    Token::Number(&self.text[start..self.at])
                }
                b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                    self.skip(|b| b.is_ascii_alphanumeric() || b == b'_');
                    Token::Word(&self.text[start..self.at])
                }
                b'-' if self.text.get(self.at) == Some(&b'1')
                    && !self.text.get(self.at + 1).is_some_and(u8::is_ascii_digit) =>
                {
                    self.at += 1;
                    Token::MinusOne
                }
                b'/' if self.text.get(self.at) == Some(&b'/') => {
                    self.skip(|b| b != b'\n');
                    continue;
                }
                b'/' if self.text.get(self.at) == Some(&b'*') => {
                    // A comment that spans the end of a line does not end a statement.
                    self.at += 1;
                    self.block_comment(place)?;
                    continue;
                }
                other => Token::Other(other),
            };
            return Ok((token, place));
        }
    }

    fn skip(&mut self, pass: impl Fn(u8) -> bool) {
        while self.text.get(self.at).is_some_and(|&b| pass(b)) {
            self.at += 1;
        }
    }

    fn block_comment(&mut self, opened: Place) -> Result<(), TextError> {
        loop {
            match self.text.get(self.at) {
                None => return Err(opened.error(TextFault::UnclosedComment)),
                Some(b'*') if self.text.get(self.at + 1) == Some(&b'/') => {
                    self.at += 2;
                    return Ok(());
                }
                Some(b'\n') => self.new_line(self.at + 1),
                Some(_) => {}
            }
            self.at += 1;
        }
    }
}

/// Parses a trace from GOAL text.
///
/// # Errors
/// The first error in it.
pub fn parse(text: &[u8]) -> Result<Trace, TextError> {
    let mut lexer = Lexer { text, at: 0, line: 1, line_start: 0 };
    let current = lexer.next()?;
    let mut parser =
        Parser { lexer, current, ranks: 0, rank: RankBuilder::default(), labels: KeyMap::default() };
    parser.trace()
}

const STATEMENT: &str = "a label, `send`, `recv`, `calc`, a collective operation or `}`";
const OPERATION: &str = "`send`, `recv`, `calc` or a collective operation";

struct Parser<'a> {
    lexer: Lexer<'a>,
    current: (Token<'a>, Place),
    /// The value of `num_ranks`.
    ranks: u32,
    rank: RankBuilder,
    /// The labels of the current rank: operation and position.
    labels: KeyMap<&'a [u8], (u32, Place)>,
}

impl<'a> Parser<'a> {
    fn advance(&mut self) -> Result<(Token<'a>, Place), TextError> {
        let next = self.lexer.next()?;
        Ok(std::mem::replace(&mut self.current, next))
    }

    fn skip_lines(&mut self) -> Result<(), TextError> {
        while self.current.0 == Token::NewLine {
            self.advance()?;
        }
        Ok(())
    }

    /// The error that another token is expected here. `keywords` are those allowed.
    fn unexpected(&self, expected: &'static str, keywords: &[&str]) -> TextError {
        let (token, place) = self.current;
        let nearest = match token {
            Token::Word(word) => nearest(&shown(word), keywords.iter().copied()),
            _ => None,
        };
        place.error(TextFault::Unexpected { expected, found: token.describe(), nearest })
    }

    fn expect(
        &mut self,
        token: Token<'_>,
        expected: &'static str,
        keywords: &[&str],
    ) -> Result<(), TextError> {
        if self.current.0 != token {
            return Err(self.unexpected(expected, keywords));
        }
        self.advance().map(drop)
    }

    /// A number up to `max`.
    fn number(&mut self, what: &'static str, max: u64) -> Result<u64, TextError> {
        let (Token::Number(digits), place) = self.current else {
            return Err(self.unexpected(what, &[]));
        };
        self.advance()?;
        let value = digits
            .iter()
            .try_fold(0u64, |value, digit| value.checked_mul(10)?.checked_add(u64::from(digit - b'0')));
        match value {
            Some(value) if value <= max => Ok(value),
            _ => Err(place.error(TextFault::TooLarge { what, max, found: shown(digits) })),
        }
    }

    fn number_u32(&mut self, what: &'static str, max: u32) -> Result<u32, TextError> {
        // The limit makes it fit.
        Ok(self.number(what, u64::from(max))? as u32)
    }

    fn trace(&mut self) -> Result<Trace, TextError> {
        self.skip_lines()?;
        self.expect(Token::Word(b"num_ranks"), "`num_ranks`", &["num_ranks"])?;
        self.ranks = self.number_u32("a number of ranks", ANY - 1)?;
        // Nothing is allocated for ranks that are only declared.
        let mut trace = Trace::default();
        loop {
            self.skip_lines()?;
            let (token, place) = self.current;
            let next = trace.ranks.len() as u32;
            match token {
                Token::End if next == self.ranks => return Ok(trace),
                Token::End => {
                    return Err(place.error(TextFault::MissingRank { expected: next, declared: self.ranks }));
                }
                _ if next == self.ranks => return Err(self.unexpected("the end of the file", &[])),
                Token::Word(b"rank") => {}
                _ => return Err(self.unexpected("`rank`", &["rank"])),
            }
            self.advance()?;
            let place = self.current.1;
            let found = self.number_u32("a rank", ANY - 1)?;
            if found != next {
                return Err(place.error(TextFault::RankOrder { expected: next, found }));
            }
            self.skip_lines()?;
            self.expect(Token::Open, "`{`", &[])?;
            while self.statement()? {}
            let rank = self.finish_rank(place)?;
            if let Some(first) = trace.ranks.first() {
                same_collectives(first, &rank, next).map_err(|other| place.error(other.into()))?;
            }
            trace.ranks.push(rank);
        }
    }

    /// Parses a statement of a rank. Returns false after the rank's `}`.
    fn statement(&mut self) -> Result<bool, TextError> {
        self.skip_lines()?;
        let (token, place) = self.current;
        match token {
            Token::Close => {
                self.advance()?;
                return Ok(false);
            }
            Token::Word(b"send" | b"recv" | b"calc") => self.operation()?,
            Token::Word(label @ (b"rank" | b"num_ranks")) => {
                let found = Token::Word(label).describe();
                return Err(place.error(TextFault::Unexpected { expected: STATEMENT, found, nearest: None }));
            }
            Token::Word(label) => {
                self.advance()?;
                match self.current.0 {
                    Token::Number(_) | Token::NewLine | Token::Close if collective(label).is_some() => {
                        self.collective(collective(label).unwrap_or_default())?;
                    }
                    Token::Colon => {
                        self.advance()?;
                        self.define(label, place)?;
                        self.operation()?;
                    }
                    Token::Word(b"requires") => self.dependency(label, place, false)?,
                    Token::Word(b"irequires") => self.dependency(label, place, true)?,
                    // A line that starts with a misspelt operation.
                    Token::Number(_) if nearest(&shown(label), OPERATIONS).is_some() => {
                        let found = Token::Word(label).describe();
                        let nearest = nearest(&shown(label), OPERATIONS);
                        return Err(place.error(TextFault::Unexpected {
                            expected: STATEMENT,
                            found,
                            nearest,
                        }));
                    }
                    _ => {
                        return Err(
                            self.unexpected("`:`, `requires` or `irequires`", &["requires", "irequires"])
                        );
                    }
                }
            }
            _ => return Err(self.unexpected(STATEMENT, &[])),
        }
        Ok(true)
    }

    /// Labels the following operation.
    fn define(&mut self, label: &'a [u8], place: Place) -> Result<(), TextError> {
        let node = self.rank.nodes.len() as u32;
        if let Some(&(_, Place { line: first_line, .. })) = self.labels.get(label) {
            return Err(place.error(TextFault::DuplicateLabel { label: shown(label), first_line }));
        }
        self.labels.insert(label, (node, place));
        Ok(())
    }

    fn operation(&mut self) -> Result<(), TextError> {
        let kind = match self.current.0 {
            Token::Word(b"send") => Kind::Send,
            Token::Word(b"recv") => Kind::Receive,
            Token::Word(b"calc") => Kind::Calc,
            Token::Word(word) if let Some(which) = collective(word) => {
                self.advance()?;
                return self.collective(which);
            }
            _ => return Err(self.unexpected(OPERATION, &OPERATIONS)),
        };
        self.advance()?;
        let mut node = Node { size: 0, peer: 0, tag: 0, kind, cpu: 0, nic: 0 };
        if kind == Kind::Calc {
            node.size = self.number("a time in ns", u64::MAX)?;
            return self.options(node, "`cpu` or the end of the line", &["cpu"]);
        }
        node.size = self.bytes("a number of bytes")?;
        match kind {
            Kind::Send => self.expect(Token::Word(b"to"), "`to`", &["to"])?,
            _ => self.expect(Token::Word(b"from"), "`from`", &["from"])?,
        }
        let place = self.current.1;
        node.peer = if kind == Kind::Receive && self.current.0 == Token::MinusOne {
            self.advance()?;
            ANY
        } else {
            let peer =
                self.number_u32(if kind == Kind::Send { "a rank" } else { "a rank or -1" }, ANY - 1)?;
            if peer >= self.ranks {
                return Err(place.error(TextFault::PeerOutOfRange { peer, ranks: self.ranks }));
            }
            peer
        };
        self.options(node, "`tag`, `cpu`, `nic` or the end of the line", &["tag", "cpu", "nic"])
    }

    /// Parses the length of a collective operation, if it has one.
    fn collective(&mut self, which: u32) -> Result<(), TextError> {
        let mut node = Node { size: 0, peer: which, tag: 0, kind: Kind::Collective, cpu: 0, nic: 0 };
        if COLLECTIVES[which as usize].1 == Operation::Barrier {
            return self.options(node, "the end of the line", &[]);
        }
        let blocks = node.blocks(self.ranks);
        let what = if blocks == 0 { "a number of bytes" } else { "a number of bytes for each rank" };
        node.size = self.bytes(what)?;
        for to in 1..=blocks {
            self.keep(node)?;
            node = Node { size: self.bytes(what)?, peer: to, kind: Kind::Block, ..node };
        }
        self.options(node, "the end of the line", &[])
    }

    fn bytes(&mut self, what: &'static str) -> Result<u64, TextError> {
        let bytes = self.number(what, u64::MAX)?;
        self.expect(Token::Word(b"b"), "`b` (bytes)", &[])?;
        Ok(bytes)
    }

    fn keep(&mut self, node: Node) -> Result<(), TextError> {
        if self.rank.nodes.len() >= (u32::MAX / 2) as usize {
            return Err(self.current.1.error(TextFault::RankTooLong));
        }
        self.rank.nodes.push(node);
        Ok(())
    }

    /// Parses the options of an operation up to the end of its line, and stores it.
    fn options(&mut self, mut node: Node, expected: &'static str, allowed: &[&str]) -> Result<(), TextError> {
        let mut given = [false; 3];
        loop {
            let (token, place) = self.current;
            let option = match token {
                Token::NewLine | Token::Close | Token::End => break,
                Token::Word(b"cpu") => "cpu",
                Token::Word(b"tag") => "tag",
                Token::Word(b"nic") => "nic",
                _ => return Err(self.unexpected(expected, allowed)),
            };
            if !allowed.contains(&option) {
                return Err(self.unexpected(expected, allowed));
            }
            self.advance()?;
            let given = match option {
                "cpu" => {
                    node.cpu = self.number("a CPU", 255)? as u8;
                    &mut given[0]
                }
                "nic" => {
                    node.nic = self.number("a network interface", 255)? as u8;
                    &mut given[1]
                }
                _ if node.kind == Kind::Receive && self.current.0 == Token::MinusOne => {
                    self.advance()?;
                    node.tag = ANY;
                    &mut given[2]
                }
                _ => {
                    let what = if node.kind == Kind::Receive { "a tag or -1" } else { "a tag" };
                    node.tag = self.number_u32(what, ANY - 1)?;
                    &mut given[2]
                }
            };
            if std::mem::replace(given, true) {
                return Err(place.error(TextFault::DuplicateOption { option }));
            }
        }
        self.keep(node)
    }

    fn dependency(&mut self, waiter: &'a [u8], place: Place, on_start: bool) -> Result<(), TextError> {
        self.advance()?;
        let (Token::Word(awaited), awaited_place) = self.current else {
            return Err(self.unexpected("a label", &[]));
        };
        self.advance()?;
        if !matches!(self.current.0, Token::NewLine | Token::Close | Token::End) {
            return Err(self.unexpected("the end of the line", &[]));
        }
        let from = self.label(waiter, place)?;
        let to = self.label(awaited, awaited_place)?;
        if from == to {
            return Err(place.error(TextFault::SelfDependency { label: shown(waiter) }));
        }
        self.rank.depend(from, to, on_start);
        Ok(())
    }

    fn label(&self, label: &[u8], place: Place) -> Result<u32, TextError> {
        if let Some(&(node, _)) = self.labels.get(label) {
            return Ok(node);
        }
        // Among equally similar ones the first defined. A long list is not searched: this is only a hint.
        const SEARCHED_MAX: usize = 10_000;
        let mut known: Vec<_> = self.labels.iter().map(|(&label, &(node, _))| (node, label)).collect();
        known.sort_unstable();
        let known: Vec<String> = known.iter().take(SEARCHED_MAX).map(|(_, label)| shown(label)).collect();
        let nearest = nearest(&shown(label), known.iter().map(String::as_str));
        Err(place.error(TextFault::UnknownLabel { label: shown(label), nearest }))
    }

    fn finish_rank(&mut self, place: Place) -> Result<RankTrace, TextError> {
        let finished = self.rank.finish().map_err(|unsound| match unsound {
            Unsound::TooMany => place.error(TextFault::RankTooLong),
            Unsound::Cycle(nodes) => {
                // Only labelled operations have dependencies.
                let named: KeyMap<u32, (&[u8], Place)> =
                    self.labels.iter().map(|(&label, &(node, place))| (node, (label, place))).collect();
                let place = nodes.first().and_then(|node| named.get(node)).map_or(place, |&(_, place)| place);
                let mut labels: Vec<String> =
                    nodes.iter().take(CYCLE_LABELS_MAX).map(|node| shown(named[node].0)).collect();
                if nodes.len() > CYCLE_LABELS_MAX {
                    labels.push("...".into());
                }
                place.error(TextFault::Cycle { labels })
            }
        })?;
        self.labels.clear();
        Ok(finished)
    }
}

const OPERATIONS: [&str; 10] =
    ["send", "recv", "calc", "barrier", "bcast", "reduce", "allreduce", "allgather", "alltoall", "alltoallv"];

/// The index of a word in [`COLLECTIVES`].
fn collective(word: &[u8]) -> Option<u32> {
    COLLECTIVES.iter().position(|(name, _)| name.as_bytes() == word).map(|place| place as u32)
}

#[cfg(test)]
mod tests;
