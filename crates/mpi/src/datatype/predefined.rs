//! Predefined datatypes, with the handles of the standard ABI.

use Kind::{Byte, Character, Complex, Float, Logical, PairFloat, PairSigned, Signed, Unsigned};

/// What a predefined type holds; its size says which of the kind it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A signed integer.
    Signed,
    /// An unsigned integer.
    Unsigned,
    /// A number with a binary point.
    Float,
    /// A pair of them.
    Complex,
    /// True or false.
    Logical,
    /// A character: no reduction takes it.
    Character,
    /// Bytes without a meaning.
    Byte,
    /// A number with a binary point, and an index, for `MPI_MINLOC`.
    PairFloat,
    /// A signed integer and an index.
    PairSigned,
}

/// A predefined type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Predefined {
    /// Its handle.
    pub handle: usize,
    /// Its name, without `MPI_`.
    pub name: &'static str,
    /// Bytes of data.
    pub size: usize,
    /// Bytes from one to the next in an array.
    pub extent: usize,
    /// What it holds.
    pub kind: Kind,
}

/// `MPI_CHAR` in reductions. The standard has none for it, but programs rely on other libraries, where it is C's
/// `char`.
const CHAR: Kind = if std::ffi::c_char::MIN == 0 { Unsigned } else { Signed };

const fn of(handle: usize, name: &'static str, size: usize, extent: usize, kind: Kind) -> Predefined {
    Predefined { handle, name, size, extent, kind }
}

/// `MPI_DATATYPE_NULL`.
pub const NULL: usize = 0x200;

