//! Buffers of several ranks in one, each with its own count.

use super::{Buffer, Named, Space};
use crate::abi::IN_PLACE;
use crate::numbers::Numbers;
use netloom_mpi::error::Error;
use std::borrow::Cow;
use std::ffi::c_void;
use std::rc::Rc;

/// A buffer for one rank, of several that have different counts.
#[derive(Clone)]
pub struct Counted {
    /// Without its count.
    buffer: Buffer,
    counts: Numbers,
}

impl Counted {
    pub fn new(
        names: [&'static str; 3],
        address: *const c_void,
        counts: impl Into<Numbers>,
        of: usize,
    ) -> Self {
        Counted { buffer: Buffer::new(names, address, 0, of), counts: counts.into() }
    }

    /// As [`Pieces::kept`].
    ///
    /// # Safety
    /// The program gave so many counts.
    pub unsafe fn kept(self, ranks: Option<u32>) -> Self {
        // SAFETY: the caller's promise.
        match ranks {
            Some(ranks) => Counted { counts: unsafe { self.counts.kept(ranks as usize) }, ..self },
            None => self,
        }
    }

    /// The counts of all ranks, and this rank's buffer.
    ///
    /// # Safety
    /// The program gave so many.
    pub unsafe fn of_rank(&self, rank: u32, ranks: u32) -> (Vec<i64>, Buffer) {
        // SAFETY: the caller's promise.
        let counts: Vec<i64> = (0..ranks as usize).map(|rank| unsafe { self.counts.at(rank) }).collect();
        let own = self.buffer.of_count(counts[rank as usize]);
        (counts, own)
    }
}

/// Buffers of several ranks, within one. They are checked where they are used.
#[derive(Clone)]
pub struct Pieces {
    /// The names of address, counts and type.
    names: [&'static str; 3],
    address: *const c_void,
    counts: Numbers,
    displacements: Numbers,
    of: Types,
}

/// The types of [`Pieces`].
#[derive(Clone)]
enum Types {
    /// One for all: displacements are in its elements.
    One(Named),
    /// One for each: displacements are in bytes.
    Each(*const usize),
    /// The same, in a copy of the array.
    Kept(Rc<[Named]>),
}

impl Pieces {
    pub fn new(
        names: [&'static str; 3],
        address: *const c_void,
        counts: impl Into<Numbers>,
        displacements: impl Into<Numbers>,
        of: usize,
    ) -> Self {
        let of = Types::One(Named::new(of));
        Pieces { names, address, counts: counts.into(), displacements: displacements.into(), of }
    }

    /// With an array of types.
    pub fn of_types(
        names: [&'static str; 3],
        address: *const c_void,
        counts: impl Into<Numbers>,
        displacements: impl Into<Numbers>,
        types: *const usize,
    ) -> Self {
        let of = Types::Each(types);
        Pieces { names, address, counts: counts.into(), displacements: displacements.into(), of }
    }

    pub fn is_in_place(&self) -> bool {
        self.address as usize == IN_PLACE
    }

    /// That of a rank.
    ///
    /// # Safety
    /// The program gave arrays with an element for this rank.
    pub unsafe fn of_rank(&self, rank: u32) -> Result<Buffer, Error> {
        // SAFETY: the caller's promise.
        let [count, at] = unsafe { [&self.counts, &self.displacements].map(|list| list.at(rank as usize)) };
        let (of, unit) = match &self.of {
            Types::One(of) => (of.clone(), of.get(self.names[2])?.extent() as isize),
            // SAFETY: the caller's promise.
            Types::Each(types) => (Named::new(unsafe { *types.add(rank as usize) }), 1),
            Types::Kept(types) => (types[rank as usize].clone(), 1),
        };
        // No data may be anywhere.
        let address = match count {
            0 => std::ptr::null(),
            _ => self.address.wrapping_byte_offset(at as isize * unit),
        };
        Ok(Buffer { names: self.names, address, count, of })
    }

    /// The same with copies of the arrays, if they are for so many ranks: what a persistent collective keeps.
    ///
    /// # Safety
    /// The program gave arrays of this length, unless the buffer is `MPI_IN_PLACE`.
    pub unsafe fn kept(self, ranks: Option<u32>) -> Self {
        let Some(ranks) = ranks.filter(|_| !self.is_in_place()) else { return self };
        let ranks = ranks as usize;
        // SAFETY: the caller's promise.
        unsafe {
            let of = match &self.of {
                Types::Each(types) => {
                    Types::Kept((0..ranks).map(|rank| Named::new(*types.add(rank))).collect())
                }
                other => other.clone(),
            };
            let [counts, displacements] = [&self.counts, &self.displacements].map(|list| list.kept(ranks));
            Pieces { counts, displacements, of, ..self }
        }
    }

    /// Those of all ranks.
    ///
    /// # Safety
    /// As [`Buffer::bytes`], and [`Self::of_rank`].
    pub unsafe fn bytes<'a>(&self, ranks: u32) -> Result<Vec<Cow<'a, [u8]>>, Error> {
        // SAFETY: the caller's promise.
        (0..ranks).map(|rank| unsafe { self.of_rank(rank)?.bytes(1) }).collect()
    }

    /// The same, to be written.
    ///
    /// # Safety
    /// As [`Buffer::space`], and [`Self::of_rank`]; they do not overlap.
    pub unsafe fn spaces<'a>(&self, ranks: u32) -> Result<Vec<Space<'a>>, Error> {
        // SAFETY: the caller's promise.
        (0..ranks).map(|rank| unsafe { self.of_rank(rank)?.space(1) }).collect()
    }
}
