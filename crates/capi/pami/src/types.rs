//! Types: building, queries, the serialized form, conversion between layouts. A handle is the number of a
//! predefined type (see `symbols.rs`) or the address of a [`Handle`].

use crate::abi::*;
use crate::check;
use crate::client::{attributes, fail, query};
use crate::symbols;
use crate::typed::Combine;
use netloom_messaging::pami::reduce::{ELEMENTS, Element};
use netloom_messaging::pami::types::{Type, TypeBuilder, pairs};
use std::collections::BTreeSet;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};

/// The elements of a type of the program's.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Elements {
    #[default]
    None,
    /// All data are elements of a predefined type.
    Of(Element),
    /// Bytes, or elements of several predefined types.
    Unknown,
}

impl Elements {
    /// With the elements of another part.
    fn join(self, other: Elements) -> Elements {
        match (self, other) {
            (Elements::None, elements) | (elements, Elements::None) => elements,
            (own, other) if own == other => own,
            _ => Elements::Unknown,
        }
    }
}

/// A type of the program's.
#[derive(Default)]
struct Handle {
    builder: TypeBuilder,
    elements: Elements,
    /// Set by `PAMI_Type_complete`. Operations hold it, so the handle may be destroyed while they run.
    complete: Option<Arc<Type>>,
    serialized: OnceLock<Vec<u8>>,
}

/// The predefined types, in the order of their numbers, from 1.
static PREDEFINED: LazyLock<[Arc<Type>; ELEMENTS.len()]> =
    LazyLock::new(|| ELEMENTS.map(|element| Arc::new(Type::contiguous(element.bytes() as u32))));

/// The type of a handle that is neither NULL nor a number.
fn handle(kind: *mut c_void) -> Option<NonNull<Handle>> {
    NonNull::new(kind.cast::<Handle>()).filter(|made| !symbols::is_number(kind) && made.is_aligned())
}

/// The program's types, while checks are on.
fn live() -> MutexGuard<'static, BTreeSet<usize>> {
    static LIVE: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether there is a type with this handle; reports it if not.
fn is_live(kind: *mut c_void) -> bool {
    let is_live = live().contains(&(kind as usize));
    if !is_live && !symbols::is_number(kind) {
        check::report(format!(
            "{kind:p} is not a type, or one that is destroyed; use a type of PAMI_Type_create until PAMI_Type_destroy"
        ));
    }
    is_live
}

/// A handle for a type.
fn publish(made: Handle) -> *mut c_void {
    let handle = Box::into_raw(Box::new(made));
    if check::is_on() {
        live().insert(handle as usize);
    }
    handle.cast()
}

/// The type of a handle, complete or not. Threads share complete types.
///
/// # Safety
/// The handle is a number, or of a type that has not been destroyed.
unsafe fn shared<'a>(kind: *mut c_void) -> Option<&'a Handle> {
    if check::is_on() && !is_live(kind) {
        return None;
    }
    // SAFETY: the caller's promise.
    handle(kind).map(|made| unsafe { made.as_ref() })
}

/// The complete type of a handle, predefined ones included.
///
/// # Safety
/// As [`shared`].
pub unsafe fn complete(kind: *mut c_void) -> Option<Arc<Type>> {
    match symbols::element(kind) {
        Some(element) => Some(Arc::clone(&PREDEFINED[element as usize])),
        // SAFETY: the caller's promise.
        None => unsafe { shared(kind) }?.complete.clone(),
    }
}

/// The elements of a handle's type.
///
/// # Safety
/// As [`shared`].
unsafe fn elements(kind: *mut c_void) -> Elements {
    // SAFETY: the caller's promise.
    let of_handle = || unsafe { shared(kind) }.map_or(Elements::Unknown, |made| made.elements);
    symbols::element(kind).map_or_else(of_handle, Elements::Of)
}

/// The element that all data of a type consists of, if there is one.
///
/// # Safety
/// As [`shared`].
pub unsafe fn element(kind: *mut c_void) -> Option<Element> {
    // SAFETY: the caller's promise.
    match unsafe { elements(kind) } {
        Elements::Of(element) => Some(element),
        Elements::None | Elements::Unknown => None,
    }
}

