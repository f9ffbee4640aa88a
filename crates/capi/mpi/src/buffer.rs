//! Buffers that the program gives: an address, a count and a type.

mod operand;
mod pieces;

pub use operand::Operand;
pub use pieces::{Counted, Pieces};

use crate::abi::IN_PLACE;
use crate::numbers::Count;
use crate::types::{Type, lookup, no_type};
use netloom_mpi::datatype::Layout;
use netloom_mpi::error::{Class, Error};
use netloom_mpi::one_sided::Place;
use netloom_mpi::transport::Memory;
use std::borrow::Cow;
use std::ffi::c_void;
use std::ops::Range;

/// A buffer, as the program describes it. Count and type are checked where they are used: those of
/// `MPI_IN_PLACE`, and those of the root's buffer at other ranks, may be anything.
#[derive(Clone)]
pub struct Buffer {
    /// The names of address, count and type.
    names: [&'static str; 3],
    address: *const c_void,
    count: i64,
    of: Named,
}

/// A type by its handle, if it is one: it stays what it is when the program frees the handle.
#[derive(Clone)]
struct Named {
    handle: usize,
    of: Option<Type>,
}

impl Named {
    #[inline]
    fn new(handle: usize) -> Self {
        Named { handle, of: lookup(handle) }
    }

