//! Datatypes: their handles, and what is asked of them (MPI 5.0, section 5.1).

use crate::abi::SUCCESS;
use crate::envelope::Envelope;
use crate::library::bad_handle;
use crate::numbers::CountPlace;
use netloom_mpi::datatype::{self, Datatype, Predefined};
use netloom_mpi::error::{Class, Error};
use std::borrow::Cow;
use std::cell::{Cell, UnsafeCell};
use std::ffi::{c_int, c_void};
use std::rc::Rc;

/// Handles that the program makes: see [`crate::library::USER_COMM`].
pub const USER_TYPE: usize = 0x0400_0000;

/// A type.
#[derive(Clone)]
pub enum Type {
    Predefined(&'static Predefined),
    Derived(Rc<Derived>),
}

/// A type that the program made.
pub struct Derived {
    pub of: Datatype,
    pub envelope: Envelope,
    pub is_committed: Cell<bool>,
}

/// Those that the program made, by number.
struct Made(UnsafeCell<Vec<Option<Rc<Derived>>>>);
// SAFETY: the program makes one call at a time: see the top of the crate.
unsafe impl Sync for Made {}
static MADE: Made = Made(UnsafeCell::new(vec![]));

fn with_made<R>(f: impl FnOnce(&mut Vec<Option<Rc<Derived>>>) -> R) -> R {
    // SAFETY: one call at a time, and `f` calls nothing of the program.
    f(unsafe { &mut *MADE.0.get() })
}

/// The type of a handle.
pub fn find(name: &str, handle: usize) -> Result<Type, Error> {
    if let Some(of) = datatype::predefined(handle) {
        return Ok(Type::Predefined(of));
    }
    let made = with_made(|list| list.get(handle.wrapping_sub(USER_TYPE)).cloned().flatten());
    let bad = || bad_handle(Class::Type, name, handle, "MPI_DATATYPE_NULL", datatype::NULL, "datatype");
    made.map(Type::Derived).ok_or_else(bad)
}

/// A handle for a type.
pub fn add(made: Rc<Derived>) -> usize {
    with_made(|list| {
        let at = list.iter().position(Option::is_none).unwrap_or(list.len());
        if at == list.len() {
            list.push(None);
        }
        list[at] = Some(made);
        USER_TYPE | at
    })
}

impl Type {
    /// The same without regard to who made it.
    pub fn datatype(&self) -> Cow<'_, Datatype> {
        match self {
            Type::Predefined(of) => Cow::Owned(Datatype::from(*of)),
            Type::Derived(made) => Cow::Borrowed(&made.of),
        }
    }

    pub fn size(&self) -> usize {
        match self {
            Type::Predefined(of) => of.size,
            Type::Derived(made) => made.of.size(),
        }
    }

    pub fn extent(&self) -> i64 {
        match self {
            Type::Predefined(of) => of.extent as i64,
            Type::Derived(made) => made.of.extent(),
        }
    }
}

pub unsafe fn size(of: Type, size: impl Into<CountPlace>) -> Result<(), Error> {
    // SAFETY: the program gave the place.
    unsafe { size.into().set(Some(of.size() as u64)) };
    Ok(())
}

pub unsafe fn extent(of: Type, lower: *mut i64, extent: *mut i64) -> Result<(), Error> {
    let of = of.datatype();
    // SAFETY: the program gave the places.
    unsafe { (*lower, *extent) = (of.lower, of.extent()) };
    Ok(())
}

pub unsafe fn true_extent(of: Type, lower: *mut i64, extent: *mut i64) -> Result<(), Error> {
    let of = of.datatype();
    // SAFETY: the program gave the places.
    unsafe { (*lower, *extent) = (of.true_lower, of.true_upper - of.true_lower) };
    Ok(())
}

pub unsafe fn commit(datatype: *mut usize) -> Result<(), Error> {
    // SAFETY: the program gave the place.
    if let Type::Derived(made) = find("datatype", unsafe { *datatype })? {
        made.is_committed.set(true);
    }
    Ok(())
}

/// What is under way with it goes on.
pub unsafe fn free(datatype: *mut usize) -> Result<(), Error> {
    // SAFETY: the program gave the place.
    let handle = unsafe { &mut *datatype };
    if let Type::Predefined(of) = find("datatype", *handle)? {
        return Err(Error::new(
            Class::Type,
            format!("datatype is MPI_{}, which is predefined, and stays", of.name),
        ));
    }
    with_made(|list| list[*handle - USER_TYPE] = None);
    *handle = datatype::NULL;
    Ok(())
}

pub unsafe fn address(location: *const c_void, address: *mut isize) -> c_int {
    // SAFETY: the program gave the place.
    unsafe { *address = location as isize };
    SUCCESS
}

pub unsafe fn add_displacement(base: isize, displacement: isize) -> isize {
    base.wrapping_add(displacement)
}

pub unsafe fn difference(first: isize, second: isize) -> isize {
    first.wrapping_sub(second)
}
