//! Buffers that the program gives: an address, a count and a type.

use crate::abi::IN_PLACE;
use crate::library::datatype;
use crate::numbers::{Count, Numbers};
use netloom_mpi::datatype::Predefined;
use netloom_mpi::error::{Class, Error};
use netloom_mpi::transport::Memory;
use std::ffi::c_void;

/// A buffer, as the program describes it. Count and type are checked where they are used: those of `MPI_IN_PLACE`, and those of
/// the root's buffer at other ranks, may be anything.
#[derive(Clone, Copy, Debug)]
pub struct Buffer {
    /// The names of address, count and type.
    names: [&'static str; 3],
    address: *const c_void,
    count: i64,
    of: usize,
}

impl Buffer {
    pub fn new(names: [&'static str; 3], address: *const c_void, count: impl Into<i64>, of: usize) -> Self {
        Buffer { names, address, count: count.into(), of }
    }

    /// The same number of elements elsewhere.
    pub fn at(self, name: &'static str, address: *const c_void) -> Self {
        let [_, count, of] = self.names;
        Buffer { names: [name, count, of], address, ..self }
    }

    /// The type of its elements.
    pub fn of(&self) -> Result<&'static Predefined, Error> {
        datatype(self.names[2], self.of)
    }

    /// Whether it stands for the other buffer of the call.
    pub fn is_in_place(&self) -> bool {
        self.address as usize == IN_PLACE
    }

    /// Its memory.
    pub fn memory(&self) -> Result<Memory, Error> {
        self.parts(1)
    }

    /// The memory of several such buffers, one after the other.
    pub fn parts(&self, parts: u32) -> Result<Memory, Error> {
        let Buffer { names: [name, of_count, _], address, count, .. } = *self;
        let (Count(count), of) = (Count::check(of_count, count)?, self.of()?);
        let all = (count as u64).checked_mul(u64::from(parts));
        let bytes = all.and_then(|all| all.checked_mul(of.extent as u64)).ok_or_else(|| {
            Error::new(Class::Count, format!("{count} elements of {name} would be longer than memory"))
        })?;
        if address.is_null() && bytes > 0 {
            return Err(Error::new(Class::Buffer, format!("{name} is NULL, with {bytes} B of data")));
        }
        Ok(Memory { address: address as u64, bytes })
    }

    /// Its bytes, if it stands for `parts` of them.
    ///
    /// # Safety
    /// The program has this memory, and leaves it as it is during the call.
    pub unsafe fn bytes<'a>(&self, parts: u32) -> Result<&'a [u8], Error> {
        let Memory { address, bytes } = self.parts(parts)?;
        // SAFETY: the caller's promise; no bytes may be at NULL.
        Ok(match bytes {
            0 => &[],
            _ => unsafe { std::slice::from_raw_parts(address as *const u8, bytes as usize) },
        })
    }

    /// The same, to be written.
    ///
    /// # Safety
    /// As [`Self::bytes`]; it overlaps no other buffer of the call.
    pub unsafe fn space<'a>(&self, parts: u32) -> Result<&'a mut [u8], Error> {
        let Memory { address, bytes } = self.parts(parts)?;
        // SAFETY: the caller's promise; no bytes may be at NULL.
        Ok(match bytes {
            0 => &mut [],
            _ => unsafe { std::slice::from_raw_parts_mut(address as *mut u8, bytes as usize) },
        })
    }
}

/// Buffers of several ranks, within one: counts and displacements, in elements. They are checked where they are used.
#[derive(Clone, Copy, Debug)]
pub struct Pieces {
    /// The names of address, counts and type.
    names: [&'static str; 3],
    address: *const c_void,
    counts: Numbers,
    displacements: Numbers,
    of: usize,
}

impl Pieces {
    pub fn new(
        names: [&'static str; 3],
        address: *const c_void,
        counts: impl Into<Numbers>,
        displacements: impl Into<Numbers>,
        of: usize,
    ) -> Self {
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
        let [count, at] = unsafe { [self.counts, self.displacements].map(|list| list.at(rank as usize)) };
        let extent = datatype(self.names[2], self.of)?.extent as isize;
        let address = self.address.wrapping_byte_offset(at as isize * extent);
        // No data may be anywhere.
        let address = if count == 0 { std::ptr::null() } else { address };
        Ok(Buffer::new(self.names, address, count, self.of))
    }

    /// Those of all ranks.
    ///
    /// # Safety
    /// As [`Buffer::bytes`], and [`Self::of_rank`].
    pub unsafe fn bytes<'a>(&self, ranks: u32) -> Result<Vec<&'a [u8]>, Error> {
        // SAFETY: the caller's promise.
        (0..ranks).map(|rank| unsafe { self.of_rank(rank)?.bytes(1) }).collect()
    }

    /// The same, to be written.
    ///
    /// # Safety
    /// As [`Buffer::space`], and [`Self::of_rank`]; they do not overlap.
    pub unsafe fn spaces<'a>(&self, ranks: u32) -> Result<Vec<&'a mut [u8]>, Error> {
        // SAFETY: the caller's promise.
        (0..ranks).map(|rank| unsafe { self.of_rank(rank)?.space(1) }).collect()
    }
}
