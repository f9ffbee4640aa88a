//! How the program begins and ends epochs.

use super::WinId;
use crate::library::Library;
use netloom_mpi::error::{Class, Error};
use netloom_mpi::group::Processes;
use netloom_mpi::transport::Process;
use std::ffi::c_int;

const MODE_NOCHECK: c_int = 1024;
const MODE_NOPRECEDE: c_int = 2048;
const MODE_NOPUT: c_int = 4096;
const MODE_NOSTORE: c_int = 8192;
const MODE_NOSUCCEED: c_int = 16384;

const LOCK_EXCLUSIVE: c_int = 301;
const LOCK_SHARED: c_int = 302;

/// The assertions that a call takes.
fn check_assert(assert: c_int, taken: c_int) -> Result<(), Error> {
    if assert & !taken == 0 {
        return Ok(());
    }
    Err(Error::new(Class::Assert, format!("assert is {assert}, with modes that this call does not take")))
}

/// The processes of a group, which are in the window.
fn members(library: &mut Library, win: WinId, group: &Processes) -> Result<Vec<Process>, Error> {
    let strange = group.difference(&Processes::from(library.of_win(win).window.group())).size();
    if strange > 0 {
        let text = format!("{strange} processes of group are not in the window");
        return Err(Error::new(Class::Group, text));
    }
    Ok(group.iter().collect())
}

pub unsafe fn fence(library: &mut Library, assert: c_int, win: WinId) -> Result<(), Error> {
    check_assert(assert, MODE_NOSTORE | MODE_NOPUT | MODE_NOPRECEDE | MODE_NOSUCCEED)?;
    let window = library.window(win);
    library.block_on(window.fence(assert & MODE_NOSUCCEED == 0))
}

pub unsafe fn post(library: &mut Library, group: Processes, assert: c_int, win: WinId) -> Result<(), Error> {
    check_assert(assert, MODE_NOCHECK | MODE_NOSTORE | MODE_NOPUT)?;
    let members = members(library, win, &group)?;
    library.window(win).post(members, assert & MODE_NOCHECK != 0)
}

pub unsafe fn start(library: &mut Library, group: Processes, assert: c_int, win: WinId) -> Result<(), Error> {
    check_assert(assert, MODE_NOCHECK)?;
    let members = members(library, win, &group)?;
    library.window(win).start(members, assert & MODE_NOCHECK != 0)
}

pub unsafe fn complete(library: &mut Library, win: WinId) -> Result<(), Error> {
    let window = library.window(win);
    library.block_on(window.complete())
}

pub unsafe fn wait(library: &mut Library, win: WinId) -> Result<(), Error> {
    let window = library.window(win);
    library.block_on(window.wait())
}

pub unsafe fn test(library: &mut Library, win: WinId, flag: *mut c_int) -> Result<(), Error> {
    library.poll();
    let has_ended = library.window(win).test()?;
    // SAFETY: the program gave the place.
    unsafe { *flag = has_ended.into() };
    Ok(())
}

pub unsafe fn lock(
    library: &mut Library,
    kind: c_int,
    rank: c_int,
    assert: c_int,
    win: WinId,
) -> Result<(), Error> {
    if !matches!(kind, LOCK_EXCLUSIVE | LOCK_SHARED) {
        let text = format!("lock_type is {kind}, which is neither MPI_LOCK_EXCLUSIVE nor MPI_LOCK_SHARED");
        return Err(Error::new(Class::Locktype, text));
    }
    check_assert(assert, MODE_NOCHECK)?;
    let Some(rank) = library.target("rank", win, rank)? else { return Ok(()) };
    let window = library.window(win);
    library.block_on(window.lock(rank, kind == LOCK_EXCLUSIVE, assert & MODE_NOCHECK != 0))
}

/// Natively one of so many calls looks for messages. Ranks that share cores sleep a moment where they look in
/// vain, and a program that makes these calls has something to do.
const LOOK_EVERY: u32 = 32;

/// A program may wait for operations of others with calls that end at once, so these let some be carried out.
fn let_others_in(library: &mut Library) {
    library.looks = library.looks.wrapping_add(1);
    if library.looks.is_multiple_of(LOOK_EVERY) || library.point_to_point.transport().is_simulated() {
        library.poll();
    }
}

pub unsafe fn unlock(library: &mut Library, rank: c_int, win: WinId) -> Result<(), Error> {
    let_others_in(library);
    let Some(rank) = library.target("rank", win, rank)? else { return Ok(()) };
    let window = library.window(win);
    library.block_on(window.unlock(rank))
}

/// The program uses its own memory without operations, and in a window of shared memory that of all.
pub unsafe fn lock_all(library: &mut Library, assert: c_int, win: WinId) -> Result<(), Error> {
    check_assert(assert, MODE_NOCHECK)?;
    let is_shared = library.of_win(win).facts.flavor == super::FLAVOR_SHARED;
    let window = library.window(win);
    let (own, size) = (window.group().rank, window.group().size);
    let used = if is_shared { 0..size } else { own..own + 1 };
    library.block_on(window.lock_all(assert & MODE_NOCHECK != 0, used))
}

pub unsafe fn unlock_all(library: &mut Library, win: WinId) -> Result<(), Error> {
    let_others_in(library);
    let window = library.window(win);
    library.block_on(window.unlock_all())
}

pub unsafe fn flush(library: &mut Library, rank: c_int, win: WinId) -> Result<(), Error> {
    let_others_in(library);
    let Some(rank) = library.target("rank", win, rank)? else { return Ok(()) };
    let window = library.window(win);
    if window.is_flushed(rank) {
        return Ok(());
    }
    library.block_on(window.flush(Some(rank)))
}

pub unsafe fn flush_all(library: &mut Library, win: WinId) -> Result<(), Error> {
    let_others_in(library);
    let window = library.window(win);
    library.block_on(window.flush(None))
}

pub unsafe fn flush_local(library: &mut Library, rank: c_int, win: WinId) -> Result<(), Error> {
    let_others_in(library);
    let Some(rank) = library.target("rank", win, rank)? else { return Ok(()) };
    let window = library.window(win);
    if window.is_flushed(rank) {
        return Ok(());
    }
    library.block_on(window.flush_local(Some(rank)))
}

pub unsafe fn flush_local_all(library: &mut Library, win: WinId) -> Result<(), Error> {
    let_others_in(library);
    let window = library.window(win);
    library.block_on(window.flush_local(None))
}

/// Operations are carried out in the program's memory itself, so there are no copies to bring together; but
/// those that have arrived are carried out.
pub unsafe fn sync(library: &mut Library, _win: WinId) -> Result<(), Error> {
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
    library.poll();
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
    Ok(())
}
