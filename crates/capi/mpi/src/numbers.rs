//! Counts: one code for those of 32 and of 64 bits.

use netloom_mpi::error::{Class, Error};
use std::ffi::c_int;
use std::rc::Rc;

/// A number of elements.
#[derive(Clone, Copy, Debug)]
pub struct Count(pub usize);

impl Count {
    /// A count that the program gave.
    pub fn check(name: &str, count: impl Into<i64>) -> Result<Self, Error> {
        let count = count.into();
        match usize::try_from(count) {
            Ok(count) => Ok(Count(count)),
            Err(_) => Err(Error::new(Class::Count, format!("{name} is {count}, which is negative"))),
        }
    }
}

/// Where a count goes.
#[derive(Clone, Copy, Debug)]
pub enum CountPlace {
    Short(*mut c_int),
    Long(*mut i64),
}

impl From<*mut i64> for CountPlace {
    fn from(place: *mut i64) -> Self {
        CountPlace::Long(place)
    }
}

impl CountPlace {
    /// What is there.
    ///
    /// # Safety
    /// The program gave the place, with a value.
    pub unsafe fn get(self) -> i64 {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                CountPlace::Short(place) => i64::from(*place),
                CountPlace::Long(place) => *place,
            }
        }
    }

    /// Writes it; `MPI_UNDEFINED` if it does not fit.
    ///
    /// # Safety
    /// The program gave the place.
    pub unsafe fn set(self, value: Option<u64>) {
        const UNDEFINED: i32 = crate::abi::UNDEFINED;
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                CountPlace::Short(place) => {
                    *place = value.and_then(|value| i32::try_from(value).ok()).unwrap_or(UNDEFINED);
                }
                CountPlace::Long(place) => {
                    *place = value.and_then(|value| i64::try_from(value).ok()).unwrap_or(UNDEFINED.into());
                }
            }
        }
    }
}

/// An array of counts or displacements.
#[derive(Clone, Debug)]
pub enum Numbers {
    Short(*const c_int),
    Long(*const i64),
    /// A copy.
    Kept(Rc<[i64]>),
}

impl From<*const c_int> for Numbers {
    fn from(list: *const c_int) -> Self {
        Numbers::Short(list)
    }
}

impl From<*const i64> for Numbers {
    fn from(list: *const i64) -> Self {
        Numbers::Long(list)
    }
}

impl From<*const isize> for Numbers {
    fn from(list: *const isize) -> Self {
        Numbers::Long(list.cast())
    }
}

impl Numbers {
    /// One of them.
    ///
    /// # Safety
    /// The program gave an array that is longer.
    pub unsafe fn at(&self, index: usize) -> i64 {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Numbers::Short(list) => i64::from(*list.add(index)),
                Numbers::Long(list) => *list.add(index),
                Numbers::Kept(list) => list[index],
            }
        }
    }

    /// A copy, which stays when the program changes its array.
    ///
    /// # Safety
    /// The program gave so many.
    pub unsafe fn kept(&self, length: usize) -> Self {
        // SAFETY: the caller's promise.
        Numbers::Kept((0..length).map(|index| unsafe { self.at(index) }).collect())
    }
}
