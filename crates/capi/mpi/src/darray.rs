//! The part of a process of a distributed array (MPI 5.0, section 5.1.4).

use crate::constructors::{ORDER_C, ORDER_FORTRAN, Place, check_order, list};
use crate::envelope::{Combiner, Envelope};
use crate::numbers::Numbers;
use crate::types::{Derived, Type, add};
use netloom_mpi::error::{Class, Error};
use std::ffi::c_int;

const DISTRIBUTE_NONE: i64 = 16;
const DISTRIBUTE_BLOCK: i64 = 17;
const DISTRIBUTE_CYCLIC: i64 = 18;
const DISTRIBUTE_DFLT_DARG: i64 = 19;

/// How one dimension is distributed.
struct Dimension {
    length: i64,
    distribution: i64,
    argument: i64,
    processes: i64,
}

impl Dimension {
    /// The indices of a process, as runs with their lengths.
    fn runs(&self, at: usize, place: i64) -> Result<Vec<[i64; 2]>, Error> {
        let &Dimension { length, distribution, argument, processes } = self;
        let wrong = |text: String| Err(Error::new(Class::Arg, format!("dimension {at}: {text}")));
        if length < 1 || processes < 1 {
            return wrong(format!(
                "{length} elements and {processes} processes (array_of_gsizes, array_of_psizes)"
            ));
        }
        let is_default = argument == DISTRIBUTE_DFLT_DARG;
        if !is_default && argument < 1 && distribution != DISTRIBUTE_NONE {
            return wrong(format!(
                "array_of_dargs is {argument}, neither positive nor MPI_DISTRIBUTE_DFLT_DARG"
            ));
        }
        match distribution {
            DISTRIBUTE_NONE if processes == 1 => Ok(vec![[0, length]]),
            DISTRIBUTE_NONE => wrong(format!("it is not distributed, and array_of_psizes is {processes}")),
            DISTRIBUTE_BLOCK => {
                let block = if is_default { (length - 1) / processes + 1 } else { argument };
                if block.checked_mul(processes).is_some_and(|all| all < length) {
                    return wrong(format!("{processes} blocks of {block} are less than {length} elements"));
                }
                let from = block.saturating_mul(place).min(length);
                Ok(vec![[from, block.min(length - from)]])
            }
            DISTRIBUTE_CYCLIC => {
                let block = if is_default { 1 } else { argument };
                let starts =
                    (block.saturating_mul(place)..length).step_by(block.saturating_mul(processes) as usize);
                Ok(starts.map(|from| [from, block.min(length - from)]).collect())
            }
            _ => wrong(format!("array_of_distribs is {distribution}, which is no distribution")),
        }
    }
}

pub unsafe fn darray(
    size: c_int,
    rank: c_int,
    ndims: c_int,
    gsizes: impl Into<Numbers>,
    distribs: *const c_int,
    dargs: *const c_int,
    psizes: *const c_int,
    order: c_int,
    of: Type,
    newtype: Place,
) -> Result<(), Error> {
    if ndims < 1 {
        return Err(Error::new(Class::Arg, format!("ndims is {ndims}, and 1 is the least")));
    }
    check_order(order)?;
    let count = ndims as usize;
    // SAFETY: the program gave arrays of this length.
    let [lengths, distributions, arguments, processes] =
        unsafe { [list(gsizes, count), list(distribs, count), list(dargs, count), list(psizes, count)] };
    let all = processes.iter().try_fold(1i64, |all, &processes| all.checked_mul(processes));
    if all != Some(size.into()) || rank < 0 || rank >= size {
        let text = format!("rank is {rank} of size {size}, and array_of_psizes is {processes:?}");
        return Err(Error::new(Class::Arg, text));
    }
    // The place of the process in the grid, the last coordinate first.
    let (mut places, mut rest) = (vec![0; count], i64::from(rank));
    for at in (0..count).rev() {
        places[at] = rest % processes[at];
        rest /= processes[at];
    }
    let mut made = of.datatype().into_owned();
    let mut stride = of.extent();
    let fastest: Vec<usize> =
        if order == ORDER_C { (0..count).rev().collect() } else { (0..count).collect() };
    debug_assert!(order == ORDER_C || order == ORDER_FORTRAN);
    for at in fastest {
        let dimension = Dimension {
            length: lengths[at],
            distribution: distributions[at],
            argument: arguments[at],
            processes: processes[at],
        };
        made = made.spread(&dimension.runs(at, places[at])?, stride)?;
        let too_long = || Error::new(Class::Arg, "the array is longer than memory");
        stride = stride.checked_mul(lengths[at]).ok_or_else(too_long)?;
    }
    let made = made.resized(0, stride)?;
    let ends = [i64::from(size), i64::from(rank), i64::from(ndims)];
    let rest = [distributions, arguments, processes, vec![order.into()]].concat();
    let (integers, counts) = match newtype.1 {
        true => ([&ends[..], &rest].concat(), lengths),
        false => ([&ends[..], &lengths, &rest].concat(), vec![]),
    };
    let mut envelope = Envelope::new(Combiner::Darray, false, integers, vec![], vec![of]);
    envelope.counts = counts;
    // SAFETY: the program gave the place.
    unsafe { *newtype.0 = add(Derived::new(made, envelope)) };
    Ok(())
}
