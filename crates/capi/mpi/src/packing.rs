//! Explicit packing (MPI 5.0, section 5.2). What is packed is the data alone, as it is or as `external32`.

use crate::buffer::Buffer;
use crate::library::{CommId, Library};
use crate::numbers::{Count, CountPlace};
use crate::types::Type;
use netloom_mpi::datatype::external::{convert, revert};
use netloom_mpi::error::{Class, Error};
use std::ffi::{CStr, c_char, c_void};

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
        let mut from = 0;
        let bytes = inbuf.pack(|bytes| {
            from = step(position, bytes, outsize, "outbuf")?;
            Ok(outbuf.cast::<u8>().wrapping_add(from))
        })?;
        position.set(Some((from + bytes) as u64));
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
        let mut from = 0;
        let bytes = outbuf.unpack(|bytes| {
            from = step(position, bytes, insize, "inbuf")?;
            Ok(inbuf.cast::<u8>().wrapping_add(from))
        })?;
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

/// That a data representation is the one that there is.
///
/// # Safety
/// The program gave a string.
unsafe fn check_representation(datarep: *const c_char) -> Result<(), Error> {
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(datarep) }.to_string_lossy();
    if name == "external32" {
        return Ok(());
    }
    let text = format!("datarep is {name}, and data is packed as external32 alone");
    Err(Error::new(Class::UnsupportedDatarep, text))
}

/// Packs as [`pack`], in the data representation of the standard.
pub unsafe fn pack_external(
    _: &mut Library,
    datarep: *const c_char,
    inbuf: Buffer,
    outbuf: *mut c_void,
    outsize: i64,
    position: *mut i64,
) -> Result<(), Error> {
    // SAFETY: the program gave the string, the buffers and the place.
    unsafe {
        check_representation(datarep)?;
        let (data, of) = (inbuf.bytes(1)?, inbuf.of()?.datatype());
        let external = convert(&of, &data)?;
        let position = CountPlace::Long(position);
        let from = step(position, external.len(), Count::check("outsize", outsize)?, "outbuf")?;
        outbuf.cast::<u8>().wrapping_add(from).copy_from_nonoverlapping(external.as_ptr(), external.len());
        position.set(Some((from + external.len()) as u64));
    }
    Ok(())
}

pub unsafe fn unpack_external(
    _: &mut Library,
    datarep: *const c_char,
    inbuf: *const c_void,
    insize: i64,
    position: *mut i64,
    outbuf: Buffer,
) -> Result<(), Error> {
    // SAFETY: the program gave the string, the buffers and the place.
    unsafe {
        check_representation(datarep)?;
        let mut space = outbuf.space(1)?;
        let of = outbuf.of()?.datatype();
        let elements = space.len().checked_div(of.size()).unwrap_or(0);
        let bytes = elements * of.external_bytes() as usize;
        let position = CountPlace::Long(position);
        let from = step(position, bytes, Count::check("insize", insize)?, "inbuf")?;
        let external = match bytes {
            0 => &[],
            _ => std::slice::from_raw_parts(inbuf.cast::<u8>().wrapping_add(from), bytes),
        };
        space.copy_from_slice(&revert(&of, external));
        space.finish();
        position.set(Some((from + bytes) as u64));
    }
    Ok(())
}

pub unsafe fn pack_external_size(
    _: &mut Library,
    datarep: *const c_char,
    Count(count): Count,
    of: Type,
    size: *mut i64,
) -> Result<(), Error> {
    let bytes = (count as u64).checked_mul(of.datatype().external_bytes());
    // SAFETY: the program gave the string and the place.
    unsafe {
        check_representation(datarep)?;
        CountPlace::Long(size).set(bytes);
    }
    Ok(())
}
