//! Views: which bytes of a file a process sees, in which order (MPI 5.0, section 14.3).

use super::members::{agree, by_first, operation};
use super::open::SEQUENTIAL;
use super::representation::{Representation, Scale};
use super::{File, FileId};
use crate::environment::write;
use crate::library::Library;
use crate::types::{Type, add, lookup};
use netloom_mpi::datatype::Datatype;
use netloom_mpi::error::{Class, Error};
use std::ffi::{CStr, c_char};

const BYTE: usize = 0x247;
const MAX_DATAREP_STRING: usize = 128;
/// `MPI_DISPLACEMENT_CURRENT`.
const DISPLACEMENT_CURRENT: i64 = -1;

/// A view.
pub struct View {
    disp: i64,
    etype: Type,
    filetype: Type,
    pub representation: Representation,
    /// Bytes of an elementary type in the file.
    pub unit: u64,
    tiles: Tiles,
}

/// That an offset is beyond what files have.
fn too_far() -> Error {
    Error::new(Class::Arg, "the place in the file is beyond the largest offset")
}

impl View {
    /// That of a file that was just opened.
    pub fn bytes() -> Self {
        let byte = || lookup(BYTE).expect("it is predefined");
        let tiles = Tiles { runs: vec![Run { at: 0, bytes: 1, before: 0 }], bytes: 1, extent: 1 };
        let representation = Representation::Native;
        View { disp: 0, etype: byte(), filetype: byte(), representation, unit: 1, tiles }
    }

    fn new(disp: i64, [etype, filetype]: [Type; 2], representation: Representation) -> Result<Self, Error> {
        if disp < 0 {
            return Err(Error::new(Class::Arg, format!("disp is {disp}, which is negative")));
        }
        for (name, of) in [("etype", &etype), ("filetype", &filetype)] {
            if let Type::Derived(made) = of
                && !made.is_committed.get()
            {
                let text = format!("{name} is a type that MPI_Type_commit has not been called for");
                return Err(Error::new(Class::Type, text));
            }
        }
        let [of_etype, of_filetype] = [etype.datatype(), filetype.datatype()];
        representation.scale(&of_etype)?;
        let (unit, all) = (representation.bytes(&of_etype), representation.bytes(&of_filetype));
        if unit == 0 || !all.is_multiple_of(unit) {
            let text = format!("filetype has {all} B, which are no whole number of etypes, of {unit} B each");
            return Err(Error::new(Class::Type, text));
        }
        let tiles = Tiles::new(&of_filetype, representation.scale(&of_filetype)?)?;
        drop((of_etype, of_filetype));
        Ok(View { disp, etype, filetype, representation, unit, tiles })
    }

    /// Where an elementary type is among the data that the view shows, bytes.
    pub fn stream(&self, position: i64) -> Result<u64, Error> {
        let position = u64::try_from(position)
            .map_err(|_| Error::new(Class::Arg, format!("offset is {position}, which is negative")))?;
        position.checked_mul(self.unit).filter(|&at| at < 1 << 62).ok_or_else(too_far)
    }

    /// Where a byte of the data is in the file.
    pub fn offset(&self, stream: u64) -> Result<u64, Error> {
        let within = self.tiles.offset(stream).ok_or_else(too_far)?;
        within.checked_add(self.disp as u64).filter(|&at| at <= i64::MAX as u64).ok_or_else(too_far)
    }

    /// The elementary types that the view shows of a file of so many bytes; the last may be a part of one.
    pub fn end(&self, bytes: u64) -> i64 {
        let stream = self.tiles.before(bytes.saturating_sub(self.disp as u64));
        stream.div_ceil(self.unit) as i64
    }

    /// Calls this for the pieces of the file that have these bytes of the data, in order, until one returns
    /// false.
    pub fn each(
        &self,
        from: u64,
        bytes: u64,
        mut f: impl FnMut(u64, usize) -> Result<bool, Error>,
    ) -> Result<(), Error> {
        if bytes == 0 {
            return Ok(());
        }
        // The last is the farthest.
        self.offset(from + bytes - 1)?;
        self.tiles.each(from, bytes, &mut |at, bytes| f(at + self.disp as u64, bytes as usize))
    }

    /// Whether much of what is between the pieces of the data is data, too.
    pub fn is_dense(&self) -> bool {
        self.tiles.bytes >= self.tiles.extent / 4
    }
}

/// The data of a file type, which follow one another in the file.
struct Tiles {
    runs: Vec<Run>,
    /// Of data.
    bytes: u64,
    extent: u64,
}

/// Bytes that follow one another.
struct Run {
    at: u64,
    bytes: u64,
    /// Bytes of data before it in the tile.
    before: u64,
}

impl Tiles {
    fn new(of: &Datatype, scale: Scale) -> Result<Self, Error> {
        let (mut runs, mut bytes) = (Vec::<Run>::new(), 0);
        let is_valid = of.layout(1).all_runs(|at, length| {
            let Ok(at) = u64::try_from(scale.of(at as i64)) else { return false };
            let length = scale.of(length as i64) as u64;
            match runs.last_mut() {
                Some(last) if at < last.at => return false,
                Some(last) if at == last.at + last.bytes => last.bytes += length,
                _ => runs.push(Run { at, bytes: length, before: bytes }),
            }
            bytes += length;
            true
        });
        if !is_valid {
            let text = "the displacements of filetype are negative, or become smaller";
            return Err(Error::new(Class::Type, text));
        }
        match u64::try_from(scale.of(of.extent())) {
            Ok(extent) if extent > 0 || bytes == 0 => Ok(Tiles { runs, bytes, extent }),
            _ => Err(Error::new(Class::Type, format!("filetype has the extent {}", of.extent()))),
        }
    }

