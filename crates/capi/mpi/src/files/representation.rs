//! Data representations: how data is in a file (MPI 5.0, section 14.5).

use crate::library::Library;
use netloom_mpi::datatype::{Datatype, external};
use netloom_mpi::error::{Class, Error};
use std::borrow::Cow;
use std::ffi::{CStr, c_char, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How data is in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Representation {
    Native,
    /// This library's own: as in memory, too.
    Internal,
    External32,
}

const ALL: [(Representation, &str); 3] = [
    (Representation::Native, "native"),
    (Representation::Internal, "internal"),
    (Representation::External32, "external32"),
];

/// A ratio of lengths in the file to those in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    file: i64,
    memory: i64,
}

impl Scale {
    const ONE: Scale = Scale { file: 1, memory: 1 };

    pub fn of(self, bytes: i64) -> i64 {
        bytes * self.file / self.memory
    }
}

/// Names of those that the program registered.
fn registered() -> MutexGuard<'static, Vec<String>> {
    static NAMES: Mutex<Vec<String>> = Mutex::new(vec![]);
    NAMES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps the name alone: no view has such a representation.
pub unsafe fn register_datarep(
    _: &mut Library,
    datarep: *const c_char,
    _: usize,
    _: usize,
    _: usize,
    _: *mut c_void,
) -> Result<(), Error> {
    // SAFETY: the program gave a string.
    let name = unsafe { CStr::from_ptr(datarep) }.to_string_lossy().into_owned();
    let mut names = registered();
    if predefined(&name).is_some() || names.contains(&name) {
        return Err(Error::new(Class::DupDatarep, format!("datarep is {name}, which is there already")));
    }
    names.push(name);
    Ok(())
}

fn predefined(name: &str) -> Option<Representation> {
    ALL.iter().find(|of| of.1 == name).map(|of| of.0)
}

impl Representation {
    /// That of a name.
    pub fn find(name: &str) -> Result<Self, Error> {
        predefined(name).ok_or_else(|| {
            let text = match registered().iter().any(|of| of == name) {
                true => "netloom converts no data by functions of the program",
                false => "there are native, internal and external32",
            };
            Error::new(Class::UnsupportedDatarep, format!("datarep is {name}: {text}"))
        })
    }

    pub fn name(self) -> &'static str {
        ALL.iter().find(|of| of.0 == self).map_or("", |of| of.1)
    }

    /// Bytes of a type's data in the file.
    pub fn bytes(self, of: &Datatype) -> u64 {
        match self {
            Representation::External32 => of.external_bytes(),
            _ => of.size() as u64,
        }
    }

    /// How displacements and extents of a type are scaled in the file. All its elements must be scaled alike:
    /// most are as long there as in memory, and `MPI_LONG` is half as long.
    pub fn scale(self, of: &Datatype) -> Result<Scale, Error> {
        let mut scale = None;
        if self == Representation::External32 {
            of.each_element(|element| {
                let own = match element.bytes == element.external_bytes {
                    true => Scale::ONE,
                    false => Scale { file: element.external_bytes as i64, memory: element.bytes as i64 },
                };
                let is_alike =
                    scale.is_none_or(|scale: Scale| scale.file * own.memory == own.file * scale.memory);
                scale = Some(own);
                if is_alike { Ok(()) } else { Err(()) }
            })
            .map_err(|()| {
                let text = "a type has elements whose lengths change in external32 and others whose do not: \
                            netloom has no views of such";
                Error::new(Class::UnsupportedDatarep, text)
            })?;
        }
        Ok(scale.unwrap_or(Scale::ONE))
    }

    /// Data of a type as it is written.
    pub fn written<'a>(self, of: &Datatype, data: Cow<'a, [u8]>) -> Result<Cow<'a, [u8]>, Error> {
        match self {
            Representation::External32 => external::convert(of, &data).map(Cow::Owned),
            _ => Ok(data),
        }
    }
}
