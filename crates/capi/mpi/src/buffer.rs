//! Buffers that the program gives: an address, a count and a type.

use crate::abi::IN_PLACE;
use crate::numbers::{Count, Numbers};
use netloom_mpi::datatype::Predefined;
use netloom_mpi::error::{Class, Error};
use netloom_mpi::transport::Memory;
use std::ffi::c_void;

/// A buffer, as the program describes it.
#[derive(Clone, Copy, Debug)]
pub struct Buffer {
    name: &'static str,
    address: *const c_void,
    count: usize,
    pub of: &'static Predefined,
}

impl Buffer {
    pub fn new(
        name: &'static str,
        address: *const c_void,
        Count(count): Count,
        of: &'static Predefined,
    ) -> Self {
        Buffer { name, address, count, of }
    }

    /// The same number of elements elsewhere.
    pub fn at(self, name: &'static str, address: *const c_void) -> Self {
        Buffer { name, address, ..self }
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
        let Buffer { name, address, count, of } = *self;
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

/// Buffers of several ranks, within one: counts and displacements, in elements.
#[derive(Clone, Copy, Debug)]
pub struct Pieces {
    name: &'static str,
    address: *const c_void,
    counts: Numbers,
    displacements: Numbers,
    of: &'static Predefined,
}

impl Pieces {
    pub fn new(
        name: &'static str,
        address: *const c_void,
        counts: Numbers,
        displacements: Numbers,
        of: &'static Predefined,
    ) -> Self {
        Pieces { name, address, counts, displacements, of }
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
        let count = Count::check(&format!("the count of rank {rank}"), count)?;
        let address = self.address.wrapping_byte_offset(at as isize * self.of.extent as isize);
        // No data may be anywhere.
        Ok(Buffer::new(self.name, if count.0 == 0 { std::ptr::null() } else { address }, count, self.of))
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