    /// Where a byte of the data is; `None` if there is no data, or it is too far.
    fn offset(&self, stream: u64) -> Option<u64> {
        let tile = stream.checked_div(self.bytes)?;
        let rest = stream % self.bytes;
        let run = &self.runs[self.runs.partition_point(|run| run.before <= rest) - 1];
        tile.checked_mul(self.extent)?.checked_add(run.at + rest - run.before)
    }

    /// Bytes of data before a byte of the file.
    fn before(&self, end: u64) -> u64 {
        let Some(tile) = end.checked_div(self.extent) else { return 0 };
        let rest = end % self.extent;
        let run = self.runs.partition_point(|run| run.at < rest).checked_sub(1).map(|at| &self.runs[at]);
        tile * self.bytes + run.map_or(0, |run| run.before + run.bytes.min(rest - run.at))
    }

    /// See [`View::each`].
    fn each(
        &self,
        from: u64,
        bytes: u64,
        f: &mut impl FnMut(u64, u64) -> Result<bool, Error>,
    ) -> Result<(), Error> {
        let (mut tile, rest) = (from / self.bytes, from % self.bytes);
        let mut at = self.runs.partition_point(|run| run.before <= rest) - 1;
        let (mut skip, mut left) = (rest - self.runs[at].before, bytes);
        // Pieces that follow one another are one.
        let mut piece: Option<(u64, u64)> = None;
        while left > 0 {
            let run = &self.runs[at];
            let (start, length) = (tile * self.extent + run.at + skip, (run.bytes - skip).min(left));
            match &mut piece {
                Some((first, all)) if *first + *all == start => *all += length,
                _ => {
                    if let Some((first, all)) = piece.replace((start, length))
                        && !f(first, all)?
                    {
                        return Ok(());
                    }
                }
            }
            (left, skip, at) = (left - length, 0, at + 1);
            if at == self.runs.len() {
                (tile, at) = (tile + 1, 0);
            }
            // One run that fills the tile: the rest is one piece.
            if let [only] = &self.runs[..]
                && only.bytes == self.extent
                && let Some((_, all)) = &mut piece
            {
                *all += std::mem::take(&mut left);
            }
        }
        if let Some((first, all)) = piece {
            f(first, all)?;
        }
        Ok(())
    }
}

impl File {
    /// A view that the program describes.
    fn view_of(&self, disp: i64, types: [Type; 2], datarep: &str) -> Result<View, Error> {
        let representation = Representation::find(datarep)?;
        let disp = match (self.mode & SEQUENTIAL != 0, disp) {
            (true, DISPLACEMENT_CURRENT) => self.view.offset(self.view.stream(self.shared.get())?)? as i64,
            (false, DISPLACEMENT_CURRENT) => {
                let text =
                    "disp is MPI_DISPLACEMENT_CURRENT, which is for files of MPI_MODE_SEQUENTIAL alone";
                return Err(Error::new(Class::Arg, text));
            }
            (true, _) => {
                let text = "disp must be MPI_DISPLACEMENT_CURRENT for a file of MPI_MODE_SEQUENTIAL";
                return Err(Error::new(Class::Arg, text));
            }
            (false, disp) => disp,
        };
        View::new(disp, types, representation)
    }
}

pub unsafe fn set_view(
    library: &mut Library,
    file: FileId,
    disp: i64,
    etype: Type,
    filetype: Type,
    datarep: *const c_char,
    info: usize,
) -> Result<(), Error> {
    // SAFETY: the program gave a string.
    let datarep = unsafe { CStr::from_ptr(datarep) }.to_string_lossy();
    let described = crate::info::copy(info)
        .and_then(|info| Ok((library.of_file(file).view_of(disp, [etype, filetype], &datarep)?, info)));
    let agreed = operation(library, file);
    let (view, info) = agree(library, &agreed, described)?;
    // Others have read the shared pointer, and do not use it before it is that of the new view.
    by_first(library, file, Ok(()), |of| {
        of.shared.set(0);
        Ok(())
    })?;
    let of = library.of_file(file);
    of.info.add(&info);
    (of.view, of.position) = (view, 0);
    Ok(())
}

/// A handle of a type for the program, which frees it unless it is predefined.
fn handle(of: &Type) -> usize {
    match of {
        Type::Predefined(of) => of.handle,
        Type::Derived(made) => add(made.copy()),
    }
}

pub unsafe fn get_view(
    library: &mut Library,
    file: FileId,
    disp: *mut i64,
    etype: *mut usize,
    filetype: *mut usize,
    datarep: *mut c_char,
) -> Result<(), Error> {
    let view = &library.of_file(file).view;
    // SAFETY: the program gave the places.
    unsafe {
        *disp = view.disp;
        (*etype, *filetype) = (handle(&view.etype), handle(&view.filetype));
        write(view.representation.name(), MAX_DATAREP_STRING, datarep, &mut 0);
    }
    Ok(())
}

pub unsafe fn byte_offset(
    library: &mut Library,
    file: FileId,
    offset: i64,
    disp: *mut i64,
) -> Result<(), Error> {
    let view = &library.of_file(file).view;
    let at = view.offset(view.stream(offset)?)?;
    // SAFETY: the program gave the place.
    unsafe { *disp = at as i64 };
    Ok(())
}

pub unsafe fn type_extent(
    library: &mut Library,
    file: FileId,
    of: Type,
    extent: *mut i64,
) -> Result<(), Error> {
    let of = of.datatype();
    let scaled = library.of_file(file).view.representation.scale(&of)?.of(of.extent());
    // SAFETY: the program gave the place.
    unsafe { *extent = scaled };
    Ok(())
}
