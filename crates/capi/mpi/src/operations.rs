//! Reduction operations: predefined ones, and those of the program (MPI 5.0, section 6.9).

use crate::buffer::Buffer;
use crate::library::Library;
use crate::pami::listener;
use crate::types::Type;
use netloom_mpi::collective::Combine;
use netloom_mpi::datatype::{Datatype, Kind, Predefined, Scattered};
use netloom_mpi::error::{Class, Error};
use netloom_mpi::op::{self, Op};
use netloom_mpi::point_to_point::PointToPoint;
use std::ffi::{c_int, c_void};

/// See [`crate::handles`].
pub const USER_OP: usize = 0x0300_0000;

/// `MPI_OP_NULL`.
pub const OP_NULL: usize = 0x20;

/// A reduction operation.
#[derive(Clone, Copy, Debug)]
pub enum Reduction {
    Predefined(Op),
    /// The address of a function, whether its count is long, and whether the order of operands does not
    /// matter to it.
    User {
        function: usize,
        is_long: bool,
        commutes: bool,
    },
}

/// How elements of a type are combined.
pub enum Combining {
    Predefined(Op, &'static Predefined),
    /// In a box, so that collectives with a predefined operation are short.
    User(Box<User>),
}

/// A function of the program, for elements of a type.
pub struct User {
    function: usize,
    is_long: bool,
    /// The type's handle and extent, and the type, so that the handle stays its own.
    handle: usize,
    extent: usize,
    _of: Type,
    /// The type, if some of its data is outside of its extent: operands are data alone.
    packed: Option<Datatype>,
}

/// How elements of a type are combined. That an operation is not defined is found here, before any rank has
/// sent something.
#[inline(always)]
pub fn combining(operation: Reduction, buffer: &Buffer) -> Result<Combining, Error> {
    let Reduction::Predefined(op) = operation else { return user(operation, buffer) };
    let of = match buffer.of()? {
        Type::Predefined(of) => *of,
        Type::Derived(made) => made.same_as.ok_or_else(|| undefined_for_derived(op))?,
    };
    if matches!(op, Op::Replace | Op::NoOp) {
        return Err(of_windows(op));
    }
    check_defined(op, of)?;
    Ok(Combining::Predefined(op, of))
}

#[inline(never)]
fn user(operation: Reduction, buffer: &Buffer) -> Result<Combining, Error> {
    let Reduction::User { function, is_long, .. } = operation else { unreachable!("it is the program's") };
    let of = buffer.of()?;
    let packed = match of {
        Type::Derived(made) if !made.of.is_within_extent() => Some(made.of.clone()),
        _ => None,
    };
    let (handle, extent, _of) = (buffer.handle(), of.extent().max(1) as usize, of.clone());
    Ok(Combining::User(Box::new(User { function, is_long, handle, extent, _of, packed })))
}

#[cold]
fn undefined_for_derived(op: Op) -> Error {
    let op = format!("{op:?}").to_uppercase();
    Error::new(Class::Op, format!("MPI_{op} is not defined for types that a program makes"))
}

#[cold]
fn of_windows(op: Op) -> Error {
    let name = if op == Op::NoOp { "NO_OP" } else { "REPLACE" };
    Error::new(Class::Op, format!("MPI_{name} is for operations of windows alone"))
}

impl User {
    fn combine(&self, first: &mut [u8], second: &[u8]) -> Result<(), Error> {
        match &self.packed {
            None => {
                let mut result = second.to_vec();
                let operands = [first.as_mut_ptr(), result.as_mut_ptr()];
                // SAFETY: the program gave the function for this type; operands have this many elements.
                unsafe { self.call(operands, first.len() / self.extent) };
                first.copy_from_slice(&result);
            }
            // Nothing can come of elements without data.
            Some(of) if of.size() == 0 => {}
            Some(of) => {
                let count = first.len() / of.size();
                let left = Scattered::new(of.layout(count), first)?;
                let right = Scattered::new(of.layout(count), second)?;
                // SAFETY: as above.
                unsafe { self.call([left.base(), right.base()], count) };
                right.pack(first);
            }
        }
        Ok(())
    }