/// Copies data that a type lays out to contiguous bytes.
///
/// # Safety
/// The source is memory that the type describes; the target is as long as the data.
pub unsafe fn pack(kind: &Type, from: *const u8, mut to: *mut u8, bytes: usize) {
    for piece in kind.pieces(0, bytes as u64) {
        // SAFETY: the caller's promise.
        unsafe {
            to.copy_from(from.wrapping_offset(piece.offset as isize), piece.bytes as usize);
            to = to.add(piece.bytes as usize);
        }
    }
}

/// The reverse of [`pack`].
///
/// # Safety
/// The target is memory that the type describes; the source is as long as the data.
pub unsafe fn unpack(kind: &Type, to: *mut u8, mut from: *const u8, bytes: usize) {
    for piece in kind.pieces(0, bytes as u64) {
        // SAFETY: the caller's promise.
        unsafe {
            to.wrapping_offset(piece.offset as isize).copy_from(from, piece.bytes as usize);
            from = from.add(piece.bytes as usize);
        }
    }
}

/// The type of a handle that can still be changed.
///
/// # Safety
/// As [`shared`].
unsafe fn open<'a>(call: &str, kind: *mut c_void) -> std::result::Result<&'a mut Handle, Result> {
    // SAFETY: the caller's promise.
    match unsafe { shared(kind) } {
        None => Err(fail(INVAL, format!("{call}: there is no such type, or it is predefined"))),
        Some(Handle { complete: Some(_), .. }) => Err(fail(INVAL, format!("{call}: the type is complete"))),
        // SAFETY: the same; only one thread uses a type that is not complete.
        Some(_) => Ok(unsafe { &mut *kind.cast::<Handle>() }),
    }
}

