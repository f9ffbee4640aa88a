//! Predefined types that are found by what they hold (MPI 5.0, sections 5.1.7 and 19.1.9).

use crate::abi::UNDEFINED;
use crate::envelope::{Combiner, Envelope};
use crate::library::Library;
use crate::types::{Derived, Type, add};
use netloom_mpi::datatype::{self, PREDEFINED};
use netloom_mpi::error::{Class, Error};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::{Mutex, PoisonError};

const TYPECLASS_INTEGER: c_int = 192;
const TYPECLASS_REAL: c_int = 193;
const TYPECLASS_COMPLEX: c_int = 194;

/// Fortran's type of a kind and size, such as `MPI_REAL8`.
fn of_size(name: &str, bytes: usize) -> Option<usize> {
    let name = format!("{name}{bytes}");
    PREDEFINED.iter().find(|of| of.name == name).map(|of| of.handle)
}

pub unsafe fn match_size(
    _: &mut Library,
    class: c_int,
    size: c_int,
    datatype: *mut usize,
) -> Result<(), Error> {
    let name = match class {
        TYPECLASS_INTEGER => "INTEGER",
        TYPECLASS_REAL => "REAL",
        TYPECLASS_COMPLEX => "COMPLEX",
        _ => return Err(Error::new(Class::Arg, format!("typeclass is {class}, which is no class of types"))),
    };
    let found = usize::try_from(size).ok().and_then(|bytes| of_size(name, bytes));
    let none = || Error::new(Class::Arg, format!("size is {size}: there is no {name} of this size"));
    // SAFETY: the program gave the place.
    unsafe { *datatype = found.ok_or_else(none)? };
    Ok(())
}

/// The pair of a value and an index, for `MPI_MINLOC` and `MPI_MAXLOC`, or `MPI_DATATYPE_NULL`.
pub unsafe fn value_index(_: &mut Library, value: Type, index: Type, pair: *mut usize) -> Result<(), Error> {
    const PAIRS: [(&str, &str, &str); 9] = [
        ("FLOAT", "INT", "FLOAT_INT"),
        ("DOUBLE", "INT", "DOUBLE_INT"),
        ("LONG", "INT", "LONG_INT"),
        ("INT", "INT", "2INT"),
        ("SHORT", "INT", "SHORT_INT"),
        ("LONG_DOUBLE", "INT", "LONG_DOUBLE_INT"),
        ("REAL", "REAL", "2REAL"),
        ("DOUBLE_PRECISION", "DOUBLE_PRECISION", "2DOUBLE_PRECISION"),
        ("INTEGER", "INTEGER", "2INTEGER"),
    ];
    let found = match (&value, &index) {
        (Type::Predefined(value), Type::Predefined(index)) => {
            let names = PAIRS.iter().find(|of| (of.0, of.1) == (value.name, index.name));
            names.and_then(|names| PREDEFINED.iter().find(|of| of.name == names.2))
        }
        _ => None,
    };
    // SAFETY: the program gave the place.
    unsafe { *pair = found.map_or(datatype::NULL, |of| of.handle) };
    Ok(())
}

/// The size of the smallest number with at least these decimal digits and this decimal exponent.
fn real_bytes(digits: c_int, range: c_int) -> Result<usize, Error> {
    // Of single, double and quadruple precision.
    let sizes = [(4, 6, 37), (8, 15, 307), (16, 33, 4931)];
    let enough = |has: c_int, wanted: c_int| wanted == UNDEFINED || wanted <= has;
    let found = sizes.iter().find(|of| enough(of.1, digits) && enough(of.2, range));
    let none =
        || Error::new(Class::Arg, format!("p is {digits} and r is {range}: no type holds such numbers"));
    if digits == UNDEFINED && range == UNDEFINED {
        return Err(Error::new(Class::Arg, "p and r are MPI_UNDEFINED"));
    }
    Ok(found.ok_or_else(none)?.0)
}

/// The handle of Fortran's type of a range: the same each time.
fn of_range(combiner: Combiner, name: &str, bytes: usize, numbers: &[c_int]) -> usize {
    /// By combiner and numbers.
    type Made = BTreeMap<(i32, Vec<c_int>), usize>;
    static MADE: Mutex<Made> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    *made.entry((combiner as i32, numbers.to_vec())).or_insert_with(|| {
        let of = of_size(name, bytes).expect("there is one of each size");
        let integers = numbers.iter().map(|&number| number.into()).collect();
        let envelope = Envelope::new(combiner, false, integers, vec![], vec![]);
        add(Derived::same_as(datatype::predefined(of).expect("it was found"), envelope))
    })
}

pub unsafe fn f90_real(
    _: &mut Library,
    p: c_int,
    r: c_int,
    (newtype, _): (*mut usize, bool),
) -> Result<(), Error> {
    let bytes = real_bytes(p, r)?;
    // SAFETY: the program gave the place.
    unsafe { *newtype = of_range(Combiner::F90Real, "REAL", bytes, &[p, r]) };
    Ok(())
}

pub unsafe fn f90_complex(
    _: &mut Library,
    p: c_int,
    r: c_int,
    (newtype, _): (*mut usize, bool),
) -> Result<(), Error> {
    let bytes = 2 * real_bytes(p, r)?;
    // SAFETY: the program gave the place.
    unsafe { *newtype = of_range(Combiner::F90Complex, "COMPLEX", bytes, &[p, r]) };
    Ok(())
}

pub unsafe fn f90_integer(_: &mut Library, r: c_int, (newtype, _): (*mut usize, bool)) -> Result<(), Error> {
    let sizes = [(1, 2), (2, 4), (4, 9), (8, 18), (16, 38)];
    let found = sizes.iter().find(|of| r <= of.1);
    let none = || Error::new(Class::Arg, format!("r is {r}: no integer has such a range"));
    let bytes = found.ok_or_else(none)?.0;
    // SAFETY: the program gave the place.
    unsafe { *newtype = of_range(Combiner::F90Integer, "INTEGER", bytes, &[r]) };
    Ok(())
}