    fn get(&self, name: &str) -> Result<&Type, Error> {
        self.of.as_ref().ok_or_else(|| no_type(name, self.handle))
    }
}

/// Longer data is not called plain, so that lengths are easily checked, bytes.
pub const PLAIN_BYTES_MAX: usize = 1 << 40;

impl Buffer {
    #[inline]
    pub fn new(names: [&'static str; 3], address: *const c_void, count: impl Into<i64>, of: usize) -> Self {
        Buffer { names, address, count: count.into(), of: Named::new(of) }
    }

    /// Bytes as they are, with this buffer's names.
    pub fn of_bytes(like: Buffer, bytes: &[u8]) -> Self {
        const BYTE: usize = 0x247;
        Buffer { address: bytes.as_ptr().cast(), count: bytes.len() as i64, of: Named::new(BYTE), ..like }
    }

    /// Another number of elements there.
    pub fn of_count(&self, count: i64) -> Self {
        Buffer { count, ..self.clone() }
    }

    /// The number of elements that the program gave.
    pub fn count(&self) -> i64 {
        self.count
    }

    /// The same number of elements elsewhere.
    pub fn at(&self, name: &'static str, address: *const c_void) -> Self {
        let [_, count, of] = self.names;
        Buffer { names: [name, count, of], address, ..self.clone() }
    }

    /// The type of its elements, for communication.
    pub fn of(&self) -> Result<&Type, Error> {
        let name = self.names[2];
        let of = self.of.get(name)?;
        if let Type::Derived(made) = of
            && !made.is_committed.get()
        {
            let handle = self.of.handle;
            let text = format!("{name} is {handle:#x}, a type that MPI_Type_commit has not been called for");
            return Err(Error::new(Class::Type, text));
        }
        Ok(of)
    }

    /// The handle of the type.
    pub fn handle(&self) -> usize {
        self.of.handle
    }

    /// Whether it stands for the other buffer of the call.
    pub fn is_in_place(&self) -> bool {
        self.address as usize == IN_PLACE
    }

    /// The type, and how many elements of it `parts` such buffers have, one after the other.
    fn counted(&self, parts: u32) -> Result<(&Type, usize), Error> {
        let &Buffer { names: [name, of_count, _], count, .. } = self;
        let (Count(count), of) = (Count::check(of_count, count)?, self.of()?);
        let all = (count as u64).checked_mul(u64::from(parts));
        let bytes = all.and_then(|all| all.checked_mul((of.size() as u64).max(of.extent().unsigned_abs())));
        if bytes.is_none_or(|bytes| bytes >= 1 << 62) {
            return Err(Error::new(
                Class::Count,
                format!("{count} elements of {name} would be longer than memory"),
            ));
        }
        Ok((of, count * parts as usize))
    }

    /// The same of a buffer of this process.
    fn checked(&self, parts: u32) -> Result<(&Type, usize), Error> {
        let &Buffer { names: [name, ..], address, .. } = self;
        let (of, count) = self.counted(parts)?;
        // An empty vector of Rust has this address, too.
        if self.is_in_place() && count * of.size() > 0 {
            let text = format!("{name} is MPI_IN_PLACE, which stands for no memory here");
            return Err(Error::new(Class::Buffer, text));
        }
        // Derived types may have absolute addresses, from MPI_BOTTOM on.
        if address.is_null() && count * of.size() > 0 && matches!(of, Type::Predefined(_)) {
            let bytes = count * of.size();
            return Err(Error::new(Class::Buffer, format!("{name} is NULL, with {bytes} B of data")));
        }
        Ok((of, count))
    }

    /// Its memory, if it is valid, of a predefined type without gaps, and has at most this many bytes: what
    /// most short messages are. Others are checked by the other functions.
    #[inline]
    pub fn plain(&self, bytes_max: usize) -> Option<Memory> {
        let bytes = self.plain_bytes(bytes_max)?;
        let is_memory = bytes == 0 || self.address as usize > IN_PLACE;
        is_memory.then_some(Memory { address: self.address as u64, bytes: bytes as u64 })
    }

    /// How many bytes it has, if it may be [plain](Self::plain) but for its address.
    #[inline]
    pub fn plain_bytes(&self, bytes_max: usize) -> Option<usize> {
        let Some(Type::Predefined(of)) = self.of.of else { return None };
        let count = usize::try_from(self.count).ok().filter(|&count| count <= bytes_max)?;
        let bytes = count * of.size;
        (of.size == of.extent && bytes <= bytes_max).then_some(bytes)
    }

    /// Whether it can be used.
    pub fn check(&self) -> Result<(), Error> {
        self.checked(1).map(|_| ())
    }

    #[inline]
    fn data(&self, parts: u32) -> Result<Data, Error> {
        match self.plain(PLAIN_BYTES_MAX) {
            Some(memory) if parts == 1 => Ok(Data::Run(memory)),
            _ => self.any_data(parts),
        }
    }

    fn any_data(&self, parts: u32) -> Result<Data, Error> {
        let (of, count) = self.checked(parts)?;
        let address = self.address as u64;
        let layout = match of {
            Type::Predefined(of) if of.size == of.extent => {
                return Ok(Data::Run(Memory { address, bytes: (count * of.size) as u64 }));
            }
            Type::Predefined(_) => of.datatype().layout(count),
            Type::Derived(made) => made.of.layout(count),
        };
        Ok(match layout.as_run() {
            Some(at) => {
                let bytes = layout.bytes() as u64;
                Data::Run(Memory { address: address.wrapping_add_signed(at as i64), bytes })
            }
            None => Data::Scattered(Scattered { address, layout }),
        })
    }

    /// Where its data is from the address on, which may be that of another process.
    #[inline]
    pub fn layout(&self) -> Result<Layout, Error> {
        match self.plain_bytes(PLAIN_BYTES_MAX) {
            Some(bytes) => Ok(Layout::run(0, bytes)),
            None => self.any_layout(),
        }
    }

    fn any_layout(&self) -> Result<Layout, Error> {
        let (of, count) = self.counted(1)?;
        Ok(match &of {
            Type::Predefined(of) if of.size == of.extent => Layout::run(0, count * of.size),
            _ => of.datatype().layout(count),
        })
    }

    /// Where a result goes that arrives later.
    pub fn place(&self) -> Result<Place, Error> {
        self.check()?;
        Ok(Place { address: self.address as u64, layout: self.layout()? })
    }

    /// Memory to send from: its own, or a copy, which must stay until the message is sent.
    ///
    /// # Safety
    /// The program has this memory.
    pub unsafe fn outgoing(&self) -> Result<(Memory, Option<Vec<u8>>), Error> {
        // SAFETY: the caller's promise.
        self.data(1).map(|data| unsafe { data.outgoing() })
    }

    /// The same of so many of its elements, from one on.
    ///
    /// # Safety
    /// As [`Self::outgoing`].
    pub unsafe fn outgoing_part(
        &self,
        (from, count): (i64, i64),
    ) -> Result<(Memory, Option<Vec<u8>>), Error> {
        // SAFETY: the caller's promise.
        self.part(from, count).map(|data| unsafe { data.outgoing() })
    }

    /// So many of its elements, from one on. The address itself is checked: that of a part may be any, also that
    /// which stands for no memory, where displacements are counted from `MPI_BOTTOM`.
    fn part(&self, from: i64, count: i64) -> Result<Data, Error> {
        let by = from.wrapping_mul(self.of()?.extent());
        Ok(match self.of_count(count).data(1)? {
            Data::Run(Memory { address, bytes }) => {
                Data::Run(Memory { address: address.wrapping_add_signed(by), bytes })
            }
            Data::Scattered(Scattered { address, layout }) => {
                Data::Scattered(Scattered { address: address.wrapping_add_signed(by), layout })
            }
        })
    }

    /// Memory to receive to: its own, or such as is unpacked at the end.
    pub fn incoming(&self) -> Result<(Memory, Option<Unpacking>), Error> {
        Ok(match self.data(1)? {
            Data::Run(memory) => (memory, None),
            Data::Scattered(scattered) => {
                let packed = vec![0; scattered.layout.bytes()];
                let memory = Memory { address: packed.as_ptr() as u64, bytes: packed.len() as u64 };
                (memory, Some(Unpacking { packed, scattered }))
            }
        })
    }

    /// Its data, one byte after the other, if it stands for `parts` such buffers.
    ///
    /// # Safety
    /// The program has this memory, and leaves it as it is during the call.
    pub unsafe fn bytes<'a>(&self, parts: u32) -> Result<Cow<'a, [u8]>, Error> {
        // SAFETY: the caller's promise; no bytes may be at NULL.
        Ok(match self.data(parts)? {
            Data::Run(Memory { bytes: 0, .. }) => Cow::Borrowed(&[]),
            Data::Run(Memory { address, bytes }) => {
                Cow::Borrowed(unsafe { std::slice::from_raw_parts(address as *const u8, bytes as usize) })
            }
            Data::Scattered(scattered) => Cow::Owned(unsafe { scattered.packed() }),
        })
    }

    /// Writes its data to memory, one byte after the other; how many.
    ///
    /// # Safety
    /// As [`Self::bytes`]; `to` finds the memory for this many bytes, or fails.
    pub unsafe fn pack(&self, to: impl FnOnce(usize) -> Result<*mut u8, Error>) -> Result<usize, Error> {
        // SAFETY: the caller's promise.
        unsafe {
            match self.data(1)? {
                Data::Run(Memory { address, bytes }) => {
                    let bytes = bytes as usize;
                    to(bytes)?.copy_from_nonoverlapping(address as *const u8, bytes);
                    Ok(bytes)
                }
                Data::Scattered(Scattered { address, layout }) => {
                    layout.pack_to(address as *const u8, to(layout.bytes())?);
                    Ok(layout.bytes())
                }
            }
        }
    }

    /// The reverse: as many bytes as it has are there.
    ///
    /// # Safety
    /// As [`Self::space`]; `from` finds the memory for this many bytes, or fails.
    pub unsafe fn unpack(
        &self,
        from: impl FnOnce(usize) -> Result<*const u8, Error>,
    ) -> Result<usize, Error> {
        // SAFETY: the caller's promise.
        unsafe {
            match self.data(1)? {
                Data::Run(Memory { address, bytes }) => {
                    let bytes = bytes as usize;
                    (address as *mut u8).copy_from_nonoverlapping(from(bytes)?, bytes);
                    Ok(bytes)
                }
                Data::Scattered(Scattered { address, layout }) => {
                    let packed = std::slice::from_raw_parts(from(layout.bytes())?, layout.bytes());
                    layout.unpack(packed, address as *mut u8);
                    Ok(layout.bytes())
                }
            }
        }
    }

    /// The same, to be written.
    ///
    /// # Safety
    /// As [`Self::bytes`]; it overlaps no other buffer of the call.
    pub unsafe fn space<'a>(&self, parts: u32) -> Result<Space<'a>, Error> {
        // SAFETY: the caller's promise; no bytes may be at NULL.
        Ok(match self.data(parts)? {
            Data::Run(Memory { bytes: 0, .. }) => Space::Here(&mut []),
            Data::Run(Memory { address, bytes }) => {
                Space::Here(unsafe { std::slice::from_raw_parts_mut(address as *mut u8, bytes as usize) })
            }
            Data::Scattered(scattered) => {
                // What is not received stays as it is.
                let packed = unsafe { scattered.packed() };
                Space::Packed(Unpacking { packed, scattered })
            }
        })
    }

    /// The arrays of a reduction, of what another address has and of what this one has, if both are
    /// [plain](Self::plain).
    #[inline(always)]
    pub fn plain_arrays(&self, other: *const c_void) -> Option<[Array; 2]> {
        let Memory { address, bytes } = self.plain(PLAIN_BYTES_MAX)?;
        let other = match other as usize {
            IN_PLACE => address,
            other if bytes == 0 || other > IN_PLACE => other as u64,
            _ => return None,
        };
        Some([other, address].map(|address| Array { address, bytes: bytes as usize, form: Form::Data }))
    }

    /// The array of its elements, for a reduction.
    pub fn array(&self) -> Result<Array, Error> {
        if let Some(Memory { address, bytes }) = self.plain(PLAIN_BYTES_MAX) {
            return Ok(Array { address, bytes: bytes as usize, form: Form::Data });
        }
        let (of, count) = self.checked(1)?;
        let address = self.address as u64;
        let made = match of {
            Type::Predefined(of) => return Ok(Array { address, bytes: of.extent * count, form: Form::Data }),
            Type::Derived(made) => made,
        };
        let (datatype, layout) = (&made.of, made.of.layout(count));
        Ok(match datatype.is_within_extent() {
            true => Array { address, bytes: datatype.upper as usize * count, form: Form::Gaps(layout) },
            false => Array { address, bytes: layout.bytes(), form: Form::Packed(layout) },
        })
    }
}

/// That what is sent and what is received are different memory.
#[inline]
pub fn check_apart<T>(sent: Range<*const T>, received: Range<*const T>) -> Result<(), Error> {
    let is_empty = sent.is_empty() || received.is_empty();
    if is_empty || sent.end <= received.start || received.end <= sent.start {
        return Ok(());
    }
    Err(Error::new(
        Class::Buffer,
        "sent and received data overlap: a rank whose data is in recvbuf gives MPI_IN_PLACE as sendbuf",
    ))
}

/// Elements of the program, and the bytes that stand for them in a reduction.
pub struct Array {
    address: u64,
    bytes: usize,
    form: Form,
}

/// Which bytes these are.
enum Form {
    /// Those of the array. All is data.
    Data,
    /// Those of the array, with gaps between data.
    Gaps(Layout),
    /// Data alone, since there is some outside of the elements' extents.
    Packed(Layout),
}

impl Array {
    /// Whether it is one piece.
    #[inline]
    fn is_run(&self) -> bool {
        match &self.form {
            Form::Data => true,
            Form::Gaps(layout) | Form::Packed(layout) => layout.as_run() == Some(0),
        }
    }

