//! The operand of a reduction, and where its result goes.

use super::Array;

/// Elements that are combined where the result goes, or in a copy, which [`Operand::finish`] writes there.
pub enum Operand<'a> {
    Here(&'a mut [u8]),
    /// They are to be combined there, and are elsewhere.
    Apart(&'a mut [u8], &'a [u8]),
    Copied(Vec<u8>, Array),
}

impl<'a> Operand<'a> {
    /// The elements of an array, for a result that goes to another, or to the same.
    ///
    /// # Safety
    /// As [`Buffer::space`] for the result; as [`Buffer::bytes`] for the other, which may be the same.
    #[inline(always)]
    pub unsafe fn new(from: &Array, result: Array) -> Self {
        let (address, bytes) = (result.address as *mut u8, result.bytes);
        if from.bytes != bytes || !result.is_run() || bytes == 0 {
            // SAFETY: the caller's promise.
            return unsafe { Self::copied(from, result) };
        }
        // SAFETY: the caller's promise; all data is between 0 and the extent.
        unsafe {
            if from.address != result.address {
                from.copy_to(address);
            }
            Operand::Here(std::slice::from_raw_parts_mut(address, bytes))
        }
    }

    /// The same, but many elements in one piece stay where they are.
    ///
    /// # Safety
    /// As [`Self::new`].
    #[inline(always)]
    pub unsafe fn apart(from: &Array, result: Array) -> Self {
        /// Fewer are copied sooner than it is looked where they are.
        const LEAST_BYTES: usize = 4096;
        // SAFETY: the caller's promise.
        unsafe {
            if result.bytes < LEAST_BYTES { Self::new(from, result) } else { Self::long_apart(from, result) }
        }
    }

    #[inline(never)]
    unsafe fn long_apart(from: &Array, result: Array) -> Self {
        let is_one = from.address == result.address || from.bytes != result.bytes;
        // SAFETY: the caller's promise.
        unsafe {
            if is_one || !from.is_run() || !result.is_run() {
                return Self::new(from, result);
            }
            let elements = std::slice::from_raw_parts(from.address as *const u8, from.bytes);
            Operand::Apart(std::slice::from_raw_parts_mut(result.address as *mut u8, result.bytes), elements)
        }
    }

    #[inline(never)]
    unsafe fn copied(from: &Array, result: Array) -> Self {
        // SAFETY: the caller's promise.
        Operand::Copied(unsafe { from.copy() }, result)
    }

    /// Writes the result to where it goes.
    pub fn finish(self) {
        if let Operand::Copied(data, result) = self {
            // SAFETY: the program gave the memory, until the collective has completed.
            unsafe { result.set(&data) };
        }
    }
}

impl std::ops::Deref for Operand<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Operand::Here(bytes) | Operand::Apart(bytes, _) => bytes,
            Operand::Copied(bytes, _) => bytes,
        }
    }
}

impl std::ops::DerefMut for Operand<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Operand::Here(bytes) | Operand::Apart(bytes, _) => bytes,
            Operand::Copied(bytes, _) => bytes,
        }
    }
}
