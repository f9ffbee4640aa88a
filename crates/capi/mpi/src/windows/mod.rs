//! Windows (MPI 5.0, chapter 12): their handles, and what belongs to one.

mod create;
mod operations;
mod shared;
mod synchronization;

pub use create::*;
pub use operations::*;
pub use synchronization::*;

use crate::abi::*;
use crate::environment::write;
use crate::info::Info;
use crate::library::{Library, bad_handle};
use crate::pami::Pami;
use netloom_mpi::error::{Class, Error};
use netloom_mpi::group::Processes;
use netloom_mpi::one_sided::Window;
use std::ffi::{CStr, c_char, c_int};
use std::rc::Rc;

/// Handles of windows.
pub const USER_WIN: usize = 0x0900_0000;
pub const WIN_NULL: usize = 0x110;

/// A window that was found, by its handle.
#[derive(Clone, Copy, Debug)]
pub struct WinId(usize);

/// What predefined attributes point to.
pub struct Facts {
    pub size: isize,
    pub unit: c_int,
    pub flavor: c_int,
    pub model: c_int,
}

/// A window.
pub struct Win {
    pub window: Rc<Window<Pami>>,
    /// The session of its communicator.
    pub session: Option<usize>,
    pub errhandler: usize,
    /// Attributes: by key, in the order in which they were set.
    pub attributes: Vec<(c_int, usize)>,
    /// The name that the program gave it.
    pub name: Option<String>,
    pub info: Info,
    /// The attribute `MPI_WIN_BASE`.
    pub base: usize,
    pub facts: Box<Facts>,
    memory: create::Owned,
}

impl Library {
    pub fn find_win(&self, handle: usize) -> Option<&Win> {
        self.windows.get(handle)
    }

    /// The window of a handle.
    pub fn win(&self, name: &str, handle: usize) -> Result<WinId, Error> {
        match self.find_win(handle) {
            Some(_) => Ok(WinId(handle)),
            None => Err(bad_handle(Class::Win, name, handle, "MPI_WIN_NULL", WIN_NULL, "window")),
        }
    }

    pub fn of_win(&mut self, WinId(handle): WinId) -> &mut Win {
        self.windows.get_mut(handle).expect("it is there while the program makes a call with it")
    }

    fn window(&mut self, win: WinId) -> Rc<Window<Pami>> {
        Rc::clone(&self.of_win(win).window)
    }

    /// Checks the rank of a target; `None` for `MPI_PROC_NULL`.
    fn target(&mut self, name: &str, win: WinId, rank: c_int) -> Result<Option<u32>, Error> {
        let size = self.of_win(win).window.group().size;
        match u32::try_from(rank) {
            Ok(target) if target < size => Ok(Some(target)),
            _ if rank == PROC_NULL => Ok(None),
            _ => {
                let text = format!("{name} is {rank}, and the window has the ranks 0 to {}", size - 1);
                Err(Error::new(Class::Rank, text))
            }
        }
    }
}

pub unsafe fn get_group(library: &mut Library, win: WinId, group: *mut usize) -> Result<(), Error> {
    let win = library.of_win(win);
    let processes = Processes::from(win.window.group()).in_session(win.session);
    // SAFETY: the program gave the place.
    unsafe { library.hand_out_group(processes, group) }
}

pub unsafe fn set_name(library: &mut Library, win: WinId, name: *const c_char) -> Result<(), Error> {
    // SAFETY: the program gave a string.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
    let context = library.window(win).group().context;
    library.note_name(context, &name);
    library.of_win(win).name = Some(name);
    Ok(())
}

pub unsafe fn get_name(
    library: &mut Library,
    handle: usize,
    name: *mut c_char,
    length: *mut c_int,
) -> Result<(), Error> {
    let given = match handle {
        WIN_NULL => "MPI_WIN_NULL",
        _ => {
            let win = library.win("win", handle)?;
            library.of_win(win).name.as_deref().unwrap_or_default()
        }
    };
    // SAFETY: the program gave the places.
    unsafe { write(given, MAX_OBJECT_NAME, name, length) };
    Ok(())
}

/// Hints replace those of the same keys.
pub unsafe fn set_info(library: &mut Library, win: WinId, info: usize) -> Result<(), Error> {
    let info = crate::info::copy(info)?;
    library.of_win(win).info.add(&info);
    Ok(())
}

pub unsafe fn get_info(library: &mut Library, win: WinId, info: *mut usize) -> Result<(), Error> {
    let copy = library.of_win(win).info.clone();
    // SAFETY: the program gave the place.
    unsafe { *info = crate::info::add(copy) };
    Ok(())
}
