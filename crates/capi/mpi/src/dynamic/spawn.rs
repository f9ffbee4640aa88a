//! `MPI_Comm_spawn` (MPI 5.0, section 11.8): the root has the launcher start processes, and waits until all
//! of them are in `MPI_Init`; then both groups make their intercommunicator.

use super::{Exchange, commands, words};
use crate::abi::SUCCESS;
use crate::info;
use crate::library::{CommId, Library};
use netloom_mpi::collective;
use netloom_mpi::error::{Class, Error};
use netloom_mpi::transport::Process;
use netloom_shm::launch::{Answer, Command, Request};
use std::ffi::{c_char, c_int};

pub unsafe fn spawn(
    library: &mut Library,
    command: *const c_char,
    argv: *mut *mut c_char,
    maxprocs: c_int,
    info: usize,
    root: c_int,
    comm: CommId,
    intercomm: *mut usize,
    errcodes: *mut c_int,
) -> Result<(), Error> {
    library.check_native()?;
    // SAFETY: the program gave command and arguments at the root.
    let commands = || unsafe { Ok(vec![commands::command(command, argv, maxprocs, &info::copy(info)?)?]) };
    // SAFETY: it gave the places.
    unsafe { start(library, root, comm, &[maxprocs], commands, intercomm, errcodes) }
}

pub unsafe fn spawn_multiple(
    library: &mut Library,
    count: c_int,
    names: *mut *mut c_char,
    arguments: *mut *mut *mut c_char,
    maxprocs: *const c_int,
    infos: *const usize,
    root: c_int,
    comm: CommId,
    intercomm: *mut usize,
    errcodes: *mut c_int,
) -> Result<(), Error> {
    library.check_native()?;
    library.check_root(comm, root)?;
    // The arrays are the root's alone.
    let is_root = library.of(comm).group.rank == root as u32;
    let count = if is_root { usize::try_from(count).unwrap_or(0) } else { 0 };
    // SAFETY: the program gave arrays of this length at the root; that of arguments may be `MPI_ARGVS_NULL`.
    unsafe {
        let most: Vec<c_int> = (0..count).map(|at| *maxprocs.add(at)).collect();
        let commands = || {
            if count == 0 {
                return Err(Error::new(Class::Arg, "count is not positive"));
            }
            let of = |at: usize| {
                let argv = if arguments.is_null() { std::ptr::null_mut() } else { *arguments.add(at) };
                commands::command(*names.add(at), argv, *maxprocs.add(at), &info::copy(*infos.add(at))?)
            };
            (0..count).map(of).collect()
        };
        start(library, root, comm, &most, commands, intercomm, errcodes)
    }
}

/// # Safety
/// The program gave the places; that of error codes may be `MPI_ERRCODES_IGNORE`, and is as long as the
/// root's `maxprocs` say.
unsafe fn start(
    library: &mut Library,
    root: c_int,
    comm: CommId,
    maxprocs: &[c_int],
    commands: impl FnOnce() -> Result<Vec<Command>, Error>,
    intercomm: *mut usize,
    errcodes: *mut c_int,
) -> Result<(), Error> {
    library.check_root(comm, root)?;
    // Errors are one of the answers, so that all know how many codes there are.
    let mut failed = None;
    let told = library.at_root(comm, root, |library| {
        let all = maxprocs.iter().map(|&most| most.max(0) as u32);
        let (first, counts) = match commands().and_then(|commands| begin(library, commands)) {
            Ok(started) => started,
            Err(error) => {
                let text = error.text.as_bytes().to_vec();
                let words = [u32::MAX, error.class as u32, all.sum()];
                failed = Some(error);
                return Ok(words.into_iter().flat_map(u32::to_ne_bytes).chain(text).collect());
            }
        };
        let pairs = counts.into_iter().zip(all).flat_map(|(count, most)| [count, most]);
        Ok(std::iter::once(first).chain(pairs).flat_map(u32::to_ne_bytes).collect())
    })?;
    let [first, class, all] = words(&told);
    // SAFETY: the caller's promise.
    let write = |at: usize, code: c_int| unsafe {
        if !errcodes.is_null() {
            *errcodes.add(at) = code;
        }
    };
    if first == u32::MAX {
        (0..all as usize).for_each(|at| write(at, Class::Spawn as c_int));
        let text = || format!("rank {root}: {}", String::from_utf8_lossy(&told[12..]));
        let known = [Class::Arg, Class::Info, Class::Spawn].into_iter().find(|&of| of as u32 == class);
        return Err(failed.unwrap_or_else(|| Error::new(known.unwrap_or(Class::Other), text())));
    }
    let (pairs, _) = told[4..].as_chunks::<8>();
    let mut at = 0;
    for pair in pairs {
        let [count, most] = words(pair);
        for n in 0..most {
            write(at, if n < count { SUCCESS } else { Class::Spawn as c_int });
            at += 1;
        }
    }
    let handle = library.connect_to(comm, root, first, Exchange::Spawn.number(0))?;
    // SAFETY: the caller's promise.
    unsafe { *intercomm = handle };
    Ok(())
}

/// Has processes started, and waits until all are there. Returns the first, and how many run each command.
fn begin(library: &mut Library, commands: Vec<Command>) -> Result<(Process, Vec<u32>), Error> {
    let names: Vec<String> =
        commands.iter().map(|of| String::from_utf8_lossy(&of.name).into_owned()).collect();
    let request = Request::Spawn { by: library.own_process(), commands };
    let (first, counts) = match library.launcher(&request, Class::Spawn)? {
        Answer::Spawned(first, counts) => (first, counts),
        other => return Err(Error::new(Class::Intern, format!("the launcher answers {other:?}"))),
    };
    let operation = library.between_leaders(Exchange::Spawn.number(0));
    let arrives = collective::exchange(&operation, &[], vec![(first, &mut [])]);
    let arrived = library.wait_for_leader(arrives, |library| {
        match library.launcher(&Request::CountEnded(first), Class::Spawn)? {
            Answer::Number(0) => Ok(()),
            _ => Err(Error::new(
                Class::Spawn,
                format!("a process of `{}` has ended without MPI_Init", names.join("`, `")),
            )),
        }
    });
    if arrived.is_err() {
        // The others would wait for it for ever.
        library.launcher(&Request::End(first), Class::Spawn)?;
    }
    arrived.map(|()| (first, counts))
}
