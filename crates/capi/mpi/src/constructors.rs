//! How types are made of others (MPI 5.0, section 5.1.2 and on).

use crate::envelope::{Combiner, Envelope};
use crate::numbers::{Count, Numbers};
use crate::types::{Derived, Type, add, find};
use netloom_mpi::datatype::Datatype;
use netloom_mpi::error::{Class, Error};
use std::ffi::c_int;

/// Where the handle goes, and whether the call had longer counts.
pub type Place = (*mut usize, bool);

/// What is made of a type.
struct Plan {
    combiner: Combiner,
    integers: Vec<i64>,
    addresses: Vec<i64>,
}

/// # Safety
/// The program gave the place.
unsafe fn hand_out(
    Plan { combiner, integers, addresses }: Plan,
    types: Vec<Type>,
    made: Datatype,
    (place, is_long): Place,
) {
    let envelope = Envelope::new(combiner, is_long, integers, addresses, types);
    // SAFETY: the caller's promise.
    unsafe { *place = add(Derived::new(made, envelope)) };
}

/// The numbers of an array.
///
/// # Safety
/// The program gave so many.
pub unsafe fn list(numbers: impl Into<Numbers>, count: usize) -> Vec<i64> {
    let numbers = numbers.into();
    // SAFETY: the caller's promise.
    (0..count).map(|at| unsafe { numbers.at(at) }).collect()
}

fn check_lengths(lengths: &[i64]) -> Result<(), Error> {
    match lengths.iter().position(|&length| length < 0) {
        Some(at) => {
            let text = format!("array_of_blocklengths[{at}] is {}, which is negative", lengths[at]);
            Err(Error::new(Class::Arg, text))
        }
        None => Ok(()),
    }
}

/// A distance in elements, in bytes.
fn in_bytes(distance: i64, of: &Type) -> Result<i64, Error> {
    let too_far =
        || Error::new(Class::Arg, format!("a distance of {distance} elements is longer than memory"));
    distance.checked_mul(of.extent()).ok_or_else(too_far)
}

pub unsafe fn dup(of: Type, newtype: Place) -> Result<(), Error> {
    let plan = Plan { combiner: Combiner::Dup, integers: vec![], addresses: vec![] };
    let is_committed = match &of {
        Type::Predefined(_) => true,
        Type::Derived(made) => made.is_committed.get(),
    };
    let made = of.datatype().into_owned();
    // SAFETY: the program gave the place.
    unsafe {
        hand_out(plan, vec![of], made, newtype);
        if let Type::Derived(made) = find("newtype", *newtype.0)? {
            made.is_committed.set(is_committed);
        }
    }
    Ok(())
}

pub unsafe fn contiguous(Count(count): Count, of: Type, newtype: Place) -> Result<(), Error> {
    let plan = Plan { combiner: Combiner::Contiguous, integers: vec![count as i64], addresses: vec![] };
    let made = Datatype::of_blocks([(count as u64, 0, &*of.datatype())].into_iter())?;
    // SAFETY: the program gave the place.
    unsafe { hand_out(plan, vec![of], made, newtype) };
    Ok(())
}

pub unsafe fn vector(
    Count(count): Count,
    Count(length): Count,
    stride: i64,
    of: Type,
    newtype: Place,
) -> Result<(), Error> {
    let bytes = in_bytes(stride, &of)?;
    let integers = vec![count as i64, length as i64, stride];
    let plan = Plan { combiner: Combiner::Vector, integers, addresses: vec![] };
    // SAFETY: the program gave the place.
    unsafe { hand_out_vector(plan, [count, length], bytes, of, newtype) }
}

pub unsafe fn hvector(
    Count(count): Count,
    Count(length): Count,
    stride: i64,
    of: Type,
    newtype: Place,
) -> Result<(), Error> {
    let integers = vec![count as i64, length as i64];
    let plan = Plan { combiner: Combiner::Hvector, integers, addresses: vec![stride] };
    // SAFETY: the program gave the place.
    unsafe { hand_out_vector(plan, [count, length], stride, of, newtype) }
}

