//! Start and end (MPI 5.0, chapter 11).

use crate::abi::*;
use crate::attributes::Carrier;
use crate::entry::{outside, tell};
use crate::library::{CommId, Library, State, library, set_state};
use crate::pami::Pami;
use crate::threads;
use netloom_mpi::collective;
use netloom_mpi::error::Error;
use std::ffi::{c_char, c_int, c_void};
use std::sync::Once;
use std::sync::atomic::{AtomicU8, Ordering};

/// 0: not begun; 1: between `MPI_Init` and `MPI_Finalize`; 2: ended.
static STATE: AtomicU8 = AtomicU8::new(0);

pub unsafe fn init(_: *mut c_int, _: *mut *mut *mut c_char) -> c_int {
    begin("MPI_Init", THREAD_SINGLE);
    SUCCESS
}

pub unsafe fn init_thread(
    _: *mut c_int,
    _: *mut *mut *mut c_char,
    required: c_int,
    provided: *mut c_int,
) -> c_int {
    let level = begin("MPI_Init_thread", required.clamp(THREAD_SINGLE, THREAD_MULTIPLE));
    // SAFETY: the program gave the place.
    unsafe { *provided = level };
    SUCCESS
}

/// Returns the level of threads that is provided.
fn begin(name: &'static str, level: c_int) -> c_int {
    if STATE.swap(1, Ordering::Relaxed) != 0 {
        tell(&format!("{name} is called twice, or after MPI_Finalize; a program initialises MPI once"));
        std::process::exit(1);
    }
    // SAFETY: the program makes one call at a time.
    let level = match unsafe { library() } {
        // A session is open, whose level stays: there may be threads already.
        Some(library) => library.thread_level,
        None => begin_library(name, level),
    };
    // SAFETY: as above.
    let mut library = unsafe { library() }.expect("it runs now");
    if let Err(why) = crate::dynamic::meet_parent(&mut library) {
        tell(&format!("{}: {name}: {why}", library.name_of_own()));
        std::process::exit(1);
    }
    level
}

/// Whether it is between `MPI_Init` and `MPI_Finalize`.
pub fn is_world_model() -> bool {
    STATE.load(Ordering::Relaxed) == 1
}

/// Begins the library; returns the level of threads that is provided.
pub fn begin_library(name: &'static str, level: c_int) -> c_int {
    let pami = Pami::start(level == THREAD_MULTIPLE).unwrap_or_else(|why| {
        tell(&format!("{name}: {why}"));
        std::process::exit(1);
    });
    let _profiled = pami.profile().and_then(|functions| crate::profile::begin(functions, name));
    let is_shared = level == THREAD_MULTIPLE || pami.has_threads();
    // SAFETY: no other thread is in a call; the context lives until the library ends.
    let level = match level {
        level if is_shared && unsafe { !threads::begin(&pami) } => level.min(THREAD_SERIALIZED),
        level => level,
    };
    let state = State::new(pami, level);
    Pami::listen(&state.point_to_point);
    // SAFETY: no other thread is in a call; the function is called once, with what is given here.
    unsafe {
        set_state(state);
        let mut library = library().expect("it runs now");
        library.note_predefined();
        for own in [CommId(0), CommId(1)] {
            library.of(own).errhandler = crate::errhandlers::initial();
        }
        if let Err(why) = library.point_to_point.transport().start_threads() {
            tell(&format!("{}: {name}: communication threads: {why}", library.name_of_own()));
            std::process::exit(1);
        }
        drop(library);
        static IS_SET: Once = Once::new();
        IS_SET.call_once(|| {
            on_exit(ends, std::process::id() as usize as *mut c_void);
        });
    }
    level
}

unsafe extern "C" {
    /// As `atexit`, with the exit status; an extension of glibc.
    fn on_exit(function: unsafe extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// The process ends. If others may wait for it, an end without `MPI_Finalize` is a failure, which ends the
/// job.
unsafe extern "C" fn ends(status: c_int, process: *mut c_void) {
    // A forked child ends for itself.
    if process as usize != std::process::id() as usize {
        return;
    }
    // No lock is taken: another thread may wait in a call for ever.
    let Some([rank, size]) = crate::library::world() else { return };
    if status == 0 && (size > 1 || crate::dynamic::is_connected()) {
        tell(&format!("rank {rank} ends without MPI_Finalize; the job is ended, as others may wait for it"));
        // SAFETY: what the program has written is not lost.
        unsafe {
            libc::fflush(std::ptr::null_mut());
            libc::_exit(1);
        }
    }
}

pub unsafe fn finalize() -> c_int {
    // SAFETY: the program makes one call at a time.
    unsafe {
        if !is_world_model() {
            return outside("MPI_Finalize");
        }
        // The attributes of MPI_COMM_SELF go first, while all works (section 11.2.4).
        let _ = crate::attributes::delete_all(Carrier::Comm, COMM_SELF);
        STATE.store(2, Ordering::Relaxed);
        crate::entry::run_alone(&"MPI_Finalize", 0, || match crate::sessions::are_open() {
            true => Ok(()),
            false => end_library(),
        })
    }
}

/// Ends the library when all processes do.
///
/// # Safety
/// No other thread is in a call, and the library is not used any more.
pub unsafe fn end_library() -> Result<(), Error> {
    // SAFETY: the caller's promise.
    unsafe {
        let mut library = library().expect("it runs");
        library.tell_unfreed();
        library.flush_all();
        library.wait_for_freed_sends();
        library.remove_freed_comms();
        library.point_to_point.transport().send_all();
        crate::dynamic::part(&mut library)?;
        while library.point_to_point.transport().frees_teams() {
            library.progress();
        }
        let operation = library.operation(CommId(0));
        library.block_on(collective::barrier(operation))?;
        crate::library::end(library);
    }
    Ok(())
}

pub unsafe fn initialized(flag: *mut c_int) -> c_int {
    // SAFETY: the program gave the place.
    unsafe { *flag = c_int::from(STATE.load(Ordering::Relaxed) > 0) };
    SUCCESS
}

pub unsafe fn finalized(flag: *mut c_int) -> c_int {
    // SAFETY: the program gave the place.
    unsafe { *flag = c_int::from(STATE.load(Ordering::Relaxed) > 1) };
    SUCCESS
}

/// Ends the job: the launcher ends all when one process fails.
pub fn abort(library: &mut Library, _comm: CommId, code: c_int) -> Result<(), Error> {
    tell(&format!("{}: MPI_Abort with code {code}", library.name_of_own()));
    std::process::exit(if code == 0 { 1 } else { code });
}

pub unsafe fn query_thread(library: &mut Library, provided: *mut c_int) -> Result<(), Error> {
    // SAFETY: the program gave the place.
    unsafe { *provided = library.thread_level };
    Ok(())
}

pub unsafe fn is_thread_main(library: &mut Library, flag: *mut c_int) -> Result<(), Error> {
    // SAFETY: the program gave the place.
    unsafe { *flag = c_int::from(std::thread::current().id() == library.main_thread) };
    Ok(())
}