/// All predefined types, by handle. Those of Fortran have the sizes of gfortran. `MPI_LOGICAL4` and so on:
/// from 0x240 on bits 3 to 5 of the handle are the logarithm of the size.
pub const PREDEFINED: [Predefined; 70] = [
    of(0x201, "AINT", 8, 8, Signed),
    of(0x202, "COUNT", 8, 8, Signed),
    of(0x203, "OFFSET", 8, 8, Signed),
    of(0x207, "PACKED", 1, 1, Byte),
    of(0x208, "SHORT", 2, 2, Signed),
    of(0x209, "INT", 4, 4, Signed),
    of(0x20a, "LONG", 8, 8, Signed),
    of(0x20b, "LONG_LONG", 8, 8, Signed),
    of(0x20c, "UNSIGNED_SHORT", 2, 2, Unsigned),
    of(0x20d, "UNSIGNED", 4, 4, Unsigned),
    of(0x20e, "UNSIGNED_LONG", 8, 8, Unsigned),
    of(0x20f, "UNSIGNED_LONG_LONG", 8, 8, Unsigned),
    of(0x210, "FLOAT", 4, 4, Float),
    of(0x212, "C_FLOAT_COMPLEX", 8, 8, Complex),
    of(0x213, "CXX_FLOAT_COMPLEX", 8, 8, Complex),
    of(0x214, "DOUBLE", 8, 8, Float),
    of(0x216, "C_DOUBLE_COMPLEX", 16, 16, Complex),
    of(0x217, "CXX_DOUBLE_COMPLEX", 16, 16, Complex),
    of(0x218, "LOGICAL", 4, 4, Logical),
    of(0x219, "INTEGER", 4, 4, Signed),
    of(0x21a, "REAL", 4, 4, Float),
    of(0x21b, "COMPLEX", 8, 8, Complex),
    of(0x21c, "DOUBLE_PRECISION", 8, 8, Float),
    of(0x21d, "DOUBLE_COMPLEX", 16, 16, Complex),
    of(0x21e, "CHARACTER", 1, 1, Character),
    of(0x220, "LONG_DOUBLE", 16, 16, Float),
    of(0x224, "C_LONG_DOUBLE_COMPLEX", 32, 32, Complex),
    of(0x225, "CXX_LONG_DOUBLE_COMPLEX", 32, 32, Complex),
    of(0x228, "FLOAT_INT", 8, 8, PairFloat),
    of(0x229, "DOUBLE_INT", 12, 16, PairFloat),
    of(0x22a, "LONG_INT", 12, 16, PairSigned),
    of(0x22b, "2INT", 8, 8, PairSigned),
    of(0x22c, "SHORT_INT", 6, 8, PairSigned),
    of(0x22d, "LONG_DOUBLE_INT", 20, 32, PairFloat),
    of(0x230, "2REAL", 8, 8, PairFloat),
    of(0x231, "2DOUBLE_PRECISION", 16, 16, PairFloat),
    of(0x232, "2INTEGER", 8, 8, PairSigned),
    of(0x238, "C_BOOL", 1, 1, Logical),
    of(0x239, "CXX_BOOL", 1, 1, Logical),
    of(0x23c, "WCHAR", 4, 4, Character),
    of(0x240, "INT8_T", 1, 1, Signed),
    of(0x241, "UINT8_T", 1, 1, Unsigned),
    of(0x243, "CHAR", 1, 1, CHAR),
    of(0x244, "SIGNED_CHAR", 1, 1, Signed),
    of(0x245, "UNSIGNED_CHAR", 1, 1, Unsigned),
    of(0x247, "BYTE", 1, 1, Byte),
    of(0x248, "INT16_T", 2, 2, Signed),
    of(0x249, "UINT16_T", 2, 2, Unsigned),
    of(0x250, "INT32_T", 4, 4, Signed),
    of(0x251, "UINT32_T", 4, 4, Unsigned),
    of(0x258, "INT64_T", 8, 8, Signed),
    of(0x259, "UINT64_T", 8, 8, Unsigned),
    of(0x2c0, "LOGICAL1", 1, 1, Logical),
    of(0x2c1, "INTEGER1", 1, 1, Signed),
    of(0x2c8, "LOGICAL2", 2, 2, Logical),
    of(0x2c9, "INTEGER2", 2, 2, Signed),
    of(0x2ca, "REAL2", 2, 2, Float),
    of(0x2d0, "LOGICAL4", 4, 4, Logical),
    of(0x2d1, "INTEGER4", 4, 4, Signed),
    of(0x2d2, "REAL4", 4, 4, Float),
    of(0x2d3, "COMPLEX4", 4, 4, Complex),
    of(0x2d8, "LOGICAL8", 8, 8, Logical),
    of(0x2d9, "INTEGER8", 8, 8, Signed),
    of(0x2da, "REAL8", 8, 8, Float),
    of(0x2db, "COMPLEX8", 8, 8, Complex),
    of(0x2e0, "LOGICAL16", 16, 16, Logical),
    of(0x2e1, "INTEGER16", 16, 16, Signed),
    of(0x2e2, "REAL16", 16, 16, Float),
    of(0x2e3, "COMPLEX16", 16, 16, Complex),
    of(0x2eb, "COMPLEX32", 32, 32, Complex),
];

/// The handles of predefined types are within these.
const HANDLES: std::ops::Range<usize> = 0x200..0x300;

/// The place in the list of each handle; 255 if there is none.
static PLACES: [u8; HANDLES.end - HANDLES.start] = places();

const fn places() -> [u8; HANDLES.end - HANDLES.start] {
    let mut places = [u8::MAX; HANDLES.end - HANDLES.start];
    let mut at = 0;
    while at < PREDEFINED.len() {
        places[PREDEFINED[at].handle - HANDLES.start] = at as u8;
        at += 1;
    }
    places
}

/// The type of a handle.
#[inline]
pub fn predefined(handle: usize) -> Option<&'static Predefined> {
    let place = *PLACES.get(handle.wrapping_sub(HANDLES.start))?;
    static LIST: [Predefined; PREDEFINED.len()] = PREDEFINED;
    LIST.get(usize::from(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_found_by_handle_and_their_handles_tell_their_sizes() {
        assert!(PREDEFINED.is_sorted_by_key(|of| of.handle));
        for of in &PREDEFINED {
            assert_eq!(predefined(of.handle), Some(of));
            if (0x240..0x2c0).contains(&of.handle) {
                assert_eq!(of.size, 1 << (of.handle >> 3 & 7), "{}", of.name);
            }
        }
        assert_eq!(predefined(NULL), None);
        assert_eq!(predefined(0x209).map(|of| (of.name, of.size)), Some(("INT", 4)));
    }
}
