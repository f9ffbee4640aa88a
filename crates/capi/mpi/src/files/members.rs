//! The processes that have a file open: what they do together, in a context of the file's own.

use super::errors::of_another;
use super::{File, FileId};
use crate::communicators::greater;
use crate::library::Library;
use crate::pami::Pami;
use netloom_mpi::collective::{self, Operation};
use netloom_mpi::error::{Class, Error};
use netloom_mpi::group::Group;
use netloom_mpi::point_to_point::PointToPoint;
use std::rc::Rc;

/// The processes of a file.
pub struct Members {
    pub group: Group,
    /// The session of the communicator that opened it.
    pub session: Option<usize>,
    /// Operations that they have begun.
    pub operations: u32,
}

impl Members {
    /// Whether this process does what one does for all.
    pub fn is_first(&self) -> bool {
        self.group.rank == 0
    }

    /// The next operation of all.
    pub fn operation(&mut self, point_to_point: &Rc<PointToPoint<Pami>>) -> Operation<Pami> {
        self.operations = self.operations.wrapping_add(1);
        Operation::new(Rc::clone(point_to_point), self.group.clone(), self.operations)
    }
}

/// The next operation of all processes of a file.
pub fn operation(library: &mut Library, file: FileId) -> Operation<Pami> {
    let point_to_point = Rc::clone(&library.point_to_point);
    let File { members, .. } = library.of_file(file);
    members.operation(&point_to_point)
}

/// Waits for all processes of a file.
pub fn barrier(library: &mut Library, file: FileId) -> Result<(), Error> {
    let operation = operation(library, file);
    library.block_on(collective::barrier(operation))
}

/// The first process's number, at all.
pub fn broadcast(library: &mut Library, operation: &Operation<Pami>, number: u64) -> Result<u64, Error> {
    let mut bytes = number.to_ne_bytes();
    library.block_on(collective::broadcast(operation, &mut bytes, 0))?;
    Ok(u64::from_ne_bytes(bytes))
}

/// Checks an argument that is to be the same at all processes.
pub fn check_same(library: &mut Library, file: FileId, name: &str, value: i64) -> Result<(), Error> {
    let operation = operation(library, file);
    match broadcast(library, &operation, value as u64)? as i64 {
        of_first if of_first == value => Ok(()),
        of_first => Err(not_same(name, value, of_first)),
    }
}

/// The error of an argument that is another one at the first process.
pub fn not_same(name: &str, value: i64, of_first: i64) -> Error {
    Error::new(Class::NotSame, format!("{name} is {value}, and {of_first} at rank 0"))
}

/// Fails at all processes if it has failed at one; also waits for all.
pub fn agree<T>(
    library: &mut Library,
    operation: &Operation<Pami>,
    own: Result<T, Error>,
) -> Result<T, Error> {
    let mut code = own.as_ref().err().map_or(0, |error| error.class as u32).to_ne_bytes();
    library.block_on(collective::all_reduce(operation, &mut code, &greater))?;
    match (own, i32::from_ne_bytes(code)) {
        (Ok(_), code) if code != 0 => Err(of_another(code)),
        (own, _) => own,
    }
}

/// What the first process does for all, once all others are in the call; how it ended, at all.
pub fn by_first(
    library: &mut Library,
    file: FileId,
    checked: Result<(), Error>,
    act: impl FnOnce(&mut File) -> Result<(), Error>,
) -> Result<(), Error> {
    let before = operation(library, file);
    agree(library, &before, checked)?;
    let of = library.of_file(file);
    let done = if of.members.is_first() { act(of) } else { Ok(()) };
    let after = operation(library, file);
    agree(library, &after, done)
}