fn outcome<E: std::fmt::Display>(call: &str, done: std::result::Result<(), E>) -> Result {
    done.map_or_else(|reason| fail(INVAL, format!("{call}: {reason}")), |()| SUCCESS)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Type_create(made: *mut *mut c_void) -> Result {
    if made.is_null() {
        return fail(INVAL, "PAMI_Type_create: type is NULL");
    }
    // SAFETY: the program gave it.
    unsafe { *made = publish(Handle::default()) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Type_add_simple(
    kind: *mut c_void,
    bytes: usize,
    offset: usize,
    count: usize,
    stride: usize,
) -> Result {
    // SAFETY: the program gave it.
    match unsafe { open("PAMI_Type_add_simple", kind) } {
        Ok(Handle { builder, elements, .. }) => {
            if bytes > 0 && count > 0 {
                *elements = Elements::Unknown;
            }
            let added = builder.add_simple(bytes as u64, offset as i64, count as u64, stride as i64);
            outcome("PAMI_Type_add_simple", added)
        }
        Err(failed) => failed,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Type_add_typed(
    kind: *mut c_void,
    subtype: *mut c_void,
    offset: usize,
    count: usize,
    stride: usize,
) -> Result {
    // SAFETY: the program gave it.
    let (Some(subtype), added) = (unsafe { (complete(subtype), elements(subtype)) }) else {
        return fail(INVAL, "PAMI_Type_add_typed: the subtype is not a complete type");
    };
    // SAFETY: the program gave it.
    match unsafe { open("PAMI_Type_add_typed", kind) } {
        Ok(Handle { builder, elements, .. }) => {
            if count > 0 {
                *elements = elements.join(added);
            }
            let added = builder.add_typed(&subtype, offset as i64, count as u64, stride as i64);
            outcome("PAMI_Type_add_typed", added)
        }
        Err(failed) => failed,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Type_complete(kind: *mut c_void, atom_size: usize) -> Result {
    // SAFETY: the program gave it.
    match unsafe { open("PAMI_Type_complete", kind) } {
        Ok(Handle { builder, complete, .. }) => {
            let made = builder.complete(atom_size as u64);
            outcome("PAMI_Type_complete", made.map(|made| *complete = Some(Arc::new(made))))
        }
        Err(failed) => failed,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Type_destroy(kind: *mut *mut c_void) -> Result {
    // SAFETY: the program gave them.
    let found = unsafe { kind.as_ref().and_then(|&kind| handle(kind)) };
    let is_live = |found: &NonNull<Handle>| !check::is_on() || is_live(found.as_ptr().cast());
    let Some(found) = found.filter(is_live) else {
        return fail(INVAL, "PAMI_Type_destroy: there is no such type, or it is predefined");
    };
    // SAFETY: made by `PAMI_Type_create` or `PAMI_Type_deserialize`, and now forgotten.
    unsafe {
        if check::is_on() {
            live().remove(&(found.as_ptr() as usize));
        }
        drop(Box::from_raw(found.as_ptr()));
        *kind = std::ptr::null_mut();
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Type_serialize(
    kind: *mut c_void,
    address: *mut *mut c_void,
    size: *mut usize,
) -> Result {
    // SAFETY: the program gave them.
    let Some((address, size)) = (unsafe { address.as_mut().zip(size.as_mut()) }) else {
        return fail(INVAL, "PAMI_Type_serialize: address or size is NULL");
    };
    let bytes = if let Some(element) = symbols::element(kind) {
        // They live as long as the library.
        static BYTES: LazyLock<Vec<Vec<u8>>> =
            LazyLock::new(|| PREDEFINED.iter().map(|kind| kind.serialize()).collect());
        &BYTES[element as usize]
    } else {
        // SAFETY: the program gave it; several threads may share a complete type.
        match unsafe { shared(kind) } {
            Some(Handle { complete: Some(complete), serialized, .. }) => {
                serialized.get_or_init(|| complete.serialize())
            }
            _ => return fail(INVAL, "PAMI_Type_serialize: the type is not complete"),
        }
    };
    (*address, *size) = (bytes.as_ptr().cast_mut().cast(), bytes.len());
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Type_deserialize(
    made: *mut *mut c_void,
    address: *mut c_void,
    size: usize,
) -> Result {
    if made.is_null() || address.is_null() {
        return fail(INVAL, "PAMI_Type_deserialize: type or address is NULL");
    }
    // SAFETY: the program gave them.
    match Type::deserialize(unsafe { std::slice::from_raw_parts(address.cast(), size) }) {
        Ok(read) => {
            let complete = Some(Arc::new(read));
            let handle = Handle { complete, elements: Elements::Unknown, ..Handle::default() };
            // SAFETY: the program gave it.
            unsafe { *made = publish(handle) };
            SUCCESS
        }
        Err(reason) => fail(INVAL, format!("PAMI_Type_deserialize: {reason}")),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Type_query(
    kind: *mut c_void,
    configuration: *mut Configuration,
    count: usize,
) -> Result {
    // SAFETY: the program gave them.
    let (found, attributes) = unsafe { (complete(kind), attributes(configuration, count)) };
    let Some(found) = found else {
        return fail(INVAL, "PAMI_Type_query: the type is not complete");
    };
    query("PAMI_Type_query", "a type", attributes, |attribute| {
        attribute.value.intval = match attribute.name {
            attribute::TYPE_DATA_SIZE => found.data_bytes() as usize,
            attribute::TYPE_DATA_EXTENT => found.extent() as usize,
            attribute::TYPE_ATOM_SIZE => found.atom_bytes() as usize,
            _ => return false,
        };
        true
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Type_transform_data(
    source: *mut c_void,
    source_kind: *mut c_void,
    source_offset: usize,
    target: *mut c_void,
    target_kind: *mut c_void,
    target_offset: usize,
    size: usize,
    data_fn: DataFunction,
    cookie: *mut c_void,
) -> Result {
    // SAFETY: the program gave them.
    let Some((from, to)) = (unsafe { complete(source_kind).zip(complete(target_kind)) }) else {
        return fail(INVAL, "PAMI_Type_transform_data: a type is not complete");
    };
    if size == 0 {
        return SUCCESS;
    }
    if source.is_null() || target.is_null() || from.data_bytes() == 0 || to.data_bytes() == 0 {
        return fail(INVAL, "PAMI_Type_transform_data: an address is NULL, or a type has no data");
    }
    let Some(combine) = Combine::new(data_fn, cookie, [target_kind, source_kind]) else {
        return fail(INVAL, "PAMI_Type_transform_data: the data function does not take these types");
    };
    let pieces = [(&from, source_offset), (&to, target_offset)];
    let [from, to] = pieces.map(|(kind, offset)| kind.pieces(offset as u64, size as u64));
    for pair in pairs(from, to) {
        // SAFETY: the program gave both buffers, which its types describe and which do not overlap.
        unsafe {
            let target = target.cast::<u8>().wrapping_offset(pair.target as isize);
            combine.run(
                target,
                source.cast::<u8>().wrapping_offset(pair.source as isize),
                pair.bytes as usize,
            );
        }
    }
    SUCCESS
}