/// Makes the type of `count` blocks of `length` elements of `of`, `stride` bytes from each other.
///
/// # Safety
///
/// `newtype` is the program's place for a handle.
unsafe fn hand_out_vector(
    plan: Plan,
    [count, length]: [usize; 2],
    stride: i64,
    of: Type,
    newtype: Place,
) -> Result<(), Error> {
    let made = of.datatype().vector(count as u64, length as u64, stride)?;
    // SAFETY: as above.
    unsafe { hand_out(plan, vec![of], made, newtype) };
    Ok(())
}

/// Blocks of one type: lengths, and displacements in bytes.
fn blocks(of: &Type, lengths: &[i64], displacements: &[i64]) -> Result<Datatype, Error> {
    check_lengths(lengths)?;
    let of = of.datatype();
    Datatype::of_blocks(lengths.iter().zip(displacements).map(|(&length, &at)| (length as u64, at, &*of)))
}

pub unsafe fn indexed(
    Count(count): Count,
    lengths: impl Into<Numbers>,
    displacements: impl Into<Numbers>,
    of: Type,
    newtype: Place,
) -> Result<(), Error> {
    // SAFETY: the program gave arrays of this length, and the place.
    unsafe {
        let (lengths, displacements) = (list(lengths, count), list(displacements, count));
        let bytes: Result<Vec<i64>, Error> = displacements.iter().map(|&at| in_bytes(at, &of)).collect();
        let made = blocks(&of, &lengths, &bytes?)?;
        let integers = [vec![count as i64], lengths, displacements].concat();
        hand_out(Plan { combiner: Combiner::Indexed, integers, addresses: vec![] }, vec![of], made, newtype);
    }
    Ok(())
}

pub unsafe fn hindexed(
    Count(count): Count,
    lengths: impl Into<Numbers>,
    displacements: impl Into<Numbers>,
    of: Type,
    newtype: Place,
) -> Result<(), Error> {
    // SAFETY: the program gave arrays of this length, and the place.
    unsafe {
        let (lengths, addresses) = (list(lengths, count), list(displacements, count));
        let made = blocks(&of, &lengths, &addresses)?;
        let integers = [vec![count as i64], lengths].concat();
        hand_out(Plan { combiner: Combiner::Hindexed, integers, addresses }, vec![of], made, newtype);
    }
    Ok(())
}

pub unsafe fn indexed_block(
    Count(count): Count,
    Count(length): Count,
    displacements: impl Into<Numbers>,
    of: Type,
    newtype: Place,
) -> Result<(), Error> {
    // SAFETY: the program gave an array of this length, and the place.
    unsafe {
        let displacements = list(displacements, count);
        let bytes: Result<Vec<i64>, Error> = displacements.iter().map(|&at| in_bytes(at, &of)).collect();
        let made = blocks(&of, &vec![length as i64; count], &bytes?)?;
        let integers = [vec![count as i64, length as i64], displacements].concat();
        hand_out(
            Plan { combiner: Combiner::IndexedBlock, integers, addresses: vec![] },
            vec![of],
            made,
            newtype,
        );
    }
    Ok(())
}

pub unsafe fn hindexed_block(
    Count(count): Count,
    Count(length): Count,
    displacements: impl Into<Numbers>,
    of: Type,
    newtype: Place,
) -> Result<(), Error> {
    // SAFETY: the program gave an array of this length, and the place.
    unsafe {
        let addresses = list(displacements, count);
        let made = blocks(&of, &vec![length as i64; count], &addresses)?;
        let integers = vec![count as i64, length as i64];
        hand_out(Plan { combiner: Combiner::HindexedBlock, integers, addresses }, vec![of], made, newtype);
    }
    Ok(())
}