    /// That the result of a reduction goes elsewhere, as far as both are one piece.
    #[inline(always)]
    pub fn check_apart(&self, result: &Array) -> Result<(), Error> {
        if !matches!((&self.form, &result.form), (Form::Data, Form::Data)) {
            return Ok(());
        }
        let range = |of: &Array| {
            let start = of.address as *const u8;
            start..start.wrapping_add(of.bytes)
        };
        check_apart(range(self), range(result))
    }

    /// Its length, bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Writes the bytes to other memory.
    ///
    /// # Safety
    /// The memory is there, and does not overlap.
    unsafe fn copy_to(&self, to: *mut u8) {
        let from = self.address as *const u8;
        // SAFETY: the caller's promise; all data is between 0 and the extent, or as much as `bytes`.
        unsafe {
            match &self.form {
                Form::Data => to.copy_from_nonoverlapping(from, self.bytes),
                Form::Gaps(layout) => layout.copy(from, to),
                Form::Packed(layout) => layout.pack_to(from, to),
            }
        }
    }

    /// A copy of the bytes.
    ///
    /// # Safety
    /// As [`Buffer::bytes`].
    pub unsafe fn copy(&self) -> Vec<u8> {
        let mut copy = vec![0; self.bytes];
        // SAFETY: the caller's promise.
        unsafe { self.copy_to(copy.as_mut_ptr()) };
        copy
    }

