//! Datatypes: their handles, and what is asked of them (MPI 5.0, section 5.1).

use crate::abi::{MAX_OBJECT_NAME, SUCCESS};
use crate::envelope::Envelope;
use crate::environment::write;
use crate::library::{Library, bad_handle};
use crate::numbers::CountPlace;
use netloom_mpi::datatype::{self, Datatype, Predefined};
use netloom_mpi::error::{Class, Error};
use netloom_mpi::handles::Handles;
use std::borrow::Cow;
use std::cell::{Cell, RefCell, UnsafeCell};
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::rc::Rc;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// See [`crate::handles`].
const USER_TYPE: usize = 0x0400_0000;

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
    /// The program has freed it. What uses it goes on, and an operation of the program may ask for it.
    is_freed: Cell<bool>,
    pub name: RefCell<String>,
    /// The predefined type that it is by another name, if it is one of Fortran's ranges.
    pub same_as: Option<&'static Predefined>,
}

impl Derived {
    /// One that is not committed yet, and has no name.
    pub fn new(of: Datatype, envelope: Envelope) -> Rc<Self> {
        Self::made(of, envelope, None)
    }

    /// A predefined type by another name.
    pub fn same_as(of: &'static Predefined, envelope: Envelope) -> Rc<Self> {
        Self::made(Datatype::from(of), envelope, Some(of))
    }

    fn made(of: Datatype, envelope: Envelope, same_as: Option<&'static Predefined>) -> Rc<Self> {
        let (is_committed, name) = (Cell::new(same_as.is_some()), RefCell::default());
        Rc::new(Derived { of, envelope, is_committed, is_freed: Cell::new(false), name, same_as })
    }

    /// The same as an object of its own: each handle's is freed by itself.
    pub fn copy(&self) -> Rc<Self> {
        Rc::new(Derived {
            of: self.of.clone(),
            envelope: self.envelope.clone(),
            is_committed: self.is_committed.clone(),
            is_freed: Cell::new(false),
            name: self.name.clone(),
            same_as: self.same_as,
        })
    }
}

/// Those that the program made, by number.
struct Made {
    list: Handles<Rc<Derived>>,
    /// Those that the program has freed while something used them: their handles are not given to others. And how
    /// many there may be before it is looked which are no longer used.
    freed: Vec<usize>,
    freed_max: usize,
}

impl Made {
    fn free(&mut self, handle: usize) {
        let Some(made) = self.list.get(handle) else { return };
        if Rc::strong_count(made) == 1 {
            self.list.remove(handle);
            return;
        }
        made.is_freed.set(true);
        self.freed.push(handle);
        if self.freed.len() > self.freed_max {
            let list = &mut self.list;
            self.freed.retain(|&handle| {
                let is_used = list.get(handle).is_some_and(|made| Rc::strong_count(made) > 1);
                if !is_used {
                    list.remove(handle);
                }
                is_used
            });
            self.freed_max = 16 + 2 * self.freed.len();
        }
    }
}

struct Place(UnsafeCell<Made>);
// SAFETY: the program makes one call at a time: see the top of the crate.
unsafe impl Sync for Place {}
static MADE: Place =
    Place(UnsafeCell::new(Made { list: Handles::new(USER_TYPE), freed: vec![], freed_max: 16 }));

fn with_made<R>(f: impl FnOnce(&mut Made) -> R) -> R {
    // SAFETY: one call at a time, and `f` calls nothing of the program.
    f(unsafe { &mut *MADE.0.get() })
}

thread_local! {
    /// Whether this thread is in an operation of the program.
    static IS_IN_OPERATION: Cell<bool> = const { Cell::new(false) };
}

/// Calls an operation of the program. It is given the handle of a type, which may have been freed.
pub fn in_operation(call: impl FnOnce()) {
    let was = IS_IN_OPERATION.replace(true);
    call();
    IS_IN_OPERATION.set(was);
}

/// The type of a handle, if it is one.
pub fn lookup(handle: usize) -> Option<Type> {
    match datatype::predefined(handle) {
        Some(of) => Some(Type::Predefined(of)),
        None => {
            let is_there = |of: &&Rc<Derived>| !of.is_freed.get() || IS_IN_OPERATION.get();
            with_made(|made| made.list.get(handle).filter(is_there).cloned()).map(Type::Derived)
        }
    }
}

/// That a handle is no type.
#[cold]
pub fn no_type(name: &str, handle: usize) -> Error {
    bad_handle(Class::Type, name, handle, "MPI_DATATYPE_NULL", datatype::NULL, "datatype")
}

/// The type of a handle.
pub fn find(name: &str, handle: usize) -> Result<Type, Error> {
    lookup(handle).ok_or_else(|| no_type(name, handle))
}

/// A handle for a type.
pub fn add(made: Rc<Derived>) -> usize {
    with_made(|all| all.list.insert(made))
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
    let is_unsupported = matches!(&of, Type::Predefined(of) if crate::fortran::is_unsupported(of));
    // SAFETY: the program gave the place.
    unsafe { size.into().set((!is_unsupported).then_some(of.size() as u64)) };
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

/// Names that the program gave to predefined types, by their own.
fn names() -> MutexGuard<'static, BTreeMap<&'static str, String>> {
    static NAMES: Mutex<BTreeMap<&'static str, String>> = Mutex::new(BTreeMap::new());
    NAMES.lock().unwrap_or_else(PoisonError::into_inner)
}

pub unsafe fn set_name(_: &mut Library, of: Type, name: *const c_char) -> Result<(), Error> {
    // SAFETY: the program gave a string.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
    match of {
        Type::Predefined(of) => drop(names().insert(of.name, name)),
        Type::Derived(made) => drop(made.name.replace(name)),
    }
    Ok(())
}

/// That of a predefined type is its own, unless the program gave another.
pub unsafe fn get_name(
    _: &mut Library,
    handle: usize,
    name: *mut c_char,
    length: *mut c_int,
) -> Result<(), Error> {
    let given = match lookup(handle) {
        None if handle == datatype::NULL => "MPI_DATATYPE_NULL".into(),
        None => return Err(no_type("datatype", handle)),
        Some(Type::Predefined(of)) => {
            names().get(of.name).cloned().unwrap_or_else(|| format!("MPI_{}", of.name))
        }
        Some(Type::Derived(made)) => made.name.borrow().clone(),
    };
    // SAFETY: the program gave the places.
    unsafe { write(&given, MAX_OBJECT_NAME, name, length) };
    Ok(())
}

/// That a type can be freed.
pub fn check_free(handle: usize) -> Result<(), Error> {
    let why = match find("datatype", handle)? {
        Type::Predefined(of) => format!("datatype is MPI_{}, which is predefined, and stays", of.name),
        Type::Derived(made) if made.same_as.is_some() => {
            "datatype is one of Fortran's ranges, and stays".into()
        }
        Type::Derived(_) => return Ok(()),
    };
    Err(Error::new(Class::Type, why))
}

/// What is under way with it goes on.
pub unsafe fn free(datatype: *mut usize) -> Result<(), Error> {
    // SAFETY: the program gave the place.
    let handle = unsafe { &mut *datatype };
    with_made(|made| made.free(*handle));
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
