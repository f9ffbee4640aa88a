//! How a type was made (MPI 5.0, section 5.1.13).

use crate::types::{Derived, Type, add};
use netloom_mpi::error::{Class, Error};
use std::ffi::c_int;
use std::rc::Rc;

/// The call that made a type.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Combiner {
    Dup = 102,
    Contiguous = 103,
    Vector = 104,
    Hvector = 105,
    Indexed = 106,
    Hindexed = 107,
    IndexedBlock = 108,
    HindexedBlock = 109,
    Struct = 110,
    Subarray = 111,
    Darray = 112,
    F90Real = 113,
    F90Complex = 114,
    F90Integer = 115,
    Resized = 116,
}
/// That of predefined types.
const NAMED: c_int = 101;

/// The call that made a type, with its arguments.
#[derive(Clone)]
pub struct Envelope {
    pub combiner: Combiner,
    pub integers: Vec<i64>,
    pub addresses: Vec<i64>,
    /// Of a call with the suffix _c.
    pub counts: Vec<i64>,
    pub types: Vec<Type>,
}

impl Envelope {
    /// Those of a call with longer counts take all their numbers as counts.
    pub fn new(
        combiner: Combiner,
        is_long: bool,
        integers: Vec<i64>,
        addresses: Vec<i64>,
        types: Vec<Type>,
    ) -> Self {
        if !is_long {
            return Envelope { combiner, integers, addresses, counts: vec![], types };
        }
        let counts = [integers, addresses].concat();
        Envelope { combiner, integers: vec![], addresses: vec![], counts, types }
    }
}

fn of_derived(of: &Type) -> Result<&Rc<Derived>, Error> {
    match of {
        Type::Derived(made) => Ok(made),
        Type::Predefined(of) => {
            let text = format!("datatype is MPI_{}, which is predefined: it has no contents", of.name);
            Err(Error::new(Class::Type, text))
        }
    }
}

fn check_short(made: &Derived, name: &str) -> Result<(), Error> {
    if made.envelope.counts.is_empty() {
        return Ok(());
    }
    let text = format!("datatype was made by a function with the suffix _c: {name}_c tells how");
    Err(Error::new(Class::Type, text))
}

pub unsafe fn get(
    of: Type,
    integers: *mut c_int,
    addresses: *mut c_int,
    types: *mut c_int,
    combiner: *mut c_int,
) -> Result<(), Error> {
    let numbers = match &of {
        Type::Predefined(_) => [0, 0, 0, NAMED],
        Type::Derived(made) => {
            check_short(made, "MPI_Type_get_envelope")?;
            let Envelope { combiner, integers, addresses, types, .. } = &made.envelope;
            let [integers, addresses, types] =
                [integers.len(), addresses.len(), types.len()].map(|length| length as c_int);
            [integers, addresses, types, *combiner as c_int]
        }
    };
    // SAFETY: the program gave the places.
    unsafe { [*integers, *addresses, *types, *combiner] = numbers };
    Ok(())
}

pub unsafe fn get_long(
    of: Type,
    integers: *mut i64,
    addresses: *mut i64,
    counts: *mut i64,
    types: *mut i64,
    combiner: *mut c_int,
) -> Result<(), Error> {
    let (numbers, made_by) = match &of {
        Type::Predefined(_) => ([0; 4], NAMED),
        Type::Derived(made) => {
            let Envelope { combiner, integers, addresses, counts, types } = &made.envelope;
            let lengths = [integers.len(), addresses.len(), counts.len(), types.len()];
            (lengths.map(|length| length as i64), *combiner as c_int)
        }
    };
    // SAFETY: the program gave the places.
    unsafe {
        [*integers, *addresses, *counts, *types] = numbers;
        *combiner = made_by;
    }
    Ok(())
}

/// That an array of the program is long enough.
fn check_length(name: &str, most: i64, needed: usize) -> Result<(), Error> {
    if most < needed as i64 {
        return Err(Error::new(Class::Arg, format!("{name} is {most}, and {needed} are needed")));
    }
    Ok(())
}

/// # Safety
/// The program gave arrays of the checked lengths.
unsafe fn write(envelope: &Envelope, integers: *mut c_int, addresses: *mut isize, types: *mut usize) {
    // SAFETY: the caller's promise.
    unsafe {
        (0..).zip(&envelope.integers).for_each(|(at, &value)| *integers.add(at) = value as c_int);
        (0..).zip(&envelope.addresses).for_each(|(at, &value)| *addresses.add(at) = value as isize);
        for (at, of) in (0..).zip(&envelope.types) {
            // A derived type has a handle of its own, which the program frees.
            *types.add(at) = match of {
                Type::Predefined(of) => of.handle,
                Type::Derived(made) => add(made.copy()),
            };
        }
    }
}

pub unsafe fn contents(
    of: Type,
    max_integers: c_int,
    max_addresses: c_int,
    max_types: c_int,
    integers: *mut c_int,
    addresses: *mut isize,
    types: *mut usize,
) -> Result<(), Error> {
    let made = of_derived(&of)?;
    check_short(made, "MPI_Type_get_contents")?;
    let envelope = &made.envelope;
    check_length("max_integers", max_integers.into(), envelope.integers.len())?;
    check_length("max_addresses", max_addresses.into(), envelope.addresses.len())?;
    check_length("max_datatypes", max_types.into(), envelope.types.len())?;
    // SAFETY: the program gave the arrays, whose lengths were checked.
    unsafe { write(envelope, integers, addresses, types) };
    Ok(())
}

pub unsafe fn contents_long(
    of: Type,
    max_integers: i64,
    max_addresses: i64,
    max_counts: i64,
    max_types: i64,
    integers: *mut c_int,
    addresses: *mut isize,
    counts: *mut i64,
    types: *mut usize,
) -> Result<(), Error> {
    let made = of_derived(&of)?;
    let envelope = &made.envelope;
    check_length("max_integers", max_integers, envelope.integers.len())?;
    check_length("max_addresses", max_addresses, envelope.addresses.len())?;
    check_length("max_large_counts", max_counts, envelope.counts.len())?;
    check_length("max_datatypes", max_types, envelope.types.len())?;
    // SAFETY: the program gave the arrays, whose lengths were checked.
    unsafe {
        write(envelope, integers, addresses, types);
        (0..).zip(&envelope.counts).for_each(|(at, &value)| *counts.add(at) = value);
    }
    Ok(())
}