    /// Writes the elements; what is between them stays.
    ///
    /// # Panics
    /// If there are more or fewer bytes.
    ///
    /// # Safety
    /// As [`Buffer::space`].
    pub unsafe fn set(&self, bytes: &[u8]) {
        assert_eq!(bytes.len(), self.bytes);
        let (from, to) = (bytes.as_ptr(), self.address as *mut u8);
        // SAFETY: the caller's promise; all data is between 0 and the extent, or as much as `bytes`.
        unsafe {
            match &self.form {
                Form::Data => to.copy_from_nonoverlapping(from, self.bytes),
                Form::Gaps(layout) => layout.copy(from, to),
                Form::Packed(layout) => layout.unpack(bytes, to),
            }
        }
    }
}

/// Where the data of a buffer is.
enum Data {
    Run(Memory),
    Scattered(Scattered),
}

impl Data {
    /// Memory to send from, and the copy that it is, if it is one.
    ///
    /// # Safety
    /// The program has this memory.
    unsafe fn outgoing(self) -> (Memory, Option<Vec<u8>>) {
        match self {
            Data::Run(memory) => (memory, None),
            Data::Scattered(scattered) => {
                // SAFETY: the caller's promise.
                let packed = unsafe { scattered.packed() };
                (Memory { address: packed.as_ptr() as u64, bytes: packed.len() as u64 }, Some(packed))
            }
        }
    }
}

/// Data with gaps.
pub struct Scattered {
    address: u64,
    layout: Layout,
}

impl Scattered {
    /// # Safety
    /// The program has this memory.
    unsafe fn packed(&self) -> Vec<u8> {
        let bytes = self.layout.bytes();
        let mut packed = Vec::with_capacity(bytes);
        // SAFETY: the caller's promise; all bytes are written, without being cleared first.
        unsafe {
            self.layout.pack_to(self.address as *const u8, packed.as_mut_ptr());
            packed.set_len(bytes);
        }
        packed
    }
}

/// Data that is received in one piece and then unpacked.
pub struct Unpacking {
    packed: Vec<u8>,
    scattered: Scattered,
}

impl Unpacking {
    /// Unpacks what has been received.
    ///
    /// # Safety
    /// The program has the memory.
    pub unsafe fn finish(&self, bytes: usize) {
        let received = &self.packed[..bytes.min(self.packed.len())];
        // SAFETY: the caller's promise.
        unsafe { self.scattered.layout.unpack(received, self.scattered.address as *mut u8) };
    }

