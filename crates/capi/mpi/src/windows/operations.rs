//! Operations: put, get, accumulates, and those of them that have a request.

use super::WinId;
use crate::buffer::{Buffer, PLAIN_BYTES_MAX};
use crate::library::Library;
use crate::operations::{Reduction, check_defined};
use crate::pami::Pami;
use crate::requests::{EMPTY, Request};
use crate::types::Type;
use netloom_mpi::datatype::{Kind, Predefined};
use netloom_mpi::error::{Class, Error};
use netloom_mpi::one_sided::{Accumulate, At, Data, Token, Window};
use netloom_mpi::op::Op;
use netloom_mpi::transport::Transport;
use std::borrow::Cow;
use std::ffi::{c_int, c_void};
use std::rc::Rc;

/// Data of a target, as the program describes it.
pub struct Remote {
    rank: c_int,
    displacement: isize,
    /// Without an address.
    buffer: Buffer,
}

impl Remote {
    pub fn new(rank: c_int, displacement: isize, count: impl Into<i64>, of: usize) -> Self {
        let names = ["the target's data", "target_count", "target_datatype"];
        Remote { rank, displacement, buffer: Buffer::new(names, std::ptr::null(), count, of) }
    }
}

/// Where an operation is carried out, and its window.
type AtTarget = (At, Rc<Window<Pami>>);

impl Library {
    /// Where an operation is carried out, once it may be; `None` for `MPI_PROC_NULL`.
    fn at(&mut self, win: WinId, remote: Remote) -> Result<Option<AtTarget>, Error> {
        let layout = remote.buffer.layout()?;
        let Some(rank) = self.target("target_rank", win, remote.rank)? else { return Ok(None) };
        let window = self.window(win);
        if !window.may_access(rank)? {
            self.block_on(window.wait_for_access(rank))?;
        }
        Ok(Some((At { rank, displacement: remote.displacement as i64, layout }, window)))
    }

    /// [`Window::put_known`], of plain data at both sides.
    #[inline(always)]
    fn put_known(
        &mut self,
        origin: &Buffer,
        remote: &Remote,
        win: WinId,
        is_awaited: bool,
    ) -> Option<Result<Option<Token>, Error>> {
        let data = origin.plain(PLAIN_BYTES_MAX)?;
        let rank = u32::try_from(remote.rank).ok()?;
        let is_equal = remote.buffer.plain_bytes(PLAIN_BYTES_MAX)? as u64 == data.bytes;
        let displacement = remote.displacement as i64;
        if is_equal { self.window(win).put_known(rank, displacement, data, is_awaited) } else { None }
    }
}

/// The one predefined type of which a type consists.
fn basic(of: &Type) -> Option<&'static Predefined> {
    match of {
        Type::Predefined(of) => Some(of),
        Type::Derived(made) => made.of.basic(),
    }
}

/// How an accumulate combines data of these types.
fn combining(op: Reduction, types: &[&Buffer], target: &Buffer) -> Result<Accumulate, Error> {
    let Reduction::Predefined(op) = op else {
        return Err(Error::new(Class::Op, "op is one of the program, and windows take predefined ones"));
    };
    let of = target.of()?;
    let element = basic(of);
    // No data may be of any type.
    if target.layout()?.bytes() == 0 || matches!(op, Op::Replace | Op::NoOp) {
        return Ok(Accumulate { op, element });
    }
    let Some(element) = element else {
        return Err(Error::new(
            Class::Type,
            "target_datatype has elements of several types, and an accumulate needs one",
        ));
    };
    check_defined(op, element)?;
    for other in types {
        let of = basic(other.of()?);
        if of.is_none_or(|of| (of.kind, of.size) != (element.kind, element.size)) {
            let text = format!(
                "the types of origin and target differ: the target has elements of MPI_{}",
                element.name
            );
            return Err(Error::new(Class::Type, text));
        }
    }
    Ok(Accumulate { op, element: Some(element) })
}

/// A put; the request, if it is to be one.
#[inline(always)]
unsafe fn any_put(
    library: &mut Library,
    origin: Buffer,
    at: Remote,
    win: WinId,
    is_awaited: bool,
) -> Result<Request, Error> {
    let started = match library.put_known(&origin, &at, win, is_awaited) {
        Some(started) => started?,
        // SAFETY: the program gave the buffer.
        None => unsafe { put_otherwise(library, &origin, at, win, is_awaited)? },
    };
    Ok(started.map_or(Request::Ended(Ok(EMPTY)), Request::OneSided))
}

/// A put of which something is not known yet, or wrong, or not of one piece.
#[inline(never)]
unsafe fn put_otherwise(
    library: &mut Library,
    origin: &Buffer,
    at: Remote,
    win: WinId,
    is_awaited: bool,
) -> Result<Option<Token>, Error> {
    // SAFETY: the program gave the buffer.
    let data = unsafe { origin.bytes(1)? };
    let Some((at, window)) = library.at(win, at)? else { return Ok(None) };
    // Long data goes in messages until the target's answer with the place of its memory is looked at, which a
    // program that flushes late does not do.
    let transport = library.point_to_point.transport();
    if data.len() >= transport.transfer_min_bytes() && !transport.is_simulated() {
        library.poll();
    }
    let data = match &data {
        Cow::Borrowed(data) => Data::Stays(data),
        Cow::Owned(packed) => Data::Lent(packed),
    };
    window.put(at, data, is_awaited)
}

