//! What a library of Fortran registers of its compiler (MPI 5.0, section 20.4): sizes of types, which
//! optional types there are, and the values of logical constants. This library has no Fortran, so nothing is
//! known before. It may be registered once, at any time, and holds for the process.

use crate::info::{self, Info};
use netloom_mpi::datatype::Predefined;
use netloom_mpi::error::{Class, Error};
use std::ffi::{c_int, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Sizes of types, bytes: of those compilers whose types this library has. Its reductions and `external32`
/// take these.
const SIZES: [(&str, &str); 4] = [
    ("mpi_logical_size", "4"),
    ("mpi_integer_size", "4"),
    ("mpi_real_size", "4"),
    ("mpi_double_precision_size", "8"),
];
/// Keys that say whether there is a type, by what is between these.
const SUPPORTED: [&str; 2] = ["mpi_", "_supported"];
/// The longest logical type, bytes.
const LOGICAL_MAX_BYTES: usize = 16;

#[derive(Debug)]
struct Booleans {
    bytes: usize,
    values: [[u8; LOGICAL_MAX_BYTES]; 2],
}

#[derive(Debug)]
struct Facts {
    info: Option<Info>,
    booleans: Option<Booleans>,
}

fn facts() -> MutexGuard<'static, Facts> {
    static FACTS: Mutex<Facts> = Mutex::new(Facts { info: None, booleans: None });
    FACTS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn registered(what: &str) -> Error {
    Error::new(Class::Abi, format!("{what} of the Fortran compiler are registered, and stay as they are"))
}

pub unsafe fn info(info: *mut usize) -> Result<(), Error> {
    let known = facts().info.clone();
    // SAFETY: the program gave the place.
    unsafe { *info = known.map_or(info::INFO_NULL, info::add) };
    Ok(())
}

pub unsafe fn set_info(info: usize) -> Result<(), Error> {
    let mut facts = facts();
    if facts.info.is_some() {
        return Err(registered("the properties"));
    }
    if info == info::INFO_NULL {
        return Err(Error::new(Class::Info, "info is MPI_INFO_NULL"));
    }
    let given = info::copy(info)?;
    for (key, size) in SIZES {
        let Some(value) = given.get(key).filter(|&value| value != size) else { continue };
        let is_size = value.parse::<usize>().is_ok_and(usize::is_power_of_two);
        let class = if is_size { Class::UnsupportedOperation } else { Class::Arg };
        return Err(Error::new(class, format!("{key} is {value}, and this library's type has {size} B")));
    }
    let supported = given.keys().filter(|key| type_of(key).is_some());
    for (key, value) in supported.filter_map(|key| Some((key, given.get(key)?))) {
        if value != "true" && value != "false" {
            return Err(Error::new(Class::Arg, format!("{key} is {value}, neither true nor false")));
        }
    }
    facts.info = Some(given);
    Ok(())
}

/// The type that a key is about, in small letters.
fn type_of(key: &str) -> Option<&str> {
    key.strip_prefix(SUPPORTED[0])?.strip_suffix(SUPPORTED[1])
}

/// Whether it was registered that the compiler does not have a type.
pub fn is_unsupported(of: &Predefined) -> bool {
    let [before, after] = SUPPORTED;
    let facts = facts();
    let key = || format!("{before}{}{after}", of.name.to_lowercase());
    facts.info.as_ref().is_some_and(|info| info.get(&key()) == Some("false"))
}

fn check_size(logical_size: c_int) -> Result<usize, Error> {
    let bytes = usize::try_from(logical_size).ok();
    bytes.filter(|bytes| bytes.is_power_of_two() && *bytes <= LOGICAL_MAX_BYTES).ok_or_else(|| {
        Error::new(Class::Arg, format!("logical_size is {logical_size}, and must be 1, 2, 4, 8 or 16"))
    })
}

pub unsafe fn booleans(
    logical_size: c_int,
    logical_true: *mut c_void,
    logical_false: *mut c_void,
    is_set: *mut c_int,
) -> Result<(), Error> {
    let bytes = check_size(logical_size)?;
    let facts = facts();
    // The values of another size do not follow from those of one.
    let known = facts.booleans.as_ref().filter(|known| known.bytes == bytes);
    // SAFETY: the program gave the places, of that size.
    unsafe {
        *is_set = known.is_some().into();
        let Some(known) = known else { return Ok(()) };
        for (place, value) in [logical_true, logical_false].into_iter().zip(&known.values) {
            place.cast::<u8>().copy_from_nonoverlapping(value.as_ptr(), bytes);
        }
    }
    Ok(())
}

pub unsafe fn set_booleans(
    logical_size: c_int,
    logical_true: *mut c_void,
    logical_false: *mut c_void,
) -> Result<(), Error> {
    let bytes = check_size(logical_size)?;
    let mut facts = facts();
    if facts.booleans.is_some() {
        return Err(registered("the logical values"));
    }
    let mut values = [[0; LOGICAL_MAX_BYTES]; 2];
    for ((value, place), name) in
        values.iter_mut().zip([logical_true, logical_false]).zip(["logical_true", "logical_false"])
    {
        if place.is_null() {
            return Err(Error::new(Class::Arg, format!("{name} is NULL")));
        }
        // SAFETY: the program gave a value of that size.
        unsafe { value.as_mut_ptr().copy_from_nonoverlapping(place.cast::<u8>().cast_const(), bytes) };
    }
    if values[0] == values[1] {
        return Err(Error::new(Class::Arg, "logical_true and logical_false are the same"));
    }
    facts.booleans = Some(Booleans { bytes, values });
    Ok(())
}