    /// Unpacks so many elements of the buffer from one on, whose data begins at this byte.
    ///
    /// # Safety
    /// The program has the memory.
    pub unsafe fn finish_part(
        &self,
        start: usize,
        of: &Buffer,
        (from, count): (i64, i64),
    ) -> Result<(), Error> {
        let packed = &self.packed[start..];
        // SAFETY: the caller's promise.
        unsafe {
            match of.part(from, count)? {
                Data::Run(Memory { address, bytes }) => (address as *mut u8)
                    .copy_from_nonoverlapping(packed[..bytes as usize].as_ptr(), bytes as usize),
                Data::Scattered(Scattered { address, layout }) => {
                    layout.unpack(&packed[..layout.bytes()], address as *mut u8);
                }
            }
        }
        Ok(())
    }
}

/// Memory that a collective writes to: that of the program, or a packed copy, which [`Space::finish`]
/// unpacks.
pub enum Space<'a> {
    Here(&'a mut [u8]),
    Packed(Unpacking),
}

impl std::ops::Deref for Space<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Space::Here(bytes) => bytes,
            Space::Packed(unpacking) => &unpacking.packed,
        }
    }
}

impl std::ops::DerefMut for Space<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Space::Here(bytes) => bytes,
            Space::Packed(unpacking) => &mut unpacking.packed,
        }
    }
}

impl Space<'_> {
    /// Unpacks a copy into the memory of the program, once the collective has completed.
    pub fn finish(self) {
        if let Space::Packed(unpacking) = self {
            // SAFETY: the program gave the memory, until the collective has completed.
            unsafe { unpacking.finish(unpacking.packed.len()) };
        }
    }
}
