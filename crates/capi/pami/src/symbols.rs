//! Data symbols: null handles, predefined types, data functions. A predefined type is a number that no
//! pointer has; a data function is one that is never called, because the library knows it by its address.

use crate::abi::{DataFunction, DataPointer};
use netloom_messaging::pami::reduce::{ELEMENTS, Element, OPERATIONS, Operation};
use std::ffi::c_void;
use std::ptr::fn_addr_eq;

/// A symbol that C reads.
#[repr(transparent)]
pub struct Symbol<T>(T);
// SAFETY: nothing writes to it.
unsafe impl<T> Sync for Symbol<T> {}

macro_rules! types {
    ($($name:ident = $number:literal),* $(,)?) => {
        $(#[unsafe(no_mangle)]
        pub static $name: Symbol<*mut c_void> = Symbol(std::ptr::without_provenance_mut($number));)*
    };
}

types! {
    PAMI_CLIENT_NULL = 0,
    PAMI_TYPE_NULL = 0,
    PAMI_CONTEXT_NULL = 0,
    PAMI_GEOMETRY_NULL = 0,
    PAMI_TYPE_BYTE = 1,
    PAMI_TYPE_SIGNED_CHAR = 2,
    PAMI_TYPE_UNSIGNED_CHAR = 3,
    PAMI_TYPE_SIGNED_SHORT = 4,
    PAMI_TYPE_UNSIGNED_SHORT = 5,
    PAMI_TYPE_SIGNED_INT = 6,
    PAMI_TYPE_UNSIGNED_INT = 7,
    PAMI_TYPE_SIGNED_LONG = 8,
    PAMI_TYPE_UNSIGNED_LONG = 9,
    PAMI_TYPE_SIGNED_LONG_LONG = 10,
    PAMI_TYPE_UNSIGNED_LONG_LONG = 11,
    PAMI_TYPE_FLOAT = 12,
    PAMI_TYPE_DOUBLE = 13,
    PAMI_TYPE_LONG_DOUBLE = 14,
    PAMI_TYPE_LOGICAL1 = 15,
    PAMI_TYPE_LOGICAL2 = 16,
    PAMI_TYPE_LOGICAL4 = 17,
    PAMI_TYPE_LOGICAL8 = 18,
    PAMI_TYPE_SINGLE_COMPLEX = 19,
    PAMI_TYPE_DOUBLE_COMPLEX = 20,
    PAMI_TYPE_LOC_2INT = 21,
    PAMI_TYPE_LOC_2FLOAT = 22,
    PAMI_TYPE_LOC_2DOUBLE = 23,
    PAMI_TYPE_LOC_SHORT_INT = 24,
    PAMI_TYPE_LOC_FLOAT_INT = 25,
    PAMI_TYPE_LOC_DOUBLE_INT = 26,
    PAMI_TYPE_LOC_LONG_INT = 27,
    PAMI_TYPE_LOC_LONGDOUBLE_INT = 28,
}

/// `PAMI_TYPE_BYTE`.
pub fn byte() -> *mut c_void {
    PAMI_TYPE_BYTE.0
}

/// Whether a handle is a number and not an address: of a predefined type, or of none.
#[inline]
pub fn is_number(kind: *mut c_void) -> bool {
    (kind as usize) < 64
}

/// The element of a predefined type.
#[inline]
pub fn element(kind: *mut c_void) -> Option<Element> {
    ELEMENTS.get((kind as usize).wrapping_sub(1)).copied()
}

/// The length of an integer type that atomic operations take, bytes.
pub fn integer_bytes(kind: *mut c_void) -> Option<u64> {
    element(kind).filter(|_| (6..=11).contains(&(kind as usize))).map(|element| element.bytes() as u64)
}

/// `PAMI_DATA_COPY`.
pub fn copy_function() -> DataFunction {
    PAMI_DATA_COPY
}

/// Whether a data function copies. NULL does.
#[inline]
pub fn is_copy(function: DataFunction) -> bool {
    function.is_none_or(|function| PAMI_DATA_COPY.is_some_and(|copy| fn_addr_eq(copy, function)))
}

/// The operation of a predefined data function.
pub fn operation(function: DataPointer) -> Option<Operation> {
    let known = DATA_FUNCTIONS.iter().position(|&known| fn_addr_eq(known, function))?;
    Some(OPERATIONS[known])
}

#[unsafe(no_mangle)]
pub static PAMI_ALGORITHM_NULL: usize = 0;
#[unsafe(no_mangle)]
pub static PAMI_ENDPOINT_NULL: u32 = 0;
#[unsafe(no_mangle)]
pub static PAMI_ALL_CONTEXTS: usize = usize::MAX;

macro_rules! functions {
    ($($name:ident = $private:ident),* $(,)?) => {
        $(unsafe extern "C" fn $private(_: *mut c_void, _: *mut c_void, _: usize, _: *mut c_void) {
            // A body of its own, so that functions do not share an address.
            eprintln!(concat!("PAMI: ", stringify!($name), " is a name, not a function to call"));
        }
        #[unsafe(no_mangle)]
        pub static $name: DataFunction = Some($private);)*
        /// The predefined data functions, in the order of their operations.
        static DATA_FUNCTIONS: [DataPointer; OPERATIONS.len()] = [$($private),*];
    };
}

functions! {
    PAMI_DATA_COPY = copy,
    PAMI_DATA_NOOP = noop,
    PAMI_DATA_MAX = max,
    PAMI_DATA_MIN = min,
    PAMI_DATA_SUM = sum,
    PAMI_DATA_PROD = prod,
    PAMI_DATA_LAND = land,
    PAMI_DATA_LOR = lor,
    PAMI_DATA_LXOR = lxor,
    PAMI_DATA_BAND = band,
    PAMI_DATA_BOR = bor,
    PAMI_DATA_BXOR = bxor,
    PAMI_DATA_MAXLOC = maxloc,
    PAMI_DATA_MINLOC = minloc,
}
