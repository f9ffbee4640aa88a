//! Info objects: lists of keys and values (MPI 5.0, chapter 10). They may be used at any time, by any thread.

use crate::environment::write;
use crate::library::bad_handle;
use netloom_mpi::error::{Class, Error};
use netloom_mpi::handles::Handles;
use std::ffi::{CStr, c_char, c_int};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub const INFO_NULL: usize = 0x130;
/// What is known of how the program was started.
const INFO_ENV: usize = 0x131;
const MAX_INFO_KEY: usize = 256;
const MAX_INFO_VAL: usize = 1024;

/// Keys and values, in the order in which they were set.
#[derive(Clone, Debug, Default)]
pub struct Info(Vec<(String, String)>);

impl Info {
    pub fn set(&mut self, key: &str, value: &str) {
        match self.0.iter_mut().find(|of| of.0 == key) {
            Some(found) => found.1 = value.into(),
            None => self.0.push((key.into(), value.into())),
        }
    }

    /// Sets what another has.
    pub fn add(&mut self, other: &Info) {
        other.0.iter().for_each(|(key, value)| self.set(key, value));
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|of| of.0 == key).map(|of| &*of.1)
    }

    /// All keys.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|of| &*of.0)
    }
}

fn made() -> MutexGuard<'static, Handles<Info>> {
    static MADE: Mutex<Handles<Info>> = Mutex::new(Handles::new(0x0800_0000));
    MADE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn bad(handle: usize) -> Error {
    bad_handle(Class::Info, "info", handle, "MPI_INFO_NULL", INFO_NULL, "info object")
}

/// That a handle is an info object, or `MPI_INFO_NULL`.
pub fn check(handle: usize) -> Result<(), Error> {
    copy(handle).map(|_| ())
}

/// A copy of an object; that of `MPI_INFO_NULL` is empty.
pub fn copy(handle: usize) -> Result<Info, Error> {
    match handle {
        INFO_NULL => Ok(Info::default()),
        _ => find(handle),
    }
}

/// Tells the program something in its object, if it gave one.
pub fn tell_in(handle: usize, key: &str, value: &str) -> Result<(), Error> {
    if handle == INFO_NULL { Ok(()) } else { change(handle, |info| info.set(key, value)) }
}

/// The handle of a new object.
pub fn add(info: Info) -> usize {
    made().insert(info)
}

fn find(handle: usize) -> Result<Info, Error> {
    match handle {
        INFO_ENV => Ok(environment()),
        _ => made().get(handle).cloned().ok_or_else(|| bad(handle)),
    }
}

/// What `MPI_INFO_ENV` tells.
fn environment() -> Info {
    let mut info = Info::default();
    let mut arguments = std::env::args();
    if let Some(command) = arguments.next() {
        info.set("command", &command);
        let list: Vec<String> = arguments.collect();
        info.set("argv", &list.join(" "));
    }
    if let Ok(folder) = std::env::current_dir() {
        info.set("wdir", &folder.to_string_lossy());
    }
    info.set("maxprocs", &netloom_shm::launch::started_together().to_string());
    info
}

/// What the binary interface is: sizes of integers.
pub unsafe fn of_abi(info: *mut usize) -> Result<(), Error> {
    let mut sizes = Info::default();
    for key in ["mpi_aint_size", "mpi_count_size", "mpi_offset_size"] {
        sizes.set(key, "8");
    }
    // SAFETY: the program gave the place.
    unsafe { *info = add(sizes) };
    Ok(())
}

/// Resources that `MPI_Comm_split_type` divides processes by: memory that they share, of which each has one.
pub unsafe fn of_hardware(info: *mut usize) -> Result<(), Error> {
    let mut resources = Info::default();
    resources.set("mpi_shared_memory", "true");
    // SAFETY: the program gave the place.
    unsafe { *info = add(resources) };
    Ok(())
}

fn change<R>(handle: usize, how: impl FnOnce(&mut Info) -> R) -> Result<R, Error> {
    if handle == INFO_ENV {
        return Err(Error::new(Class::Info, "info is MPI_INFO_ENV, which stays as it is"));
    }
    made().get_mut(handle).map(how).ok_or_else(|| bad(handle))
}

/// A string of the program, which has a length within the limit.
///
/// # Safety
/// The program gave the string, or NULL.
unsafe fn text(
    class: Class,
    name: &str,
    string: *const c_char,
    most: usize,
    is_empty_allowed: bool,
) -> Result<String, Error> {
    if string.is_null() {
        return Err(Error::new(class, format!("{name} is NULL")));
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(string) }.to_string_lossy().into_owned();
    match text.len() {
        0 if !is_empty_allowed => Err(Error::new(class, format!("{name} is empty"))),
        length if length >= most => {
            Err(Error::new(class, format!("{name} has {length} characters, and {} fit", most - 1)))
        }
        _ => Ok(text),
    }
}

