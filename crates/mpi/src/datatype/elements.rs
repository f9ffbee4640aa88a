//! What a type consists of: its predefined elements in order, for `MPI_Get_elements` and for external data.

use super::Kind;
use super::Predefined;
use std::sync::Arc;

/// The elements of a type, as a tree: types have few different parts and many of each.
#[derive(Clone, Debug, Default)]
pub struct Elements {
    /// How many.
    number: u64,
    /// Their bytes.
    bytes: u64,
    /// What it consists of, each so many times; none if it is one element.
    parts: Vec<(u64, Arc<Elements>)>,
    /// What it is, if it is one element.
    one: Option<Element>,
}

/// An element that is no pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// What it holds.
    pub kind: Kind,
    /// Its length, bytes.
    pub bytes: usize,
    /// Its length in the data representation `external32`, bytes.
    pub external_bytes: usize,
}

impl Elements {
    /// Those of a predefined type: one, or two if it is a pair.
    pub fn of(of: &Predefined) -> Self {
        let one = |kind, bytes: u64, external_bytes| {
            let element = Element { kind, bytes: bytes as usize, external_bytes };
            Elements { number: 1, bytes, parts: vec![], one: Some(element) }
        };
        let second = match of.kind {
            Kind::PairFloat | Kind::PairSigned if of.name.starts_with('2') => of.size / 2,
            Kind::PairFloat | Kind::PairSigned => 4,
            kind => return one(kind, of.size as u64, external_bytes(of.name, of.size)),
        };
        let mut pair = Elements::default();
        let first = of.size - second;
        let kind = if of.kind == Kind::PairFloat { Kind::Float } else { Kind::Signed };
        let external = if of.name == "LONG_INT" { external_bytes("LONG", first) } else { first };
        pair.append(1, &Arc::new(one(kind, first as u64, external)));
        // The index, or in Fortran's pairs another value.
        let kind = if of.name.starts_with('2') { kind } else { Kind::Signed };
        pair.append(1, &Arc::new(one(kind, second as u64, second)));
        pair
    }

    /// Adds so many of another.
    pub fn append(&mut self, count: u64, other: &Arc<Elements>) {
        if count > 0 && other.number > 0 {
            self.number += count * other.number;
            self.bytes += count * other.bytes;
            self.parts.push((count, Arc::clone(other)));
        }
    }

    /// Calls this for each element of a type, in order.
    ///
    /// # Errors
    /// That of the call.
    pub fn each<E>(&self, f: &mut impl FnMut(&Element) -> Result<(), E>) -> Result<(), E> {
        if let Some(element) = &self.one {
            return f(element);
        }
        for (count, part) in &self.parts {
            for _ in 0..*count {
                part.each(f)?;
            }
        }
        Ok(())
    }

    /// Their bytes in `external32`.
    pub fn external_bytes(&self) -> u64 {
        let parts = || self.parts.iter().map(|(count, part)| count * part.external_bytes()).sum();
        self.one.map_or_else(parts, |element| element.external_bytes as u64)
    }

    /// How many elements so many bytes of data of this type are; `None` if the last is not whole.
    pub fn within(&self, bytes: u64) -> Option<u64> {
        if self.bytes == 0 {
            return (bytes == 0).then_some(0);
        }
        let (mut number, mut rest) = (bytes / self.bytes * self.number, bytes % self.bytes);
        for (count, part) in &self.parts {
            let whole = (rest / part.bytes).min(*count);
            number += whole * part.number;
            rest -= whole * part.bytes;
            if whole < *count {
                return match rest {
                    0 => Some(number),
                    _ if part.parts.is_empty() => None,
                    _ => Some(number + part.within(rest)?),
                };
            }
        }
        (rest == 0).then_some(number)
    }

    /// How many bytes so many elements are, the reverse.
    pub fn bytes_of(&self, count: u64) -> Option<u64> {
        if self.number == 0 {
            return Some(0);
        }
        let (mut bytes, mut rest) = ((count / self.number).checked_mul(self.bytes)?, count % self.number);
        for (times, part) in &self.parts {
            let whole = (rest / part.number).min(*times);
            bytes = bytes.checked_add(whole * part.bytes)?;
            rest -= whole * part.number;
            if whole < *times {
                return bytes.checked_add(part.bytes_of(rest)?);
            }
        }
        Some(bytes)
    }
}

/// The length of a type in `external32` (MPI 5.0, section 14.5.2): that of most is their own.
fn external_bytes(name: &str, bytes: usize) -> usize {
    match name {
        "LONG" | "UNSIGNED_LONG" => 4,
        "WCHAR" => 2,
        _ => bytes,
    }
}
