//! Accesses: where the data is, and how it gets there and back.

use super::members::{broadcast, operation};
use super::open::{RDONLY, WRONLY};
use super::representation::Representation;
use super::{File, FileId, status_of};
use crate::buffer::{Buffer, Space};
use crate::library::Library;
use netloom_mpi::collective;
use netloom_mpi::datatype::external;
use netloom_mpi::error::{Class, Error};
use netloom_mpi::point_to_point::Ended;
use std::borrow::Cow;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::FileExt as _;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Read,
    Write,
}

/// Where an access begins.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// At an offset in elementary types.
    At(i64),
    /// At the individual file pointer.
    Own,
    /// At the shared file pointer.
    Shared,
    /// There, one process after the other, by rank.
    Ordered,
}

/// A buffer of the program, as data that follow one another.
enum Data<'a> {
    /// As it is written to the file.
    Outgoing(Cow<'a, [u8]>),
    Incoming(Space<'a>),
}

/// An access whose arguments are valid.
struct Access<'a> {
    data: Data<'a>,
    /// Bytes in the file.
    bytes: u64,
    /// The same in elementary types.
    length: i64,
}

impl File {
    fn check_access(&self, direction: Direction, place: Place) -> Result<(), Error> {
        if direction == Direction::Read && self.mode & WRONLY != 0 {
            return Err(Error::new(Class::Access, "the file was opened with MPI_MODE_WRONLY"));
        }
        if direction == Direction::Write && self.mode & RDONLY != 0 {
            return Err(Error::new(Class::ReadOnly, "the file was opened with MPI_MODE_RDONLY"));
        }
        match place {
            Place::At(_) | Place::Own => self.check_places(),
            Place::Shared | Place::Ordered => Ok(()),
        }
    }

    /// # Safety
    /// The program has the buffer's memory, and leaves it alone during the call.
    unsafe fn access<'a>(
        &self,
        direction: Direction,
        place: Place,
        buf: &Buffer,
    ) -> Result<Access<'a>, Error> {
        self.check_access(direction, place)?;
        let representation = self.view.representation;
        // SAFETY: the caller's promise.
        let (data, bytes) = unsafe {
            match direction {
                Direction::Write => {
                    let data = representation.written(&buf.of()?.datatype(), buf.bytes(1)?)?;
                    let bytes = data.len() as u64;
                    (Data::Outgoing(data), bytes)
                }
                Direction::Read => {
                    let space = buf.space(1)?;
                    let of = buf.of()?.datatype();
                    let elements = space.len().checked_div(of.size()).unwrap_or(0) as u64;
                    (Data::Incoming(space), elements * representation.bytes(&of))
                }
            }
        };
        if !bytes.is_multiple_of(self.view.unit) {
            let text = format!(
                "the data has {bytes} B, which are no whole number of etypes, of {} B each",
                self.view.unit
            );
            return Err(Error::new(Class::Io, text));
        }
        let length = (bytes / self.view.unit) as i64;
        Ok(Access { data, bytes, length })
    }

    /// Reads data of the view, as much as there is: the bytes that were read.
    fn read(&self, from: u64, space: &mut [u8]) -> Result<usize, Error> {
        let mut done = 0;
        let mut window = self.view.is_dense().then(Window::default);
        self.view.each(from, space.len() as u64, |at, bytes| {
            let to = &mut space[done..done + bytes];
            let read = match &mut window {
                Some(window) if bytes < Window::BYTES / 8 => window.read(&self.file, at, to),
                _ => read_at(&self.file, at, to),
            };
            let read = read.map_err(|error| self.failed(&error))?;
            done += read;
            Ok(read == bytes)
        })?;
        Ok(done)
    }

    fn write(&self, from: u64, data: &[u8]) -> Result<(), Error> {
        let mut rest = data;
        self.view.each(from, data.len() as u64, |at, bytes| {
            let own = rest.split_off(..bytes).expect("the pieces are as long as the data");
            self.file.write_all_at(own, at).map_err(|error| self.failed(&error))?;
            Ok(true)
        })
    }

    /// Reads or writes from an elementary type on: the bytes of the file that were accessed, and those of the
    /// buffer.
    fn carry_out(&self, access: Access, position: i64, buf: &Buffer) -> Result<[u64; 2], Error> {
        let from = self.view.stream(position)?;
        let is_locked = self.is_atomic && access.bytes > 0;
        let _lock = is_locked.then(|| self.lock(from, &access)).transpose()?;
        let of = buf.of()?.datatype();
        match access.data {
            Data::Outgoing(data) => {
                self.write(from, &data)?;
                let elements = access.bytes.checked_div(self.view.representation.bytes(&of)).unwrap_or(0);
                Ok([access.bytes, elements * of.size() as u64])
            }
            Data::Incoming(mut space) if self.view.representation == Representation::External32 => {
                let mut external = vec![0; access.bytes as usize];
                let read = self.read(from, &mut external)?;
                let native = external::revert(&of, &external[..read]);
                space[..native.len()].copy_from_slice(&native);
                space.finish();
                Ok([read as u64, native.len() as u64])
            }
            Data::Incoming(mut space) => {
                let read = self.read(from, &mut space)?;
                space.finish();
                Ok([read as u64; 2])
            }
        }
    }

    /// Keeps other processes of the file from what an access reads or writes. Whoever has a lock is in a call
    /// that waits for nobody.
    fn lock(&self, from: u64, access: &Access) -> Result<Lock<'_>, Error> {
        let first = self.view.offset(from)?;
        let last = self.view.offset(from + access.bytes - 1)?;
        let kind = match access.data {
            Data::Outgoing(_) => libc::F_WRLCK,
            Data::Incoming(_) => libc::F_RDLCK,
        };
        let lock = Lock { file: &self.file, first, bytes: last + 1 - first };
        lock.set(kind).map_err(|error| self.failed(&error))?;
        Ok(lock)
    }
}