    /// Calls the function: the second operand is replaced by first op second.
    ///
    /// # Safety
    /// The program gave the function, with counts of this length; operands have this many elements.
    unsafe fn call(&self, operands: [*mut u8; 2], count: usize) {
        type Function<Count> = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut Count, *mut usize);
        let (mut handle, [first, second]) = (self.handle, operands.map(|of| of.cast::<c_void>()));
        // SAFETY: the caller's promise.
        let call = || unsafe {
            if self.is_long {
                let function = std::mem::transmute::<usize, Function<i64>>(self.function);
                function(first, second, &mut (count as i64), &mut handle);
            } else {
                let function = std::mem::transmute::<usize, Function<c_int>>(self.function);
                function(first, second, &mut (count as c_int), &mut handle);
            }
        };
        // Other threads may start collectives meanwhile.
        let is_blocking = listener().is_some_and(PointToPoint::is_blocking);
        // SAFETY: a reduction borrows nothing of the library while it combines.
        unsafe { crate::threads::unlocked(|| crate::types::in_operation(call)) };
        listener().inspect(|listener| listener.set_blocking(is_blocking));
    }
}

impl Combine for Combining {
    #[inline]
    fn combine(&self, first: &mut [u8], second: &[u8]) -> Result<(), Error> {
        match self {
            Combining::Predefined(op, of) => {
                op::reduce(*op, of, first, second);
                Ok(())
            }
            Combining::User(user) => user.combine(first, second),
        }
    }

    fn predefined(&self) -> Option<(Op, &'static Predefined)> {
        match *self {
            // Which operand is the last matters to these.
            Combining::Predefined(Op::Replace | Op::NoOp, _) | Combining::User(_) => None,
            Combining::Predefined(op, of) => Some((op, of)),
        }
    }
}

/// That an operation is defined for a type.
#[inline(always)]
pub fn check_defined(op: Op, of: &Predefined) -> Result<(), Error> {
    // The most usual ones.
    let is_usual = matches!(op, Op::Sum | Op::Prod | Op::Min | Op::Max)
        && matches!((of.kind, of.size), (Kind::Signed | Kind::Unsigned | Kind::Float, 4 | 8));
    if is_usual { Ok(()) } else { try_out(op, of) }
}

#[inline(never)]
fn try_out(op: Op, of: &Predefined) -> Result<(), Error> {
    const EXTENT_MAX: usize = 64;
    let (mut first, second) = ([0; EXTENT_MAX], [0; EXTENT_MAX]);
    if !op::reduce(op, of, &mut first[..of.extent], &second[..of.extent]) {
        let op = format!("{op:?}").to_uppercase();
        return Err(Error::new(Class::Op, format!("MPI_{op} is not defined for MPI_{}", of.name)));
    }
    Ok(())
}

pub unsafe fn create(
    library: &mut Library,
    (function, is_long): (usize, bool),
    commute: c_int,
    op: *mut usize,
) -> Result<(), Error> {
    if function == 0 {
        return Err(Error::new(Class::Arg, "user_fn is NULL"));
    }
    let made = Reduction::User { function, is_long, commutes: commute != 0 };
    // SAFETY: the program gave the place.
    unsafe { *op = library.operations.insert(made) };
    Ok(())
}

pub unsafe fn free(library: &mut Library, op: *mut usize) -> Result<(), Error> {
    // SAFETY: the program gave it.
    let handle = unsafe { &mut *op };
    if let Reduction::Predefined(_) = library.op("op", *handle)? {
        return Err(Error::new(Class::Op, "op is predefined, and stays"));
    }
    library.operations.remove(*handle);
    *handle = OP_NULL;
    Ok(())
}

pub unsafe fn commutative(_: &mut Library, op: Reduction, commute: *mut c_int) -> Result<(), Error> {
    let commutes = match op {
        Reduction::Predefined(op) => op != Op::Replace,
        Reduction::User { commutes, .. } => commutes,
    };
    // SAFETY: the program gave the place.
    unsafe { *commute = commutes.into() };
    Ok(())
}

pub unsafe fn reduce_local(
    _: &mut Library,
    inbuf: *const c_void,
    inoutbuf: Buffer,
    op: Reduction,
) -> Result<(), Error> {
    let combine = combining(op, &inoutbuf)?;
    let (first, second) = (inoutbuf.at("inbuf", inbuf).array()?, inoutbuf.array()?);
    first.check_apart(&second)?;
    // SAFETY: the program gave the buffers.
    unsafe {
        let mut result = first.copy();
        combine.combine(&mut result, &second.copy())?;
        second.set(&result);
    }
    Ok(())
}