/// A get; the request, if it is to be one.
unsafe fn any_get(
    library: &mut Library,
    origin: Buffer,
    at: Remote,
    win: WinId,
    is_awaited: bool,
) -> Result<Request, Error> {
    let place = origin.place()?;
    let Some((at, window)) = library.at(win, at)? else { return Ok(Request::Ended(Ok(EMPTY))) };
    let started = window.get(at, place, is_awaited)?;
    Ok(started.map_or(Request::Ended(Ok(EMPTY)), Request::OneSided))
}

pub unsafe fn accumulate(
    library: &mut Library,
    origin: Buffer,
    at: Remote,
    op: Reduction,
    win: WinId,
) -> Result<(), Error> {
    if matches!(op, Reduction::Predefined(Op::NoOp)) {
        return Err(Error::new(Class::Op, "MPI_NO_OP is for operations with a result"));
    }
    let how = combining(op, &[&origin], &at.buffer)?;
    // SAFETY: the program gave the buffer.
    let data = unsafe { origin.bytes(1)? };
    let Some((at, window)) = library.at(win, at)? else { return Ok(()) };
    window.accumulate(at, &data, how)
}

pub unsafe fn raccumulate(
    library: &mut Library,
    origin: Buffer,
    at: Remote,
    op: Reduction,
    win: WinId,
    request: *mut usize,
) -> Result<(), Error> {
    // SAFETY: the program gave buffer and place.
    unsafe {
        accumulate(library, origin, at, op, win)?;
        library.hand_out(Request::Ended(Ok(EMPTY)), request)
    }
}

/// An accumulate with a result; the request, if it is to be one.
unsafe fn any_get_accumulate(
    library: &mut Library,
    origin: Buffer,
    result: Buffer,
    at: Remote,
    op: Reduction,
    win: WinId,
    is_awaited: bool,
) -> Result<Request, Error> {
    let is_no_op = matches!(op, Reduction::Predefined(Op::NoOp));
    let buffers = [&origin, &result];
    let how = combining(op, if is_no_op { &[] } else { &buffers }, &at.buffer)?;
    // SAFETY: the program gave the buffer, which is not used without an operation.
    let data = if is_no_op { (&[]).into() } else { unsafe { origin.bytes(1)? } };
    let place = result.place()?;
    let Some((at, window)) = library.at(win, at)? else { return Ok(Request::Ended(Ok(EMPTY))) };
    let started = window.get_accumulate(at, &data, how, place, is_awaited)?;
    Ok(started.map_or(Request::Ended(Ok(EMPTY)), Request::OneSided))
}

/// Each operation as two functions: without a request, and with one.
macro_rules! operations {
    ($($any:ident($($argument:ident: $type:ty),*) = $plain:ident, $requested:ident;)*) => {$(
        pub unsafe fn $plain(library: &mut Library, $($argument: $type),*) -> Result<(), Error> {
            // SAFETY: the program gave the buffers.
            unsafe { $any(library, $($argument,)* false) }.map(|_| ())
        }

        pub unsafe fn $requested(
            library: &mut Library,
            $($argument: $type,)*
            request: *mut usize,
        ) -> Result<(), Error> {
            // SAFETY: the program gave buffers and place.
            unsafe {
                let started = $any(library, $($argument,)* true)?;
                library.hand_out(started, request)
            }
        }
    )*};
}
operations! {
    any_put(origin: Buffer, at: Remote, win: WinId) = put, rput;
    any_get(origin: Buffer, at: Remote, win: WinId) = get, rget;
    any_get_accumulate(origin: Buffer, result: Buffer, at: Remote, op: Reduction, win: WinId)
        = get_accumulate, rget_accumulate;
}

/// One element of a predefined type.
fn element(name: &'static str, address: *const c_void, of: &Predefined) -> Buffer {
    Buffer::new([name, "count", "datatype"], address, 1, of.handle)
}

fn check_predefined(of: Type) -> Result<&'static Predefined, Error> {
    match of {
        Type::Predefined(of) => Ok(of),
        Type::Derived(_) => Err(Error::new(Class::Type, "datatype is not a predefined type")),
    }
}

pub unsafe fn fetch_and_op(
    library: &mut Library,
    origin: *const c_void,
    result: *mut c_void,
    datatype: Type,
    target: c_int,
    displacement: isize,
    op: Reduction,
    win: WinId,
) -> Result<(), Error> {
    let of = check_predefined(datatype)?;
    let (origin, result) = (element("origin_addr", origin, of), element("result_addr", result, of));
    let at = Remote::new(target, displacement, 1, of.handle);
    // SAFETY: the program gave the buffers.
    unsafe { get_accumulate(library, origin, result, at, op, win) }
}

pub unsafe fn compare_and_swap(
    library: &mut Library,
    origin: *const c_void,
    compare: *const c_void,
    result: *mut c_void,
    datatype: Type,
    target: c_int,
    displacement: isize,
    win: WinId,
) -> Result<(), Error> {
    let of = check_predefined(datatype)?;
    if !matches!(of.kind, Kind::Signed | Kind::Unsigned | Kind::Logical | Kind::Byte) {
        let text = format!("datatype is MPI_{}, and must be an integer, a logical type or MPI_BYTE", of.name);
        return Err(Error::new(Class::Type, text));
    }
    let place = element("result_addr", result, of).place()?;
    let operands = [element("origin_addr", origin, of), element("compare_addr", compare, of)];
    // SAFETY: the program gave the buffers.
    let [new, compared] = unsafe { [operands[0].bytes(1)?, operands[1].bytes(1)?] };
    let Some((at, window)) = library.at(win, Remote::new(target, displacement, 1, of.handle))? else {
        return Ok(());
    };
    window.compare_and_swap(at, [&new, &compared], place)
}