/// Reads until there is no more.
fn read_at(file: &std::fs::File, at: u64, space: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while done < space.len() {
        match file.read_at(&mut space[done..], at + done as u64) {
            Ok(0) => break,
            Ok(bytes) => done += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

/// A part of the file that is read once for many short pieces.
#[derive(Default)]
struct Window {
    at: u64,
    bytes: Vec<u8>,
}

impl Window {
    const BYTES: usize = 64 << 10;

    /// As [`read_at`], of pieces that come in ascending order.
    fn read(&mut self, file: &std::fs::File, at: u64, space: &mut [u8]) -> io::Result<usize> {
        if at + space.len() as u64 > self.at + self.bytes.len() as u64 || at < self.at {
            self.bytes.resize(Self::BYTES, 0);
            self.at = at;
            let read = read_at(file, at, &mut self.bytes)?;
            self.bytes.truncate(read);
        }
        let own = &self.bytes[(at - self.at) as usize..];
        let length = own.len().min(space.len());
        space[..length].copy_from_slice(&own[..length]);
        Ok(length)
    }
}

/// A lock of a part of a file.
struct Lock<'a> {
    file: &'a std::fs::File,
    first: u64,
    bytes: u64,
}

impl Lock<'_> {
    fn set(&self, kind: i32) -> io::Result<()> {
        // SAFETY: a structure of numbers, of which zero is valid.
        let mut range: libc::flock = unsafe { std::mem::zeroed() };
        range.l_type = kind as libc::c_short;
        range.l_whence = libc::SEEK_SET as libc::c_short;
        (range.l_start, range.l_len) = (self.first as i64, self.bytes as i64);
        loop {
            // SAFETY: the file is open, and the structure is there.
            if unsafe { libc::fcntl(self.file.as_raw_fd(), libc::F_OFD_SETLKW, &raw const range) } == 0 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }
}

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        // It ends with the file at the latest.
        let _ = self.set(libc::F_UNLCK);
    }
}

impl Library {
    /// Where this process's part begins, of accesses of all to as many elementary types as each says.
    fn ordered(&mut self, file: FileId, length: i64) -> Result<i64, Error> {
        let gather = operation(self, file);
        let (rank, size) = (gather.rank() as usize, gather.size());
        let mut all = vec![0; 8 * size as usize];
        all[8 * rank..][..8].copy_from_slice(&length.to_ne_bytes());
        self.block_on(collective::all_gather(&gather, collective::parts(&mut all, size)))?;
        let lengths = all.chunks(8).map(|of| i64::from_ne_bytes(of.try_into().expect("eight bytes")));
        let before: i64 = lengths.clone().take(rank).sum();
        let of = self.of_file(file);
        let start = if rank == 0 { of.shared.advance(lengths.sum()) } else { 0 };
        let tell = operation(self, file);
        Ok(broadcast(self, &tell, start as u64)? as i64 + before)
    }

    /// Reads or writes a buffer, and returns the status.
    ///
    /// # Safety
    /// The program has the buffer's memory, and leaves it alone during the call.
    pub unsafe fn transfer(
        &mut self,
        file: FileId,
        direction: Direction,
        place: Place,
        buf: &Buffer,
    ) -> Result<Ended, Error> {
        // SAFETY: the caller's promise.
        let access = unsafe { self.of_file(file).access(direction, place, buf) };
        let position = match (place, &access) {
            // Others wait for this process even if it has nothing to access.
            (Place::Ordered, access) => {
                let length = access.as_ref().map_or(0, |access| access.length);
                self.ordered(file, length)?
            }
            (_, Err(_)) => 0,
            (Place::At(offset), _) => offset,
            (Place::Own, _) => self.of_file(file).position,
            (Place::Shared, Ok(access)) => self.of_file(file).shared.advance(access.length),
        };
        let of = self.of_file(file);
        let [in_file, in_buffer] = of.carry_out(access?, position, buf)?;
        if let Place::Own = place {
            of.position = position + in_file.div_ceil(of.view.unit) as i64;
        }
        Ok(status_of(in_buffer))
    }
}