pub unsafe fn structure(
    Count(count): Count,
    lengths: impl Into<Numbers>,
    displacements: impl Into<Numbers>,
    types: *const usize,
    newtype: Place,
) -> Result<(), Error> {
    // SAFETY: the program gave arrays of this length, and the place.
    unsafe {
        let (lengths, addresses) = (list(lengths, count), list(displacements, count));
        check_lengths(&lengths)?;
        let one = |at| find(&format!("array_of_types[{at}]"), *types.add(at));
        let types = (0..count).map(one).collect::<Result<Vec<Type>, Error>>()?;
        let parts: Vec<_> = types.iter().map(Type::datatype).collect();
        let blocks = lengths.iter().zip(&addresses).zip(parts.iter().map(|of| &**of));
        let made = Datatype::of_blocks(blocks.map(|((&length, &at), of)| (length as u64, at, of)))?;
        let integers = [vec![count as i64], lengths].concat();
        hand_out(Plan { combiner: Combiner::Struct, integers, addresses }, types, made, newtype);
    }
    Ok(())
}

pub const ORDER_C: c_int = 12;
pub const ORDER_FORTRAN: c_int = 15;

pub fn check_order(order: c_int) -> Result<(), Error> {
    if order != ORDER_C && order != ORDER_FORTRAN {
        let text = format!("order is {order}, neither MPI_ORDER_C nor MPI_ORDER_FORTRAN");
        return Err(Error::new(Class::Arg, text));
    }
    Ok(())
}

pub unsafe fn subarray(
    dimensions: c_int,
    sizes: impl Into<Numbers>,
    subsizes: impl Into<Numbers>,
    starts: impl Into<Numbers>,
    order: c_int,
    of: Type,
    newtype: Place,
) -> Result<(), Error> {
    if dimensions < 1 {
        return Err(Error::new(Class::Arg, format!("ndims is {dimensions}, and 1 is the least")));
    }
    check_order(order)?;
    let count = dimensions as usize;
    // SAFETY: the program gave arrays of this length, and the place.
    unsafe {
        let [sizes, subsizes, starts] =
            [sizes.into(), subsizes.into(), starts.into()].map(|numbers| list(numbers, count));
        let mut shape = vec![];
        for (at, ((&whole, &part), &from)) in sizes.iter().zip(&subsizes).zip(&starts).enumerate() {
            if whole < 1 || part < 1 || from < 0 || part > whole || from > whole - part {
                let text = format!(
                    "dimension {at}: {part} elements from {from} on are no part of {whole} (array_of_sizes, \
                     array_of_subsizes, array_of_starts)"
                );
                return Err(Error::new(Class::Arg, text));
            }
            shape.push([whole, part, from]);
        }
        if order == ORDER_FORTRAN {
            shape.reverse();
        }
        let made = of.datatype().subarray(&shape)?;
        let numbers = [sizes, subsizes, starts].concat();
        let ends = [i64::from(dimensions), i64::from(order)];
        if newtype.1 {
            // Dimensions and order stay integers.
            let mut envelope = Envelope::new(Combiner::Subarray, true, numbers, vec![], vec![of]);
            envelope.integers = ends.to_vec();
            *newtype.0 = add(Derived::new(made, envelope));
        } else {
            let integers = [&ends[..1], &numbers, &ends[1..]].concat();
            hand_out(
                Plan { combiner: Combiner::Subarray, integers, addresses: vec![] },
                vec![of],
                made,
                newtype,
            );
        }
    }
    Ok(())
}

pub unsafe fn resized(of: Type, lower: i64, extent: i64, newtype: Place) -> Result<(), Error> {
    let made = of.datatype().resized(lower, extent)?;
    let plan = Plan { combiner: Combiner::Resized, integers: vec![], addresses: vec![lower, extent] };
    // SAFETY: the program gave the place.
    unsafe { hand_out(plan, vec![of], made, newtype) };
    Ok(())
}
