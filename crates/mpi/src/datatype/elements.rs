//! What a type consists of: its predefined elements in order, for `MPI_Get_elements`.

use super::Kind;
use super::Predefined;
use std::rc::Rc;

/// The elements of a type, as a tree: types have few different parts and many of each.
#[derive(Clone, Debug, Default)]
pub struct Elements {
    /// How many.
    number: u64,
    /// Their bytes.
    bytes: u64,
    /// What it consists of, each so many times; none if it is one element.
    parts: Vec<(u64, Rc<Elements>)>,
}

impl Elements {
    /// Those of a predefined type: one, or two if it is a pair.
    pub fn of(of: &Predefined) -> Self {
        let one = |bytes| Elements { number: 1, bytes, parts: vec![] };
        let second = match of.kind {
            Kind::PairFloat | Kind::PairSigned if of.name.starts_with('2') => of.size / 2,
            Kind::PairFloat | Kind::PairSigned => 4,
            _ => return one(of.size as u64),
        };
        let mut pair = Elements::default();
        for bytes in [of.size - second, second] {
            pair.append(1, &Rc::new(one(bytes as u64)));
        }
        pair
    }

    /// Adds so many of another.
    pub fn append(&mut self, count: u64, other: &Rc<Elements>) {
        if count > 0 && other.number > 0 {
            self.number += count * other.number;
            self.bytes += count * other.bytes;
            self.parts.push((count, Rc::clone(other)));
        }
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
