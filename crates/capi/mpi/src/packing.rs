//! Explicit packing (MPI 5.0, section 5.2). What is packed is the data alone.

use crate::buffer::Buffer;
use crate::library::{CommId, Library};
use crate::numbers::{Count, CountPlace};
use crate::types::Type;
use netloom_mpi::error::{Class, Error};
use std::ffi::c_void;

/// Where the packed data is in its buffer, and where the next will be.
///
/// # Safety
/// The program gave the place.
unsafe fn step(place: CountPlace, bytes: usize, Count(size): Count, name: &str) -> Result<usize, Error> {
    // SAFETY: the caller's promise.
    let position = unsafe { place.get() };
    let Count(from) = Count::check("position", position)?;
    if from > size || bytes > size - from {
        let text = format!("{bytes} B from position {from} on do not fit in the {size} B of {name}");
        return Err(Error::new(Class::Truncate, text));
    }
    Ok(from)
}

pub unsafe fn pack(
    _: &mut Library,
    inbuf: Buffer,
    outbuf: *mut c_void,
    outsize: Count,
    position: CountPlace,
    _: CommId,
) -> Result<(), Error> {
    // SAFETY: the program gave the buffers and the place.
    unsafe {
        let data = inbuf.bytes(1)?;
        let from = step(position, data.len(), outsize, "outbuf")?;
        outbuf.cast::<u8>().wrapping_add(from).copy_from_nonoverlapping(data.as_ptr(), data.len());
        position.set(Some((from + data.len()) as u64));
    }
    Ok(())
}

pub unsafe fn unpack(
    _: &mut Library,
    inbuf: *const c_void,
    insize: Count,
    position: CountPlace,
    outbuf: Buffer,
    _: CommId,
) -> Result<(), Error> {
    // SAFETY: the program gave the buffers and the place.
    unsafe {
        let mut space = outbuf.space(1)?;
        let from = step(position, space.len(), insize, "inbuf")?;
        let bytes = space.len();
        space.as_mut_ptr().copy_from_nonoverlapping(inbuf.cast::<u8>().wrapping_add(from), bytes);
        space.finish();
        position.set(Some((from + bytes) as u64));
    }
    Ok(())
}

pub unsafe fn pack_size(
    _: &mut Library,
    Count(count): Count,
    of: Type,
    _: CommId,
    size: CountPlace,
) -> Result<(), Error> {
    // SAFETY: the program gave the place.
    unsafe { size.set((count as u64).checked_mul(of.size() as u64)) };
    Ok(())
}