unsafe fn key_of(key: *const c_char) -> Result<String, Error> {
    // SAFETY: the program gave the string.
    unsafe { text(Class::InfoKey, "key", key, MAX_INFO_KEY, false) }
}

pub unsafe fn create(info: *mut usize) -> Result<(), Error> {
    // SAFETY: the program gave the place.
    unsafe { *info = add(Info::default()) };
    Ok(())
}

/// Keys and values from the arguments of a program: none are defined.
pub unsafe fn create_env(_: c_int, _: *mut *mut c_char, info: *mut usize) -> Result<(), Error> {
    // SAFETY: the program gave the place.
    unsafe { *info = add(environment()) };
    Ok(())
}

pub unsafe fn dup(info: usize, new: *mut usize) -> Result<(), Error> {
    let copy = find(info)?;
    // SAFETY: the program gave the place.
    unsafe { *new = add(copy) };
    Ok(())
}

pub unsafe fn free(info: *mut usize) -> Result<(), Error> {
    // SAFETY: the program gave the place.
    unsafe {
        made().remove(*info).ok_or_else(|| bad(*info))?;
        *info = INFO_NULL;
    }
    Ok(())
}

pub unsafe fn set(info: usize, key: *const c_char, value: *const c_char) -> Result<(), Error> {
    // SAFETY: the program gave the strings.
    let (key, value) = unsafe { (key_of(key)?, text(Class::InfoValue, "value", value, MAX_INFO_VAL, true)?) };
    change(info, |of| of.set(&key, &value))
}

pub unsafe fn delete(info: usize, key: *const c_char) -> Result<(), Error> {
    // SAFETY: the program gave the string.
    let key = unsafe { key_of(key)? };
    let was_there = change(info, |of| {
        let before = of.0.len();
        of.0.retain(|pair| pair.0 != key);
        of.0.len() < before
    })?;
    if was_there { Ok(()) } else { Err(Error::new(Class::InfoNokey, format!("info has no key {key}"))) }
}

/// The value, as far as `valuelen` characters hold it.
pub unsafe fn get(
    info: usize,
    key: *const c_char,
    valuelen: c_int,
    value: *mut c_char,
    flag: *mut c_int,
) -> Result<(), Error> {
    // SAFETY: the program gave the string and the places; that of the value has a character more.
    unsafe {
        let found = find(info)?.get(&key_of(key)?).map(String::from);
        *flag = found.is_some().into();
        if let Some(found) = found {
            write(&found, valuelen.max(0) as usize + 1, value, &mut 0);
        }
    }
    Ok(())
}

/// The same with the length of the buffer, which becomes that of the value with its end.
pub unsafe fn get_string(
    info: usize,
    key: *const c_char,
    buflen: *mut c_int,
    value: *mut c_char,
    flag: *mut c_int,
) -> Result<(), Error> {
    // SAFETY: the program gave the string and the places.
    unsafe {
        let found = find(info)?.get(&key_of(key)?).map(String::from);
        *flag = found.is_some().into();
        if let Some(found) = found {
            if *buflen > 0 {
                write(&found, *buflen as usize, value, &mut 0);
            }
            *buflen = found.len() as c_int + 1;
        }
    }
    Ok(())
}

pub unsafe fn value_length(
    info: usize,
    key: *const c_char,
    valuelen: *mut c_int,
    flag: *mut c_int,
) -> Result<(), Error> {
    // SAFETY: the program gave the string and the places.
    unsafe {
        let length = find(info)?.get(&key_of(key)?).map(str::len);
        *flag = length.is_some().into();
        if let Some(length) = length {
            *valuelen = length as c_int;
        }
    }
    Ok(())
}

pub unsafe fn keys(info: usize, nkeys: *mut c_int) -> Result<(), Error> {
    // SAFETY: the program gave the place.
    unsafe { *nkeys = find(info)?.0.len() as c_int };
    Ok(())
}

pub unsafe fn nth_key(info: usize, n: c_int, key: *mut c_char) -> Result<(), Error> {
    let info = find(info)?;
    let pair = usize::try_from(n).ok().and_then(|n| info.0.get(n));
    let outside = || Error::new(Class::Arg, format!("n is {n}, and info has {} keys", info.0.len()));
    let (name, _) = pair.ok_or_else(outside)?;
    // SAFETY: the program gave a place for the longest key.
    unsafe { write(name, MAX_INFO_KEY, key, &mut 0) };
    Ok(())
}
